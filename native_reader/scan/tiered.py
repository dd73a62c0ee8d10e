"""The rows of a tier that are not there twice: of the records of one split, those that are rows of their own."""

from __future__ import annotations

import numpy as np

from native_reader.columns.rows import Rows
from native_reader.layout.record import Mask, Numbers
from native_reader.plan.tier_log import TierLog


class OwnRows:
    """Leaves out records that the log has too, and copies. `begin`: the place of the first record of the split."""

    def __init__(self, log: TierLog, begin: int) -> None:
        before = log.before(begin) if log.segments and begin > log.segments[0][0] else None
        self._begins, self._stops = (np.array([each[side] for each in log.in_log], np.int64) for side in (0, 1))
        self._seen = np.array([] if before is None else [before], np.int64)
        self._highest = -1 if before is None else before

    def of(self, rows: Rows) -> Rows:
        """Those of these rows, the next ones of the split."""
        if not len(rows):
            return rows
        numbers = rows.records.heads["queue_offset"].astype(np.int64)
        own = self._are_first(numbers) & ~self._are_in_log(numbers)
        return rows if own.all() else rows.where(own)

    def _are_in_log(self, numbers: Numbers) -> Mask:
        which = np.searchsorted(self._begins, numbers, "right") - 1
        return (which >= 0) & (numbers < self._stops[which]) if len(self._stops) else np.zeros(len(numbers), np.bool_)

    def _are_first(self, numbers: Numbers) -> Mask:
        """Which are no copies. Queue offsets ascend, unless there are copies or damage."""
        first = np.ones(len(numbers), np.bool_)
        if numbers[0] <= self._highest or (np.diff(numbers) <= 0).any():
            first[:] = False
            first[np.unique(numbers, return_index=True)[1]] = True
            first &= ~np.isin(numbers, self._seen)
        self._seen, self._highest = np.concatenate((self._seen, numbers)), max(self._highest, int(numbers.max()))
        return first
