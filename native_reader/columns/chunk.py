"""The rows of a chunk as columns; what one column is built from is kept for the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.arrow import array, numpy_of, repeat
from native_reader.columns.properties import PropertyColumns, cut_properties
from native_reader.columns.rows import Rows, by_record
from native_reader.columns.strings import short, text
from native_reader.layout.origins import is_sent_back
from native_reader.layout.record import Index
from native_reader.predicate.tree import Column

WITH_PLACE_IDS = ("offset_msg_id", "msg_id")
"""The columns that may have an id made of a place in the log. In a tier they have none, and so the kernel does not make them."""
_FEW = 4
"""If at most one row in so many needs its properties, they are cut for these rows only."""


class Columns:
    """Builds the columns of one read, chunk by chunk.

    `properties`: the names of the single properties that columns and conditions need.
    """

    def __init__(
        self,
        names: Iterable[str],
        store: str,
        segment: str,
        properties: Iterable[str] = (),
        *,
        marks_failed: bool = False,
        is_tiered: bool = False,
    ) -> None:
        self.names, self.store, self.marks_failed, self.is_tiered = tuple(names), store, marks_failed, is_tiered
        self._singles = sorted(properties)
        self._constants = {"store": store, "segment": segment}
        self._repeated: dict[str, pa.Array] = {}

    def chunk(self, rows: Rows) -> Chunk:
        """These rows, for building one column at a time."""
        return Chunk(self, rows)

    def properties(self, rows: Rows) -> PropertyColumns:
        """The properties of these rows."""
        records = rows.records
        return cut_properties(rows.source, records.properties_at, records.properties_size, self._singles)

    def repeated(self, value: str, count: int) -> pa.Array:
        """One text repeated `count` times; built once, then sliced."""
        known = self._repeated.get(value)
        if known is None or len(known) < count:
            known = self._repeated[value] = repeat(value, 2 * count)
        return known.slice(0, count)

    def constant(self, column: str, count: int) -> pa.Array:
        """A column with the same value in the whole segment."""
        return self.repeated(self._constants[column], count)


class Chunk:
    """Rows of one chunk. Caches the columns that other columns are built from."""

    def __init__(self, columns: Columns, rows: Rows) -> None:
        self.columns, self.rows = columns, rows
        self.records = rows.records
        self.made: dict[Column, pa.Array] = {}
        """Columns of conditions that the kernel has made of these rows."""
        self._topic: pa.Array | None = None
        self._properties: PropertyColumns | None = None
        self._sent_back: tuple[Index, Chunk | None] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def heads(self) -> NDArray[np.void]:
        return self.records.heads

    def where(self, chosen: Index) -> Chunk:
        """Only these rows, which ascend."""
        return self._part(self.rows.where(chosen), chosen)

    def with_bodies(self, at_most: int) -> Iterator[Chunk]:
        """The same rows in pieces, with compressed bodies decompressed."""
        begin = 0
        for rows in self.rows.with_bodies(at_most):
            yield self if rows is self.rows else self._part(rows, np.arange(begin, begin + len(rows)))
            begin += len(rows)

    def piece(self, which: slice) -> Chunk:
        """Only these consecutive rows."""
        return self if which == slice(0, len(self)) else self._part(self.rows.where(which), np.arange(which.start, which.stop))

    def _part(self, rows: Rows, chosen: Index) -> Chunk:
        part = Chunk(self.columns, rows)
        part._topic = None if self._topic is None else self._topic.take(array(chosen))
        part._properties = None if self._properties is None else self._properties.where(chosen)
        return part

    def properties(self) -> PropertyColumns:
        if self._properties is None:
            self._properties = self.columns.properties(self.rows)
        return self._properties

    def property(self, name: str) -> pa.Array:
        """One property as text; null where absent."""
        return self.properties().single(name)

    def topic(self) -> pa.Array:
        if self._topic is None:
            if self.rows.inner is None:
                self._topic = self.topics(slice(None))
            else:
                first, record = by_record(self.records.starts)
                self._topic = self.topics(first).take(array(record))
        return self._topic

    def sent_back(self) -> tuple[Index, Chunk | None]:
        """The rows in retry and DLQ topics, and their chunk if there are some."""
        if self._sent_back is None:
            topics = self.topic().dictionary_encode()
            which = np.array([is_sent_back(name) for name in topics.dictionary.to_pylist()], np.bool_)
            rows = np.flatnonzero(which[numpy_of(topics.indices)])
            if len(rows) > len(self) // _FEW:
                self.properties()  # the chosen rows share them, so they are cut once for all columns
            self._sent_back = rows, self.where(rows) if len(rows) else None
        return self._sent_back

    def topics(self, which: slice | Index) -> pa.Array:
        """The topics of some rows, each of a different record."""
        return text(short(self.rows.source.arrow, self.records.topic_at[which], self.records.topic_size[which], pa.binary()))
