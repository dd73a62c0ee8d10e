"""The chains of an index file: each entry leads to the one before it in its slot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def chained(slots: NDArray[np.int64], first: int, table: NDArray[np.int32]) -> NDArray[np.int64]:
    """The number of the entry before each of these in the chain of its slot, or 0.

    `first`: the number of the first of them. `table`: the newest entry of each slot; it then leads to these.
    """
    order = np.argsort(slots, kind="stable")
    grouped, numbers = slots[order], first + order
    begins = np.r_[True, grouped[1:] != grouped[:-1]]
    before = np.r_[0, numbers[:-1]]
    before[begins] = table[grouped[begins]]
    ends = np.r_[begins[1:], True]
    table[grouped[ends]] = numbers[ends]
    previous = np.empty(len(slots), np.int64)
    previous[order] = before
    return previous
