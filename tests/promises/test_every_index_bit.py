"""Flip every bit of a small store's index files, cut them everywhere, delete each: with one exception, the rows stay the same.

A read that does not ask for a byte cannot be changed by its bits: a flipped bit is read with the conditions that ask for its byte,
and one in fifty with all of them.
"""

from __future__ import annotations

import itertools
import struct
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import pytest
from support.effort import WHOLE, at_effort
from support.indexed_stores import ENTRIES, SLOTS, indexed, pointer
from support.pruning import AccessRead, bytes_read
from support.queued_stores import dispatched, numbered
from support.stores import Files

from native_reader.predicate.tree import And, ArrayContains, Column, Compare, Not, Or, Predicate
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import Message, pack_properties

pytestmark = pytest.mark.usefixtures("queues_always_used", "small_parts_pruned")
TOPIC, KEYS, UNIQUE = Column("topic"), Column("keys"), Column("uniq_key")
PREDICATES: tuple[Predicate, ...] = (
    And((Compare(TOPIC, "=", "topic-a"), ArrayContains(KEYS, "k08"))),
    And((Compare(TOPIC, "=", "topic-a"), ArrayContains(KEYS, "often"))),
    And((Compare(TOPIC, "=", "topic-b"), ArrayContains(KEYS, "often"))),
    And((Compare(TOPIC, "=", "deleted"), Or((Compare(UNIQUE, "=", "U05"), ArrayContains(KEYS, "k11"))))),
    Compare(Column("msg_id"), "=", "U10"),
    And((Compare(TOPIC, "=", "topic-b"), Not(ArrayContains(KEYS, "often")))),
)


def small_store() -> Files:
    """Four segments of records of one size, and index files that end within a record."""
    messages = []
    for number, letter in enumerate("abdbadadabadab"):
        topic = {"a": "topic-a", "b": "topic-b", "d": "deleted"}[letter]
        keys = f"k{number:02} {'often' if number % 3 == 0 else 'other'}"
        properties = pack_properties([("TAGS", "paid"), ("KEYS", keys), ("UNIQ_KEY", f"U{number:02}")])
        messages.append(Message(topic=topic, body=b"x" * 30, properties=properties, store_timestamp=1_700_000_000_000 + number * 900))
    log = CommitLog(800)
    for message in numbered(messages):
        log.append(message)
    side = dispatched(log.placed, deleted=["deleted"]) | indexed(log.placed, tags=True)
    return {f"store/commitlog/{name}": content for name, content in log.files().items()} | side


FILES = small_store()
INDEXES = sorted(name for name in FILES if name.startswith("store/index/"))
_SLOTS_AT, _ENTRIES_AT = 40, 40 + 4 * SLOTS


def is_lie(before: bytes, after: bytes, byte: int) -> bool:
    """Whether a flipped pointer became 0, or leads to an entry of its own chain. Only the log itself shows that."""
    if not pointer(byte):
        return False
    begin = byte // 4 * 4 if byte < _ENTRIES_AT else _ENTRIES_AT + (byte - _ENTRIES_AT) // 20 * 20 + 16
    (leads_to,) = struct.unpack_from(">i", after, begin)
    slot = (begin - _SLOTS_AT) // 4 if byte < _ENTRIES_AT else struct.unpack_from(">i", before, begin - 16)[0] % SLOTS
    if leads_to <= 0:
        return leads_to == 0
    next_entry = struct.unpack_from(">i", before, 36)[0]
    return leads_to < next_entry and struct.unpack_from(">i", before, _ENTRIES_AT + 20 * leads_to)[0] % SLOTS == slot


class Case(NamedTuple):
    """Changed files, and the byte if it is only one."""

    what: str
    files: Files
    byte: tuple[str, int] | None = None


