"""Small questions about arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.record import Index, Mask, Numbers


def is_among(values: Numbers, ascending: Numbers) -> Mask:
    """Which values are among the ascending ones."""
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    found: Mask = ascending[np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)] == values
    return found


def last_of_each(values: NDArray[Any]) -> Index:
    """The place where each different value comes last, in the order of the values."""
    last: Index = len(values) - 1 - np.unique(values[::-1], return_index=True)[1]
    return last


def order_of(numbers: NDArray[np.int32]) -> Index:
    """The order of numbers of 32 bits; equal ones stay as they come.

    numpy sorts numbers ten times as fast as places by their numbers: so each number is sorted together with its place.
    """
    both = numbers.astype(np.int64) << 32 | np.arange(len(numbers))
    both.sort()
    order: Index = both & 0xFFFFFFFF
    return order
