"""Splits: parts of a segment that can be read independently, in any process."""

from __future__ import annotations

from dataclasses import dataclass

from native_reader.plan.estimate import SCAN
from native_reader.storage.store import Segment

SPLIT_COSTS = 256 << 10
"""The fixed cost of a split, as the number of bytes that could be read in the same time."""


@dataclass(frozen=True, slots=True)
class Split:
    """Bytes `[start, stop)` of a segment; the split owns the records that start there.

    Made without reading the log, so `start` may be inside a record.
    `end`: where the log ends in this file.
    `queues`: the directories of consume queues to use, unless `access` is `scan`.
    `share`: the approximate share of the bytes that will then be read.
    `alone`: the bytes after the split, up to the next record, are not wanted.
    `follows`: another split of the plan ends at `start` and checks that its records lead there.
    `border`: a position at or before `start` where a record certainly starts. If it is before `start` and no split leads
    there, the consume queues in `queue` may confirm a nearer one.
    `stale`: the bytes of old records after `end`.
    """

    store: str
    segment: Segment
    start: int
    stop: int
    end: int
    access: str = SCAN
    queues: tuple[str, ...] = ()
    share: float = 1.0
    alone: bool = False
    border: int = 0
    follows: bool = False
    queue: str = ""
    stale: int = 0

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def written(self) -> int:
        """The bytes of the split below the end of the log."""
        return min(self.stop, self.end) - self.start

    @property
    def work(self) -> int:
        """The approximate number of bytes to read."""
        return max(self.written, SPLIT_COSTS) if self.access == SCAN else int(self.written * self.share) + SPLIT_COSTS

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled flat, with the store's name only once: a plan has one split or more per task."""
        segment = self.segment
        known = segment.base, segment.size, segment.identity, segment.framing
        way = (self.access, *(_inside(uri, self.store) for uri in self.queues), self.share) if self.access != SCAN else ()
        cut = self.start, self.stop, self.end, self.alone, self.border, self.follows, self.stale
        return _split, (self.store, (_inside(segment.uri, self.store), _inside(self.queue, self.store)), known, cut, way)


def _inside(uri: str, store: str) -> str:
    return uri.removeprefix(f"{store}/")


def _split(
    store: str,
    places: tuple[str, str],
    known: tuple[int, int, int, str],
    cut: tuple[int, int, int, bool, int, bool, int],
    way: tuple[str | float, ...],
) -> Split:
    def whole(inside: str) -> str:
        return inside if "://" in inside or not inside else f"{store}/{inside}"

    (base, size, identity, framing), (place, queue) = known, map(whole, places)
    segment, (start, stop, end, alone, border, follows, stale) = Segment(base, size, place, identity, framing), cut
    access, *queues, share = way or (SCAN, 1.0)
    directories = tuple(map(whole, map(str, queues)))
    return Split(store, segment, start, stop, end, str(access), directories, float(share), alone, border, follows, queue, stale)
