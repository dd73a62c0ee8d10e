"""Splits: parts of a segment that can be read independently, in any process."""

from __future__ import annotations

from dataclasses import dataclass

from native_reader.plan.beside import Sides
from native_reader.plan.tier_log import TierLog
from native_reader.plan.ways import SCAN, SCANNED, Way
from native_reader.predicate.outcomes import Known, exactly
from native_reader.storage.store import Segment

SPLIT_COSTS = 256 << 10
"""The fixed cost of a split, as the number of bytes that could be read in the same time."""


@dataclass(frozen=True, slots=True)
class SplitLog:
    """What all splits of one log have in common: the same object, so that a task that is pickled has it once."""

    store: str
    queue: str | None = None
    """The directory of its consume queues, which may confirm where a record starts."""
    stale: int = 0
    """The bytes of old records after its end."""
    end_follows_record: bool = True
    """Whether a record, or the segment's blank, ends where the log ends. Otherwise damage may."""
    sides: Sides | None = None
    """What to compare the records with, if damage is returned as rows."""
    tier: TierLog | None = None
    """Of the log of a queue in a tier: that queue."""

    @property
    def root(self) -> str:
        """The URI of the store to which its messages belong."""
        return self.store if self.tier is None else self.tier.store

    @property
    def facts(self) -> dict[str, Known]:
        """What all its rows have in common."""
        return {"store": exactly(self.store), "tiered": exactly(False)} if self.tier is None else self.tier.facts


@dataclass(frozen=True, slots=True)
class Split:
    """Bytes `[start, stop)` of a segment; the split owns the records that start there.

    Made without reading the log, so `start` may be inside a record.
    """

    log: SplitLog
    segment: Segment
    start: int
    stop: int
    end: int
    """Where the log ends in this file."""
    way: Way = SCANNED
    """Which of its records are looked at."""
    alone: bool = False
    """Whether the bytes after the split, up to the next record, are not wanted."""
    border: int = 0
    """A position at or before `start` where a record certainly starts. If it is before, a queue may confirm a nearer one."""
    follows: bool = False
    """Whether another split of the plan ends at `start`, and checks that its records lead there."""

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def store(self) -> str:
        """The URI of its store."""
        return self.log.store

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
