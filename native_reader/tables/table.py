"""What a table is: columns, and parts that are read one by one, each a pure function of the part and the bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from native_reader.access.plan import Split
from native_reader.scan.read import Projection
from native_reader.schema import ColumnSpec
from native_reader.storage.store import StoreFiles


class Missing(NamedTuple):
    """Offsets of a store, below the end of its log, that lie in no file."""

    store: str
    start: int
    stop: int


class Whole(NamedTuple):
    """A segment as one split, whether a broker that starts would look at it, and whether it is the last one."""

    split: Split
    recovered: bool
    last: bool


Part = Split | Missing | Whole


class Request(NamedTuple):
    """What a table is asked for: the stores, where each log ends, and the largest split."""

    stores: Sequence[StoreFiles]
    ends: Mapping[str, int]
    max_partition_bytes: int


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


def missing_in(request: Request) -> list[Part]:
    """The holes in those logs."""
    return [
        Missing(store.uri, start, min(stop, request.ends[store.uri]))
        for store in request.stores
        for start, stop in store.gaps()
        if start < request.ends[store.uri]
    ]
