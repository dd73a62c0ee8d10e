"""Where a broker's own recovery would truncate the log: at the first record it rejects, whatever comes after it.

On start, a broker walks its log from some file on. It checks magic, lengths and the body's checksum, but not the physical
offset. It treats any blank as the end of a file, and discards everything after the first failure. It begins with

              stopped cleanly (no file `abort`)            otherwise
    to 5.3.1  the third-last file                          the newest file whose first record is older than both times of
    to 5.4    the newest file that begins before the       the checkpoint less three seconds
              end of the last record with a queue entry
    5.5.0     the newest whose first record is whole and   the newest whose first record is whole and not after the
              before that end                              checkpoint's dispatched offset, or its dispatched time

and with the first file if there is none; 5.5.0 looks at ten files, and then takes the tenth. With queues in RocksDB, brokers
to 5.4 go by the queues after a crash too.
"""

from __future__ import annotations

import zlib
from enum import Enum

import numpy as np

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
_MOST_FILES = 10
_POSITIVE = 0x7FFFFFFF


class Line(Enum):
    """Versions of RocketMQ that start in the same way: the first of them, and the last."""

    V4 = "4.0.0", "4.9.9"
    V50 = "5.0.0", "5.3.1"
    V532 = "5.3.2", "5.4.9"
    V55 = "5.5.0", None


def recovery_begins(store: StoreFiles, line: Line = Line.V50, reached: int = -1, *, in_rocksdb: bool = False) -> int:
    """The first offset that a broker of that line checks when it starts on that store.

    A store does not say which version will start on it. The oldest lines usually check most. `reached`: where the last record
    with a queue entry ends, for the later ones; -1 if no queue has entries. `in_rocksdb`: all queues are in a database.
    """
    segments = store.segments
    if not segments:
        return 0
    crashed = has_abort(store)
    if line is Line.V55:
        return _first_of_v55(store, reached, crashed=crashed, in_rocksdb=in_rocksdb)
    if not crashed and line is not Line.V532:
        return segments[-min(_CLEAN_FILES, len(segments))].base
    if not crashed or in_rocksdb:
        return max((segment.base for segment in segments if segment.base <= reached), default=segments[0].base)
    checkpoint = checkpoint_of(store.uri)
    flushed = min(checkpoint.flushed_time, checkpoint.dispatched_time) - _SAFETY_MS
    older = [segment.base for segment in segments if 0 < first_store_time(segment) <= flushed]
    return max(older, default=segments[0].base)


def has_abort(store: StoreFiles) -> bool:
    """Whether the file is there that a broker makes when it starts, and deletes when it stops."""
    return storage_of(store.uri).entry(f"{store.uri}/abort") is not None


def _first_of_v55(store: StoreFiles, reached: int, *, crashed: bool, in_rocksdb: bool) -> int:
    checkpoint = checkpoint_of(store.uri)
    limit, by_time = reached, False
    if crashed and not in_rocksdb:
        limit, by_time = checkpoint.dispatched, checkpoint.dispatched <= 0
    tried = store.segments[-_MOST_FILES:]
    for segment in reversed(tried):
        with Window(segment, LONGEST_HEAD, past_unreadable=True) as window:
            if not _accepted(window, 0, segment.frame):
                continue
            head = head_at(window, 0)
        time, offset = int(head["store_timestamp"]), int(head["physical_offset"])
        if time and (time <= checkpoint.dispatched_time if by_time else offset <= limit):
            return segment.base
    return tried[0].base


def recovery_stops(window: Window, position: int) -> int | None:
    """The position at which a broker stops in that file, from a record's position on; None if it continues with the next file.

    Slow, because it checks record by record, as a broker does: call it at the first invalid place.
    """
    frame = window.segment.frame
    while (size := _accepted(window, position, frame)) is not None:
        if size == 0:
            return None
        position += size
    return None if position == window.segment.size else position


def _accepted(window: Window, position: int, frame: int) -> int | None:
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
    if body is None or (body and zlib.crc32(body) & _POSITIVE != head["body_crc"]):
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
