"""The files of a tier: its records and the queues that name them, queue by queue, as a store of one queue; and what of them is missing.

A tier deletes its oldest files of records and of queues each for itself: only what both have is served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from native_reader.account.account import merged, without
from native_reader.account.runs import SCHEMA, Named, Place, Runs
from native_reader.account.states import Mark
from native_reader.arrow import batch_of
from native_reader.broker.tier import TieredQueue, sizes_of
from native_reader.broker.tier_files import TierFile, TierQueue, queues_of_tier
from native_reader.columns.projection import Projection
from native_reader.errors import StoreDamaged
from native_reader.layout.record import Mask, Numbers
from native_reader.plan.beside import Sides
from native_reader.plan.ends import find_ends
from native_reader.plan.plan import StoreRead, whole_reads
from native_reader.plan.planning import Planning
from native_reader.sentences import Said, say, verbatim
from native_reader.sides.lag import QueueEnds
from native_reader.sides.queues import Queue, QueueFile, QueueReader
from native_reader.storage.store import Segment, StoreFiles
from native_reader.verify.findings import Findings
from native_reader.verify.log import LogPart, check_segment
from native_reader.verify.sides import QueueNumbering

DAMAGE, ENTRY, MISSING = "tier-damage", "tier-entry", "tier-missing"
_ENTRY = 20
_AT_ONCE = 1 << 16
_OF_RECORDS = ("log-damage", "log-checksum", "log-encrypted", "record-properties", "record-compression")
_OF_ENTRIES = ("entry-without-record", "entry-of-other-queue", "entry-number", "entry-size", "entry-tag", "entry-twice", "log-foreign")
_CODES = {**dict.fromkeys(_OF_RECORDS, DAMAGE), **dict.fromkeys(_OF_ENTRIES, ENTRY), "log-unreadable": "log-unreadable"}
"""What a finding about a log is in a tier. Records without an entry are counted in the end: a tier has some in good order."""
_MARKS = {
    Mark.QUEUED: Mark.TIERED,
    **dict.fromkeys((Mark.NOT_DISPATCHED, Mark.NO_ENTRY, Mark.EARLIER_TOPIC), Mark.TIER_NO_ENTRY),
    **dict.fromkeys((Mark.OTHER_QUEUE, Mark.OTHER_NUMBER, Mark.OTHER_SIZE, Mark.OTHER_TAG), Mark.TIER_DOUBT),
    **dict.fromkeys((Mark.PROPERTIES, Mark.PACKED, Mark.FOREIGN), Mark.TIER_DOUBT),
    **dict.fromkeys((Mark.COMPRESSION, Mark.CHECKSUM, Mark.ENTRY), Mark.TIER_DAMAGE),
    **dict.fromkeys((Mark.BYTES, Mark.LAST_BYTES), Mark.TIER_BYTES),
    **dict.fromkeys((Mark.UNREAD_RECORD, Mark.QUEUE_NOT_READ), Mark.UNREAD_RECORD),
    Mark.UNREAD: Mark.UNREAD,
}
_NAMED = (Mark.TIERED, Mark.ONLY_TIERED, Mark.TIER_HOLE, Mark.TIER_BEYOND, Mark.TIER_DOUBT)
_NONE, _FURTHEST = -1, 2**63 - 1
Row = dict[str, Any]


class TierPart(NamedTuple):
    """One queue of a tier. `read`: of its records. `missing`: what the metadata counts and no file has: of records or of the queue, where
    it begins and stops, in bytes. `is_looked_for`: a broker looks in the tier for what its log and its queues do not have. `end`: of the
    queue in the store; consumers of brokers 5.5.0 do not ask for more.
    """

    uri: str
    queue: Queue
    read: StoreRead | Said | None
    missing: tuple[tuple[str, int, int], ...]
    is_live: bool
    is_looked_for: bool
    end: int
    tolerance: int

    @property
    def work(self) -> int:
        """The approximate number of bytes to read."""
        return sum(segment.size for segment in self.segments) + sum(file.units * _ENTRY for file in self.queue.files)

    @property
    def name(self) -> Place:
        """Its topic and number."""
        return self.queue.topic, self.queue.queue_id

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The files of its records."""
        return self.read.store.segments if isinstance(self.read, StoreRead) else ()

    @property
    def hole(self) -> int:
        """The queue offset of the first entry that is missing between others. Consumers of brokers 5.5.0 get nothing that follows it."""
        holes = _holes("CONSUME_QUEUE", ((file.base, file.base + file.units) for file in self.queue.files))
        return min((start for _, start, _ in holes), default=_FURTHEST)

    def tiered(self) -> TieredQueue | None:
        """The queue offsets that its files name."""
        files = self.queue.files
        if not files:
            return None
        return TieredQueue(files[0].base, max(file.base + file.units for file in files), sum(file.units for file in files))


