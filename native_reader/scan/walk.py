"""From record to record through one split of a segment, chunk by chunk, every byte accounted for."""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator

import numpy as np

from native_reader.layout.record import BLANK_HEAD, MAGIC_BLANK, MAGIC_ENTRY_BLANK, SMALLEST_RECORD, Index, Records, at, magics
from native_reader.scan.report import Damage
from native_reader.scan.sync import frame_of, record_size_at, sync, valid_records
from native_reader.scan.trouble import crosses_end, damaged, forged_record, too_large, what_stands_at
from native_reader.storage.store import DLEDGER
from native_reader.storage.window import Window

CHUNK = 4 << 20
"""What fits a core's cache: larger chunks were measured to be slower, and cost memory."""
_FIRST_CHUNK = 64 << 10
_BEYOND_CUT = 4 << 10
_LARGE = 1 << 10
"""The mean size of records from which on a hop for each is cheaper than a look at all their bytes."""

_read_size = struct.Struct(">i").unpack_from


class Walk:
    """Iterate the records that start in `[start, stop)`, as `Records` of one chunk after the other, and the damage between.

    The records of a chunk must be used before the next is asked for: they lie in the window's one buffer.
    `end` is where the log ends in this file; what is behind it is unwritten. Not `decided`: it is how far to look, and a
    record may reach beyond it, as it does where a broker writes on meanwhile. `synced`: `start` is known to be a record's.
    A walk that skips no damage raises at the first.
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
        synced: bool = False,
        decided: bool = True,
    ) -> None:
        self._window, self._start, self._stop, self._end = window, start, stop, end
        self._max_record_bytes, self._skip_damage, self._synced, self._decided = max_record_bytes, skip_damage, synced, decided
        self._frame = frame_of(window.segment)
        self.records = self.record_bytes = self.blank_bytes = self.damage_bytes = self.unwritten_bytes = 0
        self.closed = False
        """Whether the walk came to the segment's blank."""
        self.last_record: tuple[int, int] | None = None
        """Position and size of the last record, frame included."""

    def __iter__(self) -> Iterator[Records | Damage]:
        position = self._enter()
        if position is None:
            return
        look = _FIRST_CHUNK
        while position < min(self._stop, self._end):
            records = self._chunk(position, look)
            if records is None:
                position = yield from self._pass(position)
                continue
            begin = position
            if isinstance(records, int):
                position = self._count(begin, records, 1)
            else:
                last, size = int(records.starts[-1]), int(records.sizes[-1])
                position = self._count(begin + last - self._frame, size + self._frame, len(records), begin)
            if position > self._end and self._decided:
                raise crosses_end(self._window, begin, position, self._end)
            if not isinstance(records, int):
                yield records
            look = min(look * 4, CHUNK)
        yield from self._leave(position)

    def _enter(self) -> int | None:
        if self._start == 0 or self._synced:
            return self._start
        return sync(self._window, self._start, min(self._stop, self._end))

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
        if records is not None and not self._skip_damage and int(records.sizes.max()) > self._max_record_bytes:
            first = int(np.argmax(records.sizes > self._max_record_bytes))
            raise too_large(window, position + int(records.starts[first]) - frame, int(records.sizes[first]), self._max_record_bytes)
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

    def _count(self, last: int, size: int, records: int, begin: int | None = None) -> int:
        """Account for records from `begin` to the last one, which has that place and size, frames included."""
        self.records += records
        self.record_bytes += last + size - (last if begin is None else begin)
        self.last_record = last, size
        return last + size

    def _pass(self, position: int) -> Generator[Damage, None, int]:
        """Past whatever is no record at that position, to the next record or the end of the file."""
        size = self._window.segment.size
        if position >= self._end:
            self.unwritten_bytes += size - position
            return size
        if self._is_blank(position):
            self.closed = size - position >= BLANK_HEAD
            self.blank_bytes += size - position
            return size
        if not self._skip_damage:
            raise damaged(self._window, position)
        behind = sync(self._window, position + 1, self._end)
        if behind is None:
            behind = self._end
        self.damage_bytes += behind - position
        base = self._window.segment.base
        yield Damage(self._window.segment.uri, base + position, base + behind, what_stands_at(self._window, position))
        return behind

    def _is_blank(self, position: int) -> bool:
        left = self._window.segment.size - position
        if left < BLANK_HEAD:  # too few bytes for a blank's head, so a broker cannot have left them; a file cut short may end so
            return self._window.segment.framing != DLEDGER
        first, second = struct.unpack(">ii", self._window.peek(position, BLANK_HEAD))
        if self._window.segment.framing == DLEDGER:
            return bool(first == MAGIC_ENTRY_BLANK and second == left)
        return bool(second == MAGIC_BLANK and first == left)

    def _leave(self, position: int) -> Iterator[Records | Damage]:
        """On to where the next split begins; it must be what `sync` says, or the cut fell on a forged record."""
        size = self._window.segment.size
        while position < size and (position >= self._end or record_size_at(self._window, position) is None):
            position = yield from self._pass(position)
        forged = sync(self._window, self._stop, min(position, self._end)) if self._stop < size else None
        if forged is not None:
            raise forged_record(self._window, forged)
