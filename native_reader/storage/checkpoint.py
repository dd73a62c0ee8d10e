"""The file `checkpoint`: how far a broker had come when it last wrote it down, once a second.

    0 flushed_time i8      store time of the last record that was flushed
    8 dispatched_time i8   ... that was put into its queue
    16 indexed_time i8     ... of the last index file that is full
    24 flushed i8          offset up to which the master has flushed (5.0 and later)
    32 confirmed i8        offset that its slaves have confirmed (5.1.1 and later)

Hints, never bounds: any of them can be 0 in a healthy store, and most brokers leave the offsets so.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from native_reader.storage.protocol import storage_of

_FIELDS = struct.Struct(">5q")


class Checkpoint(NamedTuple):
    """What it says; 0 where it says nothing."""

    flushed_time: int = 0
    dispatched_time: int = 0
    indexed_time: int = 0
    flushed: int = 0
    confirmed: int = 0

    @property
    def newest(self) -> int:
        """The store time of the newest record that it knows."""
        return max(self.flushed_time, self.dispatched_time)


def checkpoint_of(store: str) -> Checkpoint:
    """The checkpoint of the store of that URI; one that is missing, short or unreadable says nothing more."""
    try:
        with storage_of(store).open(f"{store}/checkpoint") as file:
            (found,) = file.read_ranges([(0, _FIELDS.size)])
    except OSError:
        return Checkpoint()
    whole = found[: len(found) // 8 * 8]
    return Checkpoint._make(_FIELDS.unpack(whole.ljust(_FIELDS.size, b"\0")))
