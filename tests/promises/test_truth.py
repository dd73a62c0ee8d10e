"""The numpy path against the plain decoder: the same rows and account, for all cuts and ends of a log."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from support.compare import InMemory, Segments, read, rows_of, same
from support.effort import at_effort, sampled
from support.plain_decoder import walk

import native_reader as nr
from native_reader.testing import strategies as drawn
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import Message, encode
from native_reader.tuning import tuned


@pytest.mark.sweep
@sampled(300)
@given(log=drawn.commitlogs(), most=st.one_of(st.integers(40, 900), st.just(1 << 27)), jobs=st.sampled_from([1, 1, 3]))
def test_any_log_with_any_cuts(log: drawn.DrawnLog, most: int, jobs: int) -> None:
    with tuned(part_of_a_job=max(40, most // 3)):
        table = same(log.segments, log.framing, most, jobs)
    event(f"{log.framing}, {min(len(table) // 4 * 4, 12)} or more rows")


@pytest.mark.sweep
@sampled(300)
@given(log=drawn.damaged_logs(), most=st.one_of(st.integers(40, 900), st.just(1 << 27)), jobs=st.sampled_from([1, 1, 3]))
def test_damage_is_found_where_it_is(log: drawn.DrawnLog, most: int, jobs: int) -> None:
    with tuned(part_of_a_job=max(40, most // 3)):
        same(log.segments, log.framing, most, jobs)


@pytest.mark.gate
@pytest.mark.sweep
@sampled(25)
@given(log=drawn.commitlogs(max_messages=6))
def test_every_truncation(log: drawn.DrawnLog) -> None:
    if not log.segments:
        return
    base, content = log.segments[-1]
    written = len(content.rstrip(b"\0")) + 2
    for length in range(min(written, len(content)), -1, at_effort(-3, -1)):
        same([*log.segments[:-1], (base, content[:length])], log.framing, 700)


@pytest.mark.sweep
@sampled(60)
@given(
    most=st.integers(100, 3000), sizes=st.lists(st.integers(0, 5000), min_size=1, max_size=6), framing=st.sampled_from(["plain", "dledger"])
)
def test_records_larger_than_a_split(most: int, sizes: list[int], framing: Any) -> None:
    log = CommitLog(16 << 10, framing=framing)
    for size in sizes:
        log.append(Message(topic="t", body=b"x" * size))
    same(log.segments(), framing, most)


def test_a_record_larger_than_a_chunk() -> None:
    log = CommitLog(32 << 20)
    for size in (10, 9 << 20, 5 << 20, 20):
        log.append(Message(topic="t", body=bytes(range(256)) * (size // 256 + 1)))
    table = same(log.segments(preallocated=False), "plain")
    assert [len(body) for body in table["body"].to_pylist()] == [256, (9 << 20) + 256, (5 << 20) + 256, 256]
    same(log.segments(preallocated=False), "plain", 1 << 20)


def test_a_record_over_the_limit_is_rejected_before_memory_is_allocated() -> None:
    log = CommitLog(8 << 20)
    log.append(Message(topic="t", body=b"x" * (5 << 20)))
    store = InMemory(log.segments())
    with pytest.raises(
        nr.StoreDamaged, match=r"of 5,242,97\d bytes is larger than max_record_bytes=1,000,000\. .*max_record_bytes=524297\d"
    ):
        store.messages(max_record_bytes=1_000_000).to_table()


def forged_log(trailing: int) -> Segments:
    """A body that holds a whole record with the right physical offset. Only a walk can distinguish it."""
    inner = Message(topic="forged", body=b"never to be seen")
    start = encode(Message(topic="t", body=b"." * 100), 0).index(b"." * 100) + 100
    log = CommitLog(4096)
    log.append(Message(topic="t", body=b"." * 100 + encode(inner, start) + b"." * 50))
    for _ in range(trailing):
        log.append(Message(topic="t", body=b"after"))
    return log.segments()


def test_a_cut_on_a_forged_record_is_detected() -> None:
    segments = forged_log(3)
    plain = walk(segments)
    detected = 0
    for most in range(60, 800, 3):
        try:
            table, _ = read(segments, "plain", most)
        except nr.SplitError as error:
            text = str(error)
            detected += "a split begins at bytes that look like a record but are inside another one" in text
            detected += f"max_partition_bytes={len(segments[0][1])}" in text
        else:
            assert rows_of(table)[0]["topic"] == "t"
            assert len(table) == len(plain.rows)
    assert detected >= 2
    assert detected % 2 == 0
    table, _ = read(segments, "plain", len(segments[0][1]))
    assert table["topic"].to_pylist() == ["t"] * 4


def test_a_first_size_of_1_does_not_make_the_log_a_dledger_log() -> None:
    log = CommitLog(256)
    for _ in range(4):
        log.append(Message(topic="orders", body=b"", version=2))
    (base, content), *rest = log.segments()
    same([(base, b"\0\0\0\1" + content[4:]), *rest], "plain")
    same([(base, b"\0\0\0\1\0" + content[5:]), *rest], "plain")
