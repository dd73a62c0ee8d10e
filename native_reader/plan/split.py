"""Splits: parts of a segment that can be read independently, in any process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from native_reader.plan.beside import Sides
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
    `end_follows_record`: a record, or the segment's blank, ends at `end`; otherwise damage may.
    `records`: the only records to read, if an earlier pass saw them: `plan.places`.
    `summary`: the part that names the records to read: `plan.summarized`.
    `sides`: what to compare the records with, if damage is returned as rows.
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
    end_follows_record: bool = True
    records: bytes = b""
    sides: Sides | None = None
    summary: str = ""

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
        segment, share = self.segment, () if self.access == SCAN else (self.share,)
        uris = tuple(uri.removeprefix(f"{self.store}/") for uri in (segment.uri, self.queue, *self.queues))
        known = segment.base, segment.size, segment.identity, segment.framing
        where = self.start, self.stop, self.end, self.access, self.alone, self.border, self.follows
        cut = *where, self.stale, self.end_follows_record, *share
        more = self.records, self.sides, self.summary
        return _split, (self.store, uris, known, cut, *([more] if any(more) else ()))


def _split(
    store: str,
    uris: tuple[str, ...],
    known: tuple[int, int, int, str],
    cut: tuple[Any, ...],
    more: tuple[bytes, Sides | None, str] = (b"", None, ""),
) -> Split:
    uri, queue, *queues = (inside if "://" in inside or not inside else f"{store}/{inside}" for inside in uris)
    base, size, identity, framing = known
    start, stop, end, access, alone, border, follows, stale, after_record, *share = cut
    segment, share_read = Segment(base, size, uri, identity, framing), share[0] if share else 1.0
    how = access, tuple(queues), share_read, alone, border, follows, queue
    return Split(store, segment, start, stop, end, *how, stale, after_record, *more)
