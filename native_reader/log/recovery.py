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
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from native_reader.broker.progress import checkpoint_of
from native_reader.broker.versions import version_key
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


Begins = Callable[[StoreFiles, int], int]
"""Where checking begins. Takes a store with segments, and where the last record with a queue entry ends."""


def _third_last(store: StoreFiles, reached: int) -> int:
    return store.segments[-min(_CLEAN_FILES, len(store.segments))].base


def _by_queues(store: StoreFiles, reached: int) -> int:
    return max((segment.base for segment in store.segments if segment.base <= reached), default=store.segments[0].base)


def _by_times(store: StoreFiles, reached: int) -> int:
    checkpoint = checkpoint_of(store.uri)
    flushed = min(checkpoint.flushed_time, checkpoint.dispatched_time) - _SAFETY_MS
    older = [segment.base for segment in store.segments if 0 < first_store_time(segment) <= flushed]
    return max(older, default=store.segments[0].base)


def _of_ten_by_queues(store: StoreFiles, reached: int) -> int:
    return _newest_of_ten(store, lambda offset, time: offset <= reached)


def _of_ten_by_checkpoint(store: StoreFiles, reached: int) -> int:
    checkpoint = checkpoint_of(store.uri)
    if checkpoint.dispatched > 0:
        return _newest_of_ten(store, lambda offset, time: offset <= checkpoint.dispatched)
    return _newest_of_ten(store, lambda offset, time: time <= checkpoint.dispatched_time)


def _newest_of_ten(store: StoreFiles, fits: Callable[[int, int], bool]) -> int:
    """The newest of the last files with a whole first record whose offset and store time fit; the oldest of them if none has one."""
    tried = store.segments[-_MOST_FILES:]
    for segment in reversed(tried):
        with Window(segment, LONGEST_HEAD, past_unreadable=True) as window:
            if not _accepted(window, 0, segment.frame):
                continue
            head = head_at(window, 0)
        if head["store_timestamp"] and fits(int(head["physical_offset"]), int(head["store_timestamp"])):
            return segment.base
    return tried[0].base


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Versions of RocketMQ that start in the same way, and what they do."""

    span: str
    """The versions, as people write them."""
    last: str | None
    """The last of them; None for the newest."""
    stopped: Begins
    """Where it begins to check the log if the broker before it stopped cleanly."""
    killed: Begins
    """Where it begins if not."""
    killed_in_rocksdb: Begins
    """Where it begins then with all queues in a database."""
    requeues_all: bool
    """Whether, stopped cleanly and without queues, it makes them again from the whole log, not only from what it checks."""
    refuses_folders: bool
    """Whether a folder among the segments stops it."""
    refuses_empty: bool
    """Whether an empty last segment stops it."""
    checks_queue_types: bool
    """Whether queues of another kind than that of their topic stop it."""


LINES = (
    Line(
        span="4.x",
        last="4.9.9",
        stopped=_third_last,
        killed=_by_times,
        killed_in_rocksdb=_by_queues,
        requeues_all=True,
        refuses_folders=True,
        refuses_empty=True,
        checks_queue_types=False,
    ),
    Line(
        span="5.0.0–5.3.1",
        last="5.3.1",
        stopped=_third_last,
        killed=_by_times,
        killed_in_rocksdb=_by_queues,
        requeues_all=True,
        refuses_folders=False,
        refuses_empty=True,
        checks_queue_types=True,
    ),
    Line(
        span="5.3.2–5.4.x",
        last="5.4.9",
        stopped=_by_queues,
        killed=_by_times,
        killed_in_rocksdb=_by_queues,
        requeues_all=True,
        refuses_folders=False,
        refuses_empty=False,
        checks_queue_types=True,
    ),
    Line(
        span="5.5.0+",
        last=None,
        stopped=_of_ten_by_queues,
        killed=_of_ten_by_checkpoint,
        killed_in_rocksdb=_of_ten_by_queues,
        requeues_all=False,
        refuses_folders=False,
        refuses_empty=False,
        checks_queue_types=True,
    ),
)
"""From the oldest to the newest."""


def lines_since(version: str) -> tuple[Line, ...]:
    """The brokers of that version or later."""
    least = version_key(version)
    return tuple(line for line in LINES if line.last is None or version_key(line.last) >= least)


def recovery_begins(store: StoreFiles, line: Line = LINES[0], reached: int = -1, *, in_rocksdb: bool = False) -> int:
    """The first offset that a broker of that line checks when it starts on that store.

    A store does not say which version will start on it. The oldest lines usually check most. `reached`: where the last record
    with a queue entry ends, for the later ones; -1 if no queue has entries. `in_rocksdb`: all queues are in a database.
    """
    if not store.segments:
        return 0
    begins = line.stopped if not has_abort(store) else line.killed_in_rocksdb if in_rocksdb else line.killed
    return begins(store, reached)


def has_abort(store: StoreFiles) -> bool:
    """Whether the file is there that a broker makes when it starts, and deletes when it stops."""
    return storage_of(store.uri).entry(f"{store.uri}/abort") is not None


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
