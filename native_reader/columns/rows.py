"""The rows of a chunk: the positions of the parts of each message, before any column is built, and their checksums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from native_reader import kernel
from native_reader.columns.strings import PaddedBuffer, Slices
from native_reader.layout.arrays import place_among
from native_reader.layout.bodies import decompress
from native_reader.layout.inner import Units, units_of
from native_reader.layout.properties import CRC_NAME, CRC_SIZE, crc_trailer
from native_reader.layout.record import COMPRESSED, INNER_BATCH, PADDING, Index, Mask, Records, at
from native_reader.tuning import TUNING

_ROW, _PROPERTIES_COST = 512, 8
"""Estimated memory of an unpacked row, and of a byte of its properties."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decompressed bodies: row `rows[i]` has `bytes[starts[i] : starts[i] + sizes[i]]`, or null if `sizes[i]` is -1."""

    source: PaddedBuffer
    rows: Index
    starts: Index
    sizes: Index

    @staticmethod
    def of(bodies: list[bytes | None], rows: list[int], first: int) -> Decoded:
        """`first`: the row at which the piece begins; the result numbers its rows from there."""
        sizes = np.array([-1 if body is None else len(body) for body in bodies], np.intp)
        ends = np.cumsum(np.maximum(sizes, 0))
        return Decoded(PaddedBuffer.of(*filter(None, bodies)), np.array(rows, np.intp) - first, ends - np.maximum(sizes, 0), sizes)

    def where(self, chosen: Index) -> Decoded:
        """The bodies of the chosen rows, which ascend."""
        places = place_among(self.rows, chosen)
        kept = np.flatnonzero(places >= 0)
        return Decoded(self.source, places[kept], self.starts[kept], self.sizes[kept])


@dataclass(frozen=True, slots=True)
class Rows:
    """Messages in order. `inner`: the place in an inner batch, -1 for other rows; None if no row is in a batch.

    `faults`: by reason of damage, the start positions of the records that have it and are kept.
    """

    source: PaddedBuffer
    records: Records
    inner: NDArray[np.int32] | None = None
    decoded: Decoded | None = None
    faults: Mapping[str, Index] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.records)

    def where(self, which: slice | Index | Mask) -> Rows:
        """Only these rows, in the same order."""
        decoded = None if self.decoded is None else self.decoded.where(np.arange(len(self))[which])
        return replace(self, records=self.records[which], inner=None if self.inner is None else self.inner[which], decoded=decoded)

    @property
    def is_inner(self) -> Mask | None:
        """Which rows are messages of inner batches; None if no row is."""
        return None if self.inner is None else self.inner >= 0

    def compressed(self) -> Index:
        """The rows with a compressed body. Messages of a compressed batch are already decompressed."""
        if not self.records.flags & COMPRESSED:
            return np.zeros(0, np.intp)
        flags = self.records.heads["sys_flag"] & COMPRESSED
        return np.flatnonzero(flags if self.inner is None else flags & (self.inner < 0))

    def bodies(self, name: str) -> Slices:
        """Positions of the bodies: as stored, or decompressed."""
        records, decoded = self.records, self.decoded
        slices = Slices([self.source], np.zeros(len(self), np.intp), records.body_at, records.body_size, np.zeros(len(self), np.bool_))
        if name == "stored_body" or decoded is None:
            return slices
        which, starts, sizes, null = slices.which, slices.starts.copy(), slices.sizes.copy(), slices.null
        which[decoded.rows], starts[decoded.rows], sizes[decoded.rows] = 1, decoded.starts, np.maximum(decoded.sizes, 0)
        null[decoded.rows] = decoded.sizes < 0
        return Slices([self.source, decoded.source], which, starts, sizes, null)

    def stored_body(self, row: int) -> memoryview:
        """The body of one row as stored."""
        start, size, _ = self.records.body(row)
        return self.source.u8.data[start : start + size]

    def with_bodies(self, at_most: int) -> Iterator[Rows]:
        """The same rows in pieces, with compressed bodies decompressed, unless they are already."""
        compressed = self.compressed()
        if self.decoded is not None or not len(compressed):
            yield self
            return
        records, content = self.records, self.source.u8.data
        begins, sizes = records.body_at[compressed].tolist(), records.body_size[compressed].tolist()
        flags = records.heads["sys_flag"][compressed].tolist()
        first, held, bodies, rows, most = 0, 0, list[bytes | None](), list[int](), TUNING.decompressed_at_once
        for row, begin, size, flag in zip(compressed.tolist(), begins, sizes, flags, strict=True):
            body = decompress(content[begin : begin + size], flag, at_most)
            if body and held and held + len(body) > most:
                yield replace(self.where(slice(first, row)), decoded=Decoded.of(bodies, rows, first))
                first, held, bodies, rows = row, 0, [], []
            held += len(body or b"")
            bodies.append(body)
            rows.append(row)
        yield replace(self.where(slice(first, None)), decoded=Decoded.of(bodies, rows, first))


