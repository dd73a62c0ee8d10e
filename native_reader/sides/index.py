"""Index files: which exist, which offsets they cover, and where they place records with a given key.

A corrupt file must never do more harm than to name places without such a record, or to cover nothing. A file that
contradicts itself gets a reason (`why`) and is not used; the log is searched instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.arrays import is_among
from native_reader.layout.index_entry import INDEX_ENTRY, INDEX_HEAD, SLOT, default_slots, entries_at, slots_at
from native_reader.layout.record import Mask, Numbers
from native_reader.sentences import Said, say, verbatim
from native_reader.storage.protocol import StoredFile, storage_of
from native_reader.tuning import TUNING


class IndexFile(NamedTuple):
    """One index file; `slots` is None if unknown."""

    uri: str
    size: int
    slots: int | None


class Head(NamedTuple):
    """The header of a file."""

    begin_time: int
    end_time: int
    begin: int
    end: int
    used_slots: int
    next_entry: int
    """The number of the next entry; the first is 1."""


class Hits(NamedTuple):
    """Matching entries: hash and physical offset of each."""

    hashes: Numbers
    offsets: Numbers

    def where(self, which: Mask) -> Hits:
        """Only these hits."""
        return Hits(self.hashes[which], self.offsets[which])


USUAL_SLOTS = 5_000_000
"""What a broker makes, unless `maxHashSlotNum` is set."""
_SURE = 64
"""If so many entries are each in their chain, the number of slots is right."""
LEAST_ROOM = 2
"""Entry 0, which is unused, and one more."""
_NO_CHAIN, NO_SLOTS, _EMPTY, _INCONSISTENT = (Said(f"index {why}") for why in ("no chain", "no slots", "empty", "inconsistent"))
"""Why a file cannot be used."""
_NO_HITS = Hits(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class FileHits:
    """The result for one file. It has all keys of the records at offsets `begin` to `end`, unless `why` is set."""

    uri: str
    begin: int = 0
    end: int = -1
    end_time: int = 0
    hits: Hits = _NO_HITS
    proofs: Hits = _NO_HITS
    """The file's first and last entry whose records are inside the log."""
    why: Said | None = None
    without_ids: bool = True
    """Whether it also has messages without UNIQ_KEY."""


class _IndexContradiction(Exception):
    def __init__(self, said: Said) -> None:
        super().__init__(said)
        self.said = said


def index_files(directory: str | None, slots: int | None = None) -> list[IndexFile]:
    """The files of an index, oldest first. `slots`: the number of slots in each, if known."""
    if directory is None:
        return []
    try:
        entries = storage_of(directory).list(directory)
    except OSError:  # deleted meanwhile or cannot be listed; callers work without an index
        return []
    files = [entry for entry in entries if entry.is_file and entry.name.isascii() and entry.name.isdecimal()]
    files.sort(key=lambda entry: int(entry.name))
    return [IndexFile(f"{directory}/{entry.name}", entry.size, slots or default_slots(entry.size)) for entry in files]


def slots_of_cut(file: IndexFile, others: Iterable[IndexFile]) -> int | None:
    """The number of slots of a file whose size no broker makes, if its first entries are in the chains of so many: it was cut.

    `others`: of the same index.
    """
    guesses = {USUAL_SLOTS, *(other.slots for other in others if other.slots is not None)}
    try:
        with storage_of(file.uri).open(file.uri) as stored:
            head = read_head(stored)
            return next((slots for slots in sorted(guesses) if _has_slots(stored, slots, head)), None)
    except OSError:
        return None


def _has_slots(stored: StoredFile, slots: int, head: Head) -> bool:
    """Whether the first entries are where a file with so many slots has them, and their slots lead to them or later ones."""
    for first, entries in entries_in(stored, slots, 1, min(head.next_entry, 1 + _SURE)):
        hashes, numbers = entries["hash"].astype(np.int64), first + np.arange(len(entries))
        if (hashes < 0).any():
            return False
        found = [stored.read_ranges([(slots_at(int(each)), SLOT.itemsize)])[0] for each in hashes % slots]
        newest = np.frombuffer(b"".join(found), SLOT)
        return len(newest) == len(numbers) and bool(((newest >= numbers) & (newest < head.next_entry)).all())
    return False


