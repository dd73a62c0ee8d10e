"""The files of queues by themselves: names and sizes, order, holes, and entries outside the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.account.runs import NO_TAG, Named, Runs
from native_reader.account.states import Mark
from native_reader.broker.config_files import is_newest_read
from native_reader.broker.settings import Topics
from native_reader.broker.tier import TieredQueue
from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.layout.queue_entry import BATCH_ENTRY, FILLER_SIZE, QUEUE_ENTRY, is_hash, is_light, is_written
from native_reader.layout.record import Mask, Numbers
from native_reader.plan.beside import Sides
from native_reader.sentences import Said, say, verbatim
from native_reader.sides.copies import QueueCopies
from native_reader.sides.queues import Queue, QueueReader, Topic, numbers_of, queue_in
from native_reader.storage.protocol import DirEntry, storage_of
from native_reader.storage.rocksdb_queues import is_in_database
from native_reader.storage.store import is_segment_name
from native_reader.verify.findings import Findings

_PIECE = 4 << 20
_EXT = "consumequeue_ext"


class QueuePart(NamedTuple):
    """The queues of some topics. `gaps`: offsets of the log without a file, and whether one is there that
    is not read; `is_removed`: what was before the log has not expired."""

    sides: Sides
    topics: tuple[Topic, ...]
    gaps: tuple[tuple[int, int, bool], ...] = ()
    is_removed: bool = False
    has_other_settings: bool = False
    """Whether the settings have none of the store's topics."""
    tier: Mapping[tuple[str, int], TieredQueue] | None = None
    """What tiered storage has of these queues: it has not expired."""
    is_tier_read: bool = False
    """Whether another part of the check reads the tier: the account then decides between both."""

    def is_in_tier(self, queue: Queue, numbers: Numbers) -> Mask:
        """Which of these queue offsets it has."""
        tiered = None if self.tier is None else self.tier.get((queue.topic, queue.queue_id))
        return np.zeros(len(numbers), np.bool_) if tiered is None else (numbers >= tiered.first) & (numbers < tiered.stop)


def has_other_settings(topics: Sequence[Topic], config: str | None) -> bool:
    """Whether there are settings, and none is of a topic with queues: the file is of another broker, or empty, or not readable."""
    own, settings = {topic.name for topic in topics if not _is_of_broker(topic.name)}, Topics(config)
    is_other = bool(own) and settings.is_known and own.isdisjoint(settings.names())
    return is_other and is_newest_read(config)


def _is_of_broker(topic: str) -> bool:
    return is_light(topic) or kind_of_topic(topic) in SYSTEM_KINDS


def check_queues(part: QueuePart, findings: Findings, runs: Runs) -> None:
    """Add what is wrong in the queues of these topics. `runs`: gets what entries name outside the files of the log."""
    topics, copies = Topics(part.sides.config), QueueCopies(part.sides.directories)
    configured, of_batches = frozenset(topics.names()), topics.of_batches()
    for topic in part.topics:
        is_own = _is_of_broker(topic.name)
        try:
            numbers = numbers_of(topic, strict=True)
        except OSError as error:
            findings.add("queue-unreadable", topic.uri, verbatim(str(error)), topic=topic.name)
            continue
        is_unknown = configured and not is_own and numbers and topic.name not in configured
        if is_unknown and is_newest_read(part.sides.config):
            findings.add("queue-of-unknown-topic", topic.uri, say("not in topics", topic=topic.name), topic=topic.name)
        for queue_id in numbers:
            uri = f"{topic.uri}/{queue_id}"
            try:
                entries = storage_of(uri).list(uri)
            except FileNotFoundError:  # deleted meanwhile
                continue
            except OSError as error:
                findings.add("queue-unreadable", uri, verbatim(str(error)), topic=topic.name, queue_id=queue_id)
                continue
            queue = queue_in(topic, queue_id, entries)
            is_left_behind = copies.is_left_behind(topic, queue_id)
            if is_left_behind:
                _left_behind(uri, queue, copies, findings)
            _names(uri, queue, entries, findings)
            counted = None if is_left_behind or is_light(topic.name) else _Outside(queue, part, runs)
            leaves_out = is_in_database(uri) and topic.name in of_batches
            _QueuePass(uri, queue, part, findings, counted, leaves_out=leaves_out).check()


def _left_behind(uri: str, queue: Queue, copies: QueueCopies, findings: Findings) -> None:
    """A queue that is in files and in RocksDB: the other one is compared with the log, and this one with the other."""
    if behind := copies.missing(queue):
        findings.add("queue-left-behind", uri, say("lacks entries", entries=behind), topic=queue.topic, queue_id=queue.queue_id)
    if (differing := copies.differing(queue)) is not None:
        findings.add("queue-copies-differ", uri, say("copies differ", number=differing), topic=queue.topic, queue_id=queue.queue_id)


