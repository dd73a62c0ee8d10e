"""Which messages were saved: how many of each queue, and the times around each loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

COLUMNS = ("topic", "queue_id", "store_timestamp")
"""What `SavedQueues` needs of a message."""
_MOST_QUEUES = 200_000
"""A corrupt log can name any number of queues. More are counted together."""
_LATEST = 2**63 - 1
"""Later than any time."""
OTHERS = "(other queues)", -1


@dataclass(slots=True)
class SavedQueue:
    """The saved messages of one queue."""

    topic: str
    queue_id: int
    messages: int = 0
    first_time: datetime | None = None
    last_time: datetime | None = None


class SavedQueues:
    """Add the batches of saved messages; then take `queues`."""

    def __init__(self) -> None:
        self._queues: dict[tuple[str, int], SavedQueue] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Add messages."""
        if not len(batch):
            return
        topics = batch.column("topic").dictionary_encode(null_encoding="encode")
        ids = batch.column("queue_id").fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        queues = (topics.indices.to_numpy().astype(np.int64) << 32) + (ids & 0xFFFFFFFF)
        names = topics.dictionary.to_pylist()
        order = np.argsort(queues, kind="stable")
        firsts = np.flatnonzero(np.diff(queues[order], prepend=queues[order[0]] - 1))
        bounds, extents = firsts.tolist(), _extents(batch.column("store_timestamp"), order, firsts)
        for start, stop, (first, last) in zip(bounds, [*bounds[1:], len(order)], extents, strict=True):
            row = order[start]
            topic = names[int(queues[row] >> 32)]
            queue = self._queue("" if topic is None else topic, int(ids[row]))
            queue.messages += stop - start
            queue.first_time, queue.last_time = _least(queue.first_time, first), _most(queue.last_time, last)

    def queues(self) -> Iterator[SavedQueue]:
        """All queues, by topic and number."""
        yield from (self._queues[key] for key in sorted(self._queues))

    def _queue(self, topic: str, queue_id: int) -> SavedQueue:
        key = topic, queue_id
        if key not in self._queues and len(self._queues) >= _MOST_QUEUES:
            key = OTHERS
        return self._queues.setdefault(key, SavedQueue(*key))


def _extents(times: pa.Array, order: Any, firsts: Any) -> list[tuple[datetime | None, datetime | None]]:
    """The first and the last time of each group of rows, None without a time. `firsts`: where the groups begin in that order."""
    numbers, ends = times.cast(pa.int64()), list[list[datetime | None]]()
    for least_or_most, absent in ((np.minimum, _LATEST), (np.maximum, -_LATEST)):
        found = least_or_most.reduceat(numbers.fill_null(absent).to_numpy(zero_copy_only=False)[order], firsts)
        ends.append(pa.array(found, mask=found == absent).cast(times.type).to_pylist())
    return list(zip(*ends, strict=True))


def _least(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _most(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((each for each in (one, other) if each is not None), default=None)


_NONE_BEFORE, _NONE_AFTER = -1, 2**63 - 1


class Around:
    """Add the batches of saved messages; then take `times`. They need `physical_offset` and `store_timestamp`."""

    def __init__(self, losses: Sequence[Mapping[str, Any]]) -> None:
        self._starts, self._ends = (np.array([row[name] for row in losses], np.int64) for name in ("start_offset", "end_offset"))
        self._before, self._after = np.full(len(losses), _NONE_BEFORE), np.full(len(losses), _NONE_AFTER)
        self._times: list[list[datetime | None]] = [[None, None] for _ in losses]

    def add(self, batch: pa.RecordBatch) -> None:
        """Add messages in the order of the log."""
        offsets, times = batch.column("physical_offset").to_numpy(zero_copy_only=False), batch.column("store_timestamp")
        if not len(offsets):
            return
        last, first = np.searchsorted(offsets, self._starts) - 1, np.searchsorted(offsets, self._ends)
        for loss in np.flatnonzero(last >= 0).tolist():
            if offsets[last[loss]] > self._before[loss]:
                self._before[loss], self._times[loss][0] = offsets[last[loss]], times[int(last[loss])].as_py()
        for loss in np.flatnonzero(first < len(offsets)).tolist():
            if offsets[first[loss]] < self._after[loss]:
                self._after[loss], self._times[loss][1] = offsets[first[loss]], times[int(first[loss])].as_py()

    @property
    def times(self) -> Sequence[Sequence[datetime | None]]:
        """For each loss, the store times before and after it; None if no message was saved there."""
        return self._times
