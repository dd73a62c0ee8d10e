"""Where each consume queue begins and ends, found with a few small reads for a queue of any size.

A table must show what is wrong with a queue, so, unlike a plan, it does not read a queue that cannot be read as an empty one.

Topics that hold inner batches are found here, too. No index names the messages in a batch, and ordinary queues do not describe them. A
broker keeps batches in batch queues. Its slaves may use ordinary queues for such a topic; there, entry n is the nth record, whatever
the queue offset of that record is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from native_reader.broker.settings import Topics
from native_reader.layout.queue_entry import FILLER_SIZE, is_light, read_batch_place, read_place, refers_to_record
from native_reader.layout.record import INNER_BATCH
from native_reader.records.sync import head_at
from native_reader.sentences import Said, say
from native_reader.sides.queues import IF_DELETED, Queue, QueueReader, Topic, queues_of
from native_reader.storage.protocol import StoredFile, storage_of
from native_reader.storage.store import StoreFiles
from native_reader.storage.window import Window

SIMPLE, BATCH, LIGHT = "simple", "batch", "LMQ"

_AT_ONCE = 8 << 10
"""The end of a file is searched in this many bytes at once; holes begin at a page, so it is usually in the last ones."""
_ROUNDS = 16
_LARGEST = 2**63 - 1
_PIECE = 1 << 20


class EntryPlace(NamedTuple):
    """One entry: the queue offset of its first message, how many messages, and the place of the record in the log."""

    number: int
    messages: int
    offset: int
    size: int

    @property
    def is_written(self) -> bool:
        """Whether it names a record. Fillers do not."""
        return refers_to_record(self.offset, self.size)


class Bounds(NamedTuple):
    """The entries of a queue whose records have not expired: `entries` of them, with `gaps` missing between them.

    `first`, `last`: the first and the last one; None if there is none. `newest`: the last entry of the queue, also if expired.
    """

    min_offset: int
    max_offset: int
    entries: int = 0
    gaps: int = 0
    expired: int = 0
    first: EntryPlace | None = None
    last: EntryPlace | None = None
    newest: EntryPlace | None = None
    found: Said | None = None
    """What is wrong with its files."""


def type_of(queue: Queue) -> str:
    """`simple`, `batch` or `LMQ`."""
    return BATCH if queue.batch else LIGHT if is_light(queue.topic) else SIMPLE


def bounds_of(queue: Queue, lowest: int) -> Bounds | None:
    """The bounds of a queue in a log that begins at offset `lowest`; None if a file was deleted meanwhile.

    An error of the storage names the file.
    """
    try:
        with QueueReader(queue, IF_DELETED) as reader:
            return bounds_in(queue, reader, lowest)
    except FileNotFoundError:
        return None


def bounds_in(queue: Queue, reader: QueueReader, lowest: int) -> Bounds:
    """As `bounds_of`, of a queue that is open."""
    which, units, newest = _end(queue, reader)
    if newest is None:
        empty = queue.files[-1].base if queue.files and not queue.batch else 0
        return Bounds(empty, empty)
    firsts = [0, *accumulate(file.units for file in queue.files)]
    most, stop, begin, fillers = min(newest.number + newest.messages, _LARGEST), firsts[which] + units, 0, 0
    first = _place(queue, reader, 0, 0)
    if first is None or not first.is_written or first.offset < lowest:
        fillers = reader.first_at(0, 0, stop) if first is not None and first.size == FILLER_SIZE else 0
        begin = reader.first_at(lowest, 0, stop)
        at = bisect_right(firsts, begin) - 1
        first = _place(queue, reader, at, begin - firsts[at]) if begin < stop else None
    gaps = list(_gaps(queue, which))
    expired, found = max(0, begin - fillers), _about(gaps, newest)
    if first is None:
        return Bounds(most, most, expired=expired, newest=newest, found=found)
    # The gaps before the first entry are in the part of the queue that has expired.
    missing = sum(max(0, stop - start) for file, start, stop in gaps if firsts[file] > begin)
    last = newest if newest.is_written else None
    return Bounds(first.number, most, stop - begin, missing, expired, first, last, newest, found)


def _end(queue: Queue, reader: QueueReader) -> tuple[int, int, EntryPlace | None]:
    """The last file with an entry, how many entries it has, and the last of them."""
    for which in range(len(queue.files) - 1, -1, -1):
        units = written_units(reader.file(which), reader.width, queue.files[which].units)
        if units:
            return which, units, _place(queue, reader, which, units - 1)
    return 0, 0, None


def _place(queue: Queue, reader: QueueReader, which: int, unit: int) -> EntryPlace | None:
    content = reader.entry(which, unit)
    if len(content) < reader.width:  # truncated meanwhile
        return None
    if queue.batch:
        offset, size, base, count = read_batch_place(content)
        return EntryPlace(base, count, offset, size)
    return EntryPlace(queue.files[which].base + unit, 1, *read_place(content))


def _gaps(queue: Queue, until: int) -> Iterator[tuple[int, int, int]]:
    """Where a file does not begin at the end of the one before it: the file, and both places."""
    # Files of batch entries are not always a multiple of an entry.
    rounding = 1 if queue.batch else 0
    for which, (one, other) in enumerate(pairwise(queue.files[: until + 1]), 1):
        start = one.base + one.units
        if not 0 <= other.base - start <= rounding:
            yield which, start, other.base


def written_units(stored: StoredFile, width: int, units: int) -> int:
    """How many entries of a queue file precede the zeros at its end. Brokers allocate files ahead."""
    small = units * width <= _AT_ONCE
    bound = units if small else min(units, -(-stored.written_end() // width))
    begin = max(0, bound - _AT_ONCE // width)
    (content,) = stored.read_ranges([(begin * width, (bound - begin) * width)])
    kept = -(-len(content.rstrip(b"\0")) // width)
    return begin + kept if kept or not begin else _searched(stored, width, begin)


def _searched(stored: StoredFile, width: int, stop: int) -> int:
    """As `written_units`, in a file whose last zeros are not a hole, by bisection.

    Lost pages are zeros between entries, so after each guess, places further and further after it are tried.
    """
    zeros = bytes(width)

    def is_written(place: int) -> bool:
        (content,) = stored.read_ranges([(place * width, width)])
        return content != zeros[: len(content)]

    known = 0
    for _ in range(_ROUNDS):
        low, high = known, stop
        while low < high:
            middle = (low + high) // 2
            if is_written(middle):
                low = middle + 1
            else:
                high = middle
        steps = (low + (1 << exponent) for exponent in range((stop - low).bit_length()))
        after = next((place for place in steps if place < stop and is_written(place)), None)
        if after is None:
            return low
        known = after + 1
    end = stop * width
    while end > known * width:  # this many changes are damage: look at every byte
        begin = max(known * width, end - _PIECE)
        (content,) = stored.read_ranges([(begin, end - begin)])
        if kept := len(content.rstrip(b"\0")):
            return -(-(begin + kept) // width)
        end = begin
    return known


def _about(gaps: Sequence[tuple[int, int, int]], newest: EntryPlace) -> Said | None:
    if gaps:
        _, start, stop = gaps[0]
        first = say("queue gap", first=start, last=stop - 1) if start < stop else say("queue overlap", number=stop)
        return say("more of queue", first=first, count=len(gaps) - 1) if len(gaps) > 1 else first
    return None if newest.is_written or newest.size == FILLER_SIZE else say("queue end")


def topics_with_batches(store: StoreFiles, names: Sequence[str], configured: Topics, end: int, *, by_records: bool) -> Iterator[str]:
    """The topics among `names` that hold inner batches, or may do so, in a store whose log ends at `end`.

    `by_records`: for topics that are not in the configuration, also check the newest record of each queue.
    """
    declared = configured.of_batches()
    for name in names:
        is_unknown = by_records and not configured.has(name)
        if name in declared or has_queues(store.batch_queue, name) or (is_unknown and _ends_in_batches(store, name, end)):
            yield name


def has_queues(directory: str | None, topic: str) -> bool:
    """Whether the topic has queues in that directory."""
    storage = None if directory is None else storage_of(directory)
    return storage is not None and storage.entry(f"{directory}/{storage.quoted(topic)}") is not None


def _ends_in_batches(store: StoreFiles, topic: str, end: int) -> bool:
    if store.consume_queue is None:
        return False
    uri = f"{store.consume_queue}/{storage_of(store.consume_queue).quoted(topic)}"
    return any(_may_hold_batches(store, queue, end) for queue in queues_of(Topic(topic, uri, False)))


def _may_hold_batches(store: StoreFiles, queue: Queue, end: int) -> bool:
    """Whether the newest record of an ordinary queue is a batch or contradicts its entry. Also true if it cannot be read."""
    with QueueReader(queue) as reader:
        newest = reader.last_below(end)
    if not len(newest):
        return False
    number, offset = int(newest.numbers[0]), int(newest.offsets[0])
    segment = store.segment_at(offset)
    if segment is None or offset >= segment.end:
        return False
    try:
        with Window(segment, 0) as window:
            head = head_at(window, offset - segment.base - segment.frame)
    except OSError:
        return True
    return bool(head["sys_flag"] & INNER_BATCH) or (int(head["physical_offset"]), int(head["queue_offset"])) != (offset, number)
