"""What surrounds each loss: when the last saved message before it and the first one after it were stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

_NONE_BEFORE, _NONE_AFTER = -1, 2**63 - 1


class Around:
    """Add the batches of saved messages; then take `times`. They need `physical_offset` and `store_timestamp`."""

    def __init__(self, losses: Sequence[Mapping[str, Any]], truncated_at: int | None) -> None:
        self._starts, self._ends = (np.array([row[name] for row in losses], np.int64) for name in ("start_offset", "end_offset"))
        self._before, self._after = np.full(len(losses), _NONE_BEFORE), np.full(len(losses), _NONE_AFTER)
        self._times: list[list[datetime | None]] = [[None, None] for _ in losses]
        self._truncated_at = truncated_at
        self.kept = 0
        """The number of messages before the offset at which a broker would truncate the log."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Add messages in the order of the log."""
        offsets, times = batch.column("physical_offset").to_numpy(zero_copy_only=False), batch.column("store_timestamp")
        if not len(offsets):
            return
        if self._truncated_at is not None:
            self.kept += int(np.searchsorted(offsets, self._truncated_at))
        last, first = np.searchsorted(offsets, self._starts) - 1, np.searchsorted(offsets, self._ends)
        for loss in np.flatnonzero(last >= 0).tolist():
            if offsets[last[loss]] > self._before[loss]:
                self._before[loss], self._times[loss][0] = offsets[last[loss]], times[int(last[loss])].as_py()
        for loss in np.flatnonzero(first < len(offsets)).tolist():
            if offsets[first[loss]] < self._after[loss]:
                self._after[loss], self._times[loss][1] = offsets[first[loss]], times[int(first[loss])].as_py()

    @property
    def times(self) -> Sequence[Sequence[datetime | None]]:
        """For each loss, the store times before and after it; None if no message was saved there."""
        return self._times
