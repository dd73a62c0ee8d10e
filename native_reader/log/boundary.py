"""Boundaries: certain offsets between two records, safe to store.

A search for records only gives a guess, because a body can contain the bytes of a record with the right offset. Three places
are certain: the start of a segment, a record that a walk from a certain place reaches, and a record with a matching consume
queue entry. Far from a known boundary, we search for records and check one against its consume queue; without queues we walk.
"""

from __future__ import annotations

from typing import NamedTuple

from native_reader.layout.begin import number
from native_reader.layout.record import BLANK_HEAD, LONGEST_HEAD
from native_reader.log.certain import certain_before
from native_reader.records.sync import head_at, places_of, record_size_at, sync
from native_reader.records.walk import EndWalk, is_blank
from native_reader.storage.store import Segment, StoreFiles, is_live
from native_reader.storage.window import Window
from native_reader.tuning import TUNING


class Fingerprint(NamedTuple):
    """Distinguishes a record from any other that could be at its offset."""

    offset: int
    stored: int
    """Milliseconds since 1970."""
    crc: int


class Boundary(NamedTuple):
    """An offset at which a record ends or a segment begins, and the last record before it; None if there was none."""

    offset: int
    last: Fingerprint | None = None


Boundaries = dict[str, Boundary]
"""By store URI: a boundary of its log."""


class Limits(NamedTuple):
    """Settings for walking a log."""

    max_record_bytes: int
    past_unreadable: bool = False


def window_of(store: StoreFiles, segment: Segment, limits: Limits) -> Window:
    """A window for reading a few records, and sometimes all of them."""
    return Window(segment, TUNING.boundary_look, leave_no_trace=is_live(store.uri), past_unreadable=limits.past_unreadable)


def fingerprint_at(window: Window, position: int) -> Fingerprint:
    """The fingerprint of the record that is at that position of the file now."""
    head = head_at(window, position)
    return Fingerprint(int(head["physical_offset"]), int(head["store_timestamp"]), int(head["body_crc"]))


def still_holds(store: StoreFiles, at: Boundary) -> bool:
    """Whether the record before that boundary is still there, with no other record before the boundary; False if its file is gone."""
    return readable_until(store, at) is not None


def readable_until(store: StoreFiles, at: Boundary) -> int | None:
    """Up to where the log before a boundary that still holds can be read; None if it does not hold.

    A power loss can erase the blank that closed the last segment: then up to where the blank was. The broker continues there.
    """
    if at.last is None:
        return None
    segment = store.segment_at(at.last.offset)
    if segment is None or segment.end <= at.last.offset:
        return None
    position = at.last.offset - segment.frame - segment.base
    try:
        with Window(segment, LONGEST_HEAD) as window:
            if fingerprint_at(window, position) != at.last:
                return None
            end = position + number(window.peek(position + segment.frame, 4), signed=False) + segment.frame
            if segment.base + end >= at.offset or is_blank(window, end):
                return at.offset
            if record_size_at(window, end) is not None:
                return None
    except OSError:  # gone or unreadable: reading it will report the error
        return None
    # Before a segment with records, anything but a blank is damage, and reading it will report that.
    return at.offset if is_continued(store, segment) else segment.base + end


def is_continued(store: StoreFiles, segment: Segment) -> bool:
    """Whether the log continues in the next segment, so that this segment gets no more records.

    A broker (all versions) that recovers and finds no segment after a blank continues where the blank was.
    """
    following = store.segment_at(segment.end)
    if following is None or following.base != segment.end:
        return False
    try:
        with Window(following, BLANK_HEAD) as window:
            return any(window.peek(0, BLANK_HEAD))
    except OSError:  # deleted meanwhile
        return False


def closing_blank(store: StoreFiles, at: Boundary) -> int | None:
    """The end of the segment, if a blank fills it from that boundary on."""
    segment = store.segment_at(at.offset)
    if segment is None or segment.end - at.offset < BLANK_HEAD:
        return None
    try:
        with Window(segment, BLANK_HEAD) as window:
            return segment.end if is_blank(window, at.offset - segment.base) else None
    except OSError:  # the segment was deleted meanwhile, or cannot be read
        return None


