"""The index entries of a range of the log, and their comparison with the keys of its records."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader import kernel
from native_reader.layout.arrays import is_among, is_within, place_among
from native_reader.layout.record import Index, Mask, Numbers
from native_reader.plan.beside import Sides
from native_reader.records.damages import OTHER_KEYS
from native_reader.sentences import Said, say
from native_reader.sides.index import Head, IndexFile, entries_in, index_files, read_head, room_of
from native_reader.sides.index_database import has_rows, index_database
from native_reader.storage.protocol import StoredFile, storage_of
from native_reader.verify.findings import Findings
from native_reader.verify.records import Pairs, RecordFacts

_SEARCHED_AT_ONCE = 1024
_LARGEST_HASH = 2**31 - 1


class _Covering(NamedTuple):
    """An index file that covers a part of the segment."""

    uri: str
    slots: int
    head: Head
    stop: int
    """The number after the last entry."""
    is_open: bool
    """Whether a broker that was killed, or ran while the store was copied, wrote this file: an entry first, then its header."""


class _Keys:
    """The keys of a range's records, in the order in which a broker indexes them, and which of them an entry has."""

    def __init__(self, facts: RecordFacts, keys: Pairs) -> None:
        self._facts = facts
        is_skipped = facts.rolls_back[keys.row]  # brokers do not index them, but an entry that has one is right
        self._skipped = _pairs(keys.row[is_skipped], keys.value[is_skipped])
        whole = not len(self._skipped)
        self._row, self._hash = (keys.row, keys.value) if whole else (keys.row[~is_skipped], keys.value[~is_skipped])
        self._tag = facts.tag_key.astype(np.int64)
        # An entry of a tag also names a key with the same hash.
        self._is_named, self._next = self._hash == self._tag[self._row], 0
        self._others: list[Numbers] = []

    @cached_property
    def _ascending(self) -> Numbers:
        return np.unique(np.concatenate([_pairs(self._row, self._hash), self._skipped]))

    def in_order(self, piece: NDArray[np.void], begin_time: int) -> Mask | None:
        """If these entries are exactly the next keys, with entries of tags among them: which have another time than their record."""
        first = int(np.searchsorted(self._facts.offset, int(piece["offset"][0])))
        begin = max(self._next, int(np.searchsorted(self._row, first)))
        records = self._facts.offset[first:], self._facts.time[first:], self._tag[first:]
        # A piece has no more keys than entries.
        keys = self._row[begin : begin + len(piece)] - first, self._hash[begin : begin + len(piece)]
        named, is_late = kernel.indexed(piece, records, keys, begin_time) or numpy_indexed(piece, records, keys, begin_time)
        if named is None:
            return None
        self._is_named[begin : begin + named], self._next = True, begin + named
        return is_late

    def name(self, row: Index, hashes: Numbers) -> Mask:
        """Which of these entries, whose records are `row`, or -1, have a key of their record."""
        pairs = _pairs(row, hashes & _LARGEST_HASH)
        is_key: Mask = (row >= 0) & (hashes >= 0) & is_among(pairs, self._ascending)
        self._others.append(np.unique(pairs[is_key]))
        return is_key

    def rows_missing(self) -> Index:
        """The records with a key that no entry has; ascending."""
        if not len(self._skipped) and self._is_named.all():
            return np.empty(0, np.intp)
        missing = np.concatenate([_pairs(self._row[~self._is_named], self._hash[~self._is_named]), self._skipped])
        # A record can have a key twice, and an entry names both. Only keys of these records are compared, because sorting all is slow.
        is_open = np.zeros(len(self._facts), np.bool_)
        is_open[missing >> 31] = True
        others = np.flatnonzero(self._is_named & is_open[self._row])
        named = np.concatenate([_pairs(self._row[others], self._hash[others]), *self._others])
        rows: Index = np.unique(missing[~np.isin(missing, named)] >> 31)
        return rows


