"""Cuts batches by the values of partition columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo

import numpy as np
import pyarrow as pa

from native_reader.arrow import array, numpy_of
from native_reader.errors import OptionError
from native_reader.layout.times import each_moment
from native_reader.sentences import Said, commas, meant, say

DAY = "day"
_DAY_IS_OF = "store_timestamp"
PARTITION_COLUMNS = (
    *(DAY, "topic", "queue_id", "tags", "kind", "store", "segment"),
    *("born_host", "store_host", "real_topic", "delay_level", "reconsume_times"),
)
"""Columns with few values. `day` is the day of `store_timestamp`."""
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND

Key = tuple[str | int | None, ...]
"""The values of the partition columns in one partition."""


class Partitioning:
    """The partition columns of an export. `zone`: where days begin at midnight."""

    def __init__(self, names: Sequence[str], zone: tzinfo | None) -> None:
        self.names, self._zone = tuple(names), zone or UTC

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that must be read for it."""
        return tuple(_DAY_IS_OF if name == DAY else name for name in self.names)

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[Key, pa.RecordBatch]]:
        """The rows of each partition, in their order."""
        if not self.names or not len(batch):
            yield (), batch
            return
        columns = [self._values(batch, name).dictionary_encode(null_encoding="encode") for name in self.names]
        groups = np.zeros(len(batch), np.int64)
        for column in columns:  # made dense after each column, so that the product cannot overflow
            groups = groups * len(column.dictionary) + numpy_of(column.indices)
            _, firsts, groups = np.unique(groups, return_index=True, return_inverse=True)
        keys = [tuple(column.dictionary[column.indices[first].as_py()].as_py() for column in columns) for first in firsts.tolist()]
        if len(keys) == 1:
            yield keys[0], batch
            return
        order = np.argsort(groups, kind="stable")
        stops = np.cumsum(np.bincount(groups)).tolist()
        for key, start, stop in zip(keys, [0, *stops], stops, strict=False):
            yield key, batch.take(array(order[start:stop]))

    def _values(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        return days(batch.column(_DAY_IS_OF), self._zone) if name == DAY else batch.column(name)


def partitioning_of(names: str | Sequence[str], zone: tzinfo | None) -> Partitioning:
    """Check the names of partition columns, given as a list or separated by commas."""
    given = [name.strip() for name in names.split(",")] if isinstance(names, str) and names else list(names)
    for name in given:
        if name not in PARTITION_COLUMNS:
            near = meant(name, PARTITION_COLUMNS) if isinstance(name, str) else Said("nothing")
            raise OptionError(say("no partition column", name=repr(name), near=near, columns=commas(PARTITION_COLUMNS)))
    twice = next((name for name in given if given.count(name) > 1), None)
    if twice is not None:
        raise OptionError(say("partition twice", name=twice))
    return Partitioning(given, zone)


def days(times: pa.Array, zone: tzinfo) -> pa.Array:
    """The day of each time, as text: 2026-01-31. Null where the time is null, or has no day in that zone."""
    step = _DAY if zone is UTC else _SECOND  # the second is exact for every zone, and a batch has few of them
    return each_moment(times, step, lambda moment: moment.astimezone(zone).date().isoformat(), pa.string())
