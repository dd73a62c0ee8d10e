"""The Python API: lazy scans that always give the same rows, stop early, run in parallel, and are Arrow streams."""

from __future__ import annotations

import _thread
import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest
from support.stores import ZERO, files_of, in_memory, log_of, message

import native_reader as nr
import rmqstore
from native_reader.columns.spec import ColumnSpec
from native_reader.tables import TABLES
from native_reader.tables.table import Table
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.memory import MemoryStorage

COUNT = 200


@pytest.fixture(scope="module")
def memory() -> MemoryStorage:
    return in_memory(files_of(log_of(COUNT)))


@pytest.fixture(scope="module")
def store(memory: MemoryStorage) -> nr.Store:
    return nr.open(memory.url)


# Lazy and repeatable


def test_a_scan_reads_nothing_before_it_is_used(memory):
    faulty = FaultyStorage(memory.url)
    opened = nr.open(faulty.url)
    before = faulty.calls.copy()
    scan = opened.messages(columns="topic", topic="T1", max_partition_bytes=900)
    assert scan.schema == pa.schema([pa.field("topic", pa.string())])
    assert repr(opened).startswith(f"<Store {faulty.url}/store: ")
    assert faulty.calls == before
    assert scan.count_rows() > 0
    assert faulty.calls != before


def test_the_end_is_fixed_at_first_use():
    log = log_of(10)
    files = files_of(log)
    memory = in_memory(files)
    store = nr.open(memory.url)
    used, unused = store.messages(), store.messages()
    first = used.to_table()
    assert first.num_rows == 10
    log.append(message(10))
    files |= files_of(log)  # the broker continues in the same preallocated file
    assert used.to_table().equals(first)
    assert used.count_rows() == used.head(99).num_rows == 10
    assert used.plan() is used.plan()
    assert unused.count_rows() == 11


def test_refresh_lists_the_files_again():
    log = log_of(10, segment_size=4096)
    files = files_of(log)
    memory = in_memory(files)
    store = nr.open(f"{memory.url}/*")
    for number in range(10, 60):
        log.append(message(number))
    files |= files_of(log)
    assert store.messages().count_rows() == sum(placed.segment == 0 for placed in log.placed)
    assert store.refresh().messages().count_rows() == 60
    assert (len(store.stores[0].segments), len(store.refresh().stores[0].segments)) == (1, 3)


def test_refresh_remembers_the_paths_of_the_parts(tmp_path):
    memory = in_memory(files_of(log_of(10), "disk"))
    store = nr.open(store_path_commit_log=f"{memory.url}/disk", store_path_index="/index")
    assert store.refresh().stores == store.stores
    assert store.stores[0].index == "file:///index"


def test_a_deleted_file_is_an_error_until_refresh():
    files = files_of(log_of(60))
    memory = in_memory(files)
    store = nr.open(memory.url)
    del files[f"store/commitlog/{ZERO}"]
    with pytest.raises(nr.DataLoss, match=f"/{ZERO} no longer exists; it existed when the read was planned"):
        store.messages().to_table()
    assert store.refresh().messages().count_rows() == sum(placed.offset >= 2048 for placed in log_of(60).placed)


# head and count_rows


def test_head_reads_no_more_than_needed():
    memory = in_memory(files_of(log_of(20_000, segment_size=8 << 20)))
    faulty = FaultyStorage(memory.url)
    scan = nr.open(faulty.url).messages()
    scan.plan()
    before = faulty.bytes_read
    assert scan.head(5)["queue_offset"].to_pylist() == [0, 1, 2, 3, 4]
    assert faulty.bytes_read - before <= 128 << 10
    assert scan.head(5).schema == scan.schema


@pytest.mark.parametrize("count", [0, 1, 3, COUNT - 1, COUNT, COUNT + 1, 10**9])
def test_head_returns_the_first_rows(store, count):
    scan = store.messages(columns="queue_offset", max_partition_bytes=600)
    assert scan.head(count)["queue_offset"].to_pylist() == list(range(min(count, COUNT)))


