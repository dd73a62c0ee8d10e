"""A few entries of each queue file, and the records that they name.

Of each file the first entry, the last one and one between them are compared with the log: a record of that topic, queue, queue offset,
size and tag begins there. And the other way round: the queue has an entry for each record that was seen in a segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from native_reader.broker.settings import Topics
from native_reader.layout.inner import PLACEHOLDER_TAG
from native_reader.layout.kinds import kind_of_topic
from native_reader.layout.one_record import Record, record_in
from native_reader.layout.queue_entry import is_light, java_hash, read_entry, refers_to_record
from native_reader.layout.record import INNER_BATCH
from native_reader.sentences import Said, words_of
from native_reader.sides.bounds import Bounds, bounds_in
from native_reader.sides.queues import IF_DELETED, Queue, QueueReader
from native_reader.storage.protocol import DirEntry, StoredFile, storage_of
from native_reader.storage.store import REFUSED, Segment, StoreFiles, is_refused
from native_reader.witness.segments import record_at

_AT_ONCE = 4 << 10
"""A record up to this size is read at once."""
_IN_MEMORY = 1000
"""So many records are in memory at a time."""
_PLACEHOLDER = java_hash(PLACEHOLDER_TAG)


class Seen(Enum):
    """What is where an entry of a queue points to."""

    AGREES = "agrees"
    OTHER_TAG = "other tag"
    """That record, with another tag."""
    OTHER = "other"
    """A record of another queue or queue offset, or of another size."""
    NONE = "none"
    """No record begins there."""
    OUTSIDE = "outside"
    """No file of the log has that offset, or the log ends before it."""


class Entry(NamedTuple):
    """One entry of a queue, with the file that has it. `number`: its queue offset."""

    topic: str
    queue_id: int
    file: str
    number: int
    offset: int
    size: int
    code: int


class Sample(NamedTuple):
    """What was looked at of one queue."""

    queue: Queue
    listed: tuple[DirEntry, ...] = ()
    """What is in its directory."""
    entries: tuple[Entry, ...] = ()
    bounds: Bounds | None = None
    problem: Said | None = None
    """Why it could not be read."""
    refused: tuple[str, ...] = ()
    """What of it this user may not open."""

    @property
    def end(self) -> int:
        """The queue offset after its last entry."""
        return 0 if self.bounds is None or self.bounds.newest is None else self.bounds.max_offset

    @property
    def newest(self) -> int:
        """Where the record of its last entry ends; -1 if that names none."""
        newest = None if self.bounds is None else self.bounds.newest
        return -1 if newest is None or not newest.is_written else newest.offset + newest.size


def sample_of(queue: Queue, listed: Sequence[DirEntry], lowest: int) -> Sample | None:
    """The bounds of a queue in a log that begins at `lowest`, and the first entry, the last one and one between them of each of its files.

    None if it was deleted meanwhile.
    """
    try:
        with QueueReader(queue, IF_DELETED) as reader:
            bounds = bounds_in(queue, reader, lowest)
            return Sample(queue, tuple(listed), tuple(_sampled(queue, reader, bounds)), bounds)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Sample(queue, tuple(listed), (), None, words_of(error), _refused(queue, error))


def _refused(queue: Queue, error: OSError) -> tuple[str, ...]:
    return tuple(file.uri for file in queue.files if is_refused(file.uri)) if error.errno in REFUSED else ()


def _sampled(queue: Queue, reader: QueueReader, bounds: Bounds) -> Iterator[Entry]:
    if queue.batch or bounds.newest is None:
        return
    for which, file in enumerate(queue.files):
        units = min(file.units, bounds.newest.number + 1 - file.base)
        if units > 0:
            for place in sorted({0, units // 2, units - 1}):
                if (entry := _entry_at(queue, reader, which, place)) is not None:
                    yield entry


def _entry_at(queue: Queue, reader: QueueReader, which: int, place: int) -> Entry | None:
    """That of an ordinary queue, if it names a record."""
    file, content = queue.files[which], reader.entry(which, place)
    if len(content) < reader.width:  # truncated meanwhile
        return None
    offset, size, code = read_entry(content)
    return Entry(queue.topic, queue.queue_id, file.uri, file.base + place, offset, size, code) if refers_to_record(offset, size) else None


class Lookup:
    """Finds records in the log by entries. Each segment is opened once for all entries that point into it."""

    def __init__(self, store: StoreFiles, end: int) -> None:
        self._store, self._end = store, end
        self._batched = Topics(store.config).of_batches()
        self._segment_at = store.segment_finder()
        self.bytes_read = 0
        self.others: dict[Entry, Record] = {}
        """The record of another queue, of another queue offset or of another size, by the entry that leads to it."""

    def seen(self, entries: Iterable[Entry]) -> dict[Entry, Seen]:
        """What is at the place of each entry. Those of the log's expired part, and of files that cannot be read, are left out."""
        begins, found = self._store.begins, dict[Entry, Seen]()
        ordered = sorted((each for each in entries if each.offset >= begins), key=attrgetter("offset"))
        for base, group in groupby(ordered, self._base_of):
            if base is None:
                found.update(dict.fromkeys(group, Seen.OUTSIDE))
            elif (segment := self._segment_at(base)) is not None and not segment.is_packed:
                found.update(self._in(segment, list(group)))
        return found

    def _base_of(self, entry: Entry) -> int | None:
        segment = self._segment_at(entry.offset)
        is_inside = segment is not None and entry.offset + entry.size <= segment.end and entry.offset < self._end
        return segment.base if segment is not None and is_inside else None

    def _in(self, segment: Segment, entries: Sequence[Entry]) -> dict[Entry, Seen]:
        try:
            with storage_of(segment.uri).open(segment.uri) as file:
                found: dict[Entry, Seen] = {}
                for first in range(0, len(entries), _IN_MEMORY):
                    self._look(file, segment.base, entries[first : first + _IN_MEMORY], found)
                return found
        except OSError:  # the look at the segment says so
            return {}

    def _look(self, file: StoredFile, base: int, entries: Sequence[Entry], found: dict[Entry, Seen]) -> None:
        contents = file.read_ranges([(each.offset - base, min(each.size, _AT_ONCE)) for each in entries])
        self.bytes_read += sum(map(len, contents))
        for entry, content in zip(entries, contents, strict=True):
            record = record_in(content) or record_at(file, entry.offset - base)  # also if the entry has a wrong size
            found[entry] = seen = _seen(entry, record, is_batched=entry.topic in self._batched)
            if seen is Seen.OTHER and record is not None:
                self.others[entry] = record


