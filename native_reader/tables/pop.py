"""`pop`: one row for each message that a pop consumer took, with the time until which no other consumer gets it.

The log has checkpoints and acknowledgements, twice: a broker stores them in the timer topic, and later in the revive topic. With
`popConsumerKVServiceEnable` (5.3.2+), the database `kvStore` has the messages that are not acknowledged, and the log has nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import array, numpy_of, repeat
from native_reader.columns.projection import Projection
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.columns.strings import text
from native_reader.errors import UnreadableError, warn
from native_reader.layout.arrays import place_among
from native_reader.layout.kinds import TIMER_TOPIC
from native_reader.layout.pop import (
    ACK,
    BATCH_ACK,
    CHECKPOINT,
    MOST_POPPED,
    POP_DATABASE,
    POP_STATE,
    REVIVE_TOPIC_PREFIX,
    Held,
    fields_of,
    held_in,
)
from native_reader.layout.record import Index, Mask, Numbers
from native_reader.predicate.tree import And, Column, Compare, Like, Or
from native_reader.sentences import say, told
from native_reader.storage.rocksdb import has_entries, is_database, open_database
from native_reader.tables.messages import LARGEST, MessagesPart, in_pieces, pieces_by_store, timestamps_of
from native_reader.tables.shares import KEY, groups_of, shares
from native_reader.tables.table import Table, TableRequest

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "group": ColumnSpec(pa.string(), "the consumer group"),
    "topic": ColumnSpec(pa.string(), "the topic that the message was taken from, which can be a retry topic"),
    "queue_id": ColumnSpec(pa.int32(), "the queue"),
    "queue_offset": ColumnSpec(pa.int64(), "queue offset of the message"),
    "acknowledged": ColumnSpec(pa.bool_(), "whether the consumer acknowledged it, or asked for another time, which is another row"),
    "popped_timestamp": ColumnSpec(TIMESTAMP, "when it was taken: since when it is invisible"),
    "visible_timestamp": ColumnSpec(TIMESTAMP, "until when it is invisible; later, a broker puts it into the retry topic of the group"),
    "acknowledged_timestamp": ColumnSpec(TIMESTAMP, "when the acknowledgement was stored"),
    "physical_offset": ColumnSpec(pa.int64(), "offset of its checkpoint in the log; null for a message of the database `kvStore`"),
}
_log = logging.getLogger("native_reader")
_REVIVE = REVIVE_TOPIC_PREFIX.replace("_", r"\_") + "%"
_POP = Or(
    (
        Like(Column("topic"), _REVIVE),
        And((Compare(Column("topic"), "=", TIMER_TOPIC), Like(Column("real_topic"), _REVIVE))),
    )
)
_READ = ("tags", "body", "store_timestamp", "physical_offset")
_BETWEEN = "\x01"
"""No name of a topic or group holds it."""
_ROWS = 1 << 16


class PoppedMessages(NamedTuple):
    """The splits of one store that may hold what pop consumers did, and whether the store has the database for it."""

    store: str
    database: str | None
    pieces: tuple[MessagesPart, ...]

    @property
    def work(self) -> int:
        """The approximate number of bytes to read."""
        return sum(piece.work for piece in self.pieces)


def _parts(request: TableRequest) -> list[PoppedMessages]:
    found = pieces_by_store(request, _POP)
    databases = {store.uri: f"{store.uri}/{POP_DATABASE}" for store in request.stores if is_database(f"{store.uri}/{POP_DATABASE}")}
    return [
        PoppedMessages(store.uri, databases.get(store.uri), tuple(found.get(store.uri, ())))
        for store in request.stores
        if store.uri in found or store.uri in databases
    ]


def _batches(part: PoppedMessages, projection: Projection) -> Iterator[pa.RecordBatch]:
    if part.pieces:
        for table in shares(partial(_read, part, projection)):
            yield from _popped(part.store, table).to_batches(_ROWS)
    if part.database is not None:
        held = _held(part.database)
        while several := list(islice(held, _ROWS)):
            yield _of_database(part.store, several)


# The log


def _read(part: PoppedMessages, projection: Projection) -> Iterator[pa.RecordBatch]:
    """Each message of each checkpoint, and each acknowledgement, in log order."""
    for piece in part.pieces:
        for batch in piece.reading(projection, *_READ):
            for messages in in_pieces(batch):
                yield _compact(messages)


def _compact(messages: pa.RecordBatch) -> pa.RecordBatch:
    """What is held of each message that a checkpoint or an acknowledgement names."""
    tags, sizes = messages.column("tags"), pc.binary_length(messages.column("body"))
    fields = fields_of(text(pc.if_else(pc.less_equal(sizes, LARGEST), messages.column("body"), None)))
    is_checkpoint, is_ack, is_batch = (pc.fill_null(pc.equal(tags, tag), False) for tag in (CHECKPOINT, ACK, BATCH_ACK))
    named = {
        **{name: fields[name].combine_chunks() for name in ("t", "c", "q", "pt", "it", "ao")},
        "first": fields["so"].combine_chunks(),
        "apart": pc.if_else(is_checkpoint, fields["d"].combine_chunks(), None),
        "acks": pc.if_else(is_batch, fields["aol"].combine_chunks(), None),
        "count": pc.if_else(is_checkpoint, pc.min_element_wise(fields["n"].combine_chunks(), MOST_POPPED), 0),
    }
    rows, offsets = _messages_of(named, numpy_of(is_ack))
    of = array(rows)
    offset = array(offsets)
    texts = [named["c"].take(of), named["t"].take(of)]
    numbers = [named[name].take(of) for name in ("q", "pt")]
    columns = {
        KEY: pc.binary_join_element_wise(*texts, *(each.cast(pa.string()) for each in (*numbers, offset)), _BETWEEN),
        "is_ack": pc.invert(is_checkpoint.take(of)),
        "group": texts[0].dictionary_encode(),
        "topic": texts[1].dictionary_encode(),
        "queue": numbers[0],
        "popped": numbers[1],
        "invisible": named["it"].take(of),
        "queue_offset": offset,
    }
    columns |= {name: messages.column(name).take(of) for name in ("store_timestamp", "physical_offset")}
    batch = pa.RecordBatch.from_pydict(columns)
    is_whole = pc.and_(pc.is_valid(batch.column(KEY)), pc.or_(batch.column("is_ack"), pc.is_valid(batch.column("invisible"))))
    queue = batch.column("queue")
    return batch.filter(pc.and_(is_whole, pc.and_(pc.greater_equal(queue, 0), pc.less(queue, 1 << 31))))


def _messages_of(named: Mapping[str, pa.Array], is_ack: Mask) -> tuple[Index, Numbers]:
    """The rows of all messages that checkpoints and acknowledgements name, and their queue offsets."""
    first = named["first"]
    has_first, start = np.asarray(first.is_valid()), numpy_of(first.fill_null(0))
    apart = _listed(named["apart"])
    sizes = numpy_of(named["apart"].value_lengths().fill_null(0))
    counts = np.where(sizes == 0, np.maximum(numpy_of(named["count"].fill_null(0)), 0), 0)
    row = np.repeat(np.arange(len(counts)), counts)
    in_order = row, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    of_checkpoints = [(rows[has_first[rows]], (start[rows] + after)[has_first[rows]]) for rows, after in (apart, in_order)]
    acknowledged = np.flatnonzero(is_ack & np.asarray(named["ao"].is_valid()))
    found = [*of_checkpoints, (acknowledged, numpy_of(named["ao"].fill_null(0))[acknowledged]), _listed(named["acks"])]
    rows, offsets = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.argsort(rows, kind="stable")
    return rows[order], offsets[order]


def _listed(lists: pa.ListArray) -> tuple[Index, Numbers]:
    return numpy_of(pc.list_parent_indices(lists)).astype(np.intp), numpy_of(lists.flatten())


def _popped(store: str, table: pa.Table) -> pa.Table:
    """One row for each message of one share of the keys that a checkpoint names: the first one."""
    table = table.unify_dictionaries()
    groups, is_ack = groups_of(table.column(KEY)), numpy_of(table.column("is_ack"))
    known, first = np.unique(groups[~is_ack], return_index=True)
    first = np.flatnonzero(~is_ack)[first]
    confirmed, acks = np.unique(groups[is_ack], return_index=True)
    acks = np.flatnonzero(is_ack)[acks]
    which = place_among(known, confirmed)
    has_ack, ack = which >= 0, np.append(acks, 0)[which]

    order = np.argsort(first, kind="stable")
    first, has_ack, ack = first[order], has_ack[order], ack[order]
    rows = table.take(array(first))
    columns = {
        "store": repeat(store, len(rows)),
        **{name: rows.column(name).cast(pa.string()) for name in ("group", "topic")},
        "queue_id": rows.column("queue").cast(pa.int32()),
        "queue_offset": rows.column("queue_offset"),
        "acknowledged": array(has_ack),
        "popped_timestamp": timestamps_of(rows.column("popped")),
        "visible_timestamp": timestamps_of(pc.add(rows.column("popped"), rows.column("invisible"))),
        "acknowledged_timestamp": table.column("store_timestamp").take(array(ack, mask=~has_ack)),
        "physical_offset": rows.column("physical_offset"),
    }
    return pa.table(columns).select(list(COLUMNS))


# The database


def _held(database: str) -> Iterator[Held]:
    """The messages in the database, one by one: only those that are held now."""
    if not has_entries(database):
        return
    try:
        with open_database(database) as opened:
            for _, value in opened.items(family=POP_STATE):
                if (held := held_in(value)) is not None:
                    yield held
    except UnreadableError as error:
        warn(_log, say("pop state missing", why=told(error)))


def _of_database(store: str, held: Sequence[Held]) -> pa.RecordBatch:
    columns: dict[str, object] = {name: [getattr(each, name) for each in held] for name in ("group", "topic", "queue_id", "queue_offset")}
    columns |= {f"{name}_timestamp": timestamps_of(array([getattr(each, name) for each in held])) for name in ("popped", "visible")}
    nothing = {name: pa.nulls(len(held), COLUMNS[name].type) for name in ("acknowledged_timestamp", "physical_offset")}
    return POP.batch({"store": [store] * len(held), "acknowledged": [False] * len(held), **columns, **nothing})


POP = Table("pop", COLUMNS, _parts, batches=_batches)
