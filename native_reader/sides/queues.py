"""Consume queues: which exist, and their entries for a range of the log.

A corrupt queue must never do more harm than to return fewer entries; callers work without them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from native_reader import kernel
from native_reader.layout.queue_entry import BATCH_ENTRY, FILLER_SIZE, PLACE_SIZE, QUEUE_ENTRY, is_light, is_written, read_place
from native_reader.layout.record import SMALLEST_RECORD, Mask, Numbers
from native_reader.sides.entries import NO_ENTRIES, NO_NUMBERS, Columns, Entries, StoredEntries, of_batches, of_messages
from native_reader.storage.protocol import DirEntry, StoredFile, storage_of
from native_reader.storage.store import is_segment_name
from native_reader.tuning import TUNING

BATCH_DIRECTORY = "batchconsumequeue"
_BEYOND = 2**63 - 1
_PIECE = 1 << 20
_NUMBER = re.compile("0|[1-9][0-9]{0,9}")

Name = TypeVar("Name", str, tuple[str, int])
Excused = tuple[type[OSError], ...]


class QueueFile(NamedTuple):
    """One file of a queue: how many entries fit in it, and the queue place of its first entry."""

    uri: str
    base: int
    units: int


class Queue(NamedTuple):
    """One queue of a topic."""

    topic: str
    queue_id: int
    batch: bool
    files: tuple[QueueFile, ...]


class Topic(NamedTuple):
    """A topic with a directory of queues."""

    name: str
    uri: str
    batch: bool


def topics_in(directories: Sequence[str], *, light: bool = False, about: int | None = None) -> list[Topic]:
    """The topics that have queues there. `light`: also light queues (LMQ), which list records of other topics again.

    `about`: at least so many, evenly chosen, or all if there are not twice as many.
    """
    # A name that is not UTF-8 cannot be a column value.
    names = [
        (directory, name)
        for directory in directories
        for name in _directories(directory)
        if (light or not is_light(name)) and name.isprintable()
    ]
    step = 1 if about is None else max(1, len(names) // about)
    return [_topic(directory, name) for directory, name in names[::step]]


def _topic(directory: str, name: str) -> Topic:
    return Topic(name, f"{directory}/{storage_of(directory).quoted(name)}", directory.endswith(f"/{BATCH_DIRECTORY}"))


def queues_of(topic: Topic, *, strict: bool = False) -> list[Queue]:
    """The queues of a topic, by number. `strict`: raises an error if a directory cannot be listed."""
    return [_queue_at(topic, number, strict) for number in numbers_of(topic, strict=strict)]


def numbers_of(topic: Topic, *, strict: bool = False) -> list[int]:
    """The queue numbers of a topic."""
    return sorted(int(name) for name in _directories(topic.uri, strict) if _NUMBER.fullmatch(name) and int(name) < 2**31)


def queue_named(directories: Sequence[str], topic: str, queue_id: int) -> Queue | None:
    """The queue of that name and number; None if it has no files. Raises an error if a directory cannot be listed."""
    if not is_name(topic):
        return None
    for directory in directories:
        entry = storage_of(directory).entry(f"{_topic(directory, topic).uri}/{queue_id}")
        # A directory that is missing, or whose name is too long for a file, has no entry.
        if entry is not None and entry.is_directory and (queue := queue_at(directory, topic, queue_id, strict=True)).files:
            return queue
    return None


def queue_at(directory: str, topic: str, queue_id: int, *, strict: bool = False) -> Queue:
    """The queue of that name and number in one directory, without files if it is not there."""
    return _queue_at(_topic(directory, topic), queue_id, strict)


def is_name(topic: str) -> bool:
    """Whether it can be the name of a folder. A name from a file or a record could lead out of the directory."""
    return topic not in ("", ".", "..") and not {"/", "\0"} & set(topic)


def queue_in(topic: Topic, queue_id: int, entries: Sequence[DirEntry]) -> Queue:
    """The queue whose directory has these entries."""
    return _queue_of(topic, queue_id, [(entry.name, entry.size) for entry in entries if entry.is_file])


def _queue_at(topic: Topic, queue_id: int, strict: bool) -> Queue:
    uri = f"{topic.uri}/{queue_id}"
    return _queue_of(topic, queue_id, _unless_missing(storage_of(uri).sizes, uri, strict))


def _queue_of(topic: Topic, queue_id: int, sizes: Iterable[tuple[str, int]]) -> Queue:
    """The queue whose directory has files of these names and sizes."""
    width = (BATCH_ENTRY if topic.batch else QUEUE_ENTRY).itemsize
    uri, files = f"{topic.uri}/{queue_id}", []
    for name, size in sizes:
        if is_segment_name(name) and size >= width and (topic.batch or int(name) % width == 0):
            files.append(QueueFile(f"{uri}/{name}", int(name) // width, size // width))
    return Queue(topic.name, queue_id, topic.batch, tuple(files))


def _directories(uri: str, strict: bool = False) -> Sequence[str]:
    return _unless_missing(storage_of(uri).directories, uri, strict)


def _unless_missing(listing: Callable[[str], Sequence[Name]], uri: str, strict: bool) -> Sequence[Name]:
    try:
        return listing(uri)
    except FileNotFoundError:  # deleted meanwhile
        return []
    except OSError:
        if strict:
            raise
        return []  # callers work without it


IF_DELETED: Excused = (FileNotFoundError,)
"""A deleted file has no entries. A file that cannot be read is an error."""


class QueueReader:
    """Reads one queue, with one file open at a time. A file that cannot be read has no entries, or is an error if it is not `excused`."""

    def __init__(self, queue: Queue, excused: Excused = (OSError,)) -> None:
        self._excused, self.failed = excused, False
        self._queue, self._dtype = queue, BATCH_ENTRY if queue.batch else QUEUE_ENTRY
        self.width = self._dtype.itemsize
        self._firsts = [0, *accumulate(file.units for file in queue.files)]
        self._probe = bytearray(PLACE_SIZE)
        self._open: tuple[int, StoredFile] | None = None
        self._kept: dict[int, bytes] = {}
        """Single entries of the open file, by place: a look at a queue asks for the same ones several times."""

    @property
    def units(self) -> int:
        """How many entries fit in its files."""
        return self._firsts[-1]

    def within(self, low: int, high: int, end: int = _BEYOND) -> Entries:
        """The entries of records at physical offsets `[low, high)`, without entries that are out of order or end after `end`."""
        units = self.bound()
        first, stop = 0, units
        if units * self.width > TUNING.queue_read_at_once:
            first, _ = self.near(low, 0, units)
            _, stop = self.near(high, first, units)
        # Records of a queue do not overlap, so a file with more entries than fit in the range is corrupt. At its ends, some may be outside.
        most = (high - low) // SMALLEST_RECORD + 1 + 2 * (TUNING.queue_read_at_once // self.width)
        if not self._queue.batch and stop - first <= most and (ordinary := self._ordinary(first, stop, (low, high, end))) is not None:
            return ordinary
        entries = self._read(first, stop, most)
        if entries is None:
            return NO_ENTRIES
        newest = int(entries.offsets[-1]) if len(entries) and self._ends_at(stop) else -1
        entries = replace(entries.where(_kept(entries.offsets, low, high)), newest=newest)
        return entries.where(entries.offsets + entries.sizes <= end)

    def _ends_at(self, place: int) -> bool:
        """Whether nothing is written at or after that place."""
        return place == self.units or self._offset_at(place) == _BEYOND

    def _ordinary(self, first: int, stop: int, span: tuple[int, int, int]) -> Entries | None:
        """As `within`, of those places. None: numpy does it, also for entries that are odd in any way."""
        pieces, firsts, count, number = [np.empty(0, self._dtype)], list[int](), 0, 0
        for which, file in enumerate(self._queue.files):
            begin, end = (min(max(place - self._firsts[which], 0), file.units) for place in (first, stop))
            firsts.append(count)
            for place, units in self.pieces(which, begin, end):
                if count and file.base + place != number + count:
                    return None
                number = file.base + place - count
                pieces.append(units)
                count += len(units)
        # As bytes, because numpy joins numbers to native ones.
        units = pieces[-1] if len(pieces) <= 2 else np.concatenate([each.view(np.uint8) for each in pieces]).view(self._dtype)
        run = kernel.ordinary_run(units, *span)
        if run is None:
            return None
        begin, end, newest = run
        newest = newest if newest is not None and self._ends_at(stop) else -1
        borders = np.array([min(max(first, begin), end) - begin for first in firsts[1:]], np.int64)
        return StoredEntries(units[begin:end], number + begin, newest, borders)

    def last_below(self, offset: int) -> Entries:
        """The entry of the last record below that offset, or none."""
        stop = self.first_at(offset, 0, self.bound())
        return self.read(max(0, stop - 1), stop)

    def entries_from(self, number: int) -> Iterator[Entries]:
        """The entries of the messages at queue offset `number` and after, in pieces."""
        stop, step = self.bound(), _PIECE // self.width
        for begin in range(0 if self._queue.batch else self._place_of(number), stop, step):
            entries = self.read(begin, min(begin + step, stop))
            yield entries.where(entries.numbers + entries.counts > number)

    def entry_from(self, number: int) -> Entries:
        """The entry of the message at queue offset `number`, or the first one after it; none if that is not a record's."""
        if self._queue.batch:  # few entries, each with many messages
            return next((entries.first() for entries in self.entries_from(number) if len(entries)), NO_ENTRIES)
        place = self._place_of(number)
        return self.read(place, place + 1) if place < self.bound() else NO_ENTRIES

    def _place_of(self, number: int) -> int:
        """The place of a queue offset, or that after the gap in which it is; not for entries of batches."""
        after = [file.base + file.units > number for file in self._queue.files]
        which = after.index(True) if True in after else len(after)
        return self._firsts[which] + (max(0, number - self._queue.files[which].base) if which < len(after) else 0)

    def bound(self) -> int:
        """A place after which nothing is written: brokers preallocate files."""
        if not self._queue.files:
            return 0
        last = len(self._queue.files) - 1
        try:
            return self._firsts[last] + self.written(last)
        except OSError as error:
            self._excuse(error)
            return self.units

    def written(self, which: int) -> int:
        """A place of a file after which nothing is written."""
        return min(-(-self.file(which).written_end() // self.width), self._queue.files[which].units)

    def slots(self, first: int, stop: int) -> NDArray[np.void]:
        """What an ordinary queue holds at queue offsets `[first, stop)`; zeros where nothing is written."""
        found = np.zeros(stop - first, self._dtype)
        for which, file in enumerate(self._queue.files):
            begin, end = max(first, file.base), min(stop, file.base + file.units)
            if begin < end:
                units = self._units(which, begin - file.base, end - begin)
                found[begin - first : begin - first + len(units)] = units
        return found

    def first_at(self, offset: int, first: int, stop: int) -> int:
        """The first place in `[first, stop)` whose record is at or after `offset`; unwritten places count as after all offsets."""
        first, stop = self.near(offset, first, stop)
        reached = np.flatnonzero(self._offsets(first, stop) >= offset)
        return first + int(reached[0]) if len(reached) else stop

    def near(self, offset: int, first: int, stop: int) -> tuple[int, int]:
        """A range that is small enough to read at once: `first_at` is a place in it, or its end."""
        while (stop - first) * self.width > TUNING.queue_read_at_once:
            middle = (first + stop) // 2
            if self._offset_at(middle) < offset:
                first = middle + 1
            else:
                stop = middle
        return first, stop

    def _offsets(self, first: int, stop: int) -> Numbers:
        """The offsets at those places. Unwritten places come after all offsets, leading fillers before."""
        pieces = [np.empty(0, np.int64)]
        for which in range(len(self._queue.files)):
            begin, end = max(first, self._firsts[which]), min(stop, self._firsts[which + 1])
            if begin < end:
                units = self._units(which, begin - self._firsts[which], end - begin)
                offsets = np.where(is_written(units), units["offset"].astype(np.int64), _BEYOND)
                pieces += [np.where(units["size"] == FILLER_SIZE, -1, offsets), np.full(end - begin - len(units), _BEYOND)]
        return np.concatenate(pieces)

    def read(self, first: int, stop: int) -> Entries:
        """The written entries at places `[first, stop)`."""
        entries = self._read(first, stop, stop - first)
        assert entries is not None
        return entries

    def _read(self, first: int, stop: int, most: int) -> Entries | None:
        """As `read`, but None if there are more than `most` entries. Memory depends on written entries, not on file sizes."""
        pieces: list[Columns] = []
        firsts, count = [], 0
        for which, file in enumerate(self._queue.files):
            begin, end = (min(max(place - self._firsts[which], 0), file.units) for place in (first, stop))
            if begin < end:
                firsts.append(count)
            for place, units in self.pieces(which, begin, end):
                pieces.append(of_batches(units) if self._queue.batch else of_messages(units, file.base + place))
                count += len(pieces[-1][0])
                if count > most:
                    return None
        columns = pieces[0] if len(pieces) == 1 else [np.concatenate(each) for each in zip(*pieces, strict=True)]
        numbers, counts, offsets, sizes, codes = columns or [NO_NUMBERS] * 5
        return Entries(numbers, counts, offsets, sizes, codes, firsts=np.array(firsts[1:], np.int64))

    def pieces(self, which: int, begin: int, end: int, at_once: int | None = None) -> Iterator[tuple[int, NDArray[np.void]]]:
        """Pieces of a file's places `[begin, end)`, without holes: the first place of each piece, and its entries, written or not.

        `at_once`: the bytes of a piece; by default _PIECE.
        """
        width = self.width
        most = (_PIECE if at_once is None else at_once) // width
        while begin < end:
            if end - begin > most:  # a shorter range is read faster than the hole is searched
                try:
                    begin = max(begin, self.file(which).next_data(begin * width) // width)
                except OSError as error:
                    self._excuse(error)
                    return
            units = self._units(which, begin, min(end - begin, most)) if begin < end else np.empty(0, self._dtype)
            if not len(units):
                return
            yield begin, units
            begin += len(units)

    def _offset_at(self, place: int) -> int:
        which = bisect_right(self._firsts, place) - 1
        try:
            got = self.file(which).read_into((place - self._firsts[which]) * self.width, self._probe)
        except OSError as error:
            self._excuse(error)
            return _BEYOND
        offset, size = read_place(self._probe)
        if got < len(self._probe) or size <= 0 or offset < 0:
            return _BEYOND
        return -1 if size == FILLER_SIZE else offset

    def _units(self, which: int, place: int, count: int) -> NDArray[np.void]:
        try:
            return self.file(which).read_array(place * self.width, self._dtype, count)
        except OSError as error:
            self._excuse(error)
            return np.empty(0, self._dtype)

    def _excuse(self, error: OSError) -> None:
        if not isinstance(error, self._excused):
            raise error
        self.failed = True

    def number_at(self, place: int) -> int:
        """The queue offset of the entry at that place of an ordinary queue."""
        which = bisect_right(self._firsts, place) - 1
        return self._queue.files[which].base + place - self._firsts[which]

    def entry(self, which: int, place: int) -> bytes:
        """The bytes of one entry of a file; fewer where the file was truncated."""
        file = self.file(which)
        if place not in self._kept:
            (self._kept[place],) = file.read_ranges([(place * self.width, self.width)])
        return self._kept[place]

    def file(self, which: int) -> StoredFile:
        """One of its files, open until another one is read."""
        if self._open is not None and self._open[0] != which:
            self.close()
        if self._open is None:
            uri = self._queue.files[which].uri
            self._open = which, storage_of(uri).open(uri)
        return self._open[1]

    def close(self) -> None:
        """Close the open file."""
        if self._open is not None:
            self._open[1].close()
            self._open = None
            self._kept = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _kept(offsets: Numbers, low: int, high: int) -> Mask:
    """Offsets in `[low, high)` that contradict no other one. A wrong offset removes only itself and those it contradicts."""
    compiled = kernel.ascending_within(offsets, low, high)
    return numpy_ascending_within(offsets, low, high) if compiled is None else compiled


def numpy_ascending_within(offsets: Numbers, low: int, high: int) -> Mask:
    """As `kernel.ascending_within`."""
    kept: Mask = (offsets >= low) & (offsets < high)
    kept[1:] &= offsets[1:] > np.maximum.accumulate(offsets)[:-1]
    kept[:-1] &= offsets[:-1] < np.minimum.accumulate(offsets[::-1])[::-1][1:]
    return kept


class Directories:
    """Remembers what was listed.

    A queue file that a broker adds or deletes during a read is not noticed. Its records are then in bytes that no queue claims, or
    its entries are gone: either way they are scanned.
    """

    def __init__(self) -> None:
        self._topics: dict[tuple[str, ...], list[Topic]] = {}
        self._queues: dict[Topic, list[Queue]] = {}

    def topics(self, directories: Sequence[str]) -> list[Topic]:
        """As `topics_in`."""
        key = tuple(directories)
        if key not in self._topics:
            self._topics[key] = topics_in(key)
        return self._topics[key]

    def queues(self, topic: Topic) -> list[Queue]:
        """As `queues_of`."""
        if topic not in self._queues:
            self._queues[topic] = queues_of(topic)
        return self._queues[topic]
