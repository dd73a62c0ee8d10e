"""Queues that are in files and in RocksDB: the broker writes both, or it was changed from one to the other, and one copy is old."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from native_reader.layout.inner import PLACEHOLDER_TAG
from native_reader.layout.queue_entry import java_hash
from native_reader.sides.bounds import bounds_of
from native_reader.sides.queues import BATCH_DIRECTORY, Queue, QueueReader, Topic, queue_named
from native_reader.storage.rocksdb_queues import is_in_database

_AT_ONCE = 1 << 16
_OF_PLACEHOLDER = java_hash(PLACEHOLDER_TAG)
"""A repair writes it to files only: in a database, the entry of a placeholder has the tags of the lost message."""


class QueueCopies:
    """The queues of one store that several of its directories have. The broker uses the one that ends last."""

    def __init__(self, directories: Sequence[str]) -> None:
        self._directories = [directory for directory in directories if not directory.endswith(f"/{BATCH_DIRECTORY}")]

    def is_left_behind(self, topic: Topic, queue_id: int) -> bool:
        """Whether another directory has this queue, and more of it; of two that have as much, one in a database counts."""
        if topic.batch or len(self._directories) < 2:
            return False
        ends = self._ends(topic.name, queue_id)
        best = max(reversed(ends), key=lambda directory: ends[directory])
        return not topic.uri.startswith(f"{best}/")

    def compare(self, topic: str, queue_id: int) -> int:
        """Below 0 if a database has more of a queue than its files, above 0 if the files have more; 0 if one of them lacks it."""
        ends = self._ends(topic, queue_id)
        in_files, in_databases = (
            max((end for directory, end in ends.items() if is_in_database(directory) == in_database), default=-1)
            for in_database in (False, True)
        )
        return 0 if min(in_files, in_databases) < 0 else in_files - in_databases

    def missing(self, queue: Queue) -> int:
        """How many entries the longest copy of a queue has after the end of this one."""
        return max(self._ends(queue.topic, queue.queue_id).values()) - next_offset_of(queue)

    def differing(self, queue: Queue) -> int | None:
        """The first queue offset at which this queue and another copy of it have different entries; None if there is none.

        Where only one of them has an entry, they do not differ: a broker that begins with RocksDB, or expires, leaves out entries.
        """
        mine = queue.files[0].uri if queue.files else ""
        others = [other for each in self._directories if (other := queue_named([each], queue.topic, queue.queue_id)) is not None]
        for other in others:
            if other.files[0].uri != mine and (number := _first_difference(queue, other)) is not None:
                return number
        return None

    def _ends(self, topic: str, queue_id: int) -> dict[str, int]:
        return {directory: self._end(directory, topic, queue_id) for directory in self._directories}

    @staticmethod
    def _end(directory: str, topic: str, queue_id: int) -> int:
        try:
            return next_offset_of(queue_named([directory], topic, queue_id))
        except OSError:  # callers work with the others
            return -1


def _first_difference(one: Queue, other: Queue) -> int | None:
    with QueueReader(one) as mine, QueueReader(other) as theirs:
        for first in range(0, mine.bound(), _AT_ONCE):
            entries = mine.read(first, first + _AT_ONCE)
            if not len(entries):
                continue
            copies = theirs.read(*(max(0, int(entries.numbers[which]) - other.files[0].base + after) for which, after in ((0, 0), (-1, 1))))
            both, in_mine, in_theirs = np.intersect1d(entries.numbers, copies.numbers, assume_unique=True, return_indices=True)
            same = np.ones(len(both), np.bool_)
            for name in ("offsets", "sizes", "codes"):
                left, right = getattr(entries, name)[in_mine], getattr(copies, name)[in_theirs]
                same &= (left == right) | ((name == "codes") & ((left == _OF_PLACEHOLDER) | (right == _OF_PLACEHOLDER)))
            if not same.all():
                return int(both[~same][0])
    return None


def next_offset_of(queue: Queue | None) -> int:
    """The queue offset after the last entry; -1 if there is no such queue."""
    bounds = None if queue is None else bounds_of(queue, 0)
    return -1 if bounds is None else bounds.max_offset
