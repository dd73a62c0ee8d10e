"""Helpers for sorted arrays of integers: lookups, and their order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.record import Index, Mask, Numbers


def place_among(values: Numbers, ascending: Numbers) -> Index:
    """The first place of each value among the ascending ones; -1 where it is not one of them."""
    if not len(ascending):
        return np.full(len(values), -1)
    places: Index = np.searchsorted(ascending, values)
    return np.where(ascending.take(places, mode="clip") == values, places, -1)


def is_among(values: Numbers, ascending: Numbers) -> Mask:
    """Which values are among the ascending ones."""
    return place_among(values, ascending) >= 0


def is_within(values: Numbers, ranges: Numbers) -> Mask:
    """Which values are in one of the ranges `[start, stop)`, the rows of an array. They ascend."""
    if not len(ranges):
        return np.zeros(len(values), np.bool_)
    at = np.searchsorted(ranges[:, 0], values, "right") - 1
    inside: Mask = (at >= 0) & (values < ranges[at, 1])
    return inside


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
