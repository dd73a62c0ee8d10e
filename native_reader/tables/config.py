"""`config`: the settings of topics and consumer groups, one row for each setting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from native_reader.broker.config_files import printable
from native_reader.broker.settings import NamedSettings, settings_in
from native_reader.columns.projection import Projection
from native_reader.columns.spec import ColumnSpec
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
