"""Where the log ends: decided once, before a read is planned, and passed to every split.

It is the end of the last valid record, or of the blank, in the highest segment that has one. Before it, zeros are damage. After
it, everything is unwritten: preallocated files, dirty ends of pooled buffers, the first half of an unfinished record. A broker
preallocates one or two segments, so the highest files are often all zeros.

The newest record counts if something proves that it is complete. In a log at rest, its own bytes prove it. While a broker
writes, only a successor or its consume queue entry does (`log.witness`). Old records that a broker discarded (`log.runs`) do not count.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from native_reader.broker.progress import checkpoint_of
from native_reader.errors import warn
from native_reader.layout.begin import read_pair
from native_reader.layout.progress import Checkpoint
from native_reader.layout.record import MAGIC_BLANK, MAGIC_ENTRY, MAGIC_V1, MAGIC_V2, SMALLEST_RECORD
from native_reader.log.certain import certain_before, has_queue_entry
from native_reader.log.recovery import is_controlled
from native_reader.log.runs import RecordRun, Runs
from native_reader.records.sync import head_at, valid_records
from native_reader.records.walk import EndWalk
from native_reader.sentences import say
from native_reader.storage.store import PLAIN, Segment, StoreFiles, is_live
from native_reader.storage.window import Window

_log = logging.getLogger("native_reader")

AVAILABLE, ALL = "available", "all"
TAILS = (AVAILABLE, "flushed", "confirmed", ALL)
"""`flushed` and `confirmed` end at an offset in the checkpoint. `all` includes old records that a broker discarded."""

_LOOK, _FIRST_LOOK = 256 << 10, 4 << 10
"""The last byte is usually in the last block that a file system has for the file."""
_STARTS = 16
_ZEROS_IN_A_RECORD = 64 << 10
"""More zeros than a record can end with: its last part, the properties, has 32,767 bytes at most."""


@dataclass(frozen=True, slots=True)
class LogEnd:
    """Where a log ends, and what is there.

    `written`: the end of the last non-zero byte in any segment. `stale`: the size of old, discarded records after the end.
    `last_time`: the store time of the last record, in milliseconds, if the log ends with a record that counts.
    `torn`: the end of an unfinished record at the end of the log, or 0. `junk`: segments after the end with data but no record.
    """

    offset: int
    written: int
    stale: int = 0
    last_time: int | None = None
    torn: int = 0
    junk: tuple[Segment, ...] = ()
    is_empty: bool = False
    """Whether the log has no record."""
    follows_record: bool = True
    """Whether a record, or the segment's blank, is known to end at `offset`. Otherwise damage may end there."""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    starts: tuple[int, ...] = ()
    """Offsets near the end at which records certainly start, ascending."""


def look_at_end(
    store: StoreFiles, max_record_bytes: int, walked_whole: int, *, past_unreadable: bool = False, tail: str = AVAILABLE
) -> LogEnd:
    """Search for the end. Walks segments of up to `walked_whole` bytes from their start, larger ones from near their end."""
    end = _Tail(store, max_record_bytes, walked_whole, past_unreadable, tail == ALL).end()
    bound = end_in_checkpoint(store, tail)
    if bound is None and tail not in (AVAILABLE, ALL):
        warn(_log, say("no bound in checkpoint", store=store.uri, tail=tail))
    if bound is None or bound >= end.offset:
        return end
    segment = store.segment_at(bound)
    if segment is None or segment.end <= bound:  # the bound is in no file: before the first one, or in a gap
        return LogEnd(store.min_offset if segment is None else segment.end, end.written)
    position, follows = _boundary(store, segment, bound - segment.base, max_record_bytes)
    return LogEnd(segment.base + position, end.written, follows_record=follows)


def end_in_checkpoint(store: StoreFiles, tail: str) -> int | None:
    """The offset up to which the log counts; None if all of it counts, or if the checkpoint has no such offset."""
    offset = 0 if tail in (AVAILABLE, ALL) else int(getattr(checkpoint_of(store.uri), tail))
    return offset if offset > 0 else None


