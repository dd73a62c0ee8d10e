"""Rows that stand for damage, as mode PERMISSIVE gives them: no message, but what is left in its place."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from native_reader.records.damages import Damage
from native_reader.schema import COLUMNS
from native_reader.storage.window import Window

CORRUPT_COLUMNS = ("corrupt_record", "corrupt_reason")
MOST_BYTES = 64 << 10
"""What `corrupt_record` holds at most: the first bytes of a range that may be as long as its file."""
_LARGEST = 2**31 - 1


def corrupt_rows(names: Sequence[str], schema: pa.Schema, window: Window, damages: Sequence[Damage], store: str) -> pa.RecordBatch:
    """One row for each range. What is no column of the place or of the damage is null."""
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
