"""Index files: where the log's messages with some key lie.

Big-endian. `index/<17 digits>`, named by a local time; a hash table of chains, newest entry first:

    0 begin_time i8     8 end_time i8     16 begin i8     24 end i8     32 used_slots i4     36 count i4
    40           slots, i4 each: the number of the chain's newest entry, 0 for none
    behind them  entries: 0 hash i4     4 offset i8     12 seconds i4     16 previous i4

`begin` and `end` are the physical offsets of the first and the last record in it, `count` is the number that the next entry
will have; entry 0 is never used. `hash` is Java's of `topic#key`, made positive; its slot is the remainder by the number of
slots, which a broker's configuration alone knows: maxHashSlotNum, by default a quarter of maxIndexNum. `seconds` since
`begin_time` are wrong in each file's first entry and cut to whole numbers elsewhere, so they are not looked at.

Indexed are UNIQ_KEY and each word of KEYS, under the topic that the record names, in 5.5.0 its tag too, as `topic#T#tag`; of an
inner batch only its own UNIQ_KEY; records of rolled back transactions (4.0 to 4.2) not at all.
"""

from __future__ import annotations

import struct

import numpy as np

from native_reader.layout.queue_entry import java_hash

INDEX_ENTRY = np.dtype([("hash", ">i4"), ("offset", ">i8"), ("seconds", ">i4"), ("previous", ">i4")])
INDEX_HEAD = struct.Struct(">4q2i")
SLOT_SIZE = 4
_ENTRIES_PER_SLOT = 4
TAG_PREFIX = "T#"
_LEAST = -(2**31)


def key_hash(topic: str, key: str) -> int:
    """What the index has of a key in a topic."""
    found = java_hash(f"{topic}#{key}")
    return 0 if found == _LEAST else abs(found)


def default_slots(size: int) -> int | None:
    """How many slots a file of that size has, if there are four entries for each; None where that cannot be."""
    slots, rest = divmod(size - INDEX_HEAD.size, SLOT_SIZE + _ENTRIES_PER_SLOT * INDEX_ENTRY.itemsize)
    return slots if slots > 0 and rest == 0 else None


def entries_at(slots: int) -> int:
    """The position of entry 0."""
    return INDEX_HEAD.size + SLOT_SIZE * slots
