"""What a broker would do to the damaged store: where it would truncate the log, and how many messages it would keep."""

from __future__ import annotations

from native_reader.log.recovery import recovery_begins, recovery_stops
from native_reader.repair.log_shape import LogShape
from native_reader.repair.records import Reading
from native_reader.storage.store import StoreFiles
from native_reader.storage.window import Window

_COUNTED = ("physical_offset",)


def kept_by_broker(files: StoreFiles, shape: LogShape, how: Reading) -> int | None:
    """How many messages a broker keeps that starts on the store; None if it truncates nothing."""
    end = _truncated_at(files, shape)
    return None if end is None else how.scan(files, _COUNTED, ending_physical_offset=end).count_rows(how.jobs)


def _truncated_at(files: StoreFiles, shape: LogShape) -> int | None:
    begins = recovery_begins(files)
    for hole in shape.holes:
        segment = shape.sources.get(hole.start // shape.size * shape.size)
        if segment is None or segment.base < begins or hole.start >= segment.end or (hole.is_tail and not shape.has_junk):
            continue
        with Window(segment, 0, past_unreadable=True) as window:
            if (stop := recovery_stops(window, hole.start - segment.base)) is not None:
                return segment.base + stop
    return None
