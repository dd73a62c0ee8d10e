"""The condition that rows must meet, in one form for every interface.

A tree of small immutable nodes over columns. It uses SQL's three-valued logic: a comparison with null is null, and a row is
selected only if the whole condition is true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.times import EPOCH

_FAR = 10**16

Value = str | int | float | bytes
"""Timestamps are compared as microseconds since 1970, UTC."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table; with `key`, one property of the record."""

    name: str
    key: str | None = None

    def __str__(self) -> str:
        return self.name if self.key is None else f"{self.name}[{self.key!r}]"


class Predicate:
    """A node of the tree."""

    __slots__ = ()

    def columns(self) -> Iterator[Column]:
        """Every column that the condition uses."""
        return (leaf.column for leaf in leaves(self))


@dataclass(frozen=True, slots=True)
class Leaf(Predicate):
    """A condition on one column."""

    column: Column


@dataclass(frozen=True, slots=True)
class Compare(Leaf):
    """`column operator value`; the operators are `=  !=  <  <=  >  >=`."""

    operator: str
    value: Value

    def __str__(self) -> str:
        return f"{self.column} {self.operator} {_shown(self.column, self.value)}"


@dataclass(frozen=True, slots=True)
class In(Leaf):
    """`column IN (values)`."""

    values: tuple[Value, ...]
    _numbers: NDArray[np.int64] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The integers among the values, ascending. A plan needs them for each queue, and there can be many."""
        if self._numbers is None:
            numbers = np.unique(np.array([value for value in self.values if isinstance(value, int)], np.int64))
            object.__setattr__(self, "_numbers", numbers)
        assert self._numbers is not None
        return self._numbers

    def __str__(self) -> str:
        return f"{self.column} IN ({', '.join(_shown(self.column, value) for value in self.values)})"


@dataclass(frozen=True, slots=True)
class Like(Leaf):
    """`column LIKE pattern`: `%` matches any text, `_` one character; a backslash escapes either."""

    pattern: str

    def __str__(self) -> str:
        return f"{self.column} LIKE {self.pattern!r}"


@dataclass(frozen=True, slots=True)
class RLike(Leaf):
    """`column RLIKE pattern`: the Java regular expression matches somewhere in the text; `whole`: it matches the entire text."""

    pattern: str
    whole: bool = False

    def __str__(self) -> str:
        return f"{self.column} {'matches' if self.whole else 'RLIKE'} {self.pattern!r}"


@dataclass(frozen=True, slots=True)
class ArrayContains(Leaf):
    """`array_contains(column, value)`."""

    value: str

    def __str__(self) -> str:
        return f"array_contains({self.column}, {self.value!r})"


@dataclass(frozen=True, slots=True)
class ArraysOverlap(Leaf):
    """`arrays_overlap(column, array(values))`: the column has at least one of them."""

    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"arrays_overlap({self.column}, array({', '.join(map(repr, self.values))}))"


@dataclass(frozen=True, slots=True)
class Contains(Leaf):
    """`contains(column, value)`: the value is somewhere in the text or in the bytes; of `properties`, in the value of one of them."""

    value: str | bytes

    def __str__(self) -> str:
        return f"contains({self.column}, {_shown(self.column, self.value)})"


@dataclass(frozen=True, slots=True)
class IsNull(Leaf):
    """`column IS NULL`."""

    def __str__(self) -> str:
        return f"{self.column} IS NULL"


@dataclass(frozen=True, slots=True)
class And(Predicate):
    """True if all parts are true."""

    parts: tuple[Predicate, ...]

    def __str__(self) -> str:
        return " AND ".join(_inside(part) for part in self.parts) or "TRUE"


@dataclass(frozen=True, slots=True)
class Or(Predicate):
    """True if any part is true."""

    parts: tuple[Predicate, ...]

    def __str__(self) -> str:
        return " OR ".join(_inside(part) for part in self.parts) or "FALSE"


@dataclass(frozen=True, slots=True)
class Not(Predicate):
    """True if the part is false; null stays null."""

    part: Predicate

    def __str__(self) -> str:
        return f"NOT {_inside(self.part)}"


def all_of(parts: Iterable[Predicate]) -> Predicate:
    """One predicate that needs all of them; a single one is returned unchanged, none is always true."""
    flat: list[Predicate] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, And) else (part,))
    return flat[0] if len(flat) == 1 else And(tuple(flat))


EVERYTHING: Predicate = And(())


def any_of(parts: Iterable[Predicate]) -> Predicate:
    """True if any part is. Conditions on the words of one column become one, so that a thousand cost little more than one."""
    left, words = list[Predicate](), dict[Column, list[str]]()
    for part in parts:
        match part:
            case ArrayContains(column, value):
                words.setdefault(column, []).append(value)
            case ArraysOverlap(column, several):
                words.setdefault(column, []).extend(several)
            case _:
                left.append(part)
    for column, values in words.items():
        distinct = tuple(dict.fromkeys(values))
        left.append(ArraysOverlap(column, distinct) if len(distinct) > 1 else ArrayContains(column, distinct[0]))
    return left[0] if len(left) == 1 else Or(tuple(left))


def leaves(predicate: Predicate) -> Iterator[Leaf]:
    """The leaf conditions that a predicate combines."""
    match predicate:
        case And(parts) | Or(parts):
            for part in parts:
                yield from leaves(part)
        case Not(part):
            yield from leaves(part)
        case Leaf():
            yield predicate


def values_of(leaf: Predicate, *names: str) -> tuple[Value, ...]:
    """The values that a leaf compares one of those columns with, by `=` or IN."""
    match leaf:
        case Compare(Column(name, None), "=", value) if name in names:
            return (value,)
        case In(Column(name, None), values) if name in names:
            return values
    return ()


def rewritten(predicate: Predicate, more: Callable[[Leaf], Predicate | None]) -> Predicate:
    """The predicate with `AND more(leaf)` added to each leaf; nothing is added if `more` returns None."""
    match predicate:
        case And(parts):
            return And(tuple(rewritten(part, more) for part in parts))
        case Or(parts):
            return Or(tuple(rewritten(part, more) for part in parts))
        case Not(part):
            return Not(rewritten(part, more))
    extra = more(predicate) if isinstance(predicate, Leaf) else None
    return predicate if extra is None else And((predicate, extra))


def _shown(column: Column, value: Value) -> str:
    """A value in SQL notation; timestamps are hard to read as numbers."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int) and column.name.endswith("_timestamp") and abs(value) < _FAR:
        return f"TIMESTAMP '{(EPOCH + timedelta(microseconds=value)).isoformat(' ')}'"
    return f"X'{value.hex()}'" if isinstance(value, bytes) else repr(value)


def _inside(part: Predicate) -> str:
    return f"({part})" if isinstance(part, And | Or) else str(part)
