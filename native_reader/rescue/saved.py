"""Which messages were saved: the offsets of each queue and those that are missing, and the times around each loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

COLUMNS = ("topic", "queue_id", "queue_offset", "kind", "store_timestamp")
"""What `SavedQueues` needs of a message."""
_IN_NO_QUEUE = ("prepared", "rollback")
"""Prepared and rolled back messages of brokers 4.0 to 4.2 have no queue offset."""
_COMPACTED_AT = 4096
"""Runs of one queue that wait to be merged."""
_MOST_QUEUES = 200_000
"""A corrupt log can name any number of queues. More are counted together."""
_LATEST = 2**63 - 1
"""Later than any time."""
OTHERS = "(other queues)", -1
_MOST_RUNS = 1_000_000
"""Runs of all queues together. With more, the offsets are in no order, and gaps mean nothing."""

Run = tuple[int, int]
"""Offsets `[start, stop)` of one queue."""


@dataclass(slots=True)
class SavedQueue:
    """One queue: its saved messages, and the offsets that its consume queue names."""

    topic: str
    queue_id: int
    messages: int = 0
    first_time: datetime | None = None
    last_time: datetime | None = None
    named: Run | None = None
    """From the first offset that has not expired to the next one, by the consume queue; None if there is none."""
    runs: list[Run] = field(default_factory=list)
    """The saved offsets: neither adjacent nor overlapping, in order."""

    @property
    def key(self) -> tuple[str, int]:
        """The topic and the number."""
        return self.topic, self.queue_id

    @property
    def gaps(self) -> list[Run]:
        """The missing offsets: between saved ones, and before and after them if the consume queue names some there."""
        runs = list(self.runs)
        if self.named is not None and self.named[0] < self.named[1]:
            runs = sorted([*runs, *((end, end) for end in self.named)])
        reached, found = None, list[Run]()
        for start, end in runs:
            if reached is not None and start > reached:
                found.append((reached, start))
            reached = end if reached is None else max(reached, end)
        return found

    @property
    def missing(self) -> int:
        """The number of missing offsets."""
        return sum(stop - start for start, stop in self.gaps)


class SavedQueues:
    """Add the batches of saved messages, and the rows of the table `queues`; then take `queues`."""

    def __init__(self) -> None:
        self._queues: dict[tuple[str, int], SavedQueue] = {}
        self._added: dict[tuple[str, int], int] = {}
        self._runs = 0
        self.knows_gaps = True
        """False if the offsets of the messages are in no order."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Add messages."""
        if not len(batch):
            return
        topics = batch.column("topic").dictionary_encode(null_encoding="encode")
        ids = batch.column("queue_id").fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        offsets = batch.column("queue_offset").fill_null(-1).to_numpy(zero_copy_only=False)
        queues = (topics.indices.to_numpy().astype(np.int64) << 32) + (ids & 0xFFFFFFFF)
        in_queue = ~pc.is_in(batch.column("kind"), pa.array(_IN_NO_QUEUE)).to_numpy(zero_copy_only=False)
        names = topics.dictionary.to_pylist()
        order = np.lexsort((offsets, queues))
        firsts = np.flatnonzero(np.diff(queues[order], prepend=queues[order[0]] - 1))
        bounds, extents = firsts.tolist(), _extents(batch.column("store_timestamp"), order, firsts)
        for start, stop, (first, last) in zip(bounds, [*bounds[1:], len(order)], extents, strict=True):
            rows = order[start:stop]
            topic = names[int(queues[rows[0]] >> 32)]
            queue = self._queue("" if topic is None else topic, int(ids[rows[0]]))
            queue.messages += len(rows)
            queue.first_time, queue.last_time = _least(queue.first_time, first), _most(queue.last_time, last)
            if self.knows_gaps and queue.key != OTHERS:
                self._add_runs(queue, offsets[rows[in_queue[rows]]])

    def add_named(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add what the consume queues name: rows of the table `queues`."""
        for row in rows:
            if row["min_offset"] is not None and row["type"] != "LMQ":
                queue = self._queue(row["topic"], row["queue_id"])
                queue.named = None if queue.key == OTHERS else (row["min_offset"], max(row["min_offset"], row["max_offset"]))

    def queues(self) -> Iterator[SavedQueue]:
        """All queues, by topic and number."""
        for key in sorted(self._queues):
            queue = self._queues[key]
            queue.runs = merged(queue.runs)
            yield queue

    def _queue(self, topic: str, queue_id: int) -> SavedQueue:
        key = topic, queue_id
        if key not in self._queues and len(self._queues) >= _MOST_QUEUES:
            key = OTHERS
        return self._queues.setdefault(key, SavedQueue(*key))

    def _add_runs(self, queue: SavedQueue, offsets: Any) -> None:
        """Add sorted offsets."""
        if not len(offsets):
            return
        firsts = np.flatnonzero(np.concatenate(([True], offsets[1:] > offsets[:-1] + 1)))
        starts, lasts = offsets[firsts], offsets[np.append(firsts[1:], len(offsets)) - 1]
        before = len(queue.runs)
        queue.runs += zip(starts.tolist(), (lasts + 1).tolist(), strict=True)
        key = queue.key
        self._added[key] = self._added.get(key, 0) + len(starts)
        if self._added[key] > _COMPACTED_AT:
            queue.runs, self._added[key] = merged(queue.runs), 0
        self._runs += len(queue.runs) - before
        if self._runs > _MOST_RUNS:
            self._forget_gaps()

    def _forget_gaps(self) -> None:
        """Merge everything; if that does not help, keep no offsets."""
        for queue in self._queues.values():
            queue.runs = merged(queue.runs)
        self._runs = sum(len(queue.runs) for queue in self._queues.values())
        if self._runs > _MOST_RUNS // 2:
            self.knows_gaps = False
            for queue in self._queues.values():
                queue.runs = []


def merged(runs: Iterable[Run]) -> list[Run]:
    """The runs in order, with those that touch or overlap joined."""
    found: list[Run] = []
    for start, stop in sorted(runs):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        else:
            found.append((start, stop))
    return found


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