@dataclass(frozen=True, slots=True)
class _InnerBatch:
    """An inner batch: its row, the starts of its units in the body, and the body if it was decompressed."""

    row: int
    units: Index
    body: bytes | None


def by_record(starts: Index) -> tuple[Index, Index]:
    """The first row of each record, and the record number of each row. Messages of one inner batch share a record."""
    is_first = np.diff(starts, prepend=-1) != 0
    return np.flatnonzero(is_first), np.cumsum(is_first) - 1


def unwrapped(rows: Rows, at_most: int) -> Iterator[Rows]:
    """The same rows in pieces, with each inner batch replaced by its messages. A batch whose units do not add up stays one row.

    The size of a piece is bounded for any input: batches are decompressed on demand, and large pieces are cut.
    """
    if not rows.records.flags & INNER_BATCH:
        yield rows
        return
    most = (TUNING.unpacked_at_once - len(rows.source.u8) * _PROPERTIES_COST) // (_ROW + rows.records.longest_topic)  # as in `_cuts`
    compiled = kernel.unwrapped(rows.records, rows.source.u8, most)
    if compiled is not None:
        yield Rows(rows.source, *compiled, faults=rows.faults)
        return
    first, held, batches = 0, 0, list[_InnerBatch]()
    for row in rows.records.with_flag(INNER_BATCH).tolist():
        if held >= TUNING.decompressed_at_once:
            yield from _with_messages(rows, first, row, batches)
            first, held, batches = row, 0, []
        batch = _unpacked(rows, row, at_most)
        if batch is not None:
            held += len(batch.body or b"")
            batches.append(batch)
    yield from _with_messages(rows, first, len(rows), batches)


def number_of_messages(rows: Rows, at_most: int) -> int:
    """How many rows `unwrapped` returns: for counts, which need no more."""
    number = len(rows)
    for row in rows.records.with_flag(INNER_BATCH).tolist():
        batch = _unpacked(rows, row, at_most)
        number += 0 if batch is None else len(batch.units) - 1
    return number


def _unpacked(rows: Rows, row: int, at_most: int) -> _InnerBatch | None:
    stored, (_, _, flags) = rows.stored_body(row), rows.records.body(row)
    body = decompress(stored, flags, at_most) if flags & COMPRESSED else None
    units = units_of(np.frombuffer(stored if body is None and not flags & COMPRESSED else body or b"", np.uint8))
    return None if units is None else _InnerBatch(row, units, body)


def _with_messages(rows: Rows, first: int, stop: int, batches: list[_InnerBatch]) -> Iterator[Rows]:
    """Rows `[first, stop)` in pieces, with these batches replaced by their messages."""
    if not batches:
        yield rows if stop - first == len(rows) else rows.where(slice(first, stop))
        return
    source, begins = _with_bodies_appended(rows.source, [batch.body for batch in batches])
    counts = np.ones(stop - first, np.intp)
    counts[[batch.row - first for batch in batches]] = [len(batch.units) for batch in batches]
    ends = np.cumsum(counts)
    which = np.repeat(np.arange(first, stop), counts)
    units, inner = np.full(len(which), -1), np.full(len(which), -1, np.int32)
    for batch, begin in zip(batches, begins, strict=True):
        count, end = len(batch.units), int(ends[batch.row - first])
        units[end - count : end] = batch.units + (rows.records.body(batch.row)[0] if begin is None else begin)
        inner[end - count : end] = np.arange(count)
    for cut in _cuts(rows, source, which, units):
        yield _messages(rows, source, which[cut], units[cut], inner[cut])


