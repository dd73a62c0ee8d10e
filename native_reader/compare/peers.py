"""The logs of DLedger peers compared entry by entry: what each has, where they part, and which to take.

By Raft's rule, the peer with the highest last term has all entries that the group acknowledged; of several, that with the highest last
index. On all peers, an entry with the same index and term has the same bytes, and so have all entries before it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.errors import OptionError
from native_reader.layout.record import ENTRY, ENTRY_HEAD, Mask, Numbers
from native_reader.lazy import Scan
from native_reader.options import LENIENT, MessageOptions
from native_reader.plan.ways import SCAN
from native_reader.records.damages import FROM_PROPERTIES, NO_DAMAGE, Damages
from native_reader.records.entries import unused_from
from native_reader.scan.progress import Watch
from native_reader.sentences import ENGLISH, Said, say
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import DLEDGER, StoreFiles

_SPAN = 8 << 20
_PLACES = ("physical_offset", "record_size")
_CHECKPOINT = 4096
COLUMNS = (
    *("peer", "store", "first_index", "last_index", "last_term", "committed_index", "end_offset", "entries", "missing_entries"),
    *("damaged_ranges", "first_difference"),
)


class Entries(NamedTuple):
    """The whole entries of a log, in order. `number`: their index; `checksum`: of all bytes of each."""

    number: Numbers
    term: Numbers
    place: Numbers
    size: Numbers
    checksum: Numbers

    def where(self, which: Mask | Numbers) -> Entries:
        """Only these."""
        return Entries._make(column[which] for column in self)


@dataclass(frozen=True, slots=True)
class Peer:
    """One peer.

    Attributes:
        name: A letter, in the order of the arguments.
        entries: What is whole of its log.
        damage: What is not. Its own entries that are no messages are none.
        end: Where its log ends.
        committed: The last entry that it knew to be on most peers; None if its checkpoint does not say.
        written: The last entry that its checkpoint names; None as well.
    """

    name: str
    files: StoreFiles
    entries: Entries
    damage: Damages
    end: int
    committed: int | None
    written: int | None

    @property
    def rank(self) -> tuple[int, int, int]:
        """Raft's rule; of equal peers, the one that lacks least."""
        count = len(self.entries.number)
        return (int(self.entries.term[-1]), int(self.entries.number[-1]), count) if count else (-1, -1, 0)

    @property
    def missing(self) -> int:
        """How many entries between its first and its last are not whole."""
        index = self.entries.number
        return int(index[-1] - index[0]) + 1 - len(index) if len(index) else 0

    @property
    def lost_end(self) -> bool:
        """Whether its log ends before the last entry that its checkpoint names."""
        return self.written is not None and self.written > (int(self.entries.number[-1]) if len(self.entries.number) else -1)


class Difference(NamedTuple):
    """Where a peer first differs from the one to take: the index of the entry, its term, and that in the other."""

    number: int
    term: int
    other_term: int

    @property
    def same_term(self) -> bool:
        """Whether both have this entry in one term, with other bytes."""
        return self.term == self.other_term


