"""`transactions`: one row for each transaction whose half message is in the log, with its fate.

A broker stores a half message again each time it asks the producer, so one transaction has several, all with one UNIQ_KEY. A broker
with transactions in RocksDB (5.4.0+) stores it once, in a topic of its own, and counts in `rocksdbstore`:

    committed      a message with the commit flag names the offset of one of its half messages
    rolled_back    an op message names the queue offset of one of them, or there is a rollback record (4.0 to 4.2);
                   with RocksDB, an op message names its offset in the log
    finished       as rolled_back, but a part of the log is damaged or missing, and may have held the committed message
    discarded      given up after too many checks: a copy is in TRANS_CHECK_MAX_TIME_TOPIC; with RocksDB, only its row is gone
    undecided      none of these so far. Brokers since 5.1 write op messages seconds late
    unknown        undecided or discarded: the database tells, but it cannot be read

The first that applies counts: a broker can give up a half message before it writes the op message of another copy.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import array, numpy_of, repeat
from native_reader.broker.store_database import NONE_UNDECIDED, UndecidedHalves, undecided_halves
from native_reader.columns.projection import Projection
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.errors import UnreadableError, warn
from native_reader.layout.arrays import is_among, last_of_each, place_among
from native_reader.layout.kinds import HALF_TOPIC, MAX_TIME_TOPIC, OP_TOPIC, ROCKSDB_HALF_TOPIC, ROCKSDB_OP_TOPIC
from native_reader.layout.record import Mask, Numbers
from native_reader.plan.planner import plan_read
from native_reader.plan.planning import Planning
from native_reader.plan.ways import PlacesOfStores
from native_reader.predicate.tree import And, Column, Compare, In, Or, Predicate, all_of
from native_reader.sentences import say, told
from native_reader.storage.store import StoreFiles
from native_reader.tables.messages import NO_TIME, MessagesPart, in_pieces, integers, microseconds, pieces_of, property_in
from native_reader.tables.shares import KEY, NO_KEY, groups_of, shares
from native_reader.tables.table import Table, TableRequest

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "uniq_key": ColumnSpec(pa.string(), "the `uniq_key` of its messages; null if they have none"),
    "fate": ColumnSpec(pa.string(), "`committed`, `rolled_back`, `finished`, `discarded`, `undecided` or `unknown`"),
    "topic": ColumnSpec(pa.string(), "the topic that the message is for"),
    "queue_id": ColumnSpec(pa.int32(), "the queue that it is for"),
    "producer_group": ColumnSpec(pa.string(), "the producers that can decide it"),
    "born_host": ColumnSpec(pa.string(), "address and port of the producer that sent it"),
    "born_timestamp": ColumnSpec(TIMESTAMP, "when the producer created it"),
    "first_store_timestamp": ColumnSpec(TIMESTAMP, "when its first half message in the log was stored: since when it is pending"),
    "last_store_timestamp": ColumnSpec(TIMESTAMP, "when its last half message was stored"),
    "decided_timestamp": ColumnSpec(TIMESTAMP, "when the message that decided it was stored"),
    "halves": ColumnSpec(pa.int32(), "the number of its half messages; a broker stores one more for each check"),
    "checks": ColumnSpec(pa.int32(), "how often the broker asked the producer"),
    "first_physical_offset": ColumnSpec(pa.int64(), "physical offset of its first half message in the log"),
    "last_physical_offset": ColumnSpec(pa.int64(), "physical offset of its last one"),
    "decided_physical_offset": ColumnSpec(pa.int64(), "physical offset of the message that decided it"),
}

_log = logging.getLogger("native_reader")
_TOPIC, _KIND = Column("topic"), Column("kind")
_HALVES = Or(
    (
        In(_TOPIC, (HALF_TOPIC, ROCKSDB_HALF_TOPIC, MAX_TIME_TOPIC)),
        # Brokers 4.0 to 4.2 store both in the topic itself, in no queue and with queue offset 0. With the offset in the condition,
        # queues can exclude all messages except the first of each.
        And((In(_KIND, ("prepared", "rollback")), Compare(Column("queue_offset"), "=", 0))),
    )
)
_READ = (
    *("topic", "kind", "queue_id", "queue_offset", "uniq_key", "real_topic", "properties", "born_host"),
    *("born_timestamp", "store_timestamp", "physical_offset", "prepared_transaction_offset"),
)
_DECIDING = (
    *("topic", "queue_id", "tags", "body", "uniq_key", "properties"),
    *("store_timestamp", "physical_offset", "prepared_transaction_offset"),
)
_OP_TAG = "d"

_MOST_TOPICS = 1000
"""With more topics, the committed messages of all topics are read."""
_ROWS = 1 << 16


class HalfMessages(NamedTuple):
    """The log of one store up to `end`, and the splits that may hold half messages. A transaction can be anywhere in it."""

    store: StoreFiles
    end: int
    planning: Planning
    seen: PlacesOfStores
    halves: tuple[MessagesPart, ...]

    @property
    def work(self) -> int:
        """Twice the bytes that may hold half messages: what decides these is not known before they are read."""
        return 2 * sum(piece.work for piece in self.halves)


def _parts(request: TableRequest) -> list[HalfMessages]:
    parts: list[HalfMessages] = []
    for store in request.stores:
        plan = plan_read([store], _HALVES, request.planning, seen=request.seen)
        if plan.splits:
            parts.append(HalfMessages(store, dict(plan.ends)[store.uri], request.planning, request.seen, tuple(pieces_of(plan))))
    return parts


def _batches(part: HalfMessages, projection: Projection) -> Iterator[pa.RecordBatch]:
    lost = _LastLoss()
    for table in shares(partial(_read, part, projection, lost)):
        yield from _transactions(part, projection, table, lost).to_batches(_ROWS)


class _LastLoss:
    """The end of the last damaged or missing range that a read came across."""

    def __init__(self) -> None:
        self.end = 0

    def note(self, ends: Iterable[int]) -> None:
        """Other ranges that were lost."""
        self.end = max(self.end, *ends, 0)


def _read(log: HalfMessages, projection: Projection, lost: _LastLoss) -> Iterator[pa.RecordBatch]:
    """The messages that make transactions, in log order: half, prepared and rollback messages, and discarded copies."""
    for piece in log.halves:
        reading = piece.reading(projection, *_READ)
        for batch in reading:
            yield _compact(batch)
        lost.note(damage.end for damage in reading.report.damage)


def _compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    """What is held of each message. Texts that repeat are held once."""
    topic, kind, properties = batch.column("topic"), batch.column("kind"), batch.column("properties")
    is_half = pc.equal(kind, "half")
    role = pc.if_else(pc.equal(topic, ROCKSDB_HALF_TOPIC), "of RocksDB", kind)
    roles = pc.index_in(role, array(["half", "prepared", "of RocksDB", "rollback", "system"]))  # in the order of decisions.HALF…
    target = pc.if_else(is_half, batch.column("real_topic"), topic)
    target_queue = pc.if_else(is_half, integers(property_in(properties, "REAL_QID"), pa.int32()), batch.column("queue_id"))
    # A message without a key has its own offset, and the one that decides it names that offset.
    own = pc.if_else(pc.equal(kind, "rollback"), batch.column("prepared_transaction_offset"), batch.column("physical_offset"))
    columns = {
        KEY: pc.coalesce(batch.column("uniq_key"), pc.binary_join_element_wise(NO_KEY, own.cast(pa.string()), "")),
        "role": roles.cast(pa.int8()),
        "topic": target.dictionary_encode(),
        "target_queue": target_queue,
        "producer_group": property_in(properties, "PGROUP").dictionary_encode(),
        "born_host": batch.column("born_host").dictionary_encode(),
        "checks": integers(property_in(properties, "TRANSACTION_CHECK_TIMES"), pa.int32()),
    }
    columns |= {name: batch.column(name) for name in ("queue_id", "queue_offset", "born_timestamp", "store_timestamp", "physical_offset")}
    return pa.RecordBatch.from_pydict(columns)


def _transactions(log: HalfMessages, projection: Projection, table: pa.Table, lost: _LastLoss) -> pa.Table:
    """The transactions of one share of the keys."""
    table = table.unify_dictionaries()
    decisions = Decisions(table)
    if not len(decisions.first):
        return TRANSACTIONS.schema.empty_table()
    deciding = _deciding(log, table, lost)
    scaled = _scaled(projection, log.work // 2, sum(piece.work for piece in deciding))
    for piece in deciding:
        reading = piece.reading(scaled, *_DECIDING)
        for batch in reading:
            topic = batch.column("topic")
            is_op, is_rocksdb_op = pc.equal(topic, OP_TOPIC), pc.equal(topic, ROCKSDB_OP_TOPIC)
            decisions.add_ops(batch.filter(is_op))
            decisions.add_rocksdb_ops(batch.filter(is_rocksdb_op))
            decisions.add_commits(batch.filter(pc.invert(pc.or_(is_op, is_rocksdb_op))), log.store.first_record)
        lost.note(damage.end for damage in reading.report.damage)
    undecided = _undecided(log.store.uri, decisions)
    fates, decided, decided_at = decisions.fates(lost.end, undecided)

    first, last = table.take(array(decisions.first)), table.take(array(decisions.last))
    checks = np.zeros(len(first), np.int32)
    known = np.flatnonzero(decisions.groups >= 0)
    np.maximum.at(checks, decisions.groups[known], numpy_of(table.column("checks").fill_null(0))[known])
    if undecided is not None and len(undecided.offsets):
        offsets = numpy_of(first.column("physical_offset"))
        rows = place_among(offsets, undecided.offsets)
        checks = np.where(rows >= 0, undecided.checks[rows], checks)
    columns = {
        "store": repeat(log.store.uri, len(first)),
        "uniq_key": pc.if_else(pc.starts_with(first.column(KEY), NO_KEY), None, first.column(KEY)),
        "fate": fates,
        "queue_id": first.column("target_queue"),
        "first_store_timestamp": first.column("store_timestamp"),
        "last_store_timestamp": last.column("store_timestamp"),
        "decided_timestamp": _set(decided_at).cast(TIMESTAMP),
        "halves": array(decisions.counts.astype(np.int32)),
        "checks": array(checks, pa.int32()),
        "first_physical_offset": first.column("physical_offset"),
        "last_physical_offset": last.column("physical_offset"),
        "decided_physical_offset": _set(decided),
        "born_timestamp": first.column("born_timestamp"),
    }
    columns |= {name: first.column(name).cast(pa.string()) for name in ("topic", "producer_group", "born_host")}
    return pa.table(columns, schema=TRANSACTIONS.schema)


def _undecided(store: str, decisions: Decisions) -> UndecidedHalves | None:
    """The half messages that a broker has not decided, if any transaction needs them; None if the database cannot be read."""
    if not decisions.are_in_database.any():
        return NONE_UNDECIDED
    try:
        return undecided_halves(store)
    except UnreadableError as error:
        warn(_log, say("transactions unknown", why=told(error)))
        return None


def _deciding(log: HalfMessages, table: pa.Table, lost: _LastLoss) -> list[MessagesPart]:
    """The splits that may hold messages that decide these transactions: op messages, and committed ones of the target topics."""
    topics = [topic for topic in table.column("topic").unique().to_pylist() if topic is not None]
    committed: list[Predicate] = [Compare(_KIND, "=", "committed")]
    if len(topics) <= _MOST_TOPICS:
        committed.append(In(_TOPIC, tuple(topics)))
    ops = And((In(_TOPIC, (OP_TOPIC, ROCKSDB_OP_TOPIC)), Compare(Column("tags"), "=", _OP_TAG)))
    after = Compare(Column("physical_offset"), ">=", int(table.column("physical_offset")[0].as_py()))
    predicate = And((after, Or((ops, all_of(committed)))))
    plan = plan_read([log.store], predicate, log.planning, {log.store.uri: (log.store.min_offset, log.end)}, log.seen)
    lost.note(gap.stop for gap in plan.gaps)
    return pieces_of(plan)


def _scaled(projection: Projection, size: int, whole: int) -> Projection:
    """The same projection. Its progress over `whole` bytes counts as that over `size` bytes."""
    advanced = projection.advanced
    if advanced is None:
        return projection
    return replace(projection, advanced=lambda count: advanced(count * size // max(1, whole)))


def _set(numbers: Numbers) -> pa.Array:
    return array(numbers, mask=numbers == NO_TIME)


TRANSACTIONS = Table("transactions", COLUMNS, _parts, batches=_batches)


HALF, PREPARED, ROCKSDB_HALF, ROLLBACK, DISCARD = range(5)
"""The roles of messages in a transaction. The first three are half messages, of brokers of different kinds."""

_COMMITTED, _ROLLED_BACK, _FINISHED, _DISCARDED = range(4)
_FATES = ("committed", "rolled_back", "finished", "discarded", "undecided", "unknown")
_UNDECIDED, _UNKNOWN = 4, 5
_NAMED = "TRANS_OFFSET"
_DIGITS = r"\A[0-9]{1,18}\z"
_AT_ONCE = 1 << 20


class Decisions:
    """The transactions of one share of the keys, and the first message of each kind that decides them.

    `table` has the messages of the share in log order; it holds each transaction whole.
    """

    def __init__(self, table: pa.Table) -> None:
        self._keys = table.column(KEY).combine_chunks()
        self._offsets = numpy_of(table.column("physical_offset"))
        roles, times, groups = numpy_of(table.column("role")), microseconds(table.column("store_timestamp")), groups_of(table.column(KEY))
        self._halves = np.flatnonzero(roles <= ROCKSDB_HALF)
        known, first, counts = np.unique(groups[self._halves], return_index=True, return_counts=True)
        self.first, self.counts = self._halves[first], counts
        """The row of the first half message of each transaction, and how many it has."""
        self.last = self._halves[last_of_each(groups[self._halves])]
        numbers = np.full(int(groups.max()) + 1, -1)
        numbers[known] = np.arange(len(known))
        self.groups: Numbers = numbers[groups]
        """The transaction of each row; -1 where it has no half message."""
        self._found = np.full((4, len(known)), NO_TIME)
        self._found_at = np.full((4, len(known)), NO_TIME)
        for role, kind in ((ROLLBACK, _ROLLED_BACK), (DISCARD, _DISCARDED)):
            rows = np.flatnonzero((roles == role) & (self.groups >= 0))
            self._note(kind, self.groups[rows], self._offsets[rows], times[rows])
        self._in_database = roles == ROCKSDB_HALF
        self._ops = _Ops(table, np.flatnonzero(roles == HALF))

    def _note(self, kind: int, groups: Numbers, offsets: Numbers, times: Numbers) -> None:
        """Keep the first message of a kind for each transaction. Messages come in log order."""
        groups, first = np.unique(groups, return_index=True)
        is_new = self._found[kind, groups] == NO_TIME
        groups, first = groups[is_new], first[is_new]
        self._found[kind, groups], self._found_at[kind, groups] = offsets[first], times[first]

    def add_ops(self, batch: pa.RecordBatch) -> None:
        """Op messages, in log order after all earlier ones."""
        self._ops.add(batch)

    def add_rocksdb_ops(self, batch: pa.RecordBatch) -> None:
        """Op messages of brokers with transactions in RocksDB, in the same order. Each names a half message by its offset."""
        named = numpy_of(integers(property_in(batch.column("properties"), _NAMED), pa.int64()).fill_null(-1))
        rows = place_among(named, self._offsets)
        is_half = (rows >= 0) & self._in_database[rows]
        offsets, times = numpy_of(batch.column("physical_offset")), microseconds(batch.column("store_timestamp"))
        self._note(_FINISHED, self.groups[rows[is_half]], offsets[is_half], times[is_half])

    def add_commits(self, batch: pa.RecordBatch, first_offset: int) -> None:
        """Messages with the commit flag. `first_offset`: the log has nothing before it."""
        named = numpy_of(batch.column("prepared_transaction_offset"))
        rows = place_among(named, self._offsets)
        is_known = rows >= 0
        if (named < first_offset).any():  # that half message has expired, but the log may have a later one of the transaction
            by_key = numpy_of(pc.index_in(batch.column("uniq_key"), self._keys).fill_null(-1))
            rows = np.where(is_known, rows, np.maximum(by_key, 0))
            is_known |= (named < first_offset) & (by_key >= 0)
        keys = self._keys.take(array(np.maximum(rows, 0)))
        fits = pc.fill_null(pc.or_kleene(pc.is_null(batch.column("uniq_key")), pc.equal(keys, batch.column("uniq_key"))), False)
        is_known &= numpy_of(fits) & (self.groups[rows] >= 0)
        offsets, times = numpy_of(batch.column("physical_offset")), microseconds(batch.column("store_timestamp"))
        self._note(_COMMITTED, self.groups[rows[is_known]], offsets[is_known], times[is_known])

    @property
    def are_in_database(self) -> Mask:
        """Which transactions have half messages of a broker that keeps those that are undecided in RocksDB."""
        return np.asarray(self._in_database[self.first], np.bool_)

    def fates(self, lost_until: int, undecided: UndecidedHalves | None) -> tuple[pa.Array, Numbers, Numbers]:
        """The fate of each transaction, and offset and time of the message that decided it.

        Nothing is lost after `lost_until`. `undecided`: from the broker's database; None if it cannot be read.
        """
        halves, offsets, times = self._ops.joined()
        self._note(_FINISHED, self.groups[halves], offsets, times)
        has = self._found != NO_TIME
        may_be_lost = self._offsets[self.first] < lost_until
        chosen = np.select([*has], list(range(4)), 4)
        names = np.select([*has], [0, 1, np.where(may_be_lost, 2, 1), 3], self._without_message(undecided))
        fates = array(_FATES).take(array(names))
        each, unset = np.arange(len(chosen)), np.full((1, len(chosen)), NO_TIME)
        return fates, np.concatenate([self._found, unset])[chosen, each], np.concatenate([self._found_at, unset])[chosen, each]

    def _without_message(self, undecided: UndecidedHalves | None) -> Numbers:
        """The fate of each transaction if no message decided it. With RocksDB, a broker that gives up only deletes its row."""
        if undecided is None:
            return np.where(self.are_in_database, _UNKNOWN, _UNDECIDED)
        offsets = self._offsets[self.first]
        is_known = np.isin(offsets, undecided.offsets) | (offsets > undecided.indexed)
        return np.where(self.are_in_database & ~is_known, _DISCARDED, _UNDECIDED)


class _Ops:
    """Op messages that name half messages by queue and queue offset. Both repeat if the half topic was deleted and made again.

    Of the ops that name one half message, only the first is kept: so memory depends on the half messages.
    """

    def __init__(self, table: pa.Table, halves: Numbers) -> None:
        self._rows = halves
        self._queues = numpy_of(table.column("queue_id"))[halves].astype(np.int64)
        self._numbers = numpy_of(table.column("queue_offset"))[halves]
        self._offsets = numpy_of(table.column("physical_offset"))[halves]
        self._known = np.unique(self._numbers)
        self._waiting: list[tuple[Numbers, ...]] = []
        self._count = 0
        self._first, self._first_at = np.full((2, len(halves)), NO_TIME)

    def add(self, batch: pa.RecordBatch) -> None:
        if not len(self._known):
            return
        for piece in in_pieces(batch):
            named = pc.split_pattern(piece.column("body"), b",")
            message, texts = numpy_of(pc.list_parent_indices(named)), named.flatten()
            good = np.flatnonzero(numpy_of(pc.match_substring_regex(texts, _DIGITS)))
            numbers = numpy_of(texts.take(array(good)).cast(pa.string()).cast(pa.int64()))
            is_known = is_among(numbers, self._known)
            if not is_known.any():
                continue
            message, numbers = message[good[is_known]], numbers[is_known]
            offsets, times = numpy_of(piece.column("physical_offset")), microseconds(piece.column("store_timestamp"))
            queues = numpy_of(piece.column("queue_id")).astype(np.int64)
            self._waiting.append((queues[message], numbers, offsets[message], times[message]))
            self._count += len(numbers)
            if self._count >= max(_AT_ONCE, len(self._rows)):
                self._join()

    def joined(self) -> tuple[Numbers, Numbers, Numbers]:
        """The row of each half message that an op names, with offset and time of the op, in log order of the ops."""
        self._join()
        named = np.flatnonzero(self._first != NO_TIME)
        named = named[np.argsort(self._first[named], kind="stable")]
        return self._rows[named], self._first[named], self._first_at[named]

    def _join(self) -> None:
        """Find the half messages of the ops that wait. An op means the last half message before it with that queue offset."""
        count = len(self._rows)
        queues, numbers, offsets, times = (
            np.concatenate(each)
            for each in zip((self._queues, self._numbers, self._offsets, np.zeros(count, np.int64)), *self._waiting, strict=True)
        )
        order = np.lexsort((offsets, numbers, queues))
        is_half = order < count
        before = np.maximum.accumulate(np.where(is_half, np.arange(len(order)), -1))
        fits = ~is_half & (before >= 0)
        half, op = order[np.maximum(before, 0)[fits]], order[fits]
        same = (queues[half] == queues[op]) & (numbers[half] == numbers[op])
        half, op = half[same], op[same]
        by_offset = np.argsort(offsets[op], kind="stable")
        half, op = half[by_offset], op[by_offset]
        half, first = np.unique(half, return_index=True)
        is_new = self._first[half] == NO_TIME
        half, op = half[is_new], op[first[is_new]]
        self._first[half], self._first_at[half] = offsets[op], times[op]
        self._waiting, self._count = [], 0