def _boundary(store: StoreFiles, segment: Segment, bound: int, max_record_bytes: int) -> tuple[int, bool]:
    """The last position at or before `bound` where a record or damage ends, and whether it is a record."""
    with Window(segment, _LOOK) as window:
        begin = certain_before(window, store.consume_queue, 0, bound, max_record_bytes)
        walk = EndWalk(window, begin, bound, max_record_bytes).finish()
        position, size = walk.last_record or (0, 0)
        found = next(each for each in (walk.reached, position + size, position) if each <= bound)
        return found, found == position + size


_MOST_WALKED = 256
_WALKED: dict[tuple[object, ...], LogEnd] = {}
"""Where the log ends in large segments of stores without queues, by all that it depends on: to find it, a whole segment is read."""


class _Tail:
    """One search for the end of a log."""

    def __init__(self, store: StoreFiles, max_record_bytes: int, walked_whole: int, past_unreadable: bool, with_stale: bool) -> None:
        self._store, self._max_record_bytes, self._walked_whole = store, max_record_bytes, walked_whole
        self._past_unreadable, self._with_stale = past_unreadable, with_stale
        self._live = is_live(store.uri)
        self._checkpoint = checkpoint_of(store.uri)

    def end(self) -> LogEnd:
        """Search from the highest segment down to the first one with a record."""
        store, junk, written, torn = self._store, list[Segment](), self._store.min_offset, 0
        for segment in reversed(store.segments):
            with Window(segment, _LOOK, leave_no_trace=self._live, past_unreadable=self._past_unreadable) as window:
                reached = _written_end(window) if window.unopened is None else segment.size
                written = max(written, segment.base + reached if reached else 0)
                end = self._end_in(window, reached) if reached else None
                if end is not None:
                    return replace(end, written=written, torn=max(torn, end.torn), junk=tuple(junk[::-1]), checkpoint=self._checkpoint)
                begun = _torn_at(window, 0) if reached else 0
                if reached >= SMALLEST_RECORD and not begun:
                    junk.append(segment)
                torn = max(torn, begun)
        return LogEnd(store.min_offset, written, torn=torn, junk=tuple(junk[::-1]), is_empty=True, checkpoint=self._checkpoint)

    def _end_in(self, window: Window, written: int) -> LogEnd | None:
        """Where the log ends in this segment; None if it has no record. `written`: the end of its last non-zero byte."""
        if self._live or self._store.consume_queue is not None or window.segment.size <= self._walked_whole:
            return self._walked_end(window, written)
        # A broker that appends a record moves the last byte that is not zero.
        key = (window.segment, written, window.written(), self._checkpoint, self._max_record_bytes, self._with_stale)
        known = _WALKED.get(key)
        if known is not None:
            return known
        end = self._walked_end(window, written)
        if end is not None and not window.unreadable:
            if len(_WALKED) >= _MOST_WALKED:
                _WALKED.clear()
            _WALKED[key] = end
        return end

    def _walked_end(self, window: Window, written: int) -> LogEnd | None:
        size = window.segment.size
        bound = min(size, written + _ZEROS_IN_A_RECORD)
        begin = 0
        if size > self._walked_whole:
            begin = certain_before(window, self._store.consume_queue, 0, written, self._max_record_bytes)
        walk = EndWalk(window, begin, bound, self._max_record_bytes)
        runs = Runs(walk, window)
        if begin and runs and self._may_be_cut(window, runs.last):
            walk = EndWalk(window, 0, bound, self._max_record_bytes)
            runs = Runs(walk, window)
        end = self._end_of(window, written, walk, runs)
        return end and replace(end, starts=tuple(window.segment.base + begin for begin in runs.begins(_STARTS)))

    def _end_of(self, window: Window, written: int, walk: EndWalk, runs: Runs) -> LogEnd | None:
        """Where the log ends, according to a walk to the last record."""
        base, size = window.segment.base, window.segment.size
        cut = None if self._with_stale or not runs else next(self._cuts(window, runs), None)
        if cut is not None:
            end, last_time = self._last_that_counts(window, (cut.last, cut.end - cut.last), cut.last_time)
            return LogEnd(base + end, 0, written - end, last_time, _torn_at(window, end), follows_record=runs.has_record_before(end))
        if walk.is_closed:
            return LogEnd(base + size, 0, last_time=runs.last.last_time if runs else None)
        if walk.last_record is None:
            return None
        end, last_time = self._last_that_counts(window, walk.last_record, None)
        return LogEnd(base + end, 0, last_time=last_time, torn=_torn_at(window, end), follows_record=runs.has_record_before(end))

    def _last_that_counts(self, window: Window, record: tuple[int, int], time: int | None) -> tuple[int, int | None]:
        """The end and store time of the newest record if it is complete; otherwise its start and None."""
        position, size = record
        # Do not load a record over the limit: reading it is an error anyway.
        if size > self._max_record_bytes or has_successor(window, position + size) or self._is_finished(window, position, size):
            return position + size, int(head_at(window, position)["store_timestamp"]) if time is None else time
        return position, None

    def _is_finished(self, window: Window, position: int, size: int) -> bool:
        queue = self._store.consume_queue
        return has_queue_entry(window, queue, position) if self._live else is_fully_written(window, position, size, queue)

    # Whether a broker discarded records

    def _may_be_cut(self, window: Window, last: RecordRun) -> bool:
        """Whether the last records are older than the checkpoint: the log may end before them."""
        if window.segment.framing != PLAIN:
            return False
        begin, end = window.segment.base, window.segment.base + last.end
        return last.last_time < self._checkpoint.newest or (begin < self._checkpoint.confirmed < end and is_controlled(self._store))

    def _cuts(self, window: Window, runs: Runs) -> Iterator[RecordRun]:
        """Where a broker may have truncated the log, if its checkpoint agrees."""
        checkpoint, base = self._checkpoint, window.segment.base
        for cut in runs.cuts() if window.segment.framing == PLAIN else ():
            # After a clean stop, one of its two times is that of the last record, or `confirmed` is that record's end. After
            # a kill, its times are earlier than that, but later than those of all discarded records.
            times = {checkpoint.flushed_time, checkpoint.dispatched_time} - {0}  # 0: not set
            between = cut.is_broken and max(0, cut.newest_after) < checkpoint.newest < cut.last_time
            if cut.last_time in times or between or (checkpoint.confirmed == base + cut.end and is_controlled(self._store)):
                yield cut


