"""How far a log surely goes, from little reading: enough for its first rows, if only they are wanted.

The end of a log is in the highest segment with a record (`log.tail`), so all segments before one that begins with a record are
before the end. In a log of one segment, so are records that follow each other from its start: only a break between two can be where
a broker went back, and each is followed by another, so it is complete.
"""

from __future__ import annotations

from native_reader.log.runs import first_run
from native_reader.log.witness import is_live
from native_reader.records.sync import record_size_at
from native_reader.records.walk import FIRST_CHUNK, EndWalk
from native_reader.storage.store import StoreFiles
from native_reader.storage.window import Window


def surely_until(store: StoreFiles, max_record_bytes: int, *, past_unreadable: bool = False) -> int | None:
    """An offset at or before the end of the log, between two records; None if that takes more than a little reading."""
    live = is_live(store.uri)
    for segment in reversed(store.segments):
        with Window(segment, FIRST_CHUNK, leave_no_trace=live, past_unreadable=past_unreadable) as window:
            if record_size_at(window, 0) is None:
                continue
            if segment is not store.segments[0]:
                return segment.base
            run = first_run(EndWalk(window, 0, min(FIRST_CHUNK, segment.size), max_record_bytes), window)
            return segment.base + run.last if run is not None and run.last else None
    return None
