"""Where the log ends: decided once, before a read is planned, and carried by every split.

The end of the last valid record, or of the blank, in the highest segment that has one. Below it zeros are damage; at or
above it everything is unwritten: files sized ahead, dirty tails of pooled buffers, half of a record that never came.
A broker sizes one or two segments ahead, so the highest files are often all zeros.

The newest record counts if something proves that it was finished. At rest its own bytes do; while a broker writes they do
not, and it waits for its witness.
"""

from __future__ import annotations

import logging
import struct
import zlib
from collections.abc import Callable
from functools import partial

import numpy as np

from native_reader.layout.record import MAGIC_BLANK, MAGIC_ENTRY, MAGIC_V1, MAGIC_V2
from native_reader.scan.report import Damage
from native_reader.scan.sync import frame_of, sync, valid_records
from native_reader.scan.walk import Walk
from native_reader.scan.witness import is_dispatched, is_live
from native_reader.storage.checkpoint import checkpoint_of
from native_reader.storage.store import Segment, StoreFiles
from native_reader.storage.window import Window

Finished = Callable[[Window, int, int], bool]
"""Whether the record at that position, of that size, was written to its end."""

_log = logging.getLogger("native_reader")

AVAILABLE = "available"
TAILS = (AVAILABLE, "flushed", "confirmed")
"""What may be asked for; all but the first are offsets of the checkpoint."""

_LOOK = 256 << 10
_ZEROS_IN_A_RECORD = 64 << 10
"""More zeros than a record can end in: its properties are the last and hold 32,767 bytes at most."""


def end_of_log(store: StoreFiles, max_record_bytes: int, walked_whole: int, *, past_unreadable: bool = False, tail: str = AVAILABLE) -> int:
    """The offset where the log ends. Segments of up to `walked_whole` bytes are walked from their start, others from near their end."""
    end = _written(store, max_record_bytes, walked_whole, past_unreadable=past_unreadable)
    bound = said_by_checkpoint(store, tail)
    if bound is None and tail != AVAILABLE:
        _log.warning("%s: its checkpoint names no %s offset, so tail=%s reads all that is there", store.uri, tail, tail)
    if bound is None or bound >= end:
        return end
    segment = next((each for each in store.segments if each.base <= bound < each.end), None)
    if segment is None:  # the bound lies in no file: before the first, or in a hole
        return max(store.min_offset, max((each.end for each in store.segments if each.end <= bound), default=0))
    return segment.base + _boundary(segment, bound - segment.base, max_record_bytes)


def said_by_checkpoint(store: StoreFiles, tail: str) -> int | None:
    """The offset up to which the log counts; None where all of it does, or the broker wrote down none."""
    offset = 0 if tail == AVAILABLE else int(getattr(checkpoint_of(store.uri), tail))
    return offset if offset > 0 else None


def _boundary(segment: Segment, bound: int, max_record_bytes: int) -> int:
    """The position at or before the bound at which a record ends."""
    start = max(0, bound - _LOOK)
    with Window(segment, _LOOK) as window:
        first = 0 if start == 0 else sync(window, start, bound)
        if first is None:
            return bound
        end = first
        walk = Walk(window, first, bound, bound, max_record_bytes=max_record_bytes, skip_damage=True, synced=True, decided=False)
        for found in walk:
            if isinstance(found, Damage):
                end = found.end - segment.base
                continue
            ends = found.starts + found.sizes + window.position
            end = max([end, *ends[ends <= bound].tolist()[-1:]])
        return min(end, bound)


def _written(store: StoreFiles, max_record_bytes: int, walked_whole: int, *, past_unreadable: bool) -> int:
    live = is_live(store.uri)
    finished: Finished = partial(is_dispatched, store) if live else is_complete
    for segment in reversed(store.segments):
        with Window(segment, _LOOK, leave_no_trace=live, past_unreadable=past_unreadable) as window:
            end = _end_in(window, max_record_bytes, walked_whole, finished)
        if end is not None:
            return segment.base + end
    return store.min_offset


def _end_in(window: Window, max_record_bytes: int, walked_whole: int, finished: Finished) -> int | None:
    """The position behind the last record that counts, the file's size behind a blank, None where there is neither."""
    size = window.segment.size
    written = _written_end(window)
    if written == 0:
        return None
    bound = min(size, written + _ZEROS_IN_A_RECORD)
    if size <= walked_whole:
        return _walked(window, 0, bound, max_record_bytes, finished)
    look, stop = _LOOK, bound
    while stop > 0:
        start = max(0, bound - look)
        if start == 0:
            return _walked(window, 0, bound, max_record_bytes, finished)
        first = sync(window, start, stop)
        if first is not None:
            return _walked(window, first, bound, max_record_bytes, finished)
        look, stop = look * 4, start
    return None


def _walked(window: Window, start: int, bound: int, max_record_bytes: int, finished: Finished) -> int | None:
    walk = Walk(window, start, bound, bound, max_record_bytes=max_record_bytes, skip_damage=True, synced=True, decided=False)
    for _ in walk:
        pass
    if walk.closed:
        return window.segment.size
    if walk.last_record is None:
        return None
    position, size = walk.last_record
    # One that is too large is refused by whoever reads it; it is not worth its memory here.
    counts = size > max_record_bytes or has_successor(window, position + size) or finished(window, position, size)
    return position + size if counts else position


def _written_end(window: Window) -> int:
    """Where the last byte that is not zero ends."""
    stop = window.written_end()
    while stop > 0:
        start = max(0, stop - _LOOK)
        filled = window.load(start, stop - start)
        content = window.u8[:filled]
        if content.any():
            return start + int(np.flatnonzero(content)[-1]) + 1
        stop = start
    return 0


def has_successor(window: Window, position: int) -> bool:
    """Whether something that was begun stands behind the last record: proof that the record itself was finished."""
    head = window.peek(position, 8)
    if len(head) < 8:
        return False
    first, second = struct.unpack(">ii", head)
    if frame_of(window.segment):
        return bool(first == MAGIC_ENTRY)
    return first > 0 and second in (MAGIC_V1, MAGIC_V2, MAGIC_BLANK)


def is_complete(window: Window, position: int, size: int) -> bool:
    """Whether the newest record, without a witness, was written to its end.

    A broker copies a record front to back; one that was cut short has zeros in its body, topic or properties.
    """
    frame = frame_of(window.segment)
    window.load(position, size)
    records, _ = valid_records(window, np.array([frame], np.intp))
    body_at, topic_at = int(records.body_at[0]), int(records.topic_at[0])
    body = window.u8[body_at : body_at + int(records.body_size[0])]
    topic = window.u8[topic_at : topic_at + int(records.topic_size[0])]
    properties = window.u8[int(records.properties_at[0]) : size]
    crc = zlib.crc32(body.data) & 0x7FFFFFFF
    return bool(crc == records.heads["body_crc"][0] and topic.all() and properties.all())