def _cuts(rows: Rows, source: PaddedBuffer, which: Index, units: Index) -> Iterator[slice]:
    """Slices that bound the memory for values repeated in each row and for reading properties."""
    at_most = len(which) * (_ROW + rows.records.longest_topic) + len(source.u8) * _PROPERTIES_COST
    if at_most <= TUNING.unpacked_at_once:
        yield slice(None)
        return
    costs = _ROW + rows.records.topic_size[which]
    messages = np.flatnonzero(units >= 0)
    costs[messages] += _PROPERTIES_COST * Units.at(source.u8, units[messages]).properties_size
    pieces = np.cumsum(costs) // TUNING.unpacked_at_once
    begins = np.flatnonzero(np.diff(pieces, prepend=-1)).tolist()
    yield from map(slice, begins, [*begins[1:], len(which)])


def _messages(rows: Rows, source: PaddedBuffer, which: Index, units: Index, inner: NDArray[np.int32]) -> Rows:
    """Records, and messages of inner batches with their own fields in place of the record's."""
    compiled = kernel.messages(rows.records, source.u8, which, units, inner)
    if compiled is not None:
        return Rows(source, compiled, inner, faults=rows.faults)
    records = rows.records.copied(which)
    is_inner = np.flatnonzero(inner >= 0)
    flags, *parts = Units.at(source.u8, units[is_inner])
    records.heads["flag"][is_inner] = flags
    records.heads["queue_offset"][is_inner] += inner[is_inner]
    records.heads["body_size"][is_inner] = parts[1]
    for own, part in zip((records.body_at, records.body_size, records.properties_at, records.properties_size), parts, strict=True):
        own[is_inner] = part
    return Rows(source, records, inner, faults=rows.faults)


def _with_bodies_appended(source: PaddedBuffer, bodies: list[bytes | None]) -> tuple[PaddedBuffer, list[int | None]]:
    """Append the decompressed bodies to the source; also returns where each begins."""
    decompressed = [body for body in bodies if body is not None]
    if not decompressed:
        return source, [None] * len(bodies)
    places, end = [], len(source.u8) - PADDING
    for body in bodies:
        places.append(None if body is None else end)
        end += len(body or b"")
    return PaddedBuffer.of(source.u8[:-PADDING].data, *decompressed), places


try:  # the extra `fast`: three to five times as fast as zlib
    from isal.isal_zlib import crc32
except ImportError:
    from zlib import crc32

_POSITIVE = 0x7FFFFFFF
"""RocketMQ clears the highest bit of a CRC-32."""
_NAME = int.from_bytes(CRC_NAME, "little")


def wrong(source: PaddedBuffer, records: Records) -> Mask:
    """Which records have a wrong checksum."""
    compiled = kernel.wrong_checksums(source.u8, records)
    return _wrong(source, records) if compiled is None else compiled


def _wrong(source: PaddedBuffer, records: Records) -> Mask:
    """Calls `crc32` once per record: it has no batch form."""
    content = source.u8.data
    begins, stops = records.body_at.tolist(), (records.body_at + records.body_size).tolist()
    actual = np.array([crc32(content[begin:stop]) for begin, stop in zip(begins, stops, strict=True)], np.int64) & _POSITIVE
    failed: Mask = (actual != records.heads["body_crc"]) & (records.body_size > 0)
    ends = records.starts + records.sizes
    for row in _may_have_own(source, records, ends):
        start, end = int(records.starts[row]), int(ends[row])
        stated = crc_trailer(bytes(content[max(int(records.properties_at[row]), end - CRC_SIZE) : end]))
        failed[row] |= stated is not None and crc32(content[start : end - CRC_SIZE]) & _POSITIVE != stated
    return failed


def anomaly_of(source: PaddedBuffer, records: Records, row: int) -> str:
    """The anomaly of a record with a wrong checksum. It has no number: the checksum of a short body reveals the body."""
    content = source.u8.data
    body_at, body_size = int(records.body_at[row]), int(records.body_size[row])
    actual = crc32(content[body_at : body_at + body_size]) & _POSITIVE
    return "body checksum" if body_size and actual != records.heads["body_crc"][row] else "checksum"


def _may_have_own(source: PaddedBuffer, records: Records, ends: Index) -> list[int]:
    """Rows whose last 20 bytes start like a record checksum."""
    long_enough = records.properties_size >= CRC_SIZE
    names = at(source.u8, "<u8")[np.where(long_enough, ends - CRC_SIZE, 0)]
    return [int(row) for row in np.flatnonzero(long_enough & (names == np.uint64(_NAME)))]
