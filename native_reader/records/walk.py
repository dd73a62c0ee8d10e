"""Walk from record to record through one segment, in chunks: to read a split (`ReadWalk`) or to find an end (`EndWalk`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from native_reader import kernel
from native_reader.layout.begin import closes, read_pair, read_size
from native_reader.layout.record import (
    BLANK_HEAD,
    ENTRY_SIZE_AT,
    LONGEST_HEAD,
    PADDING,
    SMALLEST_RECORD,
    Index,
    Records,
    magics,
    measure,
    pairs_at,
    sizes_at,
)
from native_reader.records.damages import NO_DAMAGE, RANGE, Account, Damages
from native_reader.records.sync import candidates, places_of, proven, record_size_at, sync, valid_records
from native_reader.records.trouble import (
    TOO_LARGE,
    ZEROS,
    ZEROS_FROM_PROPERTIES,
    anomalies_at,
    damage_error,
    forged_record_error,
    past_end_error,
    too_large_error,
)
from native_reader.storage.window import Positions, Window

CHUNK = 4 << 20
"""Fits a core's cache: larger chunks were measured to be slower, and need more memory."""
FIRST_CHUNK = 64 << 10
"""Enough for the first rows, if only they are wanted."""
_AFTER_DAMAGE = 8 << 10
"""Small at first: data forged to break the chain again and again would otherwise be loaded again and again."""
_AFTER_CUT = 4 << 10
_LARGE = 1 << 10
"""Above this mean record size, hopping from record to record is cheaper than searching all bytes."""
_NO_LIMIT = 2**63 - 1
_NULS = bytes(3)

Pair = tuple[Positions, Positions]


class Piece(NamedTuple):
    """Consecutive bytes of a segment: their records, and the damage among them. Either can be empty."""

    records: Records
    damages: Damages


