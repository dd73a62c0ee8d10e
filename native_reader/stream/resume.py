"""Resuming at a stored boundary: where to continue in the current log, and what was lost meanwhile.

A broker deletes its oldest segments. After a crash of a master it may truncate its log and write other records at the same
offsets. A path may contain a different store than before.
"""

from __future__ import annotations

from native_reader.log.boundary import Boundary, Limits, boundary_after, segment_before, still_holds
from native_reader.storage.store import StoreFiles


def can_resume(store: StoreFiles, at: Boundary, end: Boundary) -> bool:
    """Whether a log that ends at `end` still has that boundary, so that a read can continue there."""
    if at.last is None or at.last.offset < store.min_offset:  # nothing was read yet, or its last record has expired
        return store.min_offset <= at.offset <= end.offset
    return still_holds(store, at)


def resume(store: StoreFiles, at: Boundary, end: Boundary, limits: Limits) -> tuple[Boundary, str | None]:
    """Where to continue in a log that ends at `end`, and a text about what was lost, if anything."""
    first = store.min_offset
    if can_resume(store, at, end):
        return at, None
    if at.last is None:  # nothing was read yet, so deleted segments are not a loss
        return Boundary(first), None
    if at.offset < first:
        return Boundary(first), expiry_text(store, at.offset, first)
    segment = segment_before(store.segments, at.offset)
    begin = end if segment is None or at.offset >= end.offset else boundary_after(store, Boundary(segment.base), at.offset, limits)
    return begin, f"{rewrite_text(store, at)}. Reading can continue at offset {begin.offset:,}, without the records rewritten before it"


def expiry_text(store: StoreFiles, start: int, stop: int) -> str:
    """The text for segments that a broker deleted before they were read."""
    return (
        f"{store.uri}: offsets {start:,} to {stop:,} ({stop - start:,} bytes) were deleted before they were read: "
        f"the log now begins at {stop:,}. A broker deletes its oldest segments"
    )


def rewrite_text(store: StoreFiles, at: Boundary) -> str:
    """The text for a log that does not have the record before that boundary any more."""
    last = 0 if at.last is None else at.last.offset
    return (
        f"{store.uri}: the record at offset {last:,}, the last one read before offset {at.offset:,}, is not in the log any more. "
        "The log was truncated and rewritten, as after a crash of a master, or another store is now at this path"
    )
