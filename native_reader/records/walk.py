"""Walk from record to record through one split of a segment, in chunks, and account for every byte."""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.record import (
    BLANK_HEAD,
    LONGEST_HEAD,
    MAGIC_BLANK,
    MAGIC_ENTRY_BLANK,
    SMALLEST_RECORD,
    Index,
    Mask,
    Records,
    at,
    magics,
)
from native_reader.records.damages import RANGE, Damages
from native_reader.records.sync import candidates, proven, record_size_at, sync, valid_records
from native_reader.records.trouble import KINDS, crosses_end, damaged, forged_record, kinds_at, too_large
from native_reader.storage.store import DLEDGER
from native_reader.storage.window import Window

CHUNK = 4 << 20
"""Fits a core's cache: larger chunks were measured to be slower, and need more memory."""
_FIRST_CHUNK = 64 << 10
_BEHIND_DAMAGE = 8 << 10
"""Small at first: data forged to break the chain again and again would otherwise be loaded again and again."""
_BEYOND_CUT = 4 << 10
_LARGE = 1 << 10
"""Above this mean record size, hopping from record to record is cheaper than searching all bytes."""

Many = NDArray[np.signedinteger] | int

_read_size = struct.Struct(">i").unpack_from


class Walk:
    """Iterate the records that start in `[start, stop)`, as one `Records` per chunk, and the damage between them.

    Use the records of a chunk before requesting the next: they share the window's one buffer.
    `start` must be certain: anything there but a record is damage. `end` is where the log ends in this file; bytes after it
    are unwritten. `decided=False`: `end` only limits the search, and a record may reach past it while a broker writes.
    `leaves=False`: do not search for the next record after `stop`, nor check that the next split begins where this one
    ends. `reached` is the position where the walk ended.
    Without `skip_damage`, the first damage raises. With it, records over the limit are skipped without loading them.
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
        decided: bool = True,
        leaves: bool = True,
    ) -> None:
        self._window, self._start, self._stop, self._end = window, start, stop, end
        self._max_record_bytes, self._skip_damage, self._decided = max_record_bytes, skip_damage, decided
        self._frame, self._leaves = window.segment.frame, leaves
        self.reached = start
        self.records = self.record_bytes = self.blank_bytes = self.damage_bytes = self.unwritten_bytes = 0
        self.closed = False
        """Whether the walk reached the segment's blank."""
        large = f"a record of {{:,}} bytes, over max_record_bytes={max_record_bytes:,}"
        self._words = (window.segment.uri, *(reason for reason, _ in KINDS), "too large", *(found for _, found in KINDS), large)
        self.last_record: tuple[int, int] | None = None
        """Position and size of the last record, with its frame."""

    def __iter__(self) -> Iterator[Records | Damages]:
        position, look = self._start, _FIRST_CHUNK
        while position < min(self._stop, self._end):
            records = self._chunk(position, look)
            if records is None:
                begin = position
                position = (yield from self._beyond(begin)) if self._skip_damage else begin
                if position == begin:
                    position = yield from self._pass(begin)
                    look = _BEHIND_DAMAGE
                else:
                    look = self._next_look(position, look)
                continue
            begin = position
            if isinstance(records, int):
                position = yield from self._pass_large(begin, records)
            else:
                position = self._count(records, begin)
            if position > self._end and self._decided:
                raise crosses_end(self._window, begin, position, self._end)
            if not isinstance(records, int):
                yield records
                if self._skip_damage:
                    position = yield from self._beyond(position)
            look = self._next_look(position, look)
        self.reached = position
        if self._leaves:
            yield from self._leave(position)

    def _next_look(self, position: int, look: int) -> int:
        """How much to load from that position on: little if most of the previous load was not used."""
        window = self._window
        stopped_early = self._skip_damage and window.position + window.filled - position > window.filled // 2
        return _BEHIND_DAMAGE if stopped_early else min(look * 4, CHUNK)

    def _chunk(self, position: int, look: int) -> Records | int | None:
        """The valid records from that position on, as far as loaded; None if there is none.

        Returns only the size of a record over the limit that is to be skipped: it is never loaded.
        """
        window, frame, limit = self._window, self._frame, min(self._stop, self._end) - position
        window.load(position, min(look, limit + _BEYOND_CUT))
        records = self._proven(limit)
        if records is None and (size := record_size_at(window, position)) is not None and size > window.filled:
            if size - frame > self._max_record_bytes:
                if self._skip_damage:
                    return size
                raise too_large(window, position, size - frame, self._max_record_bytes)
            window.load(position, size)
            records = self._proven(1)
        if records is not None and int(records.sizes.max()) > self._max_record_bytes:
            first = int(np.argmax(records.sizes > self._max_record_bytes))
            if not self._skip_damage:
                raise too_large(window, position + int(records.starts[first]) - frame, int(records.sizes[first]), self._max_record_bytes)
            return records[:first] if first else int(records.sizes[0]) + frame
        return records

    def _proven(self, limit: int) -> Records | None:
        starts = self._guess(limit)
        if not len(starts):
            return None
        records, valid = valid_records(self._window, starts)
        count = len(starts) if valid.all() else int(np.argmin(valid))
        if count == 0:
            return None
        return records if count == len(starts) else records[:count]

    def _guess(self, limit: int) -> Index:
        """Probable starts of records. A start is right if all before it are valid records that lead to it."""
        large = self.record_bytes > _LARGE * self.records
        starts = None if large else self._by_magic(limit)
        return self._by_size(limit) if starts is None else starts

    def _by_magic(self, limit: int) -> Index | None:
        """The start that belongs to each magic; None if they do not form a chain, because bodies contain magics."""
        starts = magics(self._window.u8, self._window.filled, self._window.scratch)
        starts = starts[(starts >= self._frame) & (starts < min(limit + self._frame, self._window.filled - SMALLEST_RECORD + 1))]
        sizes = at(self._window.u8, ">i4")[starts].astype(np.intp)
        chained = len(starts) and starts[0] == self._frame and bool((starts[1:] == starts[:-1] + sizes[:-1] + self._frame).all())
        return starts if chained else None

    def _by_size(self, limit: int) -> Index:
        """Hop from size to size: for bodies that contain magics, and for large records, which are few."""
        frame, content = self._frame, self._window.u8.data
        starts: list[int] = []
        position, last = frame, min(limit + frame, self._window.filled - SMALLEST_RECORD + 1)
        add, read_size = starts.append, _read_size
        while position < last:
            add(position)
            (size,) = read_size(content, position)
            if size < SMALLEST_RECORD:
                break
            position += size + frame
        return np.array(starts, np.intp)

    def _count(self, records: Records, begin: int) -> int:
        """Account for records that follow each other from `begin` on; returns where the next one would start."""
        last, size = int(records.starts[-1]) - self._frame + self._window.position, int(records.sizes[-1]) + self._frame
        self.records += len(records)
        self.record_bytes += last + size - begin
        self.last_record = last, size
        return last + size

    def _beyond(self, position: int) -> Generator[Records | Damages, None, int]:
        """Continue after damage that begins at that position, within this window; returns where to continue.

        Damage rarely comes alone, so the window is searched once for all of it. The caller handles what does not end in the
        window: large records, blanks, and damage.
        """
        window, frame = self._window, self._frame
        begin = window.position
        limit = min(self._stop, self._end, begin + window.filled - frame - LONGEST_HEAD)
        if position >= limit or record_size_at(window, position) is not None or is_blank(window, position):
            return position
        found = candidates(window)
        records, valid, left_out = proven(window, found[found < limit - begin + frame])
        records, left_out = records[valid], (left_out | (records.sizes > self._max_record_bytes))[valid]
        starts = records.starts - frame + begin
        ends = starts + records.sizes + frame
        chain, following = _chain(starts, ends, left_out, position)
        before, after = np.concatenate(([position], ends[chain])), starts[chain]
        after = np.append(after, starts[following] if following < len(starts) else before[-1])
        gaps = np.flatnonzero(before < after)
        position = int(after[-1])
        if len(blanks := self._blanks(before[gaps])):
            first = int(gaps[blanks[0]])
            gaps, chain, position = gaps[: blanks[0]], chain[:first], int(before[first])
        if len(gaps):
            last = np.concatenate(([self._before(int(before[0]))], starts[chain]))
            yield self._damages(kinds_at(window, before[gaps]), (before[gaps], after[gaps]), (last[gaps], after[gaps]))
        if len(chain):
            records = records[chain]
            self.records += len(records)
            self.record_bytes += int(records.sizes.sum()) + frame * len(records)
            self.last_record = int(starts[chain[-1]]), int(records.sizes[-1]) + frame
        if position > self._end and self._decided:
            raise crosses_end(window, begin, position, self._end)
        if len(chain):
            yield records
        return position

    def _blanks(self, positions: Index) -> Index:
        """Which of those positions of the window may begin the blank that closes the segment."""
        window, content = self._window, self._window.u8
        places = positions - window.position
        first, second = at(content, ">i4")[places], at(content, ">i4")[places + 4]
        left = window.segment.size - positions
        if self._frame:
            return np.flatnonzero((first == MAGIC_ENTRY_BLANK) & (second == left))
        return np.flatnonzero((second == MAGIC_BLANK) & (first == left))

    def _pass(self, position: int) -> Generator[Damages, None, int]:
        """Skip what is not a record at that position, up to the next record or the end of the file."""
        size = self._window.segment.size
        if position >= self._end:
            self.unwritten_bytes += size - position
            return size
        if is_blank(self._window, position):
            self.closed = size - position >= BLANK_HEAD
            self.blank_bytes += size - position
            return size
        if not self._skip_damage:
            raise damaged(self._window, position)
        stands = kinds_at(self._window, np.array([position], np.intp))
        behind = sync(self._window, position + 1, self._end)
        stop = self._end if behind is None else behind
        yield self._damages(stands, (position, stop), (self._before(position), -1 if behind is None else behind))
        return stop

    def _pass_large(self, position: int, size: int) -> Generator[Damages, None, int]:
        """Skip a record over the limit: damage when reading, an ordinary record when searching for the end of the log."""
        if not self._decided:
            self.records, self.record_bytes, self.last_record = self.records + 1, self.record_bytes + size, (position, size)
            return position + size
        behind = position + size
        followed = record_size_at(self._window, behind) is not None
        records = self._before(position), behind if followed else -1
        yield self._damages((len(KINDS), size - self._frame), (position, behind), records)
        return behind

    def _before(self, position: int) -> int:
        """Where the last record starts, if it ends at that position; otherwise -1."""
        return self.last_record[0] if self.last_record is not None and sum(self.last_record) == position else -1

    def _damages(self, stands: tuple[Many, Many], spans: tuple[Many, Many], records: tuple[Many, Many]) -> Damages:
        """Damage from ranges of positions, what is found there, and the records before and after, -1 for none."""
        (kinds, numbers), (starts, stops) = stands, spans
        base, ranges = self._window.segment.base, np.zeros(np.size(starts), RANGE)
        ranges["reason"], ranges["found"], ranges["number"] = np.add(kinds, 1), np.add(kinds, len(KINDS) + 2), numbers
        ranges["start"], ranges["end"] = np.add(starts, base), np.add(stops, base)
        for name, positions in zip(("before", "behind"), records, strict=True):
            ranges[name] = np.where(np.less(positions, 0), -1, np.add(positions, base))
        self.damage_bytes += int((ranges["end"] - ranges["start"]).sum())
        return Damages(ranges, self._words)

    def _leave(self, position: int) -> Iterator[Records | Damages]:
        """Continue to the start of the next split. If `sync` finds an earlier one, the cut fell on a forged record."""
        size = self._window.segment.size
        while position < size and (position >= self._end or record_size_at(self._window, position) is None):
            position = yield from self._pass(position)
        forged = sync(self._window, self._stop, min(position, self._end)) if self._stop < size else None
        if forged is not None:
            raise forged_record(self._window, forged)


