"""Finds ranges of store times: from the first records of segments, and from samples inside a few segments.

Of many segments, some at even distances are looked at, and then those where a wanted time may begin or end, by halves.

A broker's clock may step back. Steps up to a tolerance are always allowed for. If a later segment begins earlier than that,
the clock stepped back further or a head is wrong, so the range is unknown.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import isqrt
from typing import NamedTuple

import numpy as np

from native_reader.layout.record import LONGEST_HEAD, MAGIC_V1, MAGIC_V2
from native_reader.log.certain import has_queue_entry
from native_reader.plan.split import Split
from native_reader.predicate.outcomes import Known, Within, borders_of, may_be_true
from native_reader.predicate.tree import Predicate
from native_reader.records.sync import head_at, head_in, sync
from native_reader.storage.protocol import map_files, storage_of
from native_reader.storage.store import Segment
from native_reader.storage.window import Window
from native_reader.tuning import TUNING

_LOOK = 256 << 10
"""No sample is taken if no record starts within this many bytes, as in a hole."""
_LOOKS_BACK = 16 << 10, _LOOK, 16 << 20
"""How far before its end a segment is searched for its last record: most are small, and each one there is a small read."""
_MOST_CHECKED = 4
"""How many records near a position are checked against their queues."""
_FOREVER = 2**62
_MOST_MILLISECONDS = 2**62 // 1000


@dataclass(frozen=True, slots=True)
class Times:
    """By first offset of the segment: the least and the greatest store time of its records, if known."""

    bounds: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    inside: Mapping[int, tuple[tuple[int, int, int, int], ...]] = field(default_factory=dict)
    """Parts of some segments: positions `start, stop`, and the bounds of their store times. A record certainly starts at each."""

    def facts(self, segment: Segment) -> dict[str, Known]:
        """Known facts about the records of a segment."""
        bounds = self.bounds.get(segment.base)
        return {} if bounds is None else {"store_timestamp": Within(*bounds, nullable=True)}

    def parts(self, split: Split, predicate: Predicate) -> list[Split]:
        """The parts of a split that may match, with neighbours merged."""
        inside = self.inside.get(split.segment.base)
        if not inside:
            return [split]
        parts: list[Split] = []
        for first, stop, low, high in inside:
            start = max(first, split.start)
            if start >= stop or not may_be_true(predicate, {"store_timestamp": Within(low, high, nullable=True)}):
                continue
            if parts and parts[-1].stop == start:
                parts[-1] = replace(parts[-1], stop=stop)
            else:
                parts.append(replace(split, start=start, stop=stop, border=max(first, split.border)))
        return parts


def times_of(segments: Sequence[Segment], end: int, predicate: Predicate, *, tolerance: int, cut: bool, queue: str | None = None) -> Times:
    """The bounds of store times, in microseconds, of each segment of a log that ends at `end`; the last has no upper bound.

    `cut`: also sample segments that a condition on time cuts through, so that only the matching part is read. Samples are
    records that the consume queues in `queue` name.
    """
    bounds: dict[int, tuple[int, int]] = {}
    inside: dict[int, tuple[tuple[int, int, int, int], ...]] = {}
    for number, stop, first, after in _cells(segments, borders_of(predicate, "store_timestamp"), tolerance):
        is_last = stop == len(segments)
        if not (first and after and after[0] >= first[0] - tolerance):
            continue
        low, high = min(first[0], after[0]) - tolerance, _FOREVER if is_last else max(first[0], after[0]) + tolerance
        bounds |= dict.fromkeys((segment.base for segment in segments[number:stop]), (low, high))
        segment, is_narrow = segments[number], not is_last and high - low <= 4 * tolerance  # hardly anything would be skipped
        is_large = segment.size >= TUNING.sampled_segment
        if cut and queue is not None and is_large and not is_narrow and _is_cut_through(predicate, low, high):
            sampled = _sampled(segment, queue, min(segment.size, end - segment.base), first[0], _FOREVER if is_last else after[0])
            inside[segment.base] = _pieces(sampled, tolerance)
    return Times(bounds, inside)


class _Cell(NamedTuple):
    """Segments `[number, stop)`: the first store times of the first of them, and those after the last."""

    number: int
    stop: int
    first: list[int]
    after: list[int]


def _cells(segments: Sequence[Segment], borders: Sequence[int], tolerance: int) -> list[_Cell]:
    """All segments in cells. A cell of several steps back no further than the tolerance, and has no border of the wanted times."""
    count = len(segments)
    firsts: dict[int, list[int]] = {}
    wanted = {*range(0, count, -(-count // TUNING.time_heads) or 1), count - 1} - {-1}
    while wanted:
        numbers = sorted(wanted)
        looked_at = [segments[number] for number in numbers]
        found = map_files(lambda segment: _first_store_times(segment, 2 if segment is segments[-1] else 1), looked_at)
        firsts |= zip(numbers, found, strict=True)
        cells = [_Cell(one, other, firsts[one], firsts[other]) for one, other in pairwise(sorted(firsts))]
        wanted = {(cell.number + cell.stop) // 2 for cell in cells if _is_divided(cell, borders, tolerance)}
    return [*cells, _Cell(count - 1, count, firsts[count - 1], firsts[count - 1][1:])] if count else []


def _is_divided(cell: _Cell, borders: Sequence[int], tolerance: int) -> bool:
    """Whether the segments of a cell may differ: a time steps back or is unknown, or only some of them are wanted."""
    if cell.stop - cell.number == 1:
        return False
    if not (cell.first and cell.after and cell.after[0] >= cell.first[0] - tolerance):
        return True
    low, high = min(cell.first[0], cell.after[0]) - tolerance, max(cell.first[0], cell.after[0]) + tolerance
    return bisect_left(borders, low) < bisect_right(borders, high)


def time_span(logs: Iterable[tuple[Sequence[Segment], int]]) -> tuple[datetime, datetime] | None:
    """The store times of the first and the last record of some logs, each with its end, from a little reading; None without records."""
    found: list[int] = []
    for segments, end in logs:
        written = [segment for segment in segments if segment.base < end]
        found += next((first for segment in written if (first := _first_store_times(segment, 1))), [])
        lasts = (_last_store_time(segment, min(segment.size, end - segment.base)) for segment in reversed(written))
        found += next(([last] for last in lasts if last is not None), [])
    start = datetime(1970, 1, 1, tzinfo=UTC)
    try:
        return (start + timedelta(microseconds=min(found)), start + timedelta(microseconds=max(found))) if found else None
    except OverflowError:  # a head with an impossible time
        return None


def _last_store_time(segment: Segment, written: int) -> int | None:
    """The store time of the last record of a segment, in microseconds since 1970; of the last one before damage, if there is any."""
    last: int | None = None
    try:
        with Window(segment, 64 << 10) as window:
            position = next((each for look in _LOOKS_BACK if (each := sync(window, max(0, written - look), written)) is not None), written)
            while position < written:
                head = head_at(window, position)
                time, size = _store_time(head), int(head["size"])
                if head["magic"] not in (MAGIC_V1, MAGIC_V2) or time is None or size <= 0:
                    break
                last, position = time, position + size + segment.frame
    except OSError:  # the read itself reports it
        return None
    return last


def _is_cut_through(predicate: Predicate, low: int, high: int) -> bool:
    """Whether the predicate may match only a part of this time range."""
    ends = [bool(may_be_true(predicate, {"store_timestamp": Within(each, each)})) for each in (low, high)]
    return bool(may_be_true(predicate, {"store_timestamp": Within(low, high)})) and not all(ends)


def _sampled(segment: Segment, queue: str, written: int, first: int, after: int) -> list[tuple[int, int]]:
    """Positions in a segment where records certainly start, with their store times."""
    samples = [(0, first)]
    if segment.is_packed:  # it would be unpacked for them, and then again
        return []
    try:
        with Window(segment, 64 << 10) as window:
            parts = _parts_of(segment, written)
            for which in range(1, parts):
                place = written * which // parts
                start = _named_from(window, queue, place, min(written, place + min(written // parts, _LOOK)))
                if start is not None:
                    time = _store_time(head_at(window, start))
                    if time is None:
                        return []
                    samples.append((start, time))
    except OSError:  # the read itself reports it
        return []
    return [*samples, (segment.size, after)]


def _parts_of(segment: Segment, written: int) -> int:
    """In how many parts samples cut a segment. On a slow storage, each sample takes as long as reading some megabytes."""
    storage = storage_of(segment.uri)
    return min(TUNING.time_samples, isqrt(written // storage.call_costs)) if storage.is_slow else TUNING.time_samples


def _named_from(window: Window, queue: str, start: int, stop: int) -> int | None:
    """A record at or after `start` that its queue names; tries only the first few records."""
    for _ in range(_MOST_CHECKED):
        position = sync(window, start, stop)
        if position is None or has_queue_entry(window, queue, position):
            return position
        start = position + 1
    return None


def _pieces(samples: Sequence[tuple[int, int]], tolerance: int) -> tuple[tuple[int, int, int, int], ...]:
    """Parts of a segment with the bounds of their times; empty if the samples step back further than the tolerance."""
    pairs = list(pairwise(samples))
    if any(later < earlier - tolerance for (_, earlier), (_, later) in pairs):
        return ()
    return tuple((start, stop, min(one, two) - tolerance, min(_FOREVER, max(one, two) + tolerance)) for (start, one), (stop, two) in pairs)


def _first_store_times(segment: Segment, count: int) -> list[int]:
    """Store times of the first `count` records, in microseconds since 1970. Stops at anything that is not a record."""
    frame = segment.frame
    times: list[int] = []
    try:
        with storage_of(segment.uri).open(segment.uri) as file:
            position = frame
            for _ in range(count):
                (begin,) = file.read_ranges([(position, LONGEST_HEAD)])
                head = head_in(begin)
                time, size = _store_time(head), int(head["size"])
                valid = head["magic"] in (MAGIC_V1, MAGIC_V2) and head["physical_offset"] == segment.base + position and size > 0
                if not valid or time is None:
                    break
                times.append(time)
                position += size + frame
    except OSError:
        return []
    return times


def _store_time(head: np.void) -> int | None:
    """The store time in microseconds since 1970; None if it is out of range."""
    milliseconds = int(head["store_timestamp"])
    return milliseconds * 1000 if abs(milliseconds) <= _MOST_MILLISECONDS else None
