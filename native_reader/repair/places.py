"""Where the records of an extract were in the old log, and where they are in the new one.

The new log does not begin at offset 0: an entry with that offset stands for a message from before the first one of its queue.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from native_reader.layout.record import Numbers
from native_reader.repair.log_shape import BLANK
from native_reader.storage.store import Segment


class Moved(NamedTuple):
    """Records and placeholders in log order: their old and new offsets.

    Attributes:
        number: Which placeholder of the plan each is; -1 for a record of the old log.
        sources: The segments of the old log.
        segment: The size of all segments.
    """

    old: Numbers
    sizes: Numbers
    new: Numbers
    number: Numbers
    sources: dict[int, Segment]
    segment: int

    def new_of(self, old: Numbers) -> Numbers:
        """The new offsets of records."""
        return self.new[np.searchsorted(self.old, old)]

    @property
    def records(self) -> tuple[Numbers, Numbers]:
        """The old and the new offsets of the records of the old log."""
        return self.old[self.number < 0], self.new[self.number < 0]

    def source_of(self, piece: int) -> Segment:
        """The segment of the old log with a piece, or the one before it."""
        base = int(self.old[piece]) // self.segment * self.segment
        return self.sources[max((each for each in self.sources if each <= base), default=min(self.sources))]

    def in_segment(self, base: int) -> tuple[int, int]:
        """The first and the next number of the pieces in a segment of the new log."""
        first, stop = np.searchsorted(self.new, (base, base + self.segment)).tolist()
        return first, stop


def appended(sizes: Numbers, segment: int) -> Numbers:
    """Offsets of records that follow each other, as a broker appends them: a blank fits after the last one of each segment."""
    ends = np.cumsum(sizes)
    found = np.empty(len(sizes), np.int64)
    first, base = 0, segment
    while first < len(sizes):
        before = int(ends[first] - sizes[first])
        stop = int(np.searchsorted(ends, before + segment - BLANK, "right"))
        found[first:stop] = base + ends[first:stop] - sizes[first:stop] - before
        first, base = stop, base + segment
    return found
