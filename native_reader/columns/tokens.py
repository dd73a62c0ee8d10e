"""Names and values of the properties of many records at once: their positions, and which rows are odd.

A *regular* field is `name 1 value 2 name 1 value`, with or without a 2 at the end, and has no empty name.
Regular fields are handled all at once; odd ones go to the exact parser.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.columns.strings import content_of, decoded, offsets_of, short
from native_reader.layout.properties import CRC_NAME, CRC_SIZE, NAME_END, VALUE_END
from native_reader.layout.record import Bytes, Index, Mask, unsigned_at

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
        return self.column.take(pa.array(np.arange(0, 4 * len(self.name_ends), 4)))

    def values(self) -> pa.Array:
        """All values."""
        return self.column.take(pa.array(np.arange(2, 4 * len(self.name_ends), 4)))


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
