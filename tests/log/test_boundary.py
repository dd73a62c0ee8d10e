"""Boundaries are certain ends of records, whatever bodies contain. They are determined without reading a log from its start."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import pytest
from support.growing import Disk
from support.queued_stores import dispatched
from support.stores import files_of, in_memory, log_of, message
from support.tune import Tune

import native_reader as nr
from native_reader.log import boundary
from native_reader.log.boundary import Boundary, Limits, boundary_after, boundary_before, counted, still_holds
from native_reader.records.sync import sync
from native_reader.storage.store import StoreFiles
from native_reader.storage.window import Window
from native_reader.testing.logs import CommitLog, Framing
from native_reader.testing.memory import MemoryStorage
from native_reader.testing.records import encode

LIMITS = Limits(1 << 20)
START = Boundary(0)


def opened(log: CommitLog, *, queues: bool = False, framing: Framing = "plain") -> tuple[MemoryStorage, StoreFiles]:
    under = "store/commitlog" if framing == "plain" else "store/dledger-n0/data"
    memory = in_memory(files_of(log, under) | (dispatched(log.placed) if queues else {}))
    (store,) = nr.open(f"{memory.url}/store").stores
    return memory, store


def ends_of(log: CommitLog) -> list[int]:
    """The offsets where records end."""
    return [each.offset + each.size for each in log.placed]


def borders_of(log: CommitLog) -> list[int]:
    """The same, but for the last record of a full segment, the end of the segment."""
    following = [*(each.segment for each in log.placed[1:]), log.placed[-1].segment]
    return [end if each.segment == after else after for each, end, after in zip(log.placed, ends_of(log), following, strict=True)]


def of_sizes(sizes: Iterable[int], segment_size: int, framing: Framing = "plain") -> CommitLog:
    return log_of([message(n, body=b"x" * size, topic="T", queue_id=0) for n, size in enumerate(sizes)], segment_size, 0, framing)


@pytest.mark.parametrize("framing", ["plain", "dledger"])
@pytest.mark.parametrize("queues", [False, True])
def test_the_last_end_before_any_offset(tune: Tune, framing: Framing, queues: bool) -> None:
    tune(boundary_look=300, certain_look=300)
    log = of_sizes([20, 500, 1, 90, 900, 3, 3, 3, 250, 700, 10, 10, 400, 60] * 3, 4096, framing)
    _memory, store = opened(log, queues=queues, framing=framing)
    ends, borders = ends_of(log), borders_of(log)
    for target in sorted({*range(1, ends[-1] + 1, 31), *ends, *(end - 1 for end in ends)}):
        which = max(0, bisect_right(ends, target) - 1)
        found = boundary_before(store, START, target, LIMITS)
        assert found.offset == borders[which], target
        assert found.last is not None
        assert found.last.offset == log.placed[which].offset
        assert boundary_after(store, START, target, LIMITS).offset == next(border for border in borders if border >= target)


def test_between_any_two_boundaries() -> None:
    log = of_sizes([20, 500, 1, 90, 900, 3, 3, 3, 250, 700], 2048)
    _memory, store = opened(log)
    ends = ends_of(log)
    borders = [START, *(boundary_before(store, START, end, LIMITS) for end in ends)]
    assert [each.offset for each in borders[1:]] == borders_of(log)
    for first, start in enumerate(borders[:-1]):
        for target in range(start.offset + 1, ends[-1] + 1, 5):
            assert boundary_before(store, start, target, LIMITS) == borders[max(first + 1, bisect_right(ends, target))]


def chained(at: int, size: int) -> bytes:
    """A chain of records with the right physical offsets."""
    chain = b""
    while len(chain) < size:
        chain += encode(message(7, body=b"forged", topic="T", queue_id=0), at + len(chain))
    return chain


@pytest.mark.parametrize("framing", ["plain", "dledger"])
def test_a_record_that_begins_at_the_end_of_a_look_is_found(framing: Framing) -> None:
    """With DLedger, only its frame begins there, and the record itself after the look."""
    log = log_of(6, 1 << 16, framing=framing)
    _memory, store = opened(log, framing=framing)
    (segment,) = store.segments
    with Window(segment, 1 << 16) as window:
        for placed in log.placed:
            start = placed.offset - segment.frame
            assert [sync(window, start, start + length) for length in (1, 20, 48)] == [start] * 3


@pytest.mark.parametrize("queues", [False, True])
def test_no_forged_record_is_a_boundary(tune: Tune, queues: bool) -> None:
    """A look that begins inside a body full of forged records sees only those."""
    tune(boundary_look=300, certain_look=300)
    log = log_of([message(0, topic="T", queue_id=0)], 1 << 16)
    body_at = log.end + encode(message(1, body=b"<body>", topic="T", queue_id=0), log.end).index(b"<body>")
    placed = log.append(message(1, body=chained(body_at, 3000), topic="T", queue_id=0))
    log.append(message(2, topic="T", queue_id=0))
    _memory, store = opened(log, queues=queues)
    (segment,) = store.segments
    with Window(segment, 1 << 16) as window:
        assert sync(window, placed.offset + 1, placed.offset + placed.size) == body_at
    ends = ends_of(log)
    for target in range(placed.offset + 1, placed.offset + placed.size, 7):
        assert boundary_before(store, START, target, LIMITS).offset == ends[0], target
    assert boundary_before(store, START, ends[1], LIMITS).offset == ends[1]


def test_no_forged_record_ends_a_file_without_a_blank(tune: Tune) -> None:
    """The blank at a segment's end is certain, whatever leads to it. Without one, a forged record may be the last one seen."""
    tune(boundary_look=300, certain_look=300)
    log = log_of([message(0, topic="T", queue_id=0)], 1 << 16)
    body_at = log.end + encode(message(1, body=b"<body>", topic="T", queue_id=0), log.end).index(b"<body>")
    log.append(message(1, body=chained(body_at, 3000), topic="T", queue_id=0))
    ((file, content),) = files_of(log).items()
    memory = in_memory({file: content[: log.end]})
    (store,) = nr.open(f"{memory.url}/store").stores
    assert boundary_before(store, START, store.segments[0].size, LIMITS).offset == log.end


