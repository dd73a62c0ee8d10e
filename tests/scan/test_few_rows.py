"""A reader of few rows reads little: the first ones, the newest ones. They are those of the whole read."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import run
from support.indexed_stores import indexed
from support.log_ends import checkpoint, cut_log
from support.queued_stores import dispatched, numbered
from support.stores import Files, dledger, files_of, in_memory, log_of, message, on_disk

import native_reader as nr
from native_reader.testing import StoreSpec, write_store
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.records import INNER_BATCH, InnerMessage, pack_inner, pack_properties

pytestmark = pytest.mark.xdist_group("few_rows")  # in one worker, which writes each store once
KIB, MIB = 1 << 10, 1 << 20
KINDS = {"at rest": (False, True), "killed": (True, True), "at rest, no queues": (False, False), "killed, no queues": (True, False)}
IN_LAST = 9 * MIB
"""Of the last segment with records; it has 16 MiB, and is not walked whole if there are queues."""
NOT_DISPATCHED = 2 * MIB
"""What of a killed store is at most looked at to find the newest record that is in a queue."""


@pytest.fixture(scope="module", params=KINDS)
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[FaultyStorage, int]:
    """A store of two segments, and how much of its log is read to find its end."""
    killed, queues = KINDS[request.param]
    root = tmp_path_factory.mktemp("few") / "store"
    files: dict[str, Any] = {"mapped_file_size_commit_log": 16 * MIB, "max_hash_slot_num": 10_000, "max_index_num": 40_000}
    write_store(root, StoreSpec(bytes=16 * MIB + IN_LAST, killed=killed, queues=queues, index=queues, topics=4, **files))
    at_end = (NOT_DISPATCHED if killed else 256 * KIB) if queues else IN_LAST + 256 * KIB
    return FaultyStorage(root.as_uri()), at_end


def log_read(faulty: FaultyStorage, ask: Callable[[], object]) -> int:
    """How many bytes of the log a question reads."""
    faulty.bytes_of.clear()
    ask()
    return sum(size for uri, size in faulty.bytes_of.items() if "/commitlog/" in uri)


def test_the_end_of_a_log_is_found_near_its_newest_queue_entry(large: tuple[FaultyStorage, int]) -> None:
    faulty, at_end = large
    assert log_read(faulty, lambda: nr.open(faulty.url).messages().plan()) <= at_end


@pytest.mark.parametrize("conditions", [{}, {"topic": "orders"}, {"where": "body_size > 100"}])
def test_the_first_rows_need_no_end(large: tuple[FaultyStorage, int], conditions: dict[str, Any]) -> None:
    faulty, _ = large
    assert log_read(faulty, lambda: nr.open(faulty.url).messages(**conditions).head(5)) <= 66 * KIB


def test_the_first_lines_of_cat_need_no_end(large: tuple[FaultyStorage, int]) -> None:
    faulty, _ = large
    assert log_read(faulty, lambda: run("cat", faulty.url, "-n", 5)) <= 66 * KIB


@pytest.mark.parametrize("conditions", [{}, {"topic": "orders"}])
def test_the_newest_rows_need_one_search_for_the_end(large: tuple[FaultyStorage, int], conditions: dict[str, Any]) -> None:
    faulty, at_end = large
    most = at_end + (256 * KIB if at_end < IN_LAST else 5 * MIB)  # without queues, records are known to start every 4 MiB
    assert log_read(faulty, lambda: nr.open(faulty.url).newest(5, **conditions)) <= most
    assert log_read(faulty, lambda: run("tail", faulty.url, "-n", 5)) <= most


def test_a_count_of_a_topic_reads_its_log_once(large: tuple[FaultyStorage, int]) -> None:
    faulty, at_end = large
    assert log_read(faulty, lambda: nr.open(faulty.url).messages(topic="orders").count_rows()) <= 16 * MIB + IN_LAST + at_end + 512 * KIB


# The same rows


def large_records() -> Files:
    """Each record is larger than a first look."""
    return files_of(log_of([message(number, body=b"x" * (70 << 10)) for number in range(6)], 1 << 18))


def stepped_back() -> Files:
    """The clock stepped back at each tenth record. With queues."""
    messages = numbered(message(number, store_timestamp=5000 + number - 40 * (number // 10)) for number in range(40))
    log = log_of(messages, 1 << 16)
    return files_of(log) | dispatched(log.placed)


def with_old_records() -> Files:
    files = {name: content for name, content in cut_log()[0].items() if "/commitlog/" in name}
    return files | {"store/checkpoint": checkpoint(5024)}


def one_record() -> Files:
    return files_of(log_of(1))


def damaged() -> Files:
    """One damaged record in each of several segments, the first of all too."""
    files = files_of(log_of(40))
    return {name: content[:4] + b"\0" + content[5:] if number % 2 == 0 else content for number, (name, content) in enumerate(files.items())}


STORES = {
    "several segments": lambda: files_of(log_of(40)),
    "one segment": lambda: files_of(log_of(40, 1 << 16)),
    "DLedger": dledger,
    "one record": one_record,
    "no record": lambda: {"store/commitlog/" + "0" * 20: bytes(4096)},
    "large records": large_records,
    "a clock that stepped back": stepped_back,
    "old records after the end": with_old_records,
    "damage": damaged,
}

CONDITIONS: list[dict[str, Any]] = [
    {},
    {"topic": "T1"},
    {"where": "physical_offset > 900 OR tags = 'tag2'"},
    {"starting_timestamp": 1_700_000_000_010},
    {"keys": "k7"},
    {"where": "topic = 'T2' OR array_contains(keys, 'k30')"},
    {"max_partition_bytes": 300},
    {"access": "trust", "where": "topic = 'T2' AND tags = 'tag2'"},
]


def whole(scan: nr.Scan) -> pa.Table:
    """The rows of a read that finds the end of the log first."""
    return pa.Table.from_batches(scan.run(), scan.schema)


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("conditions", CONDITIONS, ids=str)
def test_the_first_rows_are_those_of_the_whole_read(kind: str, conditions: dict[str, Any]) -> None:
    storage = in_memory(STORES[kind]())
    options = {"mode": "DROPMALFORMED", "fail_on_data_loss": False, "columns": "physical_offset,topic"} | conditions
    store = nr.open(storage.url)
    rows = whole(store.messages(**options))
    assert store.messages(**options).to_table().equals(rows)
    for count in {0, 1, 2, 23, 24, 25, 26, len(rows), len(rows) + 1}:
        assert store.messages(**options).head(count).equals(rows.slice(0, count)), count
    assert store.newest(3, **options).equals(rows.slice(max(0, len(rows) - 3)))


@given(st.sampled_from([1024, 4096, 1 << 16]), st.lists(st.tuples(st.integers(0, 1 << 14), st.integers(1, 600), st.binary(max_size=2))))
def test_a_read_in_steps_is_the_whole_read_also_of_a_damaged_log(segment: int, wrong: list[tuple[int, int, bytes]]) -> None:
    """Without queues, the end of the log is found after the first rows."""
    files = {name: bytearray(content) for name, content in files_of(log_of(40, segment)).items()}
    log = [files[name] for name in sorted(files)]
    for at, size, content in wrong:
        of_segment = log[at // segment % len(log)]
        start, stop = at % segment, min(at % segment + size, len(of_segment))
        of_segment[start:stop] = (content * size)[: stop - start].ljust(stop - start, b"\0")
    storage = in_memory({name: bytes(content) for name, content in files.items()})
    for options in ({"mode": "DROPMALFORMED", "fail_on_data_loss": False}, {}):
        store = nr.open(storage.url)
        assert outcome(store.messages(**options), nr.Scan.to_table) == outcome(store.messages(**options), whole)


def outcome(scan: nr.Scan, read: Callable[[nr.Scan], pa.Table]) -> object:
    """The rows, or the kind of the error: in steps, damage is an error before what is lost after the end."""
    try:
        return read(scan).to_pylist()
    except nr.StoreError:
        return nr.StoreError


@pytest.mark.parametrize("read", ["reader", "dataset", "scan"])
def test_who_may_stop_early_waits_for_no_end(large: tuple[FaultyStorage, int], read: str) -> None:
    """DuckDB does not say that a query has a LIMIT."""
    faulty, at_end = large

    def ask() -> None:
        scan = nr.open(faulty.url).messages()
        if read == "reader":
            scan.to_reader().read_next_batch()
        else:
            rows: object = scan if read == "scan" else scan.to_pyarrow_dataset()  # noqa: F841  DuckDB finds it by its name
            assert len(duckdb.sql("select topic from rows limit 10").fetchall()) == 10

    assert log_read(faulty, ask) <= (130 * KIB if at_end > IN_LAST else at_end + 130 * KIB)


def test_queries_of_one_dataset_read_to_the_same_end() -> None:
    before, after = (files_of(log_of(count, 1 << 16)) for count in (40, 45))
    growing = bytearray(before[name := min(before)])
    storage = in_memory({name: growing})
    rows = nr.open(storage.url).messages().to_pyarrow_dataset()
    assert rows.count_rows() == 40
    growing[:] = after[name]
    assert rows.count_rows() == 40
    assert rows.to_table().num_rows == 40


def test_the_rows_of_a_second_store_follow_those_of_the_first() -> None:
    storage = in_memory(files_of(log_of(7), "a/commitlog") | files_of(log_of(5), "b/commitlog"))
    store = nr.open(storage.url)
    rows = store.messages().to_table()
    for count in range(14):
        assert store.messages().head(count).equals(rows.slice(0, count))


def test_a_topic_that_is_only_near_the_end_is_no_doubt(caplog: pytest.LogCaptureFixture) -> None:
    """The first step of the read finds no row of it, and must not say so."""
    storage = in_memory(files_of(log_of([message(number, topic="late" if number > 35 else "T") for number in range(40)])))
    with caplog.at_level(logging.WARNING):
        assert len(nr.open(storage.url).messages(topic="late").head(2)) == 2
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        assert len(nr.open(storage.url).messages(topic="lat").head(2)) == 0
    (warned,) = caplog.records
    assert "no record of topic 'lat'" in warned.getMessage()


def test_what_is_lost_after_the_end_is_said_once_the_end_is_needed() -> None:
    log = log_of(40)
    files = files_of(log) | dispatched(log.placed)
    del files[max(name for name in files if "/commitlog/" in name and any(files[name]))]
    storage = in_memory(files)
    store = nr.open(storage.url)
    whole = store.messages(fail_on_data_loss=False).count_rows()
    assert len(store.messages().head(1)) == 1
    with pytest.raises(nr.DataLoss, match="after the end of the log"):
        store.messages().head(whole)
    with pytest.raises(nr.DataLoss, match="after the end of the log"):
        store.newest(1)


def test_a_gap_between_segments_is_an_error_for_the_first_rows_too() -> None:
    files = files_of(log_of(100, 4096))
    del files[sorted(files)[1]]
    storage = in_memory(files)
    with pytest.raises(nr.DataLoss, match="are in no file"):
        nr.open(storage.url).messages().head(1)


def test_each_run_of_the_steps_reports_its_part() -> None:
    storage = in_memory(files_of(log_of(40)))
    scan = nr.open(storage.url).messages()
    first, rest = [(sum(map(len, run)), run.report) for run in scan.runs()]
    assert first[0] + rest[0] == 40
    assert first[1].rows == first[0]
    assert rest[1].rows == rest[0]
    scan.plan()
    assert [sum(map(len, run)) for run in scan.runs()] == [40]  # the end is known, so there is one step


def test_the_end_is_fixed_once_the_first_rows_needed_it() -> None:
    before, after = (files_of(log_of(count, 1 << 16)) for count in (40, 45))
    name = min(before)
    growing = bytearray(before[name])
    storage = in_memory({name: growing})
    store = nr.open(storage.url)
    scan, unused = store.messages(), store.messages()
    assert len(scan.head(100)) == 40
    growing[:] = after[name]
    assert (len(scan.head(100)), scan.count_rows()) == (40, 40)
    assert len(unused.head(100)) == 45


# The newest ones, when others are read before them


def newest_of_each(files: Files, count: int, **options: Any) -> dict[str, list[tuple[int, int | None]]]:
    """The places of the newest rows, by each way of access."""
    memory, found = in_memory(files), {}
    for access in ("scan", "auto", "trust"):
        rows = nr.open(memory.url).newest(count, access=access, columns="physical_offset,inner_index", **options)
        found[access] = list(zip(rows["physical_offset"].to_pylist(), rows["inner_index"].to_pylist(), strict=True))
    return found


@pytest.mark.usefixtures("queues_always_used", "small_parts_pruned")
@pytest.mark.parametrize("conditions", [{"keys": "all"}, {"keys": ["k3", "k20", "k45", "k50"], "topic": "T0"}])
def test_the_newest_rows_with_a_key_were_those_that_no_index_names(conditions: dict[str, Any]) -> None:
    """Rows that an index names are read before the others, which here are older. So the last rows that came were not the newest."""
    log = log_of(numbered(message(number, topic="T0") for number in range(60)), 8192)
    files = files_of(log) | dispatched(log.placed) | indexed(log.placed, begin=log.placed[30].offset)
    for count in (1, 2, 3, 100):
        found = newest_of_each(files, count, **conditions)
        assert found["auto"] == found["scan"] != []
        assert count > 2 or found["trust"] == found["scan"]


@pytest.mark.usefixtures("queues_always_used", "small_parts_pruned")
def test_cat_printed_first_what_an_index_names(tmp_path: Path) -> None:
    log = log_of(numbered(message(number, topic="T0") for number in range(60)), 8192)
    on_disk(tmp_path, files_of(log) | dispatched(log.placed) | indexed(log.placed, begin=log.placed[30].offset))
    conditions = ["cat", tmp_path / "store", "--key", "all", "-c", "physical_offset"]
    for limit in ((), ("-n", "100"), ("-n", "3")):
        printed = [int(line) for line in run(*conditions, *limit).out.split() if line.isdecimal()]
        assert printed == [each.offset for each in log.placed][: len(printed)]
        assert len(printed) == (3 if "3" in limit else 60)


def test_the_newest_rows_were_those_of_the_last_queue() -> None:
    """With `trust`, rows from entries come queue by queue."""
    log = log_of(numbered(message(number, topic=f"T{number % 2}") for number in range(60)), 8192)
    found = newest_of_each(files_of(log) | dispatched(log.placed), 7)
    assert found["trust"] == found["auto"] == found["scan"] == [(each.offset, None) for each in log.placed[-7:]]


def test_the_newest_rows_of_a_summary_were_not_those_of_a_batch(tmp_path: Path) -> None:
    """A summary alone has the messages of batches before the other rows of their segment."""
    units = pack_inner(InnerMessage(b"x", pack_properties({"KEYS": f"i{number}"})) for number in range(3))
    ordinary = [message(number, topic="T0") for number in range(30)]
    batch = message(30, topic="batched", body=units, sys_flag=INNER_BATCH)
    log = log_of(numbered([*ordinary[:10], batch, *ordinary[10:], batch]), 8192)
    log.seal()
    files = files_of(log) | dispatched(log.placed)
    memory = in_memory(files)
    nr.open(memory.url).summarize(tmp_path)
    found = newest_of_each(files, 2, summary=tmp_path)
    assert found["auto"] == found["scan"] == [(log.placed[-1].offset, 1), (log.placed[-1].offset, 2)]
