"""`duplicates`: one row for each copy of a message that is in the log more than once.

Copies have the same uniq_key, which clients show as the id of the message, and the same stored body:

    first        the earliest in the log
    sent         with another born timestamp: the producer sent it again, as clients do after a timeout
    stored       of the same send, in the same topic, after as many attempts: the broker stored it twice
    delivered    of the same send, made by the broker: a committed, due, retried or dead message
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import array, numpy_of
from native_reader.columns.projection import Projection
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.layout.kinds import DELAY_TOPIC, SYSTEM_KINDS, TIMER_TOPIC
from native_reader.layout.origins import is_sent_back
from native_reader.layout.record import Mask, Numbers
from native_reader.plan.plan import make_plan
from native_reader.predicate.tree import Column, In, Not, Predicate
from native_reader.tables.messages import MessagesPart, microseconds, pieces_of
from native_reader.tables.shares import KEY, groups_of, shares
from native_reader.tables.table import Table, TableRequest

REASONS = ("first", "sent", "stored", "delivered")
FIRST, SENT, STORED, DELIVERED = range(len(REASONS))

_OF_MESSAGE = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "physical_offset": ColumnSpec(pa.int64(), "the offset of this copy's record in the log"),
    "inner_index": ColumnSpec(pa.int32(), "the index in an inner batch; null outside an inner batch"),
    "topic": ColumnSpec(pa.string(), "the topic that stores this copy"),
    "queue_id": ColumnSpec(pa.int32(), "the queue of that topic"),
    "queue_offset": ColumnSpec(pa.int64(), "the offset in that queue"),
    "kind": ColumnSpec(pa.string(), "the kind of message, see [columns.md](columns.md#kinds)"),
    "origin_topic": ColumnSpec(pa.string(), "in a retry or DLQ topic: the topic to which the message was sent at first"),
    "reconsume_times": ColumnSpec(pa.int32(), "how often consumers retried it"),
    "born_timestamp": ColumnSpec(TIMESTAMP, "when the producer sent it"),
    "store_timestamp": ColumnSpec(TIMESTAMP, "when the broker stored this copy"),
}
COLUMNS = {
    "uniq_key": ColumnSpec(pa.string(), "the id that all copies have"),
    "reason": ColumnSpec(pa.string(), "`first`, `sent`, `stored` or `delivered`, see below"),
    "copies": ColumnSpec(pa.int64(), "the number of copies in the log, with this one"),
    "first_physical_offset": ColumnSpec(pa.int64(), "the physical offset of the first copy"),
    **_OF_MESSAGE,
}
_READ = (*_OF_MESSAGE, "uniq_key", "body_crc", "body_size", "real_topic")
_REPEATED = ("store", "topic", "kind", "origin_topic")
_INTERNAL: Predicate = In(Column("kind"), ("op", "trace", "pop", "system"))
"""Messages of the broker itself, which have ids of their own."""
_ROWS = 1 << 16


class Logs(NamedTuple):
    """The logs of all stores: copies can be in several. One part, because any two messages may be copies."""

    pieces: tuple[MessagesPart, ...]

    @property
    def work(self) -> int:
        """The approximate number of bytes to read, if all messages fit in one share."""
        return sum(piece.work for piece in self.pieces)


def _parts(request: TableRequest) -> list[Logs]:
    plan = make_plan(request.reads, Not(_INTERNAL), request.planning)
    return [Logs(tuple(pieces_of(plan)))] if plan.splits else []


def _batches(part: Logs, projection: Projection) -> Iterator[pa.RecordBatch]:
    for share in shares(partial(_read, part, projection)):
        copies = _copies(share.unify_dictionaries())
        for begin in range(0, len(copies), _ROWS):
            yield from copies.slice(begin, _ROWS).combine_chunks().to_batches()


def _read(logs: Logs, projection: Projection) -> Iterator[pa.RecordBatch]:
    """What is held of each message with an id. Texts that repeat are held once in each batch."""
    for piece in logs.pieces:
        for batch in piece.reading(projection, *_READ):
            yield _compact(batch)


def _compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    target = batch.column("real_topic")
    waits = pc.is_in(batch.column("topic"), array([DELAY_TOPIC, TIMER_TOPIC]))
    for_broker = pc.and_(waits, pc.starts_with(target, "rmq_sys_")).fill_null(False)
    batch = batch.filter(pc.and_(batch.column("uniq_key").is_valid(), pc.invert(for_broker)))
    # The batches of old brokers have the id of the whole batch in each message. So the body belongs to the key.
    body = [batch.column(name).cast(pa.string()) for name in ("body_crc", "body_size")]
    columns = {KEY: pc.binary_join_element_wise(batch.column("uniq_key"), *body, "\x02")}
    columns["retried"] = _is_sent_back(batch.column("topic"), batch.column("real_topic"))
    columns |= {name: batch.column(name) for name in _OF_MESSAGE}
    return pa.RecordBatch.from_pydict(columns | {name: columns[name].dictionary_encode() for name in _REPEATED})


def _is_sent_back(topics: pa.Array, targets: pa.Array) -> pa.Array:
    """Which messages a consumer sent back, or wait until they are due for a retry topic."""
    stored = pc.if_else(pc.equal(topics, DELAY_TOPIC), pc.coalesce(targets, topics), topics).dictionary_encode()
    return array([is_sent_back(each) for each in stored.dictionary.to_pylist()], pa.bool_()).take(stored.indices)


def _copies(table: pa.Table) -> pa.Table:
    """The rows of all messages with several copies, of one share of the keys."""
    table = _repeated(table)
    groups, born = groups_of(table[KEY]), microseconds(table["born_timestamp"])
    stage = groups, _codes(table["topic"]), born, numpy_of(table["reconsume_times"])
    is_alone = _is_first(*stage, microseconds(table["store_timestamp"]))
    if not is_alone.all():  # messages of one batch, which were stored together
        return _copies(table.filter(array(is_alone)))
    kinds = table["kind"].combine_chunks().cast(pa.string())
    is_internal = numpy_of(pc.is_in(kinds, array(SYSTEM_KINDS)))
    retried = numpy_of(table["retried"].combine_chunks())
    reason = np.full(len(table), DELIVERED)
    reason[~retried & _is_first(groups, born)] = SENT
    reason[~_is_first(*stage) & ~is_internal] = STORED
    reason[_is_first(groups)] = FIRST
    offsets = numpy_of(table["physical_offset"])
    columns = {
        "uniq_key": pc.list_element(pc.split_pattern(table[KEY], "\x02"), 0),
        "reason": array(REASONS).take(array(reason)),
        "copies": array(np.bincount(groups)[groups]),
        "first_physical_offset": array(offsets[_first_equal(groups)]),
    }
    columns |= {name: table[name].cast(COLUMNS[name].type) for name in _OF_MESSAGE}
    return pa.table(columns, schema=DUPLICATES.schema)


def _repeated(table: pa.Table) -> pa.Table:
    """The rows whose key occurs twice or more, by key and then in the order in which brokers stored them."""
    groups = groups_of(table[KEY])
    rows = np.flatnonzero(np.bincount(groups)[groups] > 1)
    chosen = table.take(array(rows))
    inner = numpy_of(chosen["inner_index"].fill_null(-1))
    order = np.lexsort((inner, numpy_of(chosen["physical_offset"]), microseconds(chosen["store_timestamp"]), groups[rows]))
    return chosen.take(array(order))


def _first_equal(*keys: Numbers) -> Numbers:
    """For each row, the first row with the same keys."""
    count = len(keys[0])
    order = np.lexsort(keys)  # stable, so the first of equal rows comes first
    differs = np.zeros(count, np.bool_)
    differs[:1] = True
    for key in keys:
        differs[1:] |= key[order][1:] != key[order][:-1]
    first = np.empty(count, np.int64)
    first[order] = order[np.maximum.accumulate(np.where(differs, np.arange(count), 0))]
    return first


def _is_first(*keys: Numbers) -> Mask:
    """Which rows are the first with their keys."""
    is_first: Mask = _first_equal(*keys) == np.arange(len(keys[0]))
    return is_first


def _codes(texts: pa.ChunkedArray) -> Numbers:
    """A number for each distinct text."""
    codes: Numbers = numpy_of(texts.cast(pa.string()).combine_chunks().dictionary_encode().indices).astype(np.int64)
    return codes


DUPLICATES = Table("duplicates", COLUMNS, _parts, batches=_batches)
