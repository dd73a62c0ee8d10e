"""Predicates against a plain evaluator of SQL's three values, over rows of any kind."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.java_regex import java_pattern
from support.stores import files_of, in_memory, log_of, message, sampled

import native_reader as nr
from native_reader.predicate.patterns import match_like
from native_reader.predicate.tree import (
    EVERYTHING,
    And,
    ArrayContains,
    Column,
    Compare,
    In,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    RLike,
    all_of,
)
from native_reader.scan.read import Projection
from native_reader.scan.run import Run
from native_reader.schema import COLUMNS
from native_reader.testing import compression
from native_reader.testing.memory import MemoryStorage
from native_reader.testing.records import INNER_BATCH, InnerMessage, Message, pack_inner, pack_properties
from native_reader.testing.strategies import PROPERTY_NAMES, commitlogs

Row = dict[str, Any]


# A plain evaluator: None is "unknown"


def value_of(row: Row, column: Column) -> Any:
    return row[column.name] if column.key is None else row["properties"].get(column.key)


def like(text: str, pattern: str) -> bool:
    """By trying everything."""
    if not pattern:
        return not text
    first, rest = pattern[0], pattern[1:]
    if first == "%":
        return any(like(text[start:], rest) for start in range(len(text) + 1))
    if first == "\\" and rest:
        first, rest = rest[0], rest[1:]
        return text[:1] == first and like(text[1:], rest)
    return bool(text) and (first in ("_", text[0])) and like(text[1:], rest)


def compare(left: Any, operator: str, right: Any) -> bool:
    return {"=": left == right, "!=": left != right}[operator] if operator in ("=", "!=") else _ordered(left, operator, right)


def _ordered(left: Any, operator: str, right: Any) -> bool:
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operator]


def truth(predicate: Predicate, row: Row) -> bool | None:
    match predicate:
        case And(parts):
            values = [truth(part, row) for part in parts]
            return False if False in values else None if None in values else True
        case Or(parts):
            values = [truth(part, row) for part in parts]
            return True if True in values else None if None in values else False
        case Not(part):
            value = truth(part, row)
            return None if value is None else not value
        case IsNull(column):
            return value_of(row, column) is None
    value = value_of(row, predicate.column)  # type: ignore[attr-defined]
    if value is None:
        return None
    match predicate:
        case Compare(_, operator, other):
            return compare(value, operator, other)
        case In(_, values):
            return value in values
        case Like(_, pattern):
            return like(value, pattern)
        case RLike(_, pattern, whole):
            return bool((re.fullmatch if whole else re.search)(java_pattern(pattern), value))
        case ArrayContains(_, other):
            return other in value
    raise TypeError(predicate)


# Rows, with and without a predicate


def read(storage: MemoryStorage, predicate: Predicate, columns: str = "*", most: int = 64 << 20) -> list[Row]:
    names = tuple(COLUMNS) if columns == "*" else tuple(columns.split(","))
    plan = replace(nr.open(storage.url).messages(fail_on_data_loss=False).plan(), predicate=predicate)
    run = Run(plan, Projection(names, max_decompressed_bytes=most))
    rows = [row for batch in run for row in plain(batch)]
    assert run.report.rows == len(rows)
    return rows


def plain(batch: pa.RecordBatch) -> list[Row]:
    """Rows with moments as microseconds and properties as a dict."""
    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        columns[name] = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    if "properties" in columns:
        columns["properties"] = [dict(each) for each in columns["properties"]]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def identity(row: Row) -> tuple[str, int, int | None]:
    return row["store"], row["physical_offset"], row["inner_index"]


def check(storage: MemoryStorage, predicate: Predicate, rows: list[Row], most: int = 64 << 20) -> None:
    """Rows for which it is true, for which its opposite is, and so those for which neither is."""
    again: Predicate = pickle.loads(pickle.dumps(predicate))
    assert (again, str(again)) == (predicate, str(predicate))
    for each in (again, Not(again)):
        found = read(storage, each, "store,physical_offset,inner_index", most)
        assert [identity(row) for row in found] == [identity(row) for row in rows if truth(each, row)], str(each)


# Random trees over random logs

INTEGERS = [name for name, spec in COLUMNS.items() if pa.types.is_integer(spec.type) or pa.types.is_timestamp(spec.type)]
TEXTS = [name for name, spec in COLUMNS.items() if pa.types.is_string(spec.type)]
BYTES = [name for name, spec in COLUMNS.items() if pa.types.is_binary(spec.type)]
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
KEYS_OF_PROPERTIES = (*PROPERTY_NAMES, "", "no such name", "__CRC32#")
PIECES = st.sampled_from(["%", "_", "\\%", "\\_", "\\\\", "\\", "\n", "a", "o", ".", "T", "é", "🚀"])
PATTERNS = st.sampled_from(["", "^$", "o", "^.", ".$", "[a-z]+", "(?i)R", "(?s)^.*$", "\\n", "x|", "^o[^r]?", "\\d", "🚀"])


@st.composite
def leaves(draw: st.DrawFn, rows: list[Row]) -> Predicate:
    family = draw(st.sampled_from(["integer", "text", "text", "property", "bytes", "keys", "null"]))
    if family == "null":
        return IsNull(draw(st.sampled_from([*map(Column, COLUMNS), *(Column("properties", key) for key in KEYS_OF_PROPERTIES)])))
    if family == "keys":
        known = [key for row in rows for key in row["keys"] or ()]
        return ArrayContains(Column("keys"), draw(st.sampled_from([*known, "", "k1", "no"])))
    if family == "property":
        column = Column("properties", draw(st.sampled_from(KEYS_OF_PROPERTIES)))
    else:
        column = Column(draw(st.sampled_from({"integer": INTEGERS, "text": TEXTS, "bytes": BYTES}[family])))
    known = [value for row in rows if (value := value_of(row, column)) is not None]
    other = {"integer": st.integers(-(2**63), 2**63 - 1), "bytes": st.binary(max_size=3)}.get(family, st.text(max_size=4))
    values = st.one_of(st.sampled_from(known), other) if known else other
    shape = draw(st.sampled_from(["compare", "compare", "in", "many"] + ["like", "rlike"] * (family in ("text", "property"))))
    if shape == "compare":
        return Compare(column, draw(st.sampled_from(OPERATORS)), draw(values))
    if shape == "like":
        text = draw(st.sampled_from(known)) if known else ""
        pieces = draw(st.lists(st.one_of(PIECES, st.just(text), st.just(text[:1]), st.just(text[1:])), max_size=5))
        return Like(column, "".join(pieces))
    if shape == "rlike":
        return RLike(column, draw(PATTERNS), draw(st.booleans()))
    chosen = draw(st.lists(values, max_size=4))
    filler = {"integer": range(500), "bytes": [b"%d" % each for each in range(500)]}.get(family, [str(each) for each in range(500)])
    return In(column, (*chosen, *(filler if shape == "many" else ())))


def trees(rows: list[Row]) -> st.SearchStrategy[Predicate]:
    def wider(inner: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
        parts = st.lists(inner, max_size=4).map(tuple)
        return st.one_of(parts.map(And), parts.map(Or), inner.map(Not))

    return st.recursive(leaves(rows), wider, max_leaves=8)


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@sampled(60)
@given(st.data())
def test_any_predicate_over_any_rows(data):
    log = data.draw(commitlogs(max_messages=8))
    storage = in_memory({f"store/commitlog/{base:020}": content for base, content in log.segments} | {"store/commitlog/": b""})
    most = data.draw(st.sampled_from([64 << 20, 64 << 20, 40]))
    rows = read(storage, EVERYTHING, most=most)
    for _ in range(4):
        check(storage, data.draw(trees(rows)), rows, most=most)


# One of each, by hand


@pytest.fixture(scope="module")
def mixed() -> MemoryStorage:
    """Plain and compressed messages, inner batches, records without properties."""
    _, flag, compress = compression.CODECS[0]
    units = [InnerMessage(b"unit %d" % number, pack_properties({"TAGS": f"tag{number}", "x": "in\nner"}), number) for number in range(3)]
    records = [
        message(0, topic="orders"),
        message(1, topic="orders", body=compress(b"body of 1"), sys_flag=flag),
        Message(
            topic="batch", body=pack_inner(units), sys_flag=INNER_BATCH, properties=pack_properties({"TAGS": "outer"}), queue_offset=70
        ),
        Message(topic="bare"),
        Message(topic="batch", body=compress(pack_inner(units)), sys_flag=INNER_BATCH | flag, queue_offset=80),
        Message(topic="100%_\n", body=b"x", properties=pack_properties({"KEYS": "a  b", "TAGS": "%", "x": "\\", "TAGS ": "no"})),
        message(6, topic="broken", body=b"not compressed", sys_flag=flag),
    ]
    return in_memory(files_of(log_of(records, 8192)))


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (EVERYTHING, [0, 1, 70, 71, 72, 0, 80, 81, 82, 0, 6]),
        (Or(()), []),
        (Not(Or(())), [0, 1, 70, 71, 72, 0, 80, 81, 82, 0, 6]),
        (Compare(Column("body"), "=", b"body of 1"), [1]),
        (In(Column("body"), (b"unit 1", b"body 0", b"")), [0, 71, 0, 81]),
        (IsNull(Column("body")), [6]),
        (Compare(Column("body"), ">", b"body z"), [70, 71, 72, 80, 81, 82, 0]),
        (Compare(Column("tags"), "=", "tag1"), [1, 71, 81]),
        (IsNull(Column("tags")), [0]),
        (Compare(Column("tags"), "!=", "outer"), [0, 1, 70, 71, 72, 80, 81, 82, 0, 6]),
        (Compare(Column("topic"), "=", "batch"), [70, 71, 72, 80, 81, 82]),
        (And((Compare(Column("topic"), "=", "batch"), Compare(Column("flag"), ">=", 2))), [72, 82]),
        (Compare(Column("inner_index"), "<", 1), [70, 80]),
        (Compare(Column("properties", "x"), "=", "in\nner"), [70, 71, 72, 80, 81, 82]),
        (Like(Column("properties", "x"), "in_n%"), [70, 71, 72, 80, 81, 82]),
        (Like(Column("properties", "x"), "\\\\"), [0]),
        (Like(Column("topic"), "100\\%\\__"), [0]),
        (Like(Column("topic"), "%\n"), [0]),
        (RLike(Column("topic"), "r"), [0, 1, 0, 6]),
        (RLike(Column("topic"), "orders|r"), [0, 1, 0, 6]),
        (RLike(Column("topic"), "orders|r", whole=True), [0, 1]),
        (ArrayContains(Column("keys"), "b"), [0]),
        (ArrayContains(Column("keys"), "all"), [0, 1, 6]),
        (Not(ArrayContains(Column("keys"), "a")), [0, 1, 6]),
        (IsNull(Column("properties")), []),
        (Compare(Column("kind"), "=", "batch"), [70, 71, 72, 80, 81, 82]),
    ],
)
def test_by_hand(mixed, predicate, expected):
    found = read(mixed, predicate, "queue_offset")
    assert [row["queue_offset"] for row in found] == expected
    check(mixed, predicate, read(mixed, EVERYTHING))


def test_a_body_too_large_to_decompress_is_null_for_a_predicate_too(mixed):
    predicate = Compare(Column("body"), "=", b"body of 1")
    assert read(mixed, predicate, "queue_offset", most=3) == []
    assert [row["queue_offset"] for row in read(mixed, IsNull(Column("body")), "queue_offset", most=3)] == [1, 80, 6]


@pytest.mark.parametrize("column", [*map(Column, COLUMNS), Column("properties", "x")], ids=str)
def test_the_order_of_stages_changes_nothing(mixed, column):
    """What looks at a record alone is decided before inner batches are unpacked; every column must be on the right side of that."""
    rows = read(mixed, EVERYTHING)
    cheap, dear = Compare(Column("topic"), "!=", "bare"), Not(IsNull(Column("properties", "TAGS")))
    checks: list[Predicate] = [IsNull(column)]
    values = sorted({value for row in rows if isinstance(value := value_of(row, column), int | str | bytes)})
    checks += [Compare(column, operator, value) for value in values[:: max(1, len(values) // 2)] for operator in ("=", "<")]
    for each in checks:
        for predicate in (each, all_of([each, cheap, dear]), all_of([dear, each]), Or((each, Not(cheap))), Not(And((dear, each)))):
            check(mixed, predicate, rows)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a%", ["a", "ab", "a\nb"], ["", "ba"]),
        ("_", ["x", "\n", "🚀"], ["", "xy"]),
        ("\\%\\_", ["%_"], ["xy", "\\%\\_"]),
        ("\\\\%", ["\\", "\\x"], ["%", "x"]),
        ("a\\", ["a\\"], ["a"]),
        ("a.c", ["a.c"], ["abc"]),
        ("%b%", ["b", "abc", "\nb"], ["ac"]),
        ("", [""], ["x", "\n"]),
        ("^a$", ["^a$"], ["a"]),
    ],
)
def test_like(pattern, yes, no):
    found = match_like(pa.array(yes + no), pattern).to_pylist()
    assert [text for text, fits in zip(yes + no, found, strict=True) if fits] == yes
    assert [text for text in yes + no if like(text, pattern)] == yes


def test_predicates_read_like_sql():
    a, b = Compare(Column("queue_id"), "=", 3), Like(Column("properties", "it's"), "x%")
    assert str(all_of([])) == "TRUE"
    assert all_of([a]) is a
    assert all_of([And((a, b)), b]) == And((a, b, b))
    assert str(all_of([a, Or((b, Not(a)))])) == """queue_id = 3 AND (properties["it's"] LIKE 'x%' OR NOT queue_id = 3)"""
    assert str(Not(And((a, b)))) == """NOT (queue_id = 3 AND properties["it's"] LIKE 'x%')"""
    assert str(Or(())) == "FALSE"
    assert str(In(Column("topic"), ("a", "b"))) == "topic IN ('a', 'b')"
    assert str(ArrayContains(Column("keys"), "k")) == "array_contains(keys, 'k')"
    assert str(IsNull(Column("tags"))) == "tags IS NULL"
    assert str(RLike(Column("topic"), "a|b")) == "topic RLIKE 'a|b'"
    assert str(RLike(Column("topic"), "a|b", whole=True)) == "topic matches 'a|b'"
    assert list(map(str, Or((a, Not(b), IsNull(Column("tags")))).columns())) == ["queue_id", """properties["it's"]""", "tags"]
