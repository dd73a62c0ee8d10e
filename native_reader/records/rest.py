"""The rest of a window after damage: the records that follow and the gaps between them, found at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from native_reader import kernel
from native_reader.layout.record import PADDING, Index, Records, measure
from native_reader.records.sync import candidates, places_of, proven, valid_records
from native_reader.storage.window import Window

NO_RECORDS = measure(np.zeros(PADDING, np.uint8), 0, np.empty(0, np.intp), 0)[0]


class Rest(NamedTuple):
    """Records of a window, and the gaps before, between and after them."""

    records: Records
    gaps: kernel.Gaps
    reached: int
    """The position in the file where the last record or gap ends."""

    def before_gap(self, gap: int) -> Rest:
        """What is before that gap."""
        gaps = self.gaps
        return Rest(self.records[: int(gaps.rows[gap])], kernel.Gaps._make(column[:gap] for column in gaps), int(gaps.begins[gap]))


def rest_of(window: Window, position: int, until: int, most: int) -> Rest:
    """The records from `position` on, where none is, that start before `until`: each the first one after the record before it.

    The first one that is larger than `most` or ends outside the window ends the rest: it is left to the next window.
    """
    base, frame = window.position, window.segment.frame
    records, gaps, outside = _resumed(window, position, until)
    stop = _left_out(window, records, outside, most)
    if stop is not None and len(records) and records.last[0] - frame + base >= stop:  # rare: others follow what is left out
        records, gaps, _ = _resumed(window, position, stop)
    start, size = records.last if len(records) else (position - base, 0)
    reached = start + size + base
    if stop is None or stop <= reached:
        return Rest(records, gaps, reached)
    gap = len(records), start - frame + base if len(records) else -1, reached, stop
    return Rest(records, kernel.Gaps._make(map(np.append, gaps, gap)), stop)


def _left_out(window: Window, records: Records, outside: Index, most: int) -> int | None:
    """Where the first record starts that is left to the next window."""
    stops = outside[proven(window, outside)[1]][:1]
    if records.largest > most:
        stops = np.append(stops, records.starts[np.argmax(records.sizes > most)])
    return int(stops.min()) - window.segment.frame + window.position if len(stops) else None


def _resumed(window: Window, position: int, until: int) -> tuple[Records, kernel.Gaps, Index]:
    """As `kernel.resumed`."""
    base, frame = window.position, window.segment.frame
    found = None if window.unreadable else kernel.resumed(window, base, position, until, frame)
    if found is not None:
        return found
    places = candidates(window)
    records, valid = valid_records(window, places[(places >= position - base + frame) & (places < until - base + frame)])
    starts, sizes = places_of(window, records)
    ends = starts + sizes
    rows = np.flatnonzero(valid)
    rows = rows[_consecutive(starts[rows], ends[rows])]
    begins, befores = np.concatenate(([position], ends[rows])), np.concatenate(([-1], starts[rows]))
    may_end_outside = ~valid & (ends > base + window.filled) & (starts >= begins[np.searchsorted(starts[rows], starts)])
    gaps = np.flatnonzero(begins[:-1] < starts[rows])
    between = kernel.Gaps(gaps, befores[gaps], begins[gaps], starts[rows[gaps]])
    return records[rows] if len(rows) else NO_RECORDS, between, records.starts[may_end_outside]


def _consecutive(starts: Index, ends: Index) -> Index:
    """Which of those records follow each other, with or without gaps: a record that starts inside another one does not."""
    if (ends[:-1] <= starts[1:]).all():
        return np.arange(len(starts))
    chain, leads_to, each = list[int](), np.searchsorted(starts, ends).tolist(), 0
    while each < len(leads_to):
        chain.append(each)
        each = leads_to[each]
    return np.array(chain, np.intp)
