"""Writes queue and index entries from the log, like the broker's dispatcher: in order, and a little later."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.testing.queues import BATCH_ENTRY, QUEUE_ENTRY, NumberedQueues, QueueName
from native_reader.testing.rare import Rare
from native_reader.writing.index import IndexFiles


class Dispatch(NamedTuple):
    """The data of one block that queues and index need, in record order."""

    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    stored: NDArray[np.int64]
    queues: NDArray[np.uint16]
    tags: NDArray[np.int64]
    key_records: NDArray[np.intp]  # the record of each key to index
    key_hashes: NDArray[np.int64]
    special: list[tuple[int, Rare]]  # records with several entries, or of another kind


class Dispatcher:
    """Writes each block one block later, because a killed broker has not dispatched all of the newest one."""

    def __init__(self, queues: NumberedQueues | None, index: IndexFiles | None) -> None:
        self._queues, self._index = queues, index
        self._waiting: deque[Dispatch] = deque()
        self.offset = 0  # of the newest dispatched record
        self.stored = 0

    def add(self, new: Dispatch) -> None:
        """Add a block, and write the entries of the previous one."""
        self._waiting.append(new)
        while len(self._waiting) > 1:
            self._write(self._waiting.popleft())

    def flush(self, omitted: int = 0) -> int:
        """Write the rest, except the newest `omitted` records; returns the number of records not written."""
        left = 0
        while self._waiting:
            waiting = self._waiting.popleft()
            left = min(len(waiting.offsets) - 1, omitted) if omitted and not self._waiting else 0
            self._write(waiting, len(waiting.offsets) - left)
        return left

    def _write(self, new: Dispatch, count: int | None = None) -> None:
        count = len(new.offsets) if count is None else count
        if self._queues is not None:
            queues = new.queues[:count].copy()
            for at, rare in new.special:
                if at < count:
                    self._write_special(self._queues, new, at, rare)
                    queues[at] = 0 if rare.batch else queues[at]
            entries = np.empty(count, dtype=QUEUE_ENTRY)
            entries["offset"], entries["size"], entries["tags"] = new.offsets[:count], new.sizes[:count], new.tags[:count]
            self._queues.append(queues, entries)
        if self._index is not None:
            keys = int(np.searchsorted(new.key_records, count))
            records = new.key_records[:keys]
            self._index.put(new.key_hashes[:keys], new.offsets[records], new.stored[records])
        self.offset, self.stored = int(new.offsets[count - 1]), int(new.stored[count - 1])

    @staticmethod
    def _write_special(queues: NumberedQueues, new: Dispatch, at: int, rare: Rare) -> None:
        entry = int(new.offsets[at]), int(new.sizes[at]), int(new.tags[at])
        if rare.batch:
            batch = (*entry, int(new.stored[at]), rare.message.queue_offset, rare.units, -1, 0)
            queues.append_bytes(int(new.queues[at]), np.array([batch], dtype=BATCH_ENTRY).tobytes())
        for name, _ in rare.lmq:
            queues.append_bytes(queues.number(QueueName(name, 0)), np.array([entry], dtype=QUEUE_ENTRY).tobytes())
