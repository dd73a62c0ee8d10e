"""Memory of windows, used again: fresh pages cost as much as reading into them."""

from __future__ import annotations

import weakref

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_MOST_IDLE = 64 << 20


class Memory:
    """Memory that windows take and give back, from any thread."""

    def __init__(self) -> None:
        self._idle: list[NDArray[np.uint8]] = []

    def take(self, size: int) -> NDArray[np.uint8]:
        """At least so many bytes, of any content."""
        try:
            whole = self._idle.pop()
        except IndexError:  # another thread may have taken the last
            whole = None
        # From Arrow, whose allocator keeps pages for what is read into memory again and again. Not zeros: touching memory is slow.
        return np.frombuffer(pa.allocate_buffer(size), np.uint8) if whole is None or len(whole) < size else whole

    def give(self, whole: NDArray[np.uint8]) -> None:
        """Nothing refers to it any more."""
        if sum(map(len, self._idle)) + len(whole) <= _MOST_IDLE:
            self._idle.append(whole)

    def give_after(self, part: NDArray[np.uint8], whole: NDArray[np.uint8]) -> None:
        """Give `whole` once nothing refers to `part`, which is a view of it: no batch, no slice of one."""
        weakref.finalize(part, _give, weakref.ref(self), whole).atexit = False


def _give(memory: weakref.ref[Memory], whole: NDArray[np.uint8]) -> None:
    still = memory()
    if still is not None:  # otherwise the read is over, and the last batch frees it
        still.give(whole)
