"""Find records without walking to them: the first record of a split, or the next one after damage.

Records have no marker, only a magic and their own offset, and a body may contain a whole record. So a result is only
*structurally valid*: magic and bounds are right, the lengths add up, physical_offset is the record's real offset. A forged
record in a body can pass these checks. The walk of the previous split detects it, because it does not arrive there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from native_reader import kernel
from native_reader.layout.begin import entry_matches, number, read_head, read_size
from native_reader.layout.record import (
    BORN_IPV6,
    HEAD,
    HEAD_SIZE,
    LONGEST_HEAD,
    MAGIC_V1,
    MAGIC_V2,
    PADDING,
    SMALLEST_RECORD,
    STORE_IPV6,
    UP_TO_MAGIC,
    Index,
    Mask,
    Records,
    entries_valid,
    head_size,
    heads_of,
    magics,
    measure,
    offsets_at,
)
from native_reader.storage.window import Window

_SMALLEST_REST = SMALLEST_RECORD - HEAD_SIZE
_FIRST_LOOK = 8 << 10
_LARGEST_LOOK = 4 << 20


def sync(window: Window, start: int, stop: int) -> int | None:
    """The position of the first structurally valid record that starts in `[start, stop)`; None if there is none.

    Replaces the window's content.
    """
    look, frame = _FIRST_LOOK, window.segment.frame
    while start < stop:
        # A hole contains no magic.
        start = max(start, window.next_data(start) - frame - UP_TO_MAGIC)
        if start >= stop:
            return None
        until = min(stop, start + look)
        window.load(start, until - start + frame + LONGEST_HEAD)
        starts = candidates(window)
        records, valid, _ = proven(window, starts[starts < until - start + frame])
        if valid.any():
            return start + int(records.starts[np.argmax(valid)]) - frame
        start, look = until, min(look * 4, _LARGEST_LOOK)
    return None


def candidates(window: Window) -> Index:
    """Positions in the window with a magic and the right physical offset: almost always records."""
    own = kernel.candidates(window, window.segment.frame)
    if own is not None:
        return own
    starts = magics(window.u8, window.filled, window.scratch)
    starts = starts[starts >= window.segment.frame]
    is_right: Mask = offsets_at(window.u8, starts) == starts + window.offset
    return starts[is_right]


def proven(window: Window, starts: Index) -> tuple[Records, Mask, Mask]:
    """The records at those positions of the window, which are valid, and which of the valid ones end outside the window."""
    records, valid = valid_records(window, starts)
    ends_outside = np.zeros(len(starts), np.bool_)
    far = np.flatnonzero(_may_end_outside(window, records))
    if len(far):
        ends_outside[far[_valid_outside(window, records[far])]] = True
    return records, valid | ends_outside, ends_outside


def valid_records(window: Window, starts: Index) -> tuple[Records, Mask]:
    """The records at those positions of the window (after their frames), and which are valid."""
    records, valid = measure(window.u8, window.filled, starts, window.offset)
    if window.segment.frame and len(starts):
        valid &= entries_valid(window.u8, records, window.offset)
    if window.unreadable:
        begins = records.starts + window.position
        valid &= ~window.has_unreadable(begins, begins + records.sizes)
    return records, valid


def places_of(window: Window, records: Records) -> tuple[Index, Index]:
    """The position in the file and the size of each record of the window, both with its frame."""
    frame = window.segment.frame
    return records.starts - frame + window.position, records.sizes + frame


class RecordLayout(NamedTuple):
    """The positions of a record's parts in its file; `size` includes the frame."""

    flags: int
    size: int
    topic_at: int
    topic_size: int
    properties_at: int
    properties_size: int


def record_size_at(window: Window, position: int, *, entry: bool = True) -> int | None:
    """The size, with frame, of the valid record that starts at that position of the file; None if there is none.

    `entry=False` does not check the DLedger entry header.
    """
    layout = layout_at(window, position, entry=entry)
    return None if layout is None else layout.size


