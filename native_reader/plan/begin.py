"""Finds where to start in a log, given a time or an offset."""

from __future__ import annotations

from native_reader.log.boundary import Boundary, Limits, boundary_before, segment_before
from native_reader.plan.times import times_of
from native_reader.predicate.outcomes import may_be_true
from native_reader.predicate.tree import Predicate
from native_reader.storage.store import StoreFiles


def begin_by_time(store: StoreFiles, end: Boundary, predicate: Predicate, tolerance: int) -> Boundary:
    """The start of the first segment that may hold a record matching a condition on its store time."""
    written = [segment for segment in store.segments if segment.base < end.offset]
    times = times_of(written, end.offset, predicate, tolerance=tolerance, cut=False)
    wanted = (segment for segment in written if may_be_true(predicate, times.facts(segment)))
    return Boundary(next((segment.base for segment in wanted), store.min_offset))


def begin_by_offset(store: StoreFiles, end: Boundary, offset: int, limits: Limits) -> Boundary:
    """The last boundary at or before that offset."""
    if offset >= end.offset:
        return end
    segment = segment_before(store.segments, offset + 1)
    if segment is None or segment.end <= offset or offset == segment.base:
        return Boundary(max(offset, store.min_offset) if segment is None else segment.base)
    found = boundary_before(store, Boundary(segment.base), offset, limits)
    return found if found.offset <= offset else Boundary(segment.base)
