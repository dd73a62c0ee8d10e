"""What a check needs of each record: a few numbers, so that millions fit in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.inner import PLACEHOLDER_TAG
from native_reader.layout.kinds import DELAY_TOPIC
from native_reader.layout.queue_entry import java_hash
from native_reader.layout.record import INNER_BATCH, PREPARED, ROLLBACK, TRANSACTION, Bytes, Numbers, Records
from native_reader.verify.marks import Ints, Marks, new_marker
from native_reader.verify.sides import QueueNumbering

_MOST_PLACES, _MOST_TEXT = 100_000, 16 << 20
"""Places, and bytes of names of topics, that are remembered from range to range."""
_PLACEHOLDER = java_hash(PLACEHOLDER_TAG)
"""The queue has one entry of such a batch, as of any record."""
NO_QUEUE, NO_ENTRY = -1, -2
"""Instead of the number of a queue: the record's queue has no files; brokers do not dispatch the record."""
BY_HASH, BY_TIME, IN_BATCH = 0, 1, 2
"""What the tags code of an entry is: the hash of the tag; a time; the hash or 0."""


@dataclass(slots=True)
class RecordFacts:
    """The records of some range, in log order."""

    offset: Numbers
    size: Ints
    place: Ints
    """The pair of topic and queue, a number of `RecordReader.places`."""
    queue: Ints
    queue_offset: Numbers
    time: Numbers
    tag: Ints
    """The hash of the tag."""
    tag_key: Ints
    """The hash under which the index may have the tag."""
    kind: NDArray[np.int8]
    count: Ints
    """How many messages it holds."""
    rolls_back: NDArray[np.bool_]
    doubts: Ints
    """How it contradicts itself; see `Marks`."""

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(slots=True)
class Pairs:
    """Numbers that belong to a record, by the record's index: its keys' hashes, or its places in light queues."""

    row: Numbers
    value: Numbers
    other: Numbers


class RecordReader:
    """Turns records into facts, range by range. Remembers topics and their queues."""

    def __init__(self, queues: QueueNumbering) -> None:
        self._queues, self._marker, self._text = queues, new_marker(), 0
        self.places: list[tuple[str, int, int]] = []
        """Topic, queue id and number of the queue, or NO_QUEUE, of each pair seen."""

    def add(self, u8: Bytes, records: Records) -> int:
        """Add a chunk to the range; returns how many records, keys and light queues the range has so far."""
        return self._marker.add(u8, records)

    def taken(self) -> tuple[RecordFacts, Pairs, Pairs]:
        """The facts of a range's records, the hashes of their keys, and their places in light queues. The next range then begins."""
        marks = Marks._make(self._marker.taken())
        for topic, queue_id in marks.places:
            name = topic.decode("utf-8", "replace")
            self.places.append((name, queue_id, self._queues.numbers.get((name, queue_id), NO_QUEUE)))
            self._text += len(topic)
        queue = np.array([number for _, _, number in self.places], np.int32)[marks.place]
        kind, rolls_back = np.full(len(queue), BY_HASH, np.int8), np.zeros(len(queue), np.bool_)
        # Most ranges have no such records, and a look at all flags costs a fraction of the arrays.
        flags = int(np.bitwise_or.reduce(marks.flags))
        if flags & TRANSACTION:
            state = marks.flags & TRANSACTION
            rolls_back = state == ROLLBACK
            queue[(state == PREPARED) | rolls_back] = NO_ENTRY
        if flags & INNER_BATCH:
            kind[(marks.flags & INNER_BATCH != 0) & (marks.tag != _PLACEHOLDER)] = IN_BATCH
        if marks.delayed.any():
            is_delayed = np.array([topic == DELAY_TOPIC for topic, _, _ in self.places], np.bool_)[marks.place]
            kind[is_delayed & (marks.delayed != 0)] = BY_TIME
        facts = RecordFacts(
            marks.offset,
            marks.size,
            marks.place,
            queue,
            marks.queue_offset,
            marks.time,
            marks.tag,
            marks.tag_key,
            kind,
            marks.messages,
            rolls_back,
            marks.doubts,
        )
        light_queues = [(name.decode("utf-8", "replace"), 0) for name in marks.light_queues]
        lights = np.array([self._queues.numbers.get(queue, NO_QUEUE) for queue in light_queues], np.int64)[marks.light]
        nothing = np.empty(0, np.int64)
        return facts, Pairs(marks.key_row, marks.key, nothing), Pairs(marks.light_row, lights, marks.light_number)

    def forget(self) -> None:
        """Forget topics if there are very many, as in a corrupt log. Only between ranges, because facts have their numbers."""
        if len(self.places) > _MOST_PLACES or self._text > _MOST_TEXT:
            self._marker, self._text = new_marker(), 0
            self.places.clear()
