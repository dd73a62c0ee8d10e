"""The properties of many records as an Arrow map, and single properties as columns.

The keys of records repeat: a few *shapes*, sequences of names, cover a store, though thirty of them may share a chunk.
So the names of a row are recognised as a whole, by a hash, then proven byte by byte against the shape; what a shape knows
(where TAGS is, that no name stands twice) need not be found again for each row.
Rows that are odd in any way go through the exact parser, one by one, without slowing their neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.layout.properties import CRC_NAME, CRC_SIZE, NAME_END, VALUE_END, parse
from native_reader.layout.record import Bytes, Index, Mask, unsigned_at
from native_reader.scan.strings import content_of, offsets_of, short
from native_reader.schema import PROPERTIES_TYPE

_CRC_WORD = int.from_bytes(CRC_NAME, "little")
_ROOT = 0x9E3779B97F4A7C15 | 1
_ROOT_INVERSE = pow(_ROOT, -1, 1 << 64)
_MOST_SHAPES = 4096
"""A store of nothing but odd shapes must not fill the memory: then everything learned is forgotten."""


@dataclass(frozen=True, slots=True)
class PropertyColumns:
    """What was asked for: the map, if it was, and a column for each single name."""

    map: pa.Array | None
    named: dict[str, pa.Array]


@dataclass(frozen=True, slots=True)
class _Shape:
    names: tuple[str, ...]
    text: bytes
    sizes: bytes
    kept: bytes
    """A 1 for each name that no later one repeats: the last of equal names wins."""

    @staticmethod
    def of(names: tuple[str, ...]) -> _Shape:
        encoded = [name.encode() for name in names]
        sizes = np.array([len(name) for name in encoded], np.int32).tobytes()
        return _Shape(names, b"".join(encoded), sizes, bytes(name not in names[i + 1 :] for i, name in enumerate(names)))

    def place(self, name: str) -> int:
        """Where the value of that name stands, -1 where it has none."""
        return len(self.names) - 1 - self.names[::-1].index(name) if name in self.names else -1


@dataclass(frozen=True, slots=True)
class _Tokens:
    """All names and values of regular rows: token 4i is the i-th name, token 4i + 2 its value, between them separators."""

    column: pa.Array
    content: Bytes
    marks: NDArray[np.int32]
    name_starts: NDArray[np.int32]
    row_pairs: NDArray[np.int32]
    """Row r holds the pairs from row_pairs[r] to row_pairs[r + 1]."""


class PropertyReader:
    """Reads properties chunk after chunk, and remembers the shapes it has met."""

    def __init__(self, names: Sequence[str], want_map: bool) -> None:
        self._names, self._want_map = tuple(names), want_map
        self._powers = np.ones(1, np.uint64), np.ones(1, np.uint64)
        self._forget()

    def _forget(self) -> None:
        self._shapes: list[_Shape] = []
        self._known: dict[int, int] = {}
        self._tables: dict[str, pa.Array] = {}

    def read(self, u8: Bytes, arrow: pa.Buffer, starts: Index, sizes: Index) -> PropertyColumns:
        """The properties fields at `starts`, ascending; one more byte behind each must belong to the buffer."""
        return self._read(u8, arrow, starts, sizes - CRC_SIZE * _crc_trailers(u8, starts, sizes))

    def _read(self, u8: Bytes, arrow: pa.Buffer, starts: Index, sizes: Index) -> PropertyColumns:
        filled = np.flatnonzero(sizes)
        some = slice(None) if len(filled) == len(sizes) else filled
        begins, lengths = starts[some], sizes[some]
        closed = u8[begins + lengths - 1] == VALUE_END
        fields = short(arrow, begins, lengths + 1 - closed, pa.binary())
        ends, content = offsets_of(fields), content_of(fields)
        content[ends[1:] - 1] = 0  # bytes that Arrow has just made for us alone
        tokens = _tokens(fields, content, ends)
        if not isinstance(tokens, _Tokens):
            return self._with_odd(u8, arrow, starts, sizes, filled[tokens])
        keys = tokens.column.take(pa.array(np.arange(0, 2 * len(tokens.marks), 4)))
        shapes, unlike = self._shapes_of(tokens, keys)
        if unlike is not None:
            return self._with_odd(u8, arrow, starts, sizes, filled[unlike])
        return self._columns(tokens, keys, shapes, filled, len(sizes))

    def _columns(self, tokens: _Tokens, keys: pa.Array, shapes: Index, filled: Index, rows: int) -> PropertyColumns:
        table = None
        if self._want_map:
            counts = np.zeros(rows + 1, np.int32)
            pairs = tokens.row_pairs
            if all(all(self._shapes[each].kept) for each in np.unique(shapes)):
                values = tokens.column.take(pa.array(np.arange(2, 2 * len(tokens.marks), 4)))
            else:
                kept = np.flatnonzero(content_of(self._table("kept").take(pa.array(shapes))))
                keys, values = keys.take(pa.array(kept)), tokens.column.take(pa.array(4 * kept + 2))
                pairs = np.searchsorted(kept, pairs).astype(np.int32)
            counts[filled + 1] = np.diff(pairs)
            table = pa.MapArray.from_arrays(pa.array(np.cumsum(counts, dtype=np.int32)), keys, values)
        return PropertyColumns(table, {name: self._single(name, tokens, shapes, filled, rows) for name in self._names})

    def _single(self, name: str, tokens: _Tokens, shapes: Index, filled: Index, rows: int) -> pa.Array:
        places = np.array([shape.place(name) for shape in self._shapes] or [-1])[shapes]
        token = 4 * (tokens.row_pairs[:-1] + places) + 2
        absent = places < 0
        if len(filled) == rows and not absent.any():
            return tokens.column.take(pa.array(token))
        at, null = np.zeros(rows, np.int64), np.ones(rows, np.bool_)
        at[filled], null[filled] = token, absent
        return tokens.column.take(pa.array(at, mask=null))

    def _shapes_of(self, tokens: _Tokens, keys: pa.Array) -> tuple[Index, Mask | None]:
        """The shape of each row, and which rows are unlike the shape their hash stands for (None: no row is)."""
        if len(self._shapes) > _MOST_SHAPES:
            self._forget()
        hashes = pa.array(self._row_hashes(tokens)).dictionary_encode()
        codes = hashes.indices.to_numpy()
        ids = [self._known.get(each, -1) for each in hashes.dictionary.to_pylist()]
        for code, each in enumerate(hashes.dictionary.to_pylist()):
            if ids[code] < 0:
                ids[code] = self._known[each] = self._learn(keys, tokens, int(np.argmax(codes == code)))
        shapes = np.array(ids, np.intp)[codes]
        text, sizes = (self._table(which).take(pa.array(shapes)) for which in ("text", "sizes"))
        ends = offsets_of(keys)
        if np.array_equal(content_of(text), content_of(keys)) and np.array_equal(content_of(sizes).view(np.int32), np.diff(ends)):
            return shapes, None
        rows, key_sizes = len(shapes), pa.py_buffer(np.ascontiguousarray(np.diff(ends)))
        own_text = pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(ends[tokens.row_pairs]), keys.buffers()[2]])
        own_sizes = pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(4 * tokens.row_pairs), key_sizes])
        same = pc.and_(pc.equal(own_text, text), pc.equal(own_sizes, sizes))
        return shapes, ~same.to_numpy(zero_copy_only=False)

    def _learn(self, keys: pa.Array, tokens: _Tokens, row: int) -> int:
        first, behind = int(tokens.row_pairs[row]), int(tokens.row_pairs[row + 1])
        self._shapes.append(_Shape.of(tuple(keys.slice(first, behind - first).to_pylist())))
        self._tables.clear()
        return len(self._shapes) - 1

    def _table(self, which: str) -> pa.Array:
        """One trait of all shapes as a column, to be taken by shape."""
        if which not in self._tables:
            self._tables[which] = pa.array([getattr(shape, which) for shape in self._shapes], pa.binary())
        return self._tables[which]

    def _row_hashes(self, tokens: _Tokens) -> NDArray[np.uint64]:
        """A polynomial over the names of each row: their lengths and some of their bytes. Wherever alike rows stand, it is equal."""
        starts, ends, count = tokens.name_starts, tokens.marks[0::2], len(tokens.name_starts)
        if count > len(self._powers[0]):
            self._powers = _powers(2 * count, _ROOT), _powers(2 * count, _ROOT_INVERSE)
        traits = (ends - starts).astype(np.uint64)
        for byte, place in enumerate((starts, ends - 1, (starts + ends) >> 1)):
            traits += tokens.content[place].astype(np.uint64) << np.uint64(16 + 8 * byte)
        traits *= self._powers[0][:count]
        sums = np.zeros(count + 1, np.uint64)
        np.cumsum(traits, out=sums[1:])
        first = tokens.row_pairs[:-1]
        hashes: NDArray[np.uint64] = (sums[tokens.row_pairs[1:]] - sums[first]) * self._powers[1][first]
        return hashes

    def _with_odd(self, u8: Bytes, arrow: pa.Buffer, starts: Index, sizes: Index, odd: Index) -> PropertyColumns:
        """The odd rows through the exact parser, the others as ever, and both in the order of the rows."""
        others = np.setdiff1d(np.arange(len(starts)), odd)
        regular = self._read(u8, arrow, starts[others], sizes[others])
        parsed = [parse(u8[start : start + size].tobytes()) for start, size in zip(starts[odd], sizes[odd], strict=True)]
        order = pa.array(np.argsort(np.concatenate([others, odd])))

        def both(one: pa.Array, other: pa.Array) -> pa.Array:
            return pa.concat_arrays([one, other]).take(order)

        named = {name: both(regular.named[name], pa.array([row.get(name) for row in parsed], pa.string())) for name in self._names}
        table = None if regular.map is None else both(regular.map, pa.array([list(row.items()) for row in parsed], PROPERTIES_TYPE))
        return PropertyColumns(table, named)


def _tokens(fields: pa.Array, content: Bytes, ends: NDArray[np.int32]) -> _Tokens | Mask:
    """Names and values of all rows; where a row is odd, which rows are.

    Every row ends in a 0 of ours. Regular: name 1 value 2 name 1 value 0, none of them empty, all of it UTF-8.
    """
    marks = np.flatnonzero(content <= VALUE_END).astype(np.int32)
    signs = content[marks]
    last = np.flatnonzero(signs == 0)
    regular = (
        len(signs) % 2 == 0
        and len(last) == len(fields)
        and bool((signs[0::2] == NAME_END).all())
        and bool((signs[1::2] != NAME_END).all())
        and (not len(marks) or int(np.diff(marks, prepend=-1).min()) > 1)
        and _is_utf8(content)
    )
    if not regular:
        return _odd_rows(content, ends, marks, signs)
    tiles = np.empty(2 * len(marks) + 1, np.int32)
    tiles[0], tiles[1::2] = 0, marks
    np.add(marks, 1, out=tiles[2::2])
    column = pa.StringArray.from_buffers(2 * len(marks), pa.py_buffer(tiles), fields.buffers()[2])
    row_pairs = np.zeros(len(fields) + 1, np.int32)
    row_pairs[1:] = (last + 1) >> 1
    return _Tokens(column, content, marks, tiles[0:-1:4], row_pairs)


def _odd_rows(content: Bytes, ends: NDArray[np.int32], marks: NDArray[np.int32], signs: Bytes) -> Mask:
    row = np.searchsorted(ends, marks, "right") - 1
    place = np.arange(len(marks)) - np.searchsorted(marks, ends[:-1])[row]
    last = marks == ends[row + 1] - 1
    right = np.where(place % 2 == 0, signs == NAME_END, np.where(last, signs == 0, signs == VALUE_END))
    odd = np.zeros(len(ends) - 1, np.bool_)
    odd[row[~right | (np.diff(marks, prepend=-1) == 1)]] = True
    foreign = np.unique(np.searchsorted(ends, np.flatnonzero(content >= 0x80), "right") - 1)
    for each in foreign[~odd[foreign]]:
        odd[each] = not _is_utf8(content[ends[each] : ends[each + 1]])
    return odd


def _crc_trailers(u8: Bytes, starts: Index, sizes: Index) -> Index:
    """1 for each field that ends in the broker's checksum, else 0."""
    at = starts + sizes - CRC_SIZE
    able = (sizes >= CRC_SIZE) & (u8[starts + sizes - 1] == VALUE_END)
    rows = np.flatnonzero(able)
    if len(rows):
        words = unsigned_at(u8, 8)
        rows = rows[(words[at[rows]] == _CRC_WORD) & (u8[at[rows] + len(CRC_NAME)] == NAME_END)]
    found = np.zeros(len(starts), np.intp)
    if len(rows):
        digits = u8[at[rows][:, None] + np.arange(len(CRC_NAME) + 1, CRC_SIZE - 1)]
        found[rows] = ((digits >= 0x30) & (digits <= 0x39)).all(axis=1)
    return found


def _is_utf8(content: Bytes) -> bool:
    if not len(content) or int(content.max()) < 0x80:
        return True
    try:
        content.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _powers(count: int, root: int) -> NDArray[np.uint64]:
    powers = np.full(count, root, np.uint64)
    powers[0] = 1
    np.cumprod(powers, out=powers)
    return powers