def flips() -> Iterator[Case]:
    for name in INDEXES:
        used = _ENTRIES_AT + 20 * (1 + struct.unpack_from(">i", FILES[name], 36)[0])
        for bit in range(8 * min(used, len(FILES[name]))):
            content = bytearray(FILES[name])
            content[bit // 8] ^= 1 << bit % 8
            lie = " a lie" if is_lie(FILES[name], bytes(content), bit // 8) else ""
            yield Case(f"{name} bit {bit}{lie}", FILES | {name: bytes(content)}, (name, bit // 8))


def cuts() -> Iterator[Case]:
    for name in INDEXES:
        content = FILES[name]
        yield Case(f"{name} gone", {each: known for each, known in FILES.items() if each != name})
        yield Case(f"{name} just created", FILES | {name: bytes(len(content))})
        yield Case(f"{name} foreign", FILES | {name: _foreign(content)})
        for size in range(len(content)):
            yield Case(f"{name} cut at {size}", FILES | {name: content[:size]})
        for number in range(1, ENTRIES):
            place = _ENTRIES_AT + 20 * number
            yield Case(f"{name} entry {number} zeros", FILES | {name: content[:place] + bytes(20) + content[place + 20 :]})
    yield Case("all gone", {each: known for each, known in FILES.items() if each not in INDEXES})
    for one in INDEXES:
        for other in INDEXES:
            yield Case(f"{one} twice, as {other} too", FILES | {other: FILES[one]})


def _foreign(content: bytes) -> bytes:
    """The same file from another broker: other keys at the same offsets."""
    changed = bytearray(content)
    for number in range(1, ENTRIES):
        place = _ENTRIES_AT + 20 * number
        changed[place : place + 4] = struct.pack(">i", (struct.unpack_from(">i", content, place)[0] + SLOTS) & 0x7FFFFFFF)
    return bytes(changed)


SHARDS = 4 if WHOLE else 1
TRUTH = [AccessRead(FILES, predicate, "scan").rows for predicate in PREDICATES]


def check(cases: list[Case]) -> Counter[str]:
    counts: Counter[str] = Counter()
    ways = list(itertools.product(PREDICATES, ("auto", "trust")))
    asked_for = {way: bytes_read(FILES, INDEXES, *way) for way in ways}
    for number, (what, files, byte) in enumerate(cases):
        matters = {how for how, asked in asked_for.items() if byte is None or byte in asked or number % 50 == 0}
        predicate, truth = PREDICATES[number % len(PREDICATES)], TRUTH[number % len(PREDICATES)]
        if (predicate, "trust") in matters:
            assert AccessRead(files, predicate, "trust").rows <= truth, (what, str(predicate))
        for predicate, truth in zip(PREDICATES, TRUTH, strict=True):
            if (predicate, "auto") not in matters:
                continue
            auto = AccessRead(files, predicate, "auto")
            (lookup,) = (found for _, found in auto.plan.lookups)
            counts.update({"cases": 1, "not believed": bool(lookup.why), "rows by key": bool(lookup.hits)})
            if auto.rows != truth:
                assert auto.rows <= truth, (what, str(predicate))
                assert what.endswith(" a lie"), (what, str(predicate))
                counts["rows hidden by a pointer"] += 1
    return counts


@pytest.mark.sweep
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_bit_of_the_index(shard: int) -> None:
    cases = list(flips())
    counts = check(Random(1).sample(cases, len(cases) // at_effort(400, 1))[shard::SHARDS])
    assert 0 < counts["not believed"] < counts["cases"]
    assert counts["rows by key"] > counts["cases"] // 3


@pytest.mark.sweep
def test_a_pointer_that_lies_hides_rows() -> None:
    """Otherwise nothing would have to be excused above."""
    lies = [case for case in flips() if case.what.endswith(" a lie")]
    assert check(Random(1).sample(lies, min(len(lies), at_effort(20, len(lies)))))["rows hidden by a pointer"] > 0


@pytest.mark.gate
@pytest.mark.sweep
def test_every_cut_of_the_index() -> None:
    cases = list(cuts())
    counts = check(Random(1).sample(cases, len(cases) // at_effort(50, 1)))
    assert counts["not believed"] > 0
    assert counts["rows hidden by a pointer"] == 0


def test_each_condition_selects_some_rows_and_some_keys_are_split_over_two_files() -> None:
    assert all(truth for truth in TRUTH)
    ends = [struct.unpack_from(">qq", FILES[name], 16) for name in INDEXES]
    assert any(one[1] == other[0] for one, other in itertools.pairwise(ends))
