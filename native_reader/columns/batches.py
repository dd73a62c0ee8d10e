"""The batches of a read: a chunk's rows, in columns that the kernel makes or their makers; and rows for damage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from native_reader import kernel
from native_reader.columns.chunk import Chunk, Columns
from native_reader.columns.schema import COLUMNS, schema_of
from native_reader.columns.spec import DECOMPRESSED
from native_reader.columns.strings import text_or_null
from native_reader.records.damages import Damage
from native_reader.storage.window import Window
from native_reader.tuning import TUNING

_BODY, _TEXT = DECOMPRESSED
_REASON = "corrupt_reason"


class BatchBuilder:
    """Builds the batches of one read. `at_most`: a body that would be larger is null."""

    def __init__(self, columns: Columns, schema: pa.Schema, at_most: int) -> None:
        self._names, self._schema, self._at_most = columns.names, schema, at_most
        # Which bodies could not be decompressed is the reason of their rows, and only numpy keeps it.
        needs_failed = columns.marks_failed and _REASON in columns.names
        needed = tuple(dict.fromkeys((*columns.names, _BODY))) if _TEXT in columns.names else columns.names
        own = [name for name in needed if name in kernel.COLUMNS and not (name == _BODY and needs_failed)]
        self._own = schema_of(own)
        self._own_without_body = schema_of(name for name in own if name != _BODY)

    def of(self, chunk: Chunk) -> Iterator[tuple[Chunk, pa.RecordBatch]]:
        """The rows in pieces that are as large as their bodies allow, each with its batch."""
        rows = chunk.rows
        own = self._own if rows.decoded is None else self._own_without_body
        limits = {"at_most": self._at_most, "at_once": TUNING.decompressed_at_once}
        for which, arrays in kernel.columns(rows.source.u8, rows.records, rows.is_inner, own, **limits):
            if _TEXT in self._names and _BODY in arrays:
                arrays[_TEXT] = text_or_null(arrays[_BODY])
            piece = chunk.piece(which)
            needs_bodies = any(name in DECOMPRESSED and name not in arrays for name in self._names)
            begin = 0
            for part in piece.with_bodies(self._at_most) if needs_bodies else (piece,):
                ready = arrays if part is piece else {name: array.slice(begin, len(part)) for name, array in arrays.items()}
                made = [ready[name] if name in ready else COLUMNS[name].make(part) for name in self._names]
                yield part, pa.RecordBatch.from_arrays(made, schema=self._schema)
                begin += len(part)


CORRUPT_COLUMNS = ("corrupt_record", "corrupt_reason")
MOST_BYTES = 64 << 10
"""Maximum size of `corrupt_record`; a damaged range can be as long as its file."""
_LARGEST = 2**31 - 1


def corrupt_rows(names: Sequence[str], schema: pa.Schema, window: Window, damages: Sequence[Damage], store: str) -> pa.RecordBatch:
    """One row per damaged range. Columns that describe neither its place nor the damage are null."""
    lengths = [damage.end - damage.start for damage in damages]
    known: dict[str, Sequence[object]] = {
        "physical_offset": [damage.start for damage in damages],
        "record_size": [length if length <= _LARGEST else None for length in lengths],
        "corrupt_reason": [damage.reason for damage in damages],
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
