"""The keys of the records that the plan reads, in a file without a name on the disk of the new store: the index is made of them.

So the log is not read once more for its keys, and these take no memory. If that disk is full, none are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


def joined(pieces: Sequence[Keys]) -> Keys:
    """One after the other."""
    return Keys._make(np.concatenate(columns) for columns in zip(*pieces, strict=True))


class KeptKeys:
    """The keys of records in log order. `with_tags`: also those under which brokers since 5.5.0 index tags."""

    def __init__(self, path: str, *, with_tags: bool) -> None:
        self.with_tags, self._path = with_tags, path
        self._file: BinaryIO | None = None
        self._held, self._counts = list[Keys](), list[int]()
        """Keys that are not in the file yet, and how many each piece in it has. A piece is one column after the other."""
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
            self._file, self._held, self._counts = disk.unnamed(self._path), [], []
        except OSError:
            self.forget()

    def put(self, offsets: Numbers, times: Numbers, counts: Numbers, hashes: NDArray[np.int32]) -> None:
        """Add the keys of records. `counts`: how many each has."""
        if self._file is None:
            return
        self._held.append(Keys(hashes.astype(np.int64), np.repeat(offsets, counts), np.repeat(times, counts)))
        if sum(len(each.hash) for each in self._held) >= _AT_ONCE:
            self._write(self._file)

    def _write(self, file: BinaryIO) -> None:
        content = np.concatenate([column for columns in zip(*self._held, strict=True) for column in columns]).tobytes()
        try:
            disk.put(file.fileno(), sum(self._counts) * _WIDTH, content)
            self._counts.append(len(content) // _WIDTH)
        except OSError:
            self.forget()
        self._held.clear()

    def forget(self) -> None:
        """Free the room that they take."""
        self.are_whole = False
        self._held.clear()
        self._close()

    def pieces(self) -> Iterator[Keys]:
        """All of them; no piece is empty."""
        assert self._file is not None, "not whole"
        self._file.seek(0)
        for count in self._counts:
            yield Keys._make(np.frombuffer(self._file.read(count * _WIDTH), np.int64).reshape(len(Keys._fields), -1))
        if self._held and len((rest := joined(self._held)).hash):
            yield rest

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
