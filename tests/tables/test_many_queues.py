"""A store with ten thousand queues: listing them takes a few calls for each, and `topics` and the states little more."""

from __future__ import annotations

import struct
from itertools import product
from pathlib import Path

import pytest
from support.stores import ZERO, files_of, log_of, on_disk

import native_reader as nr
from native_reader.tables.queues import COLUMNS
from native_reader.testing.faulty import FaultyStorage

TOPICS, QUEUES = 500, 20
COUNT = TOPICS * QUEUES


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each queue names the first and the last record of the log."""
    log = log_of(30)
    ends = log.placed[0], log.placed[-1]
    queue = b"".join(struct.pack(">qiq", placed.offset, placed.size, 0) for placed in ends).ljust(400, b"\0")
    names = (f"store/consumequeue/T{topic}/{number}/{ZERO}" for topic, number in product(range(TOPICS), range(QUEUES)))
    return on_disk(tmp_path_factory.mktemp("many"), files_of(log) | dict.fromkeys(names, queue)) / "store"


@pytest.mark.gate
@pytest.mark.parametrize(
    ("table", "columns", "most_opens"),
    [
        ("queues", tuple(name for name in COLUMNS if name != "state"), COUNT),
        ("queues", "state,max_offset", 2 * COUNT),  # the end of the log is confirmed by some of the queues
        ("topics", "topic,records,queues", 2 * COUNT),
    ],
    ids=["queues", "states", "topics"],
)
def test_ten_thousand_queues_take_a_few_calls_each(root: Path, table: str, columns: str | tuple[str, ...], most_opens: int) -> None:
    faulty = FaultyStorage(root.parent.as_uri())
    store = nr.open(f"{faulty.url}/store")
    faulty.calls.clear()
    rows = store.table(table, columns=columns).to_table()
    if table == "queues":
        assert rows["max_offset"].to_pylist() == [2] * COUNT
    else:
        assert rows["queues"].drop_null().to_pylist() == [QUEUES] * TOPICS
    calls = dict(faulty.calls)
    assert calls["list"] <= 2 * (COUNT + TOPICS), calls
    assert COUNT <= calls["open"] <= most_opens + 10, calls
    assert calls["read"] <= 4 * calls["open"], calls
