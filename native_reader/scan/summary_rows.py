"""Rows that are made from a summary, without reading the log: it has all their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from native_reader.arrow import array
from native_reader.columns.filter import matching
from native_reader.columns.makers import timestamps
from native_reader.columns.schema import schema_of
from native_reader.layout.kinds import kind_of
from native_reader.layout.record import COMMITTED, PREPARED, ROLLBACK, TRANSACTION, Index, Numbers
from native_reader.plan.split import Split
from native_reader.plan.summarized import OF_GROUPS, Group, WantedTopics, groups_of, inside, knows
from native_reader.plan.ways import BySummary
from native_reader.predicate.tree import EVERYTHING, Predicate
from native_reader.summary.part import Part, read_part
from native_reader.summary.pieces import Unfit, reading_part
from native_reader.summary.texts import TEXTS

_ROWS = 1 << 16
_STORED = {
    "physical_offset": "position",
    "record_size": "size",
    "store_timestamp": "time",
    "queue_offset": "queue_offset",
    "sys_flag": "flags",
    "kind": "flags",
}
"""Columns of messages, and the columns of a part that have their values."""
_TRANSACTIONS = 0, PREPARED, COMMITTED, ROLLBACK


class SummaryRows:
    """The rows of a split that are made from its part, in log order. The constructor reads the part, and raises Unfit if it is not right.

    `rest`: whether other records may match, too.
    """

    def __init__(self, split: Split, way: BySummary, columns: Sequence[str], predicate: Predicate) -> None:
        segment, topics = split.segment, WantedTopics(split.store, predicate)
        part = read_part(way.part, segment)
        groups = groups_of(part, topics)
        self._columns, self._predicate, self._split = columns, predicate, split
        self._names = tuple(dict.fromkeys((*columns, *(column.name for column in predicate.columns()))))
        wanted = [group for group in groups if topics.may_match(group, segment)]
        self._groups = [group for group in wanted if group.is_known]
        self.rest = len(wanted) > len(self._groups)
        self._counts = np.array([group.records for group in self._groups], np.int64)
        self._order: Index | None = None
        if not knows(self._names, EVERYTHING, part.facts.texts):
            raise Unfit("contradiction")
        with reading_part():
            self._by_group = self._columns_of_groups()
            if columns or not set(self._names) <= set(OF_GROUPS):
                self._read(part)

    def _columns_of_groups(self) -> dict[str, pa.Array]:
        """The columns that have one value in each group."""
        return {
            "topic": array([group.topic.decode() for group in self._groups], pa.string()),
            "queue_id": array([group.queue_id for group in self._groups], pa.int32()),
            "store": array([self._split.store] * len(self._groups), pa.string()),
            "segment": array([self._split.segment.name] * len(self._groups), pa.string()),
        }

    def _read(self, part: Part) -> None:
        """Read the columns of the records, and put them in log order."""
        rows = np.concatenate([np.empty(0, np.int64), *(_rows_of(group) for group in self._groups)])
        stored = list(dict.fromkeys(("position", "size", *(_STORED[name] for name in self._names if name in _STORED))))
        if not len(rows):
            self._order = rows
            return
        self._values = dict(zip(stored, part.records_at(rows, *stored), strict=True))
        texts = [name for name in self._names if name in TEXTS]
        self._texts = dict(zip(texts, part.texts_at(rows, *texts), strict=True)) if texts else {}
        positions, sizes = self._values["position"], self._values["size"]
        self._order = np.argsort(positions, kind="stable")
        inside(positions[self._order], sizes[self._order], self._split.segment)
        self._group = np.repeat(np.arange(len(self._groups), dtype=np.int32), self._counts)

    def __iter__(self) -> Iterator[tuple[int, pa.RecordBatch | None]]:
        """How many rows, and a batch of them if columns are wanted. No batch is empty."""
        if self._order is None:
            groups = pa.RecordBatch.from_pydict(self._by_group | {"": array(self._counts)})
            chosen = groups if self._predicate == EVERYTHING else matching(self._predicate, groups)
            yield sum(chosen[""].to_pylist()), None
            return
        for begin in range(0, len(self._order), _ROWS):
            rows = self._made(self._order[begin : begin + _ROWS])
            chosen = rows if self._predicate == EVERYTHING else matching(self._predicate, rows)
            if len(chosen):
                yield len(chosen), chosen.select(list(self._columns)) if self._columns else None

    def _made(self, at: Index) -> pa.RecordBatch:
        groups = array(self._group[at])
        return pa.RecordBatch.from_arrays([self._column(name, at, groups) for name in self._names], schema=schema_of(self._names))

    def _column(self, name: str, at: Index, groups: pa.Array) -> pa.Array:
        if name in self._by_group:
            return self._by_group[name].take(groups)
        if name in self._texts:
            return self._texts[name].take(array(at)).cast(pa.string())
        if name == "inner_index":  # of a batch
            return pa.nulls(len(at), pa.int32())
        values = self._values[_STORED[name]][at]
        if name == "store_timestamp":
            return timestamps(values)
        if name == "kind":
            return self._kinds.take(array(self._group[at] * len(_TRANSACTIONS) + ((values & TRANSACTION) >> 2)))
        segment = self._split.segment
        return array(values + segment.base + segment.frame if name == "physical_offset" else values, schema_of((name,)).types[0])

    @cached_property
    def _kinds(self) -> pa.Array:
        """The kind of a record of each group by its part in a transaction."""
        return array([kind_of(name, each) for name in self._by_group["topic"].to_pylist() for each in _TRANSACTIONS], pa.string())


def _rows_of(group: Group) -> Numbers:
    return np.arange(group.first, group.first + group.records)
