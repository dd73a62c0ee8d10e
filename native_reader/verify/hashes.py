"""Java's hash of many texts at once.

`hash(text)` is the sum of `unit * 31 ** (units after it)`, modulo 2^32. 31 has an inverse modulo 2^32, so one running sum over
all bytes of a column gives the hash of every part of it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.columns.strings import content_of, offsets_of
from native_reader.layout.queue_entry import java_hash
from native_reader.layout.record import Bytes, Index

Hashes = NDArray[np.uint32]
_BASE = 31
_INVERSE = pow(_BASE, -1, 1 << 32)


class _Powers:
    """Powers of a number modulo 2^32; more are computed on demand."""

    def __init__(self, base: int) -> None:
        self._base = base
        self._known = self._first(1 << 16)

    def _first(self, count: int) -> Hashes:
        powers = np.full(count, self._base, np.uint32)
        powers[:1] = 1
        return np.cumprod(powers, dtype=np.uint32)

    def __call__(self, count: int) -> Hashes:
        known = self._known  # several threads share it
        if count > len(known):
            known = self._known = self._first(2 * count)
        return known[:count]


_powers, _inverses = _Powers(_BASE), _Powers(_INVERSE)


class Texts:
    """Parts of a text column, as positions in its bytes: `[begins, ends)` of each, and their hashes."""

    def __init__(self, content: Bytes, begins: Index, ends: Index) -> None:
        self._content, self.begins, self.ends = content, begins, ends
        self._is_ascii = not len(content) or int(content.max()) < 0x80

    @staticmethod
    def of(column: pa.Array) -> Texts:
        """The values of a column; a null is an empty text."""
        offsets = offsets_of(column).astype(np.intp)
        return Texts(content_of(column), offsets[:-1], offsets[1:])

    def hashes(self) -> tuple[Hashes, Hashes]:
        """The hash of each text, and the factor by which its length raises the hash of a text before it."""
        count = len(self._content)
        sums = np.zeros(count + 1, np.uint32)
        np.cumsum(self._content * _inverses(count), dtype=np.uint32, out=sums[1:])
        lengths, powers = self.ends - self.begins, _powers(count + 1)
        hashes = (sums[self.ends] - sums[self.begins]) * powers[np.maximum(self.ends - 1, 0)]
        factors = powers[lengths]
        if not self._is_ascii:  # UTF-16 units are not bytes
            self._correct(hashes, factors)
        return hashes, factors

    def _correct(self, hashes: Hashes, factors: Hashes) -> None:
        others = np.concatenate([[0], np.cumsum(self._content >= 0x80)])
        for row in np.flatnonzero(others[self.ends] > others[self.begins]).tolist():
            text = self._content[self.begins[row] : self.ends[row]].tobytes().decode("utf-8", "replace")
            hashes[row] = java_hash(text) & 0xFFFFFFFF
            factors[row] = pow(_BASE, len(text.encode("utf-16-le", "surrogatepass")) // 2, 1 << 32)


def words_of(column: pa.Array, separator: int) -> tuple[Texts, Index]:
    """The non-empty words of each value, and the row of each word."""
    content, offsets = content_of(column), offsets_of(column).astype(np.intp)
    spaces = np.flatnonzero(content == separator)
    rows = np.searchsorted(offsets, spaces, "right") - 1
    begins = np.concatenate([offsets[:-1], spaces + 1])
    order = np.argsort(begins, kind="stable")
    begins, owners = begins[order], np.concatenate([np.arange(len(offsets) - 1), rows])[order]
    # A word ends at the next space, or where its value ends.
    following = np.append(spaces, len(content))[np.searchsorted(spaces, begins)]
    ends = np.minimum(following, offsets[owners + 1])
    kept = np.flatnonzero(ends > begins)
    return Texts(content, begins[kept], ends[kept]), owners[kept]


def positive(hashes: Hashes) -> NDArray[np.int64]:
    """As the index stores them: without a sign."""
    signed = hashes.view(np.int32).astype(np.int64)
    return np.where(signed == -(2**31), 0, np.abs(signed))
