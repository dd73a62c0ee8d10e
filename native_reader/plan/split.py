"""Splits: parts of a segment that can be read independently, in any process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from native_reader.plan.beside import Sides
from native_reader.plan.ways import SCAN, SCANNED, ByQueues, Way
from native_reader.storage.store import Segment

SPLIT_COSTS = 256 << 10
"""The fixed cost of a split, as the number of bytes that could be read in the same time."""


@dataclass(frozen=True, slots=True)
class Split:
    """Bytes `[start, stop)` of a segment; the split owns the records that start there.

    Made without reading the log, so `start` may be inside a record.
    `end`: where the log ends in this file.
    `way`: which of its records are looked at.
    `alone`: the bytes after the split, up to the next record, are not wanted.
    `follows`: another split of the plan ends at `start` and checks that its records lead there.
    `border`: a position at or before `start` where a record certainly starts. If it is before `start` and no split leads
    there, the consume queues in `queue` may confirm a nearer one.
    `stale`: the bytes of old records after `end`.
    `end_follows_record`: a record, or the segment's blank, ends at `end`; otherwise damage may.
    `sides`: what to compare the records with, if damage is returned as rows.
    """

    store: str
    segment: Segment
    start: int
    stop: int
    end: int
    way: Way = SCANNED
    alone: bool = False
    border: int = 0
    follows: bool = False
    queue: str = ""
    stale: int = 0
    end_follows_record: bool = True
    sides: Sides | None = None

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def written(self) -> int:
        """The bytes of the split below the end of the log."""
        return min(self.stop, self.end) - self.start

    @property
    def access(self) -> str:
        """The name of its way."""
        return self.way.access

    @property
    def share(self) -> float:
        """The approximate share of its bytes that will be read."""
        return self.way.share

    @property
    def work(self) -> int:
        """The approximate number of bytes to read."""
        return max(self.written, SPLIT_COSTS) if self.access == SCAN else int(self.written * self.share) + SPLIT_COSTS

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled flat, with the store's name only once: a plan has one split or more per task."""
        segment, way = self.segment, self.way
        queues = way.queues if isinstance(way, ByQueues) else ()
        uris = tuple(uri.removeprefix(f"{self.store}/") for uri in (segment.uri, self.queue, *queues))
        known = segment.base, segment.size, segment.identity, segment.framing
        cut = self.start, self.stop, self.end, self.alone, self.border, self.follows, self.stale, self.end_follows_record
        how = (way.share, way.access) if isinstance(way, ByQueues) else None if way == SCANNED else way
        more = (how, self.sides) if self.sides is not None else (how,) if how is not None else ()
        return _split, (self.store, uris, known, cut, *more)


def _split(
    store: str,
    uris: tuple[str, ...],
    known: tuple[int, int, int, str],
    cut: tuple[Any, ...],
    *more: Any,
) -> Split:
    uri, queue, *queues = (inside if "://" in inside or not inside else f"{store}/{inside}" for inside in uris)
    base, size, identity, framing = known
    start, stop, end, alone, border, follows, stale, after_record = cut
    how, sides = (*more, None, None)[:2]
    way = ByQueues(tuple(queues), *how) if isinstance(how, tuple) else how or SCANNED
    segment = Segment(base, size, uri, identity, framing)
    return Split(store, segment, start, stop, end, way, alone, border, follows, queue, stale, after_record, sides)
