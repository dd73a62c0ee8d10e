"""One index file by itself: its header, and that every entry is in the chain where a search looks for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from native_reader import kernel
from native_reader.kernel import Chains
from native_reader.layout.index_entry import INDEX_HEAD, SLOT, slots_at, usual_size
from native_reader.layout.record import Index, Mask
from native_reader.plan.beside import Sides
from native_reader.sentences import Said, say
from native_reader.sides.index import LEAST_ROOM, Head, IndexFile, entries_in, index_files, read_head, room_of, slots_of_cut
from native_reader.storage.protocol import StoredFile, storage_of
from native_reader.verify.findings import Findings

_PLACE_BITS, _MOST_SLOTS = 18, 1 << 28
_AT_ONCE = 1 << _PLACE_BITS
"""Entries, or slots, that are read at once."""


def check_file(file: IndexFile, sides: Sides, findings: Findings, *, newest: bool) -> None:
    """Add what is wrong in one file. Needs memory for its slots, not for its entries."""
    slots = file.slots
    if slots is None and (slots := slots_of_cut(file, index_files(sides.index))) is not None:
        findings.add("index-cut", file.uri, say("index file cut", size=file.size, slots=slots, usual=usual_size(slots)))
        file = file._replace(slots=slots)
    elif file.size < INDEX_HEAD.size:
        findings.add("index-cut", file.uri, say("less than a header", size=file.size))
        return
    if slots is None or slots > _MOST_SLOTS or room_of(file) < LEAST_ROOM:  # a sparse file can be of any size, and slots need memory
        findings.add("index-not-checked", file.uri, say("unusual size", size=file.size))
        return
    try:
        with storage_of(file.uri).open(file.uri) as stored:
            _File(stored, file.uri, slots, room_of(file), findings).check(sides, newest=newest)
    except OSError:
        findings.add("index-unreadable", file.uri, Said("unreadable file"))


class NumpyChains:
    """As `kernel.Chains`."""

    def __init__(self, slots: int) -> None:
        self._slots, self._newest = slots, np.zeros(slots, np.int32)

    def wrong(self, entries: NDArray[np.void], first: int) -> Mask:
        """As `kernel.Chains.wrong`, of at most _AT_ONCE entries."""
        hashes = entries["hash"].astype(np.int64)
        # numpy sorts numbers several times as fast as places by their numbers.
        both = np.sort(hashes % self._slots << _PLACE_BITS | np.arange(len(hashes)))
        slots, order = both >> _PLACE_BITS, both & (_AT_ONCE - 1)
        numbers = first + order
        is_first = np.append(True, slots[1:] != slots[:-1])
        expected = np.append(0, numbers[:-1])
        expected[is_first] = self._newest[slots[is_first]]
        is_last = np.append(is_first[1:], True)
        self._newest[slots[is_last]] = numbers[is_last]
        wrong = hashes < 0
        wrong[order] |= expected != entries["previous"][order]
        return wrong

    def differing(self, slots: NDArray[np.int32], begin: int) -> Index:
        """As `kernel.Chains.differing`."""
        return np.flatnonzero(slots != self._newest[begin : begin + len(slots)])

    def newest(self, slot: int) -> int:
        """As `kernel.Chains.newest`."""
        return int(self._newest[slot])


class _File:
    def __init__(self, stored: StoredFile, uri: str, slots: int, room: int, findings: Findings) -> None:
        self._stored, self._uri, self._slots, self._room, self._findings = stored, uri, slots, room, findings
        self._chains: Chains | NumpyChains = kernel.chains(slots) or NumpyChains(slots)

    def check(self, sides: Sides, *, newest: bool) -> None:
        head, uri, add = read_head(self._stored), self._uri, self._findings.add
        if 0 <= head.next_entry <= 1 and head.begin == head.end:
            # A broker makes the next file before its first entry, with the end of the file before it as both offsets.
            if not newest:
                add("index-header", uri, Said("no entries"))
            return
        is_open = newest and not sides.stopped and 0 <= head.next_entry <= self._room
        of_header = "index-unfinished" if is_open else "index-header"
        if head.next_entry > self._room or head.next_entry < 1 or not 0 <= head.begin <= head.end or head.begin_time > head.end_time:
            impossible = say("impossible header", begin=head.begin, end=head.end, next=head.next_entry, room=self._room)
            add(of_header, uri, impossible)
        last, first_offset = -1, None
        for number, piece in entries_in(self._stored, self._slots, 1, min(max(head.next_entry, 1), self._room), _AT_ONCE):
            offsets = piece["offset"].astype(np.int64)
            first_offset = int(offsets[0]) if first_offset is None else first_offset
            steps = np.diff(offsets, prepend=max(last, int(offsets[0])) if last < 0 else last)
            self._add("index-order", number, offsets, steps < 0, "lower offset")
            last = max(last, int(offsets[-1]))
            wrong = self._chains.wrong(piece, number)
            self._add("index-chain", number, offsets, wrong, "wrong chain")
            self._outside(offsets, sides)
        if first_offset is not None and (first_offset, last) != (head.begin, head.end):
            other = say("other header offsets", begin=head.begin, end=head.end, first=first_offset, last=last)
            add(of_header, uri, other, head.begin)
        if not sides.is_live:
            self._slots_match(head, of_header, newest=newest, is_open=is_open)

    def _outside(self, offsets: NDArray[np.int64], sides: Sides) -> None:
        expired, after = offsets[offsets < sides.begin], offsets[offsets >= sides.end]
        self._findings.add_rows("index-expired", self._uri, expired, lambda _: say("log begins", begin=sides.begin))
        if not sides.is_live:
            code = "entry-discarded" if sides.discarded else "index-after-end"
            self._findings.add_rows(code, self._uri, after, lambda each: say("names after end", offset=int(after[each]), end=sides.end))

    def _slots_match(self, head: Head, of_header: str, *, newest: bool, is_open: bool) -> None:
        """Each slot must lead to the newest entry of its chain, and the header has the number of those that do.

        A broker counts an entry after it was written. So in a file that it had open, slots can lead to entries that are not counted.
        """
        found: Said | None = None
        count, used, is_behind = 0, 0, False
        for begin in range(0, self._slots, _AT_ONCE):
            slots = self._stored.read_array(slots_at(begin), SLOT, min(_AT_ONCE, self._slots - begin))
            used += int(np.count_nonzero(slots))
            wrong = self._chains.differing(slots, begin)
            if is_open and len(wrong):
                is_later = slots[wrong] >= max(head.next_entry, 1)
                is_behind |= bool(is_later.any())
                wrong = wrong[~is_later]
            if len(wrong):
                first = int(wrong[0])
                if found is None:
                    found = say("wrong slot", slot=begin + first, entry=int(slots[first]), expected=self._chains.newest(begin + first))
                count += len(wrong)
        if found is not None:
            self._findings.add("index-slot", self._uri, found, count=count)
        elif is_behind:
            self._findings.add(of_header, self._uri, say("not counted", entries=max(head.next_entry, 1) - 1))
        elif all(abs(head.used_slots - expected) > newest for expected in (used, head.next_entry - 1)):
            # Brokers up to 4.6 count all entries instead. A killed one can be between an entry and its count.
            self._findings.add(of_header, self._uri, say("other used slots", slots=head.used_slots, used=used))

    def _add(self, code: str, number: int, offsets: NDArray[np.int64], which: NDArray[np.bool_], why: str) -> None:
        chosen, of_entry = np.flatnonzero(which), Said(why)
        self._findings.add_rows(
            code, self._uri, offsets[chosen], lambda each: say("entry of index", number=number + int(chosen[each]), why=of_entry)
        )
