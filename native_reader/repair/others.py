"""What other stores have where this one has no whole record. Of the same log, bytes are taken, in their places; of another one, messages.

The other store has the same log there if a record beside those bytes is equal in both, byte by byte. Two logs that part never have an
equal record after that. So an equal one after the bytes proves it; where there is none, because one of the logs ends, the record right
before them must be equal. What is still lacking then may be in the same queue of another log: see `same_queues`; or elsewhere in another
log, under the same unique key: see `same_keys`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.layout.inner import PLACEHOLDER_TAG
from native_reader.layout.kinds import DELAY_TOPIC, OP_TOPIC
from native_reader.layout.properties import CRC_SIZE, crc_trailer
from native_reader.layout.record import Mask, Numbers, put_physical_offsets, put_queue_places
from native_reader.repair.log_shape import BLANK
from native_reader.repair.records import CRCS, ReadSettings, bytes_at
from native_reader.repair.refusals import refusal
from native_reader.repair.same_keys import KEY_COLUMNS, SameKeys
from native_reader.repair.same_queues import COLUMNS, SameQueues
from native_reader.repair.survey import Survivors
from native_reader.repair.tiers import OwnTier, Placed, records_in, wanted_queues, without_expired
from native_reader.storage.filled import RANGE, FilledStorage, MadeStorage, Ranges
from native_reader.storage.store import PLAIN, Segment, StoreFiles
from native_reader.witness.look import look_at
from native_reader.writing.records import blank, crc_of

_BESIDE = 128 << 10, 16 << 20
"""How far from lost bytes records are compared. Where there is none, farther: the largest records have several MiB."""
AT_ONCE = 4 << 20
"""Lost bytes that are so close to each other are looked for together."""
MOST_OFFSET = 2**62
"""After all offsets of a log."""


class Taken(NamedTuple):
    """Messages of one queue that come from another store: at queue offsets `first` to `last`."""

    store: str
    topic: str
    queue_id: int
    first: int
    last: int
    is_moved: bool = False
    """Whether that store has them elsewhere in its log."""
    by_key: bool = False
    """Whether that store has them also in other queues or at other queue offsets: they were found by unique key."""

    @property
    def messages(self) -> int:
        """How many."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Filled:
    """A store together with what others have of it.

    Attributes:
        files: The store. Its segments are those of this store and of others, and some have bytes of both.
        in_place: The same without messages of the tier before the log.
        storage: Has these. They can be read as long as it exists.
        taken: The messages that come from others.
        ranges: The first and the next offset of bytes of the same log that do, and the store that has them.
        stores: All that were asked.
        parted: Those from which nothing was taken, and whose records beside lost bytes differ.
        differing: Of DLedger peers: the store, how many entries have other bytes there, and the first.
    """

    files: StoreFiles
    in_place: StoreFiles
    storage: Sequence[MadeStorage]
    taken: Sequence[Taken]
    ranges: Sequence[tuple[int, int, str]]
    stores: Sequence[str]
    parted: Sequence[str]
    differing: Sequence[tuple[str, int, int]] = ()
    tiered: frozenset[int] = frozenset()
    """The segments that were made of messages of the tier: where they begin."""

    def messages_of(self, store: str, *, is_moved: bool, by_key: bool = False) -> int:
        """How many messages come from a store, from the same log or from another one."""
        wanted = store, is_moved, by_key
        return sum(each.messages for each in self.taken if (each.store, each.is_moved, each.by_key) == wanted)

    def ranges_of(self, store: str) -> list[tuple[int, int]]:
        """The bytes that come from a store; those that follow each other as one range."""
        found = list[tuple[int, int]]()
        for start, stop, uri in self.ranges:
            if uri == store and found and found[-1][1] == start:
                found[-1] = found[-1][0], stop
            elif uri == store:
                found.append((start, stop))
        return found


def without_foreign(files: StoreFiles, reserved_hours: int) -> StoreFiles:
    """The store without segments of another broker."""
    foreign = look_at(files, files.segments[-1].end, reserved_hours, reads_log=False).foreign
    return replace(files, segments=tuple(each for each in files.segments if each.base not in foreign)) if foreign else files


