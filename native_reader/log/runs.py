"""Runs of records: consecutive records without a break, and whether a broker discarded those after a break.

A broker that recovers, or joins another master, truncates its log: it goes back and continues to write from there. Old records
then remain after the new end, complete and at their right offsets, often after part of a half overwritten one (seen with 5.5.0).
All of them are older than the last record of the log. Damage does not cause this.

A log surely goes as far as all segments before one that begins with a record, because its end is in the highest segment with a record
(`log.tail`). In a log of one segment, it goes as far as records follow each other from its start: only a break between two can be where
a broker went back, and each is followed by another, so it is complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.record import Index, Records
from native_reader.records.sync import places_of, record_size_at
from native_reader.records.walk import FIRST_CHUNK, EndWalk
from native_reader.storage.store import StoreFiles, is_live
from native_reader.storage.window import Window


class RecordRun(NamedTuple):
    """Where a run ends, its last record and that record's store time, and the newest store time after it, in milliseconds."""

    end: int
    last: int
    last_time: int
    newest_after: int = 0
    is_broken: bool = False
    """Whether bytes other than the next record follow."""


class Runs:
    """The runs of records in a walk. A run also ends where the next record is older than its last."""

    def __init__(self, walk: EndWalk, window: Window) -> None:
        """Complete the walk and collect its runs, chunk by chunk."""
        chunks = [_runs_in(records, *places_of(window, records)) for records in walk]
        self._runs = np.concatenate(chunks, axis=1) if chunks else np.empty((5, 0), np.int64)

    def __bool__(self) -> bool:
        return bool(self._runs.size)

    def begins(self, most: int) -> list[int]:
        """Where the last runs begin, up to `most` of them; one begins in each chunk of the walk."""
        return [int(begin) for begin in self._runs[0, -most:]]

    @property
    def last(self) -> RecordRun:
        """The last run."""
        return RecordRun(*self._runs[1:4, -1].tolist())

    def has_record_before(self, position: int) -> bool:
        """Whether a record of the walk ends at that position, which is the start or end of the last record of a run."""
        begins, ends, lasts, *_ = self._runs
        return bool((ends == position).any() or ((lasts == position) & (begins < position)).any())

    def cuts(self) -> Iterator[RecordRun]:
        """Each run, except the last, whose last record is newer than all records after it."""
        begins, ends, lasts, times, newest = self._runs
        after = np.maximum.accumulate(newest[::-1])[::-1]
        for which in np.flatnonzero(times[:-1] > after[1:]).tolist():  # few, unless a clock was set back often
            end = int(ends[which])
            yield RecordRun(end, int(lasts[which]), int(times[which]), int(after[which + 1]), end != int(begins[which + 1]))


def first_run(walk: EndWalk, window: Window) -> RecordRun | None:
    """The first run of a walk, as far as its first chunk has it; None if there is no record. The walk ends with that chunk."""
    records = next(iter(walk), None)
    return None if records is None else RecordRun(*_runs_in(records, *places_of(window, records))[1:4, 0].tolist())


def _runs_in(records: Records, starts: Index, sizes: Index) -> NDArray[np.int64]:
    """For each run of those records: its begin, end and last record, that record's store time, and the newest in it."""
    ends, times = starts + sizes, records.heads["store_timestamp"].astype(np.int64)
    firsts = np.concatenate(([0], np.flatnonzero((starts[1:] != ends[:-1]) | (times[1:] < times[:-1])) + 1))
    lasts = np.concatenate((firsts[1:], [len(starts)])) - 1
    return np.stack([starts[firsts], ends[lasts], starts[lasts], times[lasts], np.maximum.reduceat(times, firsts)])


def known_extent(store: StoreFiles, max_record_bytes: int, *, past_unreadable: bool = False) -> int | None:
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
