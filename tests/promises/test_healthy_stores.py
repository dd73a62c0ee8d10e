"""The stores of this repository have no faults: they are read up to the end of their logs, without an error or a warning."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cut_logs import old_records
from support.golden import Golden, opened
from support.own_stores import NAMES, TRUNCATED

from native_reader.layout.queue_entry import QUEUE_ENTRY, is_written

PLACES = ["physical_offset", "inner_index", "uniq_key"]


@pytest.fixture(autouse=True)
def nothing_is_warned_of(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.WARNING, "native_reader")
    yield
    assert [record.getMessage() for record in caplog.get_records("call") if record.levelno >= logging.WARNING] == []


def places(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in PLACES) for row in rows]


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_read_without_a_warning(own_store: Callable[[str], Golden], name: str) -> None:
    store = own_store(name)
    run = opened(store).messages(columns=PLACES).run()
    rows = [row for batch in run for row in batch.to_pylist()]
    assert places(rows) == places(store.expected_rows)
    assert run.report.damage == ()
    assert opened(store).table("damage").to_table().num_rows == 0


@pytest.mark.parametrize("access", ["auto", "scan"])
@pytest.mark.parametrize("name", [*TRUNCATED, "5.5.0-slave", "5.5.0-grpc"])
@pytest.mark.usefixtures("queues_always_used", "small_parts_pruned")
def test_each_queue_is_read_without_a_warning(own_store: Callable[[str], Golden], name: str, access: str) -> None:
    """Whatever its entries are: some of lost records, none for new ones, one for a batch."""
    store = own_store(name)
    queues: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in store.expected_rows:
        queues[row["topic"], row["queue_id"]].append(row)
    for (topic, queue), expected in queues.items():
        rows = opened(store).messages(topic=topic, queue_id=queue, columns=PLACES, access=access).to_table().to_pylist()
        assert places(rows) == places(expected), (topic, queue)


@pytest.mark.parametrize("access", ["auto", "scan"])
@pytest.mark.parametrize("condition", ["array_contains(keys, '{keys[0]}')", "uniq_key = '{uniq_key}'", "msg_id = '{uniq_key}'"])
@pytest.mark.parametrize("options", [{"topic": "Inner"}, {}], ids=["topic", "any topic"])
@pytest.mark.usefixtures("queues_always_used", "small_parts_pruned")
def test_messages_in_batches_are_found_by_their_own_values(
    own_store: Callable[[str], Golden], access: str, condition: str, options: dict[str, str]
) -> None:
    """A slave puts a batch into an ordinary queue, which does not mark it as a batch. An index has only the batch's own id."""
    store = own_store("5.5.0-slave")
    messages = [row for row in store.expected_rows if row["topic"] == "Inner"]
    assert sum(row["inner_index"] is not None for row in messages) == 2 + 3 + 4 + 5
    for message in messages:
        where = condition.format(**message)
        found = opened(store).messages(where=where, columns=PLACES, access=access, **options).to_table().to_pylist()
        assert places(found) == places([message])


@pytest.mark.parametrize("access", ["auto", "scan"])
@pytest.mark.parametrize("options", [{"topic": "Inner"}, {}], ids=["topic", "any topic"])
@pytest.mark.usefixtures("queues_always_used", "small_parts_pruned")
def test_messages_in_batches_are_found_by_their_tag(own_store: Callable[[str], Golden], access: str, options: dict[str, str]) -> None:
    """The entry of a batch in an ordinary queue has the hash of an empty tag."""
    store = own_store("5.5.0-slave")
    found = opened(store).messages(where="tags = 'TagI'", columns=PLACES, access=access, **options).to_table().to_pylist()
    assert places(found) == places([row for row in store.expected_rows if row["tags"] == "TagI"])
    assert len(found) == 2 + 3 + 4 + 5


@pytest.mark.parametrize("name", TRUNCATED)
def test_old_records_and_entries_follow_the_truncated_end(own_store: Callable[[str], Golden], name: str) -> None:
    """The property that makes these stores useful."""
    store = own_store(name)
    truth = store.lines("truth")
    end = truth[-1]["physical_offset"] + truth[-1]["record_size"]
    cut = old_records(store.root / "commitlog")
    assert json.loads((store.folder / "loaded.json").read_text())["end"] == cut.end == end
    assert 100 < cut.begins - cut.end < truth[-1]["record_size"] * 3
    assert cut.older
    assert min(cut.records, len(entries_of_nothing(store))) > 10
    assert not (store.root / "abort").exists()
    checkpoint = (store.root / "checkpoint").read_bytes()
    # If a broker without a controller stops soon after its last message, its checkpoint has neither.
    assert (int.from_bytes(checkpoint[:8], "big") == truth[-1]["store_timestamp"]) == (name == "5.5.0-failover")
    assert (int.from_bytes(checkpoint[32:40], "big") == end) == (name == "5.5.0-failover")


def entries_of_nothing(store: Golden) -> list[tuple[int, int]]:
    """Offset and size of queue entries without such a record in the log."""
    records = {(line["physical_offset"], line["record_size"]) for line in store.lines("truth")}
    files = (store.root / "consumequeue").glob("*/*/*")
    entries = np.concatenate([np.frombuffer(file.read_bytes(), QUEUE_ENTRY) for file in files])
    named = entries[is_written(entries)]
    return [place for place in zip(named["offset"].tolist(), named["size"].tolist(), strict=True) if place not in records]
