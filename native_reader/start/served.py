"""What consumers get after a start, queue by queue: a broker's recovery and dispatching, done over numbers instead of messages.

A record is served at its own queue offset if its queue keeps an entry for it there, or gets one. A broker that dispatches a record
appends its entry at the end of the queue (ConsumeQueue.putMessagePositionInfo, all versions): not if the queue has reached the record,
not if the queue offset is before its end; and if it is after the end, the entry takes the place of another one, with a warning in the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from native_reader.layout.record import Mask, Numbers
from native_reader.sides.bounds import EntryPlace, bounds_of
from native_reader.sides.queues import Queue, QueueReader
from native_reader.start.held import Added, HeldQueue, held
from native_reader.start.queues import Loaded, followed, loaded, names, truncated

Place = tuple[str, int]
"""A topic and a queue."""
NEVER = 1 << 62
_IN_AN_ANSWER, _MOST_FAR = 800, 1000
"""Of a queue in a segment, so many entries without their record are looked at."""


class Served(NamedTuple):
    """One queue after a start.

    `begin`, `end`: its minimum and maximum offset. `whole`: the whole records of the log for it; the others are parts of that: `served` at
    their queue offset, `moved` to another one, `deleted` with the end of the log. `reused`: how many of its queue offsets new messages
    get again.
    """

    topic: str
    queue_id: int
    begin: int
    end: int
    whole: int
    served: int
    moved: int
    deleted: int
    reused: int

    @property
    def unreachable(self) -> int:
        """How many are in the log, and no consumer gets them."""
        return self.whole - self.served - self.moved - self.deleted


class Records(NamedTuple):
    """The records of a part of the log that a broker puts into queues, in order."""

    offsets: Numbers
    sizes: Numbers
    numbers: Numbers
    """Their queue offsets."""
    places: Numbers
    """The positions of their queues in a list."""

    def where(self, which: Mask | Numbers | slice) -> Records:
        """Only these records."""
        return Records(*(each[which] for each in self))


class Recovery(NamedTuple):
    """What decides: where the log is cut; from which offset on records are put into queues, before and after queues are cut.

    `after`: those that begin after this place, and at or after `checked`. `again`: dispatching goes on from the largest place that a queue
    has reached. `truncates`: queues lose entries after the end.
    """

    cut: int
    checked: int = NEVER
    after: int = -1
    again: bool = False
    truncates: bool = True


@dataclass(slots=True)
class _State:
    """A queue while records are taken: as it was loaded, and as it is without what is after the end of the log."""

    loaded: Loaded
    cut: Loaded
    kept: int
    """Where the entries end that it has before any is added."""
    end: int
    reached: int
    begin: int
    is_new: bool
    first: int
    """Where the entries begin that are added."""
    added: list[Records] = field(default_factory=list)
    whole: int = 0
    served: int = 0
    moved: int = 0
    deleted: int = 0
    highest: int = -1
    skipped: list[tuple[int, int]] = field(default_factory=list)
    behind: list[tuple[Numbers, Mask]] = field(default_factory=list)
    """Records whose entries are in its files after `kept`: their queue offsets, and whether they got another one."""


class Simulation:
    """One way in which brokers recover this store. Takes the records of its segments, in order."""

    def __init__(self, recovery: Recovery, queues: Mapping[Place, Loaded], places: Sequence[Place], others_reached: int) -> None:
        self.recovery, self._places = recovery, places
        self._cut = {place: truncated(queue, recovery.cut) for place, queue in queues.items()} if recovery.truncates else dict(queues)
        self._queues = queues
        reached = max((queue.reached for queue in self._cut.values()), default=-1)
        self._from = max(reached, min(others_reached, recovery.cut)) if recovery.again else NEVER
        self._states: dict[int, _State] = {}

    def take(self, place: int, records: Records, entries: Named, checked: int, dispatched: int) -> None:
        """Take the records of one queue in a segment. A broker that checks bodies leaves that at `checked`, another one at `dispatched`."""
        state = self._state(place)
        there = records.offsets < self.recovery.cut
        state.whole += len(there)
        state.deleted += int(np.count_nonzero(~there))
        state.highest = max(state.highest, int(records.numbers.max()))
        state.skipped += entries.skipped
        kept = entries.own & there & (records.numbers < state.kept)
        others = ~kept & there & (entries.elsewhere >= 0) & (entries.elsewhere < state.kept)
        for first, stop in state.skipped:
            kept &= (records.numbers < first) | (records.numbers >= stop)
            others &= (entries.elsewhere < first) | (entries.elsewhere >= stop)
        state.served += int(np.count_nonzero(kept))
        state.moved += int(np.count_nonzero(others))
        are_left = ~kept & there & ~others
        # A broker compares no queue offset of 0 with the end of the queue: such a record can get a second entry.
        added = are_left | (there & (records.numbers == 0))
        more = records.where(added)
        if len(more.offsets):
            moved = self._append(state, more, self._are_dispatched(more.offsets, checked, dispatched), are_left[added])
            behind = (entries.own & are_left)[added]
            state.behind += [(more.numbers[behind], moved[behind])] if behind.any() else []

    def _are_dispatched(self, offsets: Numbers, checked: int, dispatched: int) -> Mask:
        at_first: Mask = (offsets >= self.recovery.checked) & (offsets > self.recovery.after) & (offsets < checked)
        again: Mask = (offsets >= self._from) & (offsets < dispatched)
        return at_first | again

    def _append(self, state: _State, records: Records, are_dispatched: Mask, counted: Mask) -> Mask:
        """Put entries at the end of the queue, and count those of `counted`. Gives which got another queue offset than their own."""
        which = np.flatnonzero(are_dispatched & (records.offsets + records.sizes > state.reached))
        moved = np.zeros(len(records.offsets), bool)
        if not self.recovery.again and state.cut.end < state.loaded.end:  # it is cut before them afterwards
            return moved
        if len(which) and state.is_new:
            state.is_new, state.begin, state.end = False, int(records.numbers[which[0]]), int(records.numbers[which[0]])
            state.first = state.end
        which = which[(records.numbers[which] >= state.end) | (records.numbers[which] == 0)]
        if len(which):
            moved[which] = state.end + np.arange(len(which)) != records.numbers[which]
            state.moved += int(np.count_nonzero(moved & counted))
            state.served += int(np.count_nonzero(counted[which] & ~moved[which]))
            state.end += len(which)
            state.added.append(records.where(which))
            state.reached = int(records.offsets[which[-1]] + records.sizes[which[-1]])
        return moved

    def _state(self, place: int) -> _State:
        if place not in self._states:
            name = self._places[place]
            empty = Loaded(Queue(*name, batch=False, files=()), 0, -1)
            loaded, cut = (each.get(name, empty) for each in (self._queues, self._cut))
            # Records that are checked are dispatched before the queues are cut, all others afterwards.
            now = cut if self.recovery.again else loaded
            kept = now.end if self.recovery.again or not self.recovery.truncates else min(loaded.end, cut.end)
            self._states[place] = _State(loaded, cut, kept, now.end, now.reached, now.begin, now.is_new, now.end)
        return self._states[place]

    def served(self) -> Iterator[Served]:
        """Each queue that has whole records."""
        for place, state in self._states.items():
            if self.recovery.truncates and not self.recovery.again:
                self._read_once_more(state)
            counts = state.whole, state.served, state.moved, state.deleted
            yield Served(*self._places[place], state.begin, state.end, *counts, max(0, state.highest + 1 - state.end))

    def left(self, units: int, known: dict[Queue, Loaded]) -> Mapping[Place, Loaded]:
        """The queues as the next broker loads them. `units`: of new files. `known`: those that were loaded before."""
        names = {self._places[place]: state for place, state in self._states.items()}
        found = dict[Place, Loaded]()
        for place in {**self._cut, **names}:
            state, cut = names.get(place), self._cut.get(place)
            own = Queue(*place, batch=False, files=()) if cut is None else cut.queue
            if state is not None and state.added:
                both = zip(*((each.offsets, each.sizes) for each in state.added), strict=True)
                added = Added(state.first, *map(np.concatenate, both))
                own, entries = held(own, added, units)
                found[place] = loaded(own, own.files, entries)
            elif own.files:
                found[place] = known[own] = known.get(own) or loaded(own, own.files)
        return found

    def ends_as(self, recovery: Recovery, queues: Mapping[Place, Loaded], reached: int) -> bool:
        """Whether a broker that starts in that way on these queues, which have reached that place, ends as this one."""
        own = self.recovery
        adds_nothing = reached >= recovery.cut or (recovery.checked == NEVER and not recovery.again)
        is_same = recovery == own or (adds_nothing and (recovery.cut, recovery.truncates) == (own.cut, own.truncates))
        return is_same and queues == self._queues

    def _read_once_more(self, state: _State) -> None:
        """Cut the queue after entries were added. Old entries that follow them in its last file count again."""
        first = state.end if state.added else state.kept
        state.end = followed(state.loaded, state.end, self.recovery.cut) if state.added else state.cut.end
        for numbers, were_moved in state.behind:
            back = (numbers >= first) & (numbers < state.end)
            for begin, stop in state.skipped:
                if not (state.added and state.first <= begin < first):  # else an added entry is in that place
                    back &= (numbers < begin) | (numbers >= stop)
            state.served += int(np.count_nonzero(back))
            state.moved -= int(np.count_nonzero(back & were_moved))
        state.begin = min(state.begin, state.end) if state.added else state.cut.begin


class Named(NamedTuple):
    """What the files of a queue have for some records.

    `own`: which have their entry at their own queue offset. `elsewhere`: the queue offset at which another entry has them; -1 without one.
    `skipped`: queue offsets `[first, stop)` that no consumer gets.
    """

    own: Mask
    elsewhere: Numbers
    skipped: list[tuple[int, int]]


class Entries:
    """The entries that queues have in their files, and which records are of a topic that was deleted and made again.

    Such records are before the first entry of their queue, and its queue offset is not after theirs. If the new topic has fewer queues,
    they are before the first entry of any of its queues. `is_first`: whether such records are looked for.
    """

    def __init__(self, queues: Mapping[Place, Loaded], end: int, segment: int, *, is_first: bool = True) -> None:
        self._queues, self._end, self._segment, self._is_first = queues, end, segment, is_first
        self._first: dict[Place, EntryPlace | None] = {}
        self._created: dict[str, int] = {}

    def has(self, place: Place) -> bool:
        """Whether there is such a queue."""
        return place in self._queues

    def of(self, place: Place, records: Records) -> tuple[Records, Named]:
        """The records without those of an earlier topic, and their entries."""
        queue = self._queues.get(place)
        if queue is None or queue.is_new:
            own = records.where(records.offsets >= self._created.get(place[0], 0))
            return own, Named(np.zeros(len(own.offsets), bool), np.full(len(own.offsets), -1), [])
        with queue.reader() as reader:
            named = names(reader, queue, records.numbers, records.offsets, records.sizes)
            if named.all():
                return records, Named(named, np.full(len(named), -1), [])
            found = Named(named, _elsewhere(reader, records), list(self._skipped(reader, queue, records.numbers[~named])))
        first = self._first_of(place, queue) if self._is_first else None
        if first is None or first.offset >= self._end:
            return records, found
        earlier = ~named & (records.offsets < first.offset) & (records.numbers >= first.number)
        if earlier.any():
            self._created[place[0]] = min(first.offset, self._created.get(place[0], first.offset))
        return records.where(~earlier), Named(named[~earlier], found.elsewhere[~earlier], found.skipped)

    def _skipped(self, reader: QueueReader | HeldQueue, queue: Loaded, numbers: Numbers) -> Iterator[tuple[int, int]]:
        """What consumers do not get because of an entry before it.

        A broker that has no record at the place of an entry leaves out all entries of the same answer that are before the next segment.
        It looks at 800 entries for an answer, and not beyond the file. At an entry of negative size it fails, and the queue ends there for
        consumers (DefaultMessageStore.getMessage, all versions). Entries after the end of the queue count, because they can come back.
        """
        stop = 0
        for number in numbers[(numbers >= queue.begin) & (numbers < queue.room)][:_MOST_FAR].tolist():
            (entry,) = reader.slots(number, number + 1)
            offset, size = int(entry["offset"]), int(entry["size"])
            if number < stop or (0 <= offset < self._end and size >= 0):
                continue
            if size < 0:
                yield number, NEVER
                return
            file = next(file for file in queue.queue.files if number < file.base + file.units)
            stop = min(file.base + file.units, number + _IN_AN_ANSWER)
            if offset < 0:
                after = reader.slots(number, stop)["offset"] >= self._segment
                stop = number + int(np.argmax(after)) if after.any() else stop
            yield number, stop

    def _first_of(self, place: Place, queue: Loaded) -> EntryPlace | None:
        if place not in self._first:
            bounds = bounds_of(queue.queue, 0)
            self._first[place] = None if bounds is None else bounds.first
        return self._first[place]


def _elsewhere(reader: QueueReader | HeldQueue, records: Records) -> Numbers:
    """Another queue offset whose entry names each record; -1 without one. A record with a damaged queue offset has its entry elsewhere."""
    found = np.full(len(records.offsets), -1)
    entries = reader.within(int(records.offsets[0]), int(records.offsets[-1]) + 1)
    if len(entries):
        at = np.minimum(np.searchsorted(entries.offsets, records.offsets), len(entries) - 1)
        same = (entries.offsets[at] == records.offsets) & (entries.numbers[at] != records.numbers)
        found[same] = entries.numbers[at[same]]
    return found


def by_place(records: Records) -> Iterator[tuple[int, Records]]:
    """The records of each queue."""
    if not len(records.places):
        return
    order = np.argsort(records.places, kind="stable")
    ordered = records.where(order)
    borders = np.flatnonzero(np.diff(ordered.places)) + 1
    for begin, stop in zip([0, *borders.tolist()], [*borders.tolist(), len(order)], strict=True):
        yield int(ordered.places[begin]), Records(*(each[begin:stop] for each in ordered))


Part = tuple[Records, int, int]
"""The records of a segment, and where a broker leaves it that checks bodies, and one that does not."""


def run(simulations: Iterable[Simulation], entries: Entries, places: Sequence[Place], parts: Iterable[Part]) -> Iterator[Part]:
    """Let all take the records of each segment. Gives them without those of an earlier topic."""
    all_of_them = list(simulations)
    for records, checked, dispatched in parts:
        taken = [records.where(slice(0))]
        # Queues that are there first: they tell what is of an earlier topic.
        for place, found in sorted(by_place(records), key=lambda each: not entries.has(places[each[0]])):
            own, named = entries.of(places[place], found)
            taken.append(own)
            for each in all_of_them if len(own.offsets) else ():
                each.take(place, own, named, checked, dispatched)
        yield Records(*map(np.concatenate, zip(*taken, strict=True))), checked, dispatched