class _Walk:
    """The common part: walks the records that start in `[start, stop)` and below `end`, and the damage between them.

    Use the records of a piece before requesting the next: they share the window's one buffer.
    `start` must be certain: anything there but a record is damage. Records over `load_limit` are not loaded, only their heads;
    those over `limit` are not returned.
    """

    _describes_damage = True
    _first_look = FIRST_CHUNK

    def __init__(self, window: Window, span: tuple[int, int, int], *, load_limit: int, limit: int, skip_damage: bool) -> None:
        self.reached, self._stop, self._end = span
        self._window, self._frame = window, window.segment.frame
        self._until = min(self._stop, self._end)
        self._load_limit, self._limit, self._skip_damage = load_limit, limit, skip_damage
        self.account = Account()
        self.is_closed = False
        """Whether the walk reached the segment's blank."""
        self.last_record: tuple[int, int] | None = None
        """Position and size of the last record, with its frame."""

    def _pieces(self) -> Iterator[Piece]:
        look = self._first_look
        while (begin := self.reached) < self._until:
            records = self._chunk(look)
            if len(records):
                self._advance(records)
                yield Piece(records, NO_DAMAGE)
            if self._skip_damage:
                yield from self._rest_of_window()
            if self.reached == begin:
                yield from self._skip()
                look = _AFTER_DAMAGE
            else:
                look = self._next_look(look)

    def _next_look(self, look: int) -> int:
        """How much to load next: little if most of the previous load was not used."""
        window = self._window
        stopped_early = self._skip_damage and window.position + window.filled - self.reached > window.filled // 2
        return _AFTER_DAMAGE if stopped_early else min(look * 8, CHUNK)

    def _chunk(self, look: int) -> Records:
        """Load a chunk, and return the valid records from its first byte on, up to the first one over the limit."""
        window, frame, position, length = self._window, self._frame, self.reached, self._until - self.reached
        window.load(position, min(look, length + _AFTER_CUT))
        records = self._proven(length)
        if not len(records) and (size := record_size_at(window, position)) is not None and size > window.filled:
            if size - frame > self._load_limit:
                records, _ = measure(window.u8, window.filled, np.array([frame], np.intp), window.offset)
            else:
                window.load(position, size)
                records = self._proven(1)
        if len(records) and records.largest > self._limit:
            first = int(np.argmax(records.sizes > self._limit))
            if not self._skip_damage:
                raise too_large_error(window, position + int(records.starts[first]) - frame, int(records.sizes[first]), self._limit)
            return records[:first]
        return records

    def _proven(self, length: int) -> Records:
        if not self._window.unreadable and (records := kernel.chain(self._window, length, self._frame)) is not None:
            return records
        starts = self._guess(length)
        records, valid = valid_records(self._window, starts)
        return records if valid.all() else records[: int(np.argmin(valid))]

    def _guess(self, length: int) -> Index:
        """Probable starts of records. A start is right if all before it are valid records that lead to it."""
        is_large = self.account.record_bytes > _LARGE * self.account.records
        starts = None if is_large else self._by_magic(length)
        return self._by_size(length) if starts is None else starts

    def _by_magic(self, length: int) -> Index | None:
        """The start that belongs to each magic; None if they do not form a chain, because bodies contain magics."""
        starts = magics(self._window.u8, self._window.filled, self._window.scratch)
        starts = starts[(starts >= self._frame) & (starts < min(length + self._frame, self._window.filled - SMALLEST_RECORD + 1))]
        sizes = sizes_at(self._window.u8, starts)
        is_chain = len(starts) and starts[0] == self._frame and bool((starts[1:] == starts[:-1] + sizes[:-1] + self._frame).all())
        return starts if is_chain else None

    def _by_size(self, length: int) -> Index:
        """Hop from size to size: for bodies that contain magics, and for large records, which are few."""
        frame, content = self._frame, self._window.u8.data
        if frame:
            content = content[ENTRY_SIZE_AT:]  # the entry's own size, with its header
        places: list[int] = []
        place, last = 0, min(length, self._window.filled - SMALLEST_RECORD + 1 - frame)
        add, size_at, smallest = places.append, read_size, SMALLEST_RECORD  # local names are faster
        while place < last:
            add(place)
            (size,) = size_at(content, place)
            if size < smallest:
                break
            place += size
        return np.array(places, np.intp) + frame

    def _advance(self, records: Records) -> None:
        """Account for records, and continue after the last one."""
        start, size = records.last
        position, size = start - self._frame + self._window.position, size + self._frame
        self.account.records += len(records)
        self.account.record_bytes += records.total + self._frame * len(records)
        self.last_record, self.reached = (position, size), position + size

    def _rest_of_window(self) -> Iterator[Piece]:
        """Continue within this window after damage.

        Damage rarely comes alone, so the window is searched once for all of it. What does not end in the window is left to
        the next chunk: large records, blanks, and damage.
        """
        window, frame, position = self._window, self._frame, self.reached
        begin = window.position
        limit = min(self._until, begin + window.filled - frame - LONGEST_HEAD)
        if position >= limit or record_size_at(window, position) is not None or is_blank(window, position):
            return
        rest = rest_of(window, position, limit, self._limit)
        if len(blanks := self._blanks(rest.gaps.begins)):
            rest = rest.before_gap(int(blanks[0]))
        (records, gaps, reached), damages = rest, NO_DAMAGE
        if len(gaps.rows) and self._describes_damage:
            befores = np.where(gaps.rows, gaps.befores, self._record_before(position))
            damages = self._damages(anomalies_at(window, gaps.begins), (gaps.begins, gaps.ends), (befores, gaps.ends))
        if len(records):
            self._advance(records)
        self.reached = reached
        if len(gaps.rows) or len(records):
            yield Piece(records, damages)

    def _blanks(self, positions: Index) -> Index:
        """Which of those positions of the window may begin the blank that closes the segment."""
        segment = self._window.segment
        pairs = pairs_at(self._window.u8, positions - self._window.position)
        return np.flatnonzero(closes(*pairs, segment.size - positions, segment.frame > 0))

    def _skip(self) -> Iterator[Piece]:
        """Skip what is not a record, up to the next record or the end of the file."""
        window, position, size = self._window, self.reached, self._window.segment.size
        if is_blank(window, position):
            self.is_closed = size - position >= BLANK_HEAD
            self.account.blank_bytes += size - position
            self.reached = size
            return
        if not self._skip_damage:
            raise damage_error(window, position)
        # First, because `sync` replaces the window's content.
        anomalies = anomalies_at(window, np.array([position], np.intp)) if self._describes_damage else None
        following = sync(window, position + 1, self._end)
        self.reached = self._end if following is None else following
        if anomalies is not None:
            yield self._damaged(position, anomalies, -1 if following is None else following)

    def _damaged(self, position: int, anomalies: Pair, next_record: int) -> Piece:
        """The damage from that position to where the walk is now."""
        damages = self._damages(anomalies, (position, self.reached), (self._record_before(position), next_record))
        return Piece(NO_RECORDS, damages)

    def _record_before(self, position: int) -> int:
        """Where the last record starts, if it ends at that position; otherwise -1."""
        return self.last_record[0] if self.last_record is not None and sum(self.last_record) == position else -1

    def _damages(self, anomalies: Pair, spans: Pair, records: Pair) -> Damages:
        """Damage from ranges of positions, their anomalies, and the records before and after, -1 for none."""
        (codes, numbers), (starts, stops) = anomalies, spans
        base, ranges = self._window.segment.base, np.zeros(np.size(starts), RANGE)
        ranges["anomaly"], ranges["number"] = codes, numbers
        ranges["start"], ranges["end"] = np.add(starts, base), np.add(stops, base)
        for name, positions in zip(("before", "after"), records, strict=True):
            ranges[name] = np.where(np.less(positions, 0), -1, np.add(positions, base))
        for row in np.flatnonzero((ranges["anomaly"] == ZEROS) & (ranges["before"] >= 0)).tolist():  # rare
            # A record without properties ends with their length, 0, in two bytes, and no topic with a zero.
            if self._window.peek(int(ranges["start"][row]) - base - len(_NULS), len(_NULS)) == _NULS:
                ranges["anomaly"][row] = ZEROS_FROM_PROPERTIES
        self.account.damage_bytes += int((ranges["end"] - ranges["start"]).sum())
        return Damages(ranges, (self._window.segment.uri,))


