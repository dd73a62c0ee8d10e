"""The first bytes of a record, a blank or a DLedger entry, read one at a time. `record` describes them, and reads many at once.

A blank fills a segment after its last record; its size is all that is left of the file:

    0 size i4       4 magic i4          DLedger:   0 magic i4     4 size i4
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.record import ENTRY_HEAD, MAGIC_BLANK, MAGIC_ENTRY, MAGIC_ENTRY_BLANK, MAGIC_V1, MAGIC_V2

read_size = struct.Struct(">i").unpack_from
"""The size of the record at a position of a buffer, in a tuple."""
read_pair = struct.Struct(">ii").unpack_from
"""The first two numbers there: size and magic of a record or blank, magic and size of a DLedger entry or its blank."""
read_head = struct.Struct(">ii20xqi").unpack_from
"""Size, magic, physical offset and flags of the record there."""
_read_entry = struct.Struct(">ii16xq12xi").unpack_from
UP_TO_FRAMING = ENTRY_HEAD + 8
"""How many bytes of a segment tell whether it has DLedger entries."""


def number(field: bytes, *, signed: bool = True) -> int:
    """The number in a field of any size."""
    return int.from_bytes(field, "big", signed=signed)


def topic_field(topic: bytes, magic: int) -> bytes | None:
    """A topic as a record stores it, after its size; None if it is too long for one."""
    width = 2 if magic == MAGIC_V2 else 1
    return len(topic).to_bytes(width, "big") + topic if len(topic) < 1 << 8 * width - 1 else None


def entry_matches(begin: bytes, size: int, offset: int) -> bool:
    """Whether the DLedger entry header there, which is at that offset of the log, belongs to a record of that size."""
    return bool(_read_entry(begin) == (MAGIC_ENTRY, size + ENTRY_HEAD, offset, size))


def is_framed(begin: bytes, base: int) -> bool | None:
    """Whether a segment that begins so, at that offset of the log, has DLedger entries; None if it cannot be told.

    Several fields of an entry and of its record must agree.
    """
    if len(begin) < UP_TO_FRAMING:
        return None
    if read_pair(begin)[1] in (MAGIC_V1, MAGIC_V2, MAGIC_BLANK):  # where a plain record has its magic
        return False
    size, magic = read_pair(begin, ENTRY_HEAD)
    return True if magic in (MAGIC_V1, MAGIC_V2) and entry_matches(begin, size, base) else None


def closes(first: NDArray[Any] | int, second: NDArray[Any] | int, left: NDArray[np.signedinteger] | int, framed: bool) -> Any:
    """Whether the pair of numbers at a place is a blank that fills the `left` bytes from there to the end of the segment."""
    magic, size, blank = (first, second, MAGIC_ENTRY_BLANK) if framed else (second, first, MAGIC_BLANK)
    return (magic == blank) & (size == left)
