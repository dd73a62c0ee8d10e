"""How a table is read for another library, which asks for some columns and for rows that meet a condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from native_reader.predicate.tree import Predicate


class ReadNarrowed(Protocol):
    """Reads these columns, of all rows for which the condition is true and maybe of others. `stops_early`: not all rows may be used."""

    def __call__(self, columns: tuple[str, ...], condition: Predicate, stops_early: bool) -> Iterator[pa.RecordBatch]:
        """Read the batches."""
