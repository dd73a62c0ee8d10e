"""The consume queues of the damaged store: what is written in each slot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from native_reader.broker.settings import Topics
from native_reader.layout.properties import LIGHT_OFFSETS, LIGHT_QUEUES, LIGHT_SEPARATOR, parse
from native_reader.layout.queue_entry import BATCH_ENTRY, FILLER_SIZE, QUEUE_ENTRY, is_light, is_written
from native_reader.layout.record import HEAD, SMALLEST_RECORD, Numbers
from native_reader.repair.databases import queue_database, queues_in
from native_reader.repair.records import piece_at
from native_reader.repair.refusals import refusal
from native_reader.sides.queues import BATCH_DIRECTORY, Queue, QueueReader, is_name
from native_reader.storage.broker_conf import FileSizes
from native_reader.storage.protocol import storage_of
from native_reader.storage.rocksdb_queues import is_in_database, queues_uri
from native_reader.storage.store import StoreFiles

WIDTH = QUEUE_ENTRY.itemsize
_AT_ONCE = 1 << 16
_AHEAD = 512
_TRIES = 100
_LONGEST_NAME = 255


class OldQueue:
    """One queue. A file that is missing or cannot be read has no entries."""

    def __init__(self, queue: Queue, store: StoreFiles) -> None:
        self._queue, self.topic, self.queue_id = queue, queue.topic, queue.queue_id
        self.files = () if is_in_database(queue.files[0].uri) else queue.files
        with QueueReader(queue) as reader:
            self.stop = reader.number_at(reader.bound() - 1) + 1 if reader.bound() else queue.files[0].base
            self.first = _first_confirmed(reader, store, (queue.topic, queue.queue_id))
            """Slot and offset of the first entry that names its record, if one is found."""
        self.begin = queue.files[0].base
        self._at, self._ahead = 0, np.empty(0, QUEUE_ENTRY)

    def read(self, first: int, stop: int) -> NDArray[np.void]:
        """What slots `[first, stop)` hold; zeros where nothing is written."""
        if stop - first > _AHEAD:
            return self._read(first, stop)
        if not self._at <= first <= stop <= self._at + len(self._ahead):  # most reads follow each other, a few slots each
            self._at, self._ahead = first, self._read(first, first + _AHEAD)
        return self._ahead[first - self._at : stop - self._at]

    def _read(self, first: int, stop: int) -> NDArray[np.void]:
        with QueueReader(self._queue) as reader:
            return reader.slots(first, stop)


def _first_confirmed(reader: QueueReader, store: StoreFiles, key: tuple[str, int]) -> tuple[int, int] | None:
    """Slot and offset of the first entry that names a record of this queue. It looks at few, because after random bytes none may.

    That record may say another slot: it can be damaged too. But if all do, the file is one of another part of the queue.
    """
    low, high, left = store.min_offset, store.segments[-1].end, _TRIES
    first: tuple[int, int] | None = None
    for begin in range(0, reader.bound(), _AT_ONCE):
        entries = reader.read(begin, min(begin + _AT_ONCE, reader.bound()))
        inside = np.flatnonzero((entries.offsets >= low) & (entries.offsets < high))[:left]
        for slot, offset in zip(entries.numbers[inside].tolist(), entries.offsets[inside].tolist(), strict=True):
            place = place_at(store, offset, key)
            if place == (*key, slot):
                return (slot, offset) if first is None or first[1] >= offset else first
            if first is None and place is not None and place[:2] == key:
                first = slot, offset
        left -= len(inside)
        if not left:
            break
    return None


def place_at(store: StoreFiles, offset: int, key: tuple[str, int]) -> tuple[str, int, int] | None:
    """Topic, queue and queue offset of the record at an offset; None if there is none. If `key` is a light queue: the offset there."""
    segment = store.segment_at(offset)
    assert segment is not None
    with suppress(OSError), storage_of(segment.uri).open(segment.uri) as file:
        heads = file.read_array(offset - segment.base, HEAD, 1)
        if not len(heads) or not SMALLEST_RECORD <= heads["size"][0] <= segment.end - offset:
            return None
        content, records, is_whole = piece_at(store, offset, int(heads["size"][0]))
        if is_light(key[0]):
            begin, size = int(records.properties_at[0]), int(records.properties_size[0])
            slot = _light_slots(parse(content[begin : begin + size])).get(key[0], "")
            return (*key, int(slot)) if is_whole and slot.isdecimal() else None
        begin, own = int(records.topic_at[0]), records.heads[0]
        topic = content[begin : begin + int(records.topic_size[0])].decode("utf-8", "replace")
        return (topic, int(own["queue_id"]), int(own["queue_offset"])) if is_whole else None
    return None


def _light_slots(properties: Mapping[str, str]) -> dict[str, str]:
    """The light queues that a record names, and its queue offset in each."""
    separator = LIGHT_SEPARATOR.decode()
    names, slots = (properties.get(name, "").split(separator) for name in (LIGHT_QUEUES, LIGHT_OFFSETS))
    return dict(zip(names, slots, strict=False))


class OldBatchQueue(OldQueue):
    """A batch queue. Of an entry of many messages, only the slot of the first one holds it; in the others, nothing is written."""

    def __init__(self, queue: Queue, store: StoreFiles) -> None:
        self._queue, self.topic, self.queue_id, self.files = queue, queue.topic, queue.queue_id, queue.files
        self._store, entries = store, _confirmed(np.concatenate([np.empty(0, BATCH_ENTRY), *_pieces(queue)]))
        _, firsts = np.unique(entries["base"], return_index=True)
        self.entries = entries[firsts].astype(BATCH_ENTRY)  # numpy joins numbers to native ones
        last = self.entries[-1] if len(entries) else None
        self.begin = int(self.entries["base"][0]) if last is not None else 0
        self.stop = int(last["base"]) + int(last["count"]) if last is not None else 0

    @cached_property
    def first(self) -> tuple[int, int] | None:  # type: ignore[override]
        """Slot and offset of the first entry that names its record, if one is found."""
        known = self._store.segment_at
        places = zip(self.entries["base"][:_TRIES].tolist(), self.entries["offset"][:_TRIES].tolist(), strict=True)
        key = self.topic, self.queue_id
        return next((each for each in places if known(each[1]) and place_at(self._store, each[1], key) == (*key, each[0])), None)

    def read(self, first: int, stop: int) -> NDArray[np.void]:
        """As of an ordinary queue."""
        found = np.zeros(max(stop - first, 0), QUEUE_ENTRY)
        begin, end = np.searchsorted(self.entries["base"], (first, stop))
        for name in QUEUE_ENTRY.names or ():
            found[name][self.entries["base"][begin:end].astype(np.int64) - first] = self.entries[name][begin:end]
        return found

    def counts(self, slots: Numbers) -> Numbers:
        """How many messages the entries there have; 1 where none begins."""
        bases = self.entries["base"].astype(np.int64)
        at = np.minimum(np.searchsorted(bases, slots), max(len(bases) - 1, 0))
        found: Numbers = np.where(bases[at] == slots, self.entries["count"][at], 1) if len(bases) else np.ones(len(slots), np.int64)
        return found

    def has(self, entries: NDArray[np.void], size: int) -> bool:
        """Whether its files, each of that size, have just these entries."""
        is_sized = all(file.units * BATCH_ENTRY.itemsize == size for file in self.files)
        return is_sized and self.entries.tobytes() == entries.tobytes()


def _pieces(queue: Queue) -> Iterator[NDArray[np.void]]:
    """The written entries of its files."""
    with QueueReader(queue) as reader:
        for which, file in enumerate(queue.files):
            for _, units in reader.pieces(which, 0, file.units):
                yield units[is_written(units) & (units["base"] >= 0) & (units["count"] > 0)]


def _confirmed(entries: NDArray[np.void]) -> NDArray[np.void]:
    """Those that begin where the one before them ends, or end where the next one begins: a damaged entry does neither."""
    meets = entries["base"][1:] == (entries["base"] + entries["count"])[:-1]
    return entries[np.append(meets, False) | np.insert(meets, 0, False)] if len(entries) > 1 else entries


class OldQueues:
    """All queues of a store with files."""

    def __init__(self, files: StoreFiles, sizes: FileSizes | None, listed: Iterable[Queue] | None = None) -> None:
        """`listed`: its queues, if they are known: to list 50,000 takes a second."""
        self.database = queue_database(files)
        """The database with queues; None if they are only in files."""
        self.are_in_files = self.database is None or self.database.is_second
        if listed is None or not self.are_in_files:
            directory = files.consume_queue if self.are_in_files else None
            listed = queues_in((*(() if directory is None else (directory,)), f"{files.uri}/{BATCH_DIRECTORY}"))
        every = [queue for queue in listed if queue.files]
        self.batch_topics = Topics(files.config).of_batches() | {queue.topic for queue in every if queue.batch}
        """The topics with batch queues. A broker does not start if one of them has ordinary queues."""
        if self.database is not None and self.batch_topics:
            raise refusal("batches in database", store=files.uri)
        queues = [queue for queue in every if not queue.batch and queue.topic not in self.batch_topics]
        self._batch_queues = [queue for queue in every if queue.batch]
        self.batch_file_bytes = _batch_file_bytes(self._batch_queues, sizes)
        """How large files of batch queues are; 0 if nothing tells it."""
        self.units = max((file.units for queue in queues for file in queue.files), default=0)
        sizes = sizes if self.are_in_files else None
        self.assumes_size = self.are_in_files and sizes is None and not self.units
        """Whether nothing tells how large its files are: they get the size of a default broker."""
        if self.assumes_size:
            sizes = FileSizes()
        if sizes is not None:
            if self.units not in (0, sizes.queue // WIDTH):
                raise refusal("configured", name="mappedFileSizeConsumeQueue", size=sizes.queue, found=self.units * WIDTH)
            self.units = sizes.queue // WIDTH
        if self.units:
            self._refuse_other_sizes(queues)
        self._files, self._queues = files, [*queues, *self._in_database()]

    def _in_database(self) -> Iterator[Queue]:
        """The queues in the database; only light ones, if the others are in files, too."""
        if self.database is not None and self.database.is_whole:
            found = queues_in((queues_uri(self.database.uri),))
            yield from (queue for queue in found if queue.files and (is_light(queue.topic) or not self.are_in_files))

    @cached_property
    def all(self) -> Mapping[tuple[str, int], OldQueue]:
        """By topic and number. To open each of 50,000 takes seconds, which a look for refusals does not need."""
        ordinary = {(each.topic, each.queue_id): OldQueue(each, self._files) for each in self._queues}
        return ordinary | {(each.topic, each.queue_id): OldBatchQueue(each, self._files) for each in self._batch_queues}

    def dispatched(self, end: int) -> int:
        """The highest offset below the end of the log that any queue names, or -1."""
        newest = -1
        for queue in self.all.values():
            entries = queue.read(max(queue.begin, queue.stop - _AT_ONCE), queue.stop)
            offsets = entries["offset"][is_written(entries)].astype(np.int64)
            newest = max(newest, int(offsets[offsets < end].max(initial=-1)))
        return newest

    def _refuse_other_sizes(self, queues: list[Queue]) -> None:
        for queue in queues:
            for file in queue.files:
                if file.base % self.units:
                    sizes = {"size": file.units * WIDTH, "expected": self.units * WIDTH}
                    raise refusal("queue sizes", name=file.uri, **sizes)


def _batch_file_bytes(queues: Iterable[Queue], sizes: FileSizes | None) -> int:
    """How large files of batch queues are; 0 if nothing tells it. A file that is cut short is smaller than others."""
    files = [file for queue in queues for file in queue.files]
    width = BATCH_ENTRY.itemsize
    size = max((file.units * width for file in files), default=0)
    if sizes is not None and size not in (0, sizes.batch_queue):
        raise refusal("configured", name="mapperFileSizeBatchConsumeQueue", size=sizes.batch_queue, found=size)
    for file in files:
        if file.base * width % size:
            raise refusal("queue sizes", name=file.uri, size=file.units * width, expected=size)
    return size if sizes is None else sizes.batch_queue


def is_folder_name(topic: str) -> bool:
    """Whether a folder for the queues of a topic can have its name, and is then inside theirs."""
    return is_name(topic) and len(topic.encode()) <= _LONGEST_NAME


def is_filler(entries: NDArray[np.void]) -> NDArray[np.bool_]:
    """Which entries stand for messages from before a queue's first one."""
    fillers: NDArray[np.bool_] = entries["size"] == FILLER_SIZE
    return fillers
