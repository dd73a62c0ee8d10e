"""Many small extents of one segment at once: read into one buffer, and walked in parallel lanes.

An extent is valid only if it consists of records from its start to its end. Each lane is at one record of one extent. A step
measures the records of all lanes together, so a thousand extents need only as many steps as the longest has records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from native_reader.layout.begin import read_size
from native_reader.layout.record import SMALLEST_RECORD, Index, Mask, Records, entries_valid, measure
from native_reader.storage.window import Window

_STEPS = 16
"""After this many records, the rest of an extent is walked record by record: few extents are that long."""
_HOLE = 4 << 10
"""Gaps between extents up to this size are read, not skipped: an extra call costs as much."""


@dataclass(frozen=True, slots=True)
class Extents:
    """Extents of one segment, ascending, as positions of its file."""

    starts: Index
    ends: Index

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, which: slice) -> Extents:
        return Extents(self.starts[which], self.ends[which])

    def where(self, which: Mask | Index) -> Extents:
        """A selection of the extents."""
        return Extents(self.starts[which], self.ends[which])

    @property
    def bytes(self) -> int:
        """The total size of the extents."""
        return int((self.ends - self.starts).sum())

    def fetched(self, hole: int) -> tuple[int, int]:
        """How many ranges these are if gaps up to `hole` are fetched with them, and the bytes of all."""
        gaps = self.starts[1:] - self.ends[:-1]
        near = gaps[gaps <= hole]
        return len(self) - len(near), self.bytes + int(near.sum())

    def groups(self, first: int, most: int, alone: int) -> Iterator[Extents]:
        """Split into groups of about `first`, then `most` bytes; an extent of more than `alone` bytes gets its own group."""
        sizes = self.ends - self.starts
        holes = np.concatenate(([0], self.starts[1:] - self.ends[:-1]))
        ends = np.cumsum(sizes + np.where(holes <= _HOLE, holes, 0))
        large = np.flatnonzero(sizes > alone)
        begin, room = 0, first
        while begin < len(self):
            before = int(ends[begin - 1]) if begin else 0
            stop = max(begin + 1, int(np.searchsorted(ends, before + room, side="right")))
            next_large = int(np.searchsorted(large, begin))
            if next_large < len(large):
                stop = begin + 1 if large[next_large] == begin else min(stop, int(large[next_large]))
            yield self[begin:stop]
            begin, room = stop, most


def records_of(window: Window, extents: Extents, *, single: bool = False) -> tuple[Records, Mask]:
    """Load the extents into the window; returns their records, and which extents are valid.

    `single`: each extent must be exactly one record.
    """
    frame = window.segment.frame
    shifts = _load(window, extents)
    lanes = np.arange(len(extents))
    positions, ends = extents.starts - shifts + frame, extents.ends - shifts + frame
    good = np.ones(len(extents), np.bool_)
    pieces: list[Records] = []
    for step in range(_STEPS + 1):
        last = step == _STEPS
        if last:
            lanes, positions, leading = _hopped(window, lanes, positions, ends)
        records, valid = _measured(window, positions, shifts[lanes])
        reached = positions + records.sizes + frame
        valid &= reached == leading if last else reached == ends[lanes] if single else reached <= ends[lanes]
        good[lanes[~valid]] = False
        pieces.append(records[valid])
        going = np.flatnonzero(valid & (reached < ends[lanes]))
        lanes, positions = lanes[going], reached[going]
        if last or not len(lanes):
            break
    return _in_order(pieces), good


def _measured(window: Window, positions: Index, shifts: Index) -> tuple[Records, Mask]:
    offsets = window.segment.base + shifts
    inside = positions <= window.filled - SMALLEST_RECORD
    positions = np.where(inside, positions, 0)
    records, valid = measure(window.u8, window.filled, positions, offsets)
    if window.segment.frame:
        valid &= inside & (positions >= window.segment.frame)
        valid &= entries_valid(window.u8, records, offsets)
    return records, valid & inside


def _hopped(window: Window, lanes: Index, positions: Index, ends: Index) -> tuple[Index, Index, Index]:
    """Follow the sizes from a few lanes. Returns the lane and position of each hop and its target, all not validated yet."""
    frame, content = window.segment.frame, window.u8.data
    hops: list[tuple[int, int, int]] = []
    for lane, begin in zip(lanes.tolist(), positions.tolist(), strict=True):
        position, end = begin, int(ends[lane])
        while position < end:
            (size,) = read_size(content, position) if position + SMALLEST_RECORD <= window.filled else (0,)
            leads_to = min(position + size + frame, end) if size >= SMALLEST_RECORD else end
            hops.append((lane, position, leads_to))
            position = leads_to
    lanes, positions, leading = np.array(hops, np.intp).reshape(-1, 3).T
    return lanes, positions, leading


def _in_order(pieces: list[Records]) -> Records:
    if len(pieces) == 1:
        return pieces[0]
    joined = Records(*(np.concatenate([getattr(piece, name) for piece in pieces]) for name in Records.__slots__))
    return joined[np.argsort(joined.starts, kind="stable")]


def _load(window: Window, extents: Extents) -> Index:
    """Load the extents; returns for each its position in the file minus its position in the buffer."""
    holes = extents.starts[1:] - extents.ends[:-1]
    breaks = np.flatnonzero(holes > _HOLE) + 1
    begins = extents.starts[np.concatenate(([0], breaks))]
    lengths = extents.ends[np.concatenate((breaks - 1, [len(extents) - 1]))] - begins
    window.gather(begins.tolist(), lengths.tolist())
    places = np.cumsum(lengths) - lengths
    shifts: Index = np.repeat(begins - places, np.diff(np.concatenate(([0], breaks, [len(extents)]))))
    return shifts
