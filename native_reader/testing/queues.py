"""Consume queues: 20-byte entries, and the 46-byte ones of batch topics."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.testing.logs import name

QUEUE_ENTRY: Final = np.dtype([("offset", ">i8"), ("size", ">i4"), ("tags", ">i8")])
BATCH_ENTRY: Final = np.dtype(
    [
        ("offset", ">i8"), ("size", ">i4"), ("tags", ">i8"), ("stored", ">i8"), ("base", ">i8"), ("count", ">i2"),
        ("compacted", ">i4"), ("reserved", ">i4"),
    ]
)  # fmt: skip
_PENDING: Final = 1 << 17


class QueueName(NamedTuple):
    """The name of a queue; `batch` queues are in batchconsumequeue/."""

    topic: str
    queue_id: int
    batch: bool = False


class NumberedQueues:
    """All queues of a store, numbered. Number 0 means no queue (old PREPARED and ROLLBACK records)."""

    def __init__(self, root: Path, file_size: int, batch_file_size: int) -> None:
        self._root = root
        self._file_size = -(-file_size // QUEUE_ENTRY.itemsize) * QUEUE_ENTRY.itemsize  # the broker's getter rounds up
        self._batch_file_size = batch_file_size
        self.queues: list[QueueName] = [QueueName("", -1)]
        self.next_offset: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._numbers: dict[QueueName, int] = {self.queues[0]: 0}
        self._pending: list[list[bytes]] = [[]]
        self._pending_size = [0]
        self._written = [0]
        self.entries = 0

    def number(self, queue: QueueName) -> int:
        """The number of a queue; a new queue gets the next number."""
        if queue not in self._numbers:
            self._numbers[queue] = len(self.queues)
            self.queues.append(queue)
            self.next_offset = np.append(self.next_offset, 0)
            self._pending.append([])
            self._pending_size.append(0)
            self._written.append(0)
        return self._numbers[queue]

    def append(self, numbers: NDArray[np.uint16], entries: NDArray[np.void]) -> None:
        """Append each entry to the queue with the given number, in order."""
        order = np.argsort(numbers, kind="stable")
        grouped, data = numbers[order], entries[order]
        borders = np.flatnonzero(grouped[1:] != grouped[:-1]) + 1
        for start, end in zip([0, *borders.tolist()], [*borders.tolist(), len(grouped)], strict=True):
            if start < end and grouped[start]:
                self.append_bytes(int(grouped[start]), data[start:end].tobytes(), end - start)

    def append_bytes(self, number: int, data: bytes, count: int = 1) -> None:
        """Append `count` encoded entries to one queue."""
        self.entries += count
        self._pending[number].append(data)
        self._pending_size[number] += len(data)
        if self._pending_size[number] >= _PENDING:
            self._flush(number)

    def restart(self, topic: str) -> None:
        """Delete a topic's queues, so that they start again at 0."""
        for number, queue in enumerate(self.queues):
            if queue.topic == topic:
                self.next_offset[number] = 0
                self._pending[number], self._pending_size[number], self._written[number] = [], 0, 0
                shutil.rmtree(self._directory(queue), ignore_errors=True)

    def close(self, oldest: int = 0) -> None:
        """Write the rest, and delete files whose entries all point before `oldest`, but never a queue's last file."""
        for number, queue in enumerate(self.queues):
            self._flush(number)
            if oldest and self._written[number]:
                for path in sorted(self._directory(queue).iterdir())[:-1]:
                    size = (BATCH_ENTRY if queue.batch else QUEUE_ENTRY).itemsize
                    with path.open("rb") as file:
                        file.seek(path.stat().st_size // size * size - size)
                        if int.from_bytes(file.read(8)) < oldest:
                            path.unlink()

    def _directory(self, queue: QueueName) -> Path:
        return self._root / ("batchconsumequeue" if queue.batch else "consumequeue") / queue.topic / str(queue.queue_id)

    def _flush(self, number: int) -> None:
        data, queue = b"".join(self._pending[number]), self.queues[number]
        self._pending[number], self._pending_size[number] = [], 0
        if not data:
            return
        directory = self._directory(queue)
        directory.mkdir(parents=True, exist_ok=True)
        file_size = self._batch_file_size if queue.batch else self._file_size
        while data:
            position = self._written[number]
            room = file_size - position % file_size
            with open(directory / name(position - position % file_size), "r+b" if position % file_size else "w+b") as file:
                os.ftruncate(file.fileno(), file_size)
                file.seek(position % file_size)
                file.write(data[:room])
            self._written[number] += len(data[:room])
            data = data[room:]
