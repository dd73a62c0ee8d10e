"""Segments by store time: the times of their first records, and when those are trusted."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from support.effort import thinned
from support.queued_stores import dispatched
from support.stores import Files, files_of, in_memory, log_of, message
from support.tune import Tune

import native_reader as nr
from native_reader.testing.faulty import FaultyStorage
from native_reader.text import size_of

START = 1_700_000_000_000
MINUTE = 60_000
COUNT = 120


def stored(moment: Callable[[int], int], segment_size: int = 2048, *, queues: bool = False) -> Files:
    log = log_of([message(number, store_timestamp=moment(number)) for number in range(COUNT)], segment_size)
    return files_of(log) | (dispatched(log.placed) if queues else {})


def asked(files: Files, first: int, end: int, **options: Any) -> tuple[int, int, list[str]]:
    """Rows, rows without pruning, and the reasons why segments were skipped."""
    storage = in_memory(files)
    scan = nr.open(storage.url).messages(starting_timestamp=first, ending_timestamp=end, **options)
    rows = nr.open(storage.url).messages(columns="store_timestamp").to_table()["store_timestamp"].cast("int64").to_pylist()
    return (
        scan.count_rows(),
        sum(row is not None and first <= row // 1000 < end for row in rows),
        [why for _, why in scan.plan().skipped],
    )


def steady(number: int) -> int:
    return START + number * MINUTE


def changed(files: Files, which: int, moment: int) -> Files:
    """The first store time of a segment, changed in place."""
    name = sorted(files)[which]
    return files | {name: files[name][:56] + struct.pack(">q", moment) + files[name][64:]}


@pytest.mark.parametrize(("first", "length"), [(0, 10), (30, 10), (119, 5), (-50, 20), (200, 10), (60, 1)])
def test_a_window_reads_the_segments_that_it_touches(first: int, length: int) -> None:
    files = stored(steady)
    found, expected, skipped = asked(files, steady(first), steady(first + length))
    assert found == expected
    assert skipped == ["store time"] * len(skipped)
    assert len(files) - len(skipped) <= 2 + length // 10 + 1


def test_a_clock_that_stepped_back_within_the_tolerance() -> None:
    files = stored(lambda number: steady(number) - (5 * MINUTE if number % 17 == 3 else 0))
    for first in range(0, COUNT, 7):
        found, expected, _ = asked(files, steady(first), steady(first + 3), time_skew_tolerance="5m")
        assert found == expected


def test_a_larger_clock_step_is_detected_at_the_start_of_a_segment() -> None:
    files = stored(lambda number: steady(number) - (90 * MINUTE if number >= 50 else 0))
    for first in range(-100, COUNT, 5):
        found, expected, _ = asked(files, steady(first), steady(first + 3))
        assert found == expected


@pytest.mark.parametrize("which", thinned([0, 3, -2, -1], 2))
@pytest.mark.parametrize("moment", [0, START * 2, -1, 2**62, -(2**62), START - 10**9, START + 10**9])
def test_an_impossible_first_time_is_detected(which: int, moment: int) -> None:
    files = changed(stored(steady), which, moment)
    for first in range(0, COUNT, 11):
        found, expected, _ = asked(files, steady(first), steady(first + 3))
        assert found == expected


def test_a_first_time_changed_plausibly_hides_rows_and_a_scan_finds_them() -> None:
    files = stored(steady)
    base = int(sorted(files)[3][-20:])
    number = next(which for which, placed in enumerate(log_of(COUNT).placed) if placed.offset >= base)
    lied = changed(files, 3, steady(number + 8))
    assert asked(lied, steady(number + 1), steady(number + 3))[:2] == (0, 2)
    assert asked(lied, steady(number + 1), steady(number + 3), access="scan") == (2, 2, [])


def test_a_segment_that_does_not_start_with_a_record() -> None:
    files = stored(steady)
    name = sorted(files)[4]
    files[name] = b"x" * 100 + files[name][100:]
    for first in range(0, COUNT, 11):
        found, expected, _ = asked_leniently(files, steady(first), steady(first + 3))
        assert found == expected


def asked_leniently(files: Files, first: int, end: int) -> tuple[int, int, int]:
    storage = in_memory(files)
    store = nr.open(storage.url)
    rows = store.messages(columns="store_timestamp", mode="DROPMALFORMED").to_table()["store_timestamp"].cast("int64").to_pylist()
    found = store.messages(starting_timestamp=first, ending_timestamp=end, mode="DROPMALFORMED").count_rows()
    return found, sum(row is not None and first <= row // 1000 < end for row in rows), 0


# Many segments

MANY, HEADS = 300, 8
"""One record in each segment; and how many of them are looked at for any range."""


def many(moment: Callable[[int], int]) -> Files:
    return files_of(log_of([message(number, store_timestamp=moment(number)) for number in range(MANY)], 256))


def asked_of_many(tune: Tune, files: Files, first: int, end: int) -> tuple[list[int], list[int], int]:
    """Numbers of the rows in a range of time, those of a scan, and how many segments were opened to plan."""
    tune(time_heads=HEADS)
    storage = in_memory(files)
    faulty = FaultyStorage(storage.url)
    store = nr.open(f"{faulty.url}/store")
    assert len(store.stores[0].segments) >= MANY
    options: dict[str, Any] = {"starting_timestamp": first, "ending_timestamp": end, "columns": "queue_offset"}
    scan = store.messages(**options)
    faulty.calls.clear()
    scan.plan()
    opened = faulty.calls["open"]
    rows, every = (each.to_table()["queue_offset"].to_pylist() for each in (scan, store.messages(**options, access="scan")))
    return rows, every, opened


@pytest.mark.parametrize(("first", "length"), [(0, 1), (149, 3), (37, 200), (-50, 20), (290, 300), (-5, 900), (299, 1)])
def test_a_range_of_time_looks_into_few_of_many_segments(tune: Tune, first: int, length: int) -> None:
    rows, every, opened = asked_of_many(tune, many(steady), steady(first), steady(first + length))
    assert rows == every == [*range(max(0, first), min(MANY, first + length))]
    assert opened <= HEADS + 2 * 2 * 7  # two borders, each in at most two of the parts, which are halved up to six times; and the end


def test_a_clock_that_stepped_back_further_than_from_one_such_segment_to_the_next(tune: Tune) -> None:
    """Then all segments between the two are looked at."""
    files = many(lambda number: steady(number - 100 * (number >= 160)))
    for first in (50, 59, 60, 62, 158):
        rows, every, opened = asked_of_many(tune, files, steady(first), steady(first + 2))
        assert rows == every, first
        assert opened < MANY // 3


def test_a_clock_that_stepped_back_less_hides_rows_and_a_scan_or_a_larger_tolerance_finds_them(tune: Tune) -> None:
    files = many(lambda number: steady(number - 10 * (number >= 160)))
    rows, every, _ = asked_of_many(tune, files, steady(156), steady(158))
    assert (rows, every) == ([166, 167], [156, 157, 166, 167])
    assert asked(files, steady(156), steady(158), time_skew_tolerance="10m")[:2] == (4, 4)


def test_two_ranges_of_time_leave_out_what_is_between_them(tune: Tune) -> None:
    tune(time_heads=HEADS)
    storage = in_memory(many(steady))
    early, late = (f"TIMESTAMP '{datetime.fromtimestamp(steady(number) / 1000, UTC).isoformat(' ')}'" for number in (3, 200))
    scan = nr.open(storage.url).messages(where=f"store_timestamp < {early} OR store_timestamp >= {late}")
    assert scan.count_rows() == 3 + 100
    assert sum(why == "store time" for _, why in scan.plan().skipped) >= 190


@pytest.mark.parametrize("damaged", [0, 1, 150, 299])
def test_a_segment_without_a_first_record_among_many(tune: Tune, damaged: int) -> None:
    tune(time_heads=HEADS)
    files = many(steady)
    name = sorted(files)[damaged]
    files[name] = bytes(8) + files[name][8:]
    for first in (0, 149, 151, 297):
        found, expected, _ = asked_leniently(files, steady(first), steady(first + 2))
        assert found == expected


# Inside a segment


@pytest.fixture
def sampled_always(tune: Tune) -> None:
    tune(sampled_segment=0, time_samples=16)


@pytest.mark.usefixtures("sampled_always")
@pytest.mark.parametrize("tolerance", ["0s", "1m", "20m"])
def test_only_the_wanted_part_of_a_segment_is_read(tolerance: str) -> None:
    storage = in_memory(stored(steady, 1 << 20, queues=True))
    store = nr.open(storage.url)
    for first in range(-3, COUNT + 3, 4):
        scan = store.messages(
            starting_timestamp=steady(first), ending_timestamp=steady(first + 6), time_skew_tolerance=tolerance, max_partition_bytes=4096
        )
        run = scan.run()
        rows = sum(len(batch) for batch in run)
        assert rows == len({*range(first, first + 6)} & {*range(COUNT)})
        if tolerance == "0s" and 10 < first < 100:
            assert run.report.segments[0].record_bytes < log_of(COUNT, 1 << 20).end / 5
            unread = (1 << 20) - sum(map(len, scan.plan().splits))
            assert f"  not read   {size_of(unread)} inside segments, excluded by store time\n" in str(scan.explain())
    whole = store.messages(starting_timestamp=steady(50), max_partition_bytes=1 << 20)  # a segment that fits one split stays whole
    assert [(split.start, split.stop) for split in whole.plan().splits] == [(0, 1 << 20)]


@pytest.mark.usefixtures("sampled_always")
@pytest.mark.parametrize("step", [-5 * MINUTE, 5 * MINUTE])
def test_a_clock_that_stepped_within_the_tolerance_between_two_samples(step: int) -> None:
    files = stored(lambda number: steady(number) + (step if number % 17 == 3 else 0), 1 << 20, queues=True)
    for first in range(0, COUNT, 3):
        found, expected, _ = asked(files, steady(first), steady(first + 3), time_skew_tolerance="5m", max_partition_bytes=4096)
        assert found == expected


@pytest.mark.usefixtures("sampled_always")
def test_samples_that_decrease_are_not_trusted() -> None:
    messages = [message(number, store_timestamp=steady(number if not 40 <= number < 60 else 119 - number)) for number in range(COUNT)]
    storage = in_memory(files_of(log_of(messages, 1 << 20)))
    store = nr.open(storage.url)
    scan = store.messages(starting_timestamp=steady(70), ending_timestamp=steady(75), time_skew_tolerance=0, max_partition_bytes=4096)
    assert scan.count_rows() == 5 + 5  # the ones in order, and as many that were stored too early
    assert scan.explain().to_dict()["bytes_skipped"] == 0


def test_segments_of_dledger_have_times_too() -> None:
    log = log_of([message(number, store_timestamp=steady(number)) for number in range(COUNT)], 4096, framing="dledger")
    files = files_of(log, "store/dledger-n0/data")
    found, expected, skipped = asked(files, steady(30), steady(35))
    assert (found, expected) == (5, 5)
    assert len(skipped) >= len(files) - 3


@pytest.mark.usefixtures("sampled_always")
def test_a_segment_that_is_skipped_as_a_whole_is_accounted_for() -> None:
    """Conditions that exclude each other may each hold somewhere in the segment, but together in no part of it."""
    storage = in_memory(stored(steady, 1 << 20, queues=True))
    scan = nr.open(storage.url).messages(
        starting_timestamp=steady(70),
        where="store_timestamp < TIMESTAMP '2023-11-14 23:00:00Z'",
        time_skew_tolerance=0,
        max_partition_bytes=500,
    )
    run = scan.run()
    assert [*run] == []
    assert [(segment.size, segment.unread_bytes) for segment in run.report.segments] == [(1 << 20, 1 << 20)]
    assert [why for _, why in scan.plan().skipped] == ["store time"]
