"""Consume queues in RocksDB (5.2.0+, `storeType=defaultRocksDB`): keys and values. Big-endian.

family   key                                                       value
default  topic size i4, 1, topic, 1, queue i4, 1, queue offset i8   offset i8, size i4, tags_code i8, store_timestamp i8
offset   topic size i4, 1, topic, 1, `max` or `min`, 1, queue i4    offset i8, queue offset i8: the last one, or the first one

An inner batch has one entry, at the queue offset of its first message: the numbers of its other messages are left out.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.queue_entry import QUEUE_ENTRY

DATABASE_ENTRY = np.dtype([*QUEUE_ENTRY.descr, ("store_timestamp", ">i8")])
OFFSETS = "offset"
"""The column family with the first and the last queue offset of each queue."""

_SIZE, _QUEUE, _NUMBER, _ENDS = struct.Struct(">i"), struct.Struct(">i"), struct.Struct(">q"), struct.Struct(">qq")
_LARGEST = 2**63 - 1
_MAX = b"\x01max\x01"
_OF_THE_LOG = "CHECKPOINT_TOPIC"
"""Not a topic: with this key, 5.x keeps how far the log was dispatched."""


def entries_prefix(topic: str, queue_id: int) -> bytes:
    """What the keys of a queue's entries begin with."""
    return _topic_prefix(topic) + b"\x01" + _QUEUE.pack(queue_id) + b"\x01"


def entry_key(prefix: bytes, number: int) -> bytes:
    """The key of the entry with that queue offset."""
    return prefix + _NUMBER.pack(number)


def is_entry(key: bytes, value: bytes, prefix: bytes) -> bool:
    """Whether a key with that prefix, and its value, have the sizes of an entry."""
    return len(key) == len(prefix) + _NUMBER.size and len(value) == DATABASE_ENTRY.itemsize


def numbers_in(keys: list[bytes]) -> NDArray[np.int64]:
    """The queue offsets in the keys of entries."""
    return np.frombuffer(b"".join(key[-_NUMBER.size :] for key in keys), ">i8").astype(np.int64)


def max_key(topic: str, queue_id: int) -> bytes:
    """The key of a queue's last queue offset."""
    return _topic_prefix(topic) + _MAX + _QUEUE.pack(queue_id)


class QueueEnd(NamedTuple):
    """The queue offset after the last entry of a queue, and the physical offset of that entry's record."""

    stop: int
    offset: int


def end_in(value: bytes) -> QueueEnd | None:
    """The end of a queue, from the value at `max_key`; None if it is invalid."""
    offset, last = _ENDS.unpack(value) if len(value) == _ENDS.size else (-1, _LARGEST)
    return QueueEnd(last + 1, offset) if -1 <= last < _LARGEST else None


def queue_of_max(key: bytes) -> tuple[str, int] | None:
    """Topic and number of the queue of a `max_key`; None for other keys."""
    size = _SIZE.unpack_from(key)[0] if len(key) > _SIZE.size else -1
    begin = _SIZE.size + 1
    if size < 0 or len(key) != begin + size + len(_MAX) + _QUEUE.size or not key[begin + size :].startswith(_MAX):
        return None
    topic, (queue_id,) = key[begin : begin + size].decode("utf-8", "replace"), _QUEUE.unpack_from(key, len(key) - _QUEUE.size)
    # A name that is not UTF-8 cannot be a column value.
    is_named = topic != _OF_THE_LOG and topic.isprintable() and topic.encode() == key[begin : begin + size]
    return (topic, queue_id) if is_named and queue_id >= 0 else None


def _topic_prefix(topic: str) -> bytes:
    name = topic.encode("utf-8", "replace")
    return _SIZE.pack(len(name)) + b"\x01" + name


DISPATCHED = max_key(_OF_THE_LOG, 0)
"""The key of the offset up to which records are in the queues."""


def dispatched_in(value: bytes) -> int:
    """That offset; 0 if the value is invalid."""
    return max(0, int(_NUMBER.unpack(value)[0])) if len(value) == _NUMBER.size else 0
