"""Entries of one consume queue: in columns, or as its files have them until a column is used."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from native_reader import kernel
from native_reader.layout.queue_entry import is_written
from native_reader.layout.record import Bytes, Mask, Numbers

Columns = tuple[Numbers, Numbers, Numbers, Numbers, Numbers]
"""Numbers, counts, offsets, sizes and tags codes of entries."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Ascending entries of one queue: queue offset, message count, physical offset, size and tags code of each.

    `newest`: the physical offset of the queue's last entry, if it is included; a broker may still be writing that entry.
    `firsts`: the positions where the entries of the second and later files begin.
    """

    numbers: Numbers
    counts: Numbers
    offsets: Numbers
    sizes: Numbers
    codes: Numbers
    newest: int = -1
    firsts: Numbers = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def bytes(self) -> int:
        """The size of all records."""
        return int(self.sizes.sum())

    def where(self, which: Mask) -> Entries:
        """Only these entries."""
        if which.all():
            return self
        firsts = np.concatenate(([0], np.cumsum(which)))[self.firsts] if len(self.firsts) else self.firsts
        return replace(self._taken(which), firsts=firsts)

    def first(self) -> Entries:
        """Only the first entry."""
        return self.where(np.arange(len(self)) == 0)

    def place(self, which: int) -> tuple[int, int, int]:
        """Queue offset, physical offset and size of one entry."""
        return int(self.numbers[which]), int(self.offsets[which]), int(self.sizes[which])

    def last_below(self, offset: int) -> int:
        """The position of the last entry below that physical offset; -1 if there is none."""
        return int(np.searchsorted(self.offsets, offset)) - 1

    def as_claims(self) -> tuple[Numbers, Numbers] | Bytes:
        """What the kernel needs of them: `kernel.Lists`."""
        return self.offsets, self.sizes

    def by_file(self) -> Iterator[Entries]:
        """The entries of each file; files without entries are skipped."""
        if not len(self.firsts):
            yield self
            return
        for first, end in pairwise([0, *self.firsts.tolist(), len(self)]):
            if first < end:
                yield self._taken(slice(first, end))

    def pieces(self, most: int) -> Iterator[Entries]:
        """The same in order, at most so many at once."""
        return (self._taken(slice(first, first + most)) for first in range(0, len(self), most))

    def _taken(self, which: Mask | slice) -> Entries:
        return Entries(self.numbers[which], self.counts[which], self.offsets[which], self.sizes[which], self.codes[which], self.newest)


class StoredEntries(Entries):
    """Entries of an ordinary queue as its files have them, all written. Their columns are made when first used: most are only merged."""

    __slots__ = ("_first", "_units")

    def __init__(self, units: NDArray[np.void], first: int, newest: int, firsts: Numbers) -> None:
        for name, value in (("_units", units), ("_first", first), ("newest", newest), ("firsts", firsts)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self._units)

    def __getattr__(self, name: str) -> Any:
        if name not in Entries.__slots__:
            raise AttributeError(name)
        for column, values in zip(("numbers", "counts", "offsets", "sizes", "codes"), of_messages(self._units, self._first), strict=True):
            object.__setattr__(self, column, values)
        return object.__getattribute__(self, name)

    @property
    def bytes(self) -> int:
        return int(self._units["size"].sum(dtype=np.int64))

    def place(self, which: int) -> tuple[int, int, int]:
        return self._first + which, int(self._units["offset"][which]), int(self._units["size"][which])

    def last_below(self, offset: int) -> int:
        return bisect_left(self._units["offset"], offset) - 1

    def as_claims(self) -> tuple[Numbers, Numbers] | Bytes:
        content: Bytes = self._units.view(np.uint8)
        return content

    def _taken(self, which: Mask | slice) -> Entries:
        if not isinstance(which, slice):
            return super()._taken(which)
        begin, stop, _ = which.indices(len(self))
        return StoredEntries(self._units[begin:stop], self._first + begin, self.newest, NO_NUMBERS)


NO_NUMBERS = np.empty(0, np.int64)
NO_ENTRIES = Entries(NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS)


def of_messages(units: NDArray[np.void], first: int) -> Columns:
    """The columns of the written entries among these. `first`: the number of the first one."""
    numbers, offsets, sizes, codes = kernel.queue_entries(units, first) or numpy_queue_entries(units, first)
    return numbers, np.ones(len(numbers), np.int64), offsets, sizes, codes


def numpy_queue_entries(units: NDArray[np.void], first: int) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """As `kernel.queue_entries`."""
    numbers = np.arange(first, first + len(units), dtype=np.int64)
    written = is_written(units)
    if not written.all():
        units, numbers = units.take(np.flatnonzero(written)), numbers[written]
    return numbers, units["offset"].astype(np.int64), units["size"].astype(np.int64), units["tags_code"].astype(np.int64)


def of_batches(units: NDArray[np.void]) -> Columns:
    """The columns of the written entries of a batch queue."""
    units = units.take(np.flatnonzero(is_written(units)))
    numbers, counts, offsets, sizes, codes = (units[name].astype(np.int64) for name in ("base", "count", "offset", "size", "tags_code"))
    return numbers, counts, offsets, sizes, codes
