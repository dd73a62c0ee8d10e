"""Error messages about invalid bytes in a segment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from native_reader.errors import SplitError, StoreDamaged, option_name
from native_reader.layout.record import MAGIC_BLANK, MAGIC_ENTRY, MAGIC_V1, MAGIC_V2, SMALLEST_RECORD, at
from native_reader.records.sync import record_size_at
from native_reader.storage.window import Window

KINDS = (
    ("unreadable", "bytes that could not be read"),
    ("zeros", "zeros"),
    ("entry", "no entry header"),
    ("cut off", "{:,} bytes, too few for a record"),
    ("blank", "a blank of another size than the {:,} bytes that are left"),
    ("magic", "no magic of a record"),
    ("cut off", "a record that is larger than the {:,} bytes that are left"),
    ("size", "a size that no record can have where {:,} bytes are left"),
    ("offset", "a record of offset {:,} (stale bytes of a reused file)"),
    ("offset", "a record of another offset (bytes that were put in or left out before it, or stale bytes of a reused file?)"),
    ("lengths", "a record whose lengths do not add up to its size"),
    ("entry", "an entry header that does not fit its record of {:,} bytes"),
    ("unreadable", "a record of which some bytes could not be read"),
)
"""What can be found instead of a record: one of REASONS, and a text with room for one number."""
UNREADABLE, ZEROS, NO_ENTRY, TOO_FEW, BLANK, MAGIC, CUT_OFF, SIZE, EARLIER, OFFSET, LENGTHS, OTHER_ENTRY, UNREADABLE_PART = range(13)

_UP_TO_OFFSET = np.dtype({"names": ["size", "magic", "offset"], "formats": [">i4", ">i4", ">i8"], "offsets": [0, 4, 28], "itemsize": 36})
_WHOLE_FILE = 1 << 20
"""Offsets that differ by whole files of this size share 20 bits or more, so bytes of a body do not match by chance."""


def forged_record(window: Window, position: int) -> SplitError:
    """A split began at a position that the previous split did not reach."""
    return SplitError(
        f"{_where(window, position)}: a cut fell on something that looks like a record but is inside one (a body that holds a stored "
        f"record?). Read it with {option_name('max_partition_bytes')}={window.segment.size}, which cuts at the borders of segments only"
    )


def crosses_end(window: Window, begin: int, position: int, end: int) -> SplitError:
    """A walk went past the end of the log."""
    return SplitError(
        f"{_where(window, begin)}: the records from here reach to byte {position:,}, beyond the end of the log, which was found at byte "
        f"{end:,}: something inside a record looks like one (a body that holds a stored record?). "
        f"Read it with {option_name('max_partition_bytes')}={window.segment.size}, which finds the end by walking the whole segment"
    )


def too_large(window: Window, position: int, size: int, most: int) -> StoreDamaged:
    """A valid record over the limit."""
    return StoreDamaged(
        f"{_where(window, position)}: a record of {size:,} bytes is larger than {option_name('max_record_bytes')}={most:,}. "
        f"If it is meant to be that large, read with {option_name('max_record_bytes')}={size}"
    )


def damaged(window: Window, position: int) -> StoreDamaged:
    """Bytes that are neither a record nor anything else allowed there."""
    segment = window.segment
    return StoreDamaged(
        f"{_where(window, position)}: expected a record or the blank that closes a segment, found {what_stands_at(window, position)[1]}. "
        "mode DROPMALFORMED reads on behind it, and says what it leaves out. "
        f"To read what lies before this segment: {option_name('ending_physical_offset')}={segment.base}; "
        f"behind it: {option_name('starting_physical_offset')}={segment.end}"
    )


def what_stands_at(window: Window, position: int) -> tuple[str, str]:
    """What is found instead of a record: one of REASONS, and a description."""
    kinds, numbers = kinds_at(window, np.array([position], np.int64))
    reason, words = KINDS[int(kinds[0])]
    return reason, words.format(int(numbers[0]))


def kinds_at(window: Window, positions: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """What is found at those positions of the file instead of records: indexes into KINDS, and the number for each text.

    The first invalid field decides. Numbers that a body could forge are not shown.
    """
    segment, frame = window.segment, window.segment.frame
    length = frame + _UP_TO_OFFSET.itemsize
    places = positions - window.position
    if not len(positions) or places.min() < 0 or places.max() + length > window.filled:
        begins = [window.peek(position, length) for position in positions.tolist()]  # at least one is outside the window
        u8, places = np.frombuffer(b"".join(each.ljust(length, b"\0") for each in begins), np.uint8), length * np.arange(len(begins))
    else:
        u8 = window.u8
    heads: NDArray[np.void] = at(u8, f"V{_UP_TO_OFFSET.itemsize}")[places + frame].view(_UP_TO_OFFSET)
    here = positions + segment.base + frame
    left, sizes, offsets = segment.size - positions - frame, heads["size"].astype(np.int64), heads["offset"].astype(np.int64)
    is_record = (heads["magic"] == MAGIC_V1) | (heads["magic"] == MAGIC_V2)
    fits = (sizes >= SMALLEST_RECORD) & (sizes <= left)
    # A reused file holds records with the offsets that it had before.
    earlier = (offsets >= 0) & (offsets < here) & ((here - offsets) % segment.size == 0) & (segment.size >= _WHOLE_FILE)
    conditions = [
        (UNREADABLE, _unreadable(window, positions, length)),
        (ZEROS, ~at(u8, f"V{length}")[places].view((np.uint8, length)).any(axis=1)),
        (NO_ENTRY, at(u8, ">i4")[places] != MAGIC_ENTRY if frame else np.zeros(len(places), np.bool_)),
        (TOO_FEW, left < _UP_TO_OFFSET.itemsize),
        (BLANK, heads["magic"] == MAGIC_BLANK),
        (MAGIC, ~is_record),
        (CUT_OFF, (offsets == here) & (sizes > left)),
        (SIZE, ~fits),
        (EARLIER, earlier),
        (OFFSET, offsets != here),
    ]
    kinds = np.select([mask for _, mask in conditions], [kind for kind, _ in conditions], LENGTHS).astype(np.int8)
    numbers = np.select([kinds == TOO_FEW, kinds == EARLIER], [left + frame, offsets], left + frame)
    for row in np.flatnonzero(kinds == LENGTHS).tolist() if frame or window.unreadable else ():
        position, size = int(positions[row]), int(sizes[row])
        if frame and record_size_at(window, position, entry=False) is not None:
            kinds[row], numbers[row] = OTHER_ENTRY, size
        elif window.unreadable_within(position, position + frame + size):
            kinds[row] = UNREADABLE_PART
    return kinds, numbers


def _unreadable(window: Window, positions: NDArray[np.int64], length: int) -> NDArray[np.bool_]:
    found = np.zeros(len(positions), np.bool_)
    for first, stop in window.unreadable:  # rarely any, and few
        found |= (first < positions + length) & (positions < stop)
    return found


def _where(window: Window, position: int) -> str:
    segment = window.segment
    return f"{segment.uri} at offset {segment.base + position:,} (byte {position:,} of the file)"