def _chain(starts: Index, ends: Index, left_out: Mask, position: int) -> tuple[Index, int]:
    """Which of those records follow each other from a position on, with or without gaps, and the index where the chain stops.

    Skips a record that starts inside another. The chain stops at a record in `left_out`, or after the last one.
    """
    first = int(np.searchsorted(starts, position))
    overlap = bool((ends[:-1] > starts[1:]).any())
    if not overlap:
        following = int(np.argmax(left_out[first:])) + first if left_out[first:].any() else len(starts)
        return np.arange(first, following), following
    chain, leads_to, is_left_out = [], np.searchsorted(starts, ends).tolist(), left_out.tolist()
    while first < len(leads_to) and not is_left_out[first]:
        chain.append(first)
        first = leads_to[first]
    return np.array(chain, np.intp), first


def is_blank(window: Window, position: int) -> bool:
    """Whether only the filler that closes a segment follows that position."""
    segment, left = window.segment, window.segment.size - position
    if left < BLANK_HEAD:  # too few for a blank's head: only a truncated file can end so
        return segment.framing != DLEDGER
    first, second = struct.unpack(">ii", window.peek(position, BLANK_HEAD))
    if segment.framing == DLEDGER:
        return bool(first == MAGIC_ENTRY_BLANK and second == left)
    return bool(second == MAGIC_BLANK and first == left)