def boundary_after_record(store: StoreFiles, window: Window, position: int, size: int) -> Boundary:
    """The boundary after the record at that position; if the log continues in the next segment, the end of this segment."""
    segment, end = window.segment, position + size
    # In a copy that still grows, fewer bytes than a blank's head can be the start of a record.
    closed = segment.size - end >= BLANK_HEAD and is_blank(window, end) and is_continued(store, segment)
    return Boundary(segment.end if closed else segment.base + end, fingerprint_at(window, position))


def boundary_before(store: StoreFiles, start: Boundary, target: int, limits: Limits) -> Boundary:
    """The boundary after the last record that ends at `target` or before; if there is none, after the first record after `start`.

    Returns `start` if no record follows it. `target` must not be after the end of the log.
    """
    segment = store.segment_at(target - 1)
    if segment is None or segment.end <= start.offset:
        return start
    low, aim = max(0, start.offset - segment.base), min(target - segment.base, segment.size)
    with window_of(store, segment, limits) as window:
        if aim == segment.size and (closed := _closed(store, window, low, limits)):
            return closed
        begin = aim
        while begin > low:
            begin = certain_before(window, store.consume_queue, low, begin, limits.max_record_bytes)
            if end := _last_end(window, begin, aim, limits):  # the record that starts there may end after the target
                return boundary_after_record(store, window, *end)
        if segment.base > start.offset:  # no record of this segment ends before the target
            before = boundary_before(store, start, segment.base, limits)
            return before if before != start else Boundary(segment.base, start.last)
        first = _first(window, low, limits)
        return start if first is None else boundary_after_record(store, window, *first)


def boundary_after(store: StoreFiles, start: Boundary, target: int, limits: Limits) -> Boundary:
    """The first boundary at or after `target`, which must be after `start`."""
    boundary = boundary_before(store, start, target, limits)
    while boundary.offset < target and (further := boundary_before(store, boundary, boundary.offset + 1, limits)) != boundary:
        boundary = further
    return boundary


def counted(store: StoreFiles, start: Boundary, most: int, stop: Boundary, limits: Limits) -> tuple[Boundary, int]:
    """The boundary after the first `most` records after `start`, or `stop` if it comes first; and the number of records."""
    count = 0
    for segment in store.segments:
        if segment.end <= start.offset or segment.base >= stop.offset:
            continue
        with window_of(store, segment, limits) as window:
            until = min(segment.end, stop.offset) - segment.base
            for records in EndWalk(window, max(0, start.offset - segment.base), until, limits.max_record_bytes):
                if count + len(records) >= most:
                    starts, sizes = places_of(window, records)
                    last = most - count - 1
                    end = boundary_after_record(store, window, int(starts[last]), int(sizes[last]))
                    return (end if end.offset < stop.offset else stop), most
                count += len(records)
    return stop, count


def _last_end(window: Window, begin: int, aim: int, limits: Limits) -> tuple[int, int] | None:
    """Position and size of the last record that ends at `aim` or before, on a walk from `begin`."""
    last: list[tuple[int, int]] = []
    for records in EndWalk(window, begin, aim, limits.max_record_bytes):
        starts, sizes = places_of(window, records[-2:])
        last = [*last, *zip(starts.tolist(), sizes.tolist(), strict=True)][-2:]
    return next((each for each in reversed(last) if sum(each) <= aim), None)


def _closed(store: StoreFiles, window: Window, low: int, limits: Limits) -> Boundary | None:
    """The end of a closed segment; None if it is not closed. The end is certain even if the last record is a guess.

    That record only helps to detect later whether the log is still the same.
    """
    segment = window.segment
    first = low if segment.size - low <= TUNING.boundary_look else sync(window, segment.size - TUNING.boundary_look, segment.size)
    if first is None:
        return None
    walk = EndWalk(window, first, segment.size, limits.max_record_bytes).finish()
    return boundary_after_record(store, window, *walk.last_record) if walk.is_closed and walk.last_record is not None else None


def _first(window: Window, begin: int, limits: Limits) -> tuple[int, int] | None:
    """Position and size of the first record at or after `begin`."""
    for records in EndWalk(window, begin, window.segment.size, limits.max_record_bytes):
        starts, sizes = places_of(window, records)
        return int(starts[0]), int(sizes[0])
    return None
