"""The queue entries of a range of the log, queue after queue, and their comparison with its records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from native_reader.account.states import Mark
from native_reader.layout.arrays import is_within, place_among
from native_reader.layout.inner import PLACEHOLDER_TAG
from native_reader.layout.queue_entry import is_hash, is_light, java_hash
from native_reader.layout.record import SMALLEST_RECORD, Mask, Numbers
from native_reader.plan.beside import Sides
from native_reader.records.damages import OTHER_TAG
from native_reader.sentences import Said, say
from native_reader.sides.entries import Entries
from native_reader.sides.queues import Queue, QueueReader
from native_reader.storage.rocksdb_queues import is_in_database
from native_reader.tuning import TUNING
from native_reader.verify.findings import Findings
from native_reader.verify.range_states import MergedClaims, RangeStates
from native_reader.verify.records import BY_HASH, BY_TIME, IN_BATCH, NO_ENTRY, NO_QUEUE, Pairs, RecordFacts
from native_reader.verify.sides import QueueNumbering

_SPREAD = 4
"""Entries are looked up by their numbers if those are at most this many times as many as the records."""
_LONGEST_DELAY = 400 * 86_400_000
_MOST_HELD = 1 << 21
"""Entries of queues that differ from their records, which are compared at once. Copied queues can have any number."""
_NARROW = 1 << 15
"""With fewer queues, their numbers have 16 bits."""
_MARKS = {
    "record-not-dispatched": Mark.NOT_DISPATCHED,
    "record-of-earlier-topic": Mark.EARLIER_TOPIC,
    "record-of-deleted-topic": Mark.DELETED_TOPIC,
    "queue-missing": Mark.NO_QUEUE,
    "record-without-entry": Mark.NO_ENTRY,
}
"""What a record without an entry is for the account, by the code of its finding."""


def _claims(found: Sequence[tuple[int, Entries]], records: Numbers) -> MergedClaims:
    queue = np.concatenate([np.empty(0, np.int32), *(np.full(len(each), number, np.int32) for number, each in found)])
    number, count, offset, size, code = (
        np.concatenate([np.empty(0, np.int64), *(getattr(each, name) for _, each in found)]) for name in COLUMNS
    )
    order = np.argsort(offset, kind="stable")
    offset = offset[order]
    return MergedClaims(queue[order], number[order], count[order], offset, size[order], code[order], place_among(offset, records))


def _grouped(rows: NDArray[np.intp], keys: NDArray[np.int32]) -> list[NDArray[np.intp]]:
    """These ascending rows in groups with equal keys."""
    if not len(rows):
        return []
    ordered = rows[np.argsort(keys[rows], kind="stable")]
    return np.split(ordered, np.flatnonzero(np.diff(keys[ordered])) + 1)


class _ByQueue:
    """The records of a range, queue by queue, to compare all entries of a queue at once."""

    def __init__(self, facts: RecordFacts, queues: int) -> None:
        # numpy sorts numbers of 16 bits ten times as fast as wider ones.
        order = self._order = np.argsort(facts.queue.astype(np.int16) if queues < _NARROW else facts.queue, kind="stable")
        bounds = np.searchsorted(facts.queue[order], np.arange(queues + 1)).tolist()
        self._own: list[tuple[int, int]] = list(pairwise(bounds))
        self._is_plain = facts.kind[order] == BY_HASH
        self._columns: tuple[NDArray[Any], ...] = facts.offset[order], facts.queue_offset[order], facts.size[order], facts.tag[order]

    def count(self, number: int) -> int:
        """How many records of a queue there are."""
        first, stop = self._own[number]
        return stop - first

    def agreeing(self, number: int, entries: Entries) -> NDArray[np.intp] | None:
        """The records of a queue, if exactly they have these entries, and nothing of an entry needs a closer look."""
        own, columns = slice(*self._own[number]), (entries.offsets, entries.numbers, entries.sizes, entries.codes)
        agree = self.count(number) == len(entries) and bool(self._is_plain[own].all())
        agree = agree and all(bool((one[own] == other).all()) for one, other in zip(self._columns, columns, strict=True))
        return self._order[own] if agree else None


class EntryCheck:
    """Compares records and entries, range by range, and adds findings."""

    def __init__(
        self,
        sides: Sides,
        queues: QueueNumbering,
        findings: Findings,
        places: Sequence[tuple[str, int, int]],
        states: RangeStates | None = None,
    ) -> None:
        self._sides, self._queues, self._findings, self._places = sides, queues, findings, places
        self._states = states
        self._of_batches: set[int] = set()

    @cached_property
    def _cursors(self) -> list[Cursor]:
        return [Cursor(queue, is_live=self._sides.is_live) for queue in self._queues.all]

    @cached_property
    def _is_in_database(self) -> Mask:
        return np.array([is_in_database(queue.files[0].uri) for queue in self._queues.all], np.bool_)

    @cached_property
    def _is_light(self) -> Mask:
        return np.array([is_light(queue.topic) for queue in self._queues.all], np.bool_)

    def check(self, facts: RecordFacts, light: Pairs, low: int, high: int, damage: Numbers) -> None:
        """Compare the records at offsets `[low, high)` with the entries of all queues. `damage`: ranges without records."""
        queues = self._queues.all
        by_queue, named = _ByQueue(facts, len(queues)), np.zeros(len(facts), np.bool_)
        differing: list[tuple[int, Entries]] = []
        held = 0
        for number, cursor in enumerate(self._cursors):
            if (entries := cursor.within(low, high, by_queue.count(number))) is None:
                continue
            if self._states is not None and not self._is_light[number]:
                self._states.claimed += len(entries)
            rows = None if queues[number].batch or self._is_light[number] else by_queue.agreeing(number, entries)
            if rows is not None:
                named[rows] = True
                continue
            differing.append((number, entries))
            held += len(entries)
            if held >= _MOST_HELD:
                named[self._compared(facts, _claims(differing, facts.offset), light, damage)] = True
                differing, held = [], 0
        named[self._compared(facts, _claims(differing, facts.offset), light, damage)] = True
        if self._states is not None:
            self._states.named(named)
        self._without_entry(facts, ~named & (facts.queue != NO_ENTRY))

    def _compared(self, facts: RecordFacts, claims: MergedClaims, light: Pairs, damage: Numbers) -> NDArray[np.intp]:
        """Compare all entries of some queues, one by one; returns the records that an entry of their queue names."""
        if len(claims):
            of_light = self._is_light[claims.queue]
            self._ordinary(facts, claims, ~of_light, damage)
            self._light(facts, claims, of_light, light)
        rows = claims.row[claims.row >= 0]
        named: NDArray[np.intp] = rows[facts.queue[rows] == claims.queue[claims.row >= 0]]
        return named

    # Entries and their records

    def _ordinary(self, facts: RecordFacts, claims: MergedClaims, which: Mask, damage: Numbers) -> None:
        """Check entries that must agree with their record in everything."""
        is_damaged = is_within(claims.offset, damage)
        nowhere = which & (claims.row < 0) & ~is_damaged  # the damage is a finding itself
        self._add("entry-without-record", claims, nowhere, lambda _: Said("no record there"))
        if self._states is not None:
            self._states.without_record(claims, which & (claims.row < 0), is_damaged)
        if not len(facts):
            return
        row = np.maximum(claims.row, 0)
        here = which & (claims.row >= 0)
        other = here & (facts.queue[row] != claims.queue)
        self._add("entry-of-other-queue", claims, other, lambda each: self._place(facts, row[each]))
        own = here & ~other
        if self._states is not None:
            self._states.of_other_queue(claims, other, row)
        twice = np.zeros(len(claims), np.bool_)
        if (rows := row[own]).size > 1:
            order = np.lexsort((claims.queue[own], rows))
            same = (np.diff(rows[order]) == 0) & (np.diff(claims.queue[own][order]) == 0)
            twice[np.flatnonzero(own)[order[1:][same]]] = True
        self._add("entry-twice", claims, twice, lambda _: Said("named twice"))
        size = facts.size[row]
        other_size = own & (claims.size != size)
        self._add("entry-size", claims, other_size, lambda each: say("other size", size=int(claims.size[each]), record=int(size[each])))
        self._doubt(Mark.OTHER_SIZE, row[other_size])
        self._numbers(facts, claims, row, own)
        self._codes(facts, claims, row, own)

    def _numbers(self, facts: RecordFacts, claims: MergedClaims, row: NDArray[np.intp], own: Mask) -> None:
        """Queue offsets, and the number of messages in a batch."""
        is_batch = np.array([queue.batch for queue in self._queues.all], np.bool_)[claims.queue]
        of_inner = own & (facts.kind[row] == IN_BATCH)
        # In RocksDB, the entry of a batch has the queue offset of its first message: its number is checked as any other.
        plain = of_inner & ~is_batch & ~self._is_in_database[claims.queue]
        for mine in _grouped(np.flatnonzero(plain), claims.queue):
            number, offset, count = int(claims.queue[mine[0]]), int(claims.offset[mine[0]]), len(mine)
            queue = self._queues.all[number]
            self._of_batches.add(number)
            found = say("batches in ordinary queue", queue=queue.queue_id, topic=queue.topic)
            uri = self._queues.uri(number)
            self._findings.add("queue-of-batches", uri, found, offset, topic=queue.topic, queue_id=queue.queue_id, count=count)
        counting = self._of_batches | {
            number for number in np.unique(claims.queue).tolist() if self._queues.all[number].topic in self._queues.of_batches
        }
        skipped = np.isin(claims.queue, list(counting)) & ~is_batch & ~self._is_in_database[claims.queue]
        wrong = own & ~skipped & (claims.number != facts.queue_offset[row])
        self._doubt(Mark.OTHER_NUMBER, row[wrong])
        if self._states is not None:
            self._states.numbered(
                row[own & (skipped | wrong)], claims.number[own & (skipped | wrong)], is_one=skipped[own & (skipped | wrong)]
            )
        self._add("entry-number", claims, wrong, lambda each: say("other number", number=int(facts.queue_offset[row[each]])))
        counts = facts.count[row]
        self._add(
            "entry-count", claims, own & is_batch & (counts >= 0) & (claims.count != counts),
            lambda each: say("other count", messages=int(claims.count[each]), record=int(counts[each])),
        )  # fmt: skip

    def _codes(self, facts: RecordFacts, claims: MergedClaims, row: NDArray[np.intp], own: Mask) -> None:
        kind, code = facts.kind[row], claims.code
        by_hash = own & is_hash(code) & (kind != BY_TIME) & (code != facts.tag[row]) & ~((kind == IN_BATCH) & (code == 0))
        # A repair does not write to databases: their entries have the tags of the lost messages.
        by_hash &= ~(self._is_in_database[claims.queue] & (facts.tag[row] == java_hash(PLACEHOLDER_TAG)))
        by_time = own & (kind == BY_TIME)
        wait = code - facts.time[row]
        self._doubt(Mark.OTHER_TAG, row[by_hash])
        self._add("entry-tag", claims, by_hash, lambda _: Said("other tag"), contradicts=OTHER_TAG)
        self._add("entry-tag", claims, by_time & ((wait < 0) | (wait > _LONGEST_DELAY)), lambda _: Said("impossible delivery"))

    def _doubt(self, mark: Mark, rows: NDArray[np.intp]) -> None:
        if self._states is not None:
            self._states.mark(rows, mark)

    def _place(self, facts: RecordFacts, row: int) -> Said:
        topic, queue_id, _ = self._places[int(facts.place[row])]
        return say("record of other queue", queue=queue_id, topic=topic)

    def _light(self, facts: RecordFacts, claims: MergedClaims, which: Mask, light: Pairs) -> None:
        """Entries of light queues: the record names the queue and the number."""
        if not which.any():
            return
        mine = np.flatnonzero(which)
        rows, queue = claims.row[mine], claims.queue[mine].astype(np.int64)
        wanted = light.row << 32 | (light.value & 0xFFFFFFFF)
        order = np.argsort(wanted, kind="stable")
        at = place_among(rows << 32 | queue, wanted[order])
        is_named = at >= 0
        others = np.zeros(len(claims), np.bool_)
        others[mine[~is_named]] = True
        self._add("entry-of-other-queue", claims, others, lambda _: Said("not of light queue"))
        if not len(order):
            return
        places = light.other[order][at]
        wrong, sizes = np.zeros(len(claims), np.bool_), np.zeros(len(claims), np.bool_)
        wrong[mine[is_named & (places >= 0) & (places != claims.number[mine])]] = True
        self._add("entry-number", claims, wrong, lambda _: Said("other light number"))
        sizes[mine[is_named & (facts.size[np.maximum(rows, 0)] != claims.size[mine])]] = True
        self._add("entry-size", claims, sizes, lambda each: say("other light size", size=int(claims.size[each])))

    def _add(self, code: str, claims: MergedClaims, which: Mask, why: Callable[[int], Said], *, contradicts: str | None = None) -> None:
        """Add the chosen entries, one finding per queue."""
        for mine in _grouped(np.flatnonzero(which), claims.queue):
            self._add_of_queue(code, claims, mine, why(int(mine[0])), contradicts)

    def _add_of_queue(self, code: str, claims: MergedClaims, mine: NDArray[np.intp], why: Said, contradicts: str | None) -> None:
        queue, uri = self._queues.all[int(claims.queue[mine[0]])], self._queues.uri(int(claims.queue[mine[0]]))
        found = say("entry of queue", number=int(claims.number[mine[0]]), queue=queue.queue_id, topic=queue.topic, why=why)
        offsets = claims.offset[mine]
        self._findings.add_rows(code, uri, offsets, lambda _: found, topic=queue.topic, queue_id=queue.queue_id, contradicts=contradicts)

    # Records without an entry

    def _without_entry(self, facts: RecordFacts, missing: Mask) -> None:
        """Records that no entry names, and why."""
        if not missing.any() or not self._sides.directories:
            return
        groups = _grouped(np.flatnonzero(missing), facts.place)
        # Last those without a queue: what the other queues of their topic show decides how they are judged.
        groups.sort(key=lambda rows: self._places[int(facts.place[rows[0]])][2] == NO_QUEUE)
        created: dict[str, int] = {}
        for mine in groups:
            topic, queue_id, number = self._places[int(facts.place[mine[0]])]
            if number != NO_QUEUE and self._cursors[number].failed:  # the queue has a finding itself
                self._doubt(Mark.QUEUE_NOT_READ, mine)
                continue
            for code, rows in self._reasons(facts, mine, topic, number, created):
                if not len(rows):
                    continue
                self._doubt(_MARKS[code], rows)
                uri = self._uri_of(number)
                first, last = int(facts.offset[rows[0]]), int(facts.offset[rows[-1]])
                number_of_first = int(facts.queue_offset[rows[0]])
                found = say("record of queue", offset=first, number=number_of_first, queue=queue_id, topic=topic)
                self._findings.add(code, uri, found, first, topic=topic, queue_id=queue_id, count=len(rows), last=last)

    def _reasons(
        self, facts: RecordFacts, rows: NDArray[np.intp], topic: str, number: int, created: dict[str, int]
    ) -> Iterator[tuple[str, NDArray[np.intp]]]:
        """Codes and records. A queue that was deleted or is behind is normal; what is left is an error.

        `created`: the offset of the first entry of topics that were deleted and created again.
        """
        if not self._sides.stopped:
            is_behind = facts.offset[rows] > self._queues.dispatched()
            yield "record-not-dispatched", rows[is_behind]
            rows = rows[~is_behind]
        if number == NO_QUEUE:
            is_earlier = facts.offset[rows] < created.get(topic, -1)
            yield "record-of-earlier-topic", rows[is_earlier]
            yield "record-of-deleted-topic" if self._queues.is_deleted(topic) else "queue-missing", rows[~is_earlier]
            return
        rows = self._found_by_number(facts, rows, number)
        if is_in_database(self._queues.uri(number)):
            # 5.5.0 leaves out the first record of a log whose queues it makes anew in RocksDB.
            rows = rows[facts.offset[rows] != 0]
        first = self._queues.first(number)
        if first is not None:
            is_earlier = (facts.offset[rows] < first[0]) & (facts.queue_offset[rows] >= first[1])
            if is_earlier.any():
                created[topic] = min(first[0], created.get(topic, first[0]))
            yield "record-of-earlier-topic", rows[is_earlier]
            rows = rows[~is_earlier]
        yield "record-without-entry", rows

    def _found_by_number(self, facts: RecordFacts, rows: NDArray[np.intp], number: int) -> NDArray[np.intp]:
        """The records without an entry at their own number either. A queue with holes is not sorted, so a search can miss entries."""
        queue = self._queues.all[number]
        numbers = facts.queue_offset[rows]
        if queue.batch or not len(rows):
            return rows
        low, high, begin = int(numbers.min()), int(numbers.max()) + 1, 0
        if high - low > _SPREAD * len(rows) + 1024:
            return rows
        offsets = np.full(high - low, -1, np.int64)
        with QueueReader(queue) as reader:
            for file in queue.files:
                first, stop = max(low, file.base), min(high, file.base + file.units)
                if first < stop:
                    entries = reader.read(begin + first - file.base, begin + stop - file.base)
                    offsets[entries.numbers - low] = entries.offsets
                begin += file.units
        missing: NDArray[np.intp] = rows[offsets[numbers - low] != facts.offset[rows]]
        return missing

    def _uri_of(self, number: int) -> str:
        return self._queues.uri(number) if number >= 0 else self._sides.directories[0]


_AT_LEAST, _AT_MOST = 1 << 10, 1 << 20
"""How many entries are read at once. `QueueReader.near` can be almost this many entries before the first one of a range."""
_UNKNOWN, _NEVER = -1, 2**63 - 1
COLUMNS = ("numbers", "counts", "offsets", "sizes", "codes")


class Cursor:
    """Reads on where the range before ended, as long as the entries are in order; otherwise it searches each range anew."""

    __slots__ = ("_at_end", "_high", "_next", "_place", "_queue", "failed")

    def __init__(self, queue: Queue, *, is_live: bool) -> None:
        self._queue, self.failed = queue, False
        """`failed`: whether a file of the queue could not be read."""
        self._at_end = _UNKNOWN if is_live else _NEVER
        """Whether a broker may still append entries."""
        self._high, self._place = _UNKNOWN, 0
        """Where the range before ended, and the place of the first entry that may be after it."""
        self._next = _UNKNOWN
        """The offset of that entry: for many ranges a queue need not even be opened."""

    def within(self, low: int, high: int, expected: int = 0) -> Entries | None:
        """The entries with offsets in `[low, high)`; None if there is none. `expected`: about how many, so that one read gets them."""
        goes_on = low == self._high
        self._high = high
        if goes_on and self._next >= high:
            return None
        with QueueReader(self._queue) as reader:
            bound = reader.bound()
            if bound * reader.width <= TUNING.queue_read_whole:  # needs no order at all
                entries = reader.read(0, bound)
                later = entries.offsets[entries.offsets >= high]
                self._next = int(later.min()) if len(later) else self._at_end
                found = [_inside(entries, low, high)]
            else:
                if not goes_on:
                    self._place, _ = reader.near(low, 0, bound)
                at_once = min(expected + _AT_LEAST, _AT_MOST)
                going_on = self._onward(reader, bound, low, high, at_once, is_before=not goes_on)
                found = self._searched(reader, bound, low, high) if going_on is None else going_on
            self.failed |= reader.failed
        found = [each for each in found if len(each)]
        if len(found) < 2:
            return found[0] if found else None
        numbers, counts, offsets, sizes, codes = (np.concatenate([getattr(each, name) for each in found]) for name in COLUMNS)
        return Entries(numbers, counts, offsets, sizes, codes)

    def _onward(self, reader: QueueReader, bound: int, low: int, high: int, at_once: int, *, is_before: bool) -> list[Entries] | None:
        """As `within`, from the known place on; None if not all entries there are in order, one after the other.

        `is_before`: entries of the ranges before may be there, too.
        """
        found, place, left = list[Entries](), self._place, _room(low, high)
        before = -1 if is_before else low - 1
        self._next = _UNKNOWN
        while place < bound and not self._queue.batch:
            entries = reader.read(place, min(place + at_once, bound))
            count = len(entries)
            if not count:
                break
            numbers, offsets = entries.numbers, entries.offsets
            is_dense = int(numbers[0]) == reader.number_at(place) and int(numbers[-1] - numbers[0]) == count - 1
            if not is_dense or int(offsets[0]) <= before or not (offsets[1:] > offsets[:-1]).all():
                return None
            stop = int(np.searchsorted(offsets, high))
            found.append(_inside(entries, low, high))
            place, before, left = place + stop, int(offsets[-1]), left - len(found[-1])
            if left < 0:
                return None
            if stop < count:
                # A single wrong offset must not hide what follows it: another entry has to confirm that the queue is past the range.
                self._place, self._next = place, int(offsets[stop]) if count - stop > 1 else _UNKNOWN
                return found
            at_once = min(4 * at_once, _AT_MOST)
        if self._queue.batch or place + at_once < bound:  # a hole, which other entries may follow
            return None
        self._place, self._next = place, self._at_end
        return found

    def _searched(self, reader: QueueReader, bound: int, low: int, high: int) -> list[Entries]:
        """As `within`, wherever the entries are."""
        first = reader.first_at(low, 0, bound)
        stop = reader.first_at(high, first, bound)
        found, left = [], _room(low, high)
        for begin in range(first, stop, _AT_MOST):
            found.append(_inside(reader.read(begin, min(begin + _AT_MOST, stop)), low, high))
            left -= len(found[-1])
            if left <= 0:
                break
        self._place, self._next = stop, _UNKNOWN
        return found


def _room(low: int, high: int) -> int:
    """Records do not overlap, so more entries than fit in a range are corrupt, and must not fill the memory."""
    return (high - low) // SMALLEST_RECORD + 1


def _inside(entries: Entries, low: int, high: int) -> Entries:
    offsets = entries.offsets
    if not (offsets[1:] > offsets[:-1]).all():
        return entries.where((offsets >= low) & (offsets < high))
    first, stop = np.searchsorted(offsets, (low, high)).tolist()
    numbers, counts, offsets, sizes, codes = (getattr(entries, name)[first:stop] for name in COLUMNS)
    return Entries(numbers, counts, offsets, sizes, codes)
