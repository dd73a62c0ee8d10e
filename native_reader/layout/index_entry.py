"""Index files: map message keys to offsets in the log.

Big-endian. `index/<17 digits>`; the digits are a local time. A hash table of chains, newest entry first:

    0 begin_time i8     8 end_time i8     16 begin i8     24 end i8     32 used_slots i4     36 count i4
    40           slots, i4 each: the number of the chain's newest entry, 0 if empty
    after those  entries: 0 hash i4     4 offset i8     12 seconds i4     16 previous i4

`begin` and `end` are the physical offsets of the first and the last record in the file. `count` is the number of the next
entry; entry 0 is unused. `hash` is Java's hash of `topic#key`, made non-negative. The slot is `hash` modulo the number of
slots. Only the broker's configuration has that number: maxHashSlotNum, by default a quarter of maxIndexNum. We ignore
`seconds` (since `begin_time`): it is wrong in each file's first entry and truncated elsewhere.

Brokers index UNIQ_KEY and each word of KEYS under the record's topic; 5.5.0 also the tag, as `topic#T#tag`. For an inner batch
they index only its own UNIQ_KEY. They do not index records of rolled back transactions (4.0 to 4.2).
"""

from __future__ import annotations

import struct
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.queue_entry import java_hash

INDEX_ENTRY = np.dtype([("hash", ">i4"), ("offset", ">i8"), ("seconds", ">i4"), ("previous", ">i4")])
INDEX_HEAD = struct.Struct(">4q2i")
SLOT = np.dtype(">i4")
_ENTRIES_PER_SLOT = 4
TAG_PREFIX = "T#"
_LEAST = -(2**31)

Numbers = TypeVar("Numbers", int, NDArray[np.int64])


def key_hash(topic: str, key: str) -> int:
    """The hash that the index stores for a key of a topic."""
    return text_hash(f"{topic}#{key}")


def text_hash(text: str) -> int:
    """Java's hash of a text, without a sign as the index stores it."""
    code = java_hash(text)
    return 0 if code == _LEAST else abs(code)


def default_slots(size: int) -> int | None:
    """The number of slots in a file of that size, at four entries per slot; None if the size does not fit."""
    slots, rest = divmod(size - INDEX_HEAD.size, SLOT.itemsize + _ENTRIES_PER_SLOT * INDEX_ENTRY.itemsize)
    return slots if slots > 0 and rest == 0 else None


def usual_size(slots: int) -> int:
    """The size of a file with so many slots."""
    return INDEX_HEAD.size + slots * (SLOT.itemsize + _ENTRIES_PER_SLOT * INDEX_ENTRY.itemsize)


def slots_at(number: Numbers) -> Numbers:
    """The position of a slot, or of each of many."""
    return INDEX_HEAD.size + SLOT.itemsize * number


def entries_at(slots: int) -> int:
    """The position of entry 0."""
    return slots_at(slots)
