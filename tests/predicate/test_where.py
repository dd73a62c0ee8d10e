"""`where` as text: its meaning, and the errors for invalid text."""

from __future__ import annotations

import re

import pytest

import native_reader as nr
from native_reader.checks import duration
from native_reader.conditions import predicate_of
from native_reader.options import MessageOptions
from native_reader.predicate.sql import parse
from native_reader.predicate.tree import (
    And,
    ArrayContains,
    ArraysOverlap,
    Column,
    Compare,
    Contains,
    In,
    IsNull,
    Leaf,
    Like,
    Not,
    Or,
    Predicate,
    RLike,
    leaves,
)

TOPIC, QUEUE = Column("topic"), Column("queue_id")


def parsed(text: str, zone: str | None = None) -> Predicate:
    return predicate_of(MessageOptions(where=text, time_zone=zone))


MEANINGS: list[tuple[str, Predicate]] = [
    ("topic = 'a'", Compare(TOPIC, "=", "a")),
    ("'a' = TOPIC", Compare(TOPIC, "=", "a")),
    ("3 < queue_id", Compare(QUEUE, ">", 3)),
    ("`queue_id` IN (1, -2, 3L)", In(QUEUE, (1, -2, 3))),
    ("queue_id NOT BETWEEN 1 AND 2", Not(And((Compare(QUEUE, ">=", 1), Compare(QUEUE, "<=", 2))))),
    ("topic NOT LIKE 'a%'", Not(Like(TOPIC, "a%"))),
    ("topic LIKE 'a!%\\\\%' ESCAPE '!'", Like(TOPIC, "a\\%\\\\%")),
    ("topic RLIKE '^a'", RLike(TOPIC, "^a")),
    ("contains(topic, 'k')", Contains(TOPIC, "k")),
    ("contains(body, X'00')", Contains(Column("body"), b"\0")),
    ("array_contains(keys, 'k')", ArrayContains(Column("keys"), "k")),
    ("arrays_overlap(keys, array('k', 'l'))", ArraysOverlap(Column("keys"), ("k", "l"))),
    ("array_contains(keys, 'k') OR array_contains(keys, 'l')", ArraysOverlap(Column("keys"), ("k", "l"))),
    ("array_contains(keys, 'k') OR queue_id > 3 OR arrays_overlap(keys, array('l', 'k'))",
     Or((Compare(QUEUE, ">", 3), ArraysOverlap(Column("keys"), ("k", "l"))))),
    ("properties['it\\'s'] IS NOT NULL", Not(IsNull(Column("properties", "it's")))),
    ("body = X'00ff'", Compare(Column("body"), "=", b"\0\xff")),
    ("store_timestamp < TIMESTAMP '2026-01-31 12:00:00'", Compare(Column("store_timestamp"), "<", 1_769_857_200_000_000)),
    ("store_timestamp < TIMESTAMP '2026-01-31T12:00:00.5Z'", Compare(Column("store_timestamp"), "<", 1_769_860_800_500_000)),
    ("store_timestamp < TIMESTAMP '2026-01-31'", Compare(Column("store_timestamp"), "<", 1_769_814_000_000_000)),
    ("TRUE AND NOT FALSE", And((And(()), Not(Or(()))))),
    ("(topic = 'a' OR TRUE) AND queue_id = 1", And((Or((Compare(TOPIC, "=", "a"), And(()))), Compare(QUEUE, "=", 1)))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), MEANINGS)
def test_valid_conditions(text: str, expected: Predicate) -> None:
    assert parsed(text, "Europe/Berlin") == expected


HOW = (
    "Supported: = != < <= > >= IN BETWEEN LIKE RLIKE IS NULL contains array_contains arrays_overlap AND OR NOT "
    "on columns and properties['name']. "
    "Use df.filter for other conditions"
)


