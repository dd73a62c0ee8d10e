"""What a check needs of each record: a few numbers, so that millions fit in memory."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from native_reader.columns.strings import Source
from native_reader.layout.inner import units_of
from native_reader.layout.kinds import DELAY_TOPIC
from native_reader.layout.record import COMPRESSED, INNER_BATCH, PREPARED, ROLLBACK, TRANSACTION, Index, Records
from native_reader.verify.marks import Longs, Marks, marks_of
from native_reader.verify.sides import Queues

_FEW_PLACES = 1 << 16
"""So many pairs of topic and queue id fit in a table."""
_MOST_PLACES, _MOST_TEXT = 100_000, 16 << 20
"""Places, and bytes of names of topics, that are remembered from range to range."""
NO_QUEUE, NO_ENTRY = -1, -2
"""Instead of the number of a queue: the record's queue has no files; brokers do not dispatch the record."""
BY_HASH, BY_TIME, IN_BATCH = 0, 1, 2
"""What the tags code of an entry is: the hash of the tag; a time; the hash or 0."""


@dataclass(slots=True)
class Facts:
    """The records of some range, in log order."""

    offset: Longs
    size: NDArray[np.int32]
    place: NDArray[np.int32]
    """The pair of topic and queue, a number of `RecordReader.places`."""
    queue: NDArray[np.int32]
    queue_offset: Longs
    time: Longs
    tag: NDArray[np.int32]
    """The hash of the tag."""
    tag_key: NDArray[np.int32]
    """The hash under which the index may have the tag."""
    kind: NDArray[np.int8]
    count: NDArray[np.int32]
    """How many messages it holds."""
    rolls_back: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.offset)


@dataclass(slots=True)
class Pairs:
    """Numbers that belong to a record, by the record's index: its keys' hashes, or its places in light queues."""

    row: NDArray[np.intp]
    value: Longs
    other: Longs


def _none(kind: str) -> NDArray[np.generic]:
    return np.empty(0, kind)


NO_FACTS = Facts(*(_none(kind) for kind in ("i8", "i4", "i4", "i4", "i8", "i8", "i4", "i4", "i1", "i4", "?")))  # type: ignore[arg-type]
NO_PAIRS = Pairs(*(_none("i8") for _ in range(3)))  # type: ignore[arg-type]


