"""The rows of a chunk: for each message where its parts lie, before any column is made.

A record is a row, but for an inner batch, which is a row for each message in it: their heads are the record's with a
few fields of their own, and their bodies and properties lie where the batch packed them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.bodies import decompress
from native_reader.layout.inner import Unit, units_of
from native_reader.layout.record import COMPRESSED, INNER_BATCH, PADDING, Index, Mask, Records
from native_reader.scan.strings import Slices, Source

DECOMPRESSED_AT_ONCE = 16 << 20
"""The bytes of decompressed bodies that one batch may gather, so that many small bombs stay small."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decompressed bodies of some rows: row `rows[i]` has `bytes[starts[i] : starts[i] + sizes[i]]`, or null where `sizes` is -1."""

    source: Source
    rows: Index
    starts: Index
    sizes: Index

    @staticmethod
    def of(bodies: list[bytes | None], rows: list[int], first: int) -> Decoded:
        """Of the rows that begin with the first."""
        sizes = np.array([-1 if body is None else len(body) for body in bodies], np.intp)
        ends = np.cumsum(np.maximum(sizes, 0))
        return Decoded(Source.of(*filter(None, bodies)), np.array(rows, np.intp) - first, ends - np.maximum(sizes, 0), sizes)


@dataclass(frozen=True, slots=True)
class Rows:
    """Messages in order; `inner` is their place in an inner batch, -1 outside of one; None where no row is inside of one.

    `failed`: the starts of records whose checksum is wrong, where they were looked for and are kept.
    """

    source: Source
    records: Records
    inner: NDArray[np.int32] | None = None
    decoded: Decoded | None = None
    failed: Index | None = None

    def __len__(self) -> int:
        return len(self.records)

    def where(self, which: slice | Index | Mask) -> Rows:
        """Some of them."""
        return replace(self, records=self.records[which], inner=None if self.inner is None else self.inner[which])

    def compressed(self) -> Index:
        """The rows whose stored body is compressed. Messages of a compressed batch were unpacked with it."""
        flags = self.records.heads["sys_flag"] & COMPRESSED
        return np.flatnonzero(flags if self.inner is None else flags & (self.inner < 0))

    def bodies(self, name: str) -> Slices:
        """Where the bodies lie, as they are on disk or decompressed."""
        records, decoded = self.records, self.decoded
        slices = Slices([self.source], np.zeros(len(self), np.intp), records.body_at, records.body_size, np.zeros(len(self), np.bool_))
        if name == "stored_body" or decoded is None:
            return slices
        which, starts, sizes, null = slices.which, slices.starts.copy(), slices.sizes.copy(), slices.null
        which[decoded.rows], starts[decoded.rows], sizes[decoded.rows] = 1, decoded.starts, np.maximum(decoded.sizes, 0)
        null[decoded.rows] = decoded.sizes < 0
        return Slices([self.source, decoded.source], which, starts, sizes, null)

    def stored_body(self, row: int) -> memoryview:
        """The body of one row as it lies there."""
        start = int(self.records.body_at[row])
        return self.source.u8.data[start : start + int(self.records.body_size[row])]

    def with_bodies(self, at_most: int) -> Iterator[Rows]:
        """The same rows, in pieces whose compressed bodies have been decompressed."""
        compressed = self.compressed()
        if not len(compressed):
            yield self
            return
        records, content = self.records, self.source.u8.data
        begins, sizes = records.body_at[compressed].tolist(), records.body_size[compressed].tolist()
        flags = records.heads["sys_flag"][compressed].tolist()
        first, at_hand, bodies, rows = 0, 0, list[bytes | None](), list[int]()
        for row, begin, size, flag in zip(compressed.tolist(), begins, sizes, flags, strict=True):
            body = decompress(content[begin : begin + size], flag, at_most)
            if body and at_hand and at_hand + len(body) > DECOMPRESSED_AT_ONCE:
                yield replace(self.where(slice(first, row)), decoded=Decoded.of(bodies, rows, first))
                first, at_hand, bodies, rows = row, 0, [], []
            at_hand += len(body or b"")
            bodies.append(body)
            rows.append(row)
        yield replace(self.where(slice(first, None)), decoded=Decoded.of(bodies, rows, first))


def unwrapped(rows: Rows, at_most: int) -> Rows:
    """The same rows, each inner batch replaced by its messages. One whose units do not add up stays one ordinary row."""
    batches = np.flatnonzero(rows.records.heads["sys_flag"] & INNER_BATCH)
    found = [(int(batch), *unpacked) for batch in batches if (unpacked := _unpacked(rows, int(batch), at_most)) is not None]
    return _with_messages(rows, found) if found else rows


def _unpacked(rows: Rows, batch: int, at_most: int) -> tuple[list[Unit], bytes | None] | None:
    """The units of a batch, and its body if it had to be decompressed for that."""
    stored, flags = rows.stored_body(batch), int(rows.records.heads["sys_flag"][batch])
    body = decompress(stored, flags, at_most) if flags & COMPRESSED else None
    units = units_of(stored if body is None and not flags & COMPRESSED else body or b"")
    return None if units is None else (units, body)


def _with_messages(rows: Rows, batches: list[tuple[int, list[Unit], bytes | None]]) -> Rows:
    counts = np.ones(len(rows), np.intp)
    counts[[batch for batch, *_ in batches]] = [len(units) for _, units, _ in batches]
    records = rows.records[np.repeat(np.arange(len(rows)), counts)]
    source, bodies_at = _with_bodies_behind(rows.source, [body for *_, body in batches])
    inner = np.full(len(records), -1, np.int32)
    first = np.cumsum(counts) - counts
    for (batch, units, _), elsewhere in zip(batches, bodies_at, strict=True):
        mine = slice(int(first[batch]), int(first[batch]) + len(units))
        begin = int(rows.records.body_at[batch]) if elsewhere is None else elsewhere
        flags, body_at, body_size, properties_at, properties_size = np.array(units, np.intp).T
        inner[mine] = np.arange(len(units))
        records.heads["flag"][mine] = flags
        records.heads["queue_offset"][mine] += inner[mine]
        records.heads["body_size"][mine] = records.body_size[mine] = body_size
        records.body_at[mine], records.properties_at[mine] = begin + body_at, begin + properties_at
        records.properties_size[mine] = properties_size
    return Rows(source, records, inner, failed=rows.failed)


def _with_bodies_behind(source: Source, bodies: list[bytes | None]) -> tuple[Source, list[int | None]]:
    """The bytes and, behind them, those bodies that lie nowhere yet; and where each begins."""
    others = [body for body in bodies if body is not None]
    if not others:
        return source, [None] * len(bodies)
    places, end = [], len(source.u8) - PADDING
    for body in bodies:
        places.append(None if body is None else end)
        end += len(body or b"")
    return Source.of(source.u8[:-PADDING].data, *others), places
