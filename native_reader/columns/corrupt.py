"""Rows for damage, as mode PERMISSIVE returns them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from native_reader.columns.schema import COLUMNS
from native_reader.records.damages import Damage
from native_reader.storage.window import Window

CORRUPT_COLUMNS = ("corrupt_record", "corrupt_reason")
MOST_BYTES = 64 << 10
"""Maximum size of `corrupt_record`; a damaged range can be as long as its file."""
_LARGEST = 2**31 - 1


def corrupt_rows(names: Sequence[str], schema: pa.Schema, window: Window, damages: Sequence[Damage], store: str) -> pa.RecordBatch:
    """One row per damaged range. Columns that describe neither its place nor the damage are null."""
    lengths = [each.end - each.start for each in damages]
    known: dict[str, Sequence[object]] = {
        "physical_offset": [each.start for each in damages],
        "record_size": [length if length <= _LARGEST else None for length in lengths],
        "corrupt_reason": [each.reason for each in damages],
        "store": [store] * len(damages),
        "segment": [window.segment.name] * len(damages),
    }
    if "corrupt_record" in names:
        base = window.segment.base
        known["corrupt_record"] = [
            window.peek(each.start - base, min(length, MOST_BYTES)) for each, length in zip(damages, lengths, strict=True)
        ]
    nothing = [None] * len(damages)
    return pa.RecordBatch.from_arrays([pa.array(known.get(name, nothing), COLUMNS[name].type) for name in names], schema=schema)
