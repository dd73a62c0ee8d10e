"""The rest of a window after damage: the records that follow and the gaps between them, found at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from native_reader import kernel
from native_reader.layout.record import PADDING, Index, Mask, Records, measure
from native_reader.records.sync import candidates, places_of, proven
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
    rest = None if window.unreadable else _compiled(window, position, until, most)
    return _numpy(window, position, until, most) if rest is None else rest


def _compiled(window: Window, position: int, until: int, most: int) -> Rest | None:
    base, frame = window.position, window.segment.frame
    if (found := kernel.resumed(window, base, position, until, frame)) is None:
        return None
    records, gaps, outside = found
    stop = _left_out(window, records, outside, most)
    if stop is not None and len(records) and records.last[0] - frame + base >= stop:  # rare: other records follow what is left out
        records, gaps, _ = kernel.resumed(window, base, position, stop, frame) or found
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


def _numpy(window: Window, position: int, until: int, most: int) -> Rest:
    starts = candidates(window)
    records, valid, is_left_out = proven(window, starts[starts < until - window.position + window.segment.frame])
    records, is_left_out = records[valid], (is_left_out | (records.sizes > most))[valid]
    starts, sizes = places_of(window, records)
    ends = starts + sizes
    chain, following = _consecutive(starts, ends, is_left_out, position)
    before, after = np.concatenate(([position], ends[chain])), starts[chain]
    after = np.append(after, starts[following] if following < len(starts) else before[-1])
    rows = np.flatnonzero(before < after)
    befores = np.concatenate(([-1], starts[chain]))
    gaps = kernel.Gaps(rows, befores[rows], before[rows], after[rows])
    return Rest(records[chain] if len(chain) else NO_RECORDS, gaps, int(after[-1]))


def _consecutive(starts: Index, ends: Index, is_left_out: Mask, position: int) -> tuple[Index, int]:
    """Which of those records follow each other from a position on, with or without gaps, and the index where the chain stops.

    Skips a record that starts inside another. The chain stops at a record in `is_left_out`, or after the last one.
    """
    first = int(np.searchsorted(starts, position))
    overlap = bool((ends[:-1] > starts[1:]).any())
    if not overlap:
        following = int(np.argmax(is_left_out[first:])) + first if is_left_out[first:].any() else len(starts)
        return np.arange(first, following), following
    chain, leads_to, left_out = [], np.searchsorted(starts, ends).tolist(), is_left_out.tolist()
    while first < len(leads_to) and not left_out[first]:
        chain.append(first)
        first = leads_to[first]
    return np.array(chain, np.intp), first