class ReadWalk(_Walk):
    """Iterate the records that start in `[start, stop)` and the damage between them, and account for every byte.

    `end` is where the log ends in this file; bytes after it are unwritten. Without `skip_damage`, the first damage raises. With
    it, records over the limit are damage, and are not loaded. `hands_over`: also search for the next record after `stop`, and
    check that the next split begins there. `first`: how much to load at first.
    """

    def __init__(
        self,
        window: Window,
        start: int,
        stop: int,
        end: int,
        *,
        max_record_bytes: int,
        skip_damage: bool = False,
        hands_over: bool = True,
        first: int = FIRST_CHUNK,
    ) -> None:
        super().__init__(window, (start, stop, end), load_limit=max_record_bytes, limit=max_record_bytes, skip_damage=skip_damage)
        self._hands_over, self._first_look = hands_over, first

    def __iter__(self) -> Iterator[Piece]:
        yield from self._pieces()
        if self._hands_over:
            yield from self._hand_over()

    def _advance(self, records: Records) -> None:
        begin = self.reached
        super()._advance(records)
        if self.reached > self._end:
            raise past_end_error(self._window, begin, self.reached, self._end)

    def _skip(self) -> Iterator[Piece]:
        window, position = self._window, self.reached
        if position >= self._end:
            self.reached = window.segment.size
            self.account.unwritten_bytes += self.reached - position
        elif (size := record_size_at(window, position)) is not None and size - self._frame > self._limit:
            self.reached += size
            is_followed = record_size_at(window, self.reached) is not None
            yield self._damaged(position, (TOO_LARGE, size - self._frame), self.reached if is_followed else -1)
        else:
            yield from super()._skip()

    def _hand_over(self) -> Iterator[Piece]:
        """Continue to the start of the next split. If `sync` finds an earlier one, the cut fell on a forged record."""
        size = self._window.segment.size
        while self.reached < size and (self.reached >= self._end or record_size_at(self._window, self.reached) is None):
            yield from self._skip()
        forged = sync(self._window, self._stop, min(self.reached, self._end)) if self._stop < size else None
        if forged is not None:
            raise forged_record_error(self._window, forged)


