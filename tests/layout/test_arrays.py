"""Lookups in ascending numbers, and the order of numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from native_reader.layout.arrays import order_of

NUMBERS = st.one_of(st.integers(-(2**31), 2**31 - 1), st.sampled_from([-(2**31), -1, 0, 1, 2**31 - 1]))


@given(st.lists(NUMBERS, max_size=300))
def test_the_order_is_the_stable_one(numbers: list[int]) -> None:
    values = np.array(numbers, np.int32)
    assert order_of(values).tolist() == np.argsort(values, kind="stable").tolist()
    assert order_of(values).dtype == np.intp
