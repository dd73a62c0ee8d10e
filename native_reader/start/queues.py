"""What a starting broker makes of the files of one queue: which it loads, and where it takes the queue to end.

From the third-last file on, it looks for the first entry that is none (ConsumeQueue.recover, all versions). The queue ends there, also
if whole entries follow, which stay in the file. Files before the third-last are not looked at. When the log was recovered, the last file
is read once more, up to the first entry that is none or is after the log's end (ConsumeQueue.truncateDirtyLogicFiles). It counts
the first entry of the file in any case, so the entries after one of zeros can come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from native_reader.layout.record import Mask, Numbers
from native_reader.sides.queues import Queue, QueueFile, QueueReader
from native_reader.start.held import HeldQueue

_LOOKED_AT = 3
_APART = 4096
"""Queue offsets that are farther apart are read apart."""


class Loaded(NamedTuple):
    """A queue as a broker has it.

    `end`: the queue offset after its last entry. `reached`: the end of the record of that; -1 without one. `highest`: no entry in its
    last file names a record after this offset.
    """

    queue: Queue
    end: int
    reached: int
    highest: int = -1
    held: HeldQueue | None = None
    """Its entries, if they are not those on the disk."""

    def reader(self) -> QueueReader | HeldQueue:
        """Reads its entries."""
        return QueueReader(self.queue) if self.held is None else self.held

    @property
    def is_new(self) -> bool:
        """Whether it has no file: its first entry gets one at the place of its queue offset."""
        return not self.queue.files

    @property
    def room(self) -> int:
        """The queue offset after the last place of its files."""
        return self.queue.files[-1].base + self.queue.files[-1].units if self.queue.files else self.end

    @property
    def begin(self) -> int:
        """The queue offset of its first place."""
        return self.queue.files[0].base if self.queue.files else self.end


def loaded(queue: Queue, files: Sequence[QueueFile], held: HeldQueue | None = None) -> Loaded:
    """A queue after a broker has loaded these files of it, and looked for its end."""
    own = queue._replace(files=tuple(files))
    if not files:
        return Loaded(own, 0, -1)
    first, end, reached, highest = max(0, len(files) - _LOOKED_AT), 0, -1, -1
    with Loaded(own, 0, -1, held=held).reader() as reader:
        for which in range(first, len(files)):
            found = _entries(reader, which)
            end, highest = files[which].base + found.entries, found.highest
            reached = found.reached if found.entries else reached
            if found.entries < files[which].units:
                own = own._replace(files=tuple(files[: which + 1]))
                break
    return Loaded(own, end, reached, highest, held)


def truncated(queue: Loaded, cut: int) -> Loaded:
    """The queue without the entries after the end of the log."""
    files = list(queue.queue.files)
    if not files or (queue.highest < cut and queue.end > files[-1].base):
        return queue if files else queue._replace(reached=cut)
    with queue.reader() as reader:
        while files:
            found = _entries(reader, len(files) - 1, cut)
            if found.entries:
                own, end = queue.queue._replace(files=tuple(files)), files[-1].base + found.entries
                return Loaded(own, end, found.reached, found.highest, queue.held)
            files.pop()
    return Loaded(queue.queue._replace(files=()), 0, cut)


class _Entries(NamedTuple):
    """Those that a file begins with: how many, the end of the record of the last one, and the highest offset."""

    entries: int = 0
    reached: int = -1
    highest: int = -1


def followed(queue: Loaded, number: int, cut: int) -> int:
    """The queue offset after the entries that are in the files from `number` on: what is there stays there when a queue ends before it."""
    file = next((file for file in queue.queue.files if file.base <= number < file.base + file.units), None)
    if file is None:
        return number
    with queue.reader() as reader:
        units = reader.slots(number, file.base + file.units)
    bad = (units["offset"] < 0) | (units["size"] <= 0) | (units["offset"] >= cut)
    return number + (int(np.argmax(bad)) if bad.any() else len(units))


def _entries(reader: QueueReader | HeldQueue, which: int, cut: int | None = None) -> _Entries:
    """`cut`: only those before the first one of a record at that offset or after it. The very first one is only compared with that."""
    found = _Entries()
    for place, units in reader.pieces(which, 0, max(reader.written(which), 1)):
        if place != found.entries:  # a hole
            break
        offsets, sizes = units["offset"].astype(np.int64), units["size"].astype(np.int64)
        bad: Mask = (offsets < 0) | (sizes <= 0)
        if cut is not None:
            bad |= offsets >= cut
            bad[0] = bad[0] if place else offsets[0] >= cut
        stop = int(np.argmax(bad)) if bad.any() else len(units)
        if stop:
            highest = max(found.highest, int(offsets[:stop].max()))
            found = _Entries(found.entries + stop, int(offsets[stop - 1] + sizes[stop - 1]), highest)
        if stop < len(units):
            break
    return found


def names(reader: QueueReader | HeldQueue, queue: Loaded, numbers: Numbers, offsets: Numbers, sizes: Numbers) -> Mask:
    """Which of these records have their entry at their own queue offset, also after the end of the queue."""
    inside: Mask = (numbers >= queue.begin) & (numbers < queue.room)
    found = np.zeros(len(numbers), bool)
    if not inside.any():
        return found
    which = np.flatnonzero(inside)
    which = which[np.argsort(numbers[which], kind="stable")]
    apart = np.flatnonzero(np.diff(numbers[which]) > _APART) + 1  # a damaged queue offset can be far from the others
    for run in np.split(which, apart):
        low = int(numbers[run[0]])
        units = reader.slots(low, int(numbers[run[-1]]) + 1)[numbers[run] - low]
        found[run] = (units["offset"] == offsets[run]) & (units["size"] == sizes[run])
    return found