class EndWalk(_Walk):
    """Iterate the records that start in `[start, stop)`, to find where they end. Skips damage; reading these bytes reports it.

    Only the heads of records over the limit are loaded. A record may extend past `stop`, while a broker writes. The walk does
    not look after `stop`, where a gibibyte of zeros may follow. `reached` is the position where it ended.
    """

    _describes_damage = False

    def __init__(self, window: Window, start: int, stop: int, max_record_bytes: int) -> None:
        super().__init__(window, (start, stop, stop), load_limit=max_record_bytes, limit=_NO_LIMIT, skip_damage=True)

    def __iter__(self) -> Iterator[Records]:
        return (piece.records for piece in self._pieces() if len(piece.records))

    def finish(self) -> Self:
        """Walk to the end."""
        for _ in self:
            pass
        return self


def is_blank(window: Window, position: int) -> bool:
    """Whether only the filler that closes a segment follows that position."""
    left, framed = window.segment.size - position, window.segment.frame > 0
    if left < BLANK_HEAD:  # too few for a blank's head: only a truncated file can end so
        return not framed
    first, second = read_pair(window.peek(position, BLANK_HEAD))
    return bool(closes(first, second, left, framed))


NO_RECORDS = measure(np.zeros(PADDING, np.uint8), 0, np.empty(0, np.intp), 0)[0]


class Rest(NamedTuple):
    """Records of a window, and the gaps before, between and after them."""

    records: Records
    gaps: kernel.Gaps
    reached: int
    """The position in the file where the last record or gap ends."""

    def before_gap(self, gap: int) -> Rest:
        """What is before that gap."""
        gaps = self.gaps
        return Rest(self.records[: int(gaps.rows[gap])], kernel.Gaps._make(column[:gap] for column in gaps), int(gaps.begins[gap]))


def rest_of(window: Window, position: int, until: int, most: int) -> Rest:
    """The records from `position` on, where none is, that start before `until`: each the first one after the record before it.

    The first one that is larger than `most` or ends outside the window ends the rest: it is left to the next window.
    """
    base, frame = window.position, window.segment.frame
    records, gaps, outside = _resumed(window, position, until)
    stop = _left_out(window, records, outside, most)
    if stop is not None and len(records) and records.last[0] - frame + base >= stop:  # rare: others follow what is left out
        records, gaps, _ = _resumed(window, position, stop)
    start, size = records.last if len(records) else (position - base, 0)
    reached = start + size + base
    if stop is None or stop <= reached:
        return Rest(records, gaps, reached)
    gap = len(records), start - frame + base if len(records) else -1, reached, stop
    return Rest(records, kernel.Gaps._make(map(np.append, gaps, gap)), stop)


def _left_out(window: Window, records: Records, outside: Index, most: int) -> int | None:
    """Where the first record starts that is left to the next window."""
    stops = outside[proven(window, outside)[1]][:1]
    if records.largest > most:
        stops = np.append(stops, records.starts[np.argmax(records.sizes > most)])
    return int(stops.min()) - window.segment.frame + window.position if len(stops) else None


def _resumed(window: Window, position: int, until: int) -> tuple[Records, kernel.Gaps, Index]:
    """As `kernel.resumed`."""
    base, frame = window.position, window.segment.frame
    found = None if window.unreadable else kernel.resumed(window, base, position, until, frame)
    if found is not None:
        return found
    places = candidates(window)
    records, valid = valid_records(window, places[(places >= position - base + frame) & (places < until - base + frame)])
    starts, sizes = places_of(window, records)
    ends = starts + sizes
    rows = np.flatnonzero(valid)
    rows = rows[_consecutive(starts[rows], ends[rows])]
    begins, befores = np.concatenate(([position], ends[rows])), np.concatenate(([-1], starts[rows]))
    may_end_outside = ~valid & (ends > base + window.filled) & (starts >= begins[np.searchsorted(starts[rows], starts)])
    gaps = np.flatnonzero(begins[:-1] < starts[rows])
    between = kernel.Gaps(gaps, befores[gaps], begins[gaps], starts[rows[gaps]])
    return records[rows] if len(rows) else NO_RECORDS, between, records.starts[may_end_outside]


def _consecutive(starts: Index, ends: Index) -> Index:
    """Which of those records follow each other, with or without gaps: a record that starts inside another one does not."""
    if (ends[:-1] <= starts[1:]).all():
        return np.arange(len(starts))
    chain, leads_to, each = list[int](), np.searchsorted(starts, ends).tolist(), 0
    while each < len(leads_to):
        chain.append(each)
        each = leads_to[each]
    return np.array(chain, np.intp)
