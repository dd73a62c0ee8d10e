"""What a store's queues would be after a start, for each version, and why consumers would not get what is whole in the log."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import array
from native_reader.broker.databases import has_settings
from native_reader.broker.settings import Topics
from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.layout.queue_entry import QUEUE_ENTRY
from native_reader.layout.record import Numbers
from native_reader.log.recovery import has_abort
from native_reader.sides.bounds import bounds_of
from native_reader.sides.deleted import DeletedTopics
from native_reader.sides.queues import Queue, queues_of, topics_in
from native_reader.start.lines import Line, Requeues
from native_reader.start.queues import Loaded, loaded
from native_reader.start.reasons import Cause, cause
from native_reader.start.recovered import Queued, RecoveredLog, are_in_databases, are_served
from native_reader.start.served import NEVER, Entries, Part, Place, Records, Recovery, Served, Simulation, run
from native_reader.storage.broker_conf import FileSizes
from native_reader.storage.store import Segment, StoreFiles
from native_reader.witness.entries import Sample

_COLUMNS = "topic", "queue_id", "queue_offset", "physical_offset", "record_size", "kind", "corrupt_reason"
_USUAL = FileSizes().queue // QUEUE_ENTRY.itemsize
_NOT_QUEUED = array(["prepared", "rollback"])


@dataclass(frozen=True, slots=True)
class After:
    """What brokers of some lines would have after a start.

    `cut`: where the log is cut. `queues`: those with whole records in the log. `second`: the same after a clean stop and one more start;
    None if that was not found out.
    """

    cut: int
    queues: tuple[Served, ...]
    second: After | None = None

    def total(self, count: str) -> int:
        """The sum of one number of all queues."""
        return sum(int(getattr(queue, count)) for queue in self.queues)


class QueueFiles:
    """The queues of a store, as a broker loads them from files. Those of batches only tell how far they reach.

    With queues in databases, what a start makes of them is not modelled: see `AfterStart.reasons`.
    """

    def __init__(self, files: StoreFiles, samples: Sequence[Sample] | None = None) -> None:
        queues = [each.queue for each in samples] if samples is not None else list(_queues_of(files))
        self.are_modelled = not files.databases
        self._sizes = Counter(file.units for queue in queues if not queue.batch for file in queue.files)
        self._ordinary = {(queue.topic, queue.queue_id): queue for queue in queues if not queue.batch}
        self.of_batches = {queue.topic for queue in queues if queue.batch}
        ends = (bounds_of(queue, 0) for queue in queues if queue.batch)
        newest = (bounds.newest for bounds in ends if bounds is not None and bounds.newest is not None)
        # A queue of batches says that it has come to the begin of its last record (BatchConsumeQueue, maxMsgPhyOffsetInCommitLog).
        self.others_reached = max((each.offset for each in newest), default=-1)
        self._in_rocksdb = are_in_databases(queues)

    @property
    def queued(self) -> Queued:
        """How far they reach."""
        return Queued(max((queue.reached for queue in self.whole.values()), default=self.others_reached), self._in_rocksdb)

    @cached_property
    def units(self) -> int:
        """How many entries a file has."""
        return max(self._sizes, key=lambda size: (self._sizes[size], size), default=_USUAL)

    @cached_property
    def whole(self) -> Mapping[Place, Loaded]:
        """The queues, with their files of the usual size."""
        usual = self.units if self.are_modelled else None
        return {
            place: loaded(queue, [file for file in queue.files if usual in (None, file.units)]) for place, queue in self._ordinary.items()
        }


def _queues_of(files: StoreFiles) -> Iterator[Queue]:
    for topic in topics_in(files.queues, light=True):
        yield from queues_of(topic)


class AfterStart:
    """Lets brokers of each line start on numbers. The log is read once, and all lines take its records at the same time."""

    def __init__(self, log: RecoveredLog, queues: QueueFiles, lines: Sequence[Line]) -> None:
        self._log, self._queues = log, queues
        self._topics = Topics(log.files.config)
        self._listed = frozenset(self._topics.names())
        config = log.files.config
        self._are_unread = not self._listed and config is not None and has_settings(config)
        self._deleted = DeletedTopics(log.files.queues, log.files.config)
        self._left_out = self._topics.of_batches() | queues.of_batches
        self._last_record = 0
        self._places: dict[Place, int] = {}
        self._names: list[Place] = []
        self._segment = max((segment.size for segment in log.files.segments), default=0)
        recoveries = {line: self._recovery(line) for line in lines}
        distinct = dict.fromkeys(recoveries.values())
        simulations = {each: Simulation(each, queues.whole, self._names, queues.others_reached) for each in distinct}
        parts = run(simulations.values(), Entries(queues.whole, log.end, self._segment), self._names, self._parts())
        kept = list(parts) if log.is_small else deque(parts, maxlen=0)
        results = {each: self._result(each, simulations[each]) for each in distinct}
        self._after = {line: results[each] for line, each in recoveries.items()}
        if log.is_small:
            seconds = self._seconds({line: simulations[each] for line, each in recoveries.items()}, kept)
            self._after = {line: replace(each, second=seconds[line]) for line, each in self._after.items()}

    def _result(self, recovery: Recovery, simulation: Simulation) -> After:
        return After(self._end(recovery.cut), tuple(map(self._if_listed, simulation.served())))

    def _seconds(self, firsts: Mapping[Line, Simulation], parts: Iterable[Part]) -> dict[Line, After]:
        """What each line would have after a second start."""
        reloaded, known = dict[Queue, Loaded](), dict[tuple[Simulation, Recovery], After]()
        left = {each: each.left(self._queues.units, reloaded) for each in dict.fromkeys(firsts.values())}
        found = dict[Line, After]()
        for line, first in firsts.items():
            queues, others = left[first], min(self._queues.others_reached, first.recovery.cut)
            reached = max((queue.reached for queue in queues.values()), default=others)
            begins, cut = self._log.again(line, first.recovery.cut, reached)
            recovery = self._stopped(line, begins, cut, reached)
            if first.ends_as(recovery, queues, reached):
                found[line] = self._after[line]
                continue
            if (first, recovery) not in known:
                second = Simulation(recovery, queues, self._names, others)
                entries = Entries(queues, first.recovery.cut, self._segment, is_first=False)
                deque(run([second], entries, self._names, parts), maxlen=0)
                known[first, recovery] = self._result(recovery, second)
            found[line] = known[first, recovery]
        return found

    def knows(self, line: Line) -> bool:
        """Whether that line was asked for, and is modelled.

        A broker of 5.5.0 that cuts the log looks for the new end of a queue in RocksDB by halves, and can set it too low.
        """
        return line in self._after and (self._queues.are_modelled or self._log.cut(line) >= self._log.queued.reached)

    def of(self, line: Line) -> After:
        """What brokers of that line would have."""
        return self._after[line]

    def _recovery(self, line: Line) -> Recovery:
        """What that line does, as far as it makes a difference: after the last record, nothing is dispatched."""
        cut, reached, killed = self._log.cut(line), self._log.queued.reached, has_abort(self._log.files)
        if killed:
            return Recovery(cut, self._log.begins(line), truncates=line.truncates(killed=killed, reached=reached, cut=cut))
        return self._stopped(line, self._log.begins(line), cut, reached)

    def _stopped(self, line: Line, begins: int, cut: int, reached: int) -> Recovery:
        """The same after a clean stop."""
        truncates = line.truncates(killed=False, reached=reached, cut=cut)
        if line.requeues is Requeues.CHECKED and reached < cut:
            return Recovery(cut, begins, reached, truncates=truncates)
        again = line.requeues is Requeues.AFTER_ALL or (self._log.files.on_start.rechecks_queues and line.has_timers)
        return Recovery(cut, NEVER, again=again, truncates=truncates)

    def _parts(self) -> Iterator[Part]:
        for segment in self._log.files.segments:
            records = self._records(segment)
            self._last_record = max(self._last_record, int((records.offsets + records.sizes).max(initial=0)))
            checked, dispatched = (self._log.left_at(segment, checksums=checksums) for checksums in (True, False))
            yield records, checked, dispatched

    def _end(self, cut: int) -> int:
        """Where the log ends after the start. A blank at the end of the last segment is written anew."""
        return self._last_record if cut == self._log.end and self._log.goes_on(self._last_record) else cut

    def _if_listed(self, queue: Served) -> Served:
        """Of a topic without settings, consumers get nothing until it is made again."""
        return queue if self._is_listed(queue.topic) else queue._replace(served=0, moved=0)

    def _records(self, segment: Segment) -> Records:
        found = [Records(*(np.empty(0, np.int64) for _ in range(4)))]
        for batch in self._log.batches(segment, _COLUMNS):
            is_record = pc.and_(are_served(batch.column("corrupt_reason")), pc.invert(pc.is_in(batch.column("kind"), _NOT_QUEUED)))
            queued = batch.filter(pc.and_(is_record, batch.column("topic").is_valid()))
            places = self._places_of(queued.column("topic"), queued.column("queue_id"))
            names = ("physical_offset", "record_size", "queue_offset")
            offsets, sizes, numbers = (queued.column(name).to_numpy(zero_copy_only=False).astype(np.int64) for name in names)
            found.append(Records(offsets, sizes, numbers, places).where(places >= 0))
        records = Records(*(np.concatenate(each) for each in zip(*found, strict=True)))
        return records.where(~np.isin(records.offsets, self._log.wrong_bodies(segment)))

    def _places_of(self, topics: pa.Array, queue_ids: pa.Array) -> Numbers:
        """The position of each record's queue; -1 for those that no broker serves."""
        encoded = topics.dictionary_encode()
        names, codes = encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        both = (codes << 32) | queue_ids.to_numpy(zero_copy_only=False).astype(np.int64)
        distinct, which = np.unique(both, return_inverse=True)
        known = [self._place((names[each >> 32], each & 0xFFFFFFFF)) for each in distinct.tolist()]
        return np.array(known, np.int64)[which]

    def _place(self, place: Place) -> int:
        if place not in self._places:
            is_left_out = place[0] in self._left_out or self._deleted.has(place[0])
            self._places[place] = -1 if is_left_out else len(self._names)
            self._names += [] if is_left_out else [place]
        return self._places[place]

    def reasons(self, line: Line) -> Iterator[Cause]:
        """Why consumers would not get what is whole and not deleted, and what new messages would collide with.

        A broker puts an entry into a database at its own queue offset, so where each message has one in order, none is missing afterwards.
        Else it is not known: brokers correct the smallest and the largest offset of such a queue in other ways than those of files.
        """
        after = self.of(line)
        queues = [queue for queue in after.queues if self._is_listed(queue.topic)]
        if not self._queues.are_modelled:
            if any(queue.unreachable or queue.moved for queue in queues):
                yield cause("database queues")
            return
        lost = [queue for queue in queues if queue.unreachable]
        messages = sum(queue.unreachable for queue in lost)
        if not self._log.queued.has_entries:
            yield from without_queues(self._log, line, messages)
        elif messages:
            worst = max(lost, key=lambda queue: queue.unreachable)
            yield cause("unreached", messages=messages, queues=len(lost), topic=worst.topic, queue=worst.queue_id)
        if moved := sum(queue.moved for queue in queues):
            yield cause("moved", messages=moved)
        yield from _second(after)
        again = [queue for queue in queues if queue.reused and not queue.deleted]
        if again and self._log.queued.has_entries:
            worst = max(again, key=lambda queue: queue.reused)
            yield cause("reused", messages=sum(queue.reused for queue in again), topic=worst.topic, queue=worst.queue_id, offset=worst.end)

    def _is_listed(self, topic: str) -> bool:
        """Whether consumers can ask for a topic: what is wrong with others is said of their settings."""
        return topic in self._listed or kind_of_topic(topic) in SYSTEM_KINDS or self._are_unread


