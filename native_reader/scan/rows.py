"""The rows of a chunk: for each message where its parts lie, before any column is made.

A record is a row, but for an inner batch, which is a row for each message in it. So a row's place in the table is
(record, inner), and a row's parts may lie in bytes that were decompressed: `u8` is the chunk, or a buffer made for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.bodies import decompress
from native_reader.layout.inner import Unit, units_of
from native_reader.layout.record import COMPRESSED, INNER_BATCH, LONGEST_HEAD, Index, Mask, Records
from native_reader.scan.strings import Slices, Source

LAST_INNER = (1 << 32) - 1
"""The lower bits of a rank: the place in an inner batch; the upper ones count records."""
DECOMPRESSED_AT_ONCE = 16 << 20
"""The bytes of decompressed bodies that one batch may gather, so that many small bombs stay small."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decompressed bodies of some rows: row `rows[i]` has `bytes[starts[i] : starts[i] + sizes[i]]`, or null where `sizes` is -1."""

    source: Source
    rows: Index
    starts: Index
    sizes: Index


@dataclass(frozen=True, slots=True)
class Rows:
    """Messages in order; `rank` sorts them, `inner` is their place in an inner batch, -1 outside of one."""

    source: Source
    records: Records
    rank: NDArray[np.int64]
    inner: NDArray[np.int32] | None = None
    decoded: Decoded | None = None
    first: int = 0
    """Of a piece: how many rows came before it."""

    @staticmethod
    def of(source: Source, records: Records) -> Rows:
        """A row for each record."""
        return Rows(source, records, np.arange(len(records), dtype=np.int64) << 32)

    def __len__(self) -> int:
        return len(self.rank)

    def where(self, which: slice | Index | Mask) -> Rows:
        """Some of them."""
        if isinstance(which, np.ndarray) and which.dtype == np.bool_:  # one look for all the arrays
            which = np.flatnonzero(which)
        return replace(self, records=self.records[which], rank=self.rank[which], inner=None if self.inner is None else self.inner[which])

    def without(self, which: Index) -> Rows:
        """All but some of them."""
        return self.where(np.delete(np.arange(len(self)), which))

    def compressed(self) -> Index:
        """The rows whose stored body is compressed."""
        if self.inner is not None:
            return np.empty(0, np.intp)
        return np.flatnonzero(self.records.heads["sys_flag"] & COMPRESSED)

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
        first, found = 0, _Bodies()
        for row in compressed:
            body = decompress(self.stored_body(row), int(self.records.heads["sys_flag"][row]), at_most)
            if found.size and found.size + len(body or b"") > DECOMPRESSED_AT_ONCE:
                yield replace(self.where(slice(first, row)), decoded=found.decoded(first), first=first)
                first, found = int(row), _Bodies()
            found.add(int(row), body)
        yield replace(self.where(slice(first, None)), decoded=found.decoded(first), first=first)


class _Bodies:
    def __init__(self) -> None:
        self._rows: list[int] = []
        self._bodies: list[bytes | None] = []
        self.size = 0

    def add(self, row: int, body: bytes | None) -> None:
        self._rows.append(row)
        self._bodies.append(body)
        self.size += len(body or b"")

    def decoded(self, first: int) -> Decoded:
        sizes = np.array([-1 if body is None else len(body) for body in self._bodies], np.intp)
        starts = np.concatenate([np.zeros(1, np.intp), np.cumsum(np.maximum(sizes, 0))[:-1]])
        return Decoded(Source.of(b"".join(body or b"" for body in self._bodies)), np.array(self._rows, np.intp) - first, starts, sizes)


def unwrapped(rows: Rows, at_most: int) -> tuple[Rows | None, Index]:
    """The messages of all inner batches (None: there are none), and which rows those batches are.

    A batch whose units do not add up is no batch but one ordinary row.
    """
    batches = np.flatnonzero(rows.records.heads["sys_flag"] & INNER_BATCH)
    found = [(int(batch), *unit) for batch in batches if (unit := _unpacked(rows, int(batch), at_most)) is not None]
    return _messages(rows, found) if found else None, np.array([batch for batch, *_ in found], np.intp)


def _unpacked(rows: Rows, batch: int, at_most: int) -> tuple[bytes, list[Unit]] | None:
    body: bytes | None = bytes(rows.stored_body(batch))
    flags = int(rows.records.heads["sys_flag"][batch])
    if flags & COMPRESSED:
        body = decompress(rows.stored_body(batch), flags, at_most)
    units = units_of(body) if body else None
    return None if body is None or units is None else (body, units)


def _messages(rows: Rows, batches: list[tuple[int, bytes, list[Unit]]]) -> Rows:
    """A head for each message, and one buffer: of each batch its head (for its hosts), its body, then its topic for each message."""
    records, counts = rows.records, np.array([len(units) for _, _, units in batches])
    outer = np.repeat([batch for batch, *_ in batches], counts)
    pieces, starts, body_begins, topics_at, size = [], [], [], [], 0
    for batch, body, units in batches:
        start, topic_at, topic_size = (int(places[batch]) for places in (records.starts, records.topic_at, records.topic_size))
        pieces += [
            rows.source.u8[start : start + LONGEST_HEAD].tobytes(),
            body,
            rows.source.u8[topic_at : topic_at + topic_size].tobytes() * len(units),
        ]
        starts.append(size)
        body_begins.append(size + LONGEST_HEAD)
        topics_at += [size + LONGEST_HEAD + len(body) + topic_size * each for each in range(len(units))]
        size = topics_at[-1] + topic_size
    fields = np.array([unit for *_, units in batches for unit in units], np.intp)
    inner = np.concatenate([np.arange(count) for count in counts])
    heads, begins = records.heads[outer], np.repeat(body_begins, counts)
    heads["flag"] = fields[:, 0]
    heads["queue_offset"] += inner
    heads["body_size"] = fields[:, 2]
    messages = Records(
        starts=np.repeat(starts, counts),
        heads=heads,
        sizes=records.sizes[outer],
        body_at=begins + fields[:, 1],
        body_size=fields[:, 2],
        topic_at=np.array(topics_at, np.intp),
        topic_size=records.topic_size[outer],
        properties_at=begins + fields[:, 3],
        properties_size=fields[:, 4],
    )
    return Rows(Source.of(b"".join(pieces)), messages, rows.rank[outer] + inner, inner.astype(np.int32))