class KeyCheck:
    """Compares keys and index entries, range by range."""

    def __init__(self, sides: Sides, findings: Findings, low: int, high: int) -> None:
        self._sides, self._findings = sides, findings
        self._files: list[_Covering] = []
        self._spans: list[tuple[int, int]] = []
        self._has_failed = False
        """Whether a file was not read: which keys it has is not known."""
        files = index_files(sides.index, sides.slots)
        for file in files:
            self._note(file, low, high, is_open=file is files[-1] and not sides.stopped)
        self.is_used = any(file.slots is not None for file in files)
        """Whether there is an index to compare with. A file without entries is one, and covers nothing."""

    @cached_property
    def _is_elsewhere(self) -> bool:
        """Whether the store has an index in RocksDB too, which may cover what no file does."""
        database = index_database(self._sides.uri)
        return database is not None and has_rows(database)

    def _note(self, file: IndexFile, low: int, high: int, *, is_open: bool) -> None:
        if file.slots is None:
            return
        try:
            with storage_of(file.uri).open(file.uri) as stored:
                head = read_head(stored)
                stop = min(max(head.next_entry, 1), max(room_of(file), 1))
                if is_open:  # what it has, not what its header says
                    head = head._replace(
                        end=next((int(last["offset"][0]) for _, last in entries_in(stored, file.slots, stop - 1, stop)), -1)
                    )
        except OSError:  # a finding of the file itself
            self._has_failed = True
            return
        if stop > 1:
            self._spans.append((head.begin, head.end - is_open))  # of the last record, it may not have all keys
            if head.end >= low and head.begin < high:
                self._files.append(_Covering(file.uri, file.slots, head, stop, is_open))

    def check(self, facts: RecordFacts, keys: Pairs, low: int, high: int, damage: Numbers) -> None:
        """Compare the keys of the records at offsets `[low, high)` with the entries of all files."""
        known = _Keys(facts, keys)
        for file in self._files:
            try:
                with storage_of(file.uri).open(file.uri) as stored:
                    first = _first_at(stored, file.slots, low, 1, file.stop)
                    stop = _first_at(stored, file.slots, high, first, file.stop)
                    for part in entries_in(stored, file.slots, first, stop):
                        self._compare(file, part, facts, known, damage)
            except OSError:  # a finding of the file itself
                self._has_failed = True
        if not self._has_failed:
            self._unnamed(facts, known.rows_missing())

    def _compare(self, each: _Covering, part: tuple[int, NDArray[np.void]], facts: RecordFacts, known: _Keys, damage: Numbers) -> None:
        """Check a piece of entries."""
        number, piece = part
        if (is_off := known.in_order(piece, each.head.begin_time)) is None:
            is_off = self._searched(each, part, facts, known, damage)
        if number == 1:  # its time counts from the file before
            is_off[:1] = False
        self._add("index-time", each, part, is_off, "other time")
        if not self._sides.is_live:
            self._bounds(each, part, facts)

    def _searched(self, each: _Covering, part: tuple[int, NDArray[np.void]], facts: RecordFacts, known: _Keys, damage: Numbers) -> Mask:
        """Compare each entry with the record that it names; returns which of those that are right have another time."""
        _, piece = part
        offsets, hashes = piece["offset"].astype(np.int64), piece["hash"].astype(np.int64)
        row = place_among(offsets, facts.offset)
        self._add("index-without-record", each, part, (row < 0) & ~is_within(offsets, damage), "no record there")
        if not len(facts):
            return np.zeros(len(piece), np.bool_)
        is_right = known.name(row, hashes) | ((row >= 0) & (hashes == facts.tag_key[row]))
        self._add("index-other-key", each, part, (row >= 0) & ~is_right, "no such key", contradicts=OTHER_KEYS)
        is_late: Mask = is_right & (piece["seconds"] != _seconds(facts.time[row], each.head.begin_time))
        return is_late

    def _bounds(self, each: _Covering, part: tuple[int, NDArray[np.void]], facts: RecordFacts) -> None:
        """The times in the header are those of the first and the last record."""
        number, piece = part
        first, last = place_among(piece["offset"][[0, -1]].astype(np.int64), facts.offset).tolist()
        is_first, is_last = number == 1, number + len(piece) == each.stop and not each.is_open
        for is_end, row, stated in ((is_first, first, each.head.begin_time), (is_last, last, each.head.end_time)):
            if is_end and row >= 0 and int(facts.time[row]) not in (-1, stated):
                self._findings.add("index-header", each.uri, Said("other header times"))

    def _unnamed(self, facts: RecordFacts, rows: Index) -> None:
        """Records with keys that no entry has, and why."""
        if not len(rows) or self._sides.index is None:
            return
        add, index = self._findings.add_rows, self._sides.index
        rolled_back = rows[facts.rolls_back[rows]]
        add("key-rolled-back", index, facts.offset[rolled_back], lambda _: Said("rolls back"))
        rows = rows[~facts.rolls_back[rows]]
        offsets = facts.offset[rows]
        covered = np.zeros(len(rows), np.bool_)
        for begin, end in self._spans:
            covered |= (offsets >= begin) & (offsets <= end)
        add("key-without-entry", index, offsets[covered], lambda _: Said("key without entry"))
        open_rows = rows[~covered]
        if len(open_rows) and self._is_elsewhere:
            return
        is_later = np.zeros(len(open_rows), np.bool_)
        if not self._sides.stopped:
            is_later = facts.offset[open_rows] > max((end for _, end in self._spans), default=-1)
        add("record-not-dispatched", index, facts.offset[open_rows[is_later]], lambda _: Said("after newest index"))
        add("key-not-covered", index, facts.offset[open_rows[~is_later]], lambda _: Said("not covered"))

    def _add(
        self, code: str, each: _Covering, part: tuple[int, NDArray[np.void]], which: Mask, why: str, *, contradicts: str | None = None
    ) -> None:
        (number, piece), chosen = part, np.flatnonzero(which)
        offsets = piece["offset"][chosen]
        self._findings.add_rows(code, each.uri, offsets, lambda one: _of_entry(number + int(chosen[one]), why), contradicts=contradicts)


