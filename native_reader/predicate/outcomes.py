"""The possible outcomes of a predicate when only part of a row is known. Pruning uses them.

An outcome is a set of SQL's three truth values as bits, for one row or for many. A row may be pruned only if its set does not
contain TRUE. An unknown value can be anything, so a value that an index does not have never rules out a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.queue_entry import java_hash
from native_reader.predicate.patterns import fits
from native_reader.predicate.tree import And, Column, Compare, In, IsNull, Leaf, Like, Not, Or, Predicate, RLike, Value, leaves

TRUE, FALSE, NULL = 1, 2, 4
ANYTHING = TRUE | FALSE | NULL

Outcomes = Any
"""An integer, or an array of integers."""

_OPPOSITE = {"!=": "=", ">=": "<", ">": "<="}
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class Within:
    """Integers from `low` to `high`; `nullable`: or null."""

    low: Any
    high: Any
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these texts."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoneOf:
    """A text other than these."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hashed:
    """Texts or nulls; `known` marks those with a known Java hash. Null hashes to 0, but a text can too."""

    hashes: NDArray[np.int64]
    known: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Null:
    """No value: null."""


Known = Within | OneOf | NoneOf | Hashed | Null
Facts = Mapping[str, Known]
"""The known facts, by column."""


def exactly(value: Any) -> Known:
    """One known value: a text, an integer, or an array of integers."""
    return OneOf((value,)) if isinstance(value, str) else Within(value, value)


def outcomes(predicate: Predicate, facts: Facts) -> Outcomes:
    """The possible outcomes of the predicate for a row with those facts."""
    match predicate:
        case And(parts):
            result: Outcomes = TRUE
            for part in parts:
                result = _both(result, outcomes(part, facts))
            return result
        case Or(parts):
            result = FALSE
            for part in parts:
                result = _swapped(_both(_swapped(result), _swapped(outcomes(part, facts))))
            return result
        case Not(part):
            return _swapped(outcomes(part, facts))
        case Compare(column, "!=" | ">=" | ">" as operator, value):
            return _swapped(outcomes(Compare(column, _OPPOSITE[operator], value), facts))
    assert isinstance(predicate, Leaf)
    column = predicate.column
    known = facts.get(column.name) if column.key is None else None
    return ANYTHING if known is None else _leaf(predicate, known)


def may_be_true(predicate: Predicate, facts: Facts) -> Any:
    """Whether the predicate can be true for a row with those facts."""
    return (outcomes(predicate, facts) & TRUE) != 0


def without_certain(predicate: Predicate, facts: Facts) -> Predicate:
    """The predicate without those of its conditions that are true for every row with those facts."""
    parts = predicate.parts if isinstance(predicate, And) else (predicate,)
    left = tuple(part for part in parts if np.any(outcomes(part, facts) != TRUE))
    return predicate if len(left) == len(parts) else And(left)


def _both(one: Outcomes, other: Outcomes) -> Outcomes:
    """The outcomes of `a AND b`: true if both are, false if either is, otherwise null."""
    false = (one | other) & FALSE
    null = ((one & NULL) * ((other & (TRUE | NULL)) != 0)) | ((other & NULL) * ((one & (TRUE | NULL)) != 0))
    return (one & other & TRUE) | false | null


def _swapped(one: Outcomes) -> Outcomes:
    return (one & NULL) | ((one & TRUE) << 1) | ((one & FALSE) >> 1)


def _leaf(predicate: Predicate, known: Known) -> Outcomes:
    match known:
        case OneOf(texts):
            result = 0
            for text in texts:
                result |= _of_text(predicate, text)
            return result
        case NoneOf(texts):
            return _of_another(predicate, texts)
        case Within():
            return _of_numbers(predicate, known)
        case Hashed():
            return _of_hashes(predicate, known)
        case Null():
            return TRUE if isinstance(predicate, IsNull) else NULL


def _of_text(predicate: Predicate, text: str) -> int:
    """The outcome for a known text. Texts are ordered by code point, like their UTF-8 bytes."""
    match predicate:
        case Compare(_, operator, str(value)):
            result = {"=": text == value, "<": text < value, "<=": text <= value}[operator]
        case In(_, values):
            result = text in values
        case Like(_, pattern):
            result = fits(text, pattern, java=False)
        case RLike(_, pattern, whole):
            result = fits(text, pattern, java=True, whole=whole)
        case IsNull():
            result = False
        case _:
            return ANYTHING
    return TRUE if result else FALSE


def _of_another(predicate: Predicate, texts: tuple[str, ...]) -> int:
    """The outcomes for a text other than `texts`."""
    match predicate:
        case Compare(_, "=", value) if value in texts:
            return FALSE
        case In(_, values) if set(values) <= set(texts):
            return FALSE
        case IsNull():
            return FALSE
    return TRUE | FALSE


def _of_numbers(predicate: Predicate, known: Within) -> Outcomes:
    low, high = known.low, known.high
    match predicate:
        case Compare(_, operator, int(value)):
            true, false = {
                "=": ((low <= value) & (value <= high), (low != value) | (high != value)),
                "<": (low < value, high >= value),
                "<=": (low <= value, high > value),
            }[operator]
        case In():
            allowed = predicate.numbers
            first = np.searchsorted(allowed, low)
            true = first < np.searchsorted(allowed, high, side="right")
            false = (low != high) | ~np.asarray(true)
        case IsNull():
            true, false = known.nullable, True
        case _:
            return ANYTHING
    null = NULL if known.nullable and not isinstance(predicate, IsNull) else 0
    return np.where(true, TRUE, 0) | np.where(false, FALSE, 0) | null


def _of_hashes(predicate: Predicate, known: Hashed) -> Outcomes:
    """A hash can prove that two texts differ, or that a text is not null. It cannot prove that two texts are equal."""
    there = NULL * ((known.hashes == 0) | ~known.known)
    match predicate:
        case Compare(_, "=", str(value)):
            return FALSE | there | TRUE * _may_equal(known, (value,))
        case In(_, values):
            return FALSE | there | TRUE * _may_equal(known, values)
        case IsNull():
            return FALSE | TRUE * (there != 0)
    return TRUE | FALSE | there


def _may_equal(known: Hashed, values: tuple[Value, ...]) -> NDArray[np.bool_]:
    texts = [value for value in values if isinstance(value, str)]
    if any(_REPLACEMENT in text for text in texts):  # invalid UTF-8, which Java decodes differently
        return np.ones(len(known.hashes), np.bool_)
    result: NDArray[np.bool_] = np.isin(known.hashes, np.array([java_hash(text) for text in texts], np.int64)) | ~known.known
    return result


def mentions(predicate: Predicate, *names: str) -> bool:
    """Whether the predicate uses one of those columns."""
    return any(column.name in names for column in predicate.columns())


def borders_of(predicate: Predicate, name: str) -> list[int]:
    """The values of a column at which the outcome may change, ascending: all values from one of them up to the next are alike."""
    borders: set[int] = set()
    for leaf in leaves(predicate):
        match leaf:
            case Compare(Column(of, None), _, int(value)) if of == name:
                borders |= {value, value + 1}
            case In(Column(of, None), values) if of == name:
                borders.update(border for value in values if isinstance(value, int) for border in (value, value + 1))
    return sorted(borders)
