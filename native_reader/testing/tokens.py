"""Bytes from many places strung together: how millions of records are made without an object each.

Every piece of a record (head, body, topic, a property's name, its value) is a token: a range of one of a few buffers.
Arrow's binary views are exactly that, and their cast to plain binary copies them one behind the other, in C++.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

INLINE: Final = 12  # views hold shorter values themselves
_VIEW: Final = np.dtype([("length", "<i4"), ("prefix", "<i4"), ("buffer", "<i4"), ("offset", "<i4")])


class Pool:
    """A growing buffer of texts that tokens point into."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> int:
        """Append `data` and return where it begins."""
        at = len(self._data)
        self._data += data
        return at

    def add_all(self, values: Sequence[bytes]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Append several values: their offsets and lengths."""
        lengths = np.array([len(value) for value in values], dtype=np.int32)
        start = self.add(b"".join(values))
        return (start + np.cumsum(lengths) - lengths).astype(np.int32), lengths

    def freeze(self) -> NDArray[np.uint8]:
        """The buffer, padded so that a token at its end may be read INLINE bytes wide."""
        return np.frombuffer(bytes(self._data) + bytes(INLINE), dtype=np.uint8)


def windows(buffer: NDArray[np.uint8], width: int) -> NDArray[np.void]:
    """Every `width` neighbouring bytes of `buffer` as one element: indexing it gathers unaligned texts."""
    return np.ndarray((len(buffer) - width + 1,), dtype=f"V{width}", buffer=buffer, strides=(1,))


def texts_at(buffer: NDArray[np.uint8], offsets: NDArray[np.int32], width: int) -> NDArray[np.uint8]:
    """The texts of one width at `offsets`, as the rows of a matrix."""
    return windows(buffer, width)[offsets].view(np.uint8).reshape(len(offsets), width)


def concatenate(
    buffers: Sequence[NDArray[np.uint8]],
    which: NDArray[np.uint8],
    offsets: NDArray[np.int32],
    lengths: NDArray[np.int32],
) -> memoryview:
    """All tokens one behind the other. Tokens of at most INLINE bytes must lie in the first buffer."""
    views = np.empty(len(offsets), dtype=_VIEW)
    views["length"] = lengths
    views["buffer"] = which
    views["offset"] = offsets
    short = np.flatnonzero(lengths <= INLINE)
    payloads = views.view(np.dtype([("length", "<i4"), ("payload", f"V{INLINE}")]))["payload"]
    payloads[short] = windows(buffers[0], INLINE)[offsets[short]]
    array = pa.Array.from_buffers(pa.binary_view(), len(views), [None, pa.py_buffer(views), *map(pa.py_buffer, buffers)])
    return memoryview(array.cast(pa.large_binary()).buffers()[2])
