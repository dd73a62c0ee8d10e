"""What a table is: columns, and parts that are read one by one, each a pure function of the part and the bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from native_reader.plan.ends import Ends
from native_reader.plan.split import Split
from native_reader.scan.read import Projection
from native_reader.schema import ColumnSpec
from native_reader.storage.store import StoreFiles

MISSING, LOST = "missing", "lost"
NOT_THERE = {
    MISSING: "no file holds these offsets",
    LOST: "consume queues, the index or the checkpoint know records there, after the end of the log",
}
"""Why offsets are not there, with the meaning."""


class Missing(NamedTuple):
    """Offsets of a store that its log should hold and does not, why, and in words."""

    store: str
    start: int
    stop: int
    reason: str = MISSING
    found: str = NOT_THERE[MISSING]


class Whole(NamedTuple):
    """A segment as one split, whether a broker that starts would look at it, and whether it is the last one."""

    split: Split
    recovered: bool
    last: bool


Part = Split | Missing | Whole


class Request(NamedTuple):
    """What a table is asked for: the stores, where each log ends, and the largest split."""

    stores: Sequence[StoreFiles]
    looked: Ends
    max_partition_bytes: int

    @property
    def ends(self) -> Mapping[str, int]:
        """Where each log ends, by the URI of its store."""
        return self.looked.offsets


class Table(NamedTuple):
    """A table: `parts` plans it, `rows` reads one part."""

    name: str
    columns: Mapping[str, ColumnSpec]
    parts: Callable[[Request], list[Part]]
    rows: Callable[[Part, Projection], Iterator[pa.RecordBatch]]

    @property
    def schema(self) -> pa.Schema:
        """All of its columns."""
        return pa.schema([pa.field(name, spec.type) for name, spec in self.columns.items()])


def lost_of(request: Request) -> list[Part]:
    """What other files name after the end of those logs, but for what is read there as damage."""
    return [
        Missing(uri, max(lost.start, lost.junk_end), lost.stop, LOST, lost.found)
        for uri, lost in request.looked.lost.items()
        if max(lost.start, lost.junk_end) < lost.stop
    ]


def missing_in(request: Request) -> list[Part]:
    """The holes in those logs."""
    return [
        Missing(store.uri, start, min(stop, request.ends[store.uri]))
        for store in request.stores
        for start, stop in store.gaps()
        if start < request.ends[store.uri]
    ]