def _seen(entry: Entry, record: Record | None, *, is_batched: bool) -> Seen:
    """`is_batched`: the topic may have inner batches. A slave has them in ordinary queues, where numbers are those of records."""
    if record is None or record.physical_offset != entry.offset:
        return Seen.NONE
    lists_others = is_light(entry.topic)
    if record.size != entry.size or (not lists_others and record.queue != (entry.topic, entry.queue_id)):
        return Seen.OTHER
    if lists_others or is_batched or record.sys_flag & INNER_BATCH:  # such an entry has another number, and another hash
        return Seen.AGREES
    if record.queue_offset != entry.number:
        return Seen.OTHER
    # The broker's own topics have times and other numbers there, and large ones are addresses in consumequeue_ext.
    is_hash = entry.code > -(2**31) - 1 and kind_of_topic(entry.topic) is None
    return Seen.AGREES if not is_hash or record.tag_hash in (entry.code, _PLACEHOLDER) else Seen.OTHER_TAG


def entries_of_records(records: Iterable[Record], queues: Mapping[tuple[str, int], Queue]) -> dict[Record, Entry | None]:
    """The entry that the queue of each record has at its queue offset; None if it has none there. Records without a queue are left out."""
    found: dict[Record, Entry | None] = {}
    wanted = sorted((each for each in records if each.queue in queues), key=attrgetter("topic", "queue_id", "queue_offset"))
    for name, group in groupby(wanted, attrgetter("queue")):
        queue = queues[name]
        try:
            with QueueReader(queue, IF_DELETED) as reader:
                found.update((record, _entry_of(queue, reader, record.queue_offset)) for record in group)
        except OSError:  # the look at the queue says so
            continue
    return found


def _entry_of(queue: Queue, reader: QueueReader, number: int) -> Entry | None:
    for which, file in enumerate(queue.files):
        if file.base <= number < file.base + file.units:
            return _entry_at(queue, reader, which, number - file.base)
    return None


def entry_into(queue: Queue, segment: Segment) -> Entry | None:
    """An entry of a queue that points into that segment; None if it has none, or cannot be read."""
    try:
        with QueueReader(queue, IF_DELETED) as reader:
            place = reader.first_at(segment.base, 0, reader.bound())
            if place >= reader.units:
                return None
            found = _entry_of(queue, reader, reader.number_at(place))
    except OSError:
        return None
    return found if found is not None and segment.base <= found.offset < segment.end else None
