"""Outcomes for partly known rows hold for every row that fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.evaluator import read, trees, truth
from support.stores import in_memory

from native_reader.layout.queue_entry import java_hash
from native_reader.predicate.outcomes import (
    ANYTHING,
    FALSE,
    NULL,
    TRUE,
    Hashed,
    Known,
    NoneOf,
    Null,
    OneOf,
    Within,
    exactly,
    may_be_true,
    outcomes,
    without_certain,
)
from native_reader.predicate.tree import EVERYTHING, And, Column, Compare, In, IsNull, Like, Not, Or, Predicate, RLike
from native_reader.testing.java import hash_code
from native_reader.testing.strategies import commitlogs

BIT = {True: TRUE, False: FALSE, None: NULL}


@st.composite
def known_of(draw: st.DrawFn, rows: list[dict[str, Any]], which: int) -> dict[str, Known]:
    """Facts that fit one of the rows: some columns, exactly or approximately."""
    row, facts = rows[which], dict[str, Known]()
    for name, value in row.items():
        if draw(st.booleans()):
            continue
        if value is None:
            facts[name] = Null()
            continue
        if isinstance(value, int):
            low, high = draw(st.integers(0, 9)), draw(st.integers(0, 9))
            facts[name] = draw(st.sampled_from([exactly(value), Within(value - low, value + high, nullable=draw(st.booleans()))]))
        elif isinstance(value, str) and name != "tags":
            other = draw(st.text(max_size=3).filter(lambda text, value=value: text != value))
            facts[name] = draw(st.sampled_from([exactly(value), OneOf((other, value)), NoneOf((other,))]))
    if draw(st.booleans()):
        tags = row["tags"]
        facts["tags"] = Hashed(np.array([0 if tags is None else java_hash(tags)]), np.array([draw(st.booleans())]))
    return facts


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@sampled(60)
@given(st.data())
def test_the_outcomes_include_that_of_the_row(data):
    log = data.draw(commitlogs(max_messages=8))
    storage = in_memory({f"store/commitlog/{base:020}": content for base, content in log.segments} | {"store/commitlog/": b""})
    rows = read(storage, EVERYTHING)
    for _ in range(6 if rows else 0):
        predicate, which = data.draw(trees(rows)), data.draw(st.integers(0, len(rows) - 1))
        facts = data.draw(known_of(rows, which))
        found = int(np.asarray(outcomes(predicate, facts)).ravel()[0])
        said = truth(predicate, rows[which])
        # Java decodes bytes that are not UTF-8 in its own way. A broker's hash of them may differ from that of our text.
        assert found & BIT[said] or "\N{REPLACEMENT CHARACTER}" in str(rows[which]["tags"]), (str(predicate), facts, rows[which])


NUMBER, TOPIC, TAGS = Column("queue_offset"), Column("topic"), Column("tags")


@pytest.mark.parametrize(
    ("predicate", "facts", "expected"),
    [
        (Compare(NUMBER, "=", 5), {"queue_offset": exactly(5)}, TRUE),
        (Compare(NUMBER, "=", 5), {"queue_offset": Within(4, 6)}, TRUE | FALSE),
        (Compare(NUMBER, "!=", 5), {"queue_offset": Within(6, 9)}, TRUE),
        (Compare(NUMBER, "<", 5), {"queue_offset": Within(5, 9)}, FALSE),
        (Compare(NUMBER, "<=", 5), {"queue_offset": Within(5, 9)}, TRUE | FALSE),
        (Compare(NUMBER, ">", 5), {"queue_offset": Within(6, 9, nullable=True)}, TRUE | NULL),
        (In(NUMBER, (1, 9)), {"queue_offset": Within(2, 8)}, FALSE),
        (In(NUMBER, (1, 9)), {"queue_offset": exactly(9)}, TRUE),
        (IsNull(NUMBER), {"queue_offset": exactly(9)}, FALSE),
        (Compare(NUMBER, "=", 5), {}, ANYTHING),
        (Like(TOPIC, "ord%"), {"topic": exactly("orders")}, TRUE),
        (RLike(TOPIC, "^x"), {"topic": OneOf(("x", "y"))}, TRUE | FALSE),
        (Compare(TOPIC, "=", "x"), {"topic": NoneOf(("x", "y"))}, FALSE),
        (Compare(TOPIC, "=", "z"), {"topic": NoneOf(("x", "y"))}, TRUE | FALSE),
        (In(TOPIC, ("x", "y")), {"topic": NoneOf(("x", "y"))}, FALSE),
        (In(TOPIC, ("x", "z")), {"topic": NoneOf(("x", "y"))}, TRUE | FALSE),
        (Not(In(TOPIC, ("x", "z"))), {"topic": NoneOf(("x", "y"))}, TRUE | FALSE),
        (IsNull(TOPIC), {"topic": NoneOf(("x",))}, FALSE),
        (Compare(TOPIC, "<", "b"), {"topic": exactly("a")}, TRUE),
        (Not(Compare(TOPIC, "=", "a")), {"topic": exactly("a")}, FALSE),
        (And((Compare(TOPIC, "=", "a"), Compare(NUMBER, "=", 5))), {"topic": exactly("b")}, FALSE),
        (And((Compare(TOPIC, "=", "a"), Compare(NUMBER, "=", 5))), {"topic": exactly("a")}, ANYTHING),
        (Or((Compare(TOPIC, "=", "a"), Compare(NUMBER, "=", 5))), {"topic": exactly("a")}, TRUE),
        (Or(()), {}, FALSE),
        (EVERYTHING, {}, TRUE),
        (Like(Column("origin_topic"), "%"), {"origin_topic": Null()}, NULL),
        (Not(Compare(Column("origin_topic"), "!=", "a")), {"origin_topic": Null()}, NULL),
        (In(Column("origin_topic"), ("a",)), {"origin_topic": Null()}, NULL),
        (IsNull(Column("origin_topic")), {"origin_topic": Null()}, TRUE),
        (Compare(Column("properties", "topic"), "=", "a"), {"topic": exactly("b")}, ANYTHING),
    ],
    ids=str,
)
def test_by_hand(predicate: Predicate, facts: dict[str, Known], expected: int) -> None:
    assert int(outcomes(predicate, facts)) == expected


@pytest.mark.parametrize(
    ("parts", "left"),
    [
        ((Compare(NUMBER, "<", 10), Compare(TOPIC, "=", "a")), (Compare(TOPIC, "=", "a"),)),
        ((Compare(NUMBER, "<", 10), Compare(NUMBER, ">=", 5)), ()),
        ((Compare(NUMBER, "<", 9), Compare(TOPIC, "=", "a")), (Compare(NUMBER, "<", 9), Compare(TOPIC, "=", "a"))),
        ((Not(Compare(NUMBER, "<", 10)),), (Not(Compare(NUMBER, "<", 10)),)),
    ],
    ids=str,
)
def test_conditions_that_are_true_for_every_row_are_left_out(parts: tuple[Predicate, ...], left: tuple[Predicate, ...]) -> None:
    found = without_certain(And(parts), {"queue_offset": Within(5, 9)})
    assert found == And(left)
    nullable = {"queue_offset": Within(5, 9, nullable=True)}
    assert without_certain(And(parts), nullable) == And(parts), "a condition on null is not true"


def test_a_hash_excludes_and_never_proves() -> None:
    codes = np.array([java_hash("paid"), java_hash("sent"), 0, 7], np.int64)
    facts = {"tags": Hashed(codes, np.array([True, True, True, False]))}
    assert outcomes(Compare(TAGS, "=", "paid"), facts).tolist() == [TRUE | FALSE, FALSE, FALSE | NULL, ANYTHING]
    assert outcomes(Not(Compare(TAGS, "=", "paid")), facts).tolist() == [TRUE | FALSE, TRUE, TRUE | NULL, ANYTHING]
    assert outcomes(Compare(TAGS, "!=", "paid"), facts).tolist() == [TRUE | FALSE, TRUE, TRUE | NULL, ANYTHING]
    assert outcomes(In(TAGS, ("sent", "no")), facts).tolist() == [FALSE, TRUE | FALSE, FALSE | NULL, ANYTHING]
    assert outcomes(IsNull(TAGS), facts).tolist() == [FALSE, FALSE, TRUE | FALSE, TRUE | FALSE]
    assert may_be_true(Like(TAGS, "x%"), facts).tolist() == [True] * 4
    assert may_be_true(Compare(TAGS, "=", "\N{REPLACEMENT CHARACTER}"), facts).tolist() == [True] * 4


@pytest.mark.parametrize("text", ["", "a", "AaAa", "BBBB", "AaBB", "polygenelubricants", "标签", "🚀", "x" * 300])
def test_the_hash_is_as_in_java(text: str) -> None:
    assert java_hash(text) == hash_code(text)
    assert java_hash("AaAa") == java_hash("BBBB") == 2031744
