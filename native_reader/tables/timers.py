"""`timers`: one row for each message that waits in the timer topic of a 5.x broker.

A broker stores a message with a long delay in that topic again each time the wheel turns. Only the last of these counts. The file
`timercheck` has the time up to which messages were delivered; with the timer in RocksDB (5.4.0+), `rocksdbstore` has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import array, numpy_of, repeat
from native_reader.broker.progress import timer_check_of
from native_reader.columns.projection import Projection
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.layout.arrays import last_of_each, place_among
from native_reader.layout.kinds import TIMER_TOPIC
from native_reader.layout.progress import TimerCheck
from native_reader.predicate.tree import Column, Compare
from native_reader.tables.messages import NO_TIME, MessagesPart, integers, pieces_by_store, property_in, timestamps_of
from native_reader.tables.shares import KEY, NO_KEY, groups_of, shares
from native_reader.tables.table import Table, TableRequest

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "state": ColumnSpec(pa.string(), "`pending`; `recalled`: it will not be delivered; `unknown`: it may have been delivered"),
    "due_timestamp": ColumnSpec(TIMESTAMP, "when it will be delivered; null if the message does not have it"),
    "topic": ColumnSpec(pa.string(), "the topic that it will be delivered to"),
    "queue_id": ColumnSpec(pa.int32(), "the queue that it will be delivered to"),
    "tags": ColumnSpec(pa.string(), "its tags"),
    "uniq_key": ColumnSpec(pa.string(), "its `uniq_key`; null if it has none"),
    "rolls": ColumnSpec(pa.int32(), "how often the broker stored it again because its delay is longer than a turn of the wheel"),
    "born_timestamp": ColumnSpec(TIMESTAMP, "when the producer created it"),
    "first_store_timestamp": ColumnSpec(TIMESTAMP, "when it was first stored in the timer topic, as far as the log goes back"),
    "recalled_timestamp": ColumnSpec(TIMESTAMP, "when the request to recall it was first stored"),
    "queue_offset": ColumnSpec(pa.int64(), "queue offset of the message in the timer topic, where it was stored last"),
    "physical_offset": ColumnSpec(pa.int64(), "offset of that message in the log"),
}
_TIMERS = Compare(Column("topic"), "=", TIMER_TOPIC)
_READ = ("queue_offset", "uniq_key", "real_topic", "tags", "properties", "born_timestamp", "store_timestamp", "physical_offset")
_RECALLED = "TIMER_DEL_UNIQKEY"
_ROWS = 1 << 16


class Timers(NamedTuple):
    """The splits of one store that may hold timed messages, and how far its timer is."""

    store: str
    check: TimerCheck | None
    pieces: tuple[MessagesPart, ...]

    @property
    def work(self) -> int:
        """The approximate number of bytes to read."""
        return sum(piece.work for piece in self.pieces)


def _parts(request: TableRequest) -> list[Timers]:
    configs = {store.uri: store.config for store in request.stores}
    return [Timers(uri, timer_check_of(uri, configs[uri]), tuple(own)) for uri, own in pieces_by_store(request, _TIMERS).items()]


def _batches(part: Timers, projection: Projection) -> Iterator[pa.RecordBatch]:
    for table in shares(partial(_read, part, projection)):
        yield from _waiting(part, table).to_batches(_ROWS)


def _read(timers: Timers, projection: Projection) -> Iterator[pa.RecordBatch]:
    """The messages that are not certainly delivered, in log order, and the requests to recall them."""
    for piece in timers.pieces:
        for batch in piece.reading(projection, *_READ):
            compact = _compact(batch)
            yield compact if timers.check is None else compact.filter(_waits(compact, timers.check))


def _compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    """What is held of each message. Texts that repeat are held once."""
    properties, own, topic = batch.column("properties"), batch.column("uniq_key"), batch.column("real_topic")
    recalled = property_in(properties, _RECALLED)
    # A broker can be set to write the topic and a plus before the key.
    with_topic = pc.equal(recalled, pc.binary_join_element_wise(topic, own, "+"))
    named = pc.if_else(pc.fill_null(with_topic, False), own, recalled)
    number = pc.binary_join_element_wise(NO_KEY, batch.column("physical_offset").cast(pa.string()), "")
    columns = {
        KEY: pc.coalesce(named, own, number),
        "is_recall": pc.is_valid(recalled),
        "due": integers(property_in(properties, "TIMER_OUT_MS"), pa.int64()),
        "topic": topic.dictionary_encode(),
        "target_queue": integers(property_in(properties, "REAL_QID"), pa.int32()),
        "tags": batch.column("tags").dictionary_encode(),
        "rolls": integers(property_in(properties, "TIMER_ROLL_TIMES"), pa.int32()),
    }
    columns |= {name: batch.column(name) for name in ("queue_offset", "born_timestamp", "store_timestamp", "physical_offset")}
    return pa.RecordBatch.from_pydict(columns)


def _waits(batch: pa.RecordBatch, check: TimerCheck) -> pa.Array:
    """Which messages the timer has not delivered: they are not due, or it has not read them."""
    is_early = pc.fill_null(pc.greater_equal(batch.column("due"), check.read_time), True)
    return pc.or_(is_early, pc.greater_equal(batch.column("queue_offset"), check.queue_offset))


def _waiting(timers: Timers, table: pa.Table) -> pa.Table:
    """One row for each message of one share of the keys: where it was stored last."""
    table = table.unify_dictionaries()
    # The key of a message that is sent twice is the same; only the due time tells them apart. A request to recall names both.
    due = numpy_of(table.column("due").fill_null(NO_TIME))
    _, times = np.unique(due, return_inverse=True)
    groups = groups_of(table.column(KEY)) * (int(times.max()) + 1) + times
    is_recall = numpy_of(table.column("is_recall"))
    messages, recalls = np.flatnonzero(~is_recall), np.flatnonzero(is_recall)
    known, first = np.unique(groups[messages], return_index=True)
    last = messages[last_of_each(groups[messages])]
    first = messages[first]
    recalled, requests = np.unique(groups[recalls], return_index=True)
    places = place_among(known, recalled)
    has_request, requests = places >= 0, np.append(recalls[requests], 0)[places]

    order = np.argsort(first, kind="stable")
    first, last, has_request, requests = first[order], last[order], has_request[order], requests[order]
    rows = table.take(array(last))
    unsure = pc.is_null(rows.column("due")) if timers.check is not None else repeat(True, len(rows))
    state = pc.if_else(array(has_request), "recalled", pc.if_else(unsure, "unknown", "pending"))
    columns = {
        "store": repeat(timers.store, len(rows)),
        "state": state,
        "due_timestamp": timestamps_of(rows.column("due")),
        "uniq_key": pc.if_else(pc.starts_with(rows.column(KEY), NO_KEY), None, rows.column(KEY)),
        "queue_id": rows.column("target_queue"),
        "rolls": rows.column("rolls").fill_null(0),
        "first_store_timestamp": table.column("store_timestamp").take(array(first)),
        "recalled_timestamp": table.column("store_timestamp").take(array(requests, mask=~has_request)),
    }
    columns |= {name: rows.column(name).cast(pa.string()) for name in ("topic", "tags")}
    columns |= {name: rows.column(name) for name in ("born_timestamp", "queue_offset", "physical_offset")}
    return pa.table(columns, schema=TIMERS.schema)


TIMERS = Table("timers", COLUMNS, _parts, batches=_batches)
