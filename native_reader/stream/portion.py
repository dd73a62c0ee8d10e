"""Where a batch ends in each log: at a boundary, within the limits of the batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from native_reader.log.boundary import Boundaries, Boundary, Limits, boundary_before, counted
from native_reader.storage.store import StoreFiles


class BatchLimit(NamedTuple):
    """How much one batch reads; None: no limit. A batch always gets at least one record from each log with new ones."""

    most_bytes: int | None = None
    most_records: int | None = None
    most_files: int | None = None
    """In each log."""
    least_records: int | None = None
    """The batch waits for this many records."""


class Unread(NamedTuple):
    """A range of one log that a batch may read."""

    store: StoreFiles
    begin: Boundary
    end: Boundary

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.end.offset - self.begin.offset


_Unread = Mapping[str, Unread]


def portion(unread: _Unread, limit: BatchLimit, limits: Limits) -> Boundaries:
    """Where a batch ends in each log."""

    def records_of(log: Unread, most: int) -> tuple[Boundary, int]:
        return counted(log.store, log.begin, most, log.end, limits)

    def bytes_of(log: Unread, most: int) -> tuple[Boundary, int]:
        end = _end_near(log, log.begin.offset + most, limits)
        return end, min(most, end.offset - log.begin.offset)

    if limit.least_records is not None and sum(records_of(log, limit.least_records)[1] for log in unread.values()) < limit.least_records:
        return {uri: log.begin for uri, log in unread.items()}
    if limit.most_files is not None:
        unread = {uri: log._replace(end=_end_of_files(log, limit.most_files, limits)) for uri, log in unread.items()}
    if limit.most_bytes is not None:
        unread = _shared(unread, limit.most_bytes, bytes_of)
    if limit.most_records is not None:
        unread = _shared(unread, limit.most_records, records_of)
    return {uri: log.end for uri, log in unread.items()}


def _shared(unread: _Unread, most: int, part_of: Callable[[Unread, int], tuple[Boundary, int]]) -> dict[str, Unread]:
    """Each log cut to an equal share; what a log with less leaves goes to the others.

    `part_of`: where a share ends in a log, and how much of the share it uses.
    """
    left, cut = most, dict[str, Unread]()
    for which, uri in enumerate(sorted(unread, key=lambda uri: unread[uri].size)):
        end, used = part_of(unread[uri], max(1, left // (len(unread) - which)))
        cut[uri] = unread[uri]._replace(end=end)
        left -= used
    return cut


def _end_near(log: Unread, target: int, limits: Limits) -> Boundary:
    """A boundary at or before `target`, but after at least one record."""
    store, begin, end = log
    if target >= end.offset:
        return end
    segment = store.segment_at(target - 1)
    # Without queues every record up to the target is read, so it is cheaper to end the batch where a segment begins.
    if store.consume_queue is None and segment is not None and target < segment.end and segment.base > (begin.offset + target) // 2:
        target = segment.base
    boundary = boundary_before(store, begin, target, limits)
    return boundary if begin.offset < boundary.offset < end.offset else end


def _end_of_files(log: Unread, most: int, limits: Limits) -> Boundary:
    ends = [segment.end for segment in log.store.segments if segment.end > log.begin.offset]
    return log.end if len(ends) <= most else _end_near(log, ends[most - 1], limits)
