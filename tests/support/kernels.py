"""Reads a store, or what a check takes from its records, with both kernels, and says what differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import native_reader as nr
from native_reader import kernel
from native_reader.columns.strings import PaddedBuffer
from native_reader.layout.record import Bytes, Records, magics, measure
from native_reader.records.damages import Report
from native_reader.verify.marks import Marks, NumpyMarker
from support.compare import InMemory, Segments

VARIABLE = "RMQSTORE_KERNEL"


class Read(NamedTuple):
    """Batches, report and error of one read; a read that failed has no report."""

    batches: list[pa.RecordBatch]
    report: Report | None
    error: str


def read(store: InMemory, which: str, **options: Any) -> Read:
    """One read with the kernel of that name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, which)
        run = store.messages(fail_on_data_loss=False, **options).run()
        batches: list[pa.RecordBatch] = []
        try:
            for batch in run:
                batch.validate(full=True)
                batches.append(batch)
        except nr.StoreError as raised:
            return Read(batches, None, f"{type(raised).__name__}: {raised}")
        return Read(batches, run.report, "")


def read_by_both(store: InMemory, **options: Any) -> Read:
    """Assert that both kernels return the same batches, in the same order, and the same report or error; returns them."""
    numpy, compiled = (read(store, which, **options) for which in ("numpy", "compiled"))
    assert (compiled.error, compiled.report) == (numpy.error, numpy.report)
    assert [len(batch) for batch in compiled.batches] == [len(batch) for batch in numpy.batches]
    for number, (one, other) in enumerate(zip(compiled.batches, numpy.batches, strict=True)):
        assert one.schema == other.schema
        if not one.equals(other):
            rows = ((name, row) for name in one.schema.names for row in range(len(one)) if one[name][row] != other[name][row])
            name, row = next(rows)
            raise AssertionError(f"batch {number}, row {row}, {name}: compiled {one[name][row]}, numpy {other[name][row]}")
    return compiled


def mark_by_both(segments: Segments) -> None:
    """Assert that both kernels take the same from each valid record for a check of the store."""
    for base, content in segments:
        source = PaddedBuffer.of(content)
        starts = magics(source.u8, len(content))
        records, valid = measure(source.u8, len(content), starts, base)
        if valid.any():
            same_marks(source.u8, [records[valid], records[valid][:1]])


def same_marks(u8: Bytes, chunks: Sequence[Records]) -> Marks:
    """Assert that both kernels take the same from these chunks of one buffer; returns it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, kernel.COMPILED)
        compiled = kernel.marker()
    assert compiled is not None
    numpy = NumpyMarker()
    assert [compiled.add(u8, chunk) for chunk in chunks] == [numpy.add(u8, chunk) for chunk in chunks]
    ours, expected = Marks._make(compiled.taken()), numpy.taken()
    for name, one, other in zip(Marks._fields, ours, expected, strict=True):
        assert list(one) == list(other), name
        assert isinstance(one, list) or one.dtype == other.dtype, name
    return ours
