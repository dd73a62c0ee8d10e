"""Flip every bit of a small store's queue files, cut and swap them everywhere: with one exception, the rows stay the same."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

import pytest
from support.effort import WHOLE, at_effort
from support.pruning import AccessRead, bytes_read
from support.queued_stores import dispatched, numbered
from support.stores import Files

from native_reader.predicate.tree import And, Column, Compare, Not, Predicate
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import INNER_BATCH, PREPARED, InnerMessage, Message, pack_inner, pack_properties

pytestmark = pytest.mark.usefixtures("queues_always_used")
TOPIC, TAGS = Column("topic"), Column("tags")
PREDICATES: tuple[Predicate, ...] = (
    Compare(TOPIC, "=", "topic-a"),
    Compare(TOPIC, "=", "deleted"),
    And((Compare(TOPIC, "=", "topic-a"), Compare(TAGS, "=", "paid"))),
    Not(Compare(TAGS, "=", "paid")),
    Not(Compare(TOPIC, "=", "topic-b")),
    And((Compare(TOPIC, "=", "remade."), Compare(Column("queue_offset"), "<", 2))),
    Compare(Column("kind"), "=", "prepared"),
)


def small_store() -> Files:
    """Four segments of records of one size, so that a flipped bit of an offset can lead exactly to another record."""
    random = Random(3)
    topics = ["topic-a"] * 8 + ["topic-b"] * 8 + ["deleted"] * 5 + ["remade."] * 6 + ["batched"] * 5
    random.shuffle(topics)
    messages = []
    for number, topic in enumerate(topics):
        properties = pack_properties([("TAGS", ("paid", "sent")[number // 2 % 2]), ("KEYS", f"k{number:03}")])
        message = Message(topic=topic, queue_id=number % 2, body=b"x" * 40, properties=properties)
        if topic == "batched":
            message = replace(message, body=pack_inner([InnerMessage(b"1"), InnerMessage(b"2")]), sys_flag=INNER_BATCH)
        elif number % 11 == 5:
            message = replace(message, sys_flag=PREPARED)
        messages.append(message)
    half = len(messages) // 2
    later = iter(numbered(message for message in messages[half:] if message.topic == "remade."))
    first = numbered(messages)
    messages = [next(later) if number >= half and message.topic == "remade." else message for number, message in enumerate(first)]
    log = CommitLog(2048)
    for number, message in enumerate(messages):
        if number == half:
            recreated_at = log.end
        log.append(message)
    side = dispatched(log.placed, deleted=["deleted"], recreated_at={"remade.": recreated_at}, until=log.placed[-2].offset)
    return {f"store/commitlog/{name}": content for name, content in log.files().items()} | side


FILES = small_store()
QUEUES = sorted(name for name in FILES if "consumequeue" in name)


def used(name: str) -> int:
    """Where the entries end. The rest is unwritten; the test includes one entry of it."""
    width = 46 if "batch" in name else 20
    return min(len(FILES[name]), len(FILES[name].rstrip(b"\0")) // width * width + 2 * width)


class Case(NamedTuple):
    """Changed files, and which of the conditions they are read with."""

    what: str
    files: Files
    asked: Sequence[int] = range(len(PREDICATES))


def flips() -> Iterator[Case]:
    """Each bit is read with four of the conditions, and so each byte with all of them: any read asks for all queues."""
    for name in QUEUES:
        for bit in range(8 * used(name)):
            content = bytearray(FILES[name])
            content[bit // 8] ^= 1 << bit % 8
            in_hash = "batch" not in name and bit // 8 % 20 >= 12
            asked = [(bit + each) % len(PREDICATES) for each in range(4)]
            yield Case(f"{name} bit {bit}{' of a hash' if in_hash else ''}", FILES | {name: bytes(content)}, asked)


def cuts() -> Iterator[Case]:
    for name in QUEUES:
        yield Case(f"{name} gone", {each: content for each, content in FILES.items() if each != name})
        for size in range(used(name)):
            yield Case(f"{name} cut at {size}", FILES | {name: FILES[name][:size]})
        for begin in range(0, used(name), 20):
            yield Case(f"{name} zeros at {begin}", FILES | {name: FILES[name][:begin] + bytes(20) + FILES[name][begin + 20 :]})
    for topic in {name.rsplit("/", 2)[0] for name in QUEUES}:
        yield Case(f"{topic} gone", {each: content for each, content in FILES.items() if not each.startswith(f"{topic}/")})
    for one, other in itertools.combinations(QUEUES, 2):
        yield Case(f"{one} and {other} swapped", FILES | {one: FILES[other], other: FILES[one]})


SHARDS = 4 if WHOLE else 1
TRUTH = [AccessRead(FILES, predicate, "scan").rows for predicate in PREDICATES]


def check(cases: list[Case]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for number, (what, files, asked) in enumerate(cases):
        predicate, truth = PREDICATES[number % len(PREDICATES)], TRUTH[number % len(PREDICATES)]
        assert AccessRead(files, predicate, "trust").rows <= truth, (what, str(predicate))
        for predicate, truth in ((PREDICATES[each], TRUTH[each]) for each in asked):
            auto = AccessRead(files, predicate, "auto")
            counts["cases"] += 1
            counts["scanned after all"] += bool(auto.run.report.scanned)
            if auto.rows != truth:
                assert auto.rows <= truth, (what, str(predicate))
                assert what.endswith("of a hash"), (what, str(predicate))
                assert TAGS in predicate.columns(), (what, str(predicate))
                counts["rows hidden by a changed hash"] += 1
    return counts


@pytest.mark.sweep
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_bit_of_the_queues(shard: int) -> None:
    cases = list(flips())
    counts = check(Random(1).sample(cases, len(cases) // at_effort(300, 1))[shard::SHARDS])
    assert counts["scanned after all"] < counts["cases"]
    assert not WHOLE or counts["rows hidden by a changed hash"] > 0


@pytest.mark.sweep
def test_every_cut_and_swap_of_the_queues() -> None:
    cases = list(cuts())
    counts = check(Random(1).sample(cases, len(cases) // at_effort(50, 1)))
    assert counts["scanned after all"] < counts["cases"]
    assert counts["rows hidden by a changed hash"] == 0


@pytest.mark.parametrize("access", ["auto", "trust"])
def test_any_read_asks_for_all_queues(access: str) -> None:
    """So no bit can be left out for a condition, but a bit needs only some conditions if its byte has all."""
    everything = {(name, byte) for name in QUEUES for byte in range(used(name))}
    assert all(everything <= bytes_read(FILES, QUEUES, predicate, access) for predicate in PREDICATES)


def test_in_this_store_a_flipped_bit_can_lead_to_another_record() -> None:
    table = AccessRead(FILES, And(()), "scan").rows
    places = {place for place, _ in table}
    assert sum(place ^ 1 << bit in places for place in places for bit in range(16)) > 10


def test_in_this_store_a_changed_hash_can_hide_a_row() -> None:
    """Not the hash of a file's first or last entry, which are checked. The sweep's store once had no others."""
    (name,) = (name for name in QUEUES if name.endswith("consumequeue/topic-a/0/" + "0" * 20))
    changed = bytes(byte ^ (place == 39) for place, byte in enumerate(FILES[name]))  # the last byte of the second entry
    rows, truth = AccessRead(FILES | {name: changed}, PREDICATES[2], "auto").rows, TRUTH[2]
    assert rows <= truth
    assert len(rows) == len(truth) - 1
