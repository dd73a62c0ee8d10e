"""The properties of many records as an Arrow map, and single properties as columns: cut once, built on request.

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

from native_reader.columns.strings import content_of, offsets_of, replaced, without
from native_reader.columns.tokens import Fields, Tokens, tokens_of
from native_reader.layout.properties import parse
from native_reader.layout.record import Bytes, Index, Mask
from native_reader.tuning import TUNING


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
    def of(text: bytes, gaps: bytes, wanted: Sequence[bytes]) -> Shape:
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


class PropertyReader:
    """Cuts properties chunk by chunk, and remembers the shapes it has seen. `names`: the single properties needed."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._wanted = [name.encode(errors="surrogatepass") for name in self._names]
        self.forget()

    def forget(self) -> None:
        """Forget all shapes."""
        self.shapes: list[Shape] = []
        """The shapes seen so far."""
        self._learned = 0
        self._latest = 0
        self._known: dict[tuple[bytes, bytes], int] = {}
        self._repeats = np.zeros(0, np.bool_)
        self._places = np.zeros((len(self._names), 0), np.intp)

    def _add(self, new: list[Shape]) -> None:
        """Append new shapes to the arrays that are indexed by shape."""
        places = np.array([shape.places for shape in new], np.intp).reshape(len(new), len(self._names)).T
        self._repeats = np.concatenate([self._repeats, [shape.repeats for shape in new]])
        self._places = np.concatenate([self._places, places], axis=1)

    def read(self, u8: Bytes, arrow: pa.Buffer, starts: Index, sizes: Index) -> PropertyColumns:
        """Cut the properties fields at `starts`, which ascend. The buffer must have at least one byte after each field."""
        return self._read(Fields.of(u8, arrow, starts, sizes), None)

    def _read(self, fields: Fields, odd: Mask | None) -> PropertyColumns:
        """`odd`: the non-empty fields that are known to need the exact parser."""
        tokens, odd = tokens_of(fields, odd)
        names = tokens.keys()
        shapes = self._shapes_of(tokens, names)
        is_odd = np.zeros(len(fields.filled), np.bool_) if odd is None else odd
        unclear = None if tokens.empty is None else self._empty_repeats(tokens.empty, tokens.row_pairs, shapes)
        if unclear is not None:
            is_odd[np.flatnonzero(~is_odd)[unclear]] = True
            return self._read(fields, is_odd)
        odd_rows = fields.filled[is_odd]
        field_of = np.full(len(fields.sizes), -1)
        field_of[fields.filled[~is_odd]] = np.arange(len(shapes))
        cut = _Cut(tokens, names, shapes, self.shapes, dict(zip(self._names, self._places, strict=True)), self._repeats)
        return PropertyColumns(cut, field_of, odd_rows, [parse(fields.field(row)) for row in odd_rows.tolist()])

    def _empty_repeats(self, empty: Mask, row_pairs: NDArray[np.int32], shapes: Index) -> Mask | None:
        """Rows with both an empty value and a repeated name; None if there are none. The exact parser decides which value counts."""
        rows = np.searchsorted(row_pairs, np.flatnonzero(empty), "right") - 1
        both = np.zeros(len(shapes), np.bool_)
        both[rows] = self._repeats[shapes[rows]]
        return both if both.any() else None

    def _shapes_of(self, tokens: Tokens, keys: pa.Array) -> Index:
        """The shape of each row, identified by its names joined together and by their lengths."""
        rows, ends, content = len(tokens.row_pairs) - 1, offsets_of(keys), content_of(keys)
        if self.shapes and self._all_alike(tokens, content, self._latest):
            return np.full(rows, self._latest, np.intp)
        if len(self.shapes) > TUNING.most_shapes or self._learned > TUNING.most_learned:
            self.forget()
        texts, names = _numbered(ends[tokens.row_pairs], keys.buffers()[2])
        sizes, gaps = _numbered(4 * tokens.row_pairs, pa.py_buffer(tokens.name_gaps.astype(np.int32)))
        both = pa.array(texts.astype(np.int64) * len(gaps) + sizes).dictionary_encode()
        known = len(self.shapes)
        ids = [self._shape(names[pair // len(gaps)], gaps[pair % len(gaps)]) for pair in both.dictionary.to_pylist()]
        if len(self.shapes) > known:
            self._add(self.shapes[known:])
        self._latest = ids[-1] if ids else 0
        shapes: Index = np.array(ids, np.intp)[both.indices.to_numpy()]
        return shapes

    def _all_alike(self, tokens: Tokens, content: Bytes, shape: int) -> bool:
        """Whether every row has this one shape. Cheaper than finding the shape of each row."""
        gaps, text = np.frombuffer(self.shapes[shape].gaps, np.int32), np.frombuffer(self.shapes[shape].text, np.uint8)
        rows = len(tokens.row_pairs) - 1
        if not rows or not len(gaps) or len(tokens.name_gaps) != rows * len(gaps) or len(content) != rows * len(text):
            return False
        alike = bool((tokens.name_gaps.reshape(rows, -1) == gaps).all() and (content.reshape(rows, -1) == text).all())
        return alike and bool((tokens.row_pairs[1:] - tokens.row_pairs[:-1] == len(gaps)).all())

    def _shape(self, text: bytes, gaps: bytes) -> int:
        """The number of the shape with these names; adds the shape if it is new."""
        known = self._known.get((text, gaps))
        if known is None:
            known = self._known[text, gaps] = len(self.shapes)
            self.shapes.append(Shape.of(text, gaps, self._wanted))
            self._learned += len(text) + len(gaps)
        return known


def _numbered(ends: NDArray[np.int32], content: pa.Buffer) -> tuple[NDArray[np.int32], list[bytes]]:
    """A number for each value, and the distinct values in the order of their numbers."""
    encoded = pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, pa.py_buffer(ends), content]).dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
