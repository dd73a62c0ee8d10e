"""Which records two logs have at the same offsets: a master and its slaves, a store and its copies share them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from native_reader.compare.steps import Pair, offsets_of
from native_reader.layout.record import Mask, Numbers
from native_reader.tables.messages import microseconds

_PLACE = ("topic", "queue_id", "queue_offset")
_CONTENT = ("record_size", "body_crc")
READ = ("physical_offset", "inner_index", *_PLACE, "store_timestamp", *_CONTENT)
"""The columns that tell records apart. All are in their heads, so bodies are not looked at."""


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
    for name in _CONTENT:
        is_equal &= _equal(one, other, name)
    return Shared(both, is_equal, is_same_place, one["record_size"].to_numpy())


def _records_of(rows: pa.Table) -> pa.Table:
    """One row of each record; an inner batch has several."""
    offsets = offsets_of(rows)
    is_first = np.ones(len(offsets), np.bool_)
    is_first[1:] = offsets[1:] != offsets[:-1]
    return rows if is_first.all() else rows.filter(pa.array(is_first))


def _equal(one: pa.Table, other: pa.Table, name: str) -> Mask:
    found: Mask = pa.compute.equal(one[name], other[name]).combine_chunks().to_numpy(zero_copy_only=False)
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
