"""What missing files of the log had: whether those before it were removed too early, and how much of them was blank."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from native_reader.broker.progress import checkpoint_of
from native_reader.errors import StoreError
from native_reader.layout.record import BLANK_HEAD, LONGEST_HEAD, MAGIC_V1, MAGIC_V2
from native_reader.records.sync import head_at, head_in
from native_reader.sides.queues import QueueReader
from native_reader.storage.rocksdb_queues import is_in_database
from native_reader.storage.store import Segment, StoreFiles, is_live
from native_reader.storage.window import Window
from native_reader.verify.sides import QueueNumbering

RESERVED = 72
"""A broker's default of `fileReservedTime`, in hours."""
_HOUR = 3_600_000


def has_removed(store: StoreFiles, queues: QueueNumbering, end: int, reserved_hours: int = RESERVED) -> bool:
    """Whether the store itself shows that the files before its log have not expired.

    A file expires that many hours after its last message. A broker deletes in order, and all that expired: if it had run for so long
    after the first message that is left, it would have deleted that, too. One with a full disk, or with another setting, deletes
    sooner, and then deletes the queue files of what it deleted.
    """
    held = [segment for segment in store.segments if segment.base < end]
    if not held or not store.begins or is_live(store.uri):
        return False
    first, last = (int(head["store_timestamp"]) for head in (_first_head(held[0]), _first_head(held[-1])))
    newest = max(last, *checkpoint_of(store.uri).times)
    return 0 < first <= newest < first + reserved_hours * _HOUR and _names_older(queues, store.begins)


def _names_older(queues: QueueNumbering, begin: int) -> bool:
    """Whether queues name what was before the log, and no broker deleted it: it deletes queue files too, but the last one of each queue."""
    is_named = has_deleted = False
    for queue in queues.all:
        with QueueReader(queue) as reader:
            first = reader.read(0, min(1, reader.units))
            is_named |= bool(len(first)) and int(first.offsets[0]) < begin
            if is_in_database(queue.files[0].uri):
                continue
            has_deleted |= queue.files[0].base > 0
            if len(queue.files) > 1:
                last = reader.read(queue.files[0].units - 1, queue.files[0].units)
                if len(last) and int(last.offsets[-1]) < begin:
                    return True
    return is_named and not has_deleted


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
