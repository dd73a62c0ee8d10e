"""Two logs read side by side: the messages that only one has, by offset where the logs share offsets, otherwise by unique key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import repeat
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.layout.record import Mask, Numbers
from native_reader.tables.messages import microseconds
from native_reader.tables.shares import KEY, NO_KEY, groups_of, shares

_PLACE = ("topic", "queue_id", "queue_offset")
_CONTENT = ("record_size", "body_crc")
READ = ("physical_offset", "inner_index", *_PLACE, "store_timestamp", *_CONTENT)
"""The columns that tell records apart. All are in their heads, so bodies are not looked at."""
_MORE = ("flag", "sys_flag", "tags", "uniq_key")
READ_WHOLE = (*READ, *_MORE)
"""The same for a comparison that checks bodies, too: those that do not match their checksum are no rows."""


class Shared(NamedTuple):
    """The records of one step that both logs have: by offset, those that are equal, and those of the same message of one queue."""

    both: Numbers
    is_equal: Mask
    is_same_place: Mask
    sizes: Numbers


def shared_of(pair: Pair) -> Shared:
    """Compare the records at equal offsets."""
    one, other = map(_records_of, pair)
    both, rows, others = np.intersect1d(offsets_of(one), offsets_of(other), assume_unique=True, return_indices=True)
    one, other = one.take(pa.array(rows)), other.take(pa.array(others))
    is_same_place = microseconds(one["store_timestamp"]) == microseconds(other["store_timestamp"])
    for name in _PLACE:
        is_same_place &= _equal(one, other, name)
    is_equal = is_same_place.copy()
    for name in (*_CONTENT, *(each for each in _MORE if each in one.column_names)):
        is_equal &= _equal(one, other, name)
    return Shared(both, is_equal, is_same_place, one["record_size"].to_numpy())


def _records_of(rows: pa.Table) -> pa.Table:
    """One row of each record; an inner batch has several."""
    offsets = offsets_of(rows)
    is_first = np.ones(len(offsets), np.bool_)
    is_first[1:] = offsets[1:] != offsets[:-1]
    return rows if is_first.all() else rows.filter(pa.array(is_first))


def _equal(one: pa.Table, other: pa.Table, name: str) -> Mask:
    columns = (each[name] if each[name].null_count == 0 else pc.fill_null(each[name], "") for each in (one, other))
    found: Mask = pc.equal(*columns).combine_chunks().to_numpy(zero_copy_only=False)
    return found


@dataclass(slots=True)
class Overlap:
    """What two logs share."""

    records: int = 0
    size: int = 0
    """Equal records at equal offsets, and their bytes."""
    until: int | None = None
    """Where the last record ends that both have at the same place; None if there is none."""
    differ_from: int | None = None
    """The offset of the first record that only one of them has."""
    after: list[int] = field(default_factory=lambda: [0, 0])
    """How many records each log has after the last shared one."""

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Overlap:
        """Read two logs side by side."""
        found = cls()
        for pair in pairs:
            found._add(pair)
        return found

    def _add(self, pair: Pair) -> None:
        shared = shared_of(pair)
        equal = shared.both[shared.is_equal]
        self.records += len(equal)
        self.size += int(shared.sizes[shared.is_equal].sum())
        last = -1
        if shared.is_same_place.any():
            row = int(np.flatnonzero(shared.is_same_place)[-1])
            last = int(shared.both[row])
            self.until, self.after = last + int(shared.sizes[row]), [0, 0]
        for side, rows in enumerate(pair):
            offsets = np.unique(offsets_of(rows))
            self.after[side] += int(np.count_nonzero(offsets > last))
            lacking = np.setdiff1d(offsets, equal, assume_unique=True)
            if len(lacking) and (self.differ_from is None or lacking[0] < self.differ_from):
                self.differ_from = int(lacking[0])

    @property
    def parted_at(self) -> int | None:
        """Where the logs part: from there on both have records, and none at the same place. None if they do not part, or share none."""
        return self.until if self.until is not None and all(self.after) else None


OLDER, NEWER, MISSING, CHANGED, PARTED = "older", "newer", "missing", "changed", "parted"
NAMES = "a", "b"
COLUMNS = {
    "only_in": ColumnSpec(pa.string(), "`a` or `b`: which of the two stores has the message"),
    "difference": ColumnSpec(pa.string(), "`older`, `newer`, `missing`, `changed` or `parted`"),
    "state": ColumnSpec(pa.string(), "its state in that store, as `account` has it; null if only heads are compared"),
    "other_state": ColumnSpec(pa.string(), "the state in the other store of what has its queue offset; null if nothing shows any there"),
    "physical_offset": ColumnSpec(pa.int64(), "the offset of its record in the log"),
    "inner_index": ColumnSpec(pa.int32(), "the index in an inner batch; null outside an inner batch"),
    "topic": ColumnSpec(pa.string(), "the topic that stores it"),
    "queue_id": ColumnSpec(pa.int32(), "the queue of that topic"),
    "queue_offset": ColumnSpec(pa.int64(), "the offset in that queue"),
    "store_timestamp": ColumnSpec(TIMESTAMP, "when the broker stored it"),
    "record_size": ColumnSpec(pa.int32(), "the bytes of its record"),
    "body_crc": ColumnSpec(pa.int32(), "the checksum of its body, as stored"),
    "uniq_key": ColumnSpec(pa.string(), "the id that clients show"),
}
SCHEMA = pa.schema([(name, spec.type) for name, spec in COLUMNS.items()])
READ_OF_LACKING = (*READ, "uniq_key", "born_timestamp", "body_size")


class Span(NamedTuple):
    """The offsets between which a store has a log."""

    begin: int
    end: int


def by_offset(pairs: Iterator[Pair], spans: Sequence[Span], stop: int | None) -> Iterator[pa.RecordBatch]:
    """Messages without an equal one at the same offset of the other log, below `stop`."""
    for pair in pairs:
        shared = shared_of(pair)
        equal = shared.both[shared.is_equal]
        for side, rows in enumerate(pair):
            offsets = offsets_of(rows)
            is_lacking = ~np.isin(offsets, equal)
            if stop is not None:
                is_lacking &= offsets < stop
            if is_lacking.any():
                lacking = rows.filter(pa.array(is_lacking))
                yield from _rows(side, lacking, _kinds(offsets[is_lacking], shared.both, spans[1 - side]))


def _kinds(offsets: np.ndarray, both: np.ndarray, other: Span) -> pa.Array:
    """How each message at these offsets is lacking in the other log."""
    kinds = np.select([offsets < other.begin, offsets >= other.end, np.isin(offsets, both)], [OLDER, NEWER, CHANGED], MISSING)
    return pa.array(kinds.tolist(), pa.string())


def by_key(read: Callable[[int], Iterator[pa.RecordBatch]], difference: str) -> Iterator[pa.RecordBatch]:
    """Messages whose key no message of the other log has. `read`: all messages to compare, of one side."""

    def keyed() -> Iterator[pa.RecordBatch]:
        for side in range(len(NAMES)):
            for batch in read(side):
                yield _keyed(batch, side)

    for share in shares(keyed):
        groups, sides = groups_of(share[KEY]), share["side"].to_numpy()
        for side in range(len(NAMES)):
            of_other = np.bincount(groups[sides != side], minlength=len(share))
            is_lacking: Mask = (sides == side) & (of_other[groups] == 0)
            if is_lacking.any():
                lacking = share.filter(pa.array(is_lacking))
                yield from _rows(side, lacking, repeat(difference, len(lacking)))


def _keyed(batch: pa.RecordBatch, side: int) -> pa.RecordBatch:
    """With its key: the same message of the same topic, wherever a log has it. Old brokers give one id to all messages of a batch."""
    # Messages of the broker itself may have no id.
    born = pa.array(microseconds(batch["born_timestamp"])).cast(pa.string())
    unique = pc.coalesce(batch["uniq_key"], pc.binary_join_element_wise(NO_KEY, born, ""))
    content = [batch[name].cast(pa.string()) for name in ("body_crc", "body_size")]
    key = pc.binary_join_element_wise(unique, batch["topic"].cast(pa.string()), *content, "\x02")
    columns = {name: batch[name] for name in SCHEMA.names if name in batch.schema.names}
    return pa.RecordBatch.from_pydict(columns | {KEY: key, "side": pa.array(np.full(len(batch), side, np.int8))})


def _rows(side: int, lacking: pa.Table, kinds: pa.Array) -> Iterator[pa.RecordBatch]:
    columns = {"only_in": repeat(NAMES[side], len(lacking)), "difference": kinds}
    columns |= dict.fromkeys(("state", "other_state"), pa.nulls(len(lacking), pa.string()))
    columns |= {name: lacking[name].cast(SCHEMA.field(name).type) for name in SCHEMA.names if name not in columns}
    yield from pa.table(columns, schema=SCHEMA).combine_chunks().to_batches()


_END = np.iinfo(np.int64).max


Pair = tuple[pa.Table, pa.Table]


def steps(schema: pa.Schema, one: Iterator[pa.RecordBatch], other: Iterator[pa.RecordBatch]) -> Iterator[Pair]:
    """Take rows from both in the order of `physical_offset`, so many at a time that memory does not depend on the logs."""
    sides = _Side(schema, one), _Side(schema, other)
    while sides[0].fill() | sides[1].fill():  # both, also if the first one has rows
        stop = min(side.known_before for side in sides)
        yield sides[0].take(stop), sides[1].take(stop)


class _Side:
    """The rows of one log that were read and not taken."""

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self._schema, self._batches, self._has_ended = schema, batches, False
        self._held: list[pa.RecordBatch] = []

    def fill(self) -> bool:
        """Read until rows at two offsets are held, or the log ends; whether any are. A batch can end between rows of one record."""
        while not self._has_ended and (not self._held or _first(self._held[0]) == _last(self._held[-1])):
            batch = next(self._batches, None)
            if batch is None:
                self._has_ended = True
            elif len(batch):
                self._held.append(batch)
        return bool(self._held)

    @property
    def known_before(self) -> int:
        """All rows at offsets below this are held."""
        return _END if self._has_ended else _last(self._held[-1])

    def take(self, stop: int) -> pa.Table:
        """Take the rows at offsets below `stop`."""
        taken, left = [], []
        for batch in self._held:
            count = int(np.searchsorted(offsets_of(batch), stop))
            taken.append(batch.slice(0, count))
            if count < len(batch):
                left.append(batch.slice(count))
        self._held = left
        return pa.Table.from_batches(taken, self._schema)


def offsets_of(rows: pa.RecordBatch | pa.Table) -> Numbers:
    """The offset of each row's record in its log."""
    offsets: Numbers = rows["physical_offset"].to_numpy()
    return offsets


def _first(batch: pa.RecordBatch) -> int:
    return int(batch["physical_offset"][0].as_py())


def _last(batch: pa.RecordBatch) -> int:
    return int(batch["physical_offset"][-1].as_py())
