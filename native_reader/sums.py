"""Messages and bytes by group, added batch by batch. Memory is bounded, however many groups there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import array, repeat

Row = dict[str, object]

MOST_GROUPS = 100_000
_MOST_BYTES = 128 << 20
"""A name can have 32 KB, so a limit on their number is not enough."""
_MOST_WAITING, _ROWS_WAITING = 1000, 20_000
"""Batches, and groups of batches, that wait to be merged."""
_PORT = ":[0-9]+$"


class Top(NamedTuple):
    """The largest groups. `others`: the sums of all other groups, and the lowest of their `first`; `groups`: how many others there are."""

    rows: list[Row]
    others: Mapping[str, int]
    groups: int


class Tally:
    """Sums, first, last, least and greatest values by key. A group is large if its first sum is, and of equal ones if its `first` is low.

    Beyond a limit on groups or bytes, small groups are added up and forgotten. A group that comes back then counts from there.
    Without a limit, all groups are kept.
    """

    def __init__(
        self, keys: Sequence[str], sums: Sequence[str], *, first: Sequence[str] = (), last: Sequence[str] = (), least: Sequence[str] = (),
        most: Sequence[str] = (), limit: int | None = MOST_GROUPS,
    ) -> None:  # fmt: skip
        self._keys, self._sums, self._first, self._limit = tuple(keys), tuple(sums), tuple(first), limit
        self._of = {"sum": self._sums, "first": self._first, "last": tuple(last), "min": tuple(least), "max": tuple(most)}
        self._known: pa.Table | None = None
        self._waiting: list[pa.Table] = []
        self._rows_waiting = self._bytes_waiting = 0
        self._forgotten = dict.fromkeys(self._sums, 0)
        self.forgotten_groups = 0

    def add(self, rows: pa.Table) -> None:
        """Add rows with these columns."""
        grouped = self.grouped(rows)
        self._waiting.append(grouped)
        self._rows_waiting += len(grouped)
        self._bytes_waiting += grouped.nbytes
        known = 0 if self._known is None else len(self._known)
        if (
            len(self._waiting) > _MOST_WAITING
            or self._rows_waiting > max(known, _ROWS_WAITING if self._limit is None else min(_ROWS_WAITING, self._limit))
            or self._bytes_waiting > _MOST_BYTES
        ):
            self._merge()

    def grouped(self, rows: pa.Table) -> pa.Table:
        """Those rows, one for each key."""
        aggregates = [(name, function) for function, names in self._of.items() for name in names]
        found = rows.group_by(list(self._keys), use_threads=False).aggregate(aggregates)
        renamed = {f"{name}_{function}": name for name, function in aggregates}
        return found.rename_columns([renamed.get(name, name) for name in found.column_names])

    def table(self) -> pa.Table | None:
        """One row for each group, the largest first; None if nothing was added."""
        if self._waiting:
            self._merge()
        return None if self._known is None else self._sorted(self._known)

    def top(self, count: int) -> Top:
        """The largest groups."""
        found = self.table()
        if found is None:
            return Top([], dict.fromkeys(self._sums, 0), 0)
        rest = found.slice(count)
        return Top(found.slice(0, count).to_pylist(), self._with_forgotten(rest), len(rest) + self.forgotten_groups)

    def by(self, *keys: str) -> Tally:
        """The same sums by fewer keys."""
        fewer = Tally(keys, self._sums, least=self._of["min"], most=self._of["max"], limit=self._limit)
        fewer._forgotten, fewer.forgotten_groups = dict(self._forgotten), self.forgotten_groups
        if (found := self.table()) is not None:
            fewer.add(found)
        return fewer

    def totals(self) -> dict[str, int]:
        """The sums of all groups."""
        return dict(self.top(0).others)

    def _merge(self) -> None:
        tables = self._waiting if self._known is None else [self._known, *self._waiting]
        self._known = self.grouped(pa.concat_tables(tables)) if len(tables) > 1 else tables[0]
        self._waiting, self._rows_waiting, self._bytes_waiting = [], 0, 0
        if self._limit is not None and (len(self._known) > self._limit or self._known.nbytes > _MOST_BYTES):
            self._forget(self._sorted(self._known), self._limit // 2)

    def _forget(self, found: pa.Table, kept: int) -> None:
        """Keep the largest groups."""
        while kept and found.slice(0, kept).nbytes > _MOST_BYTES // 2:
            kept //= 2
        rest = found.slice(kept)
        self._forgotten = self._with_forgotten(rest)
        self.forgotten_groups += len(rest)
        self._known = found.take(array(np.arange(min(kept, len(found)))))  # a slice would keep the memory of all groups

    def _with_forgotten(self, rest: pa.Table) -> dict[str, int]:
        """The sums of these groups and the forgotten ones, and the lowest of their `first`."""
        sums = {name: _sum(rest[name]) + self._forgotten[name] for name in self._sums}
        lowest = {name: pc.min(rest[name]).as_py() for name in self._first} if len(rest) else {}
        return self._forgotten | sums | {name: min(value, self._forgotten.get(name, value)) for name, value in lowest.items()}

    def _sorted(self, found: pa.Table) -> pa.Table:
        return found.sort_by([(self._sums[0], "descending"), *((name, "ascending") for name in (*self._first, *self._keys))])


def measures(rows: pa.Table | pa.RecordBatch) -> dict[str, pa.Array | pa.ChunkedArray]:
    """What each message adds, from `record_size` and `inner_index`. Bytes are those of records; an inner batch is one record."""
    is_first = pc.fill_null(pc.equal(rows["inner_index"], 0), True)
    sizes = rows["record_size"].cast(pa.int64())
    return {"bytes": pc.if_else(is_first, sizes, 0), "messages": ones(rows), "records": is_first.cast(pa.int64()), "largest": sizes}


def ones(rows: pa.Table | pa.RecordBatch) -> pa.Array:
    """A column that counts rows when it is summed."""
    return repeat(1, len(rows))


def addresses(hosts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Hosts without their ports: each connection of a producer has another one."""
    return pc.replace_substring_regex(hosts, _PORT, "")


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)
