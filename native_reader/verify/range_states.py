"""The states of the records of one range of the log, while it is compared with what is beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from native_reader.account.runs import NO_TAG, Named, Place, Runs
from native_reader.account.states import Mark
from native_reader.layout.arrays import place_among
from native_reader.layout.queue_entry import is_hash
from native_reader.layout.record import Index, Mask, Numbers
from native_reader.verify.records import IN_BATCH, NO_ENTRY, RecordFacts
from native_reader.verify.sides import QueueNumbering

_ENOUGH, _HARDLY_ANY = 8, 50


@dataclass(slots=True)
class MergedClaims:
    """Entries of several queues, by ascending offset. `row`: the record at exactly that offset, or -1."""

    queue: NDArray[np.int32]
    number: Numbers
    count: Numbers
    offset: Numbers
    size: Numbers
    code: Numbers
    row: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.offset)

    def where(self, which: Mask | Index) -> MergedClaims:
        """Only these entries."""
        found = self.number[which], self.count[which], self.offset[which], self.size[which], self.code[which]
        return MergedClaims(self.queue[which], *found, self.row[which])


class RangeStates:
    """The marks of a range's records: `begin` with it, mark, and `end` it."""

    def __init__(self, runs: Runs, queues: QueueNumbering) -> None:
        self._runs, self._queues = runs, queues
        self.unread_from = 2**63 - 1
        """The offset from which on the segment is not read."""
        self.claimed = self.met = self.records = 0
        """How many entries name something in this segment, how many of them a whole record, and how many records there are."""
        self._marks, self._numbers, self._counts = np.empty(0, np.int8), np.empty(0, np.int64), np.empty(0, np.int64)
        self._others: list[MergedClaims] = []
        self._nowhere: list[Numbers] = []
        self._sizes: list[Numbers] = []

    def begin(self, facts: RecordFacts) -> None:
        """The records of the next range."""
        self.records += len(facts)
        self._marks = np.full(len(facts), Mark.QUEUED, np.int8)
        self._marks[facts.queue == NO_ENTRY] = Mark.IN_NO_QUEUE
        self._numbers = facts.queue_offset.copy()
        self._counts = np.ones(len(facts), np.int64)
        if len(batches := np.flatnonzero(facts.kind == IN_BATCH)):
            self._counts[batches] = np.maximum(facts.count[batches], 1)
        self._others = []

    def mark(self, rows: Index, mark: Mark) -> None:
        """Mark records. The highest mark of each counts."""
        self._marks[rows] = np.maximum(self._marks[rows], mark)

    def mark_at(self, facts: RecordFacts, offsets: Numbers, mark: Mark) -> None:
        """Mark the records at these offsets, as far as they are in this range."""
        rows = place_among(offsets, facts.offset)
        self.mark(rows[rows >= 0], mark)

    def named(self, named: Mask) -> None:
        """All entries were compared: which records an entry of their own queue names.

        A record that only the entry of another queue names counts where that entry is: its topic, or its queue id, may be damaged.
        """
        self.met += int(np.count_nonzero(named))
        for claims in self._others:
            moved = claims.where(~named[claims.row])
            self._entries(claims.where(named[claims.row]), Mark.WRONG_ENTRY)
            self._entries(moved, Mark.OTHER_QUEUE)
            self._counts[moved.row] = 0
            self.met += len(moved)
        self._others = []

    def numbered(self, rows: Index, numbers: Numbers, *, is_one: Mask) -> None:
        """Entries have other numbers for these records, and consumers go by them. `is_one`: a whole batch has one number."""
        self._numbers[rows] = numbers
        self._counts[rows[is_one]] = 1

    def of_other_queue(self, claims: MergedClaims, which: Mask, row: Index) -> None:
        """Entries that name a record of another queue."""
        if which.any():
            found = claims.where(which)
            found.row = row[which]
            self._others.append(found)

    def without_record(self, claims: MergedClaims, which: Mask, is_damaged: Mask) -> None:
        """Entries that name no record. Only where the log is damaged can one have been there."""
        if (gone := which & is_damaged).any():
            self._nowhere.append(claims.offset[gone])
            self._sizes.append(claims.size[gone])
            is_unread = claims.offset + claims.size > self.unread_from
            self._entries(claims.where(gone & is_unread), Mark.UNREAD_RECORD)
            self._entries(claims.where(gone & ~is_unread), Mark.ENTRY)
        self._entries(claims.where(which & ~is_damaged), Mark.WRONG_ENTRY)

    def _entries(self, claims: MergedClaims, mark: Mark) -> None:
        """Add entries to the account, queue by queue."""
        order = np.lexsort((claims.number, claims.queue))
        if not len(order):
            return
        for rows in np.split(order, np.flatnonzero(np.diff(claims.queue[order])) + 1):
            queue = self._queues.all[int(claims.queue[rows[0]])]
            tags = np.where(is_hash(claims.code[rows]), claims.code[rows], NO_TAG)
            found = Named(claims.number[rows], claims.count[rows], claims.offset[rows], claims.size[rows], tags)
            self._runs.entries(mark, (queue.topic, queue.queue_id), found)

    @property
    def is_foreign(self) -> bool:
        """Whether entries name much in this segment, and almost never one of its records: the file is of another broker.

        The first record of each segment is where an entry says that one is, in whichever file.
        """
        is_named = self.met > 1 + self.claimed // _HARDLY_ANY
        return not is_named and min(self.claimed, self.records - self.met) >= _ENOUGH

    def unnamed(self, damage: Numbers) -> Numbers:
        """How many bytes of each range without records are in no message that an entry names."""
        offsets, sizes = (np.concatenate([np.empty(0, np.int64), *found]) for found in (self._nowhere, self._sizes))
        order = np.argsort(offsets, kind="stable")
        sums = np.append(0, np.cumsum(np.maximum(sizes[order], 0)))
        first, stop = (np.searchsorted(offsets[order], damage[:, end]) for end in (0, 1))
        unnamed: Numbers = damage[:, 1] - damage[:, 0] - (sums[stop] - sums[first])
        return unnamed

    def end(self, facts: RecordFacts, places: list[Place]) -> None:
        """The range is compared: add its records to the account."""
        found, time = Named(self._numbers, self._counts, facts.offset, facts.size), facts.time
        marks, place = self._marks, facts.place
        if not self._counts.all():  # some count where the entry of another queue is
            kept = np.flatnonzero(self._counts)
            found, time, marks, place = found.where(kept), time[kept], marks[kept], place[kept]
        self._runs.records(marks, place, places, found, time)
