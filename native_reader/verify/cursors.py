"""The entries of one queue for one range of the log after the other."""

from __future__ import annotations

import numpy as np

from native_reader.layout.record import SMALLEST_RECORD
from native_reader.sides.entries import Entries
from native_reader.sides.queues import Queue, QueueReader
from native_reader.tuning import TUNING

_AT_LEAST, _AT_MOST = 1 << 10, 1 << 20
"""How many entries are read at once. `QueueReader.near` can be almost this many entries before the first one of a range."""
_UNKNOWN, _NEVER = -1, 2**63 - 1
COLUMNS = ("numbers", "counts", "offsets", "sizes", "codes")


class Cursor:
    """Reads on where the range before ended, as long as the entries are in order; otherwise it searches each range anew."""

    __slots__ = ("_at_end", "_high", "_next", "_place", "_queue")

    def __init__(self, queue: Queue, *, is_live: bool) -> None:
        self._queue = queue
        self._at_end = _UNKNOWN if is_live else _NEVER
        """Whether a broker may still append entries."""
        self._high, self._place = _UNKNOWN, 0
        """Where the range before ended, and the place of the first entry that may be after it."""
        self._next = _UNKNOWN
        """The offset of that entry: for many ranges a queue need not even be opened."""

    def within(self, low: int, high: int, expected: int = 0) -> Entries | None:
        """The entries with offsets in `[low, high)`; None if there is none. `expected`: about how many, so that one read gets them."""
        goes_on = low == self._high
        self._high = high
        if goes_on and self._next >= high:
            return None
        with QueueReader(self._queue) as reader:
            bound = reader.bound()
            if bound * reader.width <= TUNING.queue_read_whole:  # needs no order at all
                entries = reader.read(0, bound)
                later = entries.offsets[entries.offsets >= high]
                self._next = int(later.min()) if len(later) else self._at_end
                found = [_inside(entries, low, high)]
            else:
                if not goes_on:
                    self._place, _ = reader.near(low, 0, bound)
                at_once = min(expected + _AT_LEAST, _AT_MOST)
                going_on = self._onward(reader, bound, low, high, at_once, is_before=not goes_on)
                found = self._searched(reader, bound, low, high) if going_on is None else going_on
        found = [each for each in found if len(each)]
        if len(found) < 2:
            return found[0] if found else None
        numbers, counts, offsets, sizes, codes = (np.concatenate([getattr(each, name) for each in found]) for name in COLUMNS)
        return Entries(numbers, counts, offsets, sizes, codes)

    def _onward(self, reader: QueueReader, bound: int, low: int, high: int, at_once: int, *, is_before: bool) -> list[Entries] | None:
        """As `within`, from the known place on; None if not all entries there are in order, one after the other.

        `is_before`: entries of the ranges before may be there, too.
        """
        found, place, left = list[Entries](), self._place, _room(low, high)
        before = -1 if is_before else low - 1
        self._next = _UNKNOWN
        while place < bound and not self._queue.batch:
            entries = reader.read(place, min(place + at_once, bound))
            count = len(entries)
            if not count:
                break
            numbers, offsets = entries.numbers, entries.offsets
            is_dense = int(numbers[0]) == reader.number_at(place) and int(numbers[-1] - numbers[0]) == count - 1
            if not is_dense or int(offsets[0]) <= before or not (offsets[1:] > offsets[:-1]).all():
                return None
            stop = int(np.searchsorted(offsets, high))
            found.append(_inside(entries, low, high))
            place, before, left = place + stop, int(offsets[-1]), left - len(found[-1])
            if left < 0:
                return None
            if stop < count:
                # A single wrong offset must not hide what follows it: another entry has to confirm that the queue is past the range.
                self._place, self._next = place, int(offsets[stop]) if count - stop > 1 else _UNKNOWN
                return found
            at_once = min(4 * at_once, _AT_MOST)
        if self._queue.batch or place + at_once < bound:  # a hole, which other entries may follow
            return None
        self._place, self._next = place, self._at_end
        return found

    def _searched(self, reader: QueueReader, bound: int, low: int, high: int) -> list[Entries]:
        """As `within`, wherever the entries are."""
        first = reader.first_at(low, 0, bound)
        stop = reader.first_at(high, first, bound)
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
    offsets = entries.offsets
    if not (offsets[1:] > offsets[:-1]).all():
        return entries.where((offsets >= low) & (offsets < high))
    first, stop = np.searchsorted(offsets, (low, high)).tolist()
    numbers, counts, offsets, sizes, codes = (getattr(entries, name)[first:stop] for name in COLUMNS)
    return Entries(numbers, counts, offsets, sizes, codes)
