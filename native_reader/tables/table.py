"""A table: columns, and parts that are read one by one. The rows are a pure function of the part and the bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from native_reader.columns.spec import ColumnSpec
from native_reader.plan.ends import Ends
from native_reader.plan.split import Split
from native_reader.scan.read import Projection
from native_reader.storage.store import StoreFiles

MISSING, LOST = "missing", "lost"
NOT_THERE = {
    MISSING: "no file holds these offsets",
    LOST: "consume queues, the index or the checkpoint know records there, after the end of the log",
}
"""The reasons why offsets are missing, with their meaning."""


class Missing(NamedTuple):
    """Offsets that the log of a store should hold but does not; with the reason and a description."""

    store: str
    start: int
    stop: int
    reason: str = MISSING
    found: str = NOT_THERE[MISSING]


class Whole(NamedTuple):
    """A segment as one split. `recovered`: a starting broker would check it; `last`: it is the last segment."""

    split: Split
    recovered: bool
    last: bool


Part = Split | Missing | Whole


class Request(NamedTuple):
    """The input of a table: the stores, the ends of their logs, and the largest split size."""

    stores: Sequence[StoreFiles]
    looked: Ends
    max_partition_bytes: int

    @property
    def ends(self) -> Mapping[str, int]:
        """The end of each log, by store URI."""
        return self.looked.offsets


class Table(NamedTuple):
    """A table: `parts` plans it, `rows` reads one part."""

    name: str
    columns: Mapping[str, ColumnSpec]
    parts: Callable[[Request], list[Part]]
    rows: Callable[[Part, Projection], Iterator[pa.RecordBatch]]

    @property
    def schema(self) -> pa.Schema:
        """All columns."""
        return pa.schema([pa.field(name, spec.type) for name, spec in self.columns.items()])


def lost_of(request: Request) -> list[Part]:
    """Records that other files name after the end of those logs, without ranges that are read as damage."""
    return [
        Missing(uri, max(lost.start, lost.junk_end), lost.stop, LOST, lost.found)
        for uri, lost in request.looked.lost.items()
        if max(lost.start, lost.junk_end) < lost.stop
    ]


def missing_in(request: Request) -> list[Part]:
    """Offsets below the end of those logs that no file holds."""
    return [
        Missing(store.uri, start, min(stop, request.ends[store.uri]))
        for store in request.stores
        for start, stop in store.gaps()
        if start < request.ends[store.uri]
    ]
