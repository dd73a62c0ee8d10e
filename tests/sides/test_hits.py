"""The records that an index names: each is read, and more records may follow a prepared one."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest
from support.indexed_stores import ENTRIES, SLOTS, indexed
from support.pruning import AccessRead
from support.queued_stores import dispatched, numbered, with_transactions
from support.stores import Files, files_of, in_memory, log_of, message
from support.tune import Tune

import native_reader as nr
from native_reader.plan.keys import KeyLookup
from native_reader.predicate.tree import And, ArrayContains, Column, Compare, Not, Or, Predicate
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import COMMIT, PREPARED, ROLLBACK, pack_properties

pytestmark = pytest.mark.usefixtures("queues_always_used", "small_parts_pruned")
T1, T2 = Compare(Column("topic"), "=", "T1"), Compare(Column("topic"), "=", "T2")
_ENTRIES_AT = 40 + 4 * SLOTS


def lookup_of(looked: AccessRead) -> KeyLookup:
    ((_, found),) = looked.plan.lookups
    return found


def both(files: Files, predicate: Predicate) -> tuple[AccessRead, AccessRead]:
    scanned, auto, trust = (AccessRead(files, predicate, access) for access in ("scan", "auto", "trust"))
    assert auto.rows == scanned.rows, str(predicate)
    assert trust.rows <= scanned.rows, str(predicate)
    return scanned, auto


# Transactions of brokers 4.0 to 4.2


def with_ends(ends: dict[int, int], segment_size: int = 2048) -> tuple[CommitLog, Files]:
    """Sixty messages, some of which end a prepared one: number of the end → number of the prepared one. Odd ends are rollbacks."""
    state = {**dict.fromkeys(ends.values(), PREPARED), **{end: ROLLBACK if end % 2 else COMMIT for end in ends}}
    messages = [message(number, sys_flag=state.get(number, 0)) for number in range(60)]
    begun = sorted(ends.values())
    order = iter([begun.index(prepared) for prepared in (ends[end] for end in sorted(ends))])
    log = log_of(numbered(with_transactions(messages, lambda some: min(next(order), len(some) - 1))), segment_size)
    return log, files_of(log) | dispatched(log.placed, file=4000) | indexed(log.placed)


@pytest.mark.parametrize("end", [5, 6, 30, 31, 59, 58])
def test_a_key_finds_the_whole_transaction(end: int) -> None:
    """An index names the prepared message and the committed one, but not the rolled back one."""
    log, files = with_ends({end: 4})
    for condition in (
        ArrayContains(Column("keys"), "k4"),
        Compare(Column("uniq_key"), "=", "U0004"),
        Compare(Column("msg_id"), "=", "U0004"),
    ):
        for predicate in (And((T1, condition)), condition, And((Or((T1, T2)), condition)), And((T2, condition))):
            scanned, _ = both(files, predicate)
            assert scanned.rows == ({} if T2 in getattr(predicate, "parts", ()) else {(log.placed[at].offset, None): 1 for at in (4, end)})
    assert lookup_of(AccessRead(files, And((T1, ArrayContains(Column("keys"), "k4"))), "auto")).prepared == (("T1", log.placed[4].offset),)
    both(files, And((T1, Not(ArrayContains(Column("keys"), "k4")))))


def test_only_the_topic_and_uncovered_ranges_are_read_after_a_prepared_message() -> None:
    log, files = with_ends({51: 4}, segment_size=16384)
    _, auto = both(files, And((T1, ArrayContains(Column("keys"), "k4"))))
    assert auto.ways == {"auto", "scan"}
    mine = sum(placed.size for placed in log.placed if placed.message.topic == "T1")
    assert auto.run.report.segments[0].record_bytes < mine + 500
    memory = in_memory(files)
    text = str(nr.open(memory.url).messages(topic="T1", keys="k4").explain())
    line, more = text.split("a prepared message at offset ")[1].splitlines()[:2]
    assert line.startswith(f"{log.placed[4].offset:,}: brokers 4.0 to 4.2 do not index its rollback, so later records of")
    assert more.strip() == "'T1' and bytes in no consume queue are read; access=trust skips them"


def test_keys_without_a_prepared_message_are_looked_up_as_before() -> None:
    _, files = with_ends({51: 4})
    _, auto = both(files, And((T1, ArrayContains(Column("keys"), "k7"))))
    assert lookup_of(auto).is_sufficient
    assert not lookup_of(auto).prepared


def test_two_prepared_messages_with_one_key_in_two_topics() -> None:
    messages = [
        replace(message(number), properties=pack_properties({"KEYS": "same" if number in (4, 8, 31, 37) else "x"})) for number in range(60)
    ]
    state = {4: PREPARED, 8: PREPARED, 31: ROLLBACK, 37: ROLLBACK}
    messages = [
        replace(each, sys_flag=state.get(number, 0), topic=f"T{number % 3 if number < 30 else 1 + number // 37}")
        for number, each in enumerate(messages)
    ]
    log = log_of(numbered(messages))
    files = files_of(log) | dispatched(log.placed, file=4000) | indexed(log.placed)
    same = ArrayContains(Column("keys"), "same")
    for predicate in (same, And((T1, same)), And((T2, same)), And((Or((T1, T2)), same))):
        both(files, predicate)
    found = lookup_of(AccessRead(files, And((Or((T1, T2)), same)), "auto"))
    assert found.prepared == (("T1", log.placed[4].offset), ("T2", log.placed[8].offset))


# Hits with access=trust


def store() -> tuple[CommitLog, Files]:
    log = log_of(numbered(map(message, range(60))))
    return log, files_of(log) | dispatched(log.placed, file=4000) | indexed(log.placed)


def moved(files: Files, to: int, which: int, count: int = 1) -> Files:
    """The entries of some records, in which the offset `which` is replaced by another."""
    changed = dict(files)
    for name in [name for name in files if name.startswith("store/index/")]:
        content = bytearray(files[name])
        for place in range(_ENTRIES_AT, _ENTRIES_AT + 20 * ENTRIES, 20):
            if struct.unpack_from(">q", content, place + 4)[0] == which:
                struct.pack_into(">q", content, place + 4, to)
        changed[name] = bytes(content)
    return changed


ALL = And((T1, ArrayContains(Column("keys"), "all")))


@pytest.mark.parametrize("access", ["auto", "trust"])
@pytest.mark.parametrize("by", [0, 1, -1, 40, 150])
def test_each_hit_is_a_record_that_has_the_key(access: str, by: int) -> None:
    log, files = store()
    mine = [placed.offset for placed in log.placed if placed.message.topic == "T1"]
    looked = AccessRead(moved(files, mine[7] + by, mine[7]), ALL, access)
    hits = lookup_of(looked).hits
    assert hits
    assert set(hits) <= set(mine)
    if access == "trust":
        assert set(mine) - set(hits) == ({mine[7]} if by else set())
        assert {place for place, _ in looked.rows} == set(hits)


@pytest.mark.parametrize("access", ["auto", "trust"])
def test_a_hit_must_be_a_record_of_the_key(access: str) -> None:
    log, files = store()
    looked = AccessRead(moved(files, log.placed[32].offset, log.placed[31].offset), And((T1, ArrayContains(Column("keys"), "k31"))), access)
    assert lookup_of(looked).hits == ()
    assert looked.rows.total() == (access == "auto")


def test_too_many_hits_are_not_read_for_a_plan_but_by_the_scan(tune: Tune) -> None:
    _, files = store()
    tune(most_hits=19)
    looked = AccessRead(files, ALL, "trust")
    assert lookup_of(looked).hits == ()
    assert looked.rows.total() == 20


@pytest.mark.parametrize("access", ["auto", "trust"])
def test_a_hit_in_a_segment_that_is_missing_is_a_loss(access: str) -> None:
    log, files = store()
    lost = f"store/commitlog/{log.placed[31].segment:020}"
    memory = in_memory({name: content for name, content in files.items() if name != lost})
    with pytest.raises(nr.DataLoss, match="are in no file"):
        nr.open(memory.url).messages(topic="T1", keys="k31", access=access).plan()


@pytest.mark.parametrize("access", ["auto", "trust"])
def test_a_hit_whose_record_is_too_large_is_reported(access: str) -> None:
    _, files = store()
    memory = in_memory(files)
    with pytest.raises(nr.StoreError, match="max_record_bytes"):
        nr.open(memory.url).messages(topic="T1", keys="k31", access=access, max_record_bytes=100).to_table()


@pytest.mark.parametrize("access", ["auto", "trust"])
def test_a_hit_whose_record_is_damaged_is_reported(access: str) -> None:
    log, files = store()
    placed = log.placed[31]
    name = f"store/commitlog/{placed.segment:020}"
    content = bytearray(files[name])
    content[placed.offset - placed.segment + 3] ^= 1  # its size
    memory = in_memory({**files, name: bytes(content)})
    asked = {"topic": "T1", "keys": "k31", "access": access}
    with pytest.raises(nr.StoreDamaged, match=f"at offset {placed.offset:,}"):
        nr.open(memory.url).messages(**asked).to_table()
    run = nr.open(memory.url).messages(**asked, mode="DROPMALFORMED").run()
    assert sum(len(batch) for batch in run) == 0
    assert [damage.start for damage in run.report.damage] == [placed.offset]


def test_the_offsets_of_hits_ascend_without_duplicates() -> None:
    twice = [message(number, topic="T1", properties=pack_properties({"KEYS": "a b a  c", "UNIQ_KEY": "a"})) for number in range(30)]
    log = log_of(numbered(twice))
    files = files_of(log) | dispatched(log.placed) | indexed(log.placed)
    for access in ("auto", "trust"):
        hits = lookup_of(AccessRead(files, And((T1, ArrayContains(Column("keys"), "a"))), access)).hits
        assert (np.diff(hits) > 0).all()
        assert len(hits) == 30


@pytest.mark.parametrize("begun", [False, True])
def test_index_files_after_the_last_row_are_not_searched(begun: bool) -> None:
    """Those before the first row are: a prepared message in them matters for what follows."""
    log = log_of(message(number) for number in range(200))
    files = files_of(log) | dispatched(log.placed, file=4000) | indexed(log.placed)
    offset = Column("physical_offset")
    third = log.placed[20].offset
    before = And((ArrayContains(Column("keys"), "k4"), Compare(offset, "<", third), *([Compare(offset, ">", 100)] if begun else [])))
    _, few = both(files, before)
    _, every = both(files, ArrayContains(Column("keys"), "k4"))
    assert sum(few.rows.values()) == 1
    assert lookup_of(few).files < lookup_of(every).files / 2
    assert all(start < third for start, _ in lookup_of(few).uncovered)  # what was left out need not be searched in other ways
