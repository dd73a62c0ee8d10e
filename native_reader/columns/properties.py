"""The properties of many records as an Arrow map, and single properties as columns: cut once, built on request.

Property names repeat: a store has only a few *shapes* (sequences of names), though a chunk can mix thirty of them.
So all names of a row are looked up at once. Facts about a shape (the place of TAGS, no repeated name) are
computed once, not for each row.
Irregular rows go through the exact parser one by one, without slowing the others.

A *regular* field is `name 1 value 2 name 1 value`, with or without a 2 at the end, and has no empty name. Regular fields are handled all
at once; odd ones go to the exact parser.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.arrow import array, numpy_of
from native_reader.columns.strings import PaddedBuffer, content_of, decoded, offsets_of, replaced, short, without
from native_reader.layout.arrays import place_among
from native_reader.layout.properties import CRC_NAME, CRC_SIZE, NAME_END, VALUE_END, parse
from native_reader.layout.record import Bytes, Index, Mask, unsigned_at


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
        kept_of_used = array([self.known[shape].kept for shape in used.tolist()], pa.binary())
        kept = content_of(kept_of_used.take(array(np.searchsorted(used, self.shapes))))
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
        places = place_among(self._odd, chosen)
        kept = np.flatnonzero(places >= 0)
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
            return tokens.column.take(array(token))
        at, null = np.zeros(count, np.int64), np.ones(count, np.bool_)
        at[self._filled], null[self._filled] = token, absent
        return self._with_odd(tokens.column.take(array(at, mask=null)), [row.get(name) for row in self._parsed])

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
            keys, values = names.take(array(pairs)), tokens.column.take(array(4 * pairs + 2))
        if len(dropped):
            lengths -= (np.searchsorted(dropped, ends) - np.searchsorted(dropped, begins)).astype(lengths.dtype)
        counts = np.zeros(len(self._field_of) + 1, np.int32)
        counts[self._filled + 1] = lengths
        regular = pa.MapArray.from_arrays(array(np.cumsum(counts, dtype=np.int32)), keys, values)
        return self._with_odd(regular, [list(row.items()) for row in self._parsed])

    def _with_odd(self, regular: pa.Array, parsed: Sequence[object]) -> pa.Array:
        return replaced(regular, self._odd, array(parsed, regular.type)) if parsed else regular


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
    both = array(texts.astype(np.int64) * len(gaps) + sizes).dictionary_encode()
    pairs = both.dictionary.to_pylist()  # a loop, because there are few shapes
    return numpy_of(both.indices), [Shape.of(names[pair // len(gaps)], gaps[pair % len(gaps)], wanted) for pair in pairs]


def _numbered(ends: NDArray[np.int32], content: pa.Buffer) -> tuple[NDArray[np.int32], list[bytes]]:
    """A number for each value, and the distinct values in the order of their numbers."""
    encoded = pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, pa.py_buffer(ends), content]).dictionary_encode()
    return numpy_of(encoded.indices), encoded.dictionary.to_pylist()


_CRC_WORD = int.from_bytes(CRC_NAME, "little")


@dataclass(frozen=True, slots=True)
class Tokens:
    """All names and values of regular rows. Token 4i is name i, token 4i + 2 its value; separators are between them."""

    column: pa.Array
    content: Bytes
    name_ends: Index
    name_gaps: Index
    """The length of each name plus one."""
    empty: Mask | None
    """Which values are empty, so that their pairs do not count; None if none is."""
    row_pairs: NDArray[np.int32]
    """Row r holds the pairs from row_pairs[r] to row_pairs[r + 1]."""

    def keys(self) -> pa.Array:
        """All names."""
        return self.column.take(array(np.arange(0, 4 * len(self.name_ends), 4)))

    def values(self) -> pa.Array:
        """All values."""
        return self.column.take(array(np.arange(2, 4 * len(self.name_ends), 4)))


@dataclass(frozen=True, slots=True)
class Fields:
    """The properties fields of all rows. `copies`: the non-empty ones as UTF-8, each with a final 0 that we write."""

    u8: Bytes
    starts: Index
    sizes: Index
    filled: Index
    copies: pa.Array

    @staticmethod
    def of(u8: Bytes, arrow: pa.Buffer, starts: Index, sizes: Index) -> Fields:
        sizes = sizes - CRC_SIZE * _crc_trailers(u8, starts, sizes)
        filled = np.flatnonzero(sizes)
        begins, lengths = (starts, sizes) if len(filled) == len(sizes) else (starts[filled], sizes[filled])
        open_ended = u8[begins + lengths - 1] != VALUE_END
        copies = short(arrow, begins, lengths + open_ended, pa.binary())
        # Safe to write: Arrow has just allocated these bytes, and nothing else refers to them.
        content_of(copies)[offsets_of(copies)[1:] - 1] = 0
        if not _is_utf8(copies):
            copies = decoded(copies)
        return Fields(u8, starts, sizes, filled, copies)

    def field(self, row: int) -> bytes:
        """The field of one row as stored."""
        return self.u8[self.starts[row] : self.starts[row] + self.sizes[row]].tobytes()


@dataclass(frozen=True, slots=True)
class _Separators:
    """Every separator in the copies: its position, its value, and the distance from the previous one."""

    places: Index
    signs: Bytes
    gaps: Index

    @staticmethod
    def of(content: Bytes) -> _Separators:
        places = np.flatnonzero(content <= VALUE_END)
        gaps = np.empty(len(places), np.intp)
        gaps[:1], gaps[1:] = places[:1] + 1, places[1:] - places[:-1]
        return _Separators(places, content[places], gaps)

    def last_pairs(self, rows: int) -> Index | None:
        """The last pair of marks of each row; None if any row is not `name 1 value 2 name 1 value 0` or has an empty name."""
        if len(self.signs) % 2 or (len(self.gaps) and int(self.gaps[0::2].min()) == 1):
            return None
        # Compare two marks as one number: after a name and after its value. The last value of a row ends in 0.
        pairs = self.signs.view("<u2")
        last = np.flatnonzero(pairs == NAME_END)
        between = np.count_nonzero(pairs == NAME_END + (VALUE_END << 8))
        return last if len(last) == rows and len(last) + between == len(pairs) else None

    def of_rows(self, ends: NDArray[np.int32]) -> tuple[Index, Index]:
        """The first mark of each row, and how many marks it has."""
        zeros = np.flatnonzero(self.signs == 0)
        if len(zeros) == len(ends) - 1:  # one per row, at its end: no field contains a 0 itself
            first = np.concatenate([np.zeros(1, np.intp), zeros[:-1] + 1])
            return first, zeros + 1 - first
        first = np.searchsorted(self.places, ends[:-1])
        return first, np.searchsorted(self.places, ends[1:]) - first

    def odd(self, first: Index, counts: Index) -> Mask:
        """Rows whose marks are not those of a regular field."""
        odd: Mask = counts % 2 == 1
        place = np.arange(len(self.signs)) - np.repeat(first, counts)
        of_name = place % 2 == 0
        wrong = (self.signs != np.where(of_name, NAME_END, VALUE_END)) | (of_name & (self.gaps == 1))
        closing = first + counts - 1
        wrong[closing] = self.signs[closing] != 0
        odd[np.searchsorted(first, np.flatnonzero(wrong), "right") - 1] = True
        return odd


def tokens_of(fields: Fields, known_odd: Mask | None) -> tuple[Tokens, Mask | None]:
    """Names and values of all regular rows, and the mask of odd rows (None if none is odd)."""
    content, ends = content_of(fields.copies), offsets_of(fields.copies)
    marks, odd = _Separators.of(content), known_odd
    last = marks.last_pairs(len(fields.copies))
    places, gaps = marks.places, marks.gaps
    if odd is not None or last is None:
        first, counts = marks.of_rows(ends)
        odd = marks.odd(first, counts) if odd is None else odd | marks.odd(first, counts)
        regular = np.repeat(~odd, counts)
        places, gaps = places[regular], gaps[regular]
        last = np.cumsum(counts[~odd] >> 1) - 1
    names, values = places[0::2], places[1::2]
    tiles = np.zeros(2 * len(places) + 1, np.int32)
    np.subtract(names + 1, gaps[0::2], out=tiles[0:-1:4], casting="unsafe")
    tiles[1::4] = names
    np.add(names, 1, out=tiles[2::4], casting="unsafe")
    tiles[3::4] = values
    tiles[-1] = values[-1] if len(values) else 0
    column = pa.StringArray.from_buffers(2 * len(places), pa.py_buffer(tiles), fields.copies.buffers()[2])
    row_pairs = np.zeros(len(last) + 1, np.int32)
    row_pairs[1:] = last + 1
    empty = gaps[1::2] == 1
    return Tokens(column, content, names, gaps[0::2], empty if empty.any() else None, row_pairs), odd


def _crc_trailers(u8: Bytes, starts: Index, sizes: Index) -> Index:
    """1 for each field that ends in the broker's checksum, else 0."""
    at = starts + sizes - CRC_SIZE
    able = (sizes >= CRC_SIZE) & (u8[starts + sizes - 1] == VALUE_END)
    rows = np.flatnonzero(able)
    if len(rows):
        words = unsigned_at(u8, 8)
        rows = rows[(words[at[rows]] == _CRC_WORD) & (u8[at[rows] + len(CRC_NAME)] == NAME_END)]
    trailers = np.zeros(len(starts), np.intp)
    if len(rows):
        digits = u8[at[rows][:, None] + np.arange(len(CRC_NAME) + 1, CRC_SIZE - 1)]
        trailers[rows] = ((digits >= 0x30) & (digits <= 0x39)).all(axis=1)
    return trailers


def _is_utf8(fields: pa.Array) -> bool:
    """Whether all fields are UTF-8. Rows and names end in ASCII, so one check of the joined bytes is enough."""
    content = content_of(fields)
    if not len(content) or int(content.max()) < 0x80:
        return True
    whole = pa.py_buffer(np.array([0, len(content)], np.int32))
    try:
        pa.Array.from_buffers(pa.string(), 1, [None, whole, fields.buffers()[2]]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
