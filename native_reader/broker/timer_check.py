"""The file `config/timercheck`: how far a broker's timer is (5.0 and later), written once a second.

    0 read_time i8       messages that are due before it were delivered, or stored again for another round
    8 flushed i8         the end of the timer log
    16 queue_offset i8   messages of the timer topic below it are in the timer's wheel, or were
    24 master_queue_offset i8

A broker with `timerRocksDBEnable` does not keep its progress here.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from native_reader.storage.protocol import storage_of

_FIELDS = struct.Struct(">4q")


class TimerCheck(NamedTuple):
    """The fields of the file. Times are in milliseconds since 1970."""

    read_time: int
    flushed: int
    queue_offset: int
    master_queue_offset: int


def timer_check_of(config: str | None) -> TimerCheck | None:
    """The file in a configuration directory; None if it is missing, truncated, or was never written to."""
    if config is None:
        return None
    try:
        with storage_of(config).open(f"{config}/timercheck") as file:
            (content,) = file.read_ranges([(0, _FIELDS.size)])
    except OSError:
        return None
    if len(content) < _FIELDS.size:
        return None
    check = TimerCheck._make(_FIELDS.unpack(content))
    return check if check.read_time > 0 else None
