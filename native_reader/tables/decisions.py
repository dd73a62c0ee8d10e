"""What decided each transaction: messages that name a half message by its offset, by its queue offset or by its key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.broker.store_database import UndecidedHalves
from native_reader.layout.arrays import last_of_each
from native_reader.layout.record import Mask, Numbers
from native_reader.tables.messages import NO_TIME, in_pieces, integers, microseconds, property_in
from native_reader.tables.shares import KEY, groups_of

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
        self._offsets = table.column("physical_offset").to_numpy()
        roles, times, groups = table.column("role").to_numpy(), microseconds(table.column("store_timestamp")), groups_of(table.column(KEY))
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
        named = integers(property_in(batch.column("properties"), _NAMED), pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        rows = np.minimum(np.searchsorted(self._offsets, named), len(self._offsets) - 1)
        is_half = (self._offsets[rows] == named) & self._in_database[rows]
        offsets, times = batch.column("physical_offset").to_numpy(), microseconds(batch.column("store_timestamp"))
        self._note(_FINISHED, self.groups[rows[is_half]], offsets[is_half], times[is_half])

    def add_commits(self, batch: pa.RecordBatch, first_offset: int) -> None:
        """Messages with the commit flag. `first_offset`: the log has nothing before it."""
        named = batch.column("prepared_transaction_offset").to_numpy()
        rows = np.minimum(np.searchsorted(self._offsets, named), len(self._offsets) - 1)
        is_known = self._offsets[rows] == named
        if (named < first_offset).any():  # that half message has expired, but the log may have a later one of the transaction
            by_key = pc.index_in(batch.column("uniq_key"), self._keys).fill_null(-1).to_numpy(zero_copy_only=False)
            rows = np.where(is_known, rows, np.maximum(by_key, 0))
            is_known |= (named < first_offset) & (by_key >= 0)
        keys = self._keys.take(pa.array(rows))
        fits = pc.fill_null(pc.or_kleene(pc.is_null(batch.column("uniq_key")), pc.equal(keys, batch.column("uniq_key"))), False)
        is_known &= fits.to_numpy(zero_copy_only=False) & (self.groups[rows] >= 0)
        offsets, times = batch.column("physical_offset").to_numpy(), microseconds(batch.column("store_timestamp"))
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
        fates = pa.array(_FATES).take(pa.array(names))
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
        self._queues = table.column("queue_id").to_numpy()[halves].astype(np.int64)
        self._numbers = table.column("queue_offset").to_numpy()[halves]
        self._offsets = table.column("physical_offset").to_numpy()[halves]
        self._known = np.unique(self._numbers)
        self._waiting: list[tuple[Numbers, ...]] = []
        self._count = 0
        self._first, self._first_at = np.full((2, len(halves)), NO_TIME)

    def add(self, batch: pa.RecordBatch) -> None:
        if not len(self._known):
            return
        for piece in in_pieces(batch):
            named = pc.split_pattern(piece.column("body"), b",")
            message, texts = pc.list_parent_indices(named).to_numpy(), named.flatten()
            good = np.flatnonzero(pc.match_substring_regex(texts, _DIGITS).to_numpy(zero_copy_only=False))
            numbers = texts.take(pa.array(good)).cast(pa.string()).cast(pa.int64()).to_numpy()
            places = np.minimum(np.searchsorted(self._known, numbers), len(self._known) - 1)
            is_known = self._known[places] == numbers
            if not is_known.any():
                continue
            message, numbers = message[good[is_known]], numbers[is_known]
            offsets, times = piece.column("physical_offset").to_numpy(), microseconds(piece.column("store_timestamp"))
            queues = piece.column("queue_id").to_numpy().astype(np.int64)
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