def _names(uri: str, queue: Queue, entries: Sequence[DirEntry], findings: Findings) -> None:
    """Files with a name or a size that no broker makes. The last file of a copy may be cut, but between entries."""
    width = BATCH_ENTRY.itemsize if queue.batch else QUEUE_ENTRY.itemsize
    for entry in entries:
        if not entry.is_file:
            continue
        found = None
        if not is_segment_name(entry.name):
            found = Said("name is no position")
        elif int(entry.name) % width:
            found = say("name is no multiple", width=width)
        elif entry.size % width:
            found = say("size is no multiple", size=entry.size, width=width)
        if found is not None:
            findings.add("queue-file", f"{uri}/{storage_of(uri).quoted(entry.name)}", found, topic=queue.topic, queue_id=queue.queue_id)


class _Outside:
    """What the entries of one queue name outside the files of the log."""

    def __init__(self, queue: Queue, part: QueuePart, runs: Runs) -> None:
        self._queue, self._part, self._runs = queue, part, runs
        if part.has_other_settings and not _is_of_broker(queue.topic):
            runs.one(Mark.NO_SETTINGS, (queue.topic, queue.queue_id))

    def add(self, numbers: Numbers, offsets: Numbers, entries: NDArray[np.void]) -> None:
        """Add entries that are written."""
        sides = self._part.sides
        if not self._part.gaps and sides.begin <= int(offsets.min()) and int(offsets.max()) < sides.end:  # as in almost all queues
            return
        found = _named(numbers, entries, is_batch=self._queue.batch)
        is_before, is_after = offsets < sides.begin, offsets >= sides.end
        # A tier that is not read is one part of the account, as a whole.
        is_gone = is_before if self._part.is_tier_read else is_before & ~self._part.is_in_tier(self._queue, found.numbers)
        self._claim(Mark.REMOVED if self._part.is_removed else Mark.BEFORE_BEGIN, is_gone, found)
        for start, stop, is_there in self._part.gaps:
            is_inside = (offsets >= start) & (offsets < stop) & ~is_after
            self._claim(Mark.UNREAD_RECORD if is_there else Mark.GAP, is_inside, found)
        if not (sides.is_live or sides.discarded):
            self._claim(Mark.AFTER_END, is_after, found)

    def _claim(self, mark: Mark, which: Mask, found: Named) -> None:
        if which.any():
            self._runs.entries(mark, (self._queue.topic, self._queue.queue_id), found.where(which))


def _named(numbers: Numbers, entries: NDArray[np.void], *, is_batch: bool) -> Named:
    offsets, sizes = entries["offset"].astype(np.int64), entries["size"].astype(np.int64)
    if is_batch:
        return Named(entries["base"].astype(np.int64), np.maximum(entries["count"].astype(np.int64), 1), offsets, sizes)
    codes = entries["tags_code"].astype(np.int64)
    return Named(numbers, np.ones(len(numbers), np.int64), offsets, sizes, np.where(is_hash(codes), codes, NO_TAG))


