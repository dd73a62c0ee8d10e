"""Messages that another store has elsewhere in its log, such as one that an extract made.

An entry of a queue names a lost record: its place, its size and the hash of its tag. Another store can have that message at the same queue
offset. It has the same queue there if it has equal records in it, byte by byte but for their place: two queues that part never have an
equal record after that. So an equal one after the lost one proves it; where the other queue has none that could be compared, the next
one before it must be equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.layout.queue_entry import QUEUE_ENTRY, is_light, is_written, java_hash
from native_reader.layout.record import SMALLEST_RECORD, Mask, Numbers, put_physical_offsets
from native_reader.repair.records import bytes_at
from native_reader.repair.survey import Survivors
from native_reader.storage.store import StoreFiles

COLUMNS = ("physical_offset", "record_size", "topic", "queue_id", "queue_offset", "tags", "uniq_key", "body_size")
"""What is read of the other store."""
_AT_ONCE = 1 << 16
_SLOTS = 40
"""Bits of a queue offset."""
_NOT_FOUND, _TWICE = -1, -2


class Slots(NamedTuple):
    """Slots of queues, in order, and what their entries have: log offset, size and hash of the tag."""

    key: Numbers
    """The number of the queue and the slot, in one number."""
    offset: Numbers
    size: Numbers
    code: Numbers

    @classmethod
    def of(cls, pieces: Sequence[tuple[Numbers, NDArray[np.void]]]) -> Slots:
        """Those of pieces of queues: keys and entries."""
        keys, entries = zip((np.empty(0, np.int64), np.empty(0, QUEUE_ENTRY)), *pieces, strict=True)
        units, key = np.concatenate(entries), np.concatenate(keys)
        fields = (units[name].astype(np.int64) for name in ("offset", "size", "tags_code"))
        return cls(key, *fields).where(np.unique(key, return_index=True)[1])

    def where(self, which: Mask | Numbers) -> Slots:
        """Only these."""
        return Slots(*(each[which] for each in self))


class SameQueues:
    """What this store lacks by its queues, and what tells whether another store has the same ones.

    `lacking`: offsets `[start, stop)` without a whole record, in order.
    """

    def __init__(self, queues: Mapping[tuple[str, int], Survivors], lacking: Sequence[tuple[int, int]]) -> None:
        chosen = {
            key: each
            for key, each in sorted(queues.items())
            if each.before is not None and kind_of_topic(key[0]) not in SYSTEM_KINDS and not is_light(key[0])
        }
        numbered = list(enumerate(chosen.items()))
        lost = Slots.of([piece for number, (_, queue) in numbered for piece in _lost(number, queue, lacking)])
        self.lost = _without_overlaps(lost)
        with_lost = np.unique(self.lost.key >> _SLOTS)
        self._edges = Slots.of([_edges(number, queue) for number, (_, queue) in numbered if number in with_lost])
        self.queues = list(chosen)
        self.topics = pa.array(sorted({topic for topic, _ in chosen}), pa.string())
        places = [(self.topics.index(topic).as_py() << _SLOTS) + queue_id for topic, queue_id in chosen]
        self._places = np.array(places, np.int64)  # in the order of the queues

    def keys_of(self, rows: pa.Table) -> Numbers:
        """The number of the queue and the slot of each row; -1 for other queues."""
        topic = pc.fill_null(pc.index_in(rows["topic"].cast(pa.string()), self.topics), -1).to_numpy().astype(np.int64)
        queue_id, slot = (rows[name].to_numpy().astype(np.int64) for name in ("queue_id", "queue_offset"))
        place = np.where(topic < 0, -1, (topic << _SLOTS) + queue_id)
        number = np.searchsorted(self._places, place)
        known = np.append(self._places, -2)[number] == place
        return np.where(known & (slot >= 0) & (slot < 1 << _SLOTS), (number << _SLOTS) + slot, -1)

    def topics_of(self, keys: Numbers) -> Numbers:
        """The number of the topic of each of these."""
        found: Numbers = self._places[keys >> _SLOTS] >> _SLOTS
        return found

    def place_of(self, key: int) -> tuple[str, int, int]:
        """Topic, queue and queue offset."""
        return *self.queues[key >> _SLOTS], key & (1 << _SLOTS) - 1

    def runs_of(self, keys: Numbers) -> Iterator[tuple[str, int, int, int]]:
        """Messages in order, those that follow each other in a queue together: topic, queue, first and last queue offset."""
        for run in np.split(keys, np.flatnonzero(np.diff(keys) != 1) + 1) if len(keys) else ():
            yield *self.place_of(int(run[0])), self.place_of(int(run[-1]))[2]

    @property
    def firsts(self) -> list[int]:
        """One lost slot of each queue that has some."""
        found: list[int] = self.lost.key[np.unique(self.lost.key >> _SLOTS, return_index=True)[1]].tolist()
        return found

    def without(self, taken: Numbers) -> None:
        """Forget what was found, by its numbers."""
        self.lost = self.lost.where(np.delete(np.arange(len(self.lost.key)), taken))

    def found_in(
        self, tables: Iterable[pa.Table], files: StoreFiles, other: StoreFiles, *, is_own: bool = False
    ) -> tuple[Numbers, Numbers]:
        """Which lost messages the other store has, by number, and where in its log. `is_own`: it is the tier of this store."""
        found, equal = np.full(len(self.lost.key), _NOT_FOUND), np.full(len(self._edges.key), _NOT_FOUND)
        for rows_of in tables:
            keys = self.keys_of(rows_of)
            offsets, sizes = (rows_of[name].to_numpy().astype(np.int64) for name in ("physical_offset", "record_size"))
            which, rows = _matches(self.lost.key, keys)
            codes = _codes_of(rows_of["tags"].take(pa.array(rows)))
            is_same = (sizes[rows] == self.lost.size[which]) & (codes == self.lost.code[which])
            which, rows = which[is_same], rows[is_same]
            found[which] = np.where(found[which] == _NOT_FOUND, offsets[rows], _TWICE)
            for edge, row in zip(*(each.tolist() for each in _matches(self._edges.key, keys)), strict=True):
                own = _record(files, int(self._edges.offset[edge]), int(sizes[row]))
                equal[edge] = bool(own) and own == _record(other, int(offsets[row]), int(sizes[row]))
        taken = np.flatnonzero((found >= 0) & (self._are_not_disproved(equal) if is_own else self._are_proven(equal)))
        return taken, found[taken]

    def _are_not_disproved(self, equal: Numbers) -> Mask:
        """Which messages are in a queue without a record that differs."""
        differing = np.unique(self._edges.key[equal == 0] >> _SLOTS)
        return ~np.isin(self.lost.key >> _SLOTS, differing)

    def _are_proven(self, equal: Numbers) -> Mask:
        """Which lost messages are where both stores have the same queue. `equal`: of each edge 1, 0, or -1 if the other lacks it."""
        compared = np.flatnonzero(equal != _NOT_FOUND)
        keys, is_equal = self._edges.key[compared], equal[compared] == 1
        queue, mine = keys >> _SLOTS, self.lost.key >> _SLOTS
        after = np.searchsorted(keys, self.lost.key)
        has_after = np.append(queue, -1)[after] == mine
        has_before = np.append(queue, -1)[after - 1] == mine
        # Where the last equal one of each queue is.
        last = np.full(len(self.queues), -1)
        np.maximum.at(last, queue[is_equal], keys[is_equal])
        proven: Mask = np.where(has_after, last[mine] > self.lost.key, has_before & np.append(is_equal, False)[after - 1])
        return proven


def _lost(number: int, queue: Survivors, lacking: Sequence[tuple[int, int]]) -> Iterator[tuple[Numbers, NDArray[np.void]]]:
    """The slots of no survivor whose entries name bytes that are lacking."""
    old = queue.before
    assert old is not None
    starts, stops = np.array(lacking, np.int64).reshape(-1, 2).T
    ends = [(0, 0), *((run.first, run.stop) for run in queue.runs), (old.stop, old.stop)]
    for (_, first), (stop, _) in pairwise(ends):
        for begin in range(max(first, old.begin), min(stop, old.stop), _AT_ONCE):
            entries = old.read(begin, min(begin + _AT_ONCE, stop, old.stop))
            offsets, sizes = entries["offset"].astype(np.int64), entries["size"].astype(np.int64)
            at = np.searchsorted(stops, offsets, "right")
            inside = (offsets >= np.append(starts, 1 << 62)[at]) & (offsets + sizes <= np.append(stops, 0)[at])
            which = np.flatnonzero(
                is_written(entries) & inside & (sizes >= SMALLEST_RECORD) & (begin + np.arange(len(entries)) < 1 << _SLOTS)
            )
            yield (number << _SLOTS) + begin + which, entries[which]


def _edges(number: int, queue: Survivors) -> tuple[Numbers, NDArray[np.void]]:
    """The survivors beside slots without one."""
    places = dict[int, int]()
    for run in queue.runs:
        places |= {run.first: run.begin, run.stop - 1: run.last}
    entries = np.zeros(len(places), QUEUE_ENTRY)
    entries["offset"] = list(places.values())
    return (number << _SLOTS) + np.array(list(places), np.int64), entries


def _without_overlaps(lost: Slots) -> Slots:
    """Without those whose bytes another one has, too: one of the entries is wrong."""
    order = np.argsort(lost.offset, kind="stable")
    offset, end = lost.offset[order], (lost.offset + lost.size)[order]
    reached = np.maximum.accumulate(np.append(0, end[:-1])) if len(order) else end
    return lost.where(np.sort(order[offset >= reached]))


def _matches(known: Numbers, keys: Numbers) -> tuple[Numbers, Numbers]:
    """Which of the known ones, which are in order, are there, and in which rows."""
    at = np.searchsorted(known, keys)
    rows = np.flatnonzero(np.append(known, -2)[at] == keys)
    return at[rows], rows


def _codes_of(tags: pa.ChunkedArray) -> Numbers:
    """The hashes of tags, as brokers write them to the entries of queues."""
    encoded = tags.cast(pa.string()).combine_chunks().dictionary_encode()
    codes = np.array([*(java_hash(tag) for tag in encoded.dictionary.to_pylist()), 0], np.int64)
    found: Numbers = codes[pc.fill_null(encoded.indices, len(codes) - 1).to_numpy()]
    return found


def _record(files: StoreFiles, offset: int, size: int) -> bytes:
    """A record without its physical offset; empty if it is not there, or cannot be read."""
    content = bytes_at(files, offset, size)
    if len(content) < SMALLEST_RECORD:
        return b""
    u8 = np.frombuffer(content, np.uint8).copy()
    put_physical_offsets(u8, np.zeros(1, np.int64), np.zeros(1, np.int64))
    return u8.tobytes()
