"""The file `checkpoint`: a broker's progress, written once a second.

    0 flushed_time i8      store time of the last flushed record
    8 dispatched_time i8   store time of the last record with an entry in its consume queue
    16 indexed_time i8     store time of the last record in the last full index file
    24 flushed i8          offset up to which the master has flushed (5.0 and later)
    32 confirmed i8        offset up to which the slaves have confirmed (5.1.1 and later)
    40 dispatched i8       offset of the last record with an entry in its consume queue (5.5.0 and later)

The fields are hints, not bounds: each can be 0 in a healthy store. Most brokers leave `flushed` and `confirmed` at 0.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from native_reader.storage.protocol import storage_of

_FIELDS = struct.Struct(">6q")


class Checkpoint(NamedTuple):
    """The fields of the file; 0 means not set."""

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


def checkpoint_of(store: str) -> Checkpoint:
    """The checkpoint of the store at that URI; fields that are missing or unreadable are 0."""
    try:
        return read_checkpoint(store) or Checkpoint()
    except OSError:
        return Checkpoint()


def read_checkpoint(store: str) -> Checkpoint | None:
    """The checkpoint of the store at that URI, or None if it has none; fields after the end of a truncated file are 0."""
    try:
        with storage_of(store).open(f"{store}/checkpoint") as file:
            (content,) = file.read_ranges([(0, _FIELDS.size)])
    except (FileNotFoundError, NotADirectoryError):
        return None
    whole = content[: len(content) // 8 * 8]
    return Checkpoint._make(_FIELDS.unpack(whole.ljust(_FIELDS.size, b"\0")))