class RecordReader:
    """Turns chunks of records into facts. Remembers topics and their queues."""

    def __init__(self, queues: Queues) -> None:
        self._queues = queues
        self._topics: dict[bytes, int] = {}
        self._text = 0
        self._known: dict[tuple[int, int], int] = {}
        self.names: list[str] = []
        self.places: list[tuple[str, int, int]] = []
        """Topic, queue id and number of the queue, or NO_QUEUE, of each pair seen."""

    def read(self, source: Source, records: Records) -> tuple[Facts, Pairs, Pairs]:
        """The facts of these records, the hashes of their keys, and their places in light queues."""
        marks = marks_of(source, records)
        place, queue = self._places_of(marks)
        state, is_batch = marks.flags & TRANSACTION, marks.flags & INNER_BATCH != 0
        queue[(state == PREPARED) | (state == ROLLBACK)] = NO_ENTRY
        kind = np.where(is_batch, IN_BATCH, BY_HASH).astype(np.int8)
        if (delayed := DELAY_TOPIC.encode()) in marks.names:
            kind[(marks.topics == marks.names.index(delayed)) & (marks.delayed != 0)] = BY_TIME
        count = marks.counts.astype(np.int32)
        if len(rows := np.flatnonzero(count < 0)):
            count[rows] = [_units_in(source, *records.body(row)) for row in rows.tolist()]
        facts = Facts(
            marks.offsets,
            marks.sizes.astype(np.int32),
            place,
            queue,
            marks.queue_offsets,
            marks.times,
            marks.tags.astype(np.int32),
            marks.tag_keys.astype(np.int32),
            kind,
            count,
            state == ROLLBACK,
        )
        light = Pairs(marks.light_rows, self._light_queues(marks.light_names)[marks.lights], marks.light_numbers)
        return facts, Pairs(marks.key_rows, marks.keys, np.zeros(0, np.int64)), light

    def forget(self) -> None:
        """Forget topics if there are very many, as in a corrupt log. Only between ranges, because facts have their numbers."""
        if len(self.places) > _MOST_PLACES or self._text > _MOST_TEXT:
            self._text = 0
            for known in (self._topics, self._known, self.names, self.places):
                known.clear()

    def _topic_number(self, topic: bytes) -> int:
        number = self._topics.get(topic)
        if number is None:
            number = self._topics[topic] = len(self.names)
            self.names.append(topic.decode("utf-8", "replace"))
            self._text += len(topic)
        return number

    def _places_of(self, marks: Marks) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The place of each record, and the number of its queue."""
        topics = [self._topic_number(name) for name in marks.names]
        unique, inverse = _distinct(marks.topics, marks.queue_ids, len(topics))
        places = []
        for each, queue_id in unique:
            pair = topics[each], queue_id
            if pair not in self._known:
                name = self.names[pair[0]]
                self._known[pair] = len(self.places)
                self.places.append((name, queue_id, self._queues.numbers.get((name, queue_id), NO_QUEUE)))
            places.append(self._known[pair])
        return np.array(places, np.int32)[inverse], np.array([self.places[each][2] for each in places], np.int32)[inverse]

    def _light_queues(self, names: list[bytes]) -> Longs:
        """The numbers of light queues, or NO_QUEUE."""
        numbers = self._queues.numbers
        return np.array([numbers.get((name.decode("utf-8", "replace"), 0), NO_QUEUE) for name in names], np.int64)


def _distinct(topics: Longs, queue_ids: Longs, count: int) -> tuple[list[tuple[int, int]], Index]:
    """The different pairs of topic and queue id, and which of them each record has. Topics are numbers below `count`."""
    width = int(queue_ids.max()) + 1
    if int(queue_ids.min()) >= 0 and count * width <= _FEW_PLACES:  # a table, because sorting costs ten times as much
        codes, place_of = topics * width + queue_ids, np.zeros(count * width, np.intp)
        place_of[codes] = 1
        found = np.flatnonzero(place_of)
        place_of[found] = np.arange(len(found))
        return [divmod(code, width) for code in found.tolist()], place_of[codes]
    unique, inverse = np.unique(topics << 32 | queue_ids & 0xFFFFFFFF, return_inverse=True)
    return [(code >> 32, (code & 0xFFFFFFFF ^ 1 << 31) - (1 << 31)) for code in unique.tolist()], inverse


def joined(parts: list[Facts]) -> Facts:
    """The facts of several chunks."""
    return Facts(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Facts)))


def joined_pairs(parts: list[Pairs], counts: list[int]) -> Pairs:
    """The pairs of several chunks with that many records each."""
    begins = np.concatenate([[0], np.cumsum(counts)])
    rows = [part.row + begin for part, begin in zip(parts, begins, strict=False)]
    return Pairs(np.concatenate(rows), *(np.concatenate([getattr(part, name) for part in parts]) for name in ("value", "other")))


def within(offsets: Longs, ranges: Longs) -> NDArray[np.bool_]:
    """Which offsets are in one of the ranges `[start, stop)`, which ascend."""
    if not len(ranges):
        return np.zeros(len(offsets), np.bool_)
    at = np.searchsorted(ranges[:, 0], offsets, "right") - 1
    inside: NDArray[np.bool_] = (at >= 0) & (offsets < ranges[at, 1])
    return inside


def _units_in(source: Source, begin: int, size: int, flags: int) -> int:
    """The number of messages of a batch that does not state it; -1 if unknown."""
    units = None if flags & COMPRESSED else units_of(source.u8[begin : begin + size])
    return -1 if units is None else len(units)
