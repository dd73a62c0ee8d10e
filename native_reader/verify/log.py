"""One segment: its records, and the entries of queues and index that name them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from native_reader.account.runs import Runs
from native_reader.account.states import Mark
from native_reader.broker.progress import checkpoint_of
from native_reader.columns.projection import Projection
from native_reader.columns.rows import anomaly_of, wrong
from native_reader.columns.strings import PaddedBuffer
from native_reader.errors import DataLoss, StoreError, UnreadableError
from native_reader.layout.record import BLANK_HEAD, LONGEST_HEAD, MAGIC_V1, MAGIC_V2, SMALLEST_RECORD, Numbers, Records
from native_reader.log.recovery import recovery_stops
from native_reader.plan.beside import Sides
from native_reader.plan.split import Split
from native_reader.records.damages import OTHER_KEYS, UNREADABLE, Damage, Damages
from native_reader.records.sync import head_at
from native_reader.records.walk import CHUNK, ReadWalk
from native_reader.sentences import Said, say, verbatim
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import PLAIN, REFUSED, Segment, is_live
from native_reader.storage.strays import rename_to
from native_reader.storage.window import ReadRate, Window
from native_reader.tuning import TUNING
from native_reader.verify.entries import EntryCheck
from native_reader.verify.findings import Findings
from native_reader.verify.keys import KeyCheck
from native_reader.verify.marks import NOT_PACKED, ODD_PROPERTIES, PACKED
from native_reader.verify.range_states import RangeStates
from native_reader.verify.records import RecordFacts, RecordReader
from native_reader.verify.sides import QueueNumbering

_DOUBTS = {
    NOT_PACKED: ("record-compression", "is not packed", Mark.COMPRESSION),
    PACKED: ("record-compression", "is packed", Mark.PACKED),
    ODD_PROPERTIES: ("record-properties", "odd properties", Mark.PROPERTIES),
}
_NEVER = -(2**62)
_PAGE, _PAGES = 4096, 16
_RANDOM = 400
"""Of the bytes of a page, the sum of the squared distances from an equal number of each, over that number: 255 on average if they are
random, with a deviation of 23. Text, zeros and records have thousands."""
_MOST_HELD = 1 << 20
"""A range ends after this many records and keys, which take up to 200 MB, or after a quarter if there are few queues to look into."""
_HELD_FOR_A_QUEUE = 512


class LogPart(NamedTuple):
    """A segment. `recovered`: a starting broker would check it; `last`: the log ends in it; `after`: the segment after it."""

    sides: Sides
    queues: QueueNumbering
    split: Split
    recovered: bool
    last: bool
    after: Segment | None
    is_misnamed: bool = False
    """Whether the file has another name than its records say."""

    @property
    def work(self) -> int:
        """The approximate number of bytes to read."""
        return self.split.work


def check_segment(part: LogPart, projection: Projection, findings: Findings, runs: Runs) -> None:
    """Add what is wrong in a segment. `runs`: gets the states of its messages."""
    if part.split.end:
        low, high = part.split.segment.base, part.split.segment.base + part.split.end
        doubts = _Doubts(findings)
        _SegmentCheck(part, projection, doubts, KeyCheck(part.sides, doubts, low, high), runs).check()


class _Doubts(Findings):
    """Findings, and the offsets of records that an index entry contradicts."""

    def __init__(self, findings: Findings) -> None:
        super().__init__()
        self._findings, self.offsets = findings, list[Numbers]()

    def add(
        self, code: str, file: str, found: Said, offset: int | None = None, *, topic: str | None = None, queue_id: int | None = None,
        count: int = 1, last: int | None = None,
    ) -> None:  # fmt: skip
        """See `Findings.add`."""
        self._findings.add(code, file, found, offset, topic=topic, queue_id=queue_id, count=count, last=last)

    def add_rows(
        self, code: str, file: str, offsets: Numbers, describe: Callable[[int], Said],
        *, topic: str | None = None, queue_id: int | None = None, contradicts: str | None = None,
    ) -> None:  # fmt: skip
        """See `Findings.add_rows`."""
        if contradicts == OTHER_KEYS and len(offsets):
            self.offsets.append(offsets.astype(np.int64))
        self._findings.add_rows(code, file, offsets, describe, topic=topic, queue_id=queue_id)

    def taken(self) -> Numbers:
        """Those since the last call."""
        found, self.offsets = np.concatenate([np.empty(0, np.int64), *self.offsets]), []
        return found


class _SegmentCheck:
    def __init__(self, part: LogPart, projection: Projection, findings: _Doubts, keys: KeyCheck, runs: Runs) -> None:
        self._keys, self._runs = keys, runs
        self._part, self._projection, self._findings = part, projection, findings
        self._segment, self._frame = part.split.segment, part.split.segment.frame
        # A running broker makes new files, so each segment lists its queues anew.
        self._queues = QueueNumbering(part.sides) if part.sides.is_live else part.queues
        self._reader = RecordReader(self._queues)
        self._states = RangeStates(runs, self._queues)
        self._entries = EntryCheck(part.sides, self._queues, findings, self._reader.places, self._states)
        self._doubts: list[tuple[Mark, Numbers]] = []
        """Records of this range that contradict themselves."""
        self._held = 0
        """How many records, keys and light queues were found since the last comparison."""
        self._damage: list[tuple[int, int]] = []
        self._all_damage: list[tuple[int, int]] = []
        self._checked = self._segment.base
        queues = len(self._queues.all)
        self._at_once = min(TUNING.verified_at_once, max(TUNING.verified_at_least, queues * TUNING.verified_for_a_queue))
        self._most_held = min(_MOST_HELD, max(_MOST_HELD // 4, queues * _HELD_FOR_A_QUEUE))
        self._first_time: int | None = None
        self._newest = self._last_time = _NEVER
        self._first_damage: int | None = None
        self._is_encrypted = False

    def check(self) -> None:
        split, projection, segment = self._part.split, self._projection, self._segment
        pace = None if projection.max_read_rate is None else ReadRate(projection.max_read_rate)
        room, live = min(CHUNK, segment.size), is_live(split.store)
        try:
            with Window(segment, room, pace=pace, leave_no_trace=live, past_unreadable=True) as window:
                window.will_read(0, split.end)
                limit = projection.max_record_bytes
                walk = ReadWalk(window, 0, segment.size, split.end, max_record_bytes=limit, skip_damage=True, hands_over=False)
                told = 0
                for records, damages in walk:
                    if projection.advanced is not None:
                        projection.advanced(window.bytes_read - told)
                        told = window.bytes_read
                    self._runs.damage.append(damages)
                    for damage in damages:
                        self._add_damage(damage, window)
                    if len(records):
                        self._take(window, records)
                    reached = segment.base + min(walk.reached, split.end)
                    # A file that may be encrypted is one range, up to its first record: what looks random there can be damage.
                    has_begun = self._held or self._checked > segment.base
                    if has_begun and (reached - self._checked >= self._at_once or self._held >= self._most_held):
                        self._compare(reached)
                self._compare(segment.base + split.end)
                self._unnamed(window)
                self._recovery(window)
            if self._part.last:
                self._checkpoint()
            elif self._part.after is not None:
                self._border(self._part.after)
        except DataLoss as error:  # deleted, replaced or cut since the plan was made: no fault of the store
            if not (error.is_file_gone and (live or projection.ignore_missing_files)):  # a running broker deletes its oldest segments
                raise
        except StoreError as error:
            if isinstance(error, UnreadableError) and not error.is_of_disk and error.errno not in REFUSED:
                raise  # a lost network, for example: no fault of the store, and nothing else can be read
            self._findings.add("log-unreadable", segment.uri, verbatim(str(error)), segment.base)
            self._runs.one(Mark.UNREAD, size=segment.size, offsets=(segment.base, segment.end - 1), file=segment.uri)
            self._runs.damage.append(Damages.of([Damage(segment.uri, segment.base, segment.end, UNREADABLE)]))

    def _add_damage(self, damage: Damage, window: Window) -> None:
        unread_from = self._segment.base + window.not_read_from
        unopened = window.unopened if damage.end > unread_from else None
        start, end, uri = damage.start, damage.end, self._segment.uri
        code = "log-unreadable" if damage.reason == UNREADABLE else "log-damage"
        self._findings.add(code, uri, _described(damage, unopened), start, last=start)
        if unopened is not None:
            self._states.unread_from = unread_from
        self._damage.append((start, end))
        self._all_damage.append((start, end))
        self._first_damage = start if self._first_damage is None else min(start, self._first_damage)

    def _take(self, window: Window, records: Records) -> None:
        """Check records by themselves, and keep what the comparison needs."""
        source = PaddedBuffer(window.u8, window.arrow)
        for row in np.flatnonzero(wrong(source, records)).tolist():
            offset, anomaly = int(records.heads["physical_offset"][row]), anomaly_of(source, records, row)
            self._findings.add("log-checksum", self._segment.uri, Said(anomaly), offset)
            self._runs.damage.append(Damages.of([Damage(self._segment.uri, offset, offset + int(records.sizes[row]), anomaly)]))
            self._first_damage = offset if self._first_damage is None else min(offset, self._first_damage)
            self._doubts.append((Mark.CHECKSUM, np.array([offset], np.int64)))
        self._held = self._reader.add(window.u8, records)

    def _times(self, facts: RecordFacts) -> None:
        times, offsets = facts.time, facts.offset
        if times[0] >= self._newest and (times[1:] >= times[:-1]).all():  # as in almost all logs
            self._first_time = int(times[0]) if self._first_time is None else self._first_time
            self._newest = self._last_time = int(times[-1])
            return
        before = np.maximum.accumulate(np.concatenate([[self._newest], times]))
        back = np.flatnonzero(times < before[:-1] - self._part.sides.tolerance)
        add, uri = self._findings.add_rows, self._segment.uri
        add("time-goes-back", uri, offsets[back], lambda each: _earlier(int(before[back[each]]) - int(times[back[each]])))
        first = self._first_time = int(times[0]) if self._first_time is None else self._first_time
        earlier = np.flatnonzero(times < first) if self._segment.framing == PLAIN else np.empty(0, np.intp)
        add("time-of-first", uri, offsets[earlier], lambda each: _earlier(first - int(times[earlier[each]])))
        self._newest, self._last_time = int(before[-1]), int(times[-1])

    def _compare(self, reached: int) -> None:
        """Compare the records up to an offset with the entries that name them."""
        low, high, frame = self._checked, reached, self._frame
        facts, keys, light = self._reader.taken()
        self._encrypted(len(facts), reached)
        self._held, self._checked = 0, reached
        if len(facts):
            self._times(facts)
        damage = np.array(self._damage, np.int64).reshape(-1, 2) + frame
        self._states.begin(facts)
        self._themselves(facts)
        if self._part.sides.directories:
            self._entries.check(facts, light, low + frame, high + frame, damage)
        if self._keys.is_used:
            self._keys.check(facts, keys, low + frame, high + frame, damage)
        self._account(facts)
        self._damage = [each for each in self._damage if each[1] > reached]
        self._reader.forget()

    def _encrypted(self, records: int, reached: int) -> None:
        """Whether the file begins without a record, and looks random. What was written there may still be had: it counts as not read."""
        base, uri = self._segment.base, self._segment.uri
        if self._checked == base and not records and self._damage and _looks_random(uri, reached - base):
            self._is_encrypted, self._states.unread_from = True, base
            self._findings.add("log-encrypted", uri, say("no record in random bytes", bytes=reached - base), base)

    def _themselves(self, facts: RecordFacts) -> None:
        """Records that contradict themselves: most ranges have none."""
        if not int(np.bitwise_or.reduce(facts.doubts)):
            return
        for doubt, (code, kind, mark) in _DOUBTS.items():
            if len(rows := np.flatnonzero(facts.doubts & doubt)):
                first, last = int(facts.offset[rows[0]]), int(facts.offset[rows[-1]])
                self._findings.add(code, self._segment.uri, Said(kind), first, count=len(rows), last=last)
                self._states.mark(rows, mark)

    def _account(self, facts: RecordFacts) -> None:
        """Add the records of a compared range to the account."""
        states = self._states
        if not self._part.sides.directories:
            states.mark(np.arange(len(facts)), Mark.NO_QUEUE)
        contradicted = self._findings.taken()
        if not self._part.sides.discarded:  # index entries of discarded records can name the offset of a later one
            states.mark_at(facts, contradicted, Mark.OTHER_KEYS)
        for mark, offsets in self._doubts:
            states.mark_at(facts, offsets + self._frame, mark)
        self._doubts = []
        states.end(facts, [(topic, queue_id) for topic, queue_id, _ in self._reader.places])

    def _unnamed(self, window: Window) -> None:
        """Bytes without a record that no entry names, and a file of another broker or under a wrong name."""
        if self._states.is_foreign:
            self._foreign()
        if self._part.is_misnamed:
            self._runs.mark_all(Mark.FILE_NAME)
            right = f"{self._segment.base:020}"
            found = say("misnamed", name=self._segment.name, right=right, command=rename_to(self._segment.uri, right))
            self._findings.add("log-file-name", self._segment.uri, found, self._segment.base)
        damage = np.array(self._all_damage, np.int64).reshape(-1, 2)
        unnamed = self._states.unnamed(damage + self._frame)
        for row in np.flatnonzero(unnamed >= SMALLEST_RECORD).tolist():
            start, end = damage[row].tolist()
            mark = (
                Mark.UNREAD
                if self._is_encrypted or end > self._segment.base + window.not_read_from
                else Mark.LAST_BYTES
                if end == self._segment.end
                else Mark.BYTES
            )
            self._runs.one(mark, size=int(unnamed[row]), offsets=(start, end - 1), file=self._segment.uri)

    def _foreign(self) -> None:
        """Say that the file is of another broker. What was in its place is what entries name there, and a blank."""
        segment, claimed, met = self._segment, self._states.claimed, self._states.met
        self._findings.add("log-foreign", segment.uri, say("foreign", entries=claimed, met=met), segment.base)
        self._runs.mark_all(Mark.FOREIGN)
        if self._part.after is not None:
            with Window(self._part.after, LONGEST_HEAD, past_unreadable=True) as following:
                blank = int(head_at(following, 0)["size"]) + BLANK_HEAD
            if (size := segment.size - self._runs.bytes_of(Mark.ENTRY)) > blank:
                self._runs.one(Mark.BYTES, size=size, offsets=(segment.base, segment.end - 1), file=segment.uri)

    def _recovery(self, window: Window) -> None:
        """Where a starting broker would stop, if records follow."""
        part, base = self._part, self._segment.base
        # Who may not open a file does not know what a broker would find in it. DLedger looks for other things: see `store`.
        if (
            self._segment.framing != PLAIN
            or not part.recovered
            or self._first_damage is None
            or part.sides.is_live
            or window.unopened is not None
        ):
            return
        stop = recovery_stops(window, self._first_damage - base)
        if stop is None:
            return
        lost = part.sides.end - (base + stop)
        if lost > 0:
            found = say("start truncates", offset=base + stop, bytes=lost)
            self._findings.add("log-truncated-by-start", self._segment.uri, found, base + stop)

    def _border(self, after: Segment) -> None:
        """The first record of the next segment must not be earlier than those of this one."""
        with Window(after, LONGEST_HEAD, past_unreadable=True) as window:
            head = head_at(window, 0)
        back = self._newest - int(head["store_timestamp"])
        if head["magic"] in (MAGIC_V1, MAGIC_V2) and back > self._part.sides.tolerance:
            self._findings.add("time-goes-back", after.uri, _earlier(back), after.base + after.frame)

    def _checkpoint(self) -> None:
        """The checkpoint must not be later than the last record."""
        part, newest = self._part, max(checkpoint_of(self._part.sides.uri).times)
        if self._segment.framing == PLAIN and not part.sides.is_live and self._last_time != _NEVER and newest > self._last_time:
            self._runs.one(Mark.CHECKPOINT, file=f"{part.sides.uri}/checkpoint")
            found = say("checkpoint later", milliseconds=newest - self._last_time)
            self._findings.add("checkpoint-ahead", f"{part.sides.uri}/checkpoint", found, part.sides.end)


_IN_OTHER_WORDS = frozenset({"unreadable", "too few", "cut off", "unreadable part", "too large"})
"""Anomalies whose sentence does not have the word that the column `reason` has."""


def _described(damage: Damage, unopened: str | None) -> Said:
    """How much it is and what is there, with the reason; or why the file cannot be opened."""
    if unopened is not None:
        return verbatim(unopened)
    what = say("with reason", reason=damage.reason, what=damage.said) if damage.anomaly in _IN_OTHER_WORDS else damage.said
    return say("without a record", bytes=damage.end - damage.start, what=what)


def _earlier(milliseconds: int) -> Said:
    return say("stored earlier", milliseconds=milliseconds)


def _looks_random(uri: str, size: int) -> bool:
    """Whether the bytes of pages all over the first `size` bytes of a file are as frequent as if by chance: encrypted, or compressed."""
    if size < _PAGE:
        return False
    with suppress(OSError), storage_of(uri).open(uri) as file:  # what is not given is said of the segment
        for place in np.linspace(0, size - _PAGE, _PAGES).astype(np.int64).tolist():
            counts = np.bincount(file.read_array(place, "u1", _PAGE), minlength=256)
            if ((counts - _PAGE // 256) ** 2).sum() > _RANDOM * (_PAGE // 256):
                return False
        return True
    return False
