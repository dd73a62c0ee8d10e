"""A read that begins inside a record: it accepts no forged record, and loses no real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import at_effort, mostly_long, sampled, thinned
from support.forged import FORGED, START, forged_log, swallowing
from support.queued_stores import dispatched
from support.stores import Files, files_of, in_memory
from support.tune import Tune

import native_reader as nr
from native_reader.records.sync import sync
from native_reader.storage.window import Window
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import encode
from native_reader.tuning import tuned

PLACE = "physical_offset"


def laid(log: CommitLog, *, queues: bool) -> Files:
    return files_of(log) | (dispatched(log.placed) if queues else {})


def places(store: nr.Store, **options: Any) -> list[int]:
    found = store.messages(columns="physical_offset,topic", **options).to_table()
    assert FORGED not in found["topic"].to_pylist()
    return sorted(found[PLACE].to_pylist())


@pytest.fixture(params=[True, False], ids=["queues", "no queues"])
def queues(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.gate
def test_a_search_would_find_the_forged_records() -> None:
    """Otherwise these tests prove nothing."""
    log = forged_log(60, 1 << 16)
    true = {each.offset for each in log.placed}
    memory = in_memory(files_of(log))
    (store,) = nr.open(f"{memory.url}/store").stores
    with Window(store.segments[0], 1 << 16) as window:
        found = {sync(window, place, 1 << 16) for place in range(log.end)}
    assert len(found - true - {None}) > 10


def telling(log: CommitLog, share: int, everywhere: int) -> list[int]:
    """Offsets to begin at: of some records, the first, second and last byte, and each forged record; and others, at equal distances."""
    found = set(range(0, log.end, everywhere))
    for each in log.placed[::share]:
        begin, content = each.offset, encode(each.message, each.offset)
        forged = content.find(content[4:8], 8)  # the magic of a record in its body
        found |= {begin, begin + 1, begin + len(content) - 1} | ({begin + forged - 4} if forged > 0 else set())
    return sorted(found)


def test_the_offsets_of_the_sample_are_those_of_records_forged_ones_and_others() -> None:
    """Also in the smallest sample."""
    log = forged_log(60, 4096)
    sample = telling(log, 5, 400)
    true = {each.offset for each in log.placed}
    memory = in_memory(files_of(log))
    (store,) = nr.open(f"{memory.url}/store").stores
    with Window(store.segments[0], 1 << 16) as window:
        assert len([place for place in sample if place < 4096 and sync(window, place, 1 << 16) == place not in true]) > 0
    assert len({*sample} & true) >= 12
    assert len({*sample} - true) > 20


@pytest.mark.sweep
@pytest.mark.parametrize("access", ["auto", "scan"])
@pytest.mark.parametrize("mode", thinned(["DROPMALFORMED", "FAILFAST"], 1))
def test_a_read_from_any_offset(queues: bool, access: str, mode: str) -> None:
    log = forged_log(60, 4096)
    true = [each.offset for each in log.placed]
    memory = in_memory(laid(log, queues=queues))
    store = nr.open(memory.url)
    options = {"access": access, "mode": mode}
    for offset in telling(log, at_effort(5, 1), at_effort(400, 11)):
        rest = [each for each in true if each >= offset]
        assert places(store, starting_physical_offset=offset, **options) == rest
        assert places(store, where=f"physical_offset > {offset}", **options) == [each for each in true if each > offset]


@pytest.mark.sweep
def test_a_condition_on_one_offset(queues: bool) -> None:
    log = forged_log(40, 4096)
    true = [each.offset for each in log.placed]
    memory = in_memory(laid(log, queues=queues))
    store = nr.open(memory.url)
    for offset in telling(log, at_effort(5, 1), at_effort(400, 5)):
        found = [offset] if offset in true else []
        assert places(store, where=f"physical_offset = {offset}") == found
        assert places(store, msg_id=f"7F000001{10911:08X}{offset:016X}") == found
    several = [*range(1, log.end, 31), *true[::7]]
    where = f"physical_offset IN ({', '.join(map(str, several))})"
    assert places(store, where=where) == sorted({*several} & {*true})


@pytest.mark.parametrize("access", ["auto", "scan"])
def test_a_forged_record_that_spans_real_ones_hides_none(queues: bool, access: str) -> None:
    log = swallowing()
    true = [each.offset for each in log.placed]
    memory = in_memory(laid(log, queues=queues))
    store = nr.open(memory.url)
    (files,) = store.stores
    with Window(files.segments[0], 1 << 16) as window:
        assert sync(window, true[1] + 1, 1 << 16) not in true  # the forged one, which extends to the end of the last but one
    assert places(store, starting_physical_offset=true[1] + 1, access=access) == true[2:]


@pytest.mark.gate
@pytest.mark.parametrize("size", mostly_long([1 << 14, 1 << 18], 1 << 14))
def test_windows_of_time_over_forged_records(tune: Tune, queues: bool, size: int) -> None:
    """Samples inside a segment took the times of forged records for those of the log."""
    tune(sampled_segment=0)
    log = forged_log(400, size)
    memory = in_memory(laid(log, queues=queues))
    store = nr.open(memory.url)
    refused = 0
    for first in range(0, 400, 9):
        for length in (1, 20):
            options = {"starting_timestamp": START + 1000 * first, "ending_timestamp": START + 1000 * (first + length)}
            try:
                found = places(store, **options, time_skew_tolerance=0, max_partition_bytes=size - queues)
            except nr.SplitError:  # a segment is cut in two, and a cut on a forged record is an error
                refused += 1
            else:
                assert found == [each.offset for each in log.placed[first : first + length]]
    assert refused < 10


@pytest.mark.sweep
@sampled(40)
@given(
    seed=st.integers(0, 1 << 30),
    size=st.sampled_from([1500, 4096, 1 << 16]),
    look=st.sampled_from([300, 256 << 10]),
    bounds=st.tuples(st.integers(0, 12_000), st.integers(0, 12_000)),
    options=st.sampled_from([{}, {"topic": "T1"}, {"access": "scan"}, {"max_partition_bytes": 700}]),
    mine=st.booleans(),
)
def test_any_range_of_a_log_with_forged_records(
    *, seed: int, size: int, look: int, bounds: tuple[int, int], options: Mapping[str, Any], mine: bool
) -> None:
    log = forged_log(40, size, seed=seed)
    first, end = sorted(bounds)
    memory = in_memory(laid(log, queues=mine))
    store = nr.open(memory.url)
    expected = [
        each.offset for each in log.placed if first <= each.offset < end and options.get("topic", each.message.topic) == each.message.topic
    ]
    with tuned(certain_look=look):
        try:
            found: list[int] | str = places(store, starting_physical_offset=first, ending_physical_offset=end, **options)
        except nr.SplitError as error:  # a cut fell on a forged record, which the split before it reports
            found = str(error)
    is_reported = "max_partition_bytes" in options and "a split begins at bytes that look like a record but are inside another one" in str(
        found
    )
    assert found == expected or is_reported
