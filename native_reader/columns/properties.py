"""The properties of many records as an Arrow map, and single properties as columns.

Property names repeat: a store has only a few *shapes* (sequences of names), though a chunk can mix thirty of them.
So all names of a row are looked up at once. Facts about a shape (the place of TAGS, no repeated name) are
computed once, not for each row.
Irregular rows go through the exact parser one by one, without slowing the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.columns.spec import PROPERTIES_TYPE
from native_reader.columns.strings import content_of, offsets_of, spliced, without
from native_reader.columns.tokens import Fields, Tokens, tokens_of
from native_reader.layout.properties import parse
from native_reader.layout.record import Bytes, Index, Mask

_MOST_SHAPES = 4096
_MOST_LEARNED = 4 << 20
"""Limits on the remembered shapes and on their bytes. Above either limit, all shapes are forgotten."""


@dataclass(frozen=True, slots=True)
class PropertyColumns:
    """The requested properties: the map, if requested, and one column for each single name."""

    map: pa.Array | None
    named: dict[str, pa.Array]


@dataclass(frozen=True, slots=True)
class _Shape:
    text: bytes
    gaps: bytes
    """The length of each name plus one, as int32."""
    kept: bytes
    """One byte per name: 0 if the same name follows later in the row, else 1. The last of equal names counts."""
    repeats: bool
    """Whether any name occurs twice."""
    places: tuple[int, ...]
    """The position of each requested name, -1 if absent."""

    @staticmethod
    def of(text: bytes, gaps: bytes, wanted: Sequence[bytes]) -> _Shape:
        ends = np.cumsum(np.frombuffer(gaps, np.int32) - 1).tolist()
        names = [text[begin:end] for begin, end in pairwise([0, *ends])]
        last = {name: place for place, name in enumerate(names)}
        kept = np.zeros(len(names), np.uint8)
        kept[list(last.values())] = 1
        return _Shape(text, gaps, kept.tobytes(), len(last) < len(names), tuple(last.get(name, -1) for name in wanted))


class PropertyReader:
    """Reads properties chunk by chunk, and remembers the shapes it has seen."""

    def __init__(self, names: Sequence[str], want_map: bool) -> None:
        self._names, self._want_map = tuple(names), want_map
        self._wanted = [name.encode(errors="surrogatepass") for name in self._names]
        self._forget()

    def _forget(self) -> None:
        self._shapes: list[_Shape] = []
        self._learned = 0
        self._latest = 0
        self._known: dict[tuple[bytes, bytes], int] = {}
        self._repeats = np.zeros(0, np.bool_)
        self._places = np.zeros((len(self._names), 0), np.intp)

    def _add(self, new: list[_Shape]) -> None:
        """Append new shapes to the arrays that are indexed by shape."""
        places = np.array([shape.places for shape in new], np.intp).reshape(len(new), len(self._names)).T
        self._repeats = np.concatenate([self._repeats, [shape.repeats for shape in new]])
        self._places = np.concatenate([self._places, places], axis=1)

    def read(self, u8: Bytes, arrow: pa.Buffer, starts: Index, sizes: Index) -> PropertyColumns:
        """Read the properties fields at `starts`, which ascend. The buffer must have at least one byte after each field."""
        return self._read(Fields.of(u8, arrow, starts, sizes), None)

    def _read(self, fields: Fields, odd: Mask | None) -> PropertyColumns:
        """`odd`: the non-empty fields that are known to need the exact parser."""
        tokens, odd = tokens_of(fields, odd)
        keys = tokens.keys()
        shapes = self._shapes_of(tokens, keys)
        unclear = None if tokens.empty is None else self._empty_repeats(tokens, shapes)
        if unclear is not None:
            found = np.zeros(len(fields.filled), np.bool_) if odd is None else odd
            found[np.flatnonzero(~found)[unclear]] = True
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
        """Rows with both an empty value and a repeated name; None if there are none. The exact parser decides which value counts."""
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
        return PropertyColumns(table, self._singles(tokens, shapes, filled, rows))

    @staticmethod
    def _empty_pairs(tokens: Tokens) -> Index:
        return np.zeros(0, np.intp) if tokens.empty is None else np.flatnonzero(tokens.empty)

    def _gone(self, tokens: Tokens, shapes: Index) -> Index:
        """The pairs to drop: a later pair has the same name, or the value is empty."""
        gone = self._empty_pairs(tokens)
        if not self._repeats[shapes].any():
            return gone
        used = np.flatnonzero(np.bincount(shapes))
        kept_of_used = pa.array([self._shapes[shape].kept for shape in used.tolist()], pa.binary())
        kept = content_of(kept_of_used.take(pa.array(np.searchsorted(used, shapes))))
        return np.union1d(gone, np.flatnonzero(kept == 0))

    def _singles(self, tokens: Tokens, shapes: Index, filled: Index, rows: int) -> dict[str, pa.Array]:
        return {name: self._single(places[shapes], tokens, filled, rows) for name, places in zip(self._names, self._places, strict=True)}

    @staticmethod
    def _single(places: Index, tokens: Tokens, filled: Index, rows: int) -> pa.Array:
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

    def _shapes_of(self, tokens: Tokens, keys: pa.Array) -> Index:
        """The shape of each row, identified by its names joined together and by their lengths."""
        rows, ends, content = len(tokens.row_pairs) - 1, offsets_of(keys), content_of(keys)
        if self._shapes and self._all_alike(tokens, content, self._latest):
            return np.full(rows, self._latest, np.intp)
        if len(self._shapes) > _MOST_SHAPES or self._learned > _MOST_LEARNED:
            self._forget()
        texts, names = _numbered(ends[tokens.row_pairs], keys.buffers()[2])
        sizes, gaps = _numbered(4 * tokens.row_pairs, pa.py_buffer(tokens.name_gaps.astype(np.int32)))
        both = pa.array(texts.astype(np.int64) * len(gaps) + sizes).dictionary_encode()
        known = len(self._shapes)
        ids = [self._shape(names[pair // len(gaps)], gaps[pair % len(gaps)]) for pair in both.dictionary.to_pylist()]
        if len(self._shapes) > known:
            self._add(self._shapes[known:])
        self._latest = ids[-1] if ids else 0
        shapes: Index = np.array(ids, np.intp)[both.indices.to_numpy()]
        return shapes

    def _all_alike(self, tokens: Tokens, content: Bytes, shape: int) -> bool:
        """Whether every row has this one shape. Cheaper than finding the shape of each row."""
        gaps, text = np.frombuffer(self._shapes[shape].gaps, np.int32), np.frombuffer(self._shapes[shape].text, np.uint8)
        rows = len(tokens.row_pairs) - 1
        if not rows or not len(gaps) or len(tokens.name_gaps) != rows * len(gaps) or len(content) != rows * len(text):
            return False
        alike = bool((tokens.name_gaps.reshape(rows, -1) == gaps).all() and (content.reshape(rows, -1) == text).all())
        return alike and bool((tokens.row_pairs[1:] - tokens.row_pairs[:-1] == len(gaps)).all())

    def _shape(self, text: bytes, gaps: bytes) -> int:
        """The number of the shape with these names; adds the shape if it is new."""
        known = self._known.get((text, gaps))
        if known is None:
            known = self._known[text, gaps] = len(self._shapes)
            self._shapes.append(_Shape.of(text, gaps, self._wanted))
            self._learned += len(text) + len(gaps)
        return known

    def _with_odd(self, regular: PropertyColumns, parsed: list[dict[str, str]], before: Index) -> PropertyColumns:
        """Put the rows that went through the exact parser back among the others."""
        singles = {name: pa.array([row.get(name) for row in parsed], pa.string()) for name in self._names}
        named = {name: spliced(regular.named[name], single, before) for name, single in singles.items()}
        table = regular.map
        if table is not None:
            table = spliced(table, pa.array([list(row.items()) for row in parsed], PROPERTIES_TYPE), before)
        return PropertyColumns(table, named)


def _numbered(ends: NDArray[np.int32], content: pa.Buffer) -> tuple[NDArray[np.int32], list[bytes]]:
    """A number for each value, and the distinct values in the order of their numbers."""
    found = pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, pa.py_buffer(ends), content]).dictionary_encode()
    return found.indices.to_numpy(), found.dictionary.to_pylist()
