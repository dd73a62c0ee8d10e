"""`damage`: one row for each damaged or missing range of a log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from native_reader.columns.spec import ColumnSpec
from native_reader.plan.plan import plan
from native_reader.plan.split import Split
from native_reader.predicate.tree import EVERYTHING
from native_reader.scan.read import PERMISSIVE, Projection, read
from native_reader.tables.table import Missing, Part, Request, Table, lost_of, missing_in

COLUMNS = {
    "store": ColumnSpec(pa.string(), True, "URI of the store's root"),
    "segment": ColumnSpec(pa.string(), True, "URI of the commitlog file; null where a file is missing"),
    "start_offset": ColumnSpec(pa.int64(), True, "where it begins in the log"),
    "end_offset": ColumnSpec(pa.int64(), True, "where it ends: the first offset behind it"),
    "bytes": ColumnSpec(pa.int64(), True, "how long it is"),
    "reason": ColumnSpec(pa.string(), True, "one of the reasons below"),
    "found": ColumnSpec(pa.string(), True, "what stands there, in words"),
    "record_before": ColumnSpec(pa.int64(), True, "offset of the record that ends where it begins; null at the start of a segment"),
    "record_behind": ColumnSpec(pa.int64(), True, "offset of the record that begins where it ends; null where none follows in the file"),
}


def _parts(request: Request) -> list[Part]:
    most, stale = request.max_partition_bytes, request.looked.stale
    whole = plan(request.stores, request.ends, EVERYTHING, max_partition_bytes=most, fail_on_data_loss=False, stale=stale)
    return [*whole.splits, *missing_in(request), *lost_of(request)]


def _rows(part: Part, projection: Projection) -> Iterator[pa.RecordBatch]:
    found: list[tuple[object, ...]]
    if isinstance(part, Missing):
        size = part.stop - part.start
        found = [(part.store, None, part.start, part.stop, size, part.reason, part.found, None, None)]
    else:
        assert isinstance(part, Split)
        reading = read(part, replace(projection, columns=("corrupt_reason",), mode=PERMISSIVE))
        for _ in reading:
            pass
        found = [
            (part.store, each.segment, each.start, each.end, each.end - each.start, each.reason, each.found, each.before, each.behind)
            for each in reading.report.damage
        ]
    if found:
        columns = zip(*found, strict=True)
        arrays = [pa.array(values, spec.type) for values, spec in zip(columns, COLUMNS.values(), strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=DAMAGE.schema)


DAMAGE = Table("damage", COLUMNS, _parts, _rows)
