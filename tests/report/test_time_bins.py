"""Sums by time in bounded memory equal plain counting."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np

from native_reader.facts.log_facts import DAY, HOUR, TimeBins


def test_times_equal_plain_counting_at_every_width() -> None:
    random = Random(4)
    for span in (HOUR, 3 * DAY, 400 * DAY, 6000 * DAY):
        start = 1_600_000_000_000_000
        times = [start + random.randrange(span) for _ in range(3000)]
        sizes = [random.randrange(1000) for _ in times]
        bins = TimeBins(shift=8 * HOUR, most=500)
        for first in range(0, len(times), 100):
            bins.add(np.array(times[first : first + 100]), np.array(sizes[first : first + 100]))
        assert len(bins._bins) <= 500
        width, series = bins.series(240)
        expected, counts = Counter[int](), Counter[int]()
        for time, size in zip(times, sizes, strict=True):
            begin = (time + 8 * HOUR) // width * width - 8 * HOUR
            expected[begin] += size
            counts[begin] += 1
        assert {begin: size for begin, size, count in series if count} == expected
        assert {begin: count for begin, _, count in series if count} == counts
        assert [begin for begin, *_ in series] == list(range(min(expected), max(expected) + 1, width))
        assert len(series) <= 241


def test_the_bytes_since_a_time() -> None:
    bins = TimeBins()
    bins.add(np.array([0, HOUR, 2 * HOUR, 3 * HOUR]), np.array([1, 2, 4, 8]))
    assert [bins.since(each * HOUR) for each in range(5)] == [15, 14, 12, 8, 0]
