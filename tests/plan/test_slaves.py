"""Stores of slaves: ordinary queues for topics with inner batches, and queues that outlive their topic."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.indexed_stores import indexed
from support.pruning import AccessRead
from support.queued_stores import dispatched, numbered
from support.slaves import slave
from support.stores import Files, files_of, in_memory, log_of, message

from native_reader.broker.settings import Topics
from native_reader.predicate.tree import And, ArrayContains, Column, Compare, Not, Predicate

pytestmark = pytest.mark.usefixtures("queues_always_used", "small_parts_pruned")
HERE, T1 = Compare(Column("topic"), "=", "batched"), Compare(Column("topic"), "=", "T1")


def configuration(**topics: str) -> Files:
    table = {name: {"topicName": name, "attributes": {"queue.type": kind} if kind else {}} for name, kind in topics.items()}
    return {"store/config/topics.json": json.dumps({"topicConfigTable": table}, indent="\t").encode()}


def agree(files: Files, *predicates: Predicate, rows: int | None = None) -> list[AccessRead]:
    found = []
    for predicate in predicates:
        scanned, auto, trust = (AccessRead(files, predicate, access) for access in ("scan", "auto", "trust"))
        assert auto.rows == scanned.rows, str(predicate)
        assert trust.rows <= scanned.rows, str(predicate)
        assert rows is None or scanned.rows.total() == rows
        found.append(auto)
    return found


BY_KEY = (
    And((HERE, ArrayContains(Column("keys"), "i2-1"))),
    And((HERE, Compare(Column("uniq_key"), "=", "I2.1"))),
    ArrayContains(Column("keys"), "i2-1"),
    Compare(Column("msg_id"), "=", "I2.1"),
)


@pytest.mark.parametrize(
    "known",
    [
        pytest.param({}, id="no configuration"),
        pytest.param(configuration(T0="", T1=""), id="it does not name the topic"),
        pytest.param(configuration(T0="", batched="BatchCQ"), id="it says BatchCQ"),
        pytest.param({"store/config/topics.json": b"", **configuration(T0="")}, id="an old one"),
    ],
)
@pytest.mark.parametrize("counts", [(3, 1, 2, 4), (0, 0, 2), (3, 0, 2, 0)])
def test_a_key_finds_a_message_in_a_batch(known: Files, counts: tuple[int, ...]) -> None:
    agree(slave(*counts) | known, *BY_KEY, rows=1)


def test_a_key_finds_a_batch_of_one_message_if_the_configuration_names_batches() -> None:
    """Each record has the queue offset of its entry, and the newest one is a plain message."""
    files = slave(0, 0, 1, 0) | configuration(batched="BatchCQ")
    agree(files, And((HERE, ArrayContains(Column("keys"), "i2-0"))), And((HERE, Compare(Column("tags"), "=", "tag0"))))


@pytest.mark.parametrize("counts", [(7,), (3, 1, 2, 4), (0, 0, 2), (3, 0, 2, 0)])
def test_messages_in_batches_are_found_by_queue_offset_and_tag(counts: tuple[int, ...]) -> None:
    by_number = [And((HERE, Compare(Column("queue_offset"), "=", number))) for number in range(8)]
    by_tag = [And((HERE, Compare(Column("tags"), "=", f"tag{unit}"))) for unit in range(4)]
    agree(slave(*counts), *by_number, *by_tag, HERE, Not(HERE), T1)


def test_a_topic_without_batches_is_not_read_for_a_key() -> None:
    files = slave(3, 1, 2)
    for known in ({}, configuration(T1="", batched="BatchCQ"), configuration(T1="", batched="")):
        (looked,) = agree(files | known, And((T1, ArrayContains(Column("keys"), "k4"))), rows=1)
        (lookup,) = (found for _, found in looked.plan.lookups)
        assert lookup.is_sufficient
        assert not lookup.batches


def test_a_topic_that_was_deleted_and_created_again_on_the_master() -> None:
    """The slave's queue keeps its old entries, and gets none for new records before its old end. Here it has 2 of 7."""
    first = numbered(message(number) for number in range(15))
    again = numbered(message(number) for number in range(15, 36))
    log = log_of([*first, *again], segment_size=8192)
    queued = dispatched(each for number, each in enumerate(log.placed) if number < 15 or each.message.queue_offset >= 5)
    old = dispatched(log.placed[:15])
    assert all(queued[name][:100] == content[:100] for name, content in old.items())
    files = files_of(log) | queued | indexed(log.placed)
    by_number = [And((T1, Compare(Column("queue_offset"), "=", number))) for number in range(8)]
    agree(files, T1, Not(T1), And((T1, Compare(Column("tags"), "=", "tag1"))), *by_number)
    agree(files, *(And((T1, ArrayContains(Column("keys"), f"k{number}"))) for number in (1, 16, 34)), rows=1)
    # The old records have expired, but the queue still names them.
    log = log_of([*(replace(each, body=b"x" * 80) for each in first), *again], segment_size=4096)
    queued = dispatched(each for number, each in enumerate(log.placed) if number < 15 or each.message.queue_offset >= 5)
    kept = {name: content for name, content in files_of(log).items() if not name.endswith(f"{0:020}")}
    assert kept
    agree(kept | queued, T1, Not(T1), *by_number)


TABLE = (
    b'{"dataVersion":{"counter":1},"topicConfigTable":{"a":{"attributes":{"queue.type":"BatchCQ"},"topicName":"a"},"b":{"topicName":"b"}}}'
)


@pytest.mark.parametrize(
    ("files", "names", "of_batches"),
    [
        ({}, [], []),
        ({"topics.json": TABLE}, ["a", "b"], ["a"]),
        # fastjson writes keys that are numbers without quotes, here with white space, and digits in texts stay as they are.
        ({"topics.json": TABLE.replace(b'"counter":1', b'7 :1, -2\n: "3:4, 5: \\" 6:"')}, ["a", "b"], ["a"]),
        # A crash truncated the file, or it was just created: the backup counts.
        ({"topics.json": TABLE[:90], "topics.json.bak": TABLE}, ["a", "b"], ["a"]),
        ({"topics.json": b"", "topics.json.bak": TABLE}, ["a", "b"], ["a"]),
        ({"topics.json.bak": TABLE}, ["a", "b"], ["a"]),
        ({"topics.json": TABLE.replace(b"BatchCQ", b"SimpleCQ"), "topics.json.bak": TABLE}, ["a", "b"], []),
        ({"topics.json": b'{"topicConfigTable":{"a":{"attributes":["queue.type","BatchCQ"]},"b":7}}'}, ["a", "b"], []),
        ({"topics.json": b'"' + b'\\"' * 100_000}, [], []),
    ],
)
def test_topics_in_a_configuration(files: Files, names: list[str], of_batches: list[str]) -> None:
    memory = in_memory({f"store/config/{name}": content for name, content in files.items()})
    topics = Topics(f"{memory.url}/store/config")
    assert topics.names() == names
    assert sorted(topics.of_batches()) == of_batches
    assert [topics.has(name) for name in ("b", "queue.type", "a.*", "")] == [
        b'"topicName":"b"' in files.get("topics.json", b""),
        False,
        False,
        False,
    ]