def filled_from(
    files: StoreFiles,
    size: int,
    lacking: Sequence[tuple[int, int]],
    queues: Mapping[tuple[str, int], Survivors],
    settings: ReadSettings,
    *,
    tier: OwnTier | None = None,
    placed: Placed | None = None,
) -> Filled:
    """Take what others have.

    Args:
        files: The store.
        size: That of its segments.
        lacking: Offsets `[start, stop)` without a whole record, in order; the last may reach beyond the log.
        queues: What survived of each queue.
        settings: How stores are read, and which others there are.
        tier: Of the store; it may have what is lost. `placed`: what comes before the log from it.
    """
    others, left, found, taken, parted = settings.others, list(lacking), list[Piece](), list[Taken](), list[str]()
    for other in others:
        if any(each.framing != PLAIN or not each.uri.startswith("file://") for each in other.segments):
            raise refusal("other log", store=other.uri)
        refuse_other(files, other)
        peer = _Peer(files, other, settings, left)
        pieces = list(peer.pieces())
        if not pieces and peer.differs:
            parted.append(other.uri)
        found += pieces
        taken += peer.noted.taken()
        left = [rest for each in left for rest in without(each, pieces)]
    same, moved = SameQueues(queues, left), list[_Moved]()
    for other in others:
        records, of_queues = _of_queues(files, other, same, settings)
        moved.append(records)
        taken += of_queues
    for records, of_queues in () if tier is None else _of_tier(tier, files, same, settings):
        moved.append(records)
        taken += of_queues
    for other in others:
        records, of_keys = _of_keys(files, other, same, settings)
        moved.append(records)
        taken += of_keys
    storage, stores = FilledStorage(), [each.uri for each in others]
    ranges = sorted((each.start, each.stop, each.store) for each in found)
    whole = joined(files, size, sorted(found), storage, moved=moved)
    done = Filled(whole, whole, [storage], taken, ranges, stores, parted)
    if tier is None:
        return done
    done = done if placed is None or not placed.records else _before_log(done, placed, tier, size, settings)
    return replace(done, stores=[*stores, *((tier.store,) if any(each.store == tier.store for each in done.taken) else ())])


