"""The batches of a read: a chunk's rows, in columns that the kernel makes or their makers; and rows for damage."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa

from native_reader import kernel
from native_reader.arrow import array
from native_reader.columns.chunk import WITH_PLACE_IDS, Chunk, Columns
from native_reader.columns.rows import Rows
from native_reader.columns.schema import COLUMNS
from native_reader.columns.spec import DECOMPRESSED
from native_reader.columns.strings import text_or_null, views_of
from native_reader.records.damages import Damage
from native_reader.storage.window import Window
from native_reader.tuning import TUNING

_BODY, _TEXT = DECOMPRESSED
_REASON = "corrupt_reason"
_MOST_KEPT = 8
"""A batch keeps at most this many times the bytes of its bodies; with fewer bodies, they are copied."""


class BatchBuilder:
    """Builds the batches of one read. `at_most`: a body that would be larger is null."""

    def __init__(self, columns: Columns, schema: pa.Schema, at_most: int) -> None:
        self._names, self._schema, self._at_most = columns.names, schema, at_most
        self._viewed = frozenset(field.name for field in schema if pa.types.is_binary_view(field.type))
        # Which bodies could not be decompressed is the reason of their rows, and only numpy keeps it.
        needs_failed = columns.marks_failed and _REASON in columns.names
        needed = tuple(dict.fromkeys((*columns.names, _BODY))) if _TEXT in columns.names else columns.names
        own = [name for name in needed if name in kernel.COLUMNS and not (name == _BODY and needs_failed)]
        self._own = [name for name in own if not (columns.is_tiered and name in WITH_PLACE_IDS)]
        self._schemas: dict[tuple[bool, bool], pa.Schema] = {}

    def of(self, chunk: Chunk) -> Iterator[tuple[Chunk, pa.RecordBatch]]:
        """The rows in pieces that are as large as their bodies allow, each with its batch."""
        rows = chunk.rows
        viewed = self._viewed if self._viewed and _fill(rows) else frozenset[str]()
        own = self._schema_of_kernel(with_body=rows.decoded is None, viewed=viewed)
        limits = {"at_most": self._at_most, "at_once": TUNING.decompressed_at_once}
        for which, made in kernel.columns(rows.source.u8, rows.records, rows.is_inner, own, **limits):
            arrays = self._of_kernel(made, rows)
            piece = chunk.piece(which)
            needs_bodies = any(name in DECOMPRESSED and name not in arrays for name in self._names)
            begin = 0
            for part in piece.with_bodies(self._at_most) if needs_bodies else (piece,):
                ready = arrays if part is piece else {name: each.slice(begin, len(part)) for name, each in arrays.items()}
                columns = [ready[name] if name in ready else self._made(name, part, viewed) for name in self._names]
                yield part, pa.RecordBatch.from_arrays(columns, schema=self._schema)
                begin += len(part)

    def _schema_of_kernel(self, *, with_body: bool, viewed: Collection[str]) -> pa.Schema:
        """The columns that the kernel is to make, by its names."""
        known = self._schemas.get((with_body, bool(viewed)))
        if known is None:
            names = [name for name in self._own if with_body or name != _BODY]
            fields = ((kernel.VIEWS[name], pa.binary_view()) if name in viewed else (name, COLUMNS[name].type) for name in names)
            known = self._schemas[with_body, bool(viewed)] = pa.schema(fields)
        return known

    def _of_kernel(self, made: Mapping[str, pa.Array], rows: Rows) -> dict[str, pa.Array]:
        """What the kernel made, by the names of the columns, in their types."""
        arrays = dict(made)
        for name, own in kernel.VIEWS.items():
            if own in made:
                arrays[name] = views_of(made[own], rows.source.arrow)
        if _TEXT in self._names and _BODY in arrays:
            arrays[_TEXT] = text_or_null(arrays[_BODY].cast(pa.binary()))
        return {name: _cast(each, pa.binary_view()) if name in self._viewed else each for name, each in arrays.items()}

    def _made(self, name: str, part: Chunk, viewed: Collection[str]) -> pa.Array:
        """A column that numpy makes."""
        if name in viewed:
            return part.rows.bodies(name).viewed()
        made = COLUMNS[name].make(part)
        return _cast(made, pa.binary_view()) if name in self._viewed else made


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else column.cast(kind)


def _fill(rows: Rows) -> bool:
    """Whether the bodies of these rows are enough of the memory that views of them keep."""
    return _MOST_KEPT * rows.records.bodies >= len(rows.source.u8)


CORRUPT_COLUMNS = ("corrupt_record", "corrupt_reason")
MOST_BYTES = 64 << 10
"""Maximum size of `corrupt_record`; a damaged range can be as long as its file."""
_LARGEST = 2**31 - 1


def corrupt_rows(columns: Columns, schema: pa.Schema, window: Window, damages: Sequence[Damage]) -> pa.RecordBatch:
    """One row per damaged range. Columns that describe neither its place nor the damage are null."""
    lengths = [damage.end - damage.start for damage in damages]
    known: dict[str, Sequence[object]] = {
        "physical_offset": [damage.start for damage in damages],
        "record_size": [length if length <= _LARGEST else None for length in lengths],
        "corrupt_reason": [damage.reason for damage in damages],
        "store": [columns.store] * len(damages),
        "tiered": [columns.is_tiered] * len(damages),
        "segment": [window.segment.name] * len(damages),
    }
    if "corrupt_record" in columns.names:
        base = window.segment.base
        known["corrupt_record"] = [
            window.peek(each.start - base, min(length, MOST_BYTES)) for each, length in zip(damages, lengths, strict=True)
        ]
    nothing = [None] * len(damages)
    return pa.RecordBatch.from_arrays(
        [array(known.get(name, nothing), kind) for name, kind in zip(columns.names, schema.types, strict=True)], schema=schema
    )
