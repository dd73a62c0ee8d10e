"""The small files in which a broker writes once a second how far it is: `checkpoint` and `config/timercheck`. Big-endian.

`checkpoint`:

    0 flushed_time i8      store time of the last flushed record
    8 dispatched_time i8   store time of the last record with an entry in its consume queue
    16 indexed_time i8     store time of the last record in the last full index file
    24 flushed i8          offset up to which the master has flushed (5.0 and later)
    32 confirmed i8        offset up to which the slaves have confirmed (5.1.1 and later)
    40 dispatched i8       offset of the last record with an entry in its consume queue (5.5.0 and later)

The fields are hints, not bounds: each can be 0 in a healthy store. Most brokers leave `flushed` and `confirmed` at 0.

`config/timercheck` (5.0 and later); a broker with `timerRocksDBEnable` does not keep its progress here:

    0 read_time i8       messages that are due before it were delivered, or stored again for another round
    8 flushed i8         the end of the timer log
    16 queue_offset i8   messages of the timer topic below it are in the timer's wheel, or were
    24 master_queue_offset i8
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_CHECKPOINT, _TIMER_CHECK = struct.Struct(">6q"), struct.Struct(">4q")
_FIELD = 8
CHECKPOINT_SIZE, TIMER_CHECK_SIZE = _CHECKPOINT.size, _TIMER_CHECK.size
TIMES_SIZE = 3 * _FIELD
"""The part of the checkpoint that each broker writes."""


class Checkpoint(NamedTuple):
    """The fields of the checkpoint; 0 means not set."""

    flushed_time: int = 0
    dispatched_time: int = 0
    indexed_time: int = 0
    flushed: int = 0
    confirmed: int = 0
    dispatched: int = 0

    @property
    def newest(self) -> int:
        """The store time of the newest flushed or dispatched record."""
        return max(self.flushed_time, self.dispatched_time)

    @property
    def times(self) -> tuple[int, int, int]:
        """The fields that each broker writes."""
        return self.flushed_time, self.dispatched_time, self.indexed_time


class TimerCheck(NamedTuple):
    """The fields of the timer's file. Times are in milliseconds since 1970."""

    read_time: int
    flushed: int
    queue_offset: int
    master_queue_offset: int


def checkpoint_in(content: bytes) -> Checkpoint:
    """The checkpoint in the first CHECKPOINT_SIZE bytes of its file, or fewer; fields that are not completely there are 0."""
    whole = content[: len(content) // _FIELD * _FIELD]
    return Checkpoint._make(_CHECKPOINT.unpack(whole.ljust(_CHECKPOINT.size, b"\0")))


def timer_check_in(content: bytes) -> TimerCheck | None:
    """The timer's progress in the first TIMER_CHECK_SIZE bytes of its file; None if there are fewer, or it was never written to."""
    if len(content) < _TIMER_CHECK.size:
        return None
    check = TimerCheck._make(_TIMER_CHECK.unpack(content))
    return check if check.read_time > 0 else None
