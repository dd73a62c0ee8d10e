"""Where a new stream begins in a log."""

from __future__ import annotations

from dataclasses import dataclass

from native_reader.log.boundary import Boundary, Limits, boundary_before, segment_before
from native_reader.plan.times import times_of
from native_reader.predicate.outcomes import may_be_true
from native_reader.predicate.tree import Predicate
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
    segment = segment_before(store.segments, offset + 1)
    if segment is None or segment.end <= offset or offset == segment.base:
        return Boundary(max(offset, store.min_offset) if segment is None else segment.base)
    boundary = boundary_before(store, Boundary(segment.base), offset, limits)
    return boundary if boundary.offset <= offset else Boundary(segment.base)
