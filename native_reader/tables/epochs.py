"""`epochs`: from where on each master of a group with a controller wrote the log."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from native_reader.broker.epochs import Epoch, epochs_of
from native_reader.columns.makers import timestamps
from native_reader.columns.projection import Projection
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.errors import StoreDamaged
from native_reader.layout.record import MAGIC_BLANK, MAGIC_V1, MAGIC_V2
from native_reader.records.sync import head_at
from native_reader.sentences import say
from native_reader.storage.store import StoreFiles
from native_reader.storage.window import Window
from native_reader.tables.table import Table, TableRequest, batches_of

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "epoch": ColumnSpec(pa.int64(), "its number: each election counts, so numbers are left out"),
    "begin_offset": ColumnSpec(pa.int64(), "the offset in the log at which it begins"),
    "end_offset": ColumnSpec(pa.int64(), "the offset at which the next one begins; of the last one, where the log ends"),
    "first_store_timestamp": ColumnSpec(TIMESTAMP, "store time of its first record; null if that is not in the log"),
    "state": ColumnSpec(
        pa.string(),
        "`ok`; `empty`: nothing was written in it; `expired`: it begins before the log; `after log`: it begins after the end of the log; "
        "`no record`: no record begins there; `back`: it does not begin after the one before",
    ),
    "file": ColumnSpec(pa.string(), "URI of the file with this epoch: a broker takes the `.bak` if the other one is damaged"),
}


class _Own(NamedTuple):
    """A store, and where its log ends."""

    files: StoreFiles
    end: int


def _parts(request: TableRequest) -> list[_Own]:
    return [_Own(store, request.ends[store.uri].offset) for store in request.stores if epochs_of(store.uri) is not None]


def _batches(part: _Own, projection: Projection) -> Iterator[pa.RecordBatch]:
    found = epochs_of(part.files.uri)
    if found is None:
        return
    if found.epochs is None:
        raise StoreDamaged(say("epochs file damaged", uri=found.uri))
    yield from batches_of(_rows(part, found.uri, found.epochs), EPOCHS_TABLE.schema)


def _rows(part: _Own, uri: str, epochs: tuple[Epoch, ...]) -> Iterator[dict[str, object]]:
    """A row for each: there are few."""
    newest = -1
    for each, following in zip_longest(epochs, epochs[1:]):
        end = part.end if following is None else following.begin
        state, time = _state(part, each, end, newest)
        newest = max(newest, each.begin)
        times = timestamps(np.array([time]), np.array([time == 0])).to_pylist()
        yield {
            "store": part.files.uri, "epoch": each.number, "begin_offset": each.begin, "end_offset": end,
            "first_store_timestamp": times[0], "state": state, "file": uri,
        }  # fmt: skip


def _state(part: _Own, epoch: Epoch, end: int, newest: int) -> tuple[str, int]:
    """What is at the begin of an epoch, and the store time of a record there; 0 if there is none."""
    if epoch.begin <= newest:
        return "back", 0
    if epoch.begin > part.end:
        return "after log", 0
    if epoch.begin == end:
        return "empty", 0
    if epoch.begin < part.files.min_offset:
        return "expired", 0
    segment = part.files.segment_at(epoch.begin)
    if segment is None or epoch.begin >= segment.end:
        return "no record", 0
    with Window(segment, 0, past_unreadable=True) as window:
        head = head_at(window, epoch.begin - segment.base)
    if head["magic"] == MAGIC_BLANK:  # the first record did not fit into the segment
        return "ok", 0
    is_there = head["magic"] in (MAGIC_V1, MAGIC_V2) and head["physical_offset"] == epoch.begin
    return ("ok", int(head["store_timestamp"])) if is_there else ("no record", 0)


EPOCHS_TABLE = Table("epochs", COLUMNS, _parts, batches=_batches)
