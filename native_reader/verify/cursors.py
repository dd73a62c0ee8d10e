"""The entries of one queue for one range of the log after the other."""

from __future__ import annotations

import numpy as np

from native_reader.layout.record import SMALLEST_RECORD
from native_reader.plan.queues import Entries, Queue, QueueReader
from native_reader.tuning import TUNING

_AT_LEAST, _AT_MOST = 1 << 9, 1 << 20
"""How many entries are read at once."""
_UNKNOWN, _NEVER = -1, 2**63 - 1
COLUMNS = ("numbers", "counts", "offsets", "sizes", "codes")


class Cursor:
    """Reads on where the range before ended, as long as the entries are in order; otherwise it searches each range anew."""

    __slots__ = ("_at_end", "_count", "_high", "_next", "_place", "_queue")

    def __init__(self, queue: Queue, *, is_live: bool) -> None:
        self._queue = queue
        self._at_end = _UNKNOWN if is_live else _NEVER
        """Whether a broker may still append entries."""
        self._high, self._place = _UNKNOWN, 0
        """Where the range before ended, and the place of the first entry that may be after it."""
        self._next = _UNKNOWN
        """The offset of that entry: for many ranges a queue need not even be opened."""
        self._count = 0

    def within(self, low: int, high: int) -> Entries | None:
        """The entries with offsets in `[low, high)`; None if there is none."""
        goes_on = low == self._high
        self._high = high
        if goes_on and self._next >= high:
            return None
        with QueueReader(self._queue) as reader:
            if reader.units * reader.width <= TUNING.queue_read_whole:  # needs no order at all
                entries = reader.read(0, reader.units)
                later = entries.offsets[entries.offsets >= high]
                self._next = int(later.min()) if len(later) else self._at_end
                found = [_inside(entries, low, high)]
            else:
                if not goes_on:
                    self._place = reader.first_at(low, 0, reader.units)
                going_on = self._onward(reader, low, high)
                found = self._searched(reader, low, high) if going_on is None else going_on
        found = [each for each in found if len(each)]
        self._count = sum(map(len, found))
        if len(found) < 2:
            return found[0] if found else None
        numbers, counts, offsets, sizes, codes = (np.concatenate([getattr(each, name) for each in found]) for name in COLUMNS)
        return Entries(numbers, counts, offsets, sizes, codes)

    def _onward(self, reader: QueueReader, low: int, high: int) -> list[Entries] | None:
        """As `within`, from the known place on; None if not all entries there are in order, one after the other."""
        found, place, left = list[Entries](), self._place, _room(low, high)
        self._next, at_once = _UNKNOWN, min(2 * self._count + _AT_LEAST, _AT_MOST)
        while place < reader.units and not self._queue.batch:
            entries = reader.read(place, min(place + at_once, reader.units))
            count = len(entries)
            if not count:
                break
            numbers, offsets = entries.numbers, entries.offsets
            is_dense = int(numbers[0]) == reader.number_at(place) and int(numbers[-1] - numbers[0]) == count - 1
            if not is_dense or int(offsets[0]) < low or not (offsets[1:] > offsets[:-1]).all():
                return None
            stop = int(np.searchsorted(offsets, high))
            found.append(_inside(entries, low, high))
            place, low, left = place + stop, int(offsets[-1]) + 1, left - stop
            if left < 0:
                return None
            if stop < count:
                # A single wrong offset must not hide what follows it: another entry has to confirm that the queue is past the range.
                self._place, self._next = place, int(offsets[stop]) if count - stop > 1 else _UNKNOWN
                return found
        if self._queue.batch or place + at_once < reader.bound():  # a hole, which other entries may follow
            return None
        self._place, self._next = place, self._at_end
        return found

    def _searched(self, reader: QueueReader, low: int, high: int) -> list[Entries]:
        """As `within`, wherever the entries are."""
        first = reader.first_at(low, 0, reader.units)
        stop = reader.first_at(high, first, reader.units)
        found, left = [], _room(low, high)
        for begin in range(first, stop, _AT_MOST):
            found.append(_inside(reader.read(begin, min(begin + _AT_MOST, stop)), low, high))
            left -= len(found[-1])
            if left <= 0:
                break
        self._place, self._next = stop, _UNKNOWN
        return found


def _room(low: int, high: int) -> int:
    """Records do not overlap, so more entries than fit in a range are corrupt, and must not fill the memory."""
    return (high - low) // SMALLEST_RECORD + 1


def _inside(entries: Entries, low: int, high: int) -> Entries:
    return entries.where((entries.offsets >= low) & (entries.offsets < high))
