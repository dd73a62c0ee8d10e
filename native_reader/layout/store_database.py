"""Keys and values of the RocksDB database `rocksdbstore` (5.4.0+): transactions, timers and the index. Big-endian.

family   key                                                        value                    broker option
trans    offset i8, `@`, topic, `@`, uniq_key                       checks i4, size i4       transRocksDBEnable
trans    `lastOffsetPy`                                             offset i8
timer    due time i8, uniq_key                                      size i4, offset i8       timerRocksDBEnable
timer    `timeline_checkpoint`                                      time i8
timer    `sys_topic_scan_offset_checkpoint`                         queue offset i8
default  hour i8, `@`, topic, `@K@`, key, `@`, uniq_key, `@`, offset i8   store_timestamp i8  indexRocksDBEnable
default  `lastOffsetPy`, `lastStoreTimeStamp`                       offset i8, time i8

Each broker since 5.4.0 makes the database. Without these options it stays empty.

`trans` has a row for each half message that is not decided: a broker deletes it with the op message, or when it gives up.
Half messages up to `lastOffsetPy` had a row. `timer` keeps rows of delivered messages for a while; what is due before
`timeline_checkpoint` was delivered, and messages of the timer topic below the other number have a row, or had one.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

STORE_DATABASE = "rocksdbstore"
TRANSACTIONS, TIMERS = "trans", "timer"
HOLDS = {TRANSACTIONS: "transactions", TIMERS: "timers", "default": "an index of keys"}
"""What a row of each column family says that the broker keeps here."""
LAST_OFFSET = b"lastOffsetPy"
TIMELINE, SCANNED = b"timeline_checkpoint", b"sys_topic_scan_offset_checkpoint"

_NUMBER, _CHECKS = struct.Struct(">q"), struct.Struct(">i")
_CHECKS_AND_SIZE = 8
_AT = b"@"


class Undecided(NamedTuple):
    """The row of one half message: its offset in the log, and how often the producer was asked."""

    offset: int
    checks: int


def undecided_in(key: bytes, value: bytes) -> Undecided | None:
    """A row of `trans`; None if it is something else."""
    if key[_NUMBER.size : _NUMBER.size + 1] != _AT or len(value) != _CHECKS_AND_SIZE:
        return None
    return Undecided(_NUMBER.unpack_from(key)[0], _CHECKS.unpack_from(value)[0])


def number_in(value: bytes) -> int | None:
    """The number in the value of a named row; None if it is invalid."""
    number = int(_NUMBER.unpack(value)[0]) if len(value) == _NUMBER.size else -1
    return number if number >= 0 else None