def test_queues_shorten_the_walk(monkeypatch: pytest.MonkeyPatch, tune: Tune) -> None:
    """If a queue names a record nearby, a boundary far inside a segment costs one look there."""
    log = of_sizes([100] * 3000, 1 << 20)
    read: list[int] = []
    load = boundary.Window.load
    tune(certain_look=4096)
    monkeypatch.setattr(boundary.Window, "load", lambda self, at, length: read.append(length) or load(self, at, length))
    costs = []
    for queues in (True, False):
        _memory, store = opened(log, queues=queues)
        read.clear()
        assert boundary_before(store, START, 600_000, LIMITS).offset == max(end for end in ends_of(log) if end <= 600_000)
        costs.append(sum(read))
    assert costs[0] < 40_000
    assert costs[1] > 500_000


@pytest.mark.parametrize("framing", ["plain", "dledger"])
def test_a_number_of_records(framing: Framing) -> None:
    log = of_sizes([20, 500, 1, 90, 900, 3, 3, 3, 250, 700] * 2, 2048, framing)
    _memory, store = opened(log, framing=framing)
    ends = ends_of(log)
    borders = [START, *(boundary_before(store, START, end, LIMITS) for end in ends)]
    for first, start in enumerate(borders[:-1]):
        for most in range(1, len(borders)):
            for stop in borders[first + 1 :: 3]:
                between = borders.index(stop) - first
                found, count = counted(store, start, most, stop, LIMITS)
                assert (found, count) == (borders[min(first + most, first + between)], min(most, between))


def test_damage_is_skipped() -> None:
    log = of_sizes([50] * 40, 1 << 14)
    files = {name: bytearray(content) for name, content in files_of(log).items()}
    first = log.placed[10]
    next(iter(files.values()))[first.offset : first.offset + 20] = bytes(20)
    memory = in_memory(files)
    (store,) = nr.open(f"{memory.url}/store").stores
    ends = ends_of(log)
    assert boundary_before(store, START, ends[20], LIMITS).offset == ends[20]
    assert boundary_before(store, START, ends[10] + 1, LIMITS).offset == ends[9]
    assert boundary_before(store, Boundary(ends[9]), ends[10] + 1, LIMITS).offset == ends[11]
    assert counted(store, START, 15, Boundary(ends[-1]), LIMITS)[0].offset == ends[15]


def test_a_record_over_the_limit_counts_as_one() -> None:
    log = of_sizes([50, 5000, 50], 1 << 14)
    _memory, store = opened(log)
    assert [boundary_before(store, START, end, Limits(1000)).offset for end in ends_of(log)] == ends_of(log)


def test_nothing_after_the_start() -> None:
    _memory, store = opened(of_sizes([50], 4096))
    assert boundary_before(store, Boundary(4096), 5000, LIMITS) == Boundary(4096)
    empty = Disk()
    empty.content["store/commitlog/"] = b""
    (store,) = nr.open(f"{empty.url}/store").stores
    assert boundary_before(store, START, 10, LIMITS) == START


def test_a_boundary_does_not_hold_if_its_record_was_replaced() -> None:
    log = of_sizes([50] * 8, 2048)
    memory, store = opened(log)
    marks = [boundary_before(store, START, end, LIMITS) for end in ends_of(log)]
    assert all(still_holds(store, mark) for mark in marks)
    for mark in marks:
        assert mark.last is not None
        assert not still_holds(store, mark._replace(last=mark.last._replace(crc=mark.last.crc + 1)))
        assert not still_holds(store, mark._replace(last=mark.last._replace(stored=mark.last.stored + 1)))
    assert not still_holds(store, START)
    memory.files.clear()
    assert not any(still_holds(store, mark) for mark in marks)


def test_a_record_that_replaces_a_blank_is_seen() -> None:
    """A power loss erased the blank that closed a segment, and the broker continued there."""
    log = of_sizes([700, 700, 300], 2048)
    _memory, store = opened(log)
    closed = boundary_before(store, START, 2048, LIMITS)
    assert closed.offset == 2048
    assert still_holds(store, closed)
    longer = of_sizes([700, 700, 1], 2048)
    assert [each.segment for each in longer.placed] == [0, 0, 0]
    _memory, store = opened(longer)
    assert not still_holds(store, closed)