def test_every_condition_has_a_text_and_is_listed() -> None:
    written = [leaf for _, meaning in MEANINGS for leaf in leaves(meaning)]
    assert {type(leaf).__name__ for leaf in written} == {kind.__name__ for kind in Leaf.__subclasses__()}
    for leaf in written:
        names = re.findall(r"[A-Z]{2,}|[a-z_]+(?=\()", str(leaf)) if not isinstance(leaf, Compare) else [leaf.operator]
        assert set(names) - {"array"} <= set(HOW.split()), leaf


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lower(topic) = 'x'", f"where: expected a column, near \"lower(topic) = 'x'\" (character 1). {HOW}"),
        ("queue_id = 1 AND tipic = 'a'", "where: column 'tipic' does not exist. Did you mean 'topic'?"),
        (
            "queue_id = '3'",
            "where: queue_id is an integer, but is compared with text. Types are not converted: write 12, near",
        ),
        ("queue_id = 1.5", "where: 1.5 is not an integer, near '1.5' (character 12)"),
        ("queue_id = 9999999999999999999", "where: 9999999999999999999 does not fit in 64 bits"),
        ("topic = NULL", "where: a comparison with NULL is never true. Write IS NULL"),
        ("topic = 'it''s'", "where: missing operator between two texts. Write a quote inside a text as \\'"),
        ("topic = tags", "where: expected a value, not the column tags"),
        ("keys = 'a'", "where: keys is an array of texts, which cannot be compared. Use array_contains(keys, 'x')"),
        ("properties = 'a'", "where: properties is a map, which cannot be compared. Use properties['name'] = 'x'"),
        ("properties.TAGS = 'a'", "where: a column cannot have a prefix. Write a property as properties['TAGS']"),
        ("topic LIKE 'a\\\\b'", "where: LIKE: the escape character '\\\\' is before 'b'; it must be before %, _ or itself"),
        ("topic LIKE 'a' ESCAPE '!!'", "where: ESCAPE must be a single character"),
        ("topic RLIKE '\\\\p{L}'", "where: RLIKE: \\p is not supported. Supported: \\d \\w \\s \\t \\n and escaped punctuation"),
        ("topic RLIKE '('", "where: RLIKE: invalid regular expression: missing ), near"),
        ("topic LIKE ANY ('a')", "where: expected a value"),
        ("topic ILIKE 'a'", "where: this is not supported here, near \"topic ILIKE 'a'\" (character 1)"),
        ("topic <=> 'a'", "where: this is not supported here"),
        ("topic IS TRUE", "where: this is not supported here"),
        ("topic", "where: a value without a comparison is not supported here"),
        ("topic = 'a' AND (", "where: invalid SQL, near '(' (character 17)"),
        ("topic = 'a'; DROP TABLE x", "where: unexpected semicolon (character 12). Write one condition."),
        ("tags='a';", "where: unexpected semicolon (character 9)"),
        ("topic ISNULL", "where: ISNULL is not supported (character 7). Write IS NULL or IS NOT NULL"),
        ("topic NOTNULL", "where: NOTNULL is not supported (character 7). Write IS NULL or IS NOT NULL"),
        ("tags = CAST('1' AS INT)", "where: expected a value"),
        ("queue_id = CAST(3000000000 AS INT)", "where: 3000000000 does not fit in 32 bits"),
        (";", "where: unexpected semicolon (character 1)"),
        ("queue_id IN (1,)", "where: missing value after the comma (character 15)"),
        ("array_contains(keys, 'a',)", "where: missing value after the comma (character 25)"),
        ("tags RLIKE '\\\\'", "where: RLIKE: '\\\\' is unbalanced; write \\\\ for the character"),
        ("store_timestamp < TIMESTAMP '2026-01-05 10:00:00+19:00'", "where: '2026-01-05 10:00:00+19:00' is not a timestamp"),
        ("store_timestamp >= TIMESTAMP '2026-01-05 10:00:00-18:01'", "where: '2026-01-05 10:00:00-18:01' is not a timestamp"),
        ("SELECT 1", "where: this is not supported here"),
        ("exists(SELECT 1)", "where: a function is not supported here"),
        ("store_timestamp > DATE '2026-01-01'", "where: expected a value"),
        ("store_timestamp > TIMESTAMP '2026-13-01'", "where: '2026-13-01' is not a timestamp. Example: TIMESTAMP '2026-01-31 12:00:00Z'"),
        ("store_timestamp > TIMESTAMP '2026-01-01 12:00'", "where: '2026-01-01 12:00' is not a timestamp"),
        ("(" * 300 + "topic = 'a'" + ")" * 300, "where: brackets are nested more than 200 deep"),
        ("NOT " * 3000 + "topic = 'a'", "where is nested too deeply. Use IN ('a', 'b') instead of many ORs"),
        ("x" * (1 << 20) + "y", "where has 1,048,577 characters; the limit is 1,048,576"),
    ],
    ids=lambda text: text[:30],
)
def test_invalid_conditions(text: str, said: str) -> None:
    with pytest.raises(nr.PredicateError) as raised:
        parsed(text)
    assert str(raised.value).startswith(said)


