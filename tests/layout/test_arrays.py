"""Lookups in ascending numbers, and the order of numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from native_reader.layout.arrays import is_among, is_within, order_of, place_among

NUMBERS = st.one_of(st.integers(-(2**31), 2**31 - 1), st.sampled_from([-(2**31), -1, 0, 1, 2**31 - 1]))
SMALL = st.lists(st.integers(-5, 5), max_size=12)


@given(st.lists(NUMBERS, max_size=300))
def test_the_order_is_the_stable_one(numbers: list[int]) -> None:
    values = np.array(numbers, np.int32)
    assert order_of(values).tolist() == np.argsort(values, kind="stable").tolist()
    assert order_of(values).dtype == np.intp


@given(SMALL, SMALL.map(sorted))
def test_a_value_is_found_at_its_first_place(values: list[int], ascending: list[int]) -> None:
    arrays = np.array(values, np.int64), np.array(ascending, np.int64)
    assert place_among(*arrays).tolist() == [ascending.index(each) if each in ascending else -1 for each in values]
    assert is_among(*arrays).tolist() == [each in ascending for each in values]


@given(SMALL, SMALL.map(lambda some: sorted({*some})))
def test_a_value_is_within_a_range_that_begins_before_it_and_ends_after_it(values: list[int], borders: list[int]) -> None:
    ranges = list(zip(borders[::2], borders[1::2], strict=False))
    expected = [any(start <= each < stop for start, stop in ranges) for each in values]
    assert is_within(np.array(values, np.int64), np.array(ranges, np.int64).reshape(-1, 2)).tolist() == expected
