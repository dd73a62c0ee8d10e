"""Messages from before the log: queues still name them, and their segments are gone. They expired, or somebody removed the files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from native_reader.broker.progress import checkpoint_of
from native_reader.layout.queue_entry import is_written
from native_reader.repair import disk
from native_reader.repair.old_queues import OldQueue, is_filler
from native_reader.storage.local import local_path
from native_reader.storage.store import StoreFiles

_AT_ONCE = 1 << 16
_HOUR_MS = 3_600_000
_WRITTEN = ("checkpoint", "config/consumerOffset.json", "config/delayOffset.json")
"""Files that a broker writes every few seconds."""


class Before(NamedTuple):
    """The queue offsets `[first, stop)` of those messages, by queue. `is_lost`: their segments were too young to expire."""

    offsets: Mapping[tuple[str, int], list[tuple[int, int]]]
    is_lost: bool
    hours: int
    """After them, a broker deletes a segment."""

    @property
    def messages(self) -> int:
        """How many they are."""
        return sum(stop - first for runs in self.offsets.values() for first, stop in runs)


def before_log(files: StoreFiles, queues: Mapping[tuple[str, int], OldQueue], first_time: int, last_time: int, hours: int) -> Before:
    """The messages before the first segment. `first_time`, `last_time`: of the first and the last record."""
    begin = files.min_offset
    found = {key: runs for key, queue in queues.items() if begin and (runs := _named_before(queue, begin))}
    # A broker deletes a segment by the time of its last record, and it did so while it ran.
    ran = max(last_time, *checkpoint_of(files.uri).times, *(disk.time_of(disk.path_in(local_path(files.uri), name)) for name in _WRITTEN))
    # When segments expire, a broker deletes the files of queues that name nothing else.
    has_cleaned = any(queue.begin > 0 for queue in queues.values())
    return Before(found, bool(found) and not has_cleaned and first_time > ran - hours * _HOUR_MS, hours)


def _named_before(queue: OldQueue, begin: int) -> list[tuple[int, int]]:
    """The slots of entries that name offsets below `begin`, up to the first piece without any."""
    found = [np.empty(0, np.int64)]
    for first in range(queue.begin, queue.stop, _AT_ONCE):
        entries = queue.read(first, min(first + _AT_ONCE, queue.stop))
        slots = first + np.flatnonzero(is_written(entries) & ~is_filler(entries) & (entries["offset"] < begin))
        if not len(slots):
            break
        found.append(slots)
    slots = np.concatenate(found)
    parts = np.split(slots, np.flatnonzero(np.diff(slots) != 1) + 1) if len(slots) else []
    return [(int(part[0]), int(part[-1]) + 1) for part in parts]