def _before_log(done: Filled, placed: Placed, tier: OwnTier, size: int, settings: ReadSettings) -> Filled:
    """The same with segments before the first one, of messages of the tier."""
    moved, taken = list[_Moved](), [*done.taken]
    for each, place in zip(placed.records, placed.places, strict=True):
        moved.append(_Moved(each.queue.as_store(), place, each.size, each.offset))
        taken += _runs_of(tier.store, each.queue.topic, each.queue.queue_id, each.slots)
    named, expired = without_expired(done.files, int(placed.all.min()), settings)
    bases, storage = frozenset((placed.all // size * size).tolist()), FilledStorage()
    files = joined(named, size, (), storage, moved=moved, ended=bases)
    return replace(done, files=files, storage=[*done.storage, expired, storage], taken=taken, tiered=bases)


def refuse_other(files: StoreFiles, other: StoreFiles) -> None:
    """Raise an error about a store that cannot have what this one lacks."""
    if other.uri == files.uri:
        raise refusal("same store", store=files.uri)
    for each in other.segments:
        own = files.segment_at(each.end - 1)
        if own is not None and own.base != each.base and own.end > each.base:
            raise refusal("other sizes", store=other.uri, name=each.name, other=own.name)


class Piece(NamedTuple):
    """Bytes `[start, stop)` of the log that a segment of another store has."""

    start: int
    stop: int
    store: str
    segment: Segment


class _Records(NamedTuple):
    """Whole records of the other log, in order."""

    offset: Numbers
    end: Numbers
    rows: pa.Table

    def where(self, which: Mask) -> _Records:
        return _Records(self.offset[which], self.end[which], self.rows.filter(pa.array(which)))


class Noted:
    """The messages that are taken from a store, by queue."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._queues: dict[tuple[str, int], list[tuple[int, int]]] = {}

    def add(self, rows: pa.Table) -> None:
        """Note the messages of each queue, those with consecutive queue offsets together."""
        for row in rows.group_by(["topic", "queue_id"]).aggregate([("queue_offset", "list")]).to_pylist():
            slots = np.unique(np.array(row["queue_offset_list"], np.int64))
            runs = self._queues.setdefault((row["topic"], row["queue_id"]), [])
            for part in np.split(slots, np.flatnonzero(np.diff(slots) != 1) + 1):
                first, last = int(part[0]), int(part[-1])
                if runs and runs[-1][1] + 1 == first:
                    first, _ = runs.pop()
                runs.append((first, last))

    def taken(self) -> Iterator[Taken]:
        """All of them."""
        for (topic, queue_id), runs in sorted(self._queues.items()):
            for first, last in runs:
                yield Taken(self._store, topic, queue_id, first, last)


class _Peer:
    """Another store, and what it has of the lost ranges of this one."""

    def __init__(self, files: StoreFiles, other: StoreFiles, settings: ReadSettings, holes: Sequence[tuple[int, int]]) -> None:
        self._files, self._other = files, other
        low, high = other.min_offset, max((each.end for each in other.segments), default=0)
        clipped = [(max(start, low), min(stop, high)) for start, stop in holes]
        self._holes = np.array([each for each in clipped if each[0] < each[1]], np.int64).reshape(-1, 2)
        self._settings = for_others(settings)
        self.noted = Noted(other.uri)
        self.differs = False
        """Whether records beside lost ranges are not equal."""

    def pieces(self) -> Iterator[Piece]:
        """What is taken, in order."""
        starts, stops = self._holes.T
        is_same = self._are_same(starts, stops)
        starts, stops = starts[is_same], stops[is_same]
        for low, high in together(starts, stops, AT_ONCE):
            for records in self._records(low, high):
                at = np.searchsorted(stops, records.offset, "right")
                start, stop = (np.append(each, MOST_OFFSET)[at] for each in (starts, stops))
                mine = (records.offset >= start) & (records.end <= stop)
                if mine.any():
                    self.noted.add(records.rows.filter(pa.array(mine)))
                    yield from self._runs(records.where(mine), stop[mine])

    def _are_same(self, starts: Numbers, stops: Numbers) -> Mask:
        """At which lost ranges both logs are the same one."""
        found, left = np.zeros(len(starts), np.bool_), np.arange(len(starts))
        for reach in _BESIDE:
            place, is_equal = self._beside(starts[left], stops[left], reach)
            self.differs |= bool(len(is_equal)) and not is_equal.all()
            before, after = np.searchsorted(place, starts[left]) - 1, np.searchsorted(place, stops[left])
            last = int(np.flatnonzero(is_equal)[-1]) if is_equal.any() else -1
            has_before = np.append(place, -MOST_OFFSET)[before] >= starts[left] - reach
            right_before = has_before & np.append(is_equal, False)[before]
            found[left] = np.where(after < len(place), last >= after, right_before)
            left = left[~has_before & (np.append(place, MOST_OFFSET)[after] >= stops[left] + reach)]
            if not len(left):
                break
        return found

    def _beside(self, starts: Numbers, stops: Numbers, reach: int) -> tuple[Numbers, Mask]:
        """The records of the other log that are so near to these ranges, and in no lost one: where they begin, and which are equal."""
        places, equal = [np.empty(0, np.int64)], [np.empty(0, np.bool_)]
        edges = np.concatenate([np.stack([starts - reach, starts], 1), np.stack([stops, stops + reach], 1)])
        edges = edges[np.argsort(edges[:, 0], kind="stable")]
        lost_from, lost_until = self._holes.T
        for low, high in together(np.maximum(edges[:, 0], 0), edges[:, 1], AT_ONCE):
            for records in self._records(low, high):
                at = np.searchsorted(lost_until, records.offset, "right")
                outside = records.where(records.end <= np.append(lost_from, MOST_OFFSET)[at])
                places.append(outside.offset)
                equal.append(self._is_equal(outside))
        return np.concatenate(places), np.concatenate(equal)

    def _records(self, low: int, high: int) -> Iterator[_Records]:
        """The whole records of the other log between two offsets, in order."""
        for rows in whole_rows(self._other, self._settings, starting_physical_offset=low or None, ending_physical_offset=high):
            offsets = rows["physical_offset"].to_numpy()
            yield _Records(offsets, offsets + rows["record_size"].to_numpy(), rows)

    def _is_equal(self, records: _Records) -> Mask:
        """Which records this log has, byte by byte. The loop is over those beside lost ranges."""
        found = np.zeros(len(records.offset), np.bool_)
        bases = np.array([each.base for each in self._files.segments], np.int64)
        number = np.searchsorted(bases, records.offset, "right")
        cuts = np.flatnonzero((number[1:] != number[:-1]) | (records.offset[1:] != records.end[:-1])) + 1
        for rows in np.split(np.arange(len(number)), cuts) if len(number) else ():
            begin, stop = int(records.offset[rows[0]]), int(records.end[rows[-1]])
            own, other = (bytes_at(files, begin, stop - begin) for files in (self._files, self._other))
            for row in rows.tolist():
                at = slice(int(records.offset[row]) - begin, int(records.end[row]) - begin)
                found[row] = bool(own[at]) and own[at] == other[at]
        return found

    def _runs(self, records: _Records, stop: Numbers) -> Iterator[Piece]:
        """Records that follow each other, segment by segment; with the blank after the last one of a segment.

        `stop`: of the lost range of each.
        """
        bases = np.array([each.base for each in self._other.segments], np.int64)
        number = np.searchsorted(bases, records.offset, "right") - 1
        is_first = np.append(True, (records.offset[1:] != records.end[:-1]) | (number[1:] != number[:-1]))
        begins = np.flatnonzero(is_first).tolist()
        for first, after in zip(begins, [*begins[1:], len(number)], strict=True):
            segment, end = self._other.segments[number[first]], int(records.end[after - 1])
            if end < segment.end <= stop[after - 1] and bytes_at(self._other, end, BLANK) == blank(segment.end - end):
                end = segment.end
            yield Piece(int(records.offset[first]), end, self._other.uri, segment)


def _is_made(rows: pa.RecordBatch) -> pa.Array:
    """Which records an earlier repair made: placeholders of lost messages, and fillers. See `filling`."""
    topic, tag = rows["topic"].cast(pa.string()), rows["tags"].cast(pa.string())
    is_small = pc.and_(pc.equal(rows["body_size"], 1), pc.and_(pc.is_null(tag), pc.is_null(rows["uniq_key"])))
    of_broker = pc.and_(pc.is_in(topic, pa.array([DELAY_TOPIC, OP_TOPIC])), is_small)
    named = pc.or_(pc.equal(topic, PLACEHOLDER_TAG), pc.fill_null(pc.equal(tag, PLACEHOLDER_TAG), fill_value=False))
    return pc.or_(named, of_broker)


def together(starts: Numbers, stops: Numbers, near: int) -> Iterator[tuple[int, int]]:
    """Ranges in order, those as one that are near to each other."""
    if not len(starts):
        return
    reached = np.maximum.accumulate(stops)
    cuts = np.flatnonzero(starts[1:] > reached[:-1] + near) + 1
    for part in np.split(np.arange(len(starts)), cuts):
        yield int(starts[part[0]]), int(reached[part[-1]])


def without(hole: tuple[int, int], pieces: Sequence[Piece]) -> Iterator[tuple[int, int]]:
    """What is left of a range."""
    start, stop = hole
    for piece in pieces:
        if start <= piece.start and piece.stop <= stop:
            if start < piece.start:
                yield start, piece.start
            start = piece.stop
    if start < stop:
        yield start, stop


class _Moved(NamedTuple):
    """Records of another log: where they come to be, their sizes, and where they are there.

    `queue_id`, `slot`: their queue and queue offset here, if they are others there. `checksum`: see `RANGE`.
    """

    other: StoreFiles
    place: Numbers
    size: Numbers
    offset: Numbers
    queue_id: Numbers | int = -1
    slot: Numbers | int = -1
    checksum: Numbers | int = -1


def _of_queues(files: StoreFiles, other: StoreFiles, same: SameQueues, settings: ReadSettings) -> tuple[_Moved, list[Taken]]:
    """What another store has elsewhere in its log."""
    rows = whole_rows(other, for_others(settings)) if len(same.lost.key) else iter(())
    which, offsets = same.found_in(rows, files, other)
    found = same.lost.where(which)
    same.without(which)
    taken = [Taken(other.uri, *run, is_moved=True) for run in same.runs_of(found.key)]
    return _with_checksums(_Moved(other, found.offset, found.size, offsets)), taken


def _of_keys(files: StoreFiles, other: StoreFiles, same: SameQueues, settings: ReadSettings) -> tuple[_Moved, list[Taken]]:
    """What another store has under the same unique key."""
    keys = SameKeys(files, same)
    which, offsets = keys.found_in(whole_rows(other, for_others(settings), KEY_COLUMNS) if keys else ())
    found = same.lost.where(which)
    same.without(which)
    places = [same.place_of(key) for key in found.key.tolist()]
    queue_ids, slots = (np.array([place[at] for place in places], np.int64) for at in (1, 2))
    taken = [Taken(other.uri, *run, is_moved=True, by_key=True) for run in same.runs_of(found.key)]
    return _with_checksums(_Moved(other, found.offset, found.size, offsets, queue_ids, slots)), taken


def _with_checksums(moved: _Moved) -> _Moved:
    """With those that records have (enabledAppendPropCRC): they cover the place of a record. The loop is over records of another log."""
    sums = np.full(len(moved.place), -1)
    for row, (offset, size) in enumerate(zip(moved.offset.tolist(), moved.size.tolist(), strict=True)):
        if crc_trailer(bytes_at(moved.other, offset + size - CRC_SIZE, CRC_SIZE)) is not None:
            u8 = np.frombuffer(bytes_at(moved.other, offset, size), np.uint8)[:-CRC_SIZE].copy()
            put_physical_offsets(u8, np.zeros(1, np.int64), moved.place[row : row + 1])
            if isinstance(moved.queue_id, np.ndarray) and isinstance(moved.slot, np.ndarray):
                put_queue_places(u8, np.zeros(1, np.int64), moved.queue_id[row : row + 1], moved.slot[row : row + 1])
            sums[row] = crc_of(u8.tobytes())
    return moved._replace(checksum=sums)


def _of_tier(tier: OwnTier, files: StoreFiles, same: SameQueues, settings: ReadSettings) -> Iterator[tuple[_Moved, list[Taken]]]:
    """What the tier has of the lost messages, queue by queue."""
    with_lost = {same.place_of(key)[:2] for key in same.firsts}
    for queue in wanted_queues(tier, files, settings.choices):
        if queue.name in with_lost:
            log = queue.as_store()
            which, offsets = same.found_in([records_in(queue, settings).rows], files, log, is_own=True)
            found = same.lost.where(which)
            slots = np.array([same.place_of(key)[2] for key in found.key.tolist()], np.int64)
            same.without(which)
            yield _Moved(log, found.offset, found.size, offsets), list(_runs_of(tier.store, *queue.name, slots))


def _runs_of(store: str, topic: str, queue_id: int, slots: Numbers) -> Iterator[Taken]:
    """Messages at these queue offsets, in order, those that follow each other together."""
    for run in np.split(slots, np.flatnonzero(np.diff(slots) != 1) + 1) if len(slots) else ():
        yield Taken(store, topic, queue_id, int(run[0]), int(run[-1]), is_moved=True)


def for_others(settings: ReadSettings) -> ReadSettings:
    """Another store is read without a choice of what to keep of its damage."""
    return settings._replace(progress=False, choices=settings.choices._replace(crc=CRCS[0]))


def whole_rows(other: StoreFiles, settings: ReadSettings, columns: Sequence[str] = COLUMNS, **bounds: int | None) -> Iterator[pa.Table]:
    """The whole records of another store, in order, without those that a repair made. `columns`: at least `COLUMNS`."""
    for batch in settings.scan(other, columns, **bounds).to_batches(settings.jobs):
        yield pa.Table.from_batches([batch]).filter(pc.invert(_is_made(batch)))


def joined(
    files: StoreFiles,
    size: int,
    pieces: Sequence[Piece],
    storage: FilledStorage,
    *,
    moved: Sequence[_Moved] = (),
    framing: str = PLAIN,
    ended: Collection[int] = (),
) -> StoreFiles:
    """The store with these bytes. A plain segment that it does not have comes whole, or has nothing but records of other logs.

    `ended`: the segments that end with a blank.
    """
    segments, uris, ranges = {each.base: each for each in files.segments}, list[str](), defaultdict[int, list[NDArray[np.void]]](list)
    for piece in pieces:
        base = piece.segment.base
        if framing != PLAIN or segments.setdefault(base, piece.segment).uri != piece.segment.uri:
            ranges[base].append(np.array([(piece.start - base, piece.stop - base, len(uris), piece.start - base, -1, -1, -1, -1)], RANGE))
            uris.append(piece.segment.uri)
    for each in moved:
        for base, rows in _by_segment(each, size, len(uris)):
            ranges[base].append(rows)
        uris += [segment.uri for segment in each.other.segments]
    for base, parts in ranges.items():
        rows = np.sort(np.concatenate(parts), order="start")
        own = segments.get(base)
        least = size if own is None else max(own.size, int(rows["stop"][-1]))
        name = f"{base:020d}" if own is None else own.uri.rpartition("/")[2]
        end = blank(size - int(rows["stop"][-1])) if base in ended else b""
        uri = storage.add(None if own is None else own.uri, name, Ranges(uris, rows), least, end)
        segments[base] = Segment(base, least, uri, 0, framing) if own is None else replace(own, uri=uri, size=least)
    return replace(files, segments=tuple(segments[base] for base in sorted(segments)))


def _by_segment(moved: _Moved, size: int, first: int) -> Iterator[tuple[int, NDArray[np.void]]]:
    """The ranges of each segment. `first`: the number of the first file of the other log."""
    bases = np.array([each.base for each in moved.other.segments], np.int64)
    number = np.searchsorted(bases, moved.offset, "right") - 1
    own = moved.place // size * size
    rows = np.empty(len(own), RANGE)
    rows["start"], rows["stop"], rows["offset"] = moved.place - own, moved.place - own + moved.size, moved.place
    rows["file"], rows["at"] = first + number, moved.offset - bases[number]
    rows["queue_id"], rows["slot"], rows["checksum"] = moved.queue_id, moved.slot, moved.checksum
    order = np.argsort(own, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(own[order])) + 1) if len(order) else ():
        yield int(own[part[0]]), rows[part]