class _QueuePass:
    """One pass over the entries of a queue. `leaves_out`: only the first messages of batches have entries; the log tells which."""

    def __init__(self, uri: str, queue: Queue, part: QueuePart, findings: Findings, outside: _Outside | None, *, leaves_out: bool) -> None:
        self._uri, self._queue, self._sides, self._findings, self._leaves_out = uri, queue, part.sides, findings, leaves_out
        self._outside, self._is_removed, self._part = outside, part.is_removed, part
        self._begun = False
        """Whether an entry of a record was found."""
        self._empty_from: int | None = None
        """The first of the unwritten entries after the last written one."""
        self._offset = -1
        self._next = 0
        """The queue offset after the last batch."""

    def check(self) -> None:
        following: int | None = None
        with QueueReader(self._queue, excused=()) as reader:
            for which, file in enumerate(self._queue.files):
                if following is not None and file.base != following:
                    if file.base < following:
                        self._add("queue-file", say("files overlap", until=following, begin=file.base))
                    elif self._begun and self._empty_from is None:
                        self._empty_from = following
                following = file.base + file.units
                try:
                    self._file(reader, which)
                except OSError:
                    self._add("queue-unreadable", say("cannot be read", file=file.uri))

    def _file(self, reader: QueueReader, which: int) -> None:
        file, reached = self._queue.files[which], 0
        for place, units in reader.pieces(which, 0, reader.written(which), _PIECE):
            if place > reached:
                self._unwritten(file.base + reached)
            self._units(file.base + place, units)
            reached = place + len(units)
        if reached < file.units:
            self._unwritten(file.base + reached)

    def _unwritten(self, number: int) -> None:
        if self._begun and self._empty_from is None:
            self._empty_from = number

    def _units(self, number: int, units: NDArray[np.void]) -> None:
        written, filler = is_written(units), units["size"] == FILLER_SIZE
        places = np.flatnonzero(written)
        if not self._begun and not len(places):
            return
        self._holes(number, len(units), places, filler)
        if len(places):
            # numpy 2.4 indexes an array of structs field by field; `take` copies each struct whole, thirty times faster.
            self._entries(number + places, units if len(places) == len(units) else units.take(places))

    def _holes(self, number: int, count: int, places: NDArray[np.intp], filler: NDArray[np.bool_]) -> None:
        """Unwritten entries count once a written one follows."""
        begin = 0 if self._begun else int(places[0])
        late = np.flatnonzero(filler[begin:])
        if len(late):
            self._add("queue-filler", say("filler", number=number + begin + int(late[0])), count=len(late))
        if len(places):
            if self._begun and self._empty_from is None and places[0] > 0 and not filler[0]:
                self._empty_from = number
            if self._empty_from is not None:
                self._hole(self._empty_from, number + int(places[0]))
            for gap in np.flatnonzero(np.diff(places) > 1).tolist():
                first, stop = int(places[gap]) + 1, int(places[gap + 1])
                if not filler[first:stop].all():
                    self._hole(number + first, number + stop)
            self._begun, self._empty_from = True, None
            if int(places[-1]) + 1 < count:
                self._empty_from = number + int(places[-1]) + 1
        else:
            self._unwritten(number)

    def _hole(self, first: int, stop: int) -> None:
        if self._leaves_out:
            return
        self._add("queue-hole", say("not written", first=first, last=stop - 1), count=stop - first)

    def _entries(self, numbers: NDArray[np.int64], entries: NDArray[np.void]) -> None:
        sides, offsets = self._sides, entries["offset"].astype(np.int64)
        if self._outside is not None:
            self._outside.add(numbers, offsets, entries)
        back = np.flatnonzero(np.diff(offsets, prepend=self._offset) <= 0)
        self._rows("queue-order", numbers, offsets, back, Said("not higher"))
        self._offset = int(offsets.max(initial=self._offset))
        code, why = ("entry-removed", "was removed") if self._is_removed else ("entry-expired", "expired")
        own = entries["base"].astype(np.int64) if self._queue.batch else numbers
        is_gone = (offsets < sides.begin) & ~self._part.is_in_tier(self._queue, own)
        self._rows(code, numbers, offsets, np.flatnonzero(is_gone), Said(why))
        if not sides.is_live:
            code = "entry-discarded" if sides.discarded else "entry-after-end"
            self._rows(code, numbers, offsets, np.flatnonzero(offsets >= sides.end), say("log ends", end=sides.end))
        if self._queue.batch:
            base, count = entries["base"].astype(np.int64), entries["count"].astype(np.int64)
            expected = np.concatenate([[self._next if self._next else int(base[0])], base[:-1] + count[:-1]])
            wrong = np.flatnonzero(base != expected)
            self._rows("entry-count", numbers, offsets, wrong, Said("does not follow"))
            self._next = int((base[-1:] + count[-1:])[0])  # arrays, because a sum of two numbers above 64 bits warns
        elif not is_hash(entries["tags_code"]).all() and not self._has_ext():
            self._rows("entry-address", numbers, offsets, np.flatnonzero(~is_hash(entries["tags_code"])), Said("is address"))

    def _has_ext(self) -> bool:
        storage = storage_of(self._uri)
        return storage.entry(f"{self._sides.uri}/{_EXT}/{storage.quoted(self._queue.topic)}/{self._queue.queue_id}") is not None

    def _rows(self, code: str, numbers: NDArray[np.int64], offsets: NDArray[np.int64], rows: NDArray[np.intp], why: Said) -> None:
        queue = self._queue
        self._findings.add_rows(
            code, self._uri, offsets[rows],
            lambda each: say("entry of queue", number=int(numbers[rows[each]]), queue=queue.queue_id, topic=queue.topic, why=why),
            topic=queue.topic, queue_id=queue.queue_id,
        )  # fmt: skip

    def _add(self, code: str, found: Said, count: int = 1) -> None:
        self._findings.add(code, self._uri, found, topic=self._queue.topic, queue_id=self._queue.queue_id, count=count)
