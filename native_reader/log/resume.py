"""Resuming at a stored boundary: where to continue in the current log, and what was lost meanwhile.

A broker deletes its oldest segments. After a crash of a master it may truncate its log and write other records at the same
offsets. A path may contain a different store than before.
"""

from __future__ import annotations

from native_reader.log.boundary import Boundary, Limits, boundary_after, segment_before, stands
from native_reader.storage.store import StoreFiles


def goes_on(store: StoreFiles, at: Boundary, end: Boundary) -> bool:
    """Whether a log that ends at `end` still contains that boundary, so that a read can continue there."""
    if at.last is None:  # nothing was read yet, so deleted segments are no loss
        return store.min_offset <= at.offset <= end.offset
    if at.last.offset < store.min_offset:
        return store.min_offset <= at.offset <= end.offset
    return stands(store, at)


def resumed(store: StoreFiles, at: Boundary, end: Boundary, limits: Limits) -> tuple[Boundary, str | None]:
    """The boundary at which to resume in a log that ends at `end`, and a text about what was lost, if anything."""
    first = store.min_offset
    if goes_on(store, at, end):
        return at, None
    if at.last is None:
        return Boundary(first), None
    if at.offset < first:
        return Boundary(first), expired(store, at.offset, first)
    segment = segment_before(store.segments, at.offset)
    on = end if segment is None or at.offset >= end.offset else boundary_after(store, Boundary(segment.base), at.offset, limits)
    return on, f"{rewritten(store, at)}. Reading can go on at offset {on.offset:,}; what was written anew before it is not seen"


def expired(store: StoreFiles, start: int, stop: int) -> str:
    """The error text if a broker deleted segments before they were read."""
    return (
        f"{store.uri}: offsets {start:,} to {stop:,} ({stop - start:,} bytes), which were to be read next, are gone: "
        f"the log begins at {stop:,} now. A broker deletes its oldest segments"
    )


def rewritten(store: StoreFiles, at: Boundary) -> str:
    """The error text if the log is not the same as before."""
    last = 0 if at.last is None else at.last.offset
    return (
        f"{store.uri}: the log does not hold the record at offset {last:,} any more, the last that was read before offset {at.offset:,}. "
        "It was cut there or before and written anew, as after a crash of a master, or another store lies at this path now"
    )
