"""Which offsets a log has: the validity of the entries that name them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.layout.record import Mask
from native_reader.tables.table import TableRequest

VALID, EXPIRED, AHEAD, HOLE = "valid", "expired", "ahead", "hole"
OF_OFFSETS = {
    EXPIRED: "the record was deleted with the oldest segments",
    AHEAD: "the offset is at or after the end of the log: the record was lost or discarded, or is not written yet",
    HOLE: "no segment has the offset, because a file is missing or truncated",
}
"""What can be wrong with an entry's offset. Whether the record there is the right one is not checked."""


class LogRange(NamedTuple):
    """The offsets of a log: from `first` to `end`, without the holes."""

    first: int
    end: int
    holes: tuple[tuple[int, int], ...] = ()

    def outside(self, offsets: NDArray[np.int64]) -> list[tuple[Mask, str]]:
        """For each reason, which offsets the log does not have."""
        masks = [(offsets < self.first, EXPIRED), (offsets >= self.end, AHEAD)]
        if self.holes:
            starts, stops = np.array(self.holes, np.int64).T
            which = np.searchsorted(starts, offsets, "right") - 1
            masks.append(((which >= 0) & (offsets < stops[which]), HOLE))
        return masks


def ranges_of(request: TableRequest) -> dict[str, LogRange]:
    """The offsets of each log, by store URI."""
    return {
        read.store.uri: LogRange(read.store.first_record, read.end, tuple(read.gaps())) for read in request.reads if read.store.segments
    }


def labels(masks: list[tuple[Mask, str]], count: int) -> pa.Array:
    """The name of the first mask that is true for each entry, else `valid`."""
    names = [VALID, *(name for _, name in masks)]
    codes = np.zeros(count, np.int8)
    for code in range(len(masks), 0, -1):
        codes[masks[code - 1][0]] = code
    return pa.DictionaryArray.from_arrays(codes, pa.array(names)).cast(pa.string())


def repeated(values: list[str], counts: list[int]) -> pa.Array:
    """Each text as often as its count says."""
    return pa.array(values, pa.string()).take(pa.array(np.repeat(np.arange(len(values)), counts)))
