"""The rows of a chunk: for each message where its parts lie, before any column is made.

A record is a row, but for an inner batch, which is a row for each message in it. So a row's place in the table is
(record, inner), and a row's parts may lie in bytes that were decompressed: `u8` is the chunk, or a buffer made for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.layout.bodies import decompress
from native_reader.layout.inner import units_of
from native_reader.layout.record import COMPRESSED, INNER_BATCH, LONGEST_HEAD, PADDING, Bytes, Index, Mask, Records

DECOMPRESSED_AT_ONCE = 16 << 20
"""The bytes of decompressed bodies that one batch may gather, so that many small bombs stay small."""


class Source(NamedTuple):
    """Bytes that rows lie in, as numpy and as Arrow see them; at least PADDING more bytes follow the last that counts."""

    u8: Bytes
    arrow: pa.Buffer

    @staticmethod
    def of(content: bytes) -> Source:
        """A copy of some bytes, padded."""
        own = np.zeros(len(content) + PADDING, np.uint8)
        own[: len(content)] = np.frombuffer(content, np.uint8)
        return Source(own, pa.py_buffer(own))


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

    @staticmethod
    def of(source: Source, records: Records) -> Rows:
        """A row for each record."""
        return Rows(source, records, np.arange(len(records), dtype=np.int64) << 32)

    def __len__(self) -> int:
        return len(self.rank)

    def where(self, which: slice | Index | Mask) -> Rows:
        """Some of them."""
        return replace(self, records=self.records[which], rank=self.rank[which], inner=None if self.inner is None else self.inner[which])

    def compressed(self) -> Index:
        """The rows whose stored body is compressed."""
        if self.inner is not None:
            return np.empty(0, np.intp)
        return np.flatnonzero(self.records.heads["sys_flag"] & COMPRESSED)

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
                yield replace(self.where(slice(first, row)), decoded=found.decoded(first))
                first, found = int(row), _Bodies()
            found.add(int(row), body)
        yield replace(self.where(slice(first, None)), decoded=found.decoded(first))


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


def unwrapped(rows: Rows, at_most: int) -> tuple[Rows, list[Rows]]:
    """The ordinary rows, and the messages of each inner batch among them, one after the other: such batches are rare.

    A batch whose units do not add up stays one ordinary row.
    """
    batches = np.flatnonzero(rows.records.heads["sys_flag"] & INNER_BATCH)
    if not len(batches):
        return rows, []
    ordinary, inner = np.ones(len(rows), np.bool_), []
    for batch in batches:
        unpacked = _unpacked(rows, int(batch), at_most)
        if unpacked is not None:
            ordinary[batch] = False
            inner.append(unpacked)
    return rows.where(ordinary), inner


def _unpacked(rows: Rows, batch: int, at_most: int) -> Rows | None:
    """Heads of its own for each message, and one buffer: the head of the batch (for its hosts), its body, a topic for each."""
    one, head = rows.where(slice(batch, batch + 1)), rows.records.heads[batch]
    body: bytes | memoryview | None = one.stored_body(0)
    if head["sys_flag"] & COMPRESSED:
        body = decompress(one.stored_body(0), int(head["sys_flag"]), at_most)
    units = None if body is None else units_of(body)
    if body is None or units is None:
        return None
    count, fields = len(units), np.array(units, np.intp)
    topic_at, topic_size = int(one.records.topic_at[0]), int(one.records.topic_size[0])
    topic = rows.source.u8[topic_at : topic_at + topic_size].tobytes()
    start = int(one.records.starts[0])
    source = Source.of(b"".join([rows.source.u8[start : start + LONGEST_HEAD].tobytes(), body, topic * count]))
    heads = np.repeat(one.records.heads, count)
    heads["flag"] = fields[:, 0]
    heads["queue_offset"] += np.arange(count)
    heads["body_size"] = fields[:, 2]
    records = Records(
        np.zeros(count, np.intp),
        heads,
        np.repeat(one.records.sizes, count),
        LONGEST_HEAD + fields[:, 1],
        fields[:, 2],
        LONGEST_HEAD + len(body) + topic_size * np.arange(count),
        np.full(count, topic_size),
        LONGEST_HEAD + fields[:, 3],
        fields[:, 4],
    )
    inner = np.arange(count, dtype=np.int32)
    return Rows(source, records, rows.rank[batch] + inner, inner)
