"""Where a stream begins in a log: a new one by its options, a resumed one at its stored boundary.

What was lost before a resumed stream: a broker deletes its oldest segments. After a crash of a master it may truncate its log
and write other records at the same offsets. A path may contain a different store than before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from native_reader.layout.record import BLANK_HEAD, SMALLEST_RECORD
from native_reader.log.boundary import Boundary, Limits, boundary_after, boundary_before, still_holds
from native_reader.plan.times import times_of
from native_reader.predicate.outcomes import may_be_true
from native_reader.predicate.tree import Predicate
from native_reader.sentences import Said, say
from native_reader.storage.store import StoreFiles

EARLIEST, LATEST = "earliest", "latest"


@dataclass(frozen=True, slots=True)
class Start:
    """The options that set where a new stream begins. If none is set, it begins at the end of the log."""

    position: str | None = None
    """`earliest` or `latest`."""
    offset: int | None = None
    by_time: bool = False
    by_queue_offset: bool = False

    def begin_in(self, store: StoreFiles, end: Boundary, predicate: Predicate, time_skew_tolerance: int, limits: Limits) -> Boundary:
        """The boundary at which a new stream begins in a log that ends at `end`; rows before the start may follow it."""
        is_set = self.position is not None or self.offset is not None or self.by_time or self.by_queue_offset
        if self.position == LATEST or not is_set:
            return end
        begins = [Boundary(store.min_offset)]
        if self.offset is not None:
            begins.append(_begin_by_offset(store, end, self.offset, limits))
        if self.by_time:
            begins.append(_begin_by_time(store, end, predicate, time_skew_tolerance))
        return max(begins, key=lambda begin: begin.offset)


def start_of(options: Mapping[str, Any], position: str | None = None) -> Start:
    """The start that the values of these options set; `position`: `earliest` or `latest`, which counts before them."""
    by_time, by_queue_offset = (options[name] is not None for name in ("starting_timestamp", "starting_offsets"))
    return Start(position, options["starting_physical_offset"], by_time, by_queue_offset)


def _begin_by_time(store: StoreFiles, end: Boundary, predicate: Predicate, time_skew_tolerance: int) -> Boundary:
    """The start of the first segment that may hold a record matching a condition on its store time."""
    written = [segment for segment in store.segments if segment.base < end.offset]
    times = times_of(written, end.offset, predicate, tolerance=time_skew_tolerance, cut=False)
    wanted = (segment for segment in written if may_be_true(predicate, times.facts(segment)))
    return Boundary(next((segment.base for segment in wanted), store.min_offset))


def _begin_by_offset(store: StoreFiles, end: Boundary, offset: int, limits: Limits) -> Boundary:
    """The last boundary at or before that offset."""
    if offset >= end.offset:
        return end
    segment = store.segment_at(offset)
    if segment is None or segment.end <= offset or offset == segment.base:
        return Boundary(max(offset, store.min_offset) if segment is None else segment.base)
    boundary = boundary_before(store, Boundary(segment.base), offset, limits)
    return boundary if boundary.offset <= offset else Boundary(segment.base)


def can_resume(store: StoreFiles, at: Boundary, end: Boundary) -> bool:
    """Whether a log that ends at `end` still has that boundary, so that a read can continue there."""
    if at.last is None or at.last.offset < store.min_offset:  # nothing was read yet, or its last record has expired
        return store.min_offset <= at.offset <= end.offset
    return still_holds(store, at)


def resume(store: StoreFiles, at: Boundary, end: Boundary, limits: Limits) -> tuple[Boundary, Said | None]:
    """Where to continue in a log that ends at `end`, and what was lost, if anything."""
    first = store.min_offset
    if can_resume(store, at, end):
        return at, None
    if at.last is None:  # nothing was read yet, so deleted segments are not a loss
        return Boundary(first), None
    if at.offset < first:
        return Boundary(first), None if is_only_blank(store, at.offset) else expired(store, at.offset, first)
    segment = store.segment_at(at.offset - 1)
    begin = end if segment is None or at.offset >= end.offset else boundary_after(store, Boundary(segment.base), at.offset, limits)
    return begin, say("log rewritten until", what=rewritten(store, at), offset=begin.offset)


def is_only_blank(store: StoreFiles, start: int) -> bool:
    """Whether what expired after that boundary was too short for a record: a broker leaves room for a blank after each record."""
    first = store.segments[0].base if store.segments else 0
    return store.min_offset == first and 0 < first - start < SMALLEST_RECORD + BLANK_HEAD


def expired(store: StoreFiles, start: int, stop: int) -> Said:
    """Segments that a broker deleted before they were read."""
    return say("expired unread", uri=store.uri, start=start, stop=stop, bytes=stop - start)


def rewritten(store: StoreFiles, at: Boundary) -> Said:
    """A log that does not have the record before that boundary any more."""
    return say("log rewritten", uri=store.uri, last=0 if at.last is None else at.last.offset, offset=at.offset)