def parts_of_tier(store: StoreFiles, sides: Sides, planning: Planning) -> list[TierPart]:
    """A part for each queue in the tier of a store, and for each that only its metadata has.

    Raises:
        OptionError: There is no tier on a disk, or there are several.
    """
    expected = sizes_of(store.config)
    found = {queue.name: queue for queue in queues_of_tier(store, planning.tiered_store_file_path)}
    root = next((queue.uri.rsplit("/", 2)[0] for queue in found.values()), store.uri)
    is_looked_for, ends = sides.begin > 0 or not store.segments, QueueEnds(store.queues, store.first_record)

    def part(name: Place, queue: TierQueue | None) -> TierPart:
        entries, logs = ([], []) if queue is None else (queue.entries, queue.logs)
        missing = (*_missing("CONSUME_QUEUE", expected[0].get(name, {}), entries), *_missing("COMMIT_LOG", expected[1].get(name, {}), logs))
        files = tuple(QueueFile(file.uri, file.base // _ENTRY, file.size // _ENTRY) for file in entries if file.base % _ENTRY == 0)
        read = None if queue is None else _read_of(queue, planning)
        uri = root if queue is None else queue.uri
        end = ends.next_offset(*name) or 0
        return TierPart(uri, Queue(*name, batch=False, files=files), read, missing, sides.is_live, is_looked_for, end, sides.tolerance)

    parts = [part(name, found.get(name)) for name in {**found, **expected[0], **expected[1]}]
    return [each for each in parts if each.queue.files or each.read is not None or each.missing]


def _read_of(queue: TierQueue, planning: Planning) -> StoreRead | Said | None:
    """A read of all its records; or why they cannot be one log."""
    try:
        records = queue.as_store()
    except StoreDamaged as error:
        return verbatim(str(error))
    if not records.segments:
        return None
    (read,) = whole_reads((records,), find_ends((records,), replace(planning, lenient=True, fail_on_data_loss=False)))
    return read


def _missing(kind: str, expected: Mapping[int, int], files: list[TierFile]) -> Iterator[tuple[str, int, int]]:
    """Files that the metadata counts, and their ends, if they are not there. What was before the first file has expired since."""
    sizes = {file.base: file.size for file in files}
    for base, size in sorted(expected.items()):
        had = sizes.get(base, 0)
        if had < size and (not files or base + size > files[0].base):
            yield kind, base + had, base + size


def check_tier(part: TierPart, projection: Projection, findings: Findings, runs: Runs) -> None:
    """Add what is wrong in a queue of a tier. `runs`: gets the states of its messages."""
    own, found = Runs(), _OfTier(findings, part)
    if isinstance(part.read, StoreRead):
        _records(part, part.read, projection, found, own)
    marks = own.batch()
    if marks is not None:
        rows = _renamed(part, marks)
        runs.add(batch_of(rows, SCHEMA))
        _without_entry(part, rows, findings)
    try:
        if isinstance(part.read, Said):
            findings.add(DAMAGE, part.uri, part.read, topic=part.queue.topic, queue_id=part.queue.queue_id)
            runs.one(Mark.UNREAD, file=part.uri)
        else:
            _entries(part, part.read, findings, runs)
    except OSError as error:
        findings.add("queue-unreadable", part.uri, verbatim(str(error)), topic=part.queue.topic, queue_id=part.queue.queue_id)
        runs.one(Mark.UNREAD, file=part.uri)
    if not part.is_live:
        _files(part, findings, runs)


def _records(part: TierPart, read: StoreRead, projection: Projection, findings: Findings, runs: Runs) -> None:
    """Each record, and the entries that name something in a file of records."""
    begin = read.store.segments[0].base
    sides = Sides(part.uri, (part.uri,), None, None, begin, read.end, False, False, False, None, part.tolerance)
    lenient = replace(projection, ignore_missing_files=projection.ignore_missing_files or part.is_live)
    for segment in read.store.segments:
        check_segment(LogPart(sides, _OneQueue(sides, part.queue), read.whole(segment), False, False, None), lenient, findings, runs)


class _OneQueue(QueueNumbering):
    """A queue of a tier, as the only one of a store."""

    def __init__(self, sides: Sides, queue: Queue) -> None:
        super().__init__(sides)
        self._all = [queue] if queue.files else []

    def is_deleted(self, topic: str) -> bool:
        """A tier has no queue of a deleted topic."""
        return False


class _OfTier(Findings):
    """Findings about a log, as those about a tier."""

    def __init__(self, findings: Findings, part: TierPart) -> None:
        super().__init__()
        self._findings, self._queue = findings, part.queue

    def add(
        self, code: str, file: str, found: Said, offset: int | None = None, *, topic: str | None = None, queue_id: int | None = None,
        count: int = 1, last: int | None = None,
    ) -> None:  # fmt: skip
        """See `Findings.add`."""
        if code in _CODES:
            queue = self._queue
            self._findings.add(_CODES[code], file, found, offset, topic=queue.topic, queue_id=queue.queue_id, count=count, last=last)

    def add_rows(
        self, code: str, file: str, offsets: Numbers, describe: Callable[[int], Said],
        *, topic: str | None = None, queue_id: int | None = None, contradicts: str | None = None,
    ) -> None:  # fmt: skip
        """See `Findings.add_rows`."""
        if len(offsets):
            self.add(code, file, describe(0), int(offsets[0]), count=len(offsets), last=int(offsets[-1]))


def _renamed(part: TierPart, batch: pa.RecordBatch) -> list[Row]:
    """The runs of its records as those of a tier. Their places are none of the store's log."""
    rows = [row for each in batch.to_pylist() if (of_tier := _of_tier(part, each)) is not None for row in _in_reach(of_tier, part)]
    named = merged((row["first"], row["stop"]) for row in rows if row["mark"] in _NAMED and row["first"] >= 0)
    tiered = part.tiered()
    begin = 0 if tiered is None else tiered.first
    return [each for row in rows for each in ([row] if row["mark"] != Mark.TIER_NO_ENTRY else _unnamed(row, named, begin))]


def _of_tier(part: TierPart, row: Row) -> Row | None:
    mark, place = _MARKS.get(Mark(row["mark"])), (row["topic"], row["queue_id"])
    if mark is None or place not in ((None, None), part.name):
        return None
    if mark == Mark.TIERED and not part.is_looked_for:
        mark = Mark.ONLY_TIERED
    names = {} if mark == Mark.UNREAD else {"topic": part.queue.topic, "queue_id": part.queue.queue_id}
    return {**row, **names, "mark": int(mark), "first_offset": _NONE, "last_offset": _NONE}


def _in_reach(row: Row, part: TierPart) -> Iterator[Row]:
    """A run of messages, or two, if consumers come only to some of them."""
    reach, mark = min((part.hole, Mark.TIER_HOLE), (part.end, Mark.TIER_BEYOND))
    if row["mark"] != Mark.TIERED or row["stop"] <= reach:
        yield row
    elif row["first"] >= reach:
        yield row | {"mark": int(mark)}
    else:
        yield row | {"stop": reach, "messages": reach - row["first"], "bytes": 0}
        yield row | {"mark": int(mark), "first": reach, "messages": row["stop"] - reach, "bytes": 0}


def _unnamed(row: Row, named: list[tuple[int, int]], begin: int) -> Iterator[Row]:
    """Of records without an entry, those that are no copies. `begin`: of the queue; what was before it has expired."""
    whole = row["first"], row["stop"]
    for first, stop in without(whole, named) if whole[0] >= 0 else [whole]:
        for mark, low, high in ((Mark.TIER_EXPIRED, first, min(stop, begin)), (Mark.TIER_NO_ENTRY, max(first, begin), stop)):
            if (low, high) == whole:
                yield row | {"mark": int(mark)}
            elif low < high:
                yield row | {"mark": int(mark), "first": low, "stop": high, "messages": high - low, "bytes": 0}


def _without_entry(part: TierPart, rows: list[Row], findings: Findings) -> None:
    """Records that the queue of the tier does not name, though it names later ones. The last ones, a killed broker left."""
    tiered = part.tiered()
    stop = _FURTHEST if tiered is None else tiered.stop
    lacking = [row for row in rows if row["mark"] == Mark.TIER_NO_ENTRY and row["first"] < stop]
    if lacking and not part.is_live:
        found = say("tier without entry", first=lacking[0]["first"])
        count = sum(row["messages"] for row in lacking)
        findings.add(ENTRY, part.uri, found, topic=part.queue.topic, queue_id=part.queue.queue_id, count=count)


def _entries(part: TierPart, read: StoreRead | None, findings: Findings, runs: Runs) -> None:
    """Entries that name something outside the files of records, and entries that are not written."""
    place, end = part.name, 0 if read is None else read.end
    bases = np.array([segment.base for segment in part.segments], np.int64)
    ends = np.array([min(segment.end, end) for segment in part.segments], np.int64)

    def claim(numbers: Numbers, sizes: Numbers, found: Callable[[int], Said]) -> None:
        if len(numbers):
            nothing = np.full(len(numbers), _NONE, np.int64)
            runs.entries(Mark.TIER_DAMAGE, place, Named(numbers, np.ones(len(numbers), np.int64), nothing, sizes))
            what = say("entry of queue", number=int(numbers[0]), queue=place[1], topic=place[0], why=found(0))
            findings.add(ENTRY, f"{part.uri}/CONSUME_QUEUE", what, topic=place[0], queue_id=place[1], count=len(numbers))

    begins = int(bases[0]) if len(bases) else 0
    with QueueReader(part.queue, excused=()) as reader:
        for first in range(0, reader.units, _AT_ONCE):
            stop = min(first + _AT_ONCE, reader.units)
            entries = reader.read(first, stop)
            which = np.searchsorted(bases, entries.offsets, "right") - 1
            inside: Mask = (which >= 0) & (entries.offsets < ends[which]) if len(ends) else np.zeros(len(entries), np.bool_)
            outside = np.flatnonzero(~inside & (entries.offsets >= begins))
            if not part.is_live:
                claim(entries.numbers[outside], entries.sizes[outside].astype(np.int64), lambda _: Said("no record there"))
            every = np.array([reader.number_at(each) for each in range(first, stop)], np.int64)
            empty = every[~np.isin(every, entries.numbers)]
            claim(empty, np.zeros(len(empty), np.int64), lambda _: Said("tier entry empty"))


def _files(part: TierPart, findings: Findings, runs: Runs) -> None:
    """Files that are missing: those between others, and those that the metadata counts."""
    place = part.name
    holes = list(_holes("CONSUME_QUEUE", ((file.base * _ENTRY, (file.base + file.units) * _ENTRY) for file in part.queue.files)))
    holes += _holes("COMMIT_LOG", ((segment.base, segment.end) for segment in part.segments))
    counted = [each for each in part.missing if not any(kind == each[0] and start <= each[1] < stop for kind, start, stop in holes)]
    for kind, start, stop in (*holes, *counted):
        found = say("tier file missing", files=kind, start=start, stop=stop)
        findings.add(MISSING, f"{part.uri}/{kind}", found, start if kind == "COMMIT_LOG" else None, topic=place[0], queue_id=place[1])
        if kind == "CONSUME_QUEUE":
            numbers = start // _ENTRY, stop // _ENTRY
            runs.one(Mark.TIER_FILE, place, numbers=numbers, messages=numbers[1] - numbers[0], file=f"{part.uri}/{kind}")
        elif not part.queue.files:
            runs.one(Mark.TIER_BYTES, place, size=stop - start, file=f"{part.uri}/{kind}")


def _holes(kind: str, ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[str, int, int]]:
    reached: int | None = None
    for start, stop in ranges:
        if reached is not None and start > reached:
            yield kind, reached, start
        reached = stop if reached is None else max(reached, stop)
