"""`damage`: one row for each damaged or missing range of a log, and whether offsets of entries are in the log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.arrow import array
from native_reader.columns.projection import PERMISSIVE, Projection
from native_reader.columns.spec import ColumnSpec
from native_reader.layout.arrays import is_within
from native_reader.layout.record import Mask
from native_reader.plan.beside import compared_sides
from native_reader.plan.lost import Missing
from native_reader.plan.plan import make_plan
from native_reader.plan.split import Split
from native_reader.predicate.tree import EVERYTHING
from native_reader.scan.read import Reading
from native_reader.tables.table import Table, TableRequest, batches_of, lost_of, missing_in

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "segment": ColumnSpec(pa.string(), "URI of the commitlog file; null where a file is missing"),
    "start_offset": ColumnSpec(pa.int64(), "the first offset of the range"),
    "end_offset": ColumnSpec(pa.int64(), "the first offset after it"),
    "bytes": ColumnSpec(pa.int64(), "the size of the range"),
    "reason": ColumnSpec(pa.string(), "one of the reasons below"),
    "found": ColumnSpec(pa.string(), "a description"),
    "record_before": ColumnSpec(pa.int64(), "offset of the record directly before the range; null at the start of a segment"),
    "record_after": ColumnSpec(pa.int64(), "offset of the record directly after the range; null if none follows in the file"),
}


def _parts(request: TableRequest) -> list[Split | Missing]:
    compared = [replace(read, sides=compared_sides(read.store, read.end, read.stale, request.planning)) for read in request.reads]
    plan = make_plan(compared, EVERYTHING, request.planning)
    return [*plan.splits, *missing_in(request), *lost_of(request)]


def _batches(part: Split | Missing, projection: Projection) -> Iterator[pa.RecordBatch]:
    yield from batches_of(_rows(part, projection), DAMAGE.schema)


def _rows(part: Split | Missing, projection: Projection) -> Iterator[dict[str, object]]:
    """A damaged log can have a range after each record, so they are made one by one."""
    if isinstance(part, Missing):
        yield _row(part.store, part.start, part.stop, part.reason, part.description)
        return
    reading = Reading(part, replace(projection, columns=("corrupt_reason",), mode=PERMISSIVE, unpacks_batches=False))
    for _ in reading:
        pass
    for each in reading.report.damage:
        row = _row(part.store, each.start, each.end, each.reason, each.description)
        yield row | {"segment": each.segment, "record_before": each.before, "record_after": each.after}


def _row(store: str, start: int, stop: int, reason: str, text: str) -> dict[str, object]:
    return {"store": store, "start_offset": start, "end_offset": stop, "bytes": stop - start, "reason": reason, "found": text}


DAMAGE = Table("damage", COLUMNS, _parts, batches=_batches)


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
            masks.append((is_within(offsets, np.array(self.holes, np.int64)), HOLE))
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
    return pa.DictionaryArray.from_arrays(codes, array(names)).cast(pa.string())


def repeated(values: list[str], counts: list[int]) -> pa.Array:
    """Each text as often as its count says."""
    return array(values, pa.string()).take(array(np.repeat(np.arange(len(values)), counts)))
