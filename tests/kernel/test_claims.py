"""The compiled functions for consume queues and their claims equal the numpy ones, and both equal plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled

from native_reader import kernel
from native_reader.kernel import Lists
from native_reader.layout.queue_entry import FILLER_SIZE, QUEUE_ENTRY
from native_reader.plan import claims
from native_reader.plan.claims import QueueClaims, numpy_left_of, numpy_tiles_of
from native_reader.sides import entries, queues
from native_reader.sides.entries import Entries
from native_reader.sides.queues import Queue, QueueFile, QueueReader
from native_reader.testing.memory import MemoryStorage
from native_reader.tuning import tuned

QUEUE = Queue("topic", 0, False, ())
MOST = 2**63 - 1

Spans = Sequence[Sequence[tuple[int, int]]]
"""Offset and size of each claim of each queue."""


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, Spans, Spans]:
    """The lowest offset, and claims: near each other, with repeats and overlaps, or at most 2^63 away, in ascending order or not."""
    low = draw(st.sampled_from((0, 1, 1 << 30, 1 << 40, MOST - (1 << 33), MOST - 300)))
    near = st.integers(0, 60)
    far = st.one_of(near, st.integers(0, MOST - low), st.sampled_from((2**31 - 1, 2**31, 2**32 - 1, 2**32, MOST - low)))
    distances = draw(st.sampled_from((near, near, far)))
    sizes = draw(st.sampled_from((st.just(4), st.integers(1, 9), st.one_of(st.integers(1, 70), st.sampled_from((2**31 - 2, 2**31 - 1))))))
    claim = st.tuples(distances, sizes).map(lambda pair: (pair[0], min(pair[1], MOST - low)))
    claim = claim.map(lambda pair: (low + min(pair[0], MOST - low - pair[1]), pair[1]))
    queue = st.lists(claim, min_size=1, max_size=8).flatmap(lambda queue: st.sampled_from((queue, sorted(queue))))
    return low, draw(st.lists(queue, max_size=4)), draw(st.lists(queue, max_size=4))


def claims_of(spans: Spans) -> list[QueueClaims]:
    none = np.empty(0, np.int64)
    return [QueueClaims(QUEUE, Entries(none, none, *np.array(queue, np.int64).reshape(-1, 2).T.copy(), none)) for queue in spans]


def lists_of(spans: Spans) -> Lists:
    return [tuple(np.array(queue, np.int64).reshape(-1, 2).T.copy()) for queue in spans]


def plain_tiles(wanted: Spans, unwanted: Spans) -> list[tuple[int, int, bool]]:
    marks = {claim: True for queue in unwanted for claim in queue} | {claim: False for queue in wanted for claim in queue}
    spans = [(offset, offset + size) for offset, size in marks]
    return [
        (offset, size, marks[offset, size])
        for offset, size in sorted(marks)
        if sum(start < offset + size and offset < end for start, end in spans) == 1
    ]


def plain_left(tiles: Sequence[tuple[int, int, bool]], low: int, begin: int, frame: int) -> list[list[int] | int]:
    bounds = [(begin, begin), *((offset - low, offset - low + size + frame) for offset, size, _ in tiles)]
    gaps = [(end, start) for (_, end), (start, _) in pairwise(bounds) if start > end]
    wanted = [(offset, size) for offset, size, is_unwanted in tiles if not is_unwanted]
    extents = sorted([*gaps, *((offset - low, offset - low + size + frame) for offset, size in wanted)])
    starts, ends = [start for start, _ in extents], [end for _, end in extents]
    return [starts, ends, [offset for offset, _ in wanted], bounds[-1][1], max((size for _, size in wanted), default=0)]


def listed(arrays: Sequence[object]) -> list[object]:
    """The values of arrays, which are int64 or bool; and the other values as they are."""
    assert all(each.dtype in (np.int64, np.bool_) and each.dtype.isnative for each in arrays if isinstance(each, np.ndarray))
    return [each.tolist() if isinstance(each, np.ndarray) else each for each in arrays]


@pytest.mark.sweep
@sampled(1000)
@given(cases())
def test_numpy_tiles_are_the_plain_ones(case: tuple[int, Spans, Spans]) -> None:
    low, wanted, unwanted = case
    tiles = numpy_tiles_of(claims_of(wanted), claims_of(unwanted), low)
    assert list(zip(*listed(tiles), strict=True)) == plain_tiles(wanted, unwanted)


@pytest.mark.kernel
@pytest.mark.sweep
@sampled(1000)
@given(cases())
def test_compiled_tiles_are_those_of_numpy(case: tuple[int, Spans, Spans]) -> None:
    low, wanted, unwanted = case
    compiled = kernel.merged_claims(lists_of(wanted), lists_of(unwanted), low)
    assert compiled is not None
    assert listed(compiled) == listed(numpy_tiles_of(claims_of(wanted), claims_of(unwanted), low))
    assert list(zip(*listed(compiled), strict=True)) == plain_tiles(wanted, unwanted)


@pytest.mark.sweep
@sampled(1000)
@given(cases(), st.integers(0, 80), st.sampled_from((0, 16)))
def test_what_is_left_is_the_same_for_all(case: tuple[int, Spans, Spans], begin: int, frame: int) -> None:
    low, wanted, unwanted = case
    compiled = kernel.unclaimed_extents(lists_of(wanted), lists_of(unwanted), low, begin, frame)
    tiles = plain_tiles(wanted, unwanted)
    plain = plain_left(tiles, low, begin, frame)
    reach = max((offset - low + size + frame for queue in (*wanted, *unwanted) for offset, size in queue), default=0)
    assert (compiled is None) == (kernel.kernel_info().name == kernel.NUMPY or reach > MOST)
    if compiled is not None:
        assert listed(compiled) == plain
    if reach <= MOST:
        assert listed(numpy_left_of(claims_of(wanted), claims_of(unwanted), low, begin, frame)) == plain


@st.composite
def damaged_rows(draw: st.DrawFn) -> tuple[Spans, Spans]:
    """Claims of a few queues that follow each other, but for some that are missing, repeated, moved or too long."""
    sizes = draw(st.lists(st.integers(20, 90), min_size=40, max_size=300))
    offsets = np.cumsum([100, *sizes]).tolist()
    row = list(zip(offsets, sizes, strict=False))
    for place in draw(st.lists(st.integers(0, len(row) - 1), max_size=3)):
        which = min(place, len(row) - 1)  # some are missing by now
        offset, size = row[which]
        row[which : which + 1] = draw(st.sampled_from(([], [(offset, size)] * 2, [(offset + 1, size)], [(offset, size + 200)])))
    queues = draw(st.lists(st.integers(0, 5), min_size=len(row), max_size=len(row)))
    spans = [[claim for claim, queue in zip(row, queues, strict=True) if queue == number] for number in range(6)]
    spans = [queue for queue in spans if queue]
    return spans[:1], spans[1:]


@pytest.mark.kernel
@pytest.mark.sweep
@sampled(300)
@given(damaged_rows(), st.integers(95, 100), st.sampled_from((0, 16)))
def test_claims_that_need_no_sort_leave_the_same(case: tuple[Spans, Spans], begin: int, frame: int) -> None:
    wanted, unwanted = ([[(offset, size - frame) for offset, size in queue] for queue in spans] for spans in case)
    compiled = kernel.unclaimed_extents(lists_of(wanted), lists_of(unwanted), 0, begin, frame)
    assert compiled is not None
    assert listed(compiled) == listed(numpy_left_of(claims_of(wanted), claims_of(unwanted), 0, begin, frame))


@pytest.mark.kernel
@pytest.mark.parametrize("claim", [(10, 0), (10, -5), (9, 4), (-(2**63), 4), (10, 2**31), (MOST - 3, 4), (10, -(2**63))])
def test_claims_of_no_entry_are_left_to_numpy(claim: tuple[int, int]) -> None:
    for spans in ([[claim]], [[(20, 4)], [(30, 4), claim]]):
        assert kernel.merged_claims(lists_of(spans), [], 10) is None
        assert kernel.unclaimed_extents([], lists_of(spans), 10, 0, 0) is None


@pytest.mark.kernel
def test_numbers_beyond_64_bits_are_left_to_numpy() -> None:
    assert kernel.merged_claims([], [], 2**63) is None
    assert kernel.ascending_within(np.arange(3), 0, 2**63) is None
    assert kernel.queue_entries(np.zeros(3, QUEUE_ENTRY), MOST - 2) is None


@pytest.mark.kernel
def test_other_arrays_are_refused() -> None:
    numbers = np.arange(6)
    for wrong in (numbers.astype(">i8"), numbers.astype(np.int32), numbers.astype(np.float64)):
        with pytest.raises((BufferError, TypeError, ValueError)):
            kernel.merged_claims([(wrong, wrong)], [], 0)
    with pytest.raises(ValueError, match="as many sizes as offsets"):
        kernel.merged_claims([(numbers, numbers[1:])], [], 0)
    with pytest.raises((BufferError, TypeError, ValueError)):
        kernel.ascending_within(numbers.astype(">i8"), 0, 9)


@pytest.mark.kernel
def test_many_queues_with_one_claim_over_all_of_them() -> None:
    rng = np.random.default_rng(1)
    places = rng.permutation(200_000).reshape(100, -1) * 10 + 10
    places.sort()
    lists = [(queue, np.full(len(queue), 10)) for queue in places]
    over = (np.array([0]), np.array([2**31 - 1]))
    offsets, sizes, unwanted = kernel.merged_claims(lists[:3], lists[3:], 10)
    assert (offsets == np.arange(10, 2_000_010, 10)).all()
    assert (sizes == 10).all()
    assert np.count_nonzero(~unwanted) == 6000
    assert listed(kernel.merged_claims(lists, [over], 0)) == [[], [], []]
    assert listed(kernel.unclaimed_extents(lists, [over], 0, 5, 0)) == [[], [], [], 5, 0]


units = st.tuples(
    st.one_of(st.integers(-3, 300), st.sampled_from((0, -1, -(2**63), MOST))),
    st.one_of(st.integers(-3, 300), st.sampled_from((0, FILLER_SIZE, FILLER_SIZE - 1, -(2**31)))),
    st.integers(-(2**63), MOST),
)


@pytest.mark.kernel
@pytest.mark.sweep
@sampled(1000)
@given(st.lists(units, max_size=12), st.sampled_from((0, 7, 5_000_000_000_000_000_000)))
def test_entries_are_those_of_numpy(drawn: list[tuple[int, int, int]], first: int) -> None:
    content = np.array(drawn, QUEUE_ENTRY).tobytes()
    written = np.frombuffer(content, QUEUE_ENTRY)
    compiled = kernel.queue_entries(written, first)
    assert compiled is not None
    assert listed(compiled) == listed(entries.numpy_queue_entries(written, first))
    plain = [(first + place, *unit) for place, unit in enumerate(drawn) if 0 < unit[1] < FILLER_SIZE and unit[0] >= 0]
    assert list(zip(*listed(compiled), strict=True)) == plain


@pytest.mark.sweep
@sampled(1000)
@given(st.lists(st.one_of(st.integers(0, 20), st.sampled_from((-(2**63), MOST))), max_size=12), st.integers(-3, 9), st.integers(5, 25))
def test_kept_offsets_are_those_that_contradict_no_other(offsets: list[int], low: int, high: int) -> None:
    ascends = [max(offsets[:place], default=-(2**64)) < at < min(offsets[place + 1 :], default=2**64) for place, at in enumerate(offsets)]
    plain = [ascends[place] and low <= at < high for place, at in enumerate(offsets)]
    array = np.array(offsets, np.int64)
    assert queues.numpy_ascending_within(array, low, high).tolist() == plain
    compiled = kernel.ascending_within(array, low, high)
    assert compiled is None or compiled.tolist() == plain
    assert (compiled is None) == (kernel.kernel_info().name == kernel.NUMPY)


@pytest.mark.parametrize("is_compiled", [False, pytest.param(True, marks=pytest.mark.kernel)])
def test_both_ways_take_no_claims(monkeypatch: pytest.MonkeyPatch, is_compiled: bool) -> None:
    if not is_compiled:
        monkeypatch.setenv("RMQSTORE_KERNEL", "numpy")
    assert listed(claims.tiles_of([], [], 5)) == [[], [], []]
    assert listed(claims.left_of([], [], 5, 7, 0)) == [[], [], [], 7, 0]


@st.composite
def stored_queues(draw: st.DrawFn) -> list[list[tuple[int, int, int]]]:
    """The files of a queue, four entries each: mostly in order and written, with changes; a filler or nothing where no entry is."""
    offsets = sorted(draw(st.sets(st.integers(0, 60), max_size=12)))
    drawn = [(offset, draw(st.sampled_from((1, 1, 1, 5, 40))), offset) for offset in offsets]
    for _ in range(draw(st.sampled_from((0, 0, 0, 1, 2)))):
        drawn.insert(draw(st.integers(0, len(drawn))), draw(units))
    drawn = [(0, FILLER_SIZE, 0)] * draw(st.integers(0, 2)) + drawn
    drawn += [(0, 0, 0)] * (-len(drawn) % 4 + 4 * draw(st.integers(0, 1)))
    return [drawn[begin : begin + 4] for begin in range(0, len(drawn), 4)]


@pytest.mark.kernel
@pytest.mark.sweep
@sampled(500)
@given(stored_queues(), st.tuples(st.integers(0, 40), st.integers(0, 40), st.sampled_from((0, 3, 70))), st.booleans())
def test_entries_of_a_range_are_the_same_by_both_kernels(
    files: list[list[tuple[int, int, int]]], span: tuple[int, int, int], is_apart: bool
) -> None:
    memory = MemoryStorage({f"queue/{which}": np.array(file, QUEUE_ENTRY).tobytes() for which, file in enumerate(files)})
    apart = 100 if is_apart else 0  # as after a file that is missing
    queue = Queue("topic", 0, False, tuple(QueueFile(f"{memory.url}/queue/{which}", which * (4 + apart), 4) for which in range(len(files))))
    low, more, after = span
    found = []
    for name, at_once in product((kernel.NUMPY, kernel.COMPILED), (16 << 10, 20)):
        with pytest.MonkeyPatch.context() as patch, QueueReader(queue) as reader, tuned(queue_read_at_once=at_once):
            patch.setenv("RMQSTORE_KERNEL", name)
            within = reader.within(low, low + more, low + more + after)
            found.append([columns_of(within), [columns_of(each) for each in within.by_file() if len(each)]])
            found[-1] += [[within.place(which) for which in range(len(within))], [within.last_below(offset) for offset in range(62)]]
    assert found[:2] == found[2:]


def columns_of(entries: Entries) -> list[object]:
    return listed([entries.numbers, entries.counts, entries.offsets, entries.sizes, entries.codes, entries.newest])
