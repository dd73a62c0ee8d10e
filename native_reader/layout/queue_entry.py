"""Entries of consume queues: where a queue's messages lie in the log.

Big-endian. `consumequeue/<topic>/<queue>/<20 digits>`, the entry of queue offset n at byte 20 n of the queue:

    0 offset i8      8 size i4       12 tags_code i8

`batchconsumequeue/…` (5.0+, topics of queue type BatchCQ), found by what they say, not by their place:

    0 offset i8      8 size i4       12 tags_code i8      20 store_timestamp i8      28 base i8      36 count i2
    38 compacted i4  42 reserved i4

`offset` is the physical offset that the record itself names, `tags_code` Java's hash of its TAGS, or 0; in the delay topic
the moment of delivery, and at or below -2^31 - 1 an address in `consumequeue_ext`. Unwritten entries are zeros. Where a queue
does not begin at 0, the places before its first entry hold offset 0 and the largest size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ENTRY = np.dtype([("offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])
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
FILLER_SIZE = 2**31 - 1
LIGHT_TOPIC = "%LMQ%"
"""Queues of such names list records of other topics once more (LMQ, 4.9.3+)."""

_LARGEST_ADDRESS = -(2**31) - 1


def is_written(entries: NDArray[np.void]) -> NDArray[np.bool_]:
    """Which entries name a record."""
    found: NDArray[np.bool_] = (entries["size"] > 0) & (entries["size"] != FILLER_SIZE) & (entries["offset"] >= 0)
    return found


def is_hash(codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which tags codes are hashes, and no addresses of extensions."""
    found: NDArray[np.bool_] = codes > _LARGEST_ADDRESS
    return found


def java_hash(text: str) -> int:
    """`String.hashCode()`: over UTF-16 units, 32 bits and signed."""
    units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), "<u2")
    found = 0
    for unit in units.tolist():
        found = (31 * found + unit) & 0xFFFFFFFF
    return found - (1 << 32) if found >= 1 << 31 else found
