"""`dlq`: one row for each consumer group and topic whose messages the group gave up, so that a broker moved them to `%DLQ%group`.

A broker stores no reason: `sendMessageBack` copies the properties of the stored message, whatever the consumer did with its own copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import repeat
from native_reader.columns.projection import Projection
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.layout.origins import DLQ_PREFIX
from native_reader.predicate.tree import Column, Compare
from native_reader.sums import MOST_GROUPS, Tally, measures
from native_reader.tables.messages import MessagesPart, pieces_by_store
from native_reader.tables.table import Table, TableRequest

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "group": ColumnSpec(pa.string(), "the consumer group; null in a row for the rest, if more than 100,000 are found"),
    "origin_topic": ColumnSpec(pa.string(), "the topic to which the messages were sent at first; null if it cannot be known"),
    "messages": ColumnSpec(pa.int64(), "the number of its dead messages in the log"),
    "bytes": ColumnSpec(pa.int64(), "bytes of their records"),
    "min_reconsume_times": ColumnSpec(pa.int32(), "how often consumers failed on one of them, at least"),
    "max_reconsume_times": ColumnSpec(pa.int32(), "how often consumers failed on one of them, at most"),
    "first_born_timestamp": ColumnSpec(TIMESTAMP, "when the oldest of them was created by its producer"),
    "first_store_timestamp": ColumnSpec(TIMESTAMP, "when the first of them was given up"),
    "last_store_timestamp": ColumnSpec(TIMESTAMP, "when the last of them was given up"),
}
_DEAD = Compare(Column("kind"), "=", "dlq")
_READ = ("topic", "origin_topic", "reconsume_times", "born_timestamp", "store_timestamp", "record_size", "inner_index")
_KEYS, _SUMS = ("group", "origin_topic"), ("messages", "bytes")
_LEAST = ("min_reconsume_times", "first_born_timestamp", "first_store_timestamp")
_MOST = ("max_reconsume_times", "last_store_timestamp")
_ROWS = 1 << 16


class DeadMessages(NamedTuple):
    """The splits of one store that may hold dead messages."""

    store: str
    pieces: tuple[MessagesPart, ...]

    @property
    def work(self) -> int:
        """The approximate number of bytes to read."""
        return sum(piece.work for piece in self.pieces)


def _parts(request: TableRequest) -> list[DeadMessages]:
    return [DeadMessages(store, tuple(found)) for store, found in pieces_by_store(request, _DEAD).items()]


def _batches(part: DeadMessages, projection: Projection) -> Iterator[pa.RecordBatch]:
    tally = Tally(_KEYS, _SUMS, least=_LEAST, most=_MOST, limit=MOST_GROUPS)
    for piece in part.pieces:
        for batch in piece.reading(projection, *_READ):
            tally.add(_counted(batch))
    if (found := tally.table()) is None:
        return
    for batch in found.to_batches(_ROWS):
        yield DLQ.batch({"store": repeat(part.store, len(batch))} | {name: batch[name] for name in batch.schema.names})
    if tally.forgotten_groups:
        rest = tally.top(len(found)).others
        yield pa.RecordBatch.from_pylist([{"store": part.store, **rest}], DLQ.schema)


def _counted(batch: pa.RecordBatch) -> pa.Table:
    retries, stored = batch["reconsume_times"], batch["store_timestamp"]
    counts = measures(batch)
    columns = {
        "group": pc.utf8_slice_codeunits(batch["topic"].cast(pa.string()), len(DLQ_PREFIX)),
        "origin_topic": batch["origin_topic"].cast(pa.string()),
        "min_reconsume_times": retries,
        "max_reconsume_times": retries,
        "first_born_timestamp": batch["born_timestamp"],
        "first_store_timestamp": stored,
        "last_store_timestamp": stored,
    }
    return pa.table(columns | {name: counts[name] for name in _SUMS})


DLQ = Table("dlq", COLUMNS, _parts, batches=_batches)