def test_blank_text_means_no_condition() -> None:
    with pytest.raises(nr.PredicateError, match=r"^where=' ' is not a condition"):
        parse(" ", {})


def test_many_alternatives_do_not_count_as_depth() -> None:
    text = " OR ".join(f"topic = 't{number}'" for number in range(5000))
    found = parsed(text)
    assert isinstance(found, Or)
    assert len(found.parts) == 5000


def test_zones_and_durations() -> None:
    with pytest.raises(nr.PredicateError, match=r"time_zone='Mars' is not a time zone\. Examples: UTC, Europe/Berlin, \+08:00"):
        predicate_of(MessageOptions(time_zone="Mars"))
    with pytest.raises(nr.PredicateError, match=r"time_zone='\+19:00' is not a time zone.*at most 18:00"):
        predicate_of(MessageOptions(time_zone="+19:00"))
    predicate_of(MessageOptions(time_zone="-18:00"))
    east = predicate_of(MessageOptions(time_zone="+08:00", starting_timestamp="2026-01-31 12:00:00"))
    assert east == Compare(Column("store_timestamp"), ">=", 1_769_832_000_000_000)
    assert [duration("x", each) for each in ("90s", "10m", 1500, "2h", "7")] == [90_000_000, 600_000_000, 1_500_000, 7_200_000_000, 7_000]
    for wrong in ("-1s", "soon", -5, "1y"):
        with pytest.raises(nr.OptionError, match=r"^x[ =]"):
            duration("x", wrong)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"starting_offsets": "{"}, "starting_offsets='{' is invalid. It must be 'earliest', or offsets by topic and queue. Example: {"),
        ({"ending_offsets": {"a": 3}}, "ending_offsets={'a': 3} is invalid. It must be 'latest', or offsets by topic and queue."),
        ({"starting_offsets": {"a": {0: -1}}}, "starting_offsets of a/0 must be an integer from 0 to 9223372036854775807, not -1"),
        ({"tags": "a || "}, "tags='a || ' has an empty tag. Example: 'paid || refunded'"),
        ({"where": ""}, "where is empty. Omit the option instead"),
        (
            {"where": "store_timestamp > TIMESTAMP '2026-01-05'"},
            "where: TIMESTAMP '2026-01-05' has no time zone. Write TIMESTAMP '2026-01-05 00:00:00Z' (UTC) or '2026-",
        ),
        ({"msg_id": 7}, "msg_id must be text, not 7"),
        ({"access": "index"}, "access must be one of auto, scan, trust, not 'index'."),
    ],
    ids=str,
)  # fmt: skip
def test_invalid_shorthands(options: dict[str, object], said: str) -> None:
    with pytest.raises(nr.OptionError) as raised:
        predicate_of(MessageOptions(**options))  # type: ignore[arg-type]
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    "wrong",
    ["'2026-01-05 10:00:00'", "TIMESTAMP '2026-13-01'", *(f"TIMESTAMP '2026{rest}'" for rest in ("", "-1", "-1-5 ", "-01-05T10:00:00.5"))],
)
def test_the_timestamp_that_an_error_advises_is_accepted(wrong: str) -> None:
    with pytest.raises(nr.OptionError) as raised:
        predicate_of(MessageOptions(where=f"store_timestamp > {wrong}"))
    (advised,) = re.findall(r"(?:[Ww]rite|Example:) (TIMESTAMP '[^']*')", str(raised.value))
    predicate_of(MessageOptions(where=f"store_timestamp > {advised}"))


@pytest.mark.parametrize("wrong", ["2026-01-05", "20260105", "2026-01-05T10", " 2026-01-05 10:00:00.5", "yesterday"])
def test_the_time_that_an_error_advises_is_accepted(wrong: str) -> None:
    with pytest.raises(nr.OptionError) as raised:
        predicate_of(MessageOptions(starting_timestamp=wrong))
    times = re.findall(r"'([0-9 T:.-]+(?:Z|\+08:00))'", str(raised.value))
    assert len(times) == 2
    for time in times:
        predicate_of(MessageOptions(starting_timestamp=time))