def _second(after: After) -> Iterator[Cause]:
    """What is otherwise after a second start."""
    if after.second is None:
        return
    now, then = (each.total("served") + each.total("moved") for each in (after, after.second))
    if then != now:
        yield cause("second fewer" if then < now else "second more", messages=abs(now - then), offset=after.second.cut)


def waits_at(log: RecoveredLog, line: Line) -> int | None:
    """Where a broker waits for ever, and does not finish its start; None if it does not.

    Since 4.5.0, it waits until the queues have what they lack (DefaultMessageStore.start, `dispatchBehindBytes() <= 0`), and where no
    segment has the next offset, it goes no further (`doReput`). 5.x only waits with recheckReputOffsetFromCq.
    """
    files = log.files
    again = line.requeues is Requeues.AFTER_ALL or (files.on_start.rechecks_queues and line.has_timers)
    if has_abort(files) or not again:
        return None
    begin, cut = max(log.queued.reached, files.min_offset), log.cut(line)
    gaps = ((one.end, other.base) for one, other in pairwise(files.segments) if one.end < other.base)
    return next((max(start, begin) for start, stop in gaps if begin < stop and start < cut), None)


def without_queues(log: RecoveredLog, line: Line, messages: int | None = None) -> Iterator[Cause]:
    """What a broker does that finds no entry in any queue. `messages`: those that consumers would not get, if they were counted."""
    first, stop, killed = log.begins(line), log.cut(line), has_abort(log.files)
    if not killed and line.requeues is not Requeues.CHECKED:
        if line.requeues is Requeues.NONE and not (log.files.on_start.rechecks_queues and line.has_timers):
            if count := log.messages(log.files.min_offset, stop) if messages is None else messages:
                yield cause("never queued", messages=count)
            return
        first = log.files.min_offset
    if count := log.messages(log.files.min_offset, first) if messages is None else messages:
        yield cause("not queued", offset=first, messages=count)
    elif stop > first:
        yield cause("queued again")
