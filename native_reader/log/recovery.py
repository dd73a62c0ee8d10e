"""Where a broker's own recovery would truncate the log: at the first record it rejects, whatever comes after it.

On start, a broker walks its log from some file on. It checks magic, lengths and the body's checksum, but not the physical
offset. It treats any blank as the end of a file, and discards everything after the first failure. It begins with

              stopped cleanly (no file `abort`)            otherwise
    to 5.3.1  the third-last file                          the newest file whose first record is older than both times of
    to 5.3    the newest file that begins before the       the checkpoint less three seconds
              end of the last record with a queue entry
    5.4       the newest whose first record is whole and   the newest whose first record is whole and older than these
              before that end
    5.5       as 5.4                                       the newest whose first record is whole and not after the
                                                           checkpoint's dispatched offset, or its dispatched time

and with the first file if there is none; since 5.4, ten files are looked at (commitLogRecoverMaxNum), and then the tenth is taken.
With queues in RocksDB, brokers go by the queues after a crash too.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np

from native_reader.broker.epochs import EPOCHS
from native_reader.broker.progress import checkpoint_of
from native_reader.layout.begin import number
from native_reader.layout.record import (
    LONGEST_HEAD,
    MAGIC_BLANK,
    MAGIC_ENTRY,
    MAGIC_ENTRY_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    SMALLEST_RECORD,
    UP_TO_BODY_CRC,
    head_size,
)
from native_reader.records.sync import head_at, head_in
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import Segment, StoreFiles
from native_reader.storage.window import Window

_CLEAN_FILES = 3
_SAFETY_MS = 3000
_POSITIVE = 0x7FFFFFFF


Begins = Callable[[StoreFiles, int], int]
"""Where checking begins. Takes a store with segments, and where the last record with a queue entry ends."""


def third_last(store: StoreFiles, reached: int) -> int:
    """The third-last file."""
    return store.segments[-min(_CLEAN_FILES, len(store.segments))].base


def by_queues(store: StoreFiles, reached: int) -> int:
    """The newest file that begins before the end of the last record with a queue entry."""
    return max((segment.base for segment in store.segments if segment.base <= reached), default=store.segments[0].base)


def by_times(store: StoreFiles, reached: int) -> int:
    """The newest file whose first record is older than both times of the checkpoint less three seconds."""
    checkpoint = checkpoint_of(store.uri)
    flushed = min(checkpoint.flushed_time, checkpoint.dispatched_time) - _SAFETY_MS
    older = [segment.base for segment in store.segments if 0 < first_store_time(segment) <= flushed]
    return max(older, default=store.segments[0].base)


def of_ten_by_queues(store: StoreFiles, reached: int) -> int:
    """The newest of ten files whose first record is whole and before the end of the last record with a queue entry."""
    return _newest_of_ten(store, lambda offset, time: offset <= reached)


def of_ten_by_times(store: StoreFiles, reached: int) -> int:
    """The newest of ten files whose first record is whole and older than both times of the checkpoint less three seconds."""
    checkpoint = checkpoint_of(store.uri)
    flushed = min(checkpoint.flushed_time, checkpoint.dispatched_time) - _SAFETY_MS
    return _newest_of_ten(store, lambda offset, time: time <= flushed)


def of_ten_by_checkpoint(store: StoreFiles, reached: int) -> int:
    """The newest of ten files whose first record is whole and not after the dispatched offset of the checkpoint, or that time."""
    checkpoint = checkpoint_of(store.uri)
    if checkpoint.dispatched > 0:
        return _newest_of_ten(store, lambda offset, time: offset <= checkpoint.dispatched)
    return _newest_of_ten(store, lambda offset, time: time <= checkpoint.dispatched_time)


def _newest_of_ten(store: StoreFiles, fits: Callable[[int, int], bool]) -> int:
    """The newest of the last files with a whole first record whose offset and store time fit; the oldest of them if none has one."""
    tried = store.segments[-store.on_start.segments :]
    for segment in reversed(tried):
        with Window(segment, LONGEST_HEAD, past_unreadable=True) as window:
            if not _accepted(window, 0, segment.frame, checksums=store.on_start.checks_bodies):
                continue
            head = head_at(window, 0)
        if head["store_timestamp"] and fits(int(head["physical_offset"]), int(head["store_timestamp"])):
            return segment.base
    return tried[0].base


def oldest_begins(store: StoreFiles) -> int:
    """The first offset that a broker up to 5.3.1 checks. A store does not say which version will start on it, and these check most."""
    if not store.segments:
        return 0
    return by_times(store, -1) if has_abort(store) else third_last(store, -1)


def has_abort(store: StoreFiles) -> bool:
    """Whether the file is there that a broker makes when it starts, and deletes when it stops."""
    return storage_of(store.uri).entry(f"{store.uri}/abort") is not None


def is_controlled(store: StoreFiles) -> bool:
    """Whether a controller chooses the master of its brokers (5.0.0+). Then the checkpoint has the end of the log."""
    return storage_of(store.uri).entry(f"{store.uri}/{EPOCHS}") is not None


def recovery_stops(window: Window, position: int) -> int | None:
    """The position at which a broker stops in that file, from a record's position on; None if it continues with the next file."""
    stop, goes_on = walked_to(window, position)
    return None if goes_on else stop


