"""One pass over the log: which bytes no whole record has, which queue offsets survive, what the queues lack, which bodies are wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.bodies import decompress
from native_reader.layout.queue_entry import QUEUE_ENTRY, is_hash
from native_reader.layout.record import COMPRESSED, Mask, Numbers
from native_reader.records.damages import CHECKSUM, NO_DAMAGE, Damages
from native_reader.repair.batch_queues import entries_of
from native_reader.repair.doubts import ALWAYS_LOST, KEYS, MAYBE_TEXT, TAGGED, TEXT, TRANSACTION, WHY, ZEROS, Doubt
from native_reader.repair.kept_keys import KeptKeys
from native_reader.repair.marked import MarkedLog
from native_reader.repair.old_queues import OldQueue, OldQueues
from native_reader.repair.records import ReadSettings, Records, held_back, record_at
from native_reader.repair.refusals import refusal
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import StoreFiles
from native_reader.writing.records import crc_of

_MOST_DECOMPRESSED = 64 << 20
_EXTENDED = "consumequeue_ext"
"""Tags codes can be addresses in it (enableConsumeQueueExt)."""


class WrongChecksums(NamedTuple):
    """Records with wrong checksums.

    Attributes:
        right: The right checksum of each record that is kept, by its offset.
        dropped: The offsets of the others.
        damage: All damage of the log; these records are part of it.
    """

    right: dict[int, int]
    dropped: Numbers
    damage: Damages


NONE = WrongChecksums({}, np.empty(0, np.int64), NO_DAMAGE)


def wrong_checksums(files: StoreFiles, settings: ReadSettings) -> WrongChecksums:
    """Read the log with all checks, and look at each record whose body has a wrong checksum.

    A compressed body that cannot be decompressed is dropped: a client stops there, and loses the messages after it.
    """
    run = (
        settings._replace(progress=False, choices=settings.choices._replace(crc="drop"))
        .scan(files, ("physical_offset",))
        .run(settings.jobs)
    )
    for _ in run:
        pass
    damage = Damages.of(run.report.damage)
    right, dropped = dict[int, int](), list[int]()
    for each in damage.where(damage.are(CHECKSUM)):
        checksum = _checksum(files, each.start, each.end)
        if checksum is None:
            dropped.append(each.start)
        else:
            right[each.start] = checksum
    return WrongChecksums(right, np.array(dropped, np.int64), damage)


def _checksum(files: StoreFiles, start: int, end: int) -> int | None:
    """The checksum of the body of one record; None if clients cannot decompress it."""
    content, records = record_at(files, start, end - start)
    at, size = int(records.body_at[0]), int(records.body_size[0])
    body, flags = content[at : at + size], int(records.heads["sys_flag"][0])
    is_broken = flags & COMPRESSED and decompress(body, flags, _MOST_DECOMPRESSED) is None
    return None if is_broken else crc_of(body)


_LEAST_SECONDS = 1.0
_MOST_RUNS = 1 << 20
_MOST_WANTED = 1 << 22
"""Entries that are in memory, about 120 MB. If queues lack more, they are found again while they are written."""
WANTED = np.dtype([("slot", "i8"), ("entry", QUEUE_ENTRY)])
"""An entry that a queue file does not have, or has otherwise."""


Sink = Callable[[tuple[str, int], NDArray[np.void]], object]
"""Takes entries that a queue lacks, in the order of their slots."""


class Change(NamedTuple):
    """Bytes of a whole record that are not what was written. `at`: their position in it; `field`: one of `fields.FIELDS`."""

    field: str
    at: int
    content: bytes
    topic: str
    queue_id: int
    slot: int
    """Its right place in the queues."""

    @property
    def place(self) -> tuple[str, int, int]:
        """The same, together."""
        return self.topic, self.queue_id, self.slot


class Decided(NamedTuple):
    """What follows from an earlier pass: records that are left out, all that are contradicted, and those that are kept with a change."""

    dropped: Numbers
    doubts: Mapping[int, Doubt]
    changes: Mapping[int, Change] = {}


UNDECIDED = Decided(np.empty(0, np.int64), {})


class Uncovered(NamedTuple):
    """Bytes `[start, stop)` between whole records: damage, the blanks of segments, or both. `time`: of the record before, or after."""

    start: int
    stop: int
    time: int


@dataclass(slots=True)
class Run:
    """Consecutive queue offsets `[first, stop)`, and the log offsets of the first and of the last record."""

    first: int
    stop: int
    begin: int
    last: int


@dataclass(slots=True)
class Survivors:
    """The messages of one queue that survived."""

    before: OldQueue | None
    runs: list[Run] = field(default_factory=list)
    wanted: list[NDArray[np.void]] = field(default_factory=list)
    lacking: int = 0
    """How many entries must be written: those of `wanted`, if they are in memory."""
    batched: list[NDArray[np.void]] = field(default_factory=list)
    """All entries of a batch queue, in the order of the log."""
    replaced: Counter[int] = field(default_factory=Counter)
    """How many of them are before the end of the old queue, by the number of their file: there, that names others, or nothing."""
    earlier: int = -1
    """The offset of the last record from before the topic was deleted and created again; -1 without one."""

    def keep_from(self, run: int) -> None:
        """Forget the messages before a run."""
        begin = self.runs[run].begin if run else -1
        self.earlier = self.runs[run - 1].last if run else self.earlier
        self.runs = self.runs[run:]
        self.replaced.clear()
        self.wanted = [each[each["entry"]["offset"] >= begin] for each in self.wanted]
        self.batched = [each[each["offset"] >= begin] for each in self.batched]


@dataclass(slots=True)
class NewQueue:
    """One queue of the new store. `wanted`: the entries that its old files lack, if they are in memory; `lost`: those of placeholders."""

    topic: str
    queue_id: int
    survivors: Survivors
    wanted: NDArray[np.void]
    lost: NDArray[np.void]
    stop: int
    """Its next queue offset."""


class Survey:
    """What survived.

    `decided`: of an earlier pass. `kept`: gets the keys. `sink`: gets the entries that queues lack, which are then not kept.
    """

    def __init__(
        self,
        files: StoreFiles,
        old: OldQueues,
        settings: ReadSettings,
        decided: Decided = UNDECIDED,
        *,
        kept: KeptKeys | None = None,
        sink: Sink | None = None,
    ) -> None:
        self._files, self._old, self._settings = files, old, settings
        self._sink, self._held = sink, 0
        extended = f"{files.uri}/{_EXTENDED}"
        self._has_addresses = storage_of(extended).entry(extended) is not None
        self.wrong = wrong_checksums(files, settings) if settings.choices.crc == "fix" else NONE
        self._decided, self._dropped = decided, np.union1d(self.wrong.dropped, decided.dropped)
        self._keeps_doubtful, self._topics = settings.choices.keep_doubtful, settings.choices.topics
        self.reader = MarkedLog(files, settings, kept)
        self.queues: dict[tuple[str, int], Survivors] = {}
        self.uncovered: list[Uncovered] = []
        self.doubts: dict[int, Doubt] = dict(decided.doubts)
        """Records that something contradicts, by offset."""
        self.tagged: list[NDArray[np.void]] = []
        """Records whose entries have other tags."""
        self.placed: dict[str, list[tuple[int, int, int]]] = {KEYS: [], TRANSACTION: []}
        """Offset, queue and queue offset of records that the index contradicts; and of open transactions in queues without files."""
        self.light_lists: dict[tuple[str, int], int] = {}
        """By queue: the most bytes that a record needs to name its light queues and its queue offsets in them."""
        self.messages = self._runs = 0
        self.first_time = self.last_time = 0
        self.end = files.min_offset
        """The end of the last whole record."""
        self._seconds = 0.0

    def read(self) -> None:
        """Read the log."""
        begun = monotonic()
        for batch in self.reader.batches():
            rows = batch.but(np.isin(batch.offset, self._dropped))
            lights = self._chosen(rows.where(rows.is_light))
            records = self._chosen(self._changed(rows.but(rows.is_light)))
            records = records.but(self._is_lost_by_itself(records))
            order = _by_queue(records.queue)
            is_doubtful = np.zeros(len(order), np.bool_)
            is_doubtful[order] = self._doubtful(records.where(order))
            records = records.but(is_doubtful)
            self._cover(records)
            if len(lights.offset):
                self._compare_lights(records, lights.where(np.isin(lights.offset, records.offset)))
        self._seconds = monotonic() - begun
        if not self.messages:
            raise refusal("no record", store=self._files.uri)

    @property
    def rate(self) -> float | None:
        """How many bytes a second were read; None if that took too short a time to tell."""
        return self.reader.run.report.bytes_read / self._seconds if self._seconds >= _LEAST_SECONDS else None

    @property
    def changes(self) -> Mapping[int, Change]:
        """What changes in records that are kept, by offset."""
        return self._decided.changes

    def _changed(self, records: Records) -> Records:
        """The same records, as they are after their changes."""
        rows = np.flatnonzero(np.isin(records.offset, np.array([*self.changes], np.int64)))
        if not len(rows):
            return records
        queue, slot, doubt = records.queue.copy(), records.slot.copy(), records.doubt.copy()
        for row in rows.tolist():
            change = self.changes[int(records.offset[row])]
            queue[row], slot[row], doubt[row] = self.reader.number(change.topic, change.queue_id), change.slot, 0
        return records._replace(queue=queue, slot=slot, doubt=doubt)

    def _chosen(self, records: Records) -> Records:
        """The same records. For an extract, those of other topics count as records that brokers put into no queue."""
        if not self._topics:
            return records
        numbers = [number for number, (topic, _) in enumerate(self.reader.queues) if topic in self._topics]
        numbers += held_back(np.array(numbers, np.int64)).tolist()
        return records._replace(queue=np.where(np.isin(records.queue, numbers), records.queue, -1))

    def _is_lost_by_itself(self, records: Records) -> Mask:
        """Which records are left out because of what they show by themselves, or because damage follows."""
        found = np.zeros(len(records.offset), np.bool_)
        precedes_hole = np.append(records.offset[1:] != (records.offset + records.size)[:-1], False)
        for row in np.flatnonzero((records.doubt > 0) & (records.queue != -1)).tolist():
            why = WHY[int(records.doubt[row])]
            if why == KEYS:
                self.placed[KEYS].append(_place_of(records, row))
            else:
                found[row] = self._doubt(records, row, TEXT if why == MAYBE_TEXT and precedes_hole[row] else why)
        return found

    def _doubt(self, records: Records, row: int, why: str) -> bool:
        """Note that a record is contradicted. Returns whether it is left out."""
        is_kept = why == MAYBE_TEXT or (self._keeps_doubtful and why not in ALWAYS_LOST)
        offset, number, slot = _place_of(records, row)
        self.doubts[offset] = Doubt(why, is_kept, *self.reader.queues[number], slot)
        return not is_kept

    def _doubtful(self, records: Records) -> Mask:
        """Compare records with the entries of their queues. Returns which are doubtful. `records`: queue by queue."""
        is_doubtful = np.zeros(len(records.queue), np.bool_)
        for begin, stop in _pieces(records.queue):
            number = int(records.queue[begin])
            if number >= 0:
                is_doubtful[begin:stop] = self._compare(self.reader.queues[number], records.where(slice(begin, stop)))
            elif number < -1:
                is_doubtful[begin:stop] = self._is_named(self.reader.queues[held_back(number)], records.where(slice(begin, stop)))
        return is_doubtful

    def _compare_lights(self, records: Records, lights: Records) -> None:
        """Compare the places of records in light queues with their entries, and note how long the lists of these places are."""
        lights = lights.where(_by_queue(lights.queue))
        lengths = np.zeros(len(records.offset), np.int64)
        for begin, stop in _pieces(lights.queue):
            number = int(lights.queue[begin])
            if number >= 0:
                mine = lights.where(slice(begin, stop))
                self._compare(self.reader.queues[number], mine)
                digits = np.char.str_len(mine.slot.astype(np.str_))
                lengths[np.searchsorted(records.offset, mine.offset)] += digits + len(self.reader.queues[number][0].encode()) + 2
        for number in np.unique(records.queue[lengths > 0]).tolist():
            key = self.reader.queues[number]
            self.light_lists[key] = max(self.light_lists.get(key, 0), int(lengths[records.queue == number].max()))

    def _is_named(self, key: tuple[str, int], records: Records) -> Mask:
        """Which of these records, that brokers put into no queue, the entry in their slot names: their flags are not what was written."""
        queue, found = self._old.all.get(key), np.zeros(len(records.slot), np.bool_)
        for row, slot in enumerate(records.slot.tolist()):
            if queue is None:
                self.placed[TRANSACTION].append(_place_of(records, row))
                continue
            entry = queue.read(slot, slot + 1)[0]
            if (entry["offset"], entry["size"]) == (records.offset[row], records.size[row]):
                found[row] = self._doubt(records, row, TRANSACTION)
        return found

    def _compare(self, key: tuple[str, int], records: Records) -> Mask:
        """Compare the records of one queue with its entries. Returns which are doubtful."""
        queue = self.queues.get(key)
        if queue is None:
            queue = self.queues[key] = Survivors(self._old.all.get(key))
        if queue.before is None or queue.before.first is None:
            return self._compare_own(key, queue, records)
        slot, offset = queue.before.first
        is_older = (records.slot >= slot) & (records.offset < offset)  # from before the topic was deleted and created again
        queue.earlier = max(queue.earlier, int(records.offset[is_older].max(initial=-1)))
        is_doubtful = np.zeros(len(is_older), np.bool_)
        is_doubtful[~is_older] = self._compare_own(key, queue, records.but(is_older))
        return is_doubtful

    def _compare_own(self, key: tuple[str, int], queue: Survivors, records: Records) -> Mask:
        """The same for records that the queue may name."""
        is_doubtful, is_batch = np.zeros(len(records.slot), np.bool_), key[0] in self._old.batch_topics
        if not is_batch and (records.messages > 1).any():
            raise refusal("batches", topic=key[0])
        for begin, stop in _following(records.slot, records.slot + records.messages):
            run, first = records.where(slice(begin, stop)), int(records.slot[begin])
            count = stop - begin
            after = int(run.slot[-1] + run.messages[-1])
            entries = np.zeros(after - first, QUEUE_ENTRY) if queue.before is None else queue.before.read(first, after)
            entries = entries[run.slot - first] if is_batch else entries
            wanted = self._wanted(run, entries)
            is_lost = is_doubtful[begin:stop] = wanted < 0
            for part in np.split(np.arange(count), np.flatnonzero(np.diff(is_lost)) + 1) if is_lost.any() else (np.arange(count),):
                if not is_lost[part[0]]:
                    self._keep(key, queue, run, part)
            differing = np.flatnonzero(wanted >= 0 if self._topics else wanted > 0)
            if is_batch:
                kept = np.flatnonzero(wanted >= 0)
                codes = np.where(wanted == 0, entries["tags_code"], run.code)
                queue.batched.append(entries_of(run.where(kept), codes[kept]))
                queue.lacking += len(differing)
            elif len(differing):
                self._note_wanted(key, queue, _entries(run.where(differing)))
                self._note_replaced(queue, first + differing)
        return is_doubtful

    def _note_wanted(self, key: tuple[str, int], queue: Survivors, entries: NDArray[np.void]) -> None:
        queue.lacking += len(entries)
        if self._sink is not None:
            self._sink(key, entries)
            return
        self._held += len(entries)
        if not self.lacks_many:
            queue.wanted.append(entries)
        else:
            for each in self.queues.values():
                each.wanted.clear()

    def _note_replaced(self, queue: Survivors, slots: Numbers) -> None:
        """Note which files of a queue do not have the entries of these messages. What is after its end, a broker adds itself."""
        if queue.before is not None and queue.before.files and not self._topics:
            numbers, counts = np.unique(slots[slots < queue.before.stop] // self._old.units, return_counts=True)
            queue.replaced.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))

    @property
    def lacks_many(self) -> bool:
        """Whether queues lack more entries than are kept in memory. `read_again` finds them. An extract keeps all."""
        return self._held > _MOST_WANTED and not self._topics

    def read_again(self, sink: Sink) -> None:
        """Read the log once more, for the entries that the queues of the plan lack."""

        def wanted(key: tuple[str, int], entries: NDArray[np.void]) -> None:
            runs = self.queues[key].runs if key in self.queues else []
            if runs:
                sink(key, entries[entries["entry"]["offset"] >= runs[0].begin])

        Survey(self._files, self._old, self._settings._replace(progress=False), self._decided, sink=wanted).read()

    def _wanted(self, records: Records, entries: NDArray[np.void]) -> NDArray[np.int8]:
        """For each record: 0 if its entry stays, 1 if it must be written, -1 if the record is left out.

        The entry of a doubtful record that is kept stays: it shows what the record was.
        """
        names = (entries["offset"] == records.offset) & (entries["size"] == records.size)
        codes = entries["tags_code"]
        wrong = names & ~records.by_time & (codes != records.code)
        if self._has_addresses:
            wrong &= is_hash(codes)
        wanted: NDArray[np.int8] = (~names).astype(np.int8)
        for row in np.flatnonzero(wrong).tolist():
            offset = int(records.offset[row])
            if offset in self.doubts:
                continue
            if records.is_light[row]:  # what the tag is, the record's own queue tells
                wanted[row] = 1
            elif b"\0" in self._properties(offset, int(records.size[row])):
                wanted[row] = -self._doubt(records, row, ZEROS)
            else:
                wanted[row] = 1
                self.tagged.append(_tagged(records, row, entries))
        return wanted

    def _properties(self, offset: int, size: int) -> bytes:
        """The stored properties of a record."""
        content, records = record_at(self._files, offset, size)
        return content[int(records.properties_at[0]) :]

    def _keep(self, key: tuple[str, int], queue: Survivors, records: Records, rows: Numbers) -> None:
        """Note that the messages of these consecutive rows survive."""
        first, begin, last = int(records.slot[rows[0]]), int(records.offset[rows[0]]), int(records.offset[rows[-1]])
        stop = int(records.slot[rows[-1]] + records.messages[rows[-1]])
        before = queue.runs[-1] if queue.runs else None
        if before is not None and before.stop == first:
            before.stop, before.last = stop, last
            return
        self._runs += 1
        if self._runs > _MOST_RUNS:
            raise refusal("order", topic=key[0], queue=key[1], offset=begin)
        queue.runs.append(Run(first, stop, begin, last))

    def _cover(self, records: Records) -> None:
        """Note the bytes before and between these records."""
        if not len(records.offset):
            return
        ends = records.offset + records.size
        before = np.concatenate([[self.end], ends[:-1]])
        times = np.concatenate([[self.last_time if self.messages else records.time[0]], records.time[:-1]])
        for row in np.flatnonzero(records.offset > before).tolist():
            self.uncovered.append(Uncovered(int(before[row]), int(records.offset[row]), int(times[row])))
        if not self.messages:
            self.first_time = int(records.time[0])
        self.messages += int(records.messages.sum())
        self.end, self.last_time = int(ends[-1]), int(records.time[-1])


def _by_queue(queues: Numbers) -> Numbers:
    """The rows of each queue, in log order, one queue after the other."""
    # numpy sorts numbers of 16 bits by their digits, several times as fast.
    narrow = queues.astype(np.int16) if queues.max(initial=0) <= np.iinfo(np.int16).max else queues
    return np.argsort(narrow, kind="stable")


def _following(slots: Numbers, ends: Numbers) -> Iterator[tuple[int, int]]:
    """The ranges of rows in which each record begins where the one before it ends."""
    bounds = (np.flatnonzero(slots[1:] != ends[:-1]) + 1).tolist()
    if len(slots):
        yield from zip([0, *bounds], [*bounds, len(slots)], strict=True)


def _pieces(numbers: Numbers) -> Iterator[tuple[int, int]]:
    """The ranges of rows with equal numbers."""
    yield from _following(numbers, numbers)


def _place_of(records: Records, row: int) -> tuple[int, int, int]:
    """The offset of a record, the number of its queue, and its queue offset."""
    number = int(records.queue[row])
    return int(records.offset[row]), number if number >= 0 else held_back(number), int(records.slot[row])


def _tagged(records: Records, row: int, entries: NDArray[np.void]) -> NDArray[np.void]:
    return np.array([(*_place_of(records, row), int(records.code[row]), int(entries["tags_code"][row]))], TAGGED)


def _entries(records: Records) -> NDArray[np.void]:
    found = np.empty(len(records.offset), WANTED)
    found["slot"] = records.slot
    found["entry"]["offset"], found["entry"]["size"], found["entry"]["tags_code"] = records.offset, records.size, records.code
    return found