@pytest.mark.parametrize("count", [-1, 2.5, None, "3", 2**63])
def test_head_rejects_other_than_integers(store, count):
    with pytest.raises(nr.OptionError) as raised:
        store.messages().head(count)
    assert str(raised.value) == f"head must be an integer from 0 to 9223372036854775807, not {count!r}"


def test_head_skips_rows_that_do_not_match(store):
    assert store.messages(topic="T2", max_partition_bytes=500).head(3)["queue_offset"].to_pylist() == [2, 5, 8]
    assert store.messages(topic="none").head(3).num_rows == 0


@pytest.mark.parametrize("options", [{}, {"topic": "T1"}, {"topic": "none"}, {"columns": "body"}, {"max_partition_bytes": 300}])
def test_rows_are_counted_without_building_columns(store, options):
    scan = store.messages(**options)
    for jobs in (1, 3):
        assert scan.count_rows(jobs) == scan.to_table().num_rows


# In parallel


@pytest.mark.parametrize("jobs", [1, 2, 3, 4])
@pytest.mark.parametrize("split", [300, 5000, 1 << 30])
def test_jobs_give_the_same_rows_in_the_same_order(store, jobs, split):
    expected = store.messages().to_table()
    scan = store.messages(max_partition_bytes=split)
    assert scan.to_table(jobs=jobs).equals(expected)
    assert pa.Table.from_batches(scan.to_batches(jobs=jobs)).equals(expected)
    assert scan.to_reader(jobs=jobs).read_all().equals(expected)


@pytest.mark.parametrize("is_cut", [True, False])
def test_jobs_share_a_split_unless_segments_are_not_to_be_cut(memory, tune, is_cut):
    """A cut inside a segment is a guess, which some stores do not allow."""
    tune(part_of_a_job=700)
    faulty = FaultyStorage(memory.url)
    scan = nr.open(faulty.url).messages(max_partition_bytes=2047 if is_cut else 2048)
    expected, before = scan.to_table(), faulty.calls["open"]
    assert scan.to_table().equals(expected)
    between = faulty.calls["open"]
    assert scan.to_table(jobs=3).equals(expected)
    one, several = between - before, faulty.calls["open"] - between
    assert several > one if is_cut else several == one


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "2", None, 1001])
def test_jobs_rejects_other_than_integers(store, jobs):
    with pytest.raises(nr.OptionError) as raised:
        store.messages().to_table(jobs=jobs)
    assert str(raised.value) == f"jobs must be an integer from 1 to 1000, not {jobs!r}"


@contextmanager
def leaving_no_threads() -> Iterator[None]:
    before, patience = _thread._count(), time.monotonic() + 5
    yield
    while _thread._count() > before and time.monotonic() < patience:  # a thread ends a little after its last line
        time.sleep(0.001)
    assert _thread._count() <= before


@pytest.mark.parametrize("leave", ["close", "forget", "raise"])
def test_a_run_left_early_leaves_no_threads(store, leave):
    with leaving_no_threads():
        batches = store.messages(max_partition_bytes=300).to_batches(jobs=4)
        next(batches)
        if leave == "close":
            batches.close()  # type: ignore[attr-defined]
        elif leave == "forget":
            del batches
            gc.collect()
        else:
            with pytest.raises(KeyError):
                batches.throw(KeyError)  # type: ignore[attr-defined]


def test_waiting_jobs_end_when_their_reader_stops(tune):
    """Every split has more batches than may wait, so its thread waits."""
    tune(bytes_ahead=1)
    memory = in_memory(files_of(log_of([message(number, body=bytes(4096)) for number in range(700)], 1 << 20)))
    scan = nr.open(memory.url).messages()
    with leaving_no_threads():
        assert len(list(scan.to_batches())) >= 3 * len(scan.plan().splits) - 1
        batches = scan.to_batches(jobs=3)
        next(batches)
        time.sleep(0.1)
        batches.close()  # type: ignore[attr-defined]
    assert scan.to_table(jobs=3).equals(scan.to_table())


