"""What a condition of another library surely means in our own: less is then read. The library still applies the condition itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import pyarrow as pa

from native_reader.predicate import sql
from native_reader.predicate.tree import (
    EVERYTHING,
    And,
    ArrayContains,
    Column,
    Compare,
    Contains,
    In,
    IsNull,
    Not,
    Predicate,
    Value,
    all_of,
    any_of,
)

_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DEEPEST = 100
_PER_UNIT = {"s": 1_000_000, "ms": 1000, "us": 1}


class ReadNarrowed(Protocol):
    """Reads these columns, of all rows for which the condition is true and maybe of others. `stops_early`: not all rows may be used."""

    def __call__(self, columns: tuple[str, ...], condition: Predicate, stops_early: bool) -> Iterator[pa.RecordBatch]:
        """Read the batches."""


class Node:
    """A part of a condition, in the words that the libraries share."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Field(Node):
    """A column; with `key`, one value of a map."""

    name: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """An Arrow array: of one value, or those of a list."""

    values: Any


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`and`, `or`, `not`, `is_null`, `is_valid`, `in`, `contains` or a comparison; `unknown` is what we cannot say.

    All are null for null, as in SQL, and `in` does not look at nulls in its list.
    """

    name: str
    parts: tuple[Node, ...]


def fields_of(node: Node) -> Iterator[str]:
    """The columns that a condition uses."""
    waiting = [node]
    while waiting:
        match waiting.pop():
            case Field(name, _):
                yield name
            case Call(_, parts):
                waiting += parts


def combined(name: str, parts: Iterable[Node]) -> Call:
    """`and` or `or` of the parts. `(a OR b) OR c` becomes one OR of three: a long list of alternatives is then not a deep tree."""
    nested = (part.parts if isinstance(part, Call) and part.name == name else (part,) for part in parts)
    return Call(name, tuple(chain.from_iterable(nested)))


def implied(node: Node, kinds: Mapping[str, str]) -> Predicate:
    """A predicate that is true wherever the condition is true, and maybe elsewhere. `kinds`: the columns, with their types in `where`."""
    return _weaker(node, kinds, _DEEPEST) or EVERYTHING


def _weaker(node: Node, kinds: Mapping[str, str], levels: int) -> Predicate | None:
    match node:
        case Call("and", parts) if levels > 0:
            known = [found for part in parts if (found := _weaker(part, kinds, levels - 1)) is not None]
            return all_of(known) if known else None
        case Call("or", parts) if levels > 0:
            return _joined(any_of, [_weaker(part, kinds, levels - 1) for part in parts])
    return _same(node, kinds, levels)


def _same(node: Node, kinds: Mapping[str, str], levels: int) -> Predicate | None:
    """A predicate that is true, false and null for the same rows as the condition; None if there is none, or if it is nested too deeply."""
    match node:
        case _ if levels <= 0:
            return None
        case Call("and" | "or" as name, parts):
            return _joined(And if name == "and" else any_of, [_same(part, kinds, levels - 1) for part in parts])
        case Call("not", (part,)):
            inside = _same(part, kinds, levels - 1)
            return None if inside is None else Not(inside)
        case Field(name, None) if kinds.get(name) == sql.FLAG:
            return Compare(Column(name), "=", True)
        case Call(operator, (Literal() as value, Field() as field)) if operator in _MIRRORED:
            return _on_field(_MIRRORED[operator], field, value.values, kinds)
        case Call(operator, (Field(name) as field, *rest)) if name in kinds:
            return _on_field(operator, field, _compared(rest), kinds) if all(isinstance(each, Literal) for each in rest) else None
    return None


def _compared(parts: list[Node]) -> Any:
    """What a column is compared with; None if it is only tested for null."""
    return parts[0].values if len(parts) == 1 and isinstance(parts[0], Literal) else None


def _joined(join: Callable[[tuple[Predicate, ...]], Predicate], parts: list[Predicate | None]) -> Predicate | None:
    known = tuple(part for part in parts if part is not None)
    return join(known) if len(known) == len(parts) else None


def _on_field(operator: str, field: Field, array: Any, kinds: Mapping[str, str]) -> Predicate | None:
    """The condition on one column. `array`: the values that it is compared with; None if there are none."""
    column, kind = Column(field.name, field.key), kinds.get(field.name, "")
    if field.key is not None:
        if kind != sql.PAIRS:  # a subscript of a list or of a text
            return None
        kind = sql.TEXT
    if array is None:
        return {"is_null": IsNull(column), "is_valid": Not(IsNull(column))}.get(operator)
    of_lists = operator == "contains" and kind == sql.TEXTS
    values = [_value(scalar, sql.TEXT if of_lists else kind) for scalar in array if scalar.is_valid or operator != "in"]
    known = tuple(value for value in values if value is not None)
    if not known or len(known) < len(values):
        return None
    if operator == "in":
        return In(column, known)
    if len(known) > 1:
        return None
    if of_lists:
        return ArrayContains(column, str(known[0]))
    if operator == "contains":
        return Contains(column, str(known[0])) if kind == sql.TEXT and field.key is None else None
    can_compare = operator in (("=", "!=") if kind == sql.FLAG else _MIRRORED)
    return Compare(column, operator, known[0]) if can_compare else None


def _value(scalar: Any, kind: str) -> Value | None:
    """A value as our predicates store it; None if it is null, or not of that type. Numbers with a fraction are left to the library."""
    if not scalar.is_valid or not _is_of(scalar.type, kind):
        return None
    if kind == sql.MOMENT:
        return _microseconds(scalar)
    value = scalar.as_py()
    return None if kind == sql.NUMBER and not -(2**63) <= value < 2**63 else value


def _is_of(given: pa.DataType, kind: str) -> bool:
    match kind:
        case sql.TEXT:
            return bool(pa.types.is_string(given) or pa.types.is_large_string(given) or pa.types.is_string_view(given))
        case sql.BYTES:
            return bool(pa.types.is_binary(given) or pa.types.is_large_binary(given) or pa.types.is_binary_view(given))
        case sql.NUMBER:
            return bool(pa.types.is_integer(given))
        case sql.MOMENT:
            return bool(pa.types.is_timestamp(given) and given.tz is not None)
    return kind == sql.FLAG and bool(pa.types.is_boolean(given))


def _microseconds(scalar: Any) -> int | None:
    """None for a moment between two microseconds."""
    per = _PER_UNIT.get(scalar.type.unit)
    if per is not None:
        found = int(scalar.value) * per
        return found if -(2**63) <= found < 2**63 else None
    return None if scalar.value % 1000 else int(scalar.value) // 1000
