"""Runs of records: consecutive records without a break, and whether a broker discarded those after a break.

A broker that recovers, or joins another master, truncates its log: it goes back and continues to write from there. Old records
then remain after the new end, complete and at their right offsets, often after part of a half overwritten one (seen with 5.5.0).
All of them are older than the last record of the log. Damage does not cause this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.record import Index, Records
from native_reader.records.sync import places_of
from native_reader.records.walk import EndWalk
from native_reader.storage.window import Window

Numbers = NDArray[np.int64]


class Run(NamedTuple):
    """Where a run ends, its last record and that record's store time, and the newest store time after it, in milliseconds."""

    end: int
    last: int
    last_time: int
    newest_after: int = 0
    is_broken: bool = False
    """Whether bytes other than the next record follow."""


@dataclass
class Runs:
    """The runs of records in a walk, collected chunk by chunk. A run also ends where the next record is older than its last."""

    _ends: list[Numbers] = field(default_factory=list)
    _lasts: list[Numbers] = field(default_factory=list)
    _last_times: list[Numbers] = field(default_factory=list)
    _newest: list[Numbers] = field(default_factory=list)
    _begins: list[Numbers] = field(default_factory=list)

    @staticmethod
    def of(walk: EndWalk, window: Window) -> Runs:
        """Complete the walk and collect its runs."""
        runs = Runs()
        for records in walk:
            runs._add(records, *places_of(window, records))
        return runs

    def _add(self, records: Records, starts: Index, sizes: Index) -> None:
        ends, times = starts + sizes, records.heads["store_timestamp"].astype(np.int64)
        firsts = np.concatenate(([0], np.flatnonzero((starts[1:] != ends[:-1]) | (times[1:] < times[:-1])) + 1))
        lasts = np.concatenate((firsts[1:], [len(starts)])) - 1
        self._begins.append(starts[firsts])
        self._ends.append(ends[lasts])
        self._lasts.append(starts[lasts])
        self._last_times.append(times[lasts])
        self._newest.append(np.maximum.reduceat(times, firsts))

    def __bool__(self) -> bool:
        return bool(self._ends)

    @property
    def last(self) -> Run:
        """The last run."""
        return Run(int(self._ends[-1][-1]), int(self._lasts[-1][-1]), int(self._last_times[-1][-1]))

    def cuts(self) -> Iterator[Run]:
        """Each run, except the last, whose last record is newer than all records after it."""
        ends, lasts, times, newest, begins = map(np.concatenate, (self._ends, self._lasts, self._last_times, self._newest, self._begins))
        after = np.maximum.accumulate(newest[::-1])[::-1]
        for which in np.flatnonzero(times[:-1] > after[1:]).tolist():  # few, unless a clock was set back often
            end = int(ends[which])
            yield Run(end, int(lasts[which]), int(times[which]), int(after[which + 1]), end != int(begins[which + 1]))
