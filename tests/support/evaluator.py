"""A plain evaluator of predicates in SQL's three-valued logic, and random predicates over given rows."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import native_reader as nr
from native_reader.columns.projection import Projection
from native_reader.columns.schema import COLUMNS
from native_reader.plan.plan import Wanted
from native_reader.predicate.tree import (
    And,
    ArrayContains,
    ArraysOverlap,
    Column,
    Compare,
    Contains,
    In,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    RLike,
)
from native_reader.scan.run import Run
from native_reader.testing.memory import MemoryStorage
from native_reader.testing.strategies import PROPERTY_NAMES
from support.java_regex import java_pattern

Row = dict[str, Any]


# The evaluator; None means unknown


def value_of(row: Row, column: Column) -> Any:
    return row[column.name] if column.key is None else row["properties"].get(column.key)


def like(text: str, pattern: str) -> bool:
    """SQL's LIKE, by backtracking."""
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
        case Contains(Column("properties", None), other):
            return any(other in each for each in value.values())
        case Contains(_, other):
            return other in value
        case ArraysOverlap(_, others):
            return bool(set(others) & set(value))
    raise TypeError(predicate)


# The engine's rows for a predicate


def read(storage: MemoryStorage, predicate: Predicate, columns: str = "*", most: int = 64 << 20) -> list[Row]:
    names = tuple(COLUMNS) if columns == "*" else tuple(columns.split(","))
    plan = replace(nr.open(storage.url).messages(fail_on_data_loss=False).plan(), wanted=Wanted(predicate))
    run = Run(plan, Projection(names, max_decompressed_bytes=most))
    rows = [row for batch in run for row in plain(batch)]
    assert run.report.rows == len(rows)
    return rows


def plain(batch: pa.RecordBatch) -> list[Row]:
    """Rows with timestamps in microseconds and properties as a dict."""
    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        columns[name] = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    if "properties" in columns:
        columns["properties"] = [dict(each) for each in columns["properties"]]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


# Random predicates

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
        key = st.sampled_from([*known, "", "k1", "no"])
        many = st.lists(key, min_size=2, max_size=6).map(lambda some: ArraysOverlap(Column("keys"), tuple(some)))
        return draw(st.one_of(key.map(lambda one: ArrayContains(Column("keys"), one)), many))
    if family == "property":
        column = Column("properties", draw(st.sampled_from(KEYS_OF_PROPERTIES)))
    else:
        column = Column(draw(st.sampled_from({"integer": INTEGERS, "text": TEXTS, "bytes": BYTES}[family])))
    known = [value for row in rows if (value := value_of(row, column)) is not None]
    other = {"integer": st.integers(-(2**63), 2**63 - 1), "bytes": st.binary(max_size=3)}.get(family, st.text(max_size=4))
    values = st.one_of(st.sampled_from(known), other) if known else other
    shape = draw(st.sampled_from(["compare", "compare", "in", "many"] + ["like", "rlike", "contains"] * (family in ("text", "property"))))
    if shape == "compare":
        return Compare(column, draw(st.sampled_from(OPERATORS)), draw(values))
    if shape == "like":
        text = draw(st.sampled_from(known)) if known else ""
        pieces = draw(st.lists(st.one_of(PIECES, st.just(text), st.just(text[:1]), st.just(text[1:])), max_size=5))
        return Like(column, "".join(pieces))
    if shape == "contains":
        text = draw(st.sampled_from(known)) if known else ""
        return draw(st.sampled_from([Contains(column, text[1:]), Contains(column, text[:3]), Contains(Column("properties"), text)]))
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
