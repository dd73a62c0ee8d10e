"""Consume queues in RocksDB (5.2.0+, `storeType=defaultRocksDB`), in the directory `consumequeue`. Big-endian.

    family   key                                                       value
    default  topic size i4, 1, topic, 1, queue i4, 1, queue offset i8   offset i8, size i4, tags_code i8, store time i8
    offset   topic size i4, 1, topic, 1, `max` or `min`, 1, queue i4    offset i8, queue offset i8: the last one, or the first one

A running broker has its newest entries only in memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice

import numpy as np

from native_reader.layout.queue_entry import is_written
from native_reader.plan.queues import Entries
from native_reader.storage.rocksdb import Database

_ENTRY = np.dtype([("offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8"), ("store_timestamp", ">i8")])
_SIZE, _QUEUE, _NUMBER, _ENDS = struct.Struct(">i"), struct.Struct(">i"), struct.Struct(">q"), struct.Struct(">qq")
_LARGEST = 2**63 - 1
_AT_ONCE = 32 << 10


def next_offset(database: Database, topic: str, queue_id: int) -> int | None:
    """The queue offset after the last entry of a queue; None if the database does not have it."""
    key = _of_topic(topic) + b"max\x01" + _QUEUE.pack(queue_id)
    for found, value in database.items(key, family="offset"):
        if found == key and len(value) == _ENDS.size:
            last = int(_ENDS.unpack(value)[1])
            return last + 1 if -1 <= last < _LARGEST else None
    return None


def entries_from(database: Database, topic: str, queue_id: int, number: int) -> Iterator[Entries]:
    """The entries of a queue from that queue offset on, in pieces."""
    prefix = _of_topic(topic) + _QUEUE.pack(queue_id) + b"\x01"
    entries = database.items(prefix, start=prefix + _NUMBER.pack(number))
    while piece := list(islice(entries, _AT_ONCE)):
        whole = [(key, value) for key, value in piece if len(key) == len(prefix) + _NUMBER.size and len(value) == _ENTRY.itemsize]
        numbers = np.frombuffer(b"".join(key[-_NUMBER.size :] for key, _ in whole), ">i8").astype(np.int64)
        units = np.frombuffer(b"".join(value for _, value in whole), _ENTRY)
        offsets, sizes, codes = (units[name].astype(np.int64) for name in ("offset", "size", "tags_code"))
        yield Entries(numbers, np.ones(len(numbers), np.int64), offsets, sizes, codes).where(is_written(units))


def _of_topic(topic: str) -> bytes:
    name = topic.encode("utf-8", "replace")
    return _SIZE.pack(len(name)) + b"\x01" + name + b"\x01"