def test_jobs_do_not_run_far_ahead(memory):
    """However slow the reader is, each job is at most one split ahead."""
    faulty = FaultyStorage(memory.url)
    scan = nr.open(faulty.url).messages(max_partition_bytes=300)
    scan.plan()
    opened = faulty.calls["open"]
    batches = scan.to_batches(jobs=3)
    next(batches)
    time.sleep(0.2)
    assert faulty.calls["open"] - opened <= 2 * 3
    batches.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_a_failing_job_raises_after_the_rows_before_it(memory, jobs):
    bad = f"/{2048 * 5:020}"

    def fault(call: str, uri: str, offset: int) -> None:
        if call == "open" and uri.endswith(bad):
            raise OSError(5, "Input/output error")

    faulty = FaultyStorage(memory.url)
    scan = nr.open(faulty.url).messages(columns="physical_offset", max_partition_bytes=2048)
    scan.plan()
    faulty.fault = fault
    batches, found = scan.to_batches(jobs), []
    with leaving_no_threads(), pytest.raises(nr.UnreadableError) as raised:  # noqa: PT012
        while True:
            found += next(batches)["physical_offset"].to_pylist()
    assert str(raised.value) == f"could not open {faulty.url}/store/commitlog{bad}: Input/output error"
    assert found == [placed.offset for placed in log_of(COUNT).placed if placed.offset < 2048 * 5]


def test_jobs_read_in_parallel(memory):
    """Three readers reach their first read together, otherwise the barrier breaks."""
    faulty = FaultyStorage(memory.url)
    scan = nr.open(faulty.url).messages(columns="topic", max_partition_bytes=2048)
    assert len(scan.plan().splits) >= 3
    barrier, met = threading.Barrier(3), set[int]()

    def meet(call: str, uri: str, offset: int) -> None:
        if call == "read" and threading.get_ident() not in met and len(met) < 3:
            met.add(threading.get_ident())
            barrier.wait(60)

    faulty.fault = meet
    assert len(scan.to_table(jobs=3)) == 200


# Arrow


@pytest.mark.parametrize(
    "take",
    [
        pa.table,
        lambda scan: pa.RecordBatchReader.from_stream(scan).read_all(),
        lambda scan: scan.to_reader().read_all(),
        lambda scan: pa.Table.from_batches(scan.to_batches(), scan.schema),
        lambda scan: pa.Table.from_batches(list(scan.run()), scan.schema),
    ],
)
def test_a_scan_is_an_arrow_stream(store, take: Callable[[nr.Scan], pa.Table]):
    scan = store.messages(columns="*", topic="T1")
    assert take(scan).equals(scan.to_table())
    assert take(scan).schema == scan.schema
    nothing = store.messages(topic="none")
    assert take(nothing).equals(nothing.schema.empty_table())


def test_an_error_passes_through_a_stream(memory):
    files = dict(memory.files)
    del files[f"store/commitlog/{ZERO}"]
    broken = in_memory(files | {f"store/commitlog/{ZERO}": bytes(2048)})
    scan = nr.open(broken.url).messages()
    with pytest.raises(nr.StoreDamaged):
        scan.to_reader().read_all()
    with pytest.raises(Exception, match=f"{ZERO} at offset 0"):
        pa.table(scan)


def test_columns_come_in_the_requested_order(store):
    table = store.messages(columns=["body", "topic"]).head(2)
    assert table.column_names == ["body", "topic"]
    assert store.messages().schema.names == store.messages().head(1).column_names
    assert all(field.nullable for field in store.messages(columns="*").schema)


# explain, tables and names


