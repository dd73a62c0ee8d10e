"""What the consume queues list of each topic: how many records, how many bytes, and which bytes of the log none of them lists."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from native_reader.errors import DataLoss
from native_reader.layout.begin import closes, read_pair
from native_reader.layout.record import BLANK_HEAD, Mask, Numbers
from native_reader.sides.copies import QueueCopies
from native_reader.sides.entries import Entries
from native_reader.sides.queues import QueueReader, Topic, queues_of, topics_in
from native_reader.storage.protocol import map_files
from native_reader.storage.store import Segment, StoreFiles
from native_reader.storage.window import Window

_AT_ONCE = 1 << 16


@dataclass(slots=True)
class Count:
    """What the queues of one topic list. `first`, `last`: the lowest and the highest physical offset."""

    queues: int = 0
    records: int = 0
    messages: int = 0
    bytes: int = 0
    first: int = -1
    last: int = -1

    def add(self, entries: Entries) -> None:
        """Count these entries, which are not empty."""
        first, last = int(entries.offsets[0]), int(entries.offsets[-1])
        self.first = first if self.first < 0 else min(self.first, first)
        self.last = max(self.last, last)
        self.records += len(entries)
        self.messages += int(np.maximum(entries.counts, 0).sum())
        self.bytes += int(entries.sizes.sum())


@dataclass(slots=True)
class Listed:
    """The counts of each topic. `unlisted`: the bytes of the log that are in no queue. `is_complete`: each record is listed once."""

    topics: dict[str, Count] = field(default_factory=dict)
    unlisted: int = 0
    is_complete: bool = True


def count_listed(store: StoreFiles, end: int, counted: Callable[[int], None] | None = None) -> Listed:
    """Count what the queues list of the log, which ends at `end`. Light queues list records of other topics again.

    `counted`: called with the size of the records that were listed since its last call, in any thread.
    """
    log = _Claimed(store, end, counted)
    topics, copies = topics_in(store.queues), QueueCopies(store.queues)
    found = Listed()
    of_topics = map_files(partial(log.of_topic, copies=copies), topics, None if counted is None else partial(counted, 0))
    for topic, count in zip(topics, of_topics, strict=True):
        # A topic can have ordinary queues, batch queues, and queues in RocksDB.
        before = found.topics.get(topic.name)
        found.topics[topic.name] = count if before is None else _sum(before, count)
    left = log.left()
    found.unlisted, found.is_complete = sum(size for size in left if size > 0), not any(left) and log.is_each_once()
    return found


def _sum(one: Count, other: Count) -> Count:
    firsts = [each.first for each in (one, other) if each.first >= 0]
    queues, records, messages, size = (getattr(one, name) + getattr(other, name) for name in ("queues", "records", "messages", "bytes"))
    return Count(queues, records, messages, size, min(firsts, default=-1), max(one.last, other.last))


class _Claimed:
    """For each segment: how many of its bytes are listed, and where the last of these records ends.

    The sum of bytes is also right if one record is listed twice, and another one of its size not at all. So each segment has a second sum:
    the hash of each end, minus the hash of each beginning. If each record begins where the one before it ends, only the hashes of the last
    end and of the first beginning are left. Any other entries have that sum only by chance.
    """

    def __init__(self, store: StoreFiles, end: int, counted: Callable[[int], None] | None) -> None:
        self._store, self._end, self._listed = store, end, counted
        self._bases = np.array([segment.base for segment in store.segments], np.int64)
        self._stops = np.array([segment.end for segment in store.segments], np.int64)
        self._frames = np.array([segment.frame for segment in store.segments], np.int64)
        self._bytes = np.zeros(len(store.segments), np.int64)
        self._ends = self._bases.copy()
        self._hashes = np.zeros(len(store.segments), np.uint64)
        self._lock = threading.Lock()

    def of_topic(self, topic: Topic, copies: QueueCopies) -> Count:
        """The count of one topic in one directory, without queues that another directory has more of: they are counted there."""
        count = Count()
        for queue in queues_of(topic):
            if copies.is_left_behind(topic, queue.queue_id):
                continue
            with QueueReader(queue) as reader:
                units = reader.bound()
                self._add(count, (reader.read(first, min(first + _AT_ONCE, units)) for first in range(0, units, _AT_ONCE)))
        return count

    def _add(self, count: Count, pieces: Iterable[Entries]) -> None:
        """Count one queue."""
        count.queues += 1
        above = self._store.first_record - 1
        for piece in pieces:
            entries = piece.where((piece.offsets > above) & (piece.offsets < self._end))
            # An entry that is out of order names a record again, or none.
            highest = np.maximum.accumulate(entries.offsets)
            entries = entries.where(np.diff(highest, prepend=above) > 0)
            entries = entries.where(self._in_files(entries.offsets))
            if len(entries):
                above = int(entries.offsets[-1])
                self._claim(entries)
                count.add(entries)

    def _in_files(self, offsets: Numbers) -> Mask:
        """Which of these offsets, all between the first and the end of the log, are not in a hole of the log."""
        return np.asarray(offsets < self._stops[np.searchsorted(self._bases, offsets, "right") - 1], np.bool_)

    def _claim(self, entries: Entries) -> None:
        which = np.searchsorted(self._bases, entries.offsets, "right") - 1
        begins, ends = entries.offsets - self._frames[which], entries.offsets + entries.sizes
        hashes = _hashed(ends) - _hashed(begins)
        with self._lock:  # the topics of a slow storage are read by several threads
            np.add.at(self._bytes, which, ends - begins)
            np.maximum.at(self._ends, which, ends)
            np.add.at(self._hashes, which, hashes)
        if self._listed is not None:
            self._listed(int(entries.sizes.sum()))

    def left(self) -> list[int]:
        """Of each segment, the bytes that no queue lists; below 0 if entries of lost records overlap others. Without a blank after them."""
        found = []
        for segment, listed, reached in zip(self._store.segments, self._bytes.tolist(), self._ends.tolist(), strict=True):
            left = max(0, min(segment.end, self._end) - segment.base) - listed
            found.append(left - min(left, _blank_at(segment, reached)) if left > 0 else left)
        return found

    def is_each_once(self) -> bool:
        """Whether the listed records of each segment follow each other from its beginning to the last of them."""
        return bool((self._hashes == _hashed(self._ends) - _hashed(self._bases)).all())


def _hashed(offsets: Numbers) -> NDArray[np.uint64]:
    """The hash of each offset: the last steps of SplitMix64."""
    found = offsets.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        found ^= found >> np.uint64(shift)
        found *= np.uint64(factor)
    return found ^ (found >> np.uint64(31))


def _blank_at(segment: Segment, offset: int) -> int:
    """The bytes from that offset to the end of its segment if they are a blank, else 0."""
    rest = segment.end - offset
    if not 0 <= rest <= segment.size:
        return 0
    if rest < BLANK_HEAD:
        return rest
    try:
        with Window(segment, 0, past_unreadable=True) as window:
            first, second = read_pair(window.peek(offset - segment.base, BLANK_HEAD))
    except DataLoss:  # deleted or truncated meanwhile
        return 0
    return rest if closes(first, second, rest, segment.frame > 0) else 0
