"""Segments that a starting broker deletes at its next cleaning, because they are older than `fileReservedTime`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from native_reader.checks import whole
from native_reader.log.recovery import first_store_time
from native_reader.storage.broker_conf import LONGEST, reserved_hours
from native_reader.storage.paths import uri_of
from native_reader.storage.store import StoreFiles
from native_reader.text import Said, say, size_of

RESERVED = 72
"""A broker's default of `fileReservedTime`, in hours."""
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


def reserved_of(hours: int | None, broker_conf: str | None) -> int:
    """The hours for which a broker keeps a segment: the given ones, or those of its configuration file, or its default."""
    if hours is not None:
        return whole("file_reserved_time", hours, 0, LONGEST)
    configured = None if broker_conf is None else reserved_hours(uri_of(broker_conf))
    return RESERVED if configured is None else configured