def walked_to(window: Window, position: int, *, checksums: bool = True) -> tuple[int, bool]:
    """Where a broker leaves that file, from a record's position on, and whether it continues with the next file.

    Slow, because it checks record by record, as a broker does: call it at the first invalid place. `checksums`: of bodies. Dispatching
    does not check them.
    """
    frame = window.segment.frame
    while (size := _accepted(window, position, frame, checksums=checksums)) is not None:
        if size == 0:
            return position, True
        position += size
    return position, position == window.segment.size


def size_at(window: Window, position: int) -> int:
    """The size that a record at that position claims; 0 if there is none that a broker would take for one."""
    begin = window.peek(position, UP_TO_BODY_CRC)
    if len(begin) < UP_TO_BODY_CRC or number(begin[4:8]) not in (MAGIC_V1, MAGIC_V2):
        return 0
    return number(begin[:4])


def _accepted(window: Window, position: int, frame: int, *, checksums: bool = True) -> int | None:
    """The size of the record there if a broker accepts it, 0 for a blank, None for neither."""
    begin = window.peek(position, frame + LONGEST_HEAD)
    if len(begin) < frame + UP_TO_BODY_CRC:
        return None
    entry = number(begin[:4])
    if frame and entry != MAGIC_ENTRY:
        return 0 if entry == MAGIC_ENTRY_BLANK else None
    head = head_in(begin[frame:])
    size, magic = int(head["size"]), int(head["magic"])
    if magic == MAGIC_BLANK:
        return 0
    if magic not in (MAGIC_V1, MAGIC_V2) or not SMALLEST_RECORD <= size <= window.segment.size - position - frame:
        return None
    body = _body_of(window.peek(position + frame, size), head)
    if body is None or (checksums and body and zlib.crc32(body) & _POSITIVE != head["body_crc"]):
        return None
    return frame + size


def _body_of(record: bytes, head: np.void) -> bytes | None:
    """The stored body of a record; None if its lengths do not add up to its size."""
    body_at, wide = head_size(int(head["sys_flag"])), int(head["magic"] == MAGIC_V2)
    if body_at > len(record):
        return None
    topic_size_at = body_at + max(int(head["body_size"]), 0)
    if topic_size_at + 1 + wide > len(record):
        return None
    topic_size = number(record[topic_size_at : topic_size_at + 1 + wide])
    properties_size_at = topic_size_at + 1 + wide + topic_size
    if topic_size < 0 or properties_size_at + 2 > len(record):
        return None
    properties_size = number(record[properties_size_at : properties_size_at + 2])
    if properties_size_at + 2 + max(properties_size, 0) != len(record):
        return None
    return record[body_at:topic_size_at]


def first_store_time(segment: Segment) -> int:
    """The store time of a segment's first record; 0 if there is none."""
    with Window(segment, LONGEST_HEAD, past_unreadable=True) as window:
        head = head_at(window, 0)
    return int(head["store_timestamp"]) if head["magic"] in (MAGIC_V1, MAGIC_V2) else 0
