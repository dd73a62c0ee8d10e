"""Concatenates bytes from many places, to create millions of records without an object for each.

Every piece of a record (head, body, topic, a property's name or value) is a token: a range of one of a few buffers. Tokens are
Arrow binary views; Arrow's cast to plain binary concatenates them in C++.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

INLINE: Final = 12  # views contain values up to this length
_VIEW: Final = np.dtype([("length", "<i4"), ("prefix", "<i4"), ("buffer", "<i4"), ("offset", "<i4")])


class Pool:
    """A growing buffer of texts that tokens point into."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> int:
        """Append `data` and return its offset."""
        at = len(self._data)
        self._data += data
        return at

    def add_all(self, values: Sequence[bytes]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Append several values; returns their offsets and lengths."""
        lengths = np.array([len(value) for value in values], dtype=np.int32)
        start = self.add(b"".join(values))
        return (start + np.cumsum(lengths) - lengths).astype(np.int32), lengths

    def freeze(self) -> NDArray[np.uint8]:
        """The buffer, padded so that a token at its end may be read INLINE bytes wide."""
        return np.frombuffer(bytes(self._data) + bytes(INLINE), dtype=np.uint8)


def windows(buffer: NDArray[np.uint8], width: int) -> NDArray[np.void]:
    """A view of every `width` consecutive bytes of `buffer`: index it to gather unaligned texts."""
    return np.ndarray((len(buffer) - width + 1,), dtype=f"V{width}", buffer=buffer, strides=(1,))


def texts_at(buffer: NDArray[np.uint8], offsets: NDArray[np.int32], width: int) -> NDArray[np.uint8]:
    """The texts of equal width at `offsets`, as the rows of a matrix."""
    return windows(buffer, width)[offsets].view(np.uint8).reshape(len(offsets), width)


def concatenate(
    buffers: Sequence[NDArray[np.uint8]], which: NDArray[np.uint8], offsets: NDArray[np.int32], lengths: NDArray[np.int32]
) -> memoryview:
    """Concatenate all tokens. Tokens of at most INLINE bytes must be in the first buffer."""
    views = np.empty(len(offsets), dtype=_VIEW)
    views["length"] = lengths
    views["buffer"] = which
    views["offset"] = offsets
    short = np.flatnonzero(lengths <= INLINE)
    payloads = views.view(np.dtype([("length", "<i4"), ("payload", f"V{INLINE}")]))["payload"]
    payloads[short] = windows(buffers[0], INLINE)[offsets[short]]
    array = pa.Array.from_buffers(pa.binary_view(), len(views), [None, pa.py_buffer(views), *map(pa.py_buffer, buffers)])
    return memoryview(array.cast(pa.large_binary()).buffers()[2])
