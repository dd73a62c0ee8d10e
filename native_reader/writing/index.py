"""Index files with the same entries as a broker's, but written in blocks. In a file, each entry leads to the one before it in its slot."""

from __future__ import annotations

import datetime as dt
import os
import struct
from collections.abc import Callable
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

_ENTRY: Final = np.dtype([("hash", ">i4"), ("offset", ">i8"), ("seconds", ">i4"), ("previous", ">i4")])
_SLOT: Final = np.dtype(">i4")
_HEADER: Final = 40


class Linking(Protocol):
    """Makes the entries of one file. Each leads to the newest one before it in its slot."""

    def entries(
        self, hashes: NDArray[np.int64], offsets: NDArray[np.int64], times: NDArray[np.int64], begin: int, first: int
    ) -> tuple[NDArray[np.uint8], int]:
        """These keys as the file has them, and how many are the first ones of their slots.

        `begin`: the time from which the file's times count. `first`: the number of the first entry.
        """

    def slots(self) -> NDArray[np.uint8]:
        """All slots as the file has them."""


class NumpyLinking:
    """Linking without the compiled kernel."""

    def __init__(self, slots: int) -> None:
        self._newest: NDArray[np.int32] = np.zeros(slots, np.int32)

    def entries(
        self, hashes: NDArray[np.int64], offsets: NDArray[np.int64], times: NDArray[np.int64], begin: int, first: int
    ) -> tuple[NDArray[np.uint8], int]:
        """As `Linking` says."""
        entries = np.empty(len(hashes), dtype=_ENTRY)
        entries["hash"], entries["offset"] = hashes, offsets
        entries["seconds"] = np.clip((times - begin) // 1000, 0, 2**31 - 1) if begin > 0 else 0
        previous = entries["previous"] = _linked(hashes % len(self._newest), first, self._newest)
        return entries.view(np.uint8), int(np.count_nonzero(previous == 0))

    def slots(self) -> NDArray[np.uint8]:
        """As `Linking` says."""
        return self._newest.astype(_SLOT).view(np.uint8)


class IndexFiles:
    """Writes index files; each holds at most `entries - 1` keys, because entry 0 is unused. `linking`: for a number of slots."""

    def __init__(
        self, directory: str | os.PathLike[str], slots: int, entries: int, linking: Callable[[int], Linking] = NumpyLinking
    ) -> None:
        self._directory, self._slots, self._entries = os.fspath(directory), slots, entries
        self._new_links, self._links = linking, linking(slots)
        self._file = -1
        self._created = 0  # the time in the newest file's name, in milliseconds
        self._count, self._used = 1, 0
        self._begin = self._end = (0, 0)  # (time, offset)
        self._ends: list[tuple[str, int]] = []
        self.files = 0
        self.keys = 0
        self.full_timestamp = 0  # the checkpoint's indexMsgTimestamp: the end time of the last full file

    def put(self, hashes: NDArray[np.int64], offsets: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        """Add keys in order."""
        start = 0
        while start < len(hashes):
            if self._file < 0 or self._count == self._entries:
                self._roll(int(times[start]))
            # A new file starts with its predecessor's end as begin, and corrects it only after its first entry.
            end = min(len(hashes), start + (1 if self._count == 1 else self._entries - self._count))
            self._put(hashes[start:end], offsets[start:end], times[start:end])
            start = end

    def close(self, oldest: int = 0) -> None:
        """Finish the newest file, and delete files that end before `oldest`, but never the newest."""
        if self._file >= 0:
            self._finish()
        for path, end in self._ends[:-1]:
            if end < oldest:
                os.unlink(path)
                self.files -= 1

    def _put(self, hashes: NDArray[np.int64], offsets: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        entries, begun = self._links.entries(hashes, offsets, times, self._begin[0], self._count)
        self._used += begun
        if self._count == 1:
            self._begin = (int(times[0]), int(offsets[0]))
        self._end = (int(times[-1]), int(offsets[-1]))
        os.pwrite(self._file, entries.data, _HEADER + 4 * self._slots + _ENTRY.itemsize * self._count)
        self._count += len(hashes)
        self.keys += len(hashes)

    def _roll(self, now: int) -> None:
        if self._file >= 0:
            self._finish()
            self.full_timestamp = self._end[0]
            self._links = self._new_links(self._slots)
        os.makedirs(self._directory, exist_ok=True)
        self._created = max(now, self._created + 1)
        moment = dt.datetime.fromtimestamp(self._created / 1000, dt.UTC)
        self._path = os.path.join(self._directory, moment.strftime("%Y%m%d%H%M%S") + f"{self._created % 1000:03d}")
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        os.ftruncate(self._file, _HEADER + 4 * self._slots + _ENTRY.itemsize * self._entries)
        self._begin = self._end
        self._count, self._used = 1, 0
        self.files += 1

    def _finish(self) -> None:
        header = struct.pack(">qqqqii", self._begin[0], self._end[0], self._begin[1], self._end[1], self._used, self._count)
        os.pwrite(self._file, header, 0)
        if self._count > 1:
            slots = self._links.slots()
            if self._used * 16 > self._slots:
                os.pwrite(self._file, slots.data, _HEADER)
            else:
                self._sparse(slots)
        os.close(self._file)
        self._ends.append((self._path, self._end[1]))

    def _sparse(self, slots: NDArray[np.uint8]) -> None:
        """Write only pages with a used slot, so that an almost empty file stays sparse."""
        for page in np.unique(np.flatnonzero(slots.view(_SLOT)) // 1024).tolist():
            os.pwrite(self._file, slots[page * 4096 : (page + 1) * 4096].data, _HEADER + 4096 * page)


def _linked(slots: NDArray[np.int64], first: int, table: NDArray[np.int32]) -> NDArray[np.int64]:
    """The number of the entry before each of these in the chain of its slot, or 0.

    `first`: the number of the first of them. `table`: the newest entry of each slot; it then leads to these.
    """
    packed = slots << 32 | np.arange(len(slots))  # a sort of numbers, several times as fast as a stable one of places
    packed.sort()
    grouped, order = packed >> 32, packed & 0xFFFFFFFF
    numbers = first + order
    begins = np.r_[True, grouped[1:] != grouped[:-1]]
    before = np.r_[0, numbers[:-1]]
    before[begins] = table[grouped[begins]]
    ends = np.r_[begins[1:], True]
    table[grouped[ends]] = numbers[ends]
    previous = np.empty(len(slots), np.int64)
    previous[order] = before
    return previous