def _written_end(window: Window) -> int:
    """The end of the last non-zero byte."""
    stop, look = window.written_end(), _FIRST_LOOK
    while stop > 0:
        start = max(0, stop - look)
        filled = window.load(start, stop - start)
        content = window.u8[:filled]
        if content.any():
            return start + int(np.flatnonzero(content)[-1]) + 1
        stop, look = window.written_end(start), _LOOK
    return 0


def _torn_at(window: Window, position: int) -> int:
    """The offset at which an unfinished record at that position would end; 0 if there is none."""
    segment, frame = window.segment, window.segment.frame
    head, here = head_at(window, position), segment.base + position
    if head["magic"] not in (MAGIC_V1, MAGIC_V2) or head["physical_offset"] != here + frame or head["size"] <= 0:
        return 0
    return here + frame + int(head["size"])


def has_successor(window: Window, position: int) -> bool:
    """Whether another record, or a blank, begins after the last record: proof that the record is complete."""
    head = window.peek(position, 8)
    if len(head) < 8:
        return False
    first, second = read_pair(head)
    if window.segment.frame:
        return bool(first == MAGIC_ENTRY)
    return first > 0 and second in (MAGIC_V1, MAGIC_V2, MAGIC_BLANK)


def is_fully_written(window: Window, position: int, size: int, consume_queue: str | None) -> bool:
    """Whether the newest record, without a successor, was written completely.

    A broker copies a record front to back, so an unfinished one has zeros at its end. But a complete record can also end in
    NUL, if its last property has no separator (4.9.1 to 5.1.4): then it needs a consume queue entry.
    """
    frame = window.segment.frame
    window.load(position, size)
    records, _ = valid_records(window, np.array([frame], np.intp))
    body_at, topic_at = int(records.body_at[0]), int(records.topic_at[0])
    body = window.u8[body_at : body_at + int(records.body_size[0])]
    topic = window.u8[topic_at : topic_at + int(records.topic_size[0])]
    properties = window.u8[int(records.properties_at[0]) : size]
    if zlib.crc32(body.data) & 0x7FFFFFFF != records.heads["body_crc"][0] or not topic.all():
        return False
    if properties[-1:].all():  # also if there are none
        return True
    return bool(properties[-2:-1].all()) and has_queue_entry(window, consume_queue, position)