@dataclass(frozen=True)
class Peers:
    """The comparison of DLedger peers.

    Examples:
        >>> from pathlib import Path
        >>> from native_reader.testing import CommitLog, Message
        >>> for name, count in (("p0", 5), ("p1", 8)):
        ...     log, data = CommitLog(4096, framing="dledger"), Path(name, "dledger-n0", "data")
        ...     data.mkdir(parents=True)
        ...     placed = [log.append(Message(topic="orders", body=b"paid", queue_offset=number)) for number in range(count)]
        ...     written = [data.joinpath(file).write_bytes(content) for file, content in log.files().items()]
        >>> print(*list(rmqstore.peers("p0", "p1").lines())[-3:], sep="\\n")
        a is as b up to entry 4, and lacks 3 entries after it
        take b: it has the highest last term, 1, and of the peers with it the highest last index, 7 (Raft's rule)
        do not remove the files of any peer: rename its folder, and keep it until a broker serves what you need
    """

    peers: Sequence[Peer]

    @cached_property
    def chosen(self) -> Peer | None:
        """The peer to take; None if none has a whole entry."""
        best = max(self.peers, key=lambda peer: peer.rank)
        return best if len(best.entries.number) else None

    def difference(self, peer: Peer) -> Difference | None:
        """Find the first entry that is another one in the peer to take.

        Args:
            peer: One of the peers.

        Returns:
            The entry; None if there is none.
        """
        if (chosen := self.chosen) is None or peer is chosen:
            return None
        one, other = shared(peer.entries, chosen.entries)
        differs = np.flatnonzero((one.checksum != other.checksum) | (one.term != other.term))
        if not len(differs):
            return None
        at = int(differs[0])
        return Difference(int(one.number[at]), int(one.term[at]), int(other.term[at]))

    @property
    def is_clean(self) -> bool:
        """Whether all have the same whole entries, and nothing is damaged."""
        first = self.peers[0].entries
        same = all(len(each.entries.number) == len(first.number) and (each.entries.checksum == first.checksum).all() for each in self.peers)
        return same and len(first.number) > 0 and not any(_is_hurt(peer) for peer in self.peers)

    def rows(self) -> Iterator[dict[str, Any]]:
        """What each has, with the names of COLUMNS."""
        for peer in self.peers:
            index, difference = peer.entries.number, self.difference(peer)
            first, last = (int(index[0]), int(index[-1])) if len(index) else (None, None)
            values = (
                *(peer.name, peer.files.uri, first, last, int(peer.entries.term[-1]) if len(index) else None, peer.committed, peer.end),
                *(len(index), peer.missing, len(peer.damage), None if difference is None else difference.number),
            )
            yield dict(zip(COLUMNS, values, strict=True))

    def lines(self, language: str = ENGLISH) -> Iterator[str]:
        """What was found, and what to do.

        Args:
            language: `en` or `zh`.
        """
        return (each.text(language) for each in self.said())

    def said(self) -> Iterator[Said]:
        """The same, without its words."""
        for peer in self.peers:
            yield from _about(peer)
        if (chosen := self.chosen) is None:
            yield Said("peers all empty")
        else:
            for peer in self.peers:
                if peer is not chosen and len(peer.entries.number):
                    yield self._compared(peer, chosen)
            term, index = int(chosen.entries.term[-1]), int(chosen.entries.number[-1])
            yield say("peer to take", name=chosen.name, term=term, index=index)
            yield from self._elsewhere(chosen)
        yield Said("peers stay")

    def _compared(self, peer: Peer, chosen: Peer) -> Said:
        """How a peer differs from the one to take."""
        names = {"name": peer.name, "chosen": chosen.name}
        one, _ = shared(peer.entries, chosen.entries)
        if not len(one.number):
            return say("peers share nothing", **names)
        if (difference := self.difference(peer)) is not None:
            if difference.same_term:
                return say("peers contradict", **names, index=difference.number, term=difference.term)
            after = int((peer.entries.number >= difference.number).sum())
            terms = {"term": difference.term, "other": difference.other_term}
            return say("peers part", **names, index=difference.number, count=after, **terms)
        last, own = int(chosen.entries.number[-1]), int(peer.entries.number[-1])
        if last > own:
            return say("peer lags", **names, index=own, count=last - own)
        return say("peer is same", **names)

    def _elsewhere(self, chosen: Peer) -> Iterator[Said]:
        """Which entries that the peer to take lacks are in others, between equal ones."""
        own = chosen.entries.number
        for peer in self.peers if chosen.missing > 0 else ():
            if peer is chosen:
                continue
            index = peer.entries.number
            index = index[(index > own[0]) & (index < own[-1]) & (index <= agreed(peer.entries, chosen.entries))]
            found = int((~np.isin(index, own)).sum())
            yield say("peer has lacking", name=peer.name, chosen=chosen.name, count=found, lacking=chosen.missing)