def test_explain_as_text_and_json(memory, store):
    scan = store.messages(topic=["a", "b"], starting_physical_offset=4096, max_partition_bytes=1024)
    end = log_of(COUNT).end
    size = 2048 * len(memory.files)
    splits = len(scan.plan().splits)
    assert scan.explain().to_dict() == {
        "stores": [f"{memory.url}/store"],
        "predicate": "topic IN ('a', 'b') AND physical_offset >= 4096",
        "time_zone": None,
        "doubts": [],
        "segments": len(memory.files),
        "splits": splits,
        "bytes_to_scan": end - 4096,
        "bytes_to_prune": 0,
        "bytes_skipped": 4096,
        "ways": [
            {
                "store": f"{memory.url}/store",
                "access": "scan",
                "listed": False,
                "why": "there are no consume queues",
                "segments": len(memory.files) - 2,
                "bytes": end - 4096,
                "bytes_read_whole": 0,
                "bytes_by_queue": 0,
                "topics": 0,
                "queues": 0,
                "entries": 0,
                "entries_wanted": 0,
                "bytes_wanted": 0,
                "costs": None,
                "summary": None,
                "index": None,
            }
        ],
        "skipped": [{"why": "physical offset", "segments": 2, "bytes": 4096}],
        "ends": {f"{memory.url}/store": end},
        "gaps": [],
        "stale": {},
        "kernel": nr.kernel_info()._asdict(),
    }
    assert size - 2048 < end <= size
    assert str(scan.explain()) == (
        "messages where topic IN ('a', 'b') AND physical_offset >= 4096\n"
        f" {memory.url}/store: 15 segments, 30.0 KiB\n"
        f"  by scan    {(end - 4096) / 1024:.1f} KiB in 13 segments: there are no consume queues\n"
        "  not read   4.0 KiB in 2 segments, excluded by physical offset\n"
        f" kernel: {nr.kernel_info()}"
    )


def test_explain_reads_no_more_than_planning(memory):
    faulty = FaultyStorage(memory.url)
    scan = nr.open(faulty.url).messages()
    scan.plan()
    before = faulty.calls.copy()
    assert "TRUE" in str(scan.explain())
    assert faulty.calls == before


def test_several_stores_are_one_table():
    memory = in_memory(files_of(log_of(20), "b/commitlog") | files_of(log_of(30), "a/commitlog"))
    store = nr.open(memory.url)
    scan = store.messages(max_partition_bytes=900)
    table = scan.to_table()
    assert table["store"].to_pylist() == [f"{memory.url}/a"] * 30 + [f"{memory.url}/b"] * 20
    assert scan.to_table(jobs=4).equals(table)
    assert nr.open([f"{memory.url}/b", f"{memory.url}/a"]).messages().to_table()["store"][0].as_py() == f"{memory.url}/b"
    assert (
        repr(store) == f"<Store {memory.url}/a, {memory.url}/b: 5 segments, 10,240 bytes. Next: .messages(topic='...'), .table('segments')>"
    )
    assert set(scan.explain().to_dict()["ends"]) == {f"{memory.url}/a", f"{memory.url}/b"}


def test_the_public_names():
    assert {"open", "Store", "Scan", "Run", "Explanation"} <= set(nr.__all__)
    assert rmqstore.__all__ == nr.__all__
    assert [getattr(rmqstore, name) for name in rmqstore.__all__] == [getattr(nr, name) for name in nr.__all__]
    assert {*nr.__all__} <= {*dir(rmqstore)}
    with pytest.raises(AttributeError, match="module 'rmqstore' has no attribute 'opne'"):
        rmqstore.opne  # noqa: B018


def test_a_table_that_needs_no_ends_of_logs_opens_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table is one module and one entry in TABLES."""

    def rows(part: object, _: object) -> list[dict[str, object]]:
        return [{"store": part}]

    columns = {"store": ColumnSpec(pa.string(), "URI of the store's root")}
    stores = Table("stores", columns, lambda request: [store.uri for store in request.stores], rows)
    monkeypatch.setitem(TABLES, "stores", stores)
    memory = in_memory(files_of(log_of(3)))
    faulty = FaultyStorage(memory.url)
    store = nr.open(f"{faulty.url}/store")
    before = faulty.calls["open"]
    assert store.table("stores").to_table().to_pylist() == [{"store": f"{faulty.url}/store"}]
    assert faulty.calls["open"] == before
