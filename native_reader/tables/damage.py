"""`damage`: one row for each damaged or missing range of a log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from native_reader.columns.spec import ColumnSpec
from native_reader.plan.plan import make_plan
from native_reader.plan.split import Split
from native_reader.predicate.tree import EVERYTHING
from native_reader.scan.read import PERMISSIVE, Projection, read
from native_reader.tables.table import Missing, Part, Request, Table, lost_of, missing_in

COLUMNS = {
    "store": ColumnSpec(pa.string(), True, "URI of the store's root"),
    "segment": ColumnSpec(pa.string(), True, "URI of the commitlog file; null where a file is missing"),
    "start_offset": ColumnSpec(pa.int64(), True, "the first offset of the range"),
    "end_offset": ColumnSpec(pa.int64(), True, "the first offset after it"),
    "bytes": ColumnSpec(pa.int64(), True, "the size of the range"),
    "reason": ColumnSpec(pa.string(), True, "one of the reasons below"),
    "found": ColumnSpec(pa.string(), True, "a description"),
    "record_before": ColumnSpec(pa.int64(), True, "offset of the record directly before the range; null at the start of a segment"),
    "record_behind": ColumnSpec(pa.int64(), True, "offset of the record directly after the range; null if none follows in the file"),
}


def _parts(request: Request) -> list[Part]:
    plan = make_plan(request.reads, EVERYTHING, request.planning)
    return [*plan.splits, *missing_in(request), *lost_of(request)]


def _rows(part: Part, projection: Projection) -> Iterator[pa.RecordBatch]:
    if isinstance(part, Missing):
        size = part.stop - part.start
        rows: list[tuple[object, ...]] = [(part.store, None, part.start, part.stop, size, part.reason, part.found, None, None)]
    else:
        assert isinstance(part, Split)
        reading = read(part, replace(projection, columns=("corrupt_reason",), mode=PERMISSIVE))
        for _ in reading:
            pass
        rows = [
            (part.store, each.segment, each.start, each.end, each.end - each.start, each.reason, each.description, each.before, each.after)
            for each in reading.report.damage
        ]
    if rows:
        columns = zip(*rows, strict=True)
        arrays = [pa.array(values, spec.type) for values, spec in zip(columns, COLUMNS.values(), strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=DAMAGE.schema)


DAMAGE = Table("damage", COLUMNS, _parts, _rows)
