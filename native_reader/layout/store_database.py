"""Keys and values of the RocksDB database `rocksdbstore` (5.4.0+): transactions, timers and the index. Big-endian.

family   key                                                        value                    broker option
trans    offset i8, `@`, topic, `@`, uniq_key                       checks i4, size i4       transRocksDBEnable
trans    `lastOffsetPy`                                             offset i8
timer    due time i8, uniq_key                                      size i4, offset i8       timerRocksDBEnable
timer    `timeline_checkpoint`                                      time i8
timer    `sys_topic_scan_offset_checkpoint`                         queue offset i8
default  hour i8, `@`, topic, `@K@`, key, `@`, uniq_key, `@`, offset i8   store_timestamp i8  indexRocksDBEnable
default  the same with `@T@`, tag, `@`, uniq_key; with `@U@`, uniq_key
default  `lastOffsetPy`, `lastStoreTimeStamp`                       offset i8, time i8

Each broker since 5.4.0 makes the database. Without these options it stays empty.

The index has a row for each word of KEYS, for the tag, and for the message itself, but none of messages without UNIQ_KEY. `hour` is
that of the store time, in milliseconds; a broker deletes whole hours. Records up to `lastOffsetPy` have their rows.

`trans` has a row for each half message that is not decided: a broker deletes it with the op message, or when it gives up.
Half messages up to `lastOffsetPy` had a row. `timer` keeps rows of delivered messages for a while; what is due before
`timeline_checkpoint` was delivered, and messages of the timer topic below the other number have a row, or had one.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from native_reader.layout.index_entry import TAG_PREFIX

STORE_DATABASE = "rocksdbstore"
TRANSACTIONS, TIMERS = "trans", "timer"
HOLDS = TRANSACTIONS, TIMERS, "default"
"""What a row of each column family says that the broker keeps here."""
KEY, ID = "K", "U"
"""Rows of the index that are found by a word of KEYS, and by UNIQ_KEY."""
HOUR = 3_600_000
LAST_OFFSET = b"lastOffsetPy"
TIMELINE, SCANNED = b"timeline_checkpoint", b"sys_topic_scan_offset_checkpoint"

_NUMBER, _CHECKS = struct.Struct(">q"), struct.Struct(">i")
_CHECKS_AND_SIZE = 8
OFFSET_SIZE = _NUMBER.size
"""The bytes of the offset that each key of the index ends with."""
_AT = b"@"
_TAG = "T"


class Indexed(NamedTuple):
    """A row of the index: the word it is found by, as index files have it, and the record."""

    topic: str
    word: str
    offset: int


class Undecided(NamedTuple):
    """The row of one half message: its offset in the log, and how often the producer was asked."""

    offset: int
    checks: int


def undecided_in(key: bytes, value: bytes) -> Undecided | None:
    """A row of `trans`; None if it is something else."""
    if key[_NUMBER.size : _NUMBER.size + 1] != _AT or len(value) != _CHECKS_AND_SIZE:
        return None
    return Undecided(_NUMBER.unpack_from(key)[0], _CHECKS.unpack_from(value)[0])


def hour_of(key: bytes) -> int | None:
    """The hour of a row of the index, as a time in milliseconds; None if it is something else."""
    hour = int(_NUMBER.unpack_from(key)[0]) if len(key) > 2 * _NUMBER.size and key[_NUMBER.size : _NUMBER.size + 1] == _AT else -1
    return hour if hour >= 0 and hour % HOUR == 0 else None


def hour_key(hour: int) -> bytes:
    """What the keys of that hour begin with."""
    return _NUMBER.pack(hour)


def rows_prefix(hour: int, topic: str, kind: str, word: str) -> bytes:
    """What the keys of all rows begin with that are found by that word."""
    return hour_key(hour) + f"@{topic}@{kind}@{word}@".encode()


def id_row(key: bytes, prefix: bytes, topic: str) -> bytes:
    """For a row `KEY` that begins with `prefix`, the key of the row `ID` of the same record."""
    return key[: _NUMBER.size] + f"@{topic}@{ID}@".encode() + key[len(prefix) :]


def offset_of(key: bytes) -> int:
    """The offset in the log that a row of the index ends with."""
    return int(_NUMBER.unpack_from(key, len(key) - _NUMBER.size)[0])


def indexed_in(key: bytes) -> Indexed | None:
    """A row of the index; None if it is something else, or if an `@` in a word leaves open where that ends."""
    if hour_of(key) is None:
        return None
    parts = key[_NUMBER.size : -_NUMBER.size].split(_AT)
    if len(parts) != (5 if parts[2:3] == [ID.encode()] else 6) or parts[-1]:
        return None
    topic, kind, word = (part.decode("utf-8", "replace") for part in parts[1:4])
    return Indexed(topic, f"{TAG_PREFIX}{word}" if kind == _TAG else word, offset_of(key)) if kind in (KEY, ID, _TAG) else None


def number_in(value: bytes) -> int | None:
    """The number in the value of a named row; None if it is invalid."""
    number = int(_NUMBER.unpack(value)[0]) if len(value) == _NUMBER.size else -1
    return number if number >= 0 else None
