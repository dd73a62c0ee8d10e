"""Rows that stand for damage, as mode PERMISSIVE gives them: no message, but what is left in its place."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from native_reader.scan.report import Damage
from native_reader.schema import COLUMNS
from native_reader.storage.window import Window

CORRUPT_COLUMNS = ("corrupt_record", "corrupt_reason")
MOST_BYTES = 64 << 10
"""What `corrupt_record` holds at most: the first bytes of a range that may be as long as its file."""
_LARGEST = 2**31 - 1


def corrupt_row(names: Sequence[str], schema: pa.Schema, window: Window, damage: Damage, store: str) -> pa.RecordBatch:
    """One row for one range. What is no column of the place or of the damage is null."""
    length = damage.end - damage.start
    known: dict[str, object] = {
        "physical_offset": damage.start,
        "record_size": length if length <= _LARGEST else None,
        "corrupt_reason": damage.reason,
        "store": store,
        "segment": window.segment.name,
    }
    if "corrupt_record" in names:
        known["corrupt_record"] = window.peek(damage.start - window.segment.base, min(length, MOST_BYTES))
    arrays = [pa.array([known.get(name)], COLUMNS[name].type) for name in names]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
