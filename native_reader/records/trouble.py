"""Error messages about invalid bytes in a segment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from native_reader.errors import SplitError, StoreDamaged
from native_reader.layout.record import MAGIC_BLANK, MAGIC_ENTRY, MAGIC_V1, MAGIC_V2, SMALLEST_RECORD, UP_TO_OFFSET, at, pairs_at
from native_reader.records.damages import ANOMALIES, FROM_PROPERTIES
from native_reader.records.sync import record_size_at
from native_reader.sentences import Said, say
from native_reader.storage.window import Window

UNREADABLE, ZEROS, NO_ENTRY, TOO_FEW, BLANK, MAGIC, CUT_OFF, SIZE, EARLIER, OFFSET, LENGTHS = range(11)
OTHER_ENTRY, UNREADABLE_PART, TOO_LARGE = range(11, 14)
ZEROS_FROM_PROPERTIES = tuple(ANOMALIES).index(FROM_PROPERTIES)
"""Indexes into ANOMALIES."""

_WHOLE_FILE = 1 << 20
"""Offsets that differ by whole files of this size share 20 bits or more, so bytes of a body do not match by chance."""


def forged_record_error(window: Window, position: int) -> SplitError:
    """A split began at a position that the previous split did not reach."""
    return SplitError(say("split in record", where=_where(window, position), size=window.segment.size))


def past_end_error(window: Window, begin: int, position: int, end: int) -> SplitError:
    """A walk went past the end of the log."""
    return SplitError(say("records past end", where=_where(window, begin), position=position, end=end, size=window.segment.size))


def too_large_error(window: Window, position: int, size: int, limit: int) -> StoreDamaged:
    """A valid record over the limit."""
    return StoreDamaged(say("record too large", where=_where(window, position), size=size, limit=limit))


def damage_error(window: Window, position: int) -> StoreDamaged:
    """Bytes that are neither a record nor anything else allowed there."""
    segment, (codes, numbers) = window.segment, anomalies_at(window, np.array([position], np.int64))
    found = say(tuple(ANOMALIES)[int(codes[0])], number=int(numbers[0]))
    return StoreDamaged(say("damage in the way", where=_where(window, position), found=found, base=segment.base, end=segment.end))


def anomalies_at(window: Window, positions: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """What is at those positions of the file instead of records: indexes into ANOMALIES, and the number for each description.

    The first invalid field decides. Numbers that a body could forge are not shown.
    """
    segment, frame = window.segment, window.segment.frame
    length = frame + UP_TO_OFFSET.itemsize
    places = positions - window.position
    if not len(positions) or places.min() < 0 or places.max() + length > window.filled:
        begins = [window.peek(position, length) for position in positions.tolist()]  # at least one is outside the window
        u8, places = np.frombuffer(b"".join(begin.ljust(length, b"\0") for begin in begins), np.uint8), length * np.arange(len(begins))
    else:
        u8 = window.u8
    heads: NDArray[np.void] = at(u8, f"V{UP_TO_OFFSET.itemsize}")[places + frame].view(UP_TO_OFFSET)
    here = positions + segment.base + frame
    left, sizes, offsets = segment.size - positions - frame, heads["size"].astype(np.int64), heads["offset"].astype(np.int64)
    is_record = (heads["magic"] == MAGIC_V1) | (heads["magic"] == MAGIC_V2)
    fits = (sizes >= SMALLEST_RECORD) & (sizes <= left)
    # A reused file holds records with the offsets that it had before.
    earlier = (offsets >= 0) & (offsets < here) & ((here - offsets) % segment.size == 0) & (segment.size >= _WHOLE_FILE)
    conditions = [
        (UNREADABLE, window.has_unreadable(positions, positions + length)),
        (ZEROS, ~at(u8, f"V{length}")[places].view((np.uint8, length)).any(axis=1)),
        (NO_ENTRY, pairs_at(u8, places)[0] != MAGIC_ENTRY if frame else np.zeros(len(places), np.bool_)),
        (TOO_FEW, left < UP_TO_OFFSET.itemsize),
        (BLANK, heads["magic"] == MAGIC_BLANK),
        (MAGIC, ~is_record),
        (CUT_OFF, (offsets == here) & (sizes > left)),
        (SIZE, ~fits),
        (EARLIER, earlier),
        (OFFSET, offsets != here),
    ]
    codes = np.select([mask for _, mask in conditions], [code for code, _ in conditions], LENGTHS).astype(np.int8)
    numbers = np.select([codes == TOO_FEW, codes == EARLIER], [left + frame, offsets], left + frame)
    for row in np.flatnonzero(codes == LENGTHS).tolist() if frame or window.unreadable else ():
        position, size = int(positions[row]), int(sizes[row])
        if frame and record_size_at(window, position, entry=False) is not None:
            codes[row], numbers[row] = OTHER_ENTRY, size
        elif window.has_unreadable(position, position + frame + size):
            codes[row] = UNREADABLE_PART
    return codes, numbers


def _where(window: Window, position: int) -> Said:
    segment = window.segment
    return say("place in segment", uri=segment.uri, offset=segment.base + position, byte=position)
