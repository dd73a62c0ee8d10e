"""A queue that is read range by range gives each entry to its range, and reads on only while the entries are in order."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.stores import in_memory

from native_reader.layout.queue_entry import FILLER_SIZE
from native_reader.sides.queues import QueueReader, Topic, queues_of
from native_reader.tuning import tuned
from native_reader.verify import entries as cursors
from native_reader.verify.entries import Cursor

PER_FILE = 40
ZEROS, FILLER = bytes(20), struct.pack(">qiq", 0, FILLER_SIZE, 0)
RANGES = range(0, 10_001, 1_000)
bounds = st.lists(st.integers(0, 10_000), max_size=8).map(lambda some: sorted({0, *some, 10_000}))
ascending = st.lists(st.integers(0, 9_999), unique=True, max_size=100).map(sorted)


def unit(offset: int) -> bytes:
    return struct.pack(">qiq", offset, 100, 7)


def found(units: Sequence[bytes], edges: Sequence[int], at_least: int, *, is_live: bool = False, whole: int = 0) -> list[list[int]]:
    """The offsets that a cursor finds in each range."""
    padded = [*units, *[ZEROS] * (-len(units) % PER_FILE or PER_FILE)]
    files = {f"q/T/0/{20 * first:020}": b"".join(padded[first : first + PER_FILE]) for first in range(0, len(padded), PER_FILE)}
    memory = in_memory(files)
    (queue,) = queues_of(Topic("T", f"{memory.url}/q/T", False))
    cursor = Cursor(queue, is_live=is_live)
    with tuned(queue_read_whole=whole, queue_read_at_once=40), pytest.MonkeyPatch.context() as patch:
        patch.setattr(cursors, "_AT_LEAST", at_least)
        each = [cursor.within(low, high) for low, high in pairwise(edges)]
    return [[] if entries is None else entries.offsets.tolist() for entries in each]


@pytest.mark.sweep
@sampled(500)
@given(ascending, st.integers(0, 50), bounds, st.integers(1, 60), st.booleans())
def test_each_entry_is_in_its_range(offsets: list[int], fillers: int, edges: list[int], at_least: int, is_live: bool) -> None:
    expected = [[each for each in offsets if low <= each < high] for low, high in pairwise(edges)]
    assert found([*[FILLER] * fillers, *map(unit, offsets)], edges, at_least, is_live=is_live) == expected


@pytest.mark.sweep
@sampled(500)
@given(st.lists(st.one_of(st.integers(0, 9_999).map(unit), st.sampled_from([ZEROS, FILLER])), max_size=100), bounds, st.integers(1, 60))
def test_whatever_the_order_entries_are_in_their_range(units: list[bytes], edges: list[int], at_least: int) -> None:
    for (low, high), offsets in zip(pairwise(edges), found(units, edges, at_least), strict=True):
        assert all(low <= each < high for each in offsets)


@pytest.mark.sweep
@sampled(200)
@given(st.lists(st.integers(0, 9_999), max_size=100), bounds)
def test_a_small_queue_needs_no_order(offsets: list[int], edges: list[int]) -> None:
    expected = [[each for each in offsets if low <= each < high] for low, high in pairwise(edges)]
    assert found(list(map(unit, offsets)), edges, 1, whole=1 << 20) == expected


@pytest.mark.parametrize("place", range(1, 99, 7))
@pytest.mark.parametrize("wrong", [0, 2**62])
def test_a_wrong_offset_hides_no_more_than_from_a_search(monkeypatch: pytest.MonkeyPatch, place: int, wrong: int) -> None:
    offsets = list(range(0, 10_000, 100))
    units = [unit(wrong if number == place else offset) for number, offset in enumerate(offsets)]
    seen = sum(map(len, found(units, RANGES, 4)))
    monkeypatch.setattr(Cursor, "_onward", lambda *_, **__: None)
    assert seen >= sum(map(len, found(units, RANGES, 4))) - 10  # the range of the wrong offset itself


def test_a_queue_is_opened_only_for_ranges_that_it_has_entries_in(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    own = QueueReader.file
    monkeypatch.setattr(QueueReader, "file", lambda reader, which: opened.append(which) or own(reader, which))
    edges = [0, *range(5_000, 6_000, 10)]
    assert found([unit(0), unit(10), unit(9_000), unit(9_001)], edges, 100)[0] == [0, 10]
    assert len(opened) < 20
