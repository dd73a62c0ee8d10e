"""The entries of one queue in memory, as a start has left them: files on the disk, and what the broker added at the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.queue_entry import FILLER_SIZE, QUEUE_ENTRY, is_written
from native_reader.layout.record import Numbers
from native_reader.sides.entries import Entries
from native_reader.sides.queues import Queue, QueueFile, QueueReader


class Added(NamedTuple):
    """Entries that a broker put at the end of a queue, from the queue offset `first` on: the places and sizes of their records."""

    first: int
    offsets: Numbers
    sizes: Numbers

    @property
    def stop(self) -> int:
        """The queue offset after them."""
        return self.first + len(self.offsets)


class HeldQueue:
    """Reads such a queue, as a `QueueReader` reads one on the disk.

    `fillers`: how many are before the first entry. They can be 300,000 for each of many queues, so they are not held.
    """

    def __init__(self, files: tuple[QueueFile, ...], entries: list[NDArray[np.void]], fillers: int) -> None:
        self._files, self._entries, self._fillers = files, entries, fillers
        self._begins = [file.base + (fillers if number == 0 else 0) for number, file in enumerate(files)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def written(self, which: int) -> int:
        """A place of a file after which nothing is written."""
        return self._begins[which] - self._files[which].base + len(self._entries[which])

    def slots(self, first: int, stop: int) -> NDArray[np.void]:
        """What it holds at queue offsets `[first, stop)`; zeros where nothing is written."""
        found = np.zeros(stop - first, QUEUE_ENTRY)
        for base, entries in zip(self._begins, self._entries, strict=True):
            begin, end = max(first, base), min(stop, base + len(entries))
            if begin < end:
                found[begin - first : end - first] = entries[begin - base : end - base]
        if self._fillers:
            begin, end = max(first, self._files[0].base), min(stop, self._begins[0])
            found["size"][begin - first : max(end, begin) - first] = FILLER_SIZE
        return found

    def pieces(self, which: int, begin: int, end: int) -> Iterator[tuple[int, NDArray[np.void]]]:
        """A file's places `[begin, end)` as one piece."""
        base = self._files[which].base
        yield begin, self.slots(base + begin, base + end)

    def within(self, low: int, high: int) -> Entries:
        """The entries of records at physical offsets `[low, high)`, in their order."""
        numbers = [np.arange(base, base + len(own)) for base, own in zip(self._begins, self._entries, strict=True)]
        number, entry = np.concatenate(numbers), np.concatenate(self._entries)
        offsets, sizes = entry["offset"].astype(np.int64), entry["size"].astype(np.int64)
        which = np.flatnonzero((offsets >= low) & (offsets < high) & is_written(entry))
        which = which[np.argsort(offsets[which], kind="stable")]
        nothing = np.zeros(len(which), np.int64)
        return Entries(number[which], nothing + 1, offsets[which], sizes[which], nothing)


def held(queue: Queue, added: Added, units: int) -> tuple[Queue, HeldQueue]:
    """A queue with entries added. Its new files have so many units; the first one of a queue begins with fillers."""
    files, entries = list(queue.files), list[NDArray[np.void]]()
    with QueueReader(queue) as reader:
        for which, file in enumerate(files):
            entries.append(reader.slots(file.base, file.base + reader.written(which)))
    fillers = added.first % units if not files else 0
    base = files[-1].base + files[-1].units if files else added.first - fillers
    while base < added.stop:
        files.append(QueueFile("", base, units))
        entries.append(np.zeros(0, QUEUE_ENTRY))
        base += units
    new = np.zeros(len(added.offsets), QUEUE_ENTRY)
    new["offset"], new["size"] = added.offsets, added.sizes
    for which, file in enumerate(files):
        base = file.base + (fillers if which == 0 else 0)
        begin, stop = max(base, added.first), min(file.base + file.units, added.stop)
        if begin < stop:
            own = np.zeros(max(len(entries[which]), stop - base), QUEUE_ENTRY)
            own[: len(entries[which])] = entries[which]
            own[begin - base : stop - base] = new[begin - added.first : stop - added.first]
            entries[which] = own
    final = queue._replace(files=tuple(files))
    return final, HeldQueue(final.files, entries, fillers)