def _of_entry(number: int, why: str) -> Said:
    return say("entry of index", number=number, why=Said(why))


def numpy_indexed(
    entries: NDArray[np.void], records: Sequence[Numbers], keys: Sequence[Numbers], begin_time: int
) -> tuple[int | None, Mask]:
    """As `kernel.indexed`."""
    (offsets, times, tags), (rows, hashes) = records, keys
    own, count = entries["hash"].astype(np.int64), len(entries)
    if len(rows) >= count and np.array_equal(own, hashes[:count]):
        row = rows[:count]
        # If no entry is for a tag, the entries are the keys in their order. Then no record has to be searched.
        if np.array_equal(entries["offset"], offsets[row]) and not (own == tags[row]).any():
            return count, entries["seconds"] != _seconds(times[row], begin_time)
    row = place_among(entries["offset"].astype(np.int64), offsets)
    if (row < 0).any() or (row[1:] < row[:-1]).any():
        return None, np.empty(0, np.bool_)
    of_keys = np.flatnonzero(entries["hash"] != tags[row])
    named = len(of_keys)
    if not (np.array_equal(row[of_keys], rows[:named]) and np.array_equal(entries["hash"][of_keys], hashes[:named])):
        return None, np.empty(0, np.bool_)
    return named, entries["seconds"] != _seconds(times[row], begin_time)


def _seconds(times: Numbers, begin_time: int) -> Numbers:
    """What a broker writes into the entries of records with these times."""
    if begin_time <= 0:
        return np.zeros(len(times), np.int64)
    seconds: Numbers = np.clip((times - begin_time) // 1000, 0, _LARGEST_HASH)
    return seconds


def _first_at(stored: StoredFile, slots: int, offset: int, first: int, stop: int) -> int:
    """The number of the first entry at or after an offset. Entries ascend; a file where they do not has its own finding."""
    while stop - first > _SEARCHED_AT_ONCE:
        middle = (first + stop) // 2
        _, entry = next(entries_in(stored, slots, middle, middle + 1), (0, None))
        if entry is not None and int(entry["offset"][0]) < offset:
            first = middle + 1
        else:
            stop = middle
    for number, piece in entries_in(stored, slots, first, stop):
        reached = np.flatnonzero(piece["offset"] >= offset)
        return number + int(reached[0]) if len(reached) else stop
    return stop


def _pairs(row: Index, hashes: Numbers) -> Numbers:
    return row << 31 | hashes
