"""Whole records with one wrong field that no checksum covers, and what it was: their queues show it.

A record says its topic, queue and queue offset, and whether it is the half of a transaction or rolled back. Where its own queue does not
name it, and another place does, between the messages before and after it, that place is the right one. Without the files of a
queue, it is right if a queue lacks only that message between two others, and one bit makes the difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from native_reader.broker.settings import Topics
from native_reader.columns.strings import PaddedBuffer
from native_reader.layout.kinds import DELAY_TOPIC
from native_reader.layout.queue_entry import is_written
from native_reader.layout.record import COMMITTED, HEAD, PREPARED, ROLLBACK, TRANSACTION, Numbers
from native_reader.repair.old_queues import OldQueue
from native_reader.repair.records import record_at, size_at
from native_reader.repair.survey import Change, Survivors
from native_reader.storage.store import StoreFiles
from native_reader.verify.marks import Marks, new_marker

TOPIC, QUEUE_ID, QUEUE_OFFSET, FLAG = FIELDS = "topic", "queue id", "queue offset", "transaction flag"
INDEXED = TOPIC, FLAG
"""A key is hashed with its topic, and rolled back messages are not indexed."""
_AT_ONCE = 1 << 16
_COLUMNS = {QUEUE_ID: "queue_id", QUEUE_OFFSET: "queue_offset", FLAG: "sys_flag"}
_BITS = (*(1 << bit for bit in range(63)), -1 << 63)


class _Record(NamedTuple):
    """What a record says. `code`: the tags code that its entry should have; None if that is a time."""

    offset: int
    size: int
    topic: str
    queue_id: int
    slot: int
    code: int | None
    flags: int
    has_half: bool
    """Whether it names the half of a transaction that it ends."""
    topic_at: int

    @property
    def place(self) -> tuple[str, int, int]:
        """Its place in the queues."""
        return self.topic, self.queue_id, self.slot


class Decisions(NamedTuple):
    """The changes to records, by offset; and the places of records of which one is wrong, where nothing shows which one."""

    changes: Mapping[int, Change]
    unclear: Mapping[int, tuple[str, int, int]]


def decisions_on(
    files: StoreFiles, queues: Mapping[tuple[str, int], Survivors], old: Mapping[tuple[str, int], OldQueue], wrong: Collection[int]
) -> Decisions:
    """Decide on records that are out of place, `wrong`, and on those that can be. Of two that would get one place, neither changes."""
    pairs, lone = list(_pairs(queues, wrong)), set(_lone(queues, Topics(files.config)))
    places = _Places(queues, old, wrong, {*chain(*pairs)} | lone)
    records = {offset: _record(files, offset) for offset in sorted({*wrong, *chain(*pairs), *lone})}
    found = {offset: places.change_of(record) for offset, record in records.items()}
    count = Counter(each.place for each in found.values() if each is not None)
    taken = {records[offset].place for offset in {*chain(*pairs)}}
    sure = {offset: each for offset, each in found.items() if each is not None and count[each.place] == 1 and each.place not in taken}
    unclear = {*chain(*(pair for pair in pairs if len(sure.keys() & pair) != 1))}
    changes = {offset: each for offset, each in sure.items() if offset not in unclear}
    return Decisions(changes, {offset: records[offset].place for offset in unclear})


def _pairs(queues: Mapping[tuple[str, int], Survivors], wrong: Collection[int]) -> Iterator[tuple[int, int]]:
    """Two records of a queue without files with the same queue offset. From 0 on, a topic can have been created again."""
    for queue in queues.values():
        for before, run in pairwise(queue.runs) if queue.before is None else ():
            if 0 < before.stop - 1 == run.first and not {before.last, run.begin} & {*wrong}:
                yield before.last, run.begin


def _lone(queues: Mapping[tuple[str, int], Survivors], topics: Topics) -> Iterator[int]:
    """Records that are alone in a queue without files that no settings have."""
    for (topic, queue_id), queue in queues.items() if topics.is_known else ():
        is_alone = len(queue.runs) == 1 and queue.runs[0].stop - queue.runs[0].first == 1
        if queue.before is None and is_alone and not 0 <= queue_id < topics.queues_of(topic):
            yield queue.runs[0].begin


def _record(files: StoreFiles, offset: int) -> _Record:
    content, records = record_at(files, offset, size_at(files, offset))
    marker = new_marker()
    marker.add(PaddedBuffer.of(content).u8, records)
    head, begin = records.heads[0], int(records.topic_at[0])
    topic = content[begin : begin + int(records.topic_size[0])].decode("utf-8", "replace")
    code = None if topic == DELAY_TOPIC else int(Marks._make(marker.taken()).tag[0])
    has_half = bool(head["prepared_transaction_offset"])
    place = (topic, int(head["queue_id"]), int(head["queue_offset"]))
    return _Record(offset, len(content), *place, code, int(head["sys_flag"]), has_half, begin)


class _Places:
    """Where records can belong: the slots that queues lack, between the survivors that are in place."""

    def __init__(
        self,
        queues: Mapping[tuple[str, int], Survivors],
        old: Mapping[tuple[str, int], OldQueue],
        wrong: Collection[int],
        suspects: Collection[int],
    ) -> None:
        self._queues, self._old, self._wrong, self._suspects = queues, old, {*wrong, *suspects}, suspects
        self._known = dict[tuple[str, int], Numbers]()

    def change_of(self, record: _Record) -> Change | None:
        """What must change in a record; None if nothing shows it, or several places do."""
        if record.flags & TRANSACTION in (PREPARED, ROLLBACK):
            flags, found = record.flags & ~TRANSACTION | (COMMITTED if record.has_half else 0), [(FLAG, *record.place)]
        elif self._names((record.topic, record.queue_id), record.slot, record):
            return None
        else:
            flags, found = record.flags, list(self._others(record))
        named = [each for each in found if self._names((each[1], each[2]), each[3], record)]
        likely = named or [each for each in found if self._is_lacked(record, *each)]
        if len(likely) != 1:
            return None
        ((field, topic, queue_id, slot),) = likely
        if field == TOPIC:
            at, content = record.topic_at, topic.encode()
        else:
            at, content = _number(field, {QUEUE_ID: queue_id, QUEUE_OFFSET: slot, FLAG: flags}[field])
        return Change(field, at, content, topic, queue_id, slot)

    def _others(self, record: _Record) -> Iterator[tuple[str, str, int, int]]:
        """Other places that differ in one field, and that a queue lacks: the field, topic, queue and queue offset."""
        for topic, queue_id in self._queues.keys() | self._old.keys():
            low, high, _ = self._between((topic, queue_id), record.offset)
            if topic == record.topic and queue_id == record.queue_id:
                slots = () if record.offset in self._suspects else self._slots(record, low, high)
                yield from ((QUEUE_OFFSET, topic, queue_id, slot) for slot in slots)
            elif low <= record.slot < high and topic == record.topic:
                yield QUEUE_ID, topic, queue_id, record.slot
            elif low <= record.slot < high and queue_id == record.queue_id and _differs_once(topic, record.topic):
                yield TOPIC, topic, queue_id, record.slot

    def _slots(self, record: _Record, low: int, high: int) -> Iterator[int]:
        """The slots of its own queue that can be those of a record: its entry is there, or one bit makes the difference."""
        yield from (slot for bit in _BITS if low <= (slot := record.slot ^ bit) < high)
        queue = self._old.get((record.topic, record.queue_id))
        if queue is None:
            return
        high = min(high, queue.stop)  # the next record may say any number
        for begin in range(max(low, queue.begin), high, _AT_ONCE):
            entries = queue.read(begin, min(begin + _AT_ONCE, high))
            slots = begin + np.flatnonzero(entries["offset"] == record.offset)
            yield from (slot for slot in slots.tolist() if _count(slot ^ record.slot, 64) != 1)

    def _between(self, key: tuple[str, int], offset: int) -> tuple[int, int, bool]:
        """The slots that a queue lacks around an offset of the log, and whether they are between two survivors."""
        if key not in self._known:
            runs = self._queues[key].runs if key in self._queues else []
            rows = [(each.begin, each.last, each.first, each.stop) for each in runs if not {each.begin, each.last} <= self._wrong]
            self._known[key] = np.array(rows, np.int64).reshape(-1, 4)
        known, queue = self._known[key], self._old.get(key)
        after = int(np.searchsorted(known[:, 0], offset))
        if after and known[after - 1, 1] >= offset:
            return 0, 0, False
        low = int(known[after - 1, 3]) if after else 0 if queue is None else queue.begin
        high = int(known[after, 2]) if after < len(known) else 0 if queue is None else queue.stop
        return low, high, 0 < after < len(known)

    def _names(self, key: tuple[str, int], slot: int, record: _Record) -> bool:
        """Whether the entry there is that of the record."""
        queue = self._old.get(key)
        if queue is None or not queue.begin <= slot < queue.stop:
            return False
        entry = queue.read(slot, slot + 1)[0]
        is_place = (entry["offset"], entry["size"]) == (record.offset, record.size)
        return bool(is_place and (record.code is None or entry["tags_code"] == record.code))

    def _is_lacked(self, record: _Record, field: str, topic: str, queue_id: int, slot: int) -> bool:
        """Whether a queue without an entry there lacks that message between two others, and one bit makes the difference.

        With another flag, its place is its own: brokers write 0 into open and rolled back ones. Else the queue lacks only this message.
        """
        low, high, is_inside = self._between((topic, queue_id), record.offset)
        queue = self._old.get((topic, queue_id))
        is_free = queue is None or not is_written(queue.read(slot, slot + 1))[0]
        bits = _count(queue_id ^ record.queue_id, 32) + _count(slot ^ record.slot, 64) + _differing_bits(topic, record.topic)
        return is_inside and low <= slot < high and is_free and (field == FLAG or (bits == 1 and high - low == 1))


def _number(field: str, value: int) -> tuple[int, bytes]:
    """Where a number is in a record, and its bytes."""
    if HEAD.fields is None:  # as numpy declares it
        raise TypeError
    kind, at, *_ = HEAD.fields[_COLUMNS[field]]
    return at, np.array(value, kind).tobytes()


def _count(number: int, size: int) -> int:
    """How many bits of a number of that many bits are set. Python counts those of its absolute value."""
    return (number & (1 << size) - 1).bit_count()


def _differing_bits(one: str, other: str) -> int:
    """Of two topics with as many characters. One of them can be no UTF-8."""
    return sum((ord(a) ^ ord(b)).bit_count() for a, b in zip(one, other, strict=True))


def _differs_once(one: str, other: str) -> bool:
    """Whether two topics differ in one character. One that is not UTF-8 has another one in its place."""
    return len(one) == len(other) and DELAY_TOPIC not in (one, other) and sum(a != b for a, b in zip(one, other, strict=True)) == 1
