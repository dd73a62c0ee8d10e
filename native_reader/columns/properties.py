"""The properties of many records as an Arrow map, and single properties as columns: cut once, built on request.

Property names repeat: a store has only a few *shapes* (sequences of names), though a chunk can mix thirty of them.
So all names of a row are looked up at once. Facts about a shape (the place of TAGS, no repeated name) are
computed once, not for each row.
Irregular rows go through the exact parser one by one, without slowing the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.columns.strings import PaddedBuffer, content_of, offsets_of, replaced, without
from native_reader.columns.tokens import Fields, Tokens, tokens_of
from native_reader.layout.properties import parse
from native_reader.layout.record import Index, Mask


@dataclass(frozen=True, slots=True)
class Shape:
    """The names in one properties field, in order. Most fields share a few shapes."""

    text: bytes
    """The names, joined together."""
    gaps: bytes
    """The length of each name plus one, as int32."""
    kept: bytes
    """One byte per name: 0 if the same name follows later in the row, else 1. The last of equal names counts."""
    repeats: bool
    """Whether any name occurs twice."""
    places: tuple[int, ...]
    """The position of each requested name, -1 if absent."""

    @staticmethod
    @lru_cache(256)  # a store has fewer; and few enough that forged names, of 64 KiB at most, do not fill the memory
    def of(text: bytes, gaps: bytes, wanted: tuple[bytes, ...]) -> Shape:
        """The shape of these names; `wanted`: the requested ones."""
        ends = np.cumsum(np.frombuffer(gaps, np.int32) - 1).tolist()
        names = [text[begin:end] for begin, end in pairwise([0, *ends])]
        last = {name: place for place, name in enumerate(names)}
        kept = np.zeros(len(names), np.uint8)
        kept[list(last.values())] = 1
        return Shape(text, gaps, kept.tobytes(), len(last) < len(names), tuple(last.get(name, -1) for name in wanted))


@dataclass(frozen=True, slots=True)
class _Cut:
    """The tokens of the regular fields of a chunk, the shape of each field, and what is known of each shape."""

    tokens: Tokens
    names: pa.Array
    shapes: Index
    known: list[Shape]
    places: dict[str, Index]
    repeats: Mask

    def dropped(self) -> Index:
        """The pairs that do not count: a later pair has the same name, or the value is empty."""
        empty = np.zeros(0, np.intp) if self.tokens.empty is None else np.flatnonzero(self.tokens.empty)
        if not self.repeats[self.shapes].any():
            return empty
        used = np.flatnonzero(np.bincount(self.shapes))
        kept_of_used = pa.array([self.known[shape].kept for shape in used.tolist()], pa.binary())
        kept = content_of(kept_of_used.take(pa.array(np.searchsorted(used, self.shapes))))
        return np.union1d(empty, np.flatnonzero(kept == 0))


class PropertyColumns:
    """The properties of some rows, cut once. Builds the map of all, or a column of one name, on request."""

    def __init__(self, cut: _Cut, field_of: Index, odd: Index, parsed: list[dict[str, str]]) -> None:
        """`field_of`: the regular field of each row, or -1. `odd`: the rows that went through the exact parser."""
        self._cut, self._field_of, self._odd, self._parsed = cut, field_of, odd, parsed
        self._filled = np.flatnonzero(field_of >= 0)
        self._fields = field_of[self._filled]

    def where(self, chosen: Index) -> PropertyColumns:
        """Only these rows, which ascend."""
        places = np.searchsorted(chosen, self._odd)
        kept = np.flatnonzero(np.append(chosen, -1)[places] == self._odd)
        return PropertyColumns(self._cut, self._field_of[chosen], places[kept], [self._parsed[each] for each in kept.tolist()])

    def single(self, name: str) -> pa.Array:
        """The values of one property; null where absent."""
        tokens, count = self._cut.tokens, len(self._field_of)
        places = self._cut.places[name][self._cut.shapes[self._fields]]
        pairs = tokens.row_pairs[self._fields] + places
        absent = places < 0
        if tokens.empty is not None:
            absent |= tokens.empty[np.where(absent, 0, pairs)]
        token = 4 * pairs + 2
        if len(self._filled) == count and not absent.any():
            return tokens.column.take(pa.array(token))
        at, null = np.zeros(count, np.int64), np.ones(count, np.bool_)
        at[self._filled], null[self._filled] = token, absent
        return self._with_odd(tokens.column.take(pa.array(at, mask=null)), [row.get(name) for row in self._parsed])

    def map(self) -> pa.Array:
        """All properties of each row."""
        tokens, names, dropped = self._cut.tokens, self._cut.names, self._cut.dropped()
        begins, ends = tokens.row_pairs[self._fields], tokens.row_pairs[self._fields + 1]
        lengths = ends - begins
        if len(self._fields) == len(self._cut.shapes):
            keys, values = (without(each, dropped) for each in (names, tokens.values()))
        else:
            pairs = np.repeat(begins - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
            kept = np.ones(len(names), np.bool_)
            kept[dropped] = False
            pairs = pairs[kept[pairs]]
            keys, values = names.take(pa.array(pairs)), tokens.column.take(pa.array(4 * pairs + 2))
        if len(dropped):
            lengths -= (np.searchsorted(dropped, ends) - np.searchsorted(dropped, begins)).astype(lengths.dtype)
        counts = np.zeros(len(self._field_of) + 1, np.int32)
        counts[self._filled + 1] = lengths
        regular = pa.MapArray.from_arrays(pa.array(np.cumsum(counts, dtype=np.int32)), keys, values)
        return self._with_odd(regular, [list(row.items()) for row in self._parsed])

    def _with_odd(self, regular: pa.Array, parsed: Sequence[object]) -> pa.Array:
        return replaced(regular, self._odd, pa.array(parsed, regular.type)) if parsed else regular


def cut_properties(source: PaddedBuffer, starts: Index, sizes: Index, names: Sequence[str]) -> PropertyColumns:
    """The properties fields at `starts`, which ascend, cut. `names`: the single properties needed.

    The buffer must have at least one byte after each field.
    """
    return _cut(Fields.of(*source, starts, sizes), None, names)


def _cut(fields: Fields, odd: Mask | None, names: Sequence[str]) -> PropertyColumns:
    """`odd`: the non-empty fields that are known to need the exact parser."""
    tokens, odd = tokens_of(fields, odd)
    keys = tokens.keys()
    shapes, known = _shapes_of(tokens, keys, tuple(name.encode(errors="surrogatepass") for name in names))
    repeats = np.array([shape.repeats for shape in known], np.bool_)
    is_odd = np.zeros(len(fields.filled), np.bool_) if odd is None else odd
    unclear = None if tokens.empty is None else _empty_repeats(tokens.empty, tokens.row_pairs, repeats[shapes])
    if unclear is not None:
        is_odd[np.flatnonzero(~is_odd)[unclear]] = True
        return _cut(fields, is_odd, names)
    odd_rows = fields.filled[is_odd]
    field_of = np.full(len(fields.sizes), -1)
    field_of[fields.filled[~is_odd]] = np.arange(len(shapes))
    places = np.array([shape.places for shape in known], np.intp).reshape(len(known), len(names)).T
    cut = _Cut(tokens, keys, shapes, known, dict(zip(names, places, strict=True)), repeats)
    return PropertyColumns(cut, field_of, odd_rows, [parse(fields.field(row)) for row in odd_rows.tolist()])


def _empty_repeats(empty: Mask, row_pairs: NDArray[np.int32], repeats: Mask) -> Mask | None:
    """Rows with both an empty value and a repeated name; None if there are none. The exact parser decides which value counts."""
    rows = np.searchsorted(row_pairs, np.flatnonzero(empty), "right") - 1
    both = np.zeros(len(repeats), np.bool_)
    both[rows] = repeats[rows]
    return both if both.any() else None


def _shapes_of(tokens: Tokens, keys: pa.Array, wanted: tuple[bytes, ...]) -> tuple[Index, list[Shape]]:
    """The shape of each row, identified by its names joined together and by their lengths; and the distinct shapes."""
    texts, names = _numbered(offsets_of(keys)[tokens.row_pairs], keys.buffers()[2])
    sizes, gaps = _numbered(4 * tokens.row_pairs, pa.py_buffer(tokens.name_gaps.astype(np.int32)))
    both = pa.array(texts.astype(np.int64) * len(gaps) + sizes).dictionary_encode()
    pairs = both.dictionary.to_pylist()  # a loop, because there are few shapes
    return both.indices.to_numpy(), [Shape.of(names[pair // len(gaps)], gaps[pair % len(gaps)], wanted) for pair in pairs]


def _numbered(ends: NDArray[np.int32], content: pa.Buffer) -> tuple[NDArray[np.int32], list[bytes]]:
    """A number for each value, and the distinct values in the order of their numbers."""
    encoded = pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, pa.py_buffer(ends), content]).dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
