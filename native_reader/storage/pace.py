"""A limit on the bytes read per second."""

from __future__ import annotations

import time


class Pace:
    """Call `spend` after each read: it waits as long as the rate demands."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._paid_until = time.monotonic()

    def spend(self, count: int) -> None:
        """Wait until `count` bytes since the last wait ended fit the rate. Time spent on reading and decoding counts."""
        now = time.monotonic()
        self._paid_until = max(self._paid_until + count / self._rate, now)  # unused time is not saved up for a burst
        time.sleep(self._paid_until - now)
