"""No more bytes a second than somebody allows."""

from __future__ import annotations

import time


class Pace:
    """`spend` what was read: it waits until that many bytes were allowed."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._due = 0.0

    def spend(self, count: int) -> None:
        """Wait as long as so many bytes must take, since the last ones."""
        now = time.monotonic()
        self._due = max(self._due, now) + count / self._rate
        time.sleep(self._due - now)
