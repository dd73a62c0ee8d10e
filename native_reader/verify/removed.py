"""What missing files of the log had: whether those before it were removed too early, and how much of them was blank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from native_reader.broker.progress import checkpoint_of
from native_reader.errors import StoreError
from native_reader.layout.record import BLANK_HEAD, LONGEST_HEAD, MAGIC_V1, MAGIC_V2
from native_reader.records.sync import head_at, head_in
from native_reader.sides.index import index_files, read_head
from native_reader.sides.queues import Queue, QueueReader
from native_reader.storage.protocol import storage_of
from native_reader.storage.rocksdb_queues import is_in_database
from native_reader.storage.store import Segment, StoreFiles, is_live
from native_reader.storage.window import Window

RESERVED = 72
"""A broker's default of `fileReservedTime`, in hours."""
_HOUR = 3_600_000
_DAY = 24 * _HOUR
"""A broker deletes once a day."""
_OFTEN = ("config/consumerOffset.json", "config/delayOffset.json")
"""Files that a broker writes every few seconds, also if it gets no message."""


class QueueBegin(NamedTuple):
    """The begin of a queue: its first file's position, the offset in its first entry, and that in the last entry of this file.

    -1 if there is no such entry, or, for the last entry, if the file is the only one: a broker always keeps the last file.
    """

    position: int
    first: int
    last: int = -1


def ran_too_short(store: StoreFiles, queues: Iterable[QueueBegin], end: int, hours: int | None = None) -> int | None:
    """How long a broker ran after the first message of its log, in milliseconds, if that is too short for earlier files to expire.

    None if they can have expired, or nothing names what they had. `hours`: `fileReservedTime`, by default that of the store. A file
    expires that many hours after its last message. A broker with a full disk deletes sooner, and then deletes the files of queues
    and index that name nothing else.
    """
    held = [segment for segment in store.segments if segment.base < end]
    if not held or not store.begins or is_live(store.uri):
        return None
    times = [int(_first_head(segment)["store_timestamp"]) for segment in (held[0], held[-1])]
    first = times[0] or next(filter(None, (int(_first_head(segment)["store_timestamp"]) for segment in held)), 0)
    kept = (hours_kept(store) if hours is None else hours) * _HOUR
    age = max(times[-1], *checkpoint_of(store.uri).times, _last_written(store, first + kept, are_several=len(held) > 1)) - first
    return age if first > 0 and 0 <= age < kept and _names_older(store, queues) else None


def hours_kept(store: StoreFiles) -> int:
    """For how many hours its broker keeps a segment."""
    return RESERVED if store.reserved_hours is None else store.reserved_hours


def _last_written(store: StoreFiles, expires: int, *, are_several: bool) -> int:
    """When a broker last wrote its files, in milliseconds since 1970; 0 if unknown.

    `expires`: when the first segment does. One that ran until then has deleted it, unless it is the only one. So later times of files
    are those of a copy.
    """
    found = 0
    for name in _OFTEN:
        uri = f"{store.uri}/{name}"
        with suppress(OSError), storage_of(uri).open(uri) as file:
            found = max(found, file.written() // 1_000_000)
    return found if not are_several or found < expires + _DAY else 0


def begins_of(queues: Iterable[Queue]) -> Iterator[QueueBegin]:
    """Read the begin of each queue."""
    for queue in queues:
        with QueueReader(queue) as reader:
            units = queue.files[0].units
            first, last = (reader.read(at, min(at + 1, reader.units)) for at in (0, units - 1))
            has_more = len(queue.files) > 1 and len(last)
            yield QueueBegin(
                # A database has no files that a broker deletes.
                0 if is_in_database(queue.files[0].uri) else queue.files[0].base,
                int(first.offsets[0]) if len(first) else -1,
                int(last.offsets[-1]) if has_more and not is_in_database(queue.files[0].uri) else -1,
            )


def _names_older(store: StoreFiles, queues: Iterable[QueueBegin]) -> bool:
    """Whether queues name what was before the log, and no broker deleted it: it deletes files of queues and index, too."""
    begin, is_named, has_deleted = store.begins, False, False
    for queue in queues:
        if 0 <= queue.last < begin:
            return True
        is_named |= 0 <= queue.first < begin
        has_deleted |= queue.position > 0
    return is_named and (not has_deleted or _indexes_older(store))


def _indexes_older(store: StoreFiles) -> bool:
    """Whether an index file, but the last one, ends before the log."""
    for index in index_files(store.index)[:-1]:
        with suppress(OSError), storage_of(index.uri).open(index.uri) as file:
            if 0 < read_head(file).end < store.begins:
                return True
    return False


def most_blank(store: StoreFiles, start: int, stop: int) -> int:
    """How many bytes of missing files were blank, at most: at the end of each, less than the record that did not fit, and 8 bytes.

    The one after the last of them is known. It stands for those of the others.
    """
    after = next((segment for segment in store.segments if segment.base >= stop), None)
    size = max(segment.size for segment in store.segments)
    return 0 if after is None else -(-(stop - start) // size) * (int(_first_head(after)["size"]) + BLANK_HEAD)


def _first_head(segment: Segment) -> np.void:
    """The head of the first record; zeros if there is none."""
    with suppress(StoreError, OSError), Window(segment, LONGEST_HEAD, past_unreadable=True) as window:
        head = head_at(window, 0)
        if head["magic"] in (MAGIC_V1, MAGIC_V2):
            return head
    return head_in(b"")
