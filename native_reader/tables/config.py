"""`config`: the settings of topics and consumer groups, one row for each setting; `checkpoint`: how far a broker is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from native_reader.broker.config_files import printable
from native_reader.broker.progress import read_checkpoint
from native_reader.broker.settings import NamedSettings, settings_in
from native_reader.columns.makers import timestamps
from native_reader.columns.projection import Projection
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.tables.table import Table, TableRequest, batches_of

_AT_ONCE = 1000

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "kind": ColumnSpec(pa.string(), "`topic` or `group`"),
    "name": ColumnSpec(pa.string(), "the topic or consumer group"),
    "setting": ColumnSpec(pa.string(), "the broker's name of the setting; in objects with dots, as `attributes.queue.type`"),
    "value": ColumnSpec(pa.string(), "its value as text; lists as JSON; null if the settings of that name are damaged"),
    "file": ColumnSpec(pa.string(), "URI of the file or database with this setting"),
}


class _Some(NamedTuple):
    """The settings of some topics and groups of a store."""

    store: str
    settings: tuple[NamedSettings, ...]


def _parts(request: TableRequest) -> list[_Some]:
    parts: list[_Some] = []
    for store in request.stores:
        settings = list(settings_in(store.config))
        parts += [_Some(store.uri, tuple(settings[first : first + _AT_ONCE])) for first in range(0, len(settings), _AT_ONCE)]
    return parts


def _batches(part: _Some, projection: Projection) -> Iterator[pa.RecordBatch]:
    rows = (
        {"store": part.store, "kind": each.kind, "name": each.name, "setting": setting, "value": value, "file": each.file}
        for each in part.settings
        for setting, value in (_flat("", each.values) if each.values is not None else [(None, None)])
    )
    yield from batches_of(rows, CONFIG.schema)


def _flat(prefix: str, value: object) -> Iterator[tuple[str, str]]:
    """Each value of an object, with the path to it."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else name, inner)
    else:
        yield printable(prefix), printable(value if isinstance(value, str) else json.dumps(value))


CONFIG = Table("config", COLUMNS, _parts, batches=_batches)


_CHECKPOINT_COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "flushed_timestamp": ColumnSpec(TIMESTAMP, "store time of the last record flushed to the log"),
    "dispatched_timestamp": ColumnSpec(TIMESTAMP, "store time of the last record flushed to its consume queue"),
    "indexed_timestamp": ColumnSpec(TIMESTAMP, "store time of the last record in the last full index file"),
    "master_flushed_offset": ColumnSpec(pa.int64(), "offset up to which the master has flushed (5.0 and later)"),
    "confirmed_offset": ColumnSpec(pa.int64(), "offset up to which the slaves have confirmed (5.1.1 and later)"),
    "dispatched_offset": ColumnSpec(pa.int64(), "offset up to which consume queues were flushed (5.5.0 and later)"),
}


def _stores_of(request: TableRequest) -> list[str]:
    return [store.uri for store in request.stores]


def _checkpoint_rows(part: str, projection: Projection) -> list[dict[str, object]]:
    checkpoint = read_checkpoint(part)
    if checkpoint is None:
        return []
    times = np.array([checkpoint.flushed_time, checkpoint.dispatched_time, checkpoint.indexed_time], np.int64)
    offsets = (checkpoint.flushed, checkpoint.confirmed, checkpoint.dispatched)
    values = (*timestamps(times, times == 0).to_pylist(), *(offset or None for offset in offsets))
    return [{"store": part} | dict(zip(list(_CHECKPOINT_COLUMNS)[1:], values, strict=True))]


CHECKPOINT = Table("checkpoint", _CHECKPOINT_COLUMNS, _stores_of, _checkpoint_rows)