def layout_at(window: Window, position: int, *, entry: bool = True) -> RecordLayout | None:
    """The parts of the valid record that starts at that position of the file; None if there is none.

    Reads only the head and the lengths: three small reads for a record of any size. The window does not change.
    """
    segment, frame = window.segment, window.segment.frame
    left = segment.size - position - frame
    if left < SMALLEST_RECORD:
        return None
    begin = window.peek(position, frame + LONGEST_HEAD)
    size, magic, offset, sys_flag = read_head(begin, frame)
    if magic not in (MAGIC_V1, MAGIC_V2) or offset != segment.base + position + frame or not SMALLEST_RECORD <= size <= left:
        return None
    body_at, wide = head_size(sys_flag), int(magic == MAGIC_V2)
    body_size = read_size(begin, frame + body_at - 4)[0] if frame + body_at <= len(begin) else -1
    if not 0 <= body_size <= size - SMALLEST_RECORD:
        return None
    topic_at = body_at + body_size + 1 + wide
    topic_size = number(window.peek(position + frame + topic_at - 1 - wide, 1 + wide))
    properties_at = topic_at + topic_size + 2
    if topic_size <= 0 or properties_at > size:
        return None
    properties_size = number(window.peek(position + frame + properties_at - 2, 2))
    if properties_size < 0 or properties_at + properties_size != size:
        return None
    if frame and entry and not entry_matches(begin, size, segment.base + position):
        return None
    if window.has_unreadable(position, position + frame + size):
        return None
    start = position + frame
    return RecordLayout(sys_flag, frame + size, start + topic_at, topic_size, start + properties_at, properties_size)


def head_at(window: Window, position: int) -> np.void:
    """The fixed fields at that position of the file, read now and not validated."""
    return head_in(window.peek(position + window.segment.frame, LONGEST_HEAD))


def head_in(begin: bytes) -> np.void:
    """The fixed fields of a record that begins with those bytes; missing bytes count as zeros."""
    if len(begin) >= HEAD_SIZE:
        head: np.void = np.frombuffer(begin, HEAD, 1)[0]
        if not head["sys_flag"] & (BORN_IPV6 | STORE_IPV6):
            return head
    u8 = np.zeros(LONGEST_HEAD + PADDING, np.uint8)
    u8[: len(begin)] = np.frombuffer(begin, np.uint8)
    head = heads_of(u8, np.zeros(1, np.intp))[0]
    return head


def _may_end_outside(window: Window, records: Records) -> Mask:
    """Which of these, by their heads, may be records that end outside the window."""
    heads, sizes = records.heads, records.sizes
    ends = records.starts + sizes
    may: Mask = (heads["physical_offset"] == records.starts + window.offset) & (ends > window.filled)
    may &= (heads["magic"] == MAGIC_V1) | (heads["magic"] == MAGIC_V2)
    may &= (ends <= window.segment.size - window.position) & (records.body_size >= 0)
    may &= records.body_at + records.body_size + _SMALLEST_REST <= ends
    return may


def _valid_outside(window: Window, records: Records) -> Index:
    """Which of those are valid. Reads the sizes of topic and properties from the file, many at a time."""
    frame = window.segment.frame
    wide = records.heads["magic"] == MAGIC_V2
    which: Index = np.arange(len(records))
    if frame:
        which = which[entries_valid(window.u8, records, window.offset)]
    begins, ends = records.starts + window.position, records.starts + records.sizes + window.position
    topic_at = records.body_at + records.body_size + window.position
    sizes = window.peek_pairs(topic_at[which])
    topic_size = np.where(wide[which], sizes, sizes >> 8).astype(np.intp)
    properties_at = topic_at[which] + 1 + wide[which] + topic_size
    fits = (topic_size > 0) & (properties_at + 2 <= ends[which])
    which, properties_at = which[fits], properties_at[fits]
    sizes = window.peek_pairs(properties_at).astype(np.intp)
    which = which[(sizes >= 0) & (properties_at + 2 + sizes == ends[which])]
    return which[~window.has_unreadable(begins[which] - frame, ends[which])]
