"""`index_files`: one row for each index file, from its header and its last entry."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from native_reader.columns.makers import timestamps
from native_reader.columns.projection import Projection
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.sides.index import Head, IndexFile, head_of, index_files, room_of
from native_reader.storage.threads import map_files
from native_reader.tables.table import Table, TableRequest, batches_of

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "file": ColumnSpec(pa.string(), "URI of the file; its name is the broker's local time when it was created"),
    "size": ColumnSpec(pa.int64(), "bytes of the file"),
    "slots": ColumnSpec(pa.int64(), "the number of slots of the hash table; null if unknown"),
    "used_slots": ColumnSpec(pa.int64(), "the number of slots in use; brokers up to 4.7.0 count the entries instead"),
    "entries": ColumnSpec(pa.int64(), "the number of entries"),
    "capacity": ColumnSpec(pa.int64(), "how many entries fit in the file; null if unknown"),
    "begin_timestamp": ColumnSpec(TIMESTAMP, "when the record of its first entry was stored"),
    "end_timestamp": ColumnSpec(TIMESTAMP, "when the record of its last entry was stored"),
    "first_physical_offset": ColumnSpec(pa.int64(), "the offset in the log of the first record"),
    "last_physical_offset": ColumnSpec(pa.int64(), "the offset in the log of the last record"),
    "found": ColumnSpec(pa.string(), "why a search cannot use the file; null if it can. The entries are not read"),
}


def indexes_of(request: TableRequest) -> list[tuple[str, IndexFile]]:
    """Each index file, with the URI of its store."""
    slots = request.planning.max_hash_slot_num
    return [(store.uri, file) for store in request.stores for file in index_files(store.index, slots)]


def _parts(request: TableRequest) -> list[tuple[tuple[str, IndexFile], ...]]:
    files = indexes_of(request)
    return [tuple(files)] if files else []


def _batches(part: tuple[tuple[str, IndexFile], ...], projection: Projection) -> Iterator[pa.RecordBatch]:
    heads = map_files(head_of, [file for _, file in part])
    yield from batches_of((_row(store, file, *head) for (store, file), head in zip(part, heads, strict=True)), INDEX_FILES.schema)


def _row(store: str, file: IndexFile, head: Head | None, found: str | None) -> dict[str, object]:
    row: dict[str, object] = {"store": store, "file": file.uri, "size": file.size, "slots": file.slots, "found": found}
    row["capacity"] = None if file.slots is None else max(0, room_of(file) - 1)  # entry 0 is unused
    if head is None:
        return row
    begin, end = timestamps(np.array([head.begin_time, head.end_time]))
    row |= {"used_slots": head.used_slots, "entries": max(0, head.next_entry - 1)}
    row |= {"begin_timestamp": begin, "end_timestamp": end}
    return row | {"first_physical_offset": head.begin, "last_physical_offset": head.end}


INDEX_FILES = Table("index_files", COLUMNS, _parts, batches=_batches, options=("max_hash_slot_num",))
