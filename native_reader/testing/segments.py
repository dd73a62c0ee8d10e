"""The offsets of records, and the commitlog's files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from native_reader.testing.logs import END_BLANK, name
from native_reader.testing.records import blank


def place(sizes: NDArray[np.int64], first: NDArray[np.intp], end: int, segment_size: int) -> tuple[NDArray[np.int64], list[int]]:
    """Offsets of records appended at `end`, and the indexes of those that start a new segment.

    `first` is the first record of each record's unit: a unit (a client's batch) is always in one segment.
    """
    stops = np.cumsum(sizes)
    offsets = end + stops - sizes
    borders: list[int] = []
    at = 0
    while True:
        limit = (int(offsets[at]) // segment_size + 1) * segment_size
        # The first record that leaves no room for a blank.
        over = int(np.searchsorted(offsets[at:] + sizes[at:], limit - END_BLANK, side="right")) + at
        if over == len(sizes):
            return offsets, borders
        over = int(first[over])
        if offsets[over] % segment_size == 0:
            raise ValueError(f"{int(sizes[over])} bytes and a blank do not fit in a segment of {segment_size} bytes")
        borders.append(over)
        offsets[over:] += limit - int(offsets[over])
        at = over


class SegmentFiles:
    """The files of a commitlog: created at full size, sparse until written."""

    def __init__(self, directory: Path, segment_size: int) -> None:
        self._directory, self._size = directory, segment_size
        directory.mkdir(parents=True, exist_ok=True)
        self._file = self._open(0)
        self._base = self._end = 0

    def write(self, data: memoryview, offsets: NDArray[np.int64], sizes: NDArray[np.int64], borders: list[int]) -> None:
        """Write records that are adjacent in `data`; those at `borders` start a new segment."""
        done = 0
        for begin, end in zip([0, *borders], [*borders, len(sizes)], strict=True):
            if begin == end:
                continue
            if begin in borders:
                self._roll(int(offsets[begin]))
            length = int(sizes[begin:end].sum())
            self._write(data[done : done + length], int(offsets[begin]) - self._base)
            self._end = int(offsets[begin]) + length
            done += length

    def close(self, expired: int, *, preallocate: bool) -> int:
        """Delete the first `expired` segments, but never the last, and return the first remaining offset."""
        if preallocate:  # brokers preallocate one file; a clean stop deletes it
            os.close(self._open(self._base + self._size))
        os.close(self._file)
        oldest = min(expired * self._size, self._base)
        for base in range(0, oldest, self._size):
            (self._directory / name(base)).unlink()
        return oldest

    def _roll(self, base: int) -> None:
        self._write(memoryview(blank(base - self._end)), self._end - self._base)
        os.close(self._file)
        self._file, self._base = self._open(base), base

    def _write(self, data: memoryview, position: int) -> None:
        while data:
            written = os.pwrite(self._file, data, position)
            data, position = data[written:], position + written

    def _open(self, base: int) -> int:
        file = os.open(self._directory / name(base), os.O_RDWR | os.O_CREAT, 0o644)
        os.ftruncate(file, self._size)
        return file