def peers_of(stores: Sequence[StoreFiles], *, jobs: int = 1, progress: Watch = False) -> Peers:
    """Read the logs of these stores, one after another."""
    framed = [not store.segments or any(each.framing == DLEDGER for each in store.segments) for store in stores]
    for store, is_peer in zip(stores, framed, strict=True):
        if not is_peer:
            raise OptionError(say("no peer", uri=store.uri))
    return Peers([peer_of(chr(ord("a") + number), store, jobs, progress) for number, store in enumerate(stores)])


def shared(one: Entries, other: Entries) -> tuple[Entries, Entries]:
    """The entries with an index that both have."""
    _, rows, others = np.intersect1d(one.number, other.number, assume_unique=True, return_indices=True)
    return one.where(rows), other.where(others)


def agreed(one: Entries, other: Entries) -> int:
    """The last index up to which both logs have the same entries, also where one of them lost some; -1 if nothing shows any.

    In a term, only the leader appends entries. So a peer that has an entry of a term also got all entries before it in the leader's log.
    """
    terms = np.intersect1d(one.term, other.term)
    lasts = [min(int(each.number[each.term == term].max()) for each in (one, other)) for term in terms]
    return max(lasts, default=-1)


def _is_hurt(peer: Peer) -> bool:
    return bool(len(peer.damage)) or peer.missing > 0 or peer.lost_end


def _about(peer: Peer) -> Iterator[Said]:
    """What a peer has, and what of it is not whole."""
    index = peer.entries.number
    if not len(index):
        yield say("peer is empty", name=peer.name, store=peer.files.uri)
    else:
        values = {"first": int(index[0]), "last": int(index[-1]), "term": int(peer.entries.term[-1]), "end": peer.end}
        yield say("peer has", name=peer.name, store=peer.files.uri, **values)
        if peer.committed is not None and peer.committed < index[-1]:
            yield say("peer not committed", name=peer.name, count=int(index[-1]) - peer.committed)
    if len(peer.damage) or peer.missing:
        yield say("peer is damaged", name=peer.name, ranges=len(peer.damage), entries=peer.missing)
    if peer.damage:
        first = peer.damage[0]
        yield say("peer damaged first", name=peer.name, file=first.segment.rpartition("/")[2], offset=first.start, what=first.said)
    if peer.lost_end and peer.written is not None:
        yield say("peer lost its end", name=peer.name, index=peer.written)


def peer_of(name: str, files: StoreFiles, jobs: int, progress: Watch) -> Peer:
    """Read the log of one peer."""
    if not files.segments:
        return Peer(name, files, Entries._make(np.empty(0, np.int64) for _ in Entries._fields), NO_DAMAGE, 0, None, None)
    scan = Scan((files,), MessageOptions(columns=list(_PLACES), access=SCAN, verify_crc=True, **LENIENT))
    run = scan.run(jobs, progress)
    batches = [[batch.column(number).to_numpy(zero_copy_only=False) for number in (0, 1)] for batch in run]
    places, sizes = (np.concatenate([np.empty(0, np.int64), *(each[number].astype(np.int64) for each in batches)]) for number in (0, 1))
    begin = min(each.base for each in files.segments if each.framing == DLEDGER)
    damage = Damages.of(run.report.damage)
    torn = np.array([each.start for each in damage if each.anomaly == FROM_PROPERTIES], np.int64)  # zeros begin in the record before
    is_own = (places >= begin) & ~np.isin(places + sizes, torn) & np.append(True, places[1:] != places[:-1])[: len(places)]
    starts, sizes, end = places[is_own] - ENTRY_HEAD, sizes[is_own] + ENTRY_HEAD, dict(scan.plan().ends)[files.uri]
    others = list(_others(files, np.append(starts, end), np.append(begin, starts + sizes)))
    starts, sizes = (np.append(known, np.array([each[number] for each in others], np.int64)) for number, known in ((0, starts), (1, sizes)))
    order = np.argsort(starts, kind="stable")
    damage = damage.where(np.array([unused_from(files, each.start, each.end).stop < each.end for each in damage], np.bool_))
    entries = _entries(files, starts[order], sizes[order])
    end = max(end, int((starts + sizes).max(initial=0)))
    return Peer(name, files, entries, damage, end, *_progress_of(files))


