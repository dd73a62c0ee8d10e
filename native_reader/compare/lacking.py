"""The messages that only one of two logs has: by their offsets where the logs share those, and otherwise by their unique keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.compare.overlap import READ, shared_of
from native_reader.compare.steps import Pair, offsets_of
from native_reader.layout.record import Mask
from native_reader.tables.messages import microseconds
from native_reader.tables.shares import KEY, NO_KEY, groups_of, shares

OLDER, NEWER, MISSING, CHANGED, PARTED = "older", "newer", "missing", "changed", "parted"
NAMES = "a", "b"
COLUMNS = {
    "only_in": ColumnSpec(pa.string(), "`a` or `b`: which of the two stores has the message"),
    "difference": ColumnSpec(pa.string(), "`older`, `newer`, `missing`, `changed` or `parted`"),
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
                yield from _rows(side, lacking, pa.repeat(difference, len(lacking)))


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
    columns = {"only_in": pa.repeat(NAMES[side], len(lacking)), "difference": kinds}
    columns |= {name: lacking[name].cast(SCHEMA.field(name).type) for name in SCHEMA.names if name not in columns}
    yield from pa.table(columns, schema=SCHEMA).combine_chunks().to_batches()
