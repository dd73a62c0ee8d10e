"""With `access=trust`, rows are made from entries of queues that have all their columns. In a consistent store, they are the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import mostly_long, sampled
from support.golden import FOLDER, OF_EACH_KIND, unpack
from support.golden import STORES as GOLDEN
from support.own_stores import NAMES, STORES
from support.pruning import between
from support.queued_stores import TOPICS, changed_queues, dispatched, numbered, queued_stores
from support.stores import Files, files_of, in_memory, log_of, message

import native_reader as nr
from native_reader.lazy import Scan
from native_reader.options import MessageOptions
from native_reader.predicate.tree import And, Column, Compare, In, Not, Or, Predicate
from native_reader.testing.memory import MemoryFile
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store
from native_reader.tuning import tuned

pytestmark = pytest.mark.usefixtures("queues_always_used")
LISTED = ("topic", "queue_id", "physical_offset", "record_size", "inner_index", "store", "segment")
READ = MemoryFile._read
Rows = Counter[tuple[object, ...]]


def rows_of(batches: list[pa.RecordBatch]) -> Rows:
    return Counter(row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))


def scan_of(opened: nr.Store, access: str, predicate: Predicate = And(()), columns: tuple[str, ...] = LISTED, **options: Any) -> Scan:  # noqa: B008
    return Scan(opened.stores, MessageOptions(access=access, columns=columns, **options), predicate)


@st.composite
def of_entries(draw: st.DrawFn) -> Predicate:
    """Conditions on columns that entries have."""
    topic = Column("topic")
    leaf = st.one_of(
        st.sampled_from([*TOPICS, "batched", "SCHEDULE_TOPIC_XXXX", "gone"]).map(lambda name: Compare(topic, "=", name)),
        st.lists(st.sampled_from([*TOPICS, "batched"]), min_size=1, max_size=2).map(lambda names: In(topic, tuple(names))),
        st.integers(0, 2).map(lambda queue: Compare(Column("queue_id"), "=", queue)),
        st.tuples(st.sampled_from(["<", ">=", "=", "!="]), st.integers(0, 6)).map(lambda at: Compare(Column("queue_offset"), *at)),
        st.tuples(st.integers(0, 9000), st.integers(1, 2000)).map(lambda at: between("physical_offset", *at)),
        st.integers(100, 300).map(lambda size: Compare(Column("record_size"), ">", size)),
    )
    parts = tuple(draw(st.lists(leaf, max_size=2)))
    return draw(st.sampled_from([And(parts), And(parts), Or(parts) if parts else And(()), Not(And(parts)) if parts else And(())]))


def compare(opened: nr.Store, predicate: Predicate, most: int, **options: Any) -> tuple[Rows, Rows]:
    """The rows of a scan and those from entries, and that rows are counted as they are returned."""
    options |= {"max_partition_bytes": most}
    scanned, listed = (rows_of(list(scan_of(opened, access, predicate, **options).to_batches())) for access in ("scan", "trust"))
    for access, rows in (("scan", scanned), ("trust", listed)):
        assert scan_of(opened, access, predicate, **options).count_rows() == rows.total()
    return scanned, listed


def trusted(opened: nr.Store, predicate: Predicate) -> Rows:
    """What `trust` returns if it reads each record, because a column is wanted that no entry has."""
    rows = scan_of(opened, "trust", predicate, (*LISTED, "body_size"), fail_on_data_loss=False).to_table()
    return rows_of(rows.select(LISTED).to_batches())


@pytest.mark.sweep
@sampled(150)
@given(st.data())
def test_all_rows_are_those_of_a_scan(data):
    """Also in stores with expired segments, topics that were deleted or created again, batches, transactions, and entries to come."""
    memory = in_memory(data.draw(queued_stores()))
    scanned, listed = compare(nr.open(memory.url), And(()), data.draw(st.sampled_from([1 << 20, 1 << 20, 500])))
    assert listed == scanned


@pytest.mark.sweep
@sampled(150)
@given(st.data())
def test_some_rows_are_those_that_trust_reads(data):
    memory, predicate = in_memory(data.draw(queued_stores())), data.draw(of_entries())
    opened = nr.open(memory.url)
    scanned, listed = compare(opened, predicate, data.draw(st.sampled_from([1 << 20, 500])))
    assert listed == trusted(opened, predicate) or listed == scanned, str(predicate)
    assert listed <= scanned


@pytest.mark.sweep
@sampled(150)
@given(st.data())
def test_wrong_queues_never_hang_and_never_name_bytes_twice(data):
    memory = in_memory(data.draw(changed_queues(data.draw(queued_stores()))))
    with tuned(queue_read_at_once=data.draw(st.sampled_from([16 << 10, 40]))):
        _, listed = compare(nr.open(memory.url), And(()), 1 << 20, fail_on_data_loss=False)
    places = Counter((row[LISTED.index("physical_offset")], row[LISTED.index("inner_index")]) for row in listed.elements())
    assert max(places.values(), default=1) == 1


SPECS = {
    "whole": {},
    "deleted": {"deleted": "payments"},
    "recreated": {"recreated": "orders"},
    "killed": {"killed": True},
    "expired": {"expired": 2},
    "all of it": {"deleted": "payments", "recreated": "orders", "killed": True, "expired": 1, "huge": True, "rare": 0.1},
    "without queues": {"queues": False},
}


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("jobs", [1, 2])
def test_on_stores_of_the_writer(name: str, jobs: int, tmp_path: Path) -> None:
    spec = StoreSpec(bytes=4 << 20, mapped_file_size_commit_log=1 << 20, mapped_file_size_consume_queue=4000, index=False, rare=0.05)
    write_store(tmp_path / "store", replace(spec, **SPECS[name]))
    opened = nr.open(tmp_path / "store")
    expected = rows_of(list(scan_of(opened, "scan").to_batches()))
    assert rows_of(list(scan_of(opened, "trust").to_batches(jobs))) == expected
    assert opened.messages(access="trust").count_rows(jobs) == expected.total()


@pytest.mark.sweep
@pytest.mark.parametrize("name", mostly_long([*NAMES, *GOLDEN], *OF_EACH_KIND))
def test_on_stores_of_real_brokers(name: str, tmp_path: Path) -> None:
    if name in GOLDEN and not FOLDER.is_dir():
        pytest.skip("there are no golden stores")
    store = unpack(name, tmp_path, STORES if name in NAMES else FOLDER)
    logs = ",".join(map(str, store.log_folders)) if len(store.log_folders) > 1 else None
    opened = nr.open(store.root, store_path_commit_log=logs)
    expected = scan_of(opened, "scan").to_table()
    assert rows_of(scan_of(opened, "trust").to_table().to_batches()) == rows_of(expected.to_batches())
    for topic in set(expected["topic"].to_pylist()):
        predicate = Compare(Column("topic"), "=", topic)
        assert rows_of(list(scan_of(opened, "trust", predicate).to_batches())) == trusted(opened, predicate), topic


# What is read


def plain(count: int = 400, **options: Any) -> tuple[Files, int]:
    """Three topics of one queue each in segments of 1 MiB; and the bytes of its log."""
    log = log_of(numbered(replace(message(number), body=b"x" * 10_000) for number in range(count)), 1 << 20)
    return files_of(log) | dispatched(log.placed, **{"file": 20 * count} | options), log.end


def read_of_log(files: Files, **options: Any) -> tuple[int, int]:
    """The number of rows, and how many bytes of the log are read for it after its end was found."""
    memory, asked = in_memory(files), 0

    def read(file: MemoryFile, offset: int, view: memoryview) -> int:
        nonlocal asked
        got = READ(file, offset, view)
        asked += got * ("/commitlog/" in file.uri)
        return got

    scan = nr.open(memory.url).messages(**options)
    scan.plan()
    with mock.patch.object(MemoryFile, "_read", read):
        rows = scan.count_rows()
    return rows, asked


def test_only_the_first_and_the_last_records_of_queues_are_read() -> None:
    files, size = plain()
    rows, asked = read_of_log(files, access="trust")
    assert (rows, read_of_log(files, access="scan")[0]) == (400, 400)
    assert asked < size / 4
    rows, asked = read_of_log(files, access="trust", topic="T1")
    assert rows == read_of_log(files, access="scan", topic="T1")[0] > 100
    assert asked < size / 4


def test_a_column_that_no_entry_has_is_read() -> None:
    files, size = plain()
    memory = in_memory(files)
    opened = nr.open(memory.url)
    for columns in (["topic", "store_timestamp"], ["kind"], ["tags"]):
        plan = opened.messages(access="trust", columns=columns).plan()
        assert {split.access for split in plan.splits} == {"scan"}
    plan = opened.messages(access="trust", columns=["topic"], verify_crc=True).plan()
    assert {split.access for split in plan.splits} == {"scan"}
    assert read_of_log(files, access="trust", verify_crc=True)[1] >= size


def test_a_log_whose_queues_list_little_of_it_is_scanned() -> None:
    files, _ = plain(deleted=["T0", "T1"])
    memory = in_memory(files)
    run = nr.open(memory.url).messages(access="trust", columns=["topic"]).run()
    assert sum(batch.num_rows for batch in run) == 400
    assert all(line.endswith("most of it must be read") for line in run.report.scanned)


def test_two_queues_that_name_the_same_record_are_not_believed() -> None:
    files, _ = plain()
    name = f"store/consumequeue/T1/0/{0:020}"
    other = name.replace("T1", "T2")
    content = bytearray(files[other])
    content[40:60] = files[name][40:60]  # between the first and the last entry, which are looked at
    memory = in_memory(files | {other: bytes(content)})
    run = nr.open(memory.url).messages(access="trust", columns=["topic"]).run()
    assert sum(batch.num_rows for batch in run) == 400
    assert len(run.report.scanned) == 1
    assert run.report.scanned[0].endswith("two consume queue entries name the same bytes")


def test_a_message_that_was_damaged_is_counted_unless_it_is_the_first_or_last() -> None:
    """That is what `trust` means. The docs say it."""
    files, _ = plain()
    name = min(name for name in files if "/commitlog/" in name)
    content = bytearray(files[name])
    second = int.from_bytes(content[:4])
    content[10 * second : 11 * second] = bytes(second)
    files |= {name: bytes(content)}
    assert read_of_log(files, access="trust", mode="DROPMALFORMED")[0] == 400
    assert read_of_log(files, access="scan", mode="DROPMALFORMED")[0] < 400


def test_queues_of_a_slave_with_batches_are_read() -> None:
    """Its entries count records, not messages."""
    from native_reader.testing.records import INNER_BATCH, InnerMessage, pack_inner

    body = pack_inner([InnerMessage(b"1"), InnerMessage(b"2"), InnerMessage(b"3")])
    messages = [replace(message(number), body=body, sys_flag=INNER_BATCH) for number in range(9)]
    log = log_of(numbered(messages))
    files = files_of(log) | dispatched(log.placed, file=4000, slave=True)
    assert read_of_log(files, access="trust")[0] == read_of_log(files, access="scan")[0] == 27


# What is said


def test_it_is_explained() -> None:
    memory = in_memory(plain()[0])
    opened = nr.open(memory.url)
    assert (
        "  by queue   rows are made from the entries of all queues\n"
        "  no queue   of 3.9 MiB in 4 segments, only bytes in no consume queue are read, and records of inner batches\n"
    ) in str(opened.messages(access="trust", columns=["topic"]).explain())
    told = str(opened.messages(access="trust", columns=["topic"], topic="T1").explain())
    assert "             access=trust: rows are made from these entries, of 3.9 MiB in 4 segments\n" in told
