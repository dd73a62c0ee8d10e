"""Segments that a starting broker deletes at its next cleaning, because they are older than `fileReservedTime`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from native_reader.log.recovery import first_store_time
from native_reader.storage.store import StoreFiles
from native_reader.text import Said, say, size_of

_HOUR_MS = 3_600_000


def expired_segments(files: StoreFiles, now: int, reserved_hours: int) -> Iterator[Said]:
    """How many there are, and their bytes.

    A segment is not written any more when the next one has a record. A broker goes by the modification times of the files,
    which can be later in a copy.
    """
    count = size = 0
    for segment, after in pairwise(files.segments):
        written = first_store_time(after)
        if not 0 < written < now - reserved_hours * _HOUR_MS:
            break
        count, size = count + 1, size + segment.size
    if count:
        yield say("expired", segments=count, bytes=size, size=size_of(size), hours=reserved_hours)
