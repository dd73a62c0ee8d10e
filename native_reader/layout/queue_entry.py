"""Entries of consume queues: the place of each message of a queue in the log.

Big-endian. `consumequeue/<topic>/<queue>/<20 digits>`, the entry of queue offset n at byte 20 n of the queue:

    0 offset i8      8 size i4       12 tags_code i8

`batchconsumequeue/…` (5.0+, topics of queue type BatchCQ); `base` is the queue offset of an entry's first message:

    0 offset i8      8 size i4       12 tags_code i8      20 store_timestamp i8      28 base i8      36 count i2
    38 compacted i4  42 reserved i4

`offset` equals the record's own physical_offset. `tags_code` is Java's hash of TAGS, or 0; in the delay topic it is the
delivery time. At or below -2^31 - 1 it is an address in `consumequeue_ext`. Unwritten entries are zeros. If a queue does not
begin at 0, the entries before its first one have offset 0 and size FILLER_SIZE.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

QUEUE_ENTRY = np.dtype([("offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])
BATCH_ENTRY = np.dtype(
    [
        ("offset", ">i8"),
        ("size", ">i4"),
        ("tags_code", ">i8"),
        ("store_timestamp", ">i8"),
        ("base", ">i8"),
        ("count", ">i2"),
        ("compacted", ">i4"),
        ("reserved", ">i4"),
    ]
)
STORED_OFFSET = np.dtype(">i8")
"""An offset of the log, as entries of queues, of the index and of timers have it, and ids in hexadecimal."""
read_place = struct.Struct(">qi").unpack_from
"""Offset and size of the entry at the beginning of some bytes, of any kind."""
PLACE_SIZE = 12
read_entry = struct.Struct(">qiq").unpack_from
"""Offset, size and tags code of an ordinary entry."""
read_batch_place = struct.Struct(">qi16xqh").unpack_from
"""Offset, size, base and count of a batch entry."""
FILLER_SIZE = 2**31 - 1
LIGHT_TOPIC = "%LMQ%"
"""Queues with this prefix repeat records of other topics (LMQ, 4.9.3+)."""
_LITE_TOPIC = f"{LIGHT_TOPIC}$"

_LARGEST_ADDRESS = -(2**31) - 1


def is_written(entries: NDArray[np.void]) -> NDArray[np.bool_]:
    """Which entries refer to a record."""
    written: NDArray[np.bool_] = (entries["size"] > 0) & (entries["size"] != FILLER_SIZE) & (entries["offset"] >= 0)
    return written


def is_light(topic: str) -> bool:
    """Whether the queues of that name repeat records of other topics."""
    return topic.startswith(LIGHT_TOPIC)


def refers_to_record(offset: int, size: int) -> bool:
    """As `is_written`, for one entry."""
    return size > 0 and size != FILLER_SIZE and offset >= 0


def is_hash(codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which tags codes are hashes, not addresses in `consumequeue_ext`."""
    hashes: NDArray[np.bool_] = codes > _LARGEST_ADDRESS
    return hashes


def java_hash(text: str) -> int:
    """`String.hashCode()`: over UTF-16 code units, as a signed 32-bit integer."""
    units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), "<u2")
    code = 0
    for unit in units.tolist():
        code = (31 * code + unit) & 0xFFFFFFFF
    return code - (1 << 32) if code >= 1 << 31 else code


def lite_topic_of(topic: str) -> tuple[str | None, str | None]:
    """Parent and lite topic (5.5.0) of the light queue with that name; None for other queues."""
    parent, separator, lite = topic.removeprefix(_LITE_TOPIC).partition("$")
    return (parent, lite) if separator and topic.startswith(_LITE_TOPIC) else (None, None)
