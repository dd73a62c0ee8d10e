"""A limit on the bytes read per second."""

from __future__ import annotations

import time


class Pace:
    """Call `spend` after each read: it waits as long as the rate demands."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._due = 0.0

    def spend(self, count: int) -> None:
        """Wait as long as `count` bytes take at this rate."""
        now = time.monotonic()
        self._due = max(self._due, now) + count / self._rate
        time.sleep(self._due - now)
