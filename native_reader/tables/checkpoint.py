"""`checkpoint`: the broker's own note of its progress, one row for each store that has one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from native_reader.broker.checkpoint import read_checkpoint
from native_reader.columns.makers import timestamps
from native_reader.columns.projection import Projection
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.tables.table import Table, TableRequest

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "flushed_timestamp": ColumnSpec(TIMESTAMP, "store time of the last record flushed to the log"),
    "dispatched_timestamp": ColumnSpec(TIMESTAMP, "store time of the last record flushed to its consume queue"),
    "indexed_timestamp": ColumnSpec(TIMESTAMP, "store time of the last record in the last full index file"),
    "master_flushed_offset": ColumnSpec(pa.int64(), "offset up to which the master has flushed (5.0 and later)"),
    "confirmed_offset": ColumnSpec(pa.int64(), "offset up to which the slaves have confirmed (5.1.1 and later)"),
    "dispatched_offset": ColumnSpec(pa.int64(), "offset up to which consume queues were flushed (5.5.0 and later)"),
}


def _parts(request: TableRequest) -> list[str]:
    return [store.uri for store in request.stores]


def _rows(part: str, projection: Projection) -> list[dict[str, object]]:
    checkpoint = read_checkpoint(part)
    if checkpoint is None:
        return []
    times = np.array([checkpoint.flushed_time, checkpoint.dispatched_time, checkpoint.indexed_time], np.int64)
    offsets = (checkpoint.flushed, checkpoint.confirmed, checkpoint.dispatched)
    values = (*timestamps(times, times == 0).to_pylist(), *(offset or None for offset in offsets))
    return [{"store": part} | dict(zip(list(COLUMNS)[1:], values, strict=True))]


CHECKPOINT = Table("checkpoint", COLUMNS, _parts, _rows)
