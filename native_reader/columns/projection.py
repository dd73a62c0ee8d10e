"""What a read returns for each row, how it treats damage, and its limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from native_reader.columns.batches import CORRUPT_COLUMNS
from native_reader.columns.schema import VIEWED, schema_of

FAILFAST, DROPMALFORMED, PERMISSIVE = "FAILFAST", "DROPMALFORMED", "PERMISSIVE"
MODES = (FAILFAST, DROPMALFORMED, PERMISSIVE)


@dataclass(frozen=True, slots=True)
class Projection:
    """What to return for each row, and the limits of the read.

    `unpacks_batches`: each message of an inner batch is a row; otherwise the batch is one row, with the values of its record.
    `body_views`: bodies are views of what was read.
    `advanced`: called with the number of bytes read since its last call.
    """

    columns: tuple[str, ...]
    mode: str = FAILFAST
    verify_crc: bool = False
    max_record_bytes: int = 64 << 20
    max_decompressed_bytes: int = 64 << 20
    max_read_rate: int | None = None
    fail_on_data_loss: bool = True
    ignore_missing_files: bool = False
    column_name_of_corrupt_record: str | None = None
    unpacks_batches: bool = True
    body_views: bool = False
    advanced: Callable[[int], None] | None = field(default=None, compare=False, repr=False)

    @property
    def schema(self) -> pa.Schema:
        """The schema of its batches."""
        return schema_of(self.columns, self.column_name_of_corrupt_record, self.viewed)

    @property
    def viewed(self) -> frozenset[str]:
        """The columns that are views."""
        return frozenset(self.columns).intersection(VIEWED) if self.body_views else frozenset()

    @property
    def returned(self) -> frozenset[str] | None:
        """The columns to return, if a row needs nothing else; None if each record must be read."""
        return frozenset(self.columns) if self.unpacks_batches and not self.verify_crc else None

    @property
    def has_damage_rows(self) -> bool:
        """Whether damage is returned as rows."""
        return self.mode == PERMISSIVE and any(name in self.columns for name in CORRUPT_COLUMNS)
