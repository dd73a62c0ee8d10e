"""`delay`: one row for each message that waits for its delay level. `delayOffset.json` has how far each level was delivered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from native_reader.arrow import array, numpy_of, repeat
from native_reader.broker.config_files import read_config
from native_reader.columns.makers import timestamps
from native_reader.columns.projection import Projection
from native_reader.columns.spec import KEYS_TYPE, TIMESTAMP, ColumnSpec
from native_reader.layout.arrays import place_among
from native_reader.layout.kinds import DELAY_TOPIC
from native_reader.layout.record import Numbers
from native_reader.predicate.tree import And, Column, Compare, In, Not, Or, Predicate
from native_reader.sides.queues import Queue, QueueReader, queues_of, topics_in
from native_reader.storage.store import StoreFiles
from native_reader.tables.messages import NO_TIME, MessagesPart, integers, microseconds, pieces_of_store, property_in
from native_reader.tables.table import Table, TableRequest

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "state": ColumnSpec(pa.string(), "`pending`; `unknown`: it may have been delivered, because `delayOffset.json` is missing"),
    "delay_level": ColumnSpec(pa.int32(), "the level, from 1"),
    "due_timestamp": ColumnSpec(TIMESTAMP, "when it will be delivered; null if its consume queue entry is missing"),
    "topic": ColumnSpec(pa.string(), "the topic that it will be delivered to; `%RETRY%` and a group for a message that is retried"),
    "queue_id": ColumnSpec(pa.int32(), "the queue that it will be delivered to"),
    "tags": ColumnSpec(pa.string(), "its tags"),
    "keys": ColumnSpec(KEYS_TYPE, "its keys"),
    "msg_id": ColumnSpec(pa.string(), "its id"),
    "reconsume_times": ColumnSpec(pa.int32(), "how often consumers retried it"),
    "born_timestamp": ColumnSpec(TIMESTAMP, "when the producer created it"),
    "store_timestamp": ColumnSpec(TIMESTAMP, "when it was stored: since when it waits"),
    "queue_offset": ColumnSpec(pa.int64(), "its offset in the queue of its level"),
    "physical_offset": ColumnSpec(pa.int64(), "its offset in the log"),
}
_FILE, _TABLE = "delayOffset.json", "offsetTable"
_READ = (
    *("queue_id", "queue_offset", "real_topic", "tags", "keys", "msg_id", "reconsume_times", "properties"),
    *("born_timestamp", "store_timestamp", "physical_offset", "record_size", "store"),
)
_MOST_LEVELS = 1000
"""Brokers have 18 levels, unless set otherwise."""
_BEYOND = 2**31 - 1


class Waiting(NamedTuple):
    """A split that may hold messages which wait. `queues`: directories of consume queues; `is_sure`: what was delivered is known."""

    piece: MessagesPart
    queues: tuple[str, ...]
    is_sure: bool

    @property
    def work(self) -> int:
        """The approximate number of bytes to read."""
        return self.piece.work


def _parts(request: TableRequest) -> list[Waiting]:
    parts: list[Waiting] = []
    for store in request.stores:
        delivered = _delivered(store)
        own = pieces_of_store(request, store, _waits(delivered or {}))
        parts += [Waiting(piece, store.queues, delivered is not None) for piece in own]
    return parts


def _delivered(store: StoreFiles) -> Mapping[int, int] | None:
    """By queue: the next queue offset to deliver; None if there is no such file. A level that is not in it begins at 0."""
    file = read_config(store.config, _FILE, _TABLE)
    if file is None:
        return None
    offsets = {int(level) - 1: offset for level, offset in file.table(_TABLE).items() if level.isdecimal() and len(level) < 10}
    named = {queue: offset for queue, offset in offsets.items() if queue >= 0 and type(offset) is int and 0 < offset < 2**63}
    return dict(sorted(named.items())[:_MOST_LEVELS])


def _waits(delivered: Mapping[int, int]) -> Predicate:
    queue, offset = Column("queue_id"), Column("queue_offset")
    of_levels = [And((Compare(queue, "=", each), Compare(offset, ">=", after))) for each, after in delivered.items()]
    in_topic = Compare(Column("topic"), "=", DELAY_TOPIC)
    return And((in_topic, Or((*of_levels, Not(In(queue, tuple(delivered))))))) if delivered else in_topic


def _batches(part: Waiting, projection: Projection) -> Iterator[pa.RecordBatch]:
    topics = [topic for topic in topics_in(part.queues) if topic.name == DELAY_TOPIC]
    own = [queue for topic in topics for queue in queues_of(topic)]
    for batch in part.piece.reading(projection, *_READ):
        columns = {name: batch.column(name) for name in COLUMNS if name in _READ}
        queues = numpy_of(batch.column("queue_id"))
        columns |= {
            "state": repeat("pending" if part.is_sure else "unknown", len(batch)),
            "delay_level": array(np.minimum(queues.astype(np.int64) + 1, _BEYOND).astype(np.int32)),
            "due_timestamp": _due(batch, own),
            "topic": batch.column("real_topic"),
            "queue_id": integers(property_in(batch.column("properties"), "REAL_QID"), pa.int32()),
        }
        yield DELAY.batch(columns)


def _due(batch: pa.RecordBatch, queues_of_levels: Iterable[Queue]) -> pa.Array:
    """When each message is due, in milliseconds: the tags code of its entry. The levels themselves are only in the broker's settings."""
    offsets, sizes = numpy_of(batch.column("physical_offset")), numpy_of(batch.column("record_size"))
    due = np.full(len(batch), NO_TIME)
    for queue in queues_of_levels:
        with QueueReader(queue) as reader:
            entries = reader.within(int(offsets.min()), int(offsets.max()) + 1)
        rows = place_among(entries.offsets, offsets)
        fits = (rows >= 0) & (sizes[rows] == entries.sizes)
        due[rows[fits]] = entries.codes[fits]
    # An older code is the hash of the tags of a message without a level.
    stored: Numbers = microseconds(batch.column("store_timestamp"))
    return timestamps(due, due < stored // 1000)


DELAY = Table("delay", COLUMNS, _parts, batches=_batches)
