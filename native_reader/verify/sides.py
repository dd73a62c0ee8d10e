"""The queues of a store, numbered: the parts of a check share them."""

from __future__ import annotations

from functools import cached_property
from threading import Lock

from native_reader.broker.settings import Topics
from native_reader.plan.beside import Sides
from native_reader.sides.copies import QueueCopies
from native_reader.sides.deleted import DeletedTopics
from native_reader.sides.queues import Queue, QueueReader, queues_of, topics_in

_AT_FIRST, _AT_MOST = 1 << 9, 1 << 16
"""Entries that are read at once."""


def last_entry(queue: Queue, end: int) -> tuple[int, int] | None:
    """The offset of a queue's last entry below `end`, and the queue offset after it. Not by a search, which stops at holes."""
    with QueueReader(queue) as reader:
        stop, count = reader.bound(), _AT_FIRST
        while stop > 0:
            begin = max(0, stop - count)
            entries = reader.read(begin, stop)
            entries = entries.where(entries.offsets < end)
            if len(entries):
                return int(entries.offsets[-1]), int(entries.numbers[-1]) + int(entries.counts[-1])
            stop, count = begin, min(4 * count, _AT_MOST)
    return None


def first_entry(queue: Queue) -> tuple[int, int] | None:
    """The physical and the queue offset of a queue's first entry of a record; None if it has none."""
    with QueueReader(queue) as reader:
        for begin in range(0, reader.units, _AT_MOST):
            entries = reader.read(begin, min(begin + _AT_MOST, reader.units))
            if len(entries):
                return int(entries.offsets[0]), int(entries.numbers[0])
    return None


class QueueNumbering:
    """The queues of a store, numbered; listed on first use. The parts of a check share them; those on other machines list them anew."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._listing = Lock()
        self._all: list[Queue] | None = None
        self._dispatched: int | None = None
        self._firsts: dict[int, tuple[int, int] | None] = {}

    def __reduce__(self) -> tuple[type[QueueNumbering], tuple[Sides]]:
        return QueueNumbering, (self._sides,)

    @property
    def all(self) -> list[Queue]:
        """Every queue with a file; of copies of a queue, the one that the broker maintains."""
        with self._listing:  # threads begin with it at the same time, and thousands of queues take long
            if self._all is None:
                topics, copies = topics_in(self._sides.directories, light=True), QueueCopies(self._sides.directories)
                queues = ((topic, queue) for topic in topics for queue in queues_of(topic) if queue.files)
                self._all = [queue for topic, queue in queues if not copies.is_left_behind(topic, queue.queue_id)]
            return self._all

    @cached_property
    def numbers(self) -> dict[tuple[str, int], int]:
        """The number of each queue by topic and id. A topic with both kinds of queues has the number of its batch queue."""
        return {(queue.topic, queue.queue_id): number for number, queue in enumerate(self.all)}

    @cached_property
    def topics(self) -> frozenset[str]:
        """The topics with queues."""
        return frozenset(queue.topic for queue in self.all)

    @cached_property
    def configured(self) -> frozenset[str]:
        """The topics of the configuration."""
        return frozenset(Topics(self._sides.config).names())

    def is_deleted(self, topic: str) -> bool:
        """Whether a topic without queues was deleted. If the store does not tell, one that is not configured is taken for it."""
        return self._deleted.has(topic) if self._deleted.can_tell else topic not in self.topics and topic not in self.configured

    @cached_property
    def _deleted(self) -> DeletedTopics:
        return DeletedTopics(self._sides.directories, self._sides.config)

    @cached_property
    def of_batches(self) -> frozenset[str]:
        """The topics that the configuration declares to hold inner batches."""
        return Topics(self._sides.config).of_batches()

    def uri(self, number: int) -> str:
        """The directory of a queue."""
        return self.all[number].files[0].uri.rpartition("/")[0]

    def dispatched(self) -> int:
        """The highest offset below the end of the log that any queue names."""
        if self._dispatched is None:  # threads may both find it, so nothing unfinished is stored
            ends = (last_entry(queue, self._sides.end) for queue in self.all)
            self._dispatched = max((last[0] for last in ends if last is not None), default=-1)
        return self._dispatched

    def first(self, number: int) -> tuple[int, int] | None:
        """The physical and the queue offset of a queue's first entry of a record; None if it has none."""
        if number not in self._firsts:
            self._firsts[number] = first_entry(self.all[number])
        return self._firsts[number]
