"""What other peers of a DLedger group have where one of them has no whole entry: the entry itself, in its place.

The terms of entries show up to which entry two logs are the same: see `agreed`. If that is the last entry of this log, the entries that
the other log has after it are taken too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa

from native_reader.compare.peers import Entries, Peer, agreed, peer_of, shared
from native_reader.layout.record import ENTRY_HEAD, Mask, Numbers
from native_reader.repair.log_shape import BLANK, segment_size
from native_reader.repair.others import (
    AT_ONCE,
    MOST_OFFSET,
    Filled,
    Noted,
    Piece,
    Taken,
    for_others,
    joined,
    refuse_other,
    together,
    whole_rows,
    without,
)
from native_reader.repair.records import ReadSettings, bytes_at
from native_reader.repair.refusals import refusal
from native_reader.storage.filled import FilledStorage
from native_reader.storage.store import DLEDGER, StoreFiles


def united(files: StoreFiles, settings: ReadSettings, contradicted: Callable[[StoreFiles], Numbers], *, earlier: bool) -> Filled:
    """The log of a peer with what others have of it.

    `contradicted`: the offsets of entries that something else in their store contradicts. `earlier`: also what is before the first entry.
    """
    for other in settings.others:
        if other.segments and not any(each.framing == DLEDGER for each in other.segments):
            raise refusal("other is no peer", store=other.uri)
        refuse_other(files, other)
    reading = settings.doing("reading")
    own, *peers = (peer_of("", each, settings.jobs, reading.progress) for each in (files, *settings.others))
    doubtful = [_doubtful(each, [other.entries for other in (own, *peers) if other is not each], contradicted) for each in (own, *peers)]
    union = _Union(own, doubtful[0], earlier=earlier)
    for number in sorted(range(len(peers)), key=lambda number: peers[number].rank, reverse=True):
        entries = peers[number].entries
        union.take(replace(peers[number], entries=entries.where(~np.isin(entries.number, doubtful[number + 1]))), settings)
    return union.filled([each.uri for each in settings.others])


def _doubtful(peer: Peer, others: Sequence[Entries], contradicted: Callable[[StoreFiles], Numbers]) -> Numbers:
    """The entries of a peer that something in its store contradicts, or two peers that agree, if none agrees with it."""
    own = peer.entries
    if not len(own.number):
        return own.number
    found = own.number[np.isin(own.place, contradicted(peer.files))]
    for pair in combinations(others, 2):
        one, two = shared(*pair)
        mine, theirs = shared(own, one.where(one.checksum == two.checksum))
        found = np.union1d(found, mine.number[(mine.checksum != theirs.checksum) & (mine.term == theirs.term)])
    for mine, theirs in (shared(own, each) for each in others):
        found = np.setdiff1d(found, mine.number[mine.checksum == theirs.checksum])
    return found


class _Union:
    """A log that grows. `doubtful`: the entries whose bytes may be wrong."""

    def __init__(self, own: Peer, doubtful: Numbers, *, earlier: bool) -> None:
        self._files, self._own, self._doubtful = own.files, own.entries, doubtful
        self._first = 0 if earlier or not len(own.entries.number) else int(own.entries.number[0])
        self._pieces = list[Piece]()
        self._ranges = list[tuple[int, int, str]]()
        self._taken = list[Taken]()
        self._parted = list[str]()
        self._differing = list[tuple[str, int, int]]()

    def take(self, other: Peer, settings: ReadSettings) -> None:
        """Add what another peer has."""
        own, theirs, uri = self._own, other.entries, other.files.uri
        one, two = shared(own, theirs)
        limit = agreed(own, theirs) if (one.checksum == two.checksum).any() else -1
        if limit < 0:
            self._parted += [uri] if len(one.number) else []
            return
        differing = one.number[(one.checksum != two.checksum) & (one.number <= limit)]
        replaced = np.intersect1d(differing, self._doubtful)
        differing = np.setdiff1d(differing, replaced)
        self._differing += [(uri, len(differing), int(differing[0]))] if len(differing) else []
        last, end, beyond = int(own.number[-1]), int(own.place[-1] + own.size[-1]), theirs.number > limit
        goes_on = limit == last and bool(beyond.any() and (theirs.place[beyond] >= end).all())
        if limit < last and beyond.any() and other.rank > (int(own.term[-1]), last, len(own.number)):
            raise refusal("peers part", store=self._files.uri, other=uri, index=limit)
        own = own.where(~np.isin(own.number, replaced))
        is_new = ~np.isin(theirs.number, own.number) & (theirs.number >= self._first) & _fits(theirs, own)
        taken = theirs.where(is_new & (~beyond | goes_on))
        inside = [*_runs(taken.where(taken.number <= last), other.files), *self._blanks(theirs.where(~beyond), other.files)]
        pieces = sorted([*inside, *(_after(end, other.files) if goes_on else ())])
        self._pieces = sorted([Piece(*rest, *each[2:]) for each in self._pieces for rest in without(each[:2], pieces)] + pieces)
        self._parted += [uri] if not len(taken.number) and beyond.any() else []
        self._note(taken, other.files, settings)
        if goes_on:
            stop = other.files.segments[-1].end
            self._files = replace(self._files, segments=tuple(each for each in self._files.segments if each.base < stop))
        self._doubtful = np.setdiff1d(self._doubtful, taken.number)
        both = [np.concatenate(pair) for pair in zip(own, taken, strict=True)]
        self._own = Entries._make(both).where(np.argsort(both[0], kind="stable"))

    def _blanks(self, theirs: Entries, other: StoreFiles) -> Iterator[Piece]:
        """The unused ends of files that this log has otherwise: they are all that is between two entries that follow each other."""
        ends = (theirs.place + theirs.size)[:-1]
        for row in np.flatnonzero((np.diff(theirs.number) == 1) & (theirs.place[1:] > ends)).tolist():
            start, segment = int(ends[row]), other.segment_at(int(ends[row]))
            if segment is not None and bytes_at(self._files, start, BLANK) != bytes_at(other, start, BLANK):
                yield Piece(start, segment.end, other.uri, segment)

    def _note(self, taken: Entries, other: StoreFiles, settings: ReadSettings) -> None:
        """Note which messages these entries hold."""
        noted = Noted(other.uri)
        for low, high in together(taken.place, taken.place + taken.size, AT_ONCE):
            for rows in whole_rows(other, for_others(settings), starting_physical_offset=low or None, ending_physical_offset=high):
                noted.add(rows.filter(pa.array(np.isin(rows["physical_offset"].to_numpy(), taken.place + ENTRY_HEAD))))
        self._taken += noted.taken()
        self._ranges += [(each.start, each.stop, each.store) for each in _runs(taken, other)]

    def filled(self, stores: Sequence[str]) -> Filled:
        """The store with all of it. `stores`: all that were asked."""
        storage = FilledStorage()
        files = joined(self._files, segment_size(self._files), self._pieces, storage, framing=DLEDGER) if self._pieces else self._files
        return Filled(files, files, [storage], self._taken, sorted(self._ranges), stores, self._parted, self._differing)


def _fits(theirs: Entries, own: Entries) -> Mask:
    """Which entries are in no bytes of others."""
    before = np.searchsorted(own.place, theirs.place, "right")
    begins = np.append(0, own.place + own.size)[before]
    fits: Mask = (begins <= theirs.place) & (theirs.place + theirs.size <= np.append(own.place, MOST_OFFSET)[before])
    return fits


def _runs(entries: Entries, files: StoreFiles) -> Iterator[Piece]:
    """Entries that follow each other, file by file."""
    number = np.searchsorted([each.base for each in files.segments], entries.place, "right") - 1
    is_first = (entries.place[1:] != (entries.place + entries.size)[:-1]) | (np.diff(number) != 0)
    for part in np.split(np.arange(len(number)), np.flatnonzero(is_first) + 1) if len(number) else ():
        first, last = int(part[0]), int(part[-1])
        segment = files.segments[int(number[first])]
        yield Piece(int(entries.place[first]), int(entries.place[last] + entries.size[last]), files.uri, segment)


def _after(end: int, files: StoreFiles) -> Iterator[Piece]:
    """All that follows an offset: also what is damaged of it, and what was not written yet."""
    for segment in files.segments:
        if segment.end > end and segment.framing == DLEDGER:
            yield Piece(max(segment.base, end), segment.end, files.uri, segment)
