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

from native_reader.layout.properties import parse
from native_reader.layout.record import Bytes, Index, Mask
from native_reader.scan.strings import content_of, offsets_of, spliced, without
from native_reader.scan.tokens import Fields, Tokens, tokens_of
from native_reader.schema import PROPERTIES_TYPE

_MIX, _ROOT = 0x85EBCA6B, 0x9E3779B1
_ROOT_INVERSE = pow(_ROOT, -1, 1 << 32)
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
    gaps: bytes
    """The size of each name, and 1, as int32."""
    kept: bytes
    """A 1 for each name that no later one repeats: the last of equal names wins."""

    @staticmethod
    def of(names: tuple[str, ...]) -> _Shape:
        encoded = [name.encode() for name in names]
        gaps = np.array([len(name) + 1 for name in encoded], np.int32).tobytes()
        return _Shape(names, b"".join(encoded), gaps, bytes(name not in names[i + 1 :] for i, name in enumerate(names)))

    def place(self, name: str) -> int:
        """Where the value of that name stands, -1 where it has none."""
        return len(self.names) - 1 - self.names[::-1].index(name) if name in self.names else -1


class PropertyReader:
    """Reads properties chunk after chunk, and remembers the shapes it has met."""

    def __init__(self, names: Sequence[str], want_map: bool) -> None:
        self._names, self._want_map = tuple(names), want_map
        self._powers = np.ones(1, np.uint32), np.ones(1, np.uint32)
        self._forget()

    def _forget(self) -> None:
        self._shapes: list[_Shape] = []
        self._repeats = np.zeros(0, np.bool_)
        self._latest = 0
        self._known: dict[int, int] = {}
        self._tables: dict[str, pa.Array] = {}
        self._known_places: dict[str, Index] = {}

    def read(self, u8: Bytes, arrow: pa.Buffer, starts: Index, sizes: Index) -> PropertyColumns:
        """The properties fields at `starts`, ascending; one more byte behind each must belong to the buffer."""
        return self._read(Fields.of(u8, arrow, starts, sizes), None)

    def _read(self, fields: Fields, odd: Mask | None) -> PropertyColumns:
        """`odd`: which of the filled fields are known to be unlike what they seem."""
        tokens, odd = tokens_of(fields, odd)
        keys = tokens.keys()
        shapes, unlike = self._shapes_of(tokens, keys)
        if unlike is None and tokens.empty is not None:
            unlike = self._empty_repeats(tokens, shapes)
        if unlike is not None:
            found = np.zeros(len(fields.filled), np.bool_) if odd is None else odd
            found[np.flatnonzero(~found)[unlike]] = True
            return self._read(fields, found)
        if odd is None:
            return self._columns(tokens, keys, shapes, fields.filled, len(fields.sizes))
        rows = fields.filled[odd]
        others = np.ones(len(fields.sizes), np.bool_)
        others[rows] = False
        place = np.cumsum(others) - 1
        regular = self._columns(tokens, keys, shapes, place[fields.filled[~odd]], int(place[-1]) + 1)
        return self._with_odd(regular, [parse(fields.field(row)) for row in rows.tolist()], place[rows] + 1)

    def _empty_repeats(self, tokens: Tokens, shapes: Index) -> Mask | None:
        """The rows that have an empty value and a name twice: which of two values counts is then for the exact parser to say."""
        rows = np.searchsorted(tokens.row_pairs, self._empty_pairs(tokens), "right") - 1
        both = np.zeros(len(shapes), np.bool_)
        both[rows] = self._repeats[shapes[rows]]
        return both if both.any() else None

    def _columns(self, tokens: Tokens, keys: pa.Array, shapes: Index, filled: Index, rows: int) -> PropertyColumns:
        table = None
        if self._want_map:
            counts = np.zeros(rows + 1, np.int32)
            pairs = tokens.row_pairs
            values = tokens.values()
            gone = self._gone(tokens, shapes)
            if len(gone):
                keys, values = without(keys, gone), without(values, gone)
                pairs = pairs - np.searchsorted(gone, pairs).astype(np.int32)
            counts[filled + 1] = np.diff(pairs)
            table = pa.MapArray.from_arrays(pa.array(np.cumsum(counts, dtype=np.int32)), keys, values)
        return PropertyColumns(table, {name: self._single(name, tokens, shapes, filled, rows) for name in self._names})

    @staticmethod
    def _empty_pairs(tokens: Tokens) -> Index:
        return np.zeros(0, np.intp) if tokens.empty is None else np.flatnonzero(tokens.empty)

    def _gone(self, tokens: Tokens, shapes: Index) -> Index:
        """The pairs that do not count: a later one has the same name, or the value is empty."""
        gone = self._empty_pairs(tokens)
        if not self._repeats[shapes].any():
            return gone
        kept = content_of(self._table("kept").take(pa.array(shapes)))
        return np.union1d(gone, np.flatnonzero(kept == 0))

    def _single(self, name: str, tokens: Tokens, shapes: Index, filled: Index, rows: int) -> pa.Array:
        places = self._places(name)[shapes]
        pairs = tokens.row_pairs[:-1] + places
        absent = places < 0
        if tokens.empty is not None:
            absent |= tokens.empty[np.where(absent, 0, pairs)]
        token = 4 * pairs + 2
        if len(filled) == rows and not absent.any():
            return tokens.column.take(pa.array(token))
        at, null = np.zeros(rows, np.int64), np.ones(rows, np.bool_)
        at[filled], null[filled] = token, absent
        return tokens.column.take(pa.array(at, mask=null))

    def _shapes_of(self, tokens: Tokens, keys: pa.Array) -> tuple[Index, Mask | None]:
        """The shape of each row, and which rows are unlike the shape their hash stands for (None: no row is)."""
        rows, ends, content = len(tokens.row_pairs) - 1, offsets_of(keys), content_of(keys)
        if self._shapes and self._all_alike(tokens, content, self._latest):
            return np.full(rows, self._latest, np.intp), None
        if len(self._shapes) > _MOST_SHAPES:
            self._forget()
        hashes = pa.array(self._row_hashes(tokens)).dictionary_encode()
        codes = hashes.indices.to_numpy()
        ids = [self._known.get(each, -1) for each in hashes.dictionary.to_pylist()]
        for code, each in enumerate(hashes.dictionary.to_pylist()):
            if ids[code] < 0:
                ids[code] = self._known[each] = self._learn(keys, tokens, int(np.argmax(codes == code)))
        shapes = np.array(ids, np.intp)[codes]
        self._latest = ids[-1] if ids else 0
        text, sizes = (self._table(which).take(pa.array(shapes)) for which in ("text", "gaps"))
        if np.array_equal(content_of(text), content) and np.array_equal(content_of(sizes).view(np.int32), tokens.name_gaps):
            return shapes, None
        own_text = pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(ends[tokens.row_pairs]), keys.buffers()[2]])
        own_gaps = pa.py_buffer(tokens.name_gaps.astype(np.int32))
        own_sizes = pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(4 * tokens.row_pairs), own_gaps])
        same = pc.and_(pc.equal(own_text, text), pc.equal(own_sizes, sizes))
        return shapes, ~same.to_numpy(zero_copy_only=False)

    def _all_alike(self, tokens: Tokens, content: Bytes, shape: int) -> bool:
        """Whether every row has the names of one shape: cheaper to see than which shape each has."""
        gaps, text = np.frombuffer(self._shapes[shape].gaps, np.int32), np.frombuffer(self._shapes[shape].text, np.uint8)
        rows = len(tokens.row_pairs) - 1
        if not rows or not len(gaps) or len(tokens.name_gaps) != rows * len(gaps) or len(content) != rows * len(text):
            return False
        alike = bool((tokens.name_gaps.reshape(rows, -1) == gaps).all() and (content.reshape(rows, -1) == text).all())
        return alike and bool((tokens.row_pairs[1:] - tokens.row_pairs[:-1] == len(gaps)).all())

    def _learn(self, keys: pa.Array, tokens: Tokens, row: int) -> int:
        first, behind = int(tokens.row_pairs[row]), int(tokens.row_pairs[row + 1])
        self._shapes.append(_Shape.of(tuple(keys.slice(first, behind - first).to_pylist())))
        self._repeats = np.array([not all(shape.kept) for shape in self._shapes])
        self._tables.clear()
        self._known_places.clear()
        return len(self._shapes) - 1

    def _table(self, which: str) -> pa.Array:
        """One trait of all shapes as a column, to be taken by shape."""
        if which not in self._tables:
            self._tables[which] = pa.array([getattr(shape, which) for shape in self._shapes], pa.binary())
        return self._tables[which]

    def _places(self, name: str) -> Index:
        """Where each shape has a value of that name, -1 where it has none."""
        if name not in self._known_places:
            self._known_places[name] = np.array([shape.place(name) for shape in self._shapes] or [-1], np.intp)
        return self._known_places[name]

    def _row_hashes(self, tokens: Tokens) -> NDArray[np.uint32]:
        """A polynomial over the names of each row: their lengths and some of their bytes. Wherever alike rows stand, it is equal."""
        ends, count = tokens.name_ends, len(tokens.name_ends)
        if count > len(self._powers[0]):
            self._powers = _powers(2 * count, _ROOT), _powers(2 * count, _ROOT_INVERSE)
        content, begins = tokens.content, ends - tokens.name_gaps + 1
        # A name of one byte brings a separator along; only that before a chunk's very first is another one.
        traits = content[ends - 1].astype(np.uint32)
        for places in (ends - 2, begins, begins + 1):
            traits <<= np.uint32(8)
            traits |= content[places]
        traits *= np.uint32(_MIX)
        traits += tokens.name_gaps.astype(np.uint32)
        traits *= self._powers[0][:count]
        sums = np.zeros(count + 1, np.uint32)
        np.cumsum(traits, out=sums[1:])
        first = tokens.row_pairs[:-1]
        hashes: NDArray[np.uint32] = (sums[tokens.row_pairs[1:]] - sums[first]) * self._powers[1][first]
        return hashes

    def _with_odd(self, regular: PropertyColumns, parsed: list[dict[str, str]], before: Index) -> PropertyColumns:
        """Rows that went through the exact parser, put back among the others."""
        singles = {name: pa.array([row.get(name) for row in parsed], pa.string()) for name in self._names}
        named = {name: spliced(regular.named[name], single, before) for name, single in singles.items()}
        table = regular.map
        if table is not None:
            table = spliced(table, pa.array([list(row.items()) for row in parsed], PROPERTIES_TYPE), before)
        return PropertyColumns(table, named)


def _powers(count: int, root: int) -> NDArray[np.uint32]:
    powers = np.full(count, root, np.uint32)
    powers[0] = 1
    np.cumprod(powers, out=powers)
    return powers
