"""Bytes and messages by time in bounded memory."""

from __future__ import annotations

import numpy as np

from native_reader.layout.record import Numbers

_MOST_BINS = 20_000
_SECOND = 1_000_000
_WIDTHS = tuple(seconds * _SECOND for seconds in (60, 300, 900, 3600, 6 * 3600, 86_400, 7 * 86_400, 28 * 86_400, 364 * 86_400))
HOUR, DAY = 3600 * _SECOND, 86_400 * _SECOND


class TimeBins:
    """Bytes and messages by time, in microseconds since 1970. The bins widen if the times are far apart. `shift`: offset of the zone."""

    def __init__(self, shift: int = 0, most: int = _MOST_BINS) -> None:
        self._shift, self._most, self._widths = shift, most, list(_WIDTHS)
        self._bins: dict[int, tuple[int, int]] = {}

    @property
    def width(self) -> int:
        """The width of a bin, in microseconds."""
        return self._widths[0]

    def add(self, times: Numbers, sizes: Numbers) -> None:
        """Add messages."""
        bins, which = np.unique((times + self._shift) // self.width, return_inverse=True)
        sums = np.zeros(len(bins), np.int64)
        np.add.at(sums, which, sizes)
        counts = np.bincount(which, minlength=len(bins))
        for number, size, count in zip(bins.tolist(), sums.tolist(), counts.tolist(), strict=True):
            known = self._bins.get(number, (0, 0))
            self._bins[number] = known[0] + size, known[1] + count
        while len(self._bins) > self._most and len(self._widths) > 1:
            self._widen()

    def series(self, most: int) -> tuple[int, list[tuple[int, int, int]]]:
        """The width, and for each bin from the first to the last its start, bytes and messages; at most that many, or of the widest."""
        if not self._bins:
            return self.width, []
        view = TimeBins(self._shift)
        view._widths, view._bins = list(self._widths), dict(self._bins)
        while max(view._bins) - min(view._bins) >= most and len(view._widths) > 1:
            view._widen()
        first, last, none = min(view._bins), max(view._bins), (0, 0)
        numbers = range(first, last + 1) if last - first < most else sorted(view._bins)
        return view.width, [(number * view.width - self._shift, *view._bins.get(number, none)) for number in numbers]

    def since(self, time: int) -> int:
        """The bytes of the bins that begin at that time or later."""
        return sum(size for number, (size, _) in self._bins.items() if number * self.width - self._shift >= time)

    def _widen(self) -> None:
        old, bins = self.width, self._bins
        self._widths, self._bins = self._widths[1:], {}
        for number, (size, count) in bins.items():
            wide = number * old // self.width
            known = self._bins.get(wide, (0, 0))
            self._bins[wide] = known[0] + size, known[1] + count
