"""With a summary, nothing is asked, read or built more often than needed: each of these costs a question a measurable part of its time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import native_reader as nr
from native_reader import kernel
from native_reader.plan import summarized
from native_reader.records.extents import Extents
from native_reader.records.walk import CHUNK
from native_reader.scan.narrowed import FIRST_GROUP, NarrowedRead
from native_reader.summarizing import encoded
from native_reader.summary import part, pieces
from native_reader.summary.part import GROUPS, KEYS, Facts, Groups
from native_reader.summary.pieces import Unfit
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

pytestmark = pytest.mark.usefixtures("queues_always_used")
SEGMENT = 128 << 10


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[nr.Store, Path]:
    """A store of four segments and the summary of three. Tests must not change them."""
    folder = tmp_path_factory.mktemp("asked")
    write_store(folder / "store", StoreSpec(bytes=4 * SEGMENT, mapped_file_size_commit_log=SEGMENT, index=False))
    store = nr.open(folder / "store")
    store.summarize(folder / "summary")
    return store, folder / "summary"


def noted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[tuple[Any, ...]]:
    """The arguments of each call of a function, from now on."""
    function, calls = getattr(owner, name), list[tuple[Any, ...]]()

    def noting(*arguments: Any) -> Any:
        calls.append(arguments)
        return function(*arguments)

    monkeypatch.setattr(owner, name, noting)
    return calls


def test_only_topics_that_the_condition_names_are_asked(written: tuple[nr.Store, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    store, folder = written
    asked = noted(monkeypatch, summarized, "facts_of_topic")
    assert store.messages(topic="orders", summary=folder).count_rows() > 0
    assert {name for (name,) in asked} == {"orders"}
    assert store.messages(where="topic = 'orders' OR queue_id = 0", summary=folder).count_rows() > 0
    assert len({name for (name,) in asked}) > 10, "any topic may match"


def test_a_range_that_has_a_whole_segment_is_not_compared_there(written: tuple[nr.Store, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    store, folder = written
    compared = noted(monkeypatch, summarized, "_may_match")
    until = [2 * SEGMENT, 2 * SEGMENT + SEGMENT // 2]
    rows = [store.messages(topic="orders", ending_physical_offset=end, summary=folder, columns="body").to_table().num_rows for end in until]
    assert {segment.base for _, _, segment, *_ in compared} == {2 * SEGMENT}
    for end, count in zip(until, rows, strict=True):
        assert count == store.messages(topic="orders", ending_physical_offset=end, access="scan").count_rows() > 0


def test_the_groups_of_more_parts_than_large_ones_are_kept_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segments = part._MOST_LARGE + 2
    write_store(tmp_path / "store", StoreSpec(bytes=segments * (16 << 10), mapped_file_size_commit_log=16 << 10, body=200, index=False))
    store = nr.open(tmp_path / "store")
    store.summarize(tmp_path / "summary")
    read = noted(monkeypatch, Facts, "from_json")
    counts = [store.messages(topic="orders", summary=tmp_path / "summary").count_rows() for _ in range(2)]
    assert counts[0] == counts[1] == store.messages(topic="orders", access="scan").count_rows() > 0
    assert len(read) == segments - 1 > part._MOST_LARGE


def test_a_footer_is_read_once(written: tuple[nr.Store, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    store, folder = written
    pieces._metadata.cache_clear()
    read = noted(monkeypatch, pq, "read_metadata")
    for _ in range(3):
        store.messages(topic="orders", summary=folder, columns="body").to_table()
    assert len(read) == 3, "one for each part"


def test_records_with_a_key_are_looked_up_by_the_plan_alone(written: tuple[nr.Store, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    store, folder = written
    key = store.messages(topic="orders", where="uniq_key IS NOT NULL", columns="uniq_key").head(1)["uniq_key"][0].as_py()
    opened = noted(monkeypatch, part.Part, "_opened")
    scan = store.messages(msg_id=key, columns="topic,body", summary=folder, ending_physical_offset=3 * SEGMENT)
    scan.plan()
    assert [name for _, name in opened].count("records") == 1, "of the part that has the key"
    planned = len(opened)
    table = scan.to_table()
    assert table["topic"].to_pylist() == ["orders"]
    assert len(opened) == planned, "the read opens no part"


def test_only_the_first_split_of_a_read_begins_with_a_small_piece(written: tuple[nr.Store, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    store, folder = written
    read = noted(monkeypatch, Extents, "groups")
    store.messages(topic="orders", summary=folder, columns="body", ending_physical_offset=3 * SEGMENT).to_table()
    assert [first for _, first, *_ in read] == [FIRST_GROUP, CHUNK, CHUNK]


@pytest.mark.kernel
def test_records_far_apart_are_given_to_the_kernel_once(written: tuple[nr.Store, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    store, folder = written
    monkeypatch.setenv("RMQSTORE_KERNEL", "compiled")
    given, pieces_read = noted(monkeypatch, kernel, "_chain_of"), noted(monkeypatch, NarrowedRead, "_together")
    options: dict[str, Any] = {"topic": "orders", "where": "body_size >= 0 AND tags IS NOT NULL", "ending_physical_offset": 3 * SEGMENT}
    rows = store.messages(summary=folder, **options).to_table()
    new = [records for _, _, records, _ in given if not isinstance(records, kernel._Chain)]
    assert len(new) == len(pieces_read) >= 3
    assert rows == store.messages(access="scan", **options).to_table()


def test_a_wanted_key_needs_a_small_part_of_the_keys() -> None:
    count = 20_000
    table = pa.table([np.arange(count), np.arange(count)], schema=KEYS)
    metadata = pq.read_metadata(pa.BufferReader(encoded(table)))
    assert {metadata.row_group(group).num_rows for group in range(metadata.num_row_groups - 1)} == {4096}


def test_groups_without_a_value_are_a_contradiction() -> None:
    row: dict[str, Any] = {"topic": b"orders"} | dict.fromkeys(GROUPS.names[1:], 1)
    assert Groups(pa.Table.from_pylist([row], GROUPS)).names == [b"orders"]
    for name in GROUPS.names:
        with pytest.raises(Unfit, match="contradiction"):
            Groups(pa.Table.from_pylist([row, row | {name: None}], GROUPS))
