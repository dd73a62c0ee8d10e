"""Lookups by key and id: an index never changes the rows."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import at_effort, sampled
from support.indexed_stores import changed_indexes, indexed, rolled_back_unnamed
from support.pruning import AccessRead, selective
from support.queued_stores import TOPICS, changed_queues, dispatched, queued_stores
from support.stores import Files, files_of, in_memory, log_of, message
from support.tune import Tune

import native_reader as nr
from native_reader.predicate.tree import And, ArrayContains, Column, Compare, In, Not, Or, Predicate
from native_reader.testing.records import pack_properties

pytestmark = pytest.mark.usefixtures("queues_always_used", "small_parts_pruned")


@st.composite
def keyed(draw: st.DrawFn) -> Predicate:
    """Conditions on keys, usual and unusual ones."""
    number = st.integers(0, 39)

    def leaf() -> st.SearchStrategy[Predicate]:
        words, unique = Column("keys"), Column("uniq_key")
        return st.one_of(
            number.map(lambda key: ArrayContains(words, f"k{key}")),
            number.map(lambda key: ArrayContains(words, f"k{key}")),
            number.map(lambda key: ArrayContains(words, f"i{key}")),
            st.just(ArrayContains(words, "all")),
            number.map(lambda key: Compare(unique, "=", f"U{key:04}")),
            number.map(lambda key: Compare(Column("msg_id"), "=", f"U{key:04}")),
            number.map(lambda key: Compare(Column("msg_id"), "=", f"I{key}.0")),
            number.map(lambda key: Compare(Column("properties", "UNIQ_KEY"), "=", f"U{key:04}")),
            number.map(lambda key: Compare(Column("properties", "KEYS"), "=", f"k{key} all")),
            st.lists(number, min_size=1, max_size=3).map(lambda some: In(unique, tuple(f"U{key:04}" for key in some))),
            st.integers(0, 9000).map(lambda offset: Compare(Column("offset_msg_id"), "=", f"7F00000100002A9F{offset:016X}")),
            st.just(ArrayContains(words, "no such key")),
        )

    one = draw(leaf())
    topic = st.sampled_from([*TOPICS, "batched", "SCHEDULE_TOPIC_XXXX", "gone"]).map(lambda name: Compare(Column("topic"), "=", name))
    shape = draw(st.sampled_from(["alone", "topic", "topic", "topic", "more", "or", "or more", "not", "not and", "topics"]))
    match shape:
        case "topic":
            return And((draw(topic), one))
        case "more":
            return And((one, draw(selective())))
        case "or":
            return And((draw(topic), Or((one, draw(leaf())))))
        case "or more":
            return Or((And((draw(topic), one)), And((draw(topic), draw(leaf())))))
        case "not":
            return Not(one)
        case "not and":
            return And((draw(leaf()), Not(one)))
        case "topics":
            return And((In(Column("topic"), (draw(st.sampled_from(TOPICS)), draw(st.sampled_from(TOPICS)))), one))
    return one


def compare(files: Files, predicate: Predicate, most: int, *, wrong_queues: bool = False) -> AccessRead:
    """All access paths give the same rows. Except rolled back ones of 4.0 to 4.2, if the prepared one is not indexed.

    Two wrong entries of queues can confirm each other after the end of the log: not an error here.
    """
    paths = ("scan", "auto", "trust")
    scanned, auto, trust = (AccessRead(files, predicate, access, most, fail_on_data_loss=not wrong_queues) for access in paths)
    assert trust.rows <= scanned.rows, str(predicate)
    if auto.rows != scanned.rows:
        assert auto.rows <= scanned.rows, str(predicate)
        assert {place for place, _ in scanned.rows - auto.rows} <= rolled_back_unnamed(files, auto.plan), str(predicate)
    return auto


@pytest.mark.gate
@pytest.mark.sweep
def test_an_index_changes_no_rows_whatever_it_covers():
    seen: Counter[str] = Counter()

    @sampled(400)
    @given(st.data())
    def an_index_changes_nothing(data: st.DataObject) -> None:
        files = data.draw(queued_stores(index=True))
        for _ in range(3):
            predicate = data.draw(keyed())
            auto = compare(files, predicate, data.draw(st.sampled_from([1 << 20, 1 << 20, 500])))
            (lookup,) = (found for _, found in auto.plan.lookups)
            seen.update(
                {
                    "cases": 1,
                    "rows": bool(auto.rows),
                    "complete": lookup.is_sufficient,
                    "not all covered": bool(lookup.files and lookup.uncovered),
                    "unknown topics": lookup.unknown_topics,
                    "batches": bool(lookup.batches),
                    "no queue": bool(lookup.without_queues),
                    "no index": not lookup.files,
                    "prepared": bool(lookup.prepared),
                }
            )
            if any(name.startswith("store/index/") for name in files):
                assert not [why for why in lookup.why if "none of its records" not in why.text()], lookup.why

    an_index_changes_nothing()
    for what in ("rows", "complete", "not all covered", "unknown topics", "no queue", "no index"):
        assert seen[what] >= at_effort(0.02, 0.05) * seen["cases"], seen


@pytest.mark.sweep
@sampled(400)
@given(st.data())
def test_a_wrong_index_changes_no_rows(data):
    files = data.draw(changed_indexes(data.draw(queued_stores(index=True))))
    for _ in range(3):
        compare(files, data.draw(keyed()), data.draw(st.sampled_from([1 << 20, 1 << 20, 500])))


@pytest.mark.sweep
@sampled(200)
@given(st.data())
def test_wrong_queues_and_a_wrong_index_change_no_rows(data):
    files = data.draw(changed_queues(data.draw(changed_indexes(data.draw(queued_stores(index=True))))))
    for _ in range(2):
        compare(files, data.draw(keyed()), data.draw(st.sampled_from([1 << 20, 1 << 20, 500])), wrong_queues=True)


def test_an_id_without_a_valid_offset_is_looked_up_only_as_a_key() -> None:
    """Unique keys have the form of offset ids. As an offset id, this one would have a negative offset."""
    unique = "0A014917770D3AA694FA16514EA25FC5"
    log = log_of(message(number, properties=pack_properties({"UNIQ_KEY": unique if number == 7 else f"U{number}"})) for number in range(20))
    memory = in_memory(files_of(log) | dispatched(log.placed) | indexed(log.placed))
    scan = nr.open(memory.url).messages(topic="T1", msg_id=unique)
    assert scan.count_rows() == 1
    assert scan.plan().lookups[0][1].is_sufficient
    assert sum(split.written for split in scan.plan().splits) < 300
    assert nr.open(memory.url).messages(where=f"offset_msg_id = '{unique}'").plan().splits == ()
    place = nr.open(memory.url).messages(columns="offset_msg_id").to_table()["offset_msg_id"][7].as_py()
    for options, rows in (
        ({"msg_id": place.lower()}, 1),
        ({"where": f"offset_msg_id = '{place}'"}, 1),
        ({"where": f"msg_id = '{place}'"}, 0),
    ):
        found = nr.open(memory.url).messages(**options, topic="T1")
        assert found.count_rows() == rows
        assert sum(split.written for split in found.plan().splits) < 300


@pytest.mark.parametrize("where", ["topic = 'T�'", "topic IN ('T�', 'T1')"])
def test_a_key_in_a_topic_that_is_not_utf8_was_not_found(where: str) -> None:
    """A damaged byte of a topic is shown as U+FFFD. Such a name has no hash, so no index has its keys."""
    messages = [message(number, topic=b"T\xff" if number == 7 else f"T{number % 3}") for number in range(40)]
    log = log_of(messages)
    named = [placed for placed in log.placed if placed.message.topic != b"T\xff"]
    memory = in_memory(files_of(log) | dispatched(named) | indexed(named))
    rows = {}
    for access in ("scan", "auto"):
        scan = nr.open(memory.url).messages(access=access, where=f"({where}) AND array_contains(keys, 'all')", columns="physical_offset")
        rows[access] = sorted(scan.to_table()["physical_offset"].to_pylist())
    assert rows["auto"] == rows["scan"]
    assert log.placed[7].offset in rows["auto"]


@pytest.mark.parametrize("access", ["auto", "trust"])
def test_keys_for_which_too_many_hashes_would_be_made_are_searched_in_the_log(
    access: str, monkeypatch: pytest.MonkeyPatch, tune: Tune
) -> None:
    """A key without a topic has a hash for each topic: of a thousand keys in 20,000 topics, 20 million were made and held."""
    log = log_of(message(number, topic=f"T{number % 5}", properties=pack_properties({"KEYS": f"k{number}"})) for number in range(40))
    memory = in_memory(files_of(log) | dispatched(log.placed) | indexed(log.placed))
    keys = [f"k{number}" for number in range(10, 410)]

    def found(**options: str) -> tuple[list[int], bool]:
        scan = nr.open(memory.url).messages(keys=keys, access=access, columns="physical_offset", **options)
        return sorted(scan.to_table()["physical_offset"].to_pylist()), scan.plan().lookups[0][1].files > 0

    def refused(*_: object) -> int:
        raise AssertionError("a hash was made")

    expected = [placed.offset for placed in log.placed[10:]]
    assert found(topic="T1") == (expected[1::5], True)
    tune(hash_costs=0)
    assert found() == (expected, True)
    tune(hash_costs=32 << 10)
    monkeypatch.setattr("native_reader.plan.keys.key_hash", refused)
    assert found() == (expected, False)
