"""The account of small stores: equal to a plain one, and true to what was destroyed."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.plain_account import entries_in, plain_account, records_in
from support.queued_stores import dispatched, numbered
from support.stores import Files, files_of, in_memory, log_of, message
from support.verified import TOPICS, beside, healthy

import native_reader as nr
from native_reader.account.account import Account, at_most, connected, joined, merged, without
from native_reader.account.runs import Named, Runs
from native_reader.account.states import Mark
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import INNER_BATCH, InnerMessage, pack_inner, pack_properties
from native_reader.tuning import tuned

LOG, WHOLE = healthy(60)
SEGMENTS = sorted(name for name in WHOLE if name.startswith("store/commitlog/"))
QUEUES = sorted(name for name in WHOLE if name.startswith("store/consumequeue/"))
BARE = {name: content for name, content in WHOLE.items() if not name.startswith("store/index/")}


def account_of(files: Files, jobs: int = 1) -> Account:
    memory = in_memory(files)
    check = nr.open(f"{memory.url}/store").verify()
    check.to_table(jobs)
    return check.account


def by_queue(account: Account) -> Counter[tuple[str, int, str]]:
    """What the plain account has, too."""
    found: Counter[tuple[str, int, str]] = Counter()
    for row in account.table.to_pylist():
        if row["topic"] is not None and row["why"] not in {"hole", "group offset"} and row["messages"]:
            found[row["topic"], row["queue_id"], row["state"]] += row["messages"]
    return found


KINDS = ("zeros", "bit", "bit of a record", "entry", "entries", "file", "topic")
Damage = tuple[str, int, int, int]
"""Its kind, and numbers that choose file, place and size."""
DAMAGES = st.lists(st.tuples(st.sampled_from(KINDS), *(st.integers(0, 2**20),) * 3), min_size=1, max_size=4)


def damaged(damages: Iterable[Damage]) -> Files:
    """The whole store with these damages. Its first and its last segment stay: what was before and after them has tests of its own."""
    files = dict(BARE)
    for kind, which, place, size in damages:
        names = [name for name in (QUEUES if kind in {"entry", "entries"} else SEGMENTS[1:-1]) if name in files]
        if kind == "topic":
            files = {name: files[name] for name in files if f"/consumequeue/T{which % 3}/" not in name}
        elif names:
            name = names[which % len(names)]
            if kind == "file":
                del files[name]
            else:
                files[name] = changed(name, bytearray(files[name]), kind, place, size)
    return files


def changed(name: str, content: bytearray, kind: str, place: int, size: int) -> bytes:
    at = place % len(content)
    match kind:
        case "zeros":
            stop = min(at + 1 + size % 600, len(content))
            content[at:stop] = bytes(stop - at)
        case "bit":
            content[at] ^= 1 << size % 8
        case "bit of a record":  # not of its head
            placed = [each for each in LOG.placed if each.segment == int(name[-20:])][place % 5]
            content[placed.offset - placed.segment + 84 + size % (placed.size - 84)] ^= 1 << size % 8
        case "entry":
            placed = LOG.placed[size % len(LOG.placed)]
            struct.pack_into(">qiq", content, at // 20 * 20, placed.offset + size % 3 - 1, placed.size, size % 5)
        case "entries":
            content[at // 20 * 20 :] = bytes(len(content) - at // 20 * 20)
    return bytes(content)


@sampled(150)
@given(DAMAGES)
def test_it_equals_the_plain_account(damages: list[Damage]) -> None:
    files = damaged(damages)
    assert by_queue(account_of(files)) == plain_account(files)


@sampled(100)
@given(DAMAGES)
def test_no_message_is_forgotten_and_none_is_lost_that_is_there(damages: list[Damage]) -> None:
    """What entries still name is told to be lost, or is there. No more is told than was destroyed."""
    files = damaged(damages)
    account = account_of(files)
    there = {record.fixed["physical_offset"]: record for record in records_in(files)}
    before = {each.offset: each for each in LOG.placed}
    intact = set(entries_in(files)) & set(entries_in(WHOLE))
    gone = {offset for offset in before if offset not in there or is_changed(files, LOG, offset)}
    nameable = sum(each.offset not in there for each in intact)
    whole = sum(account.messages.get(state, 0) for state in ("served", "deleted", "unreachable", "doubtful"))
    wrong = [row for row in account.table.to_pylist() if row["why"] in {"checksum", "compression"}]
    assert whole + sum(row["messages"] for row in wrong) >= len(there)
    assert account.lost >= nameable
    assert account.messages.get("lost", 0) <= len(gone)
    assert account.is_whole <= (before.keys() <= there.keys())


def is_changed(files: Files, log: CommitLog, offset: int) -> bool:
    """Whether that record has other bytes than before."""
    placed = next(each for each in log.placed if each.offset == offset)
    name = f"store/commitlog/{placed.segment:020}"
    begin = offset - placed.segment
    return name not in files or files[name][begin : begin + placed.size] != WHOLE[name][begin : begin + placed.size]


@sampled(60)
@given(DAMAGES)
def test_runs_that_are_joined_early_give_the_same_account(damages: list[Damage]) -> None:
    """Each part of the log has a run for each queue: a large store with few queues has very many, which are joined as they come."""
    files = damaged(damages)
    with tuned(verified_at_once=500), pytest.MonkeyPatch.context() as patch:
        expected = account_of(files).table
        patch.setattr("native_reader.account.account._WAITING", 0)
        assert account_of(files).table.equals(expected)


def test_the_runs_that_are_held_do_not_grow_with_the_log() -> None:
    runs, count = Runs(), 1000
    for part in range(count):
        for queue in range(3):
            runs.one(Mark.QUEUED, (f"T{queue}", 0), numbers=(part * 9, part * 9 + 9), messages=9, size=900, offsets=(part, part + 1))
    runs.one(Mark.ENTRY, ("T0", 0), numbers=(count * 9, count * 9 + 1), messages=1)
    held = connected(pa.Table.from_batches([runs.batch()]))
    assert held.group_by("mark").aggregate([("messages", "sum")]).to_pylist() == [
        {"mark": Mark.ENTRY, "messages_sum": 1},
        {"mark": Mark.QUEUED, "messages_sum": count * 27},
    ]
    assert held["first_offset"].to_pylist()[1:] == [0] * 3
    assert held["last_offset"].to_pylist()[1:] == [count] * 3


def test_a_whole_store_is_whole() -> None:
    account = account_of(WHOLE)
    assert (account.messages, account.is_whole, account.lost, account.knows_all) == ({"served": 60}, True, 0, True)
    assert account.said.text() == "60 served"


@pytest.mark.parametrize("most", [5, 1])
def test_more_runs_than_are_held_are_still_counted(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {name: content for name, content in WHOLE.items() if name != SEGMENTS[1]}
    expected = account_of(files).messages
    monkeypatch.setattr("native_reader.account.account._MOST", most)
    account = account_of(files)
    assert {state: count for state, count in account.messages.items() if count} == expected


def test_what_one_task_of_a_cluster_returns_has_a_bound() -> None:
    """A segment of lies can have a run for each record. Of each queue and state one is left, or one of each state."""
    runs = Runs()
    for number in range(40):
        mark = Mark.ENTRY if number % 2 else Mark.QUEUED
        runs.one(mark, (f"T{number % 4}", 0), numbers=(number * 9, number * 9 + 1), messages=1, size=100)
    table = pa.Table.from_batches([runs.batch()])
    assert at_most(table, 40) is table
    assert [len(at_most(table, most)) for most in (39, 8, 5)] == [4, 4, 2]
    for most in (39, 5):
        assert Account.of(joined(at_most(table, most).to_batches())).messages == {"served": 20, "lost": 20}


def test_a_queue_of_very_many_runs_takes_seconds() -> None:
    """Each took a look at all others."""
    runs, count = Runs(), 60_000
    for mark, numbers in ((Mark.QUEUED, np.arange(count) * 4), (Mark.ENTRY, np.arange(count) * 4 + 1)):
        runs.entries(mark, ("T", 0), Named(numbers, np.ones(count, np.int64), numbers * 100, np.full(count, 100)))
    runs.one(Mark.BYTES, size=count * 400, offsets=(0, count * 400))
    batch = runs.batch()
    assert batch is not None
    assert Account.of(joined([batch])).messages == {"served": count, "lost": count + 2 * (count - 1)}


def test_parts_that_are_read_in_parallel_are_one_account() -> None:
    files = {name: content for name, content in WHOLE.items() if name != SEGMENTS[1]}
    assert account_of(files, 3).table.equals(account_of(files).table)


RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)).map(lambda each: (each[0], sum(each))))


@given(RANGES, st.integers(0, 40), st.integers(1, 20))
def test_what_is_left_of_a_range(ranges: list[tuple[int, int]], start: int, length: int) -> None:
    taken = {number for begin, stop in ranges for number in range(begin, stop)}
    left = [number for begin, stop in without((start, start + length), merged(ranges)) for number in range(begin, stop)]
    assert left == [number for number in range(start, start + length) if number not in taken]


def test_it_says_each_state_with_its_number_and_names_the_message() -> None:
    placed = next(each for each in LOG.placed if each.segment == int(SEGMENTS[2][-20:]))
    content = bytearray(WHOLE[SEGMENTS[2]])
    content[placed.offset - placed.segment : placed.offset - placed.segment + placed.size] = bytes(placed.size)
    account = account_of(WHOLE | {SEGMENTS[2]: bytes(content)})
    assert account.messages == {"served": 59, "lost": 1}
    assert account.said.text() == "59 served, 1 lost"
    (row,) = account.faults.to_pylist()
    assert (row["topic"], row["first_queue_offset"], row["first_offset"]) == (
        placed.message.topic,
        placed.message.queue_offset,
        placed.offset,
    )
    assert row["bytes"] == placed.size


def test_lost_messages_with_other_tags_are_other_rows() -> None:
    runs, numbers = Runs(), np.arange(6)
    runs.entries(Mark.ENTRY, ("T", 0), Named(numbers, np.ones(6, np.int64), numbers * 100, np.full(6, 100), np.array([7, 7, 8, 8, 8, 7])))
    rows = Account.of(joined([runs.batch()])).table.to_pylist()
    assert [(row["messages"], row["tag_hash"]) for row in rows] == [(2, 7), (3, 8), (1, 7)]


@pytest.mark.parametrize("units", [1, 3])
def test_a_batch_counts_as_its_messages(units: int) -> None:
    body = pack_inner([InnerMessage(body=b"x")] * units)
    batches = [
        message(number, topic="T0", body=body, sys_flag=INNER_BATCH, properties=pack_properties({"INNER_NUM": str(units)}))
        for number in range(5)
    ]
    log = log_of(numbered(batches))
    settings = {TOPICS: b'{"topicConfigTable":{"T0":{"topicName":"T0","attributes":{"+queue.type":"BatchCQ"}}}}'}
    account = account_of(files_of(log) | dispatched(log.placed) | beside(log) | settings)
    assert account.messages == {"served": 5 * units}
    (row,) = account.table.to_pylist()
    assert (row["first_queue_offset"], row["last_queue_offset"]) == (0, 5 * units - 1)


def test_messages_after_a_queue_offset_by_state() -> None:
    """A segment is gone, one tag contradicts its entry, and one record is in no queue: its queue offset is 0."""
    runs = Runs()
    for mark, first, stop in (
        (Mark.QUEUED, 0, 10), (Mark.QUEUED, 10, 20), (Mark.QUEUED, 25, 40), (Mark.OTHER_TAG, 24, 25), (Mark.GAP, 20, 24),
        (Mark.NOT_DISPATCHED, 40, 42), (Mark.IN_NO_QUEUE, 0, 1), (Mark.EARLIER_TOPIC, 30, 50), (Mark.BEFORE_BEGIN, 0, 1),
        (Mark.GROUP_OFFSET, 42, 45),
    ):  # fmt: skip
        runs.one(mark, ("a", 1), numbers=(first, stop), messages=stop - first, offsets=(first, stop))
    runs.one(Mark.QUEUED, ("a", 0), numbers=(7, 9), messages=2, offsets=(0, 1))
    for _ in range(2):
        runs.one(Mark.QUEUED, ("b", 0), messages=2, offsets=(2, 3))
    runs.one(Mark.QUEUED, ("b", 0), numbers=(0, 3), messages=3, offsets=(4, 5))
    account = Account.of(joined([runs.batch()]))
    assert account.after("a", 1, 0) == {"served": 37, "doubtful": 1, "lost": 4, "at least": 3}
    assert account.after("a", 1, 22) == {"served": 17, "doubtful": 1, "lost": 2, "at least": 3}
    assert account.after("a", 1, 41) == {"served": 1, "at least": 3}
    assert account.after("a", 1, 45) == {}
    assert account.after("a", 0, 8) == {"served": 1}
    assert account.after("b", 0, 0) is None  # in no order
    assert account.after("c", 0, 0) is None
    ranges = [(row["first_queue_offset"], row["last_queue_offset"]) for row in account.table.to_pylist() if row["why"] == "queued"]
    assert ranges == [(7, 8), (0, 19), (25, 39), (None, None), (0, 2)]
    assert [row["messages"] for row in account.table.to_pylist() if row["topic"] == "b"] == [4, 3]


def test_what_is_checked_in_several_parts_is_one_row() -> None:
    """The account had a row for each part of the log that had messages of a queue without entries."""
    runs = Runs()
    for first, stop in ((0, 5), (5, 9), (9, 12), (20, 21)):
        runs.one(Mark.NO_ENTRY, ("T", 0), numbers=(first, stop), messages=stop - first, size=100, offsets=(first * 50, stop * 50))
    rows = Account.of(joined([runs.batch()])).table.to_pylist()
    found = [(row["state"], row["messages"], row["bytes"], row["first_queue_offset"], row["last_queue_offset"]) for row in rows]
    assert found == [("unreachable", 12, 300, 0, 11), ("unreachable", 1, 100, 20, 20)]
    assert [(row["first_offset"], row["last_offset"]) for row in rows] == [(0, 600), (1000, 1050)]
