"""Two logs read side by side, in steps: each has all rows of both logs in a range of offsets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from native_reader.layout.record import Numbers

_END = np.iinfo(np.int64).max


Pair = tuple[pa.Table, pa.Table]


def steps(schema: pa.Schema, one: Iterator[pa.RecordBatch], other: Iterator[pa.RecordBatch]) -> Iterator[Pair]:
    """Take rows from both in the order of `physical_offset`, so many at a time that memory does not depend on the logs."""
    sides = _Side(schema, one), _Side(schema, other)
    while sides[0].fill() | sides[1].fill():  # both, also if the first one has rows
        stop = min(side.known_before for side in sides)
        yield sides[0].take(stop), sides[1].take(stop)


class _Side:
    """The rows of one log that were read and not taken."""

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self._schema, self._batches, self._has_ended = schema, batches, False
        self._held: list[pa.RecordBatch] = []

    def fill(self) -> bool:
        """Read until rows at two offsets are held, or the log ends; whether any are. A batch can end between rows of one record."""
        while not self._has_ended and (not self._held or _first(self._held[0]) == _last(self._held[-1])):
            batch = next(self._batches, None)
            if batch is None:
                self._has_ended = True
            elif len(batch):
                self._held.append(batch)
        return bool(self._held)

    @property
    def known_before(self) -> int:
        """All rows at offsets below this are held."""
        return _END if self._has_ended else _last(self._held[-1])

    def take(self, stop: int) -> pa.Table:
        """Take the rows at offsets below `stop`."""
        taken, left = [], []
        for batch in self._held:
            count = int(np.searchsorted(offsets_of(batch), stop))
            taken.append(batch.slice(0, count))
            if count < len(batch):
                left.append(batch.slice(count))
        self._held = left
        return pa.Table.from_batches(taken, self._schema)


def offsets_of(rows: pa.RecordBatch | pa.Table) -> Numbers:
    """The offset of each row's record in its log."""
    offsets: Numbers = rows["physical_offset"].to_numpy()
    return offsets


def _first(batch: pa.RecordBatch) -> int:
    return int(batch["physical_offset"][0].as_py())


def _last(batch: pa.RecordBatch) -> int:
    return int(batch["physical_offset"][-1].as_py())