def _others(files: StoreFiles, starts: Numbers, stops: Numbers) -> Iterator[tuple[int, int]]:
    """The entries of DLedger itself, between those of messages and after them."""
    for row in np.flatnonzero(starts > stops).tolist():
        at, stop = int(stops[row]), int(starts[row])
        while at < stop and (segment := files.segment_at(at)) is not None and at < segment.end:
            found = unused_from(files, at, min(stop, segment.end))
            yield from found.entries
            at = segment.end
    end = int(max(starts[-1], stops[-1]))
    if (segment := files.segment_at(end)) is not None:
        yield from unused_from(files, end, segment.end).entries


def _entries(files: StoreFiles, starts: Numbers, sizes: Numbers) -> Entries:
    """What the heads of entries say, and a checksum of each. Heads that do not follow those beside them are damaged, and left out."""
    heads, checksums = [np.empty(0, ENTRY)], [np.empty(0, np.int64)]
    bases = np.array([each.base for each in files.segments], np.int64)
    number = np.searchsorted(bases, starts, "right") - 1
    breaks = (np.diff(number) != 0) | (np.diff(starts // _SPAN) != 0)
    for part in np.split(np.arange(len(starts)), np.flatnonzero(breaks) + 1) if len(starts) else ():
        segment, first, stop = files.segments[int(number[part[0]])], int(starts[part[0]]), int(starts[part[-1]] + sizes[part[-1]])
        with storage_of(segment.uri).open(segment.uri) as file:
            content = file.read_array(first - segment.base, np.dtype(np.uint8), stop - first)
        at = starts[part] - first
        heads.append(np.ascontiguousarray(content[at[:, None] + np.arange(ENTRY_HEAD)]).view(ENTRY).reshape(-1))
        sums = [zlib.crc32(content.data[one : one + size]) for one, size in zip(at.tolist(), sizes[part].tolist(), strict=True)]
        checksums.append(np.array(sums, np.int64))
    head = np.concatenate(heads)
    found = Entries(head["index"].astype(np.int64), head["term"].astype(np.int64), starts, sizes, np.concatenate(checksums))
    is_right = _follows(found.number, rises=True) & _follows(found.term, rises=False)
    is_beside = starts[1:] == starts[:-1] + sizes[:-1]
    is_next = is_beside & (np.diff(found.number) == 1)
    if len(starts) > _FEW_ENTRIES and is_next[1:3].all() and is_beside[0] and not is_next[0]:
        is_right[0] = False
    if len(starts) > _FEW_ENTRIES and is_next[-3:-1].all() and is_beside[-1] and not is_next[-1]:
        is_right[-1] = False
    return found.where(is_right)


_FEW_ENTRIES = 3
"""With more, the index of the first or last one is wrong if those beside it follow each other and it does not follow them."""


def _follows(numbers: Numbers, *, rises: bool) -> NDArray[np.bool_]:
    """Which numbers are between their neighbours. Both neighbours must agree with each other, so that one wrong number is left out."""
    is_right = np.ones(len(numbers), np.bool_)
    before, own, after = numbers[:-2], numbers[1:-1], numbers[2:]
    is_right[1:-1] = (before > after) | ((before < own) & (own < after) if rises else (before <= own) & (own <= after))
    return is_right


def _progress_of(files: StoreFiles) -> tuple[int | None, int | None]:
    """What its checkpoint says: the last committed entry, and the last one."""
    data = next(each.directory for each in files.segments if each.framing == DLEDGER)
    uri, found = f"{data.rpartition('/')[0]}/checkpoint", dict[str, int]()
    with suppress(OSError), storage_of(uri).open(uri) as file:
        (content,) = file.read_ranges([(0, _CHECKPOINT)])
        for line in content.decode("ascii", "replace").splitlines():
            name, _, value = line.partition("=")
            if value.strip().lstrip("-").isdecimal():
                found[name.strip()] = int(value)
    return found.get("committedIndex"), found.get("endIndex")
