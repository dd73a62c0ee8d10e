"""From record to record through one split of a segment, chunk by chunk, every byte accounted for."""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator

import numpy as np

from native_reader.layout.record import (
    BLANK_HEAD,
    LONGEST_HEAD,
    MAGIC_BLANK,
    MAGIC_ENTRY_BLANK,
    SMALLEST_RECORD,
    Index,
    Records,
    at,
    magics,
)
from native_reader.scan.report import Damage
from native_reader.scan.sync import frame_of, reaching_out, record_size_at, sync, valid_records
from native_reader.scan.trouble import crosses_end, damaged, forged_record, too_large, what_stands_at
from native_reader.storage.store import DLEDGER
from native_reader.storage.window import Window

CHUNK = 4 << 20
"""What fits a core's cache: larger chunks were measured to be slower, and cost memory."""
_FIRST_CHUNK = 64 << 10
_BEHIND_DAMAGE = 8 << 10
"""Little at first, so that bytes made to break the chain again and again are not loaded again and again."""
_BEYOND_CUT = 4 << 10
_LARGE = 1 << 10
"""The mean size of records from which on a hop for each is cheaper than a look at all their bytes."""

_read_size = struct.Struct(">i").unpack_from


class Walk:
    """Iterate the records that start in `[start, stop)`, as `Records` of one chunk after the other, and the damage between.

    The records of a chunk must be used before the next is asked for: they lie in the window's one buffer.
    `start` is certain: what stands there and is no record is damage. `end` is where the log ends in this file; what is behind it is
    unwritten. Not `decided`: it is how far to look, and a record may reach beyond it, as where a broker writes on meanwhile.
    Not `leaves`: what is no record behind `stop` is not looked at, nor whether the next split would begin where this one ends;
    `reached` says where that is.
    A walk that skips no damage raises at the first; one that does passes records over the limit without taking memory for them.
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
        self._frame, self._leaves = frame_of(window.segment), leaves
        self.reached = start
        self.records = self.record_bytes = self.blank_bytes = self.damage_bytes = self.unwritten_bytes = 0
        self.closed = False
        """Whether the walk came to the segment's blank."""
        self.last_record: tuple[int, int] | None = None
        """Position and size of the last record, frame included."""

    def __iter__(self) -> Iterator[Records | Damage]:
        position, look = self._start, _FIRST_CHUNK
        while position < min(self._stop, self._end):
            records = self._chunk(position, look)
            if records is None:
                position = yield from self._pass(position)
                look = _BEHIND_DAMAGE
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
            stopped_early = self._skip_damage and self._window.position + self._window.filled - position > self._window.filled // 2
            look = _BEHIND_DAMAGE if stopped_early else min(look * 4, CHUNK)
        self.reached = position
        if self._leaves:
            yield from self._leave(position)

    def _chunk(self, position: int, look: int) -> Records | int | None:
        """The valid records from that position on, as many as are at hand; None where none stands there.

        Of one over the limit just the size, if it is to be passed: it never takes memory.
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
        """Where records probably start; a start is right when all before it are valid records that lead to it."""
        large = self.record_bytes > _LARGE * self.records
        starts = None if large else self._by_magic(limit)
        return self._by_size(limit) if starts is None else starts

    def _by_magic(self, limit: int) -> Index | None:
        """Every magic there is, unless some of them lie in bodies."""
        starts = magics(self._window.u8, self._window.filled, self._window.scratch)
        starts = starts[(starts >= self._frame) & (starts < min(limit + self._frame, self._window.filled - SMALLEST_RECORD + 1))]
        sizes = at(self._window.u8, ">i4")[starts].astype(np.intp)
        chained = len(starts) and starts[0] == self._frame and bool((starts[1:] == starts[:-1] + sizes[:-1] + self._frame).all())
        return starts if chained else None

    def _by_size(self, limit: int) -> Index:
        """Hop by sizes, one after the other: where bodies hold magics, and over large records, which are few."""
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
        """Account for records that follow each other from `begin` on; where the next one would start."""
        last, size = int(records.starts[-1]) - self._frame + self._window.position, int(records.sizes[-1]) + self._frame
        self.records += len(records)
        self.record_bytes += last + size - begin
        self.last_record = last, size
        return last + size

    def _beyond(self, position: int) -> Generator[Records | Damage, None, int]:
        """On behind damage that begins at that position, as far as this window shows all there is; where to go on.

        Damage comes in hundreds where it comes at all, so the window is looked through once for all of it. Whatever it does not
        show to its end is left to who comes next: large records, blanks, and damage that ends elsewhere.
        """
        window, frame = self._window, self._frame
        begin, limit = window.position, min(self._stop, self._end)
        horizon = begin + window.filled - frame - LONGEST_HEAD
        if position >= min(limit, horizon) or self._stands(position):
            return position
        found = magics(window.u8, window.filled, window.scratch)
        records, valid = valid_records(window, found[(found >= frame) & (found < window.filled - SMALLEST_RECORD + 1)])
        unsure = reaching_out(window, records.starts) | (valid & (records.sizes > self._max_record_bytes))
        if unsure.any():
            horizon = min(horizon, begin + int(records.starts[np.argmax(unsure)]) - frame)
        records = records[valid & ~unsure]
        starts = records.starts - frame + begin
        ends = starts + records.sizes + frame
        breaks = np.flatnonzero(ends[:-1] != starts[1:])
        kept: list[Index] = []
        while position < min(limit, horizon):
            first = int(np.searchsorted(starts, position))
            if first < len(starts) and starts[first] == position:
                cut = int(np.searchsorted(breaks, first))
                last = min(int(breaks[cut]) if cut < len(breaks) else len(starts) - 1, int(np.searchsorted(starts, limit)) - 1)
                kept.append(np.arange(first, last + 1))
                position = self._count(records[first : last + 1], position)
            elif first == len(starts) or starts[first] >= min(limit, horizon) or self._stands(position):
                break
            else:
                behind = int(starts[first])
                yield self._damage(position, behind, *what_stands_at(window, position), behind)
                position = behind
        if position > self._end and self._decided:
            raise crosses_end(window, begin, position, self._end)
        if kept:
            yield records[np.concatenate(kept)]
        return position

    def _stands(self, position: int) -> bool:
        """Whether a record or a blank stands there."""
        return record_size_at(self._window, position) is not None or is_blank(self._window, position)

    def _pass(self, position: int) -> Generator[Damage, None, int]:
        """Past whatever is no record at that position, to the next record or the end of the file."""
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
        reason, found = what_stands_at(self._window, position)
        behind = sync(self._window, position + 1, self._end)
        yield self._damage(position, self._end if behind is None else behind, reason, found, behind)
        return self._end if behind is None else behind

    def _pass_large(self, position: int, size: int) -> Generator[Damage, None, int]:
        """Past a record over the limit: for a reader it is damage, for who looks for the end a record like others."""
        if not self._decided:
            self.records, self.record_bytes, self.last_record = self.records + 1, self.record_bytes + size, (position, size)
            return position + size
        behind = position + size
        followed = record_size_at(self._window, behind) is not None
        found = f"a record of {size - self._frame:,} bytes, over max_record_bytes={self._max_record_bytes:,}"
        yield self._damage(position, behind, "too large", found, behind if followed else None)
        return behind

    def _damage(self, start: int, stop: int, reason: str, found: str, behind: int | None) -> Damage:
        base, last = self._window.segment.base, self.last_record
        before = base + last[0] if last is not None and sum(last) == start else None
        self.damage_bytes += stop - start
        return Damage(self._window.segment.uri, base + start, base + stop, reason, found, before, None if behind is None else base + behind)

    def _leave(self, position: int) -> Iterator[Records | Damage]:
        """On to where the next split begins; it must be what `sync` says, or the cut fell on a forged record."""
        size = self._window.segment.size
        while position < size and (position >= self._end or record_size_at(self._window, position) is None):
            position = yield from self._pass(position)
        forged = sync(self._window, self._stop, min(position, self._end)) if self._stop < size else None
        if forged is not None:
            raise forged_record(self._window, forged)


def is_blank(window: Window, position: int) -> bool:
    """Whether nothing follows that position but the filler that closes a segment."""
    segment, left = window.segment, window.segment.size - position
    if left < BLANK_HEAD:  # too few bytes for a blank's head, so a broker cannot have left them; a file cut short may end so
        return segment.framing != DLEDGER
    first, second = struct.unpack(">ii", window.peek(position, BLANK_HEAD))
    if segment.framing == DLEDGER:
        return bool(first == MAGIC_ENTRY_BLANK and second == left)
    return bool(second == MAGIC_BLANK and first == left)
