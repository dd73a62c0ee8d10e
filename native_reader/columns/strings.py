"""Byte ranges of a buffer as Arrow columns, without one object per value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.arrow import array, numpy_of
from native_reader.layout.record import PADDING, Bytes, Index, Mask, at, unsigned_at

_FEW = 32
"""With fewer changes than one in this many rows, whole runs are copied; otherwise taking row by row is cheaper."""
_INLINE = 12
"""Arrow stores values up to this length inside the view itself."""
_INLINE_MASKS = np.array([[0xFF] * size + [0] * (_INLINE - size) for size in range(_INLINE + 1)], np.uint8)


class Growing:
    """The first elements of an endless array. It grows on demand; callers get slices, not copies."""

    def __init__(self, first: Callable[[int], NDArray[np.generic]]) -> None:
        self._first, self._known = first, array(first(1 << 16))

    def __call__(self, count: int) -> pa.Array:
        known = self._known  # several threads share it
        if count > len(known):
            known = self._known = array(self._first(2 * count))
        return known.slice(0, count)


_every_other = Growing(lambda count: np.arange(0, 2 * count, 2))


def short(buffer: pa.Buffer, starts: Index, sizes: Index, kind: pa.DataType) -> pa.Array:
    """Copies of short slices; fastest if they ascend without overlap, as parts of records do."""
    if not (starts[1:] >= starts[:-1] + sizes[:-1]).all():  # topics of an inner batch, or messages from decompressed bodies
        _, first, places = np.unique(starts, return_index=True, return_inverse=True)
        return _ascending(buffer, starts[first], sizes[first], kind).take(array(places))
    return _ascending(buffer, starts, sizes, kind)


def _ascending(buffer: pa.Buffer, starts: Index, sizes: Index, kind: pa.DataType) -> pa.Array:
    """One offsets array covers the buffer (gap, slice, gap, slice ...); every second piece is taken. Cheaper than one view each."""
    count = len(starts)
    tiles = np.empty(2 * count + 1, np.int32)
    tiles[0:-1:2] = starts
    np.add(starts, sizes, out=tiles[1::2], casting="unsafe")
    tiles[-1] = tiles[-2] if count else 0
    return pa.Array.from_buffers(kind, 2 * count, [None, pa.py_buffer(tiles), buffer]).take(_every_other(count))


class PaddedBuffer(NamedTuple):
    """A buffer as numpy and as Arrow see it, with at least PADDING extra bytes at its end."""

    u8: Bytes
    arrow: pa.Buffer

    @staticmethod
    def of(*parts: bytes | memoryview) -> PaddedBuffer:
        """A padded copy of these bytes, joined together."""
        own = b"".join([*parts, bytes(PADDING)])
        return PaddedBuffer(np.frombuffer(own, np.uint8), pa.py_buffer(own))


@dataclass(frozen=True, slots=True)
class Slices:
    """Values of any size and order from several sources; `which` is the source of each."""

    sources: list[PaddedBuffer]
    which: Index
    starts: Index
    sizes: Index
    null: Mask

    def copied(self) -> pa.Array:
        """The values as a binary column: one view each, and one cast that copies."""
        return self.viewed().cast(pa.binary())

    def viewed(self) -> pa.Array:
        """The values as views of their sources."""
        views = np.zeros((len(self.starts), 4), np.int32)
        views[:, 0], views[:, 2], views[:, 3] = self.sizes, self.which, self.starts
        for number, (u8, _) in enumerate(self.sources):
            own = slice(None) if len(self.sources) == 1 else np.flatnonzero(self.which == number)
            views[own, 1] = unsigned_at(u8, 4)[self.starts[own]].view(np.int32)
        if len(inline := np.flatnonzero(self.sizes <= _INLINE)):
            views[inline, 1:] = self._inline(inline).view(np.int32)
        valid = pa.py_buffer(np.packbits(~self.null, bitorder="little")) if self.null.any() else None
        parts = [valid, pa.py_buffer(views), *(source.arrow for source in self.sources)]
        return pa.Array.from_buffers(pa.binary_view(), len(views), parts)

    def _inline(self, rows: Index) -> Bytes:
        """The bytes of very short values, which their views contain instead of a position."""
        words = np.empty((len(rows), _INLINE), np.uint8)
        for number, (u8, _) in enumerate(self.sources):
            own = np.flatnonzero(self.which[rows] == number)
            words[own] = at(u8, f"V{_INLINE}")[self.starts[rows[own]]].view(np.uint8).reshape(-1, _INLINE)
        return words & _INLINE_MASKS[self.sizes[rows]]


def views_of(made: pa.Array, buffer: pa.Buffer) -> pa.Array:
    """Views that were made without their first buffer, with it."""
    valid, views, _, *others = made.buffers()
    return pa.Array.from_buffers(made.type, len(made), [valid, views, buffer, *others])


def text(column: pa.Array) -> pa.Array:
    """A binary column as strings; invalid UTF-8 becomes U+FFFD."""
    content = content_of(column)
    strings = column.view(pa.string())
    if not len(content) or int(content.max()) < 0x80:
        return strings
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        return decoded(column)
    return strings


def text_or_null(column: pa.Array) -> pa.Array:
    """A binary column as strings; a value that is not valid UTF-8 becomes null."""
    strings = column.view(pa.string())
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        valid = numpy_of(column.is_valid()).copy()
        content, ends = content_of(column).data, offsets_of(column).tolist()
        for row, (start, end) in enumerate(pairwise(ends)):  # Arrow does not say which value is wrong; a decoder stops at the first error
            try:
                str(content[start:end], "utf-8")
            except UnicodeDecodeError:
                valid[row] = False
        validity, (_, *others) = pa.py_buffer(np.packbits(valid, bitorder="little")), strings.buffers()
        return pa.Array.from_buffers(pa.string(), len(strings), [validity, *others])
    return strings


def decoded(column: pa.Array) -> pa.Array:
    """Each value as `value.decode("utf-8", "replace")` returns it, but with one decode of all values, joined by zeros.

    A decoder replaces a character that a 0 cuts off, and keeps the 0. So the number and the order of zeros do not change,
    even if values contain zeros themselves.
    """
    count, ends = len(column), offsets_of(column)[1:]
    apart = np.insert(content_of(column), ends, 0)
    closing = np.searchsorted(np.flatnonzero(apart == 0), ends + np.arange(count))
    new = np.frombuffer(apart.tobytes().decode("utf-8", "replace").encode(), np.uint8)
    places = np.flatnonzero(new == 0)[closing]
    tiles = np.zeros(count + 1, np.int32)
    tiles[1:] = places - np.arange(count)
    return pa.StringArray.from_buffers(count, pa.py_buffer(tiles), pa.py_buffer(np.delete(new, places)))


def offsets_of(column: pa.Array) -> NDArray[np.int32]:
    """The offsets of a binary or string column that is not a slice."""
    return np.frombuffer(column.buffers()[1], np.int32, len(column) + 1) if len(column) else np.zeros(1, np.int32)


def content_of(column: pa.Array) -> Bytes:
    """All bytes of a binary or string column that is not a slice."""
    content = column.buffers()[2]
    return np.frombuffer(content, np.uint8, int(offsets_of(column)[-1])) if content is not None else np.empty(0, np.uint8)


def replaced(column: pa.Array, rows: Index, values: pa.Array) -> pa.Array:
    """`column` with new values at `rows`, which ascend."""
    if len(rows) * _FEW < len(column):
        runs, done = [], 0
        for number, row in enumerate(rows.tolist()):
            runs += [column.slice(done, row - done), values.slice(number, 1)]
            done = row + 1
        return pa.concat_arrays([*runs, column.slice(done)])
    places = np.arange(len(column))
    places[rows] = len(column) + np.arange(len(rows))
    return pa.concat_arrays([column, values]).take(array(places))


def without(column: pa.Array, rows: Index) -> pa.Array:
    """`column` without some rows, which ascend; copies runs where they are few."""
    if not len(rows):
        return column
    if len(rows) * _FEW < len(column):
        bounds = pairwise([-1, *rows.tolist(), len(column)])
        return pa.concat_arrays([column.slice(one + 1, other - one - 1) for one, other in bounds])
    return column.take(array(np.delete(np.arange(len(column)), rows)))
