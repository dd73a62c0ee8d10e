"""The keys of the records that the plan reads, in a file without a name on the disk of the new store: the index is made of them.

So the log is not read once more for its keys, and these take no memory. If that disk is full, none are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.record import Mask, Numbers
from native_reader.repair import disk

_AT_ONCE = 1 << 18


class Keys(NamedTuple):
    """Hashes as the index has them, with the offsets and the store times of their records."""

    hash: Numbers
    offset: Numbers
    time: Numbers

    def where(self, which: Mask | Numbers) -> Keys:
        """Only these keys."""
        return Keys._make(column[which] for column in self)


_WIDTH = 8 * len(Keys._fields)


class KeptKeys:
    """The keys of records in log order. `with_tags`: also those under which brokers since 5.5.0 index tags."""

    def __init__(self, path: str, *, with_tags: bool) -> None:
        self.with_tags, self._path = with_tags, path
        self._file: BinaryIO | None = None
        self._size = 0
        self.are_whole = True
        """Whether all keys are here."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close()

    def clear(self) -> None:
        """Begin with the first record."""
        self._close()
        try:
            self._file, self._size = disk.unnamed(self._path), 0
        except OSError:
            self.forget()

    def put(self, offsets: Numbers, times: Numbers, counts: Numbers, hashes: NDArray[np.int32]) -> None:
        """Add the keys of records. `counts`: how many each has."""
        if self._file is None:
            return
        keys = np.column_stack([hashes, np.repeat(offsets, counts), np.repeat(times, counts)]).astype(np.int64)
        try:
            disk.put(self._file.fileno(), self._size, keys.tobytes())
            self._size += keys.nbytes
        except OSError:
            self.forget()

    def forget(self) -> None:
        """Free the room that they take."""
        self.are_whole = False
        self._close()

    def pieces(self) -> Iterator[Keys]:
        """All of them."""
        assert self._file is not None, "not whole"
        self._file.seek(0)
        while content := self._file.read(_AT_ONCE * _WIDTH):
            yield Keys._make(np.ascontiguousarray(np.frombuffer(content, np.int64).reshape(-1, len(Keys._fields)).T))

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None


def indexed(
    rows: Numbers, hashes: Numbers, tag_keys: NDArray[np.integer], has_tag: Mask, rolls_back: Mask, *, with_tags: bool
) -> tuple[Numbers, Numbers]:
    """The keys that brokers index, in their order: the record and the hash of each. `rows`: the record of each key."""
    if with_tags:
        tagged = np.flatnonzero(has_tag)
        rows, hashes = np.concatenate([rows, tagged]), np.concatenate([hashes, tag_keys[tagged]])
        order = np.argsort(rows, kind="stable")
        rows, hashes = rows[order], hashes[order]
    if rolls_back.any():
        kept = ~rolls_back[rows]
        rows, hashes = rows[kept], hashes[kept]
    return rows, hashes
