"""What is wrong with bytes of a segment, in sentences for the person who reads them."""

from __future__ import annotations

import struct

from native_reader.errors import SplitError, StoreDamaged
from native_reader.layout.record import MAGIC_BLANK, MAGIC_ENTRY, MAGIC_V1, MAGIC_V2, SMALLEST_RECORD
from native_reader.scan.sync import frame_of, record_size_at
from native_reader.storage.window import Window

_UP_TO_OFFSET = struct.Struct(">ii20xq")


def forged_record(window: Window, position: int) -> SplitError:
    """A split began at something that the split before it never came to."""
    return SplitError(
        f"{_where(window, position)}: a cut fell on something that looks like a record but is inside one (a body that holds a stored "
        f"record?). Read it with max_partition_bytes={window.segment.size}, which cuts at the borders of segments only"
    )


def crosses_end(window: Window, begin: int, position: int, end: int) -> SplitError:
    """A walk went beyond the end of the log."""
    return SplitError(
        f"{_where(window, begin)}: the records from here reach to byte {position:,}, beyond the end of the log, which was found at byte "
        f"{end:,}: something inside a record looks like one (a body that holds a stored record?). "
        f"Read it with max_partition_bytes={window.segment.size}, which finds the end by walking the whole segment"
    )


def too_large(window: Window, position: int, size: int, most: int) -> StoreDamaged:
    """A record that is valid, and over the limit."""
    return StoreDamaged(
        f"{_where(window, position)}: a record of {size:,} bytes is larger than max_record_bytes={most:,}. "
        f"If it is meant to be that large, read with max_record_bytes={size}"
    )


def damaged(window: Window, position: int) -> StoreDamaged:
    """Neither a record nor anything else that may stand there."""
    segment = window.segment
    return StoreDamaged(
        f"{_where(window, position)}: expected a record or the blank that closes a segment, found {what_stands_at(window, position)[1]}. "
        "mode DROPMALFORMED reads on behind it, and says what it leaves out. "
        f"To read what lies before this segment: ending_physical_offset={segment.base}; behind it: starting_physical_offset={segment.end}"
    )


def what_stands_at(window: Window, position: int) -> tuple[str, str]:
    """What is found instead of a record, told by the first of its fields that cannot be: one of REASONS, and in words."""
    segment, frame = window.segment, frame_of(window.segment)
    if window.unreadable_within(position, position + frame + _UP_TO_OFFSET.size):
        return "unreadable", "bytes that could not be read"
    head = window.peek(position, frame + _UP_TO_OFFSET.size)
    left = segment.size - position - frame
    if not any(head):
        return "zeros", "zeros"
    if frame and head[:4] != MAGIC_ENTRY.to_bytes(4, "big"):
        return "entry", f"no entry header (magic 0x{head[:4].hex().upper()})"
    if len(head) < frame + _UP_TO_OFFSET.size:
        return "cut off", f"{len(head)} bytes, too few for a record"
    size, magic, offset = _UP_TO_OFFSET.unpack_from(head, frame)
    if magic == MAGIC_BLANK:
        return "blank", f"a blank of {size:,} bytes where {left + frame:,} are left"
    if magic not in (MAGIC_V1, MAGIC_V2):
        return "magic", f"magic 0x{magic & 0xFFFFFFFF:08X}"
    here = offset == segment.base + position + frame
    if not SMALLEST_RECORD <= size <= left:
        return "cut off" if here and size > left else "size", f"total size 0x{size & 0xFFFFFFFF:08X} where {left:,} bytes are left"
    if not here:
        return "offset", f"a record that says it lies at offset {offset:,} (stale bytes of a reused file?)"
    if frame and record_size_at(window, position, entry=False) is not None:
        return "entry", f"an entry header that does not fit its record of {size:,} bytes"
    if window.unreadable_within(position, position + frame + size):
        return "unreadable", f"a record of {size:,} bytes, some of which could not be read"
    return "lengths", f"a record of {size:,} bytes whose lengths do not add up to its size"


def _where(window: Window, position: int) -> str:
    segment = window.segment
    return f"{segment.uri} at offset {segment.base + position:,} (byte {position:,} of the file)"
