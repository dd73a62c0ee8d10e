"""The queues of a store, numbered: the parts of a check share them."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from threading import Lock

from native_reader.broker.settings import Topics
from native_reader.errors import StoreError
from native_reader.layout.record import LONGEST_HEAD
from native_reader.plan.beside import Sides
from native_reader.records.sync import layout_at
from native_reader.sides.copies import QueueCopies
from native_reader.sides.deleted import DeletedTopics
from native_reader.sides.queues import Queue, QueueReader, queues_of, topics_in
from native_reader.storage.store import StoreFiles
from native_reader.storage.window import Window

_TRIED = 8
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


def first_entry(queue: Queue, files: StoreFiles | None = None) -> tuple[int, int] | None:
    """The physical and the queue offset of a queue's first entry of a record; None if it has none.

    `files`: of the log, in which the record must be. Of a few entries at least: a wrong one can be the first.
    """
    with QueueReader(queue) as reader:
        for begin in range(0, reader.units, _AT_MOST):
            entries = reader.read(begin, min(begin + _AT_MOST, reader.units))
            pairs = zip(entries.offsets[:_TRIED].tolist(), entries.numbers[:_TRIED].tolist(), strict=True)
            found = next((pair for pair in pairs if files is None or has_record(files, pair[0], queue.topic)), None)
            if len(entries):
                return found
    return None


def has_record(files: StoreFiles, offset: int, topic: str) -> bool:
    """Whether a record of that topic is at that offset of the log."""
    segment = files.segment_at(offset)
    if segment is None:
        return False
    with suppress(OSError, StoreError), Window(segment, LONGEST_HEAD, past_unreadable=True) as window:
        layout = layout_at(window, offset - segment.base - segment.frame)
        return layout is not None and window.peek(layout.topic_at, layout.topic_size) == topic.encode()
    return False


class QueueNumbering:
    """The queues of a store, numbered; listed on first use. The parts of a check share them; those on other machines list them anew."""

    def __init__(self, sides: Sides, files: StoreFiles | None = None) -> None:
        self._sides, self._files = sides, files
        self._listing = Lock()
        self._all: list[Queue] | None = None
        self._dispatched: int | None = None
        self._firsts: dict[int, tuple[int, int] | None] = {}

    def __reduce__(self) -> tuple[type[QueueNumbering], tuple[Sides, StoreFiles | None]]:
        return QueueNumbering, (self._sides, self._files)

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
            self._firsts[number] = first_entry(self.all[number], self._files)
        return self._firsts[number]