def room_of(file: IndexFile) -> int:
    """How many entries fit in a file, with entry 0; 0 if its number of slots is unknown."""
    return 0 if file.slots is None else max(0, (file.size - entries_at(file.slots)) // INDEX_ENTRY.itemsize)


def read_head(stored: StoredFile) -> Head:
    """The header of an open file."""
    (header,) = stored.read_ranges([(0, INDEX_HEAD.size)])
    if len(header) < INDEX_HEAD.size:
        raise _cut_short(stored.uri)
    return Head._make(INDEX_HEAD.unpack(header))


def entries_in(stored: StoredFile, slots: int, first: int, stop: int, at_once: int = 1 << 18) -> Iterator[tuple[int, NDArray[np.void]]]:
    """The entries with numbers `[first, stop)` in pieces: the number of the first, and the piece. Ends with the file."""
    while first < stop:
        count = min(stop - first, at_once)
        piece = stored.read_array(entries_at(slots) + first * INDEX_ENTRY.itemsize, INDEX_ENTRY, count)
        if not len(piece):
            return
        yield first, piece
        first += len(piece)


def head_of(file: IndexFile) -> tuple[Head | None, Said | None]:
    """The header of a file, and why the file cannot be used: each is None if there is none."""
    try:
        with storage_of(file.uri).open(file.uri) as stored:
            head, chains = read_head(stored), None if room_of(file) < LEAST_ROOM else _OpenIndex(stored, file)
            return head, NO_SLOTS if chains is None else chains.why_not(head)
    except OSError as error:
        return None, verbatim(str(error))


def begin_of(file: IndexFile) -> int | None:
    """The first offset in a file, as its header has it; None if it cannot be read."""
    try:
        with storage_of(file.uri).open(file.uri) as stored:
            return read_head(stored).begin
    except OSError:
        return None


def ends_inside(file: IndexFile, log: tuple[int, int]) -> tuple[Head, Hits] | None:
    """The header of a file, and its first and last entry whose records are in that range of the log; None if it cannot be used."""
    if room_of(file) < LEAST_ROOM:
        return None
    try:
        with storage_of(file.uri).open(file.uri) as stored:
            return _OpenIndex(stored, file).ends_inside(log)
    except OSError:
        return None


def search(file: IndexFile, hashes: Numbers, log: tuple[int, int], entry_costs: int) -> FileHits:
    """Find entries with those key hashes in one file.

    `log`: the offset range of the log. `entry_costs`: the bytes of log that can be read in the time of one entry.
    Gives up when a plain read of the file's offset range would cost less.
    """
    if room_of(file) < LEAST_ROOM:
        return FileHits(file.uri, why=NO_SLOTS)
    try:
        with storage_of(file.uri).open(file.uri) as stored:
            return _OpenIndex(stored, file).search(hashes, log, entry_costs)
    except OSError:
        return FileHits(file.uri, why=Said("index unread"))


class _OpenIndex:
    """One open index file."""

    def __init__(self, stored: StoredFile, file: IndexFile) -> None:
        assert file.slots is not None
        self._stored, self._uri, self._slots = stored, file.uri, file.slots
        self._entries, self._room = entries_at(file.slots), room_of(file)
        self._matches: list[NDArray[np.void]] = []
        self._numbers: list[Numbers] = []

    def search(self, hashes: Numbers, log: tuple[int, int], entry_costs: int) -> FileHits:
        """See the function `search`."""
        head = self._head()
        if (why := self._why_not(head)) is not None:
            return FileHits(self._uri, why=why)
        ends = self._read(np.array([1, head.next_entry - 1]))
        first, last = ends["offset"].tolist()
        # Use the smaller of the two ranges: one wrong number must not make the file cover too much.
        begin, end = max(head.begin, first), min(head.end, last)
        proofs, contradiction = ends, None
        try:
            if not self._is_in_chain(ends[1:], head.next_entry - 1):
                raise _IndexContradiction(_NO_CHAIN)
            if first < log[0] or last >= log[1]:
                proofs = self._inside(log, head.next_entry)
            steps = max(TUNING.least_index_steps, (end - begin) // entry_costs) if entry_costs else self._room * len(hashes)
            self._walk(hashes, head, steps)
            self._check_places(log, begin, head.next_entry)
        except _IndexContradiction as error:
            contradiction = error.said
        if not self._matches:
            return FileHits(self._uri, begin, end, head.end_time, _NO_HITS, _hits(proofs), contradiction)
        hits = np.concatenate(self._matches)
        inside = (hits["offset"] >= log[0]) & (hits["offset"] < log[1])
        return FileHits(self._uri, begin, end, head.end_time, _hits(hits[inside]), _hits(proofs), contradiction)

    def why_not(self, head: Head) -> Said | None:
        """Why the file cannot be used, from its header and its last entry."""
        why = self._why_not(head)
        if why is None and not self._is_in_chain(self._read(np.array([head.next_entry - 1])), head.next_entry - 1):
            why = _NO_CHAIN
        return why

    def ends_inside(self, log: tuple[int, int]) -> tuple[Head, Hits] | None:
        """See the function `ends_inside`."""
        head = self._head()
        return None if self.why_not(head) is not None else (head, _hits(self._proofs(log, head.next_entry)))

    def _proofs(self, log: tuple[int, int], count: int) -> NDArray[np.void]:
        ends = self._read(np.array([1, count - 1]))
        first, last = ends["offset"].tolist()
        return self._inside(log, count) if first < log[0] or last >= log[1] else ends

    def _why_not(self, head: Head) -> Said | None:
        if not 0 <= head.begin <= head.end or not 0 <= head.next_entry <= self._room:
            return _INCONSISTENT
        return _EMPTY if head.next_entry <= 1 else None

    def _is_in_chain(self, entry: NDArray[np.void], number: int) -> bool:
        """Whether the slot of the newest entry leads to it: it does not if the number of slots is wrong."""
        return bool(self._slot_values(entry["hash"].astype(np.int64) % self._slots)[0] >= number)

    def _walk(self, hashes: Numbers, head: Head, most: int) -> None:
        """Follow all chains at once, one entry of each per step."""
        hashes = np.unique(hashes)
        slots = np.unique(hashes % self._slots)
        numbers = self._slot_values(slots)
        # A running broker may have added entries since: it writes the entry first, then its slot, then the header.
        count = head.next_entry if not len(numbers) or int(numbers.max()) <= head.next_entry else self._head().next_entry
        if (numbers < 0).any() or (numbers > min(count, self._room - 1)).any():
            raise _IndexContradiction(Said("index slot wrong"))
        left = most
        while (is_entry := numbers > 0).any():
            slots, numbers = slots[is_entry], numbers[is_entry]
            left -= len(numbers)
            if left < 0:
                raise _IndexContradiction(say("index chains long", most=most))
            entries = self._read(numbers)
            if (entries == np.zeros(1, INDEX_ENTRY)).any():
                raise _IndexContradiction(Said("index entry lost"))
            hashed, older = entries["hash"].astype(np.int64), entries["previous"].astype(np.int64)
            if (hashed < 0).any() or (hashed % self._slots != slots).any():
                raise _IndexContradiction(Said("index wrong chain"))
            if (older < 0).any() or (older >= numbers).any():
                raise _IndexContradiction(Said("index chain newer"))
            wanted = is_among(hashed, hashes)
            self._matches.append(entries[wanted])
            self._numbers.append(numbers[wanted])
            numbers = older

    def _inside(self, log: tuple[int, int], count: int) -> NDArray[np.void]:
        """The first and the last entry whose records are inside the log. Entries are in log order."""
        first, stop = self._first_at(log[0], 1, count), self._first_at(log[1], 1, count)
        return self._read(np.array([first, stop - 1])) if first < stop else np.empty(0, INDEX_ENTRY)

    def _first_at(self, offset: int, first: int, stop: int) -> int:
        while first < stop:
            middle = (first + stop) // 2
            if int(self._read(np.array([middle]))["offset"][0]) < offset:
                first = middle + 1
            else:
                stop = middle
        return first

    def _check_places(self, log: tuple[int, int], begin: int, count: int) -> None:
        """Hits must be in the file's range. A hit outside the log (expired, or not written yet) must fit between its neighbours."""
        for entries, numbers in zip(self._matches, self._numbers, strict=True):
            offsets = entries["offset"].astype(np.int64)
            if len(offsets) and (int(offsets.min()) < begin or int(offsets.max()) > self._head().end):
                raise _IndexContradiction(Said("index offset outside"))
            for which in np.flatnonzero((offsets < log[0]) | (offsets >= log[1])).tolist():  # few: a key has few records
                number = int(numbers[which])
                around = self._read(np.arange(max(1, number - 1), min(number + 2, max(count, number + 1))))["offset"].astype(np.int64)
                if (np.diff(around) < 0).any():
                    raise _IndexContradiction(Said("index offset unfit"))

    def _head(self) -> Head:
        return read_head(self._stored)

    def _slot_values(self, slots: Numbers) -> Numbers:
        return np.frombuffer(self._many(slots_at(slots), SLOT.itemsize), SLOT).astype(np.int64)

    def _read(self, numbers: Numbers) -> NDArray[np.void]:
        return np.frombuffer(self._many(self._entries + INDEX_ENTRY.itemsize * numbers, INDEX_ENTRY.itemsize), INDEX_ENTRY)

    def _many(self, places: Numbers, length: int) -> bytearray:
        content = bytearray(length * len(places))
        if self._stored.read_many(places.tolist(), [length] * len(places), memoryview(content)) < len(content):
            raise _cut_short(self._uri)
        return content


def _cut_short(uri: str) -> OSError:
    return OSError(f"{uri} was truncated")


def _hits(entries: NDArray[np.void]) -> Hits:
    return Hits(entries["hash"].astype(np.int64), entries["offset"].astype(np.int64))
