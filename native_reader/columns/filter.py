"""Selects the rows that match a predicate: head fields first, then small columns, then properties, bodies last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.columns.chunk import Chunk
from native_reader.columns.schema import COLUMNS
from native_reader.columns.spec import Source
from native_reader.predicate.patterns import fits, match_java, match_like
from native_reader.predicate.tree import And, ArrayContains, Column, Compare, In, IsNull, Like, Not, Or, Predicate, RLike

_OPERATORS: dict[str, Callable[[pa.Array, pa.Scalar], pa.Array]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_FEW_BYTES = 1024


class Filter:
    """A predicate in stages, cheapest first. `of_records`: use only conditions on record columns, else only the others."""

    def __init__(self, predicate: Predicate, *, of_records: bool, max_decompressed_bytes: int = 0) -> None:
        parts = predicate.parts if isinstance(predicate, And) else (predicate,)
        stages: dict[int, list[Predicate]] = {}
        for part in parts:
            if _of_record(part) == of_records:
                stages.setdefault(_cost(part), []).append(part)
        self._on_bodies = And(tuple(stages.pop(Source.BODY, ())))
        self._needs_bodies = any(column.name == "body" for column in self._on_bodies.columns())
        self._stages = [And(tuple(stages[cost])) for cost in sorted(stages)]
        self._max_decompressed_bytes = max_decompressed_bytes

    @property
    def is_empty(self) -> bool:
        """Whether every row matches."""
        return not self._stages and not self._on_bodies.parts

    def survivors(self, chunk: Chunk) -> Iterator[Chunk]:
        """The rows for which the predicate is true. Several pieces if it depends on bodies, which stay decompressed."""
        for stage in self._stages:
            chunk = _selected(chunk, stage)
            if not len(chunk):
                return
        for piece in chunk.with_bodies(self._max_decompressed_bytes) if self._needs_bodies else (chunk,):
            survivors = _selected(piece, self._on_bodies) if self._on_bodies.parts else piece
            if len(survivors):
                yield survivors


def _selected(chunk: Chunk, predicate: Predicate) -> Chunk:
    matches = truth(predicate, chunk)
    chosen = (matches.fill_null(False) if matches.null_count else matches).to_numpy(zero_copy_only=False)
    return chunk if chosen.all() else chunk.where(np.flatnonzero(chosen))


def truth(predicate: Predicate, chunk: Chunk) -> pa.Array:
    """True, false or null for each row."""
    match predicate:
        case And(()) | Or(()):
            return pa.repeat(isinstance(predicate, And), len(chunk))
        case And(parts):
            return reduce(pc.and_kleene, (truth(part, chunk) for part in parts))
        case Or(parts):
            return reduce(pc.or_kleene, (truth(part, chunk) for part in parts))
        case Not(part):
            return pc.invert(truth(part, chunk))
        case IsNull(column):
            return pc.is_null(_values(column, chunk))
        case _:
            return _compared(predicate, chunk)


def _compared(predicate: Predicate, chunk: Chunk) -> pa.Array:
    match predicate:
        case Compare(column, operator, value):
            values = _values(column, chunk)
            return _OPERATORS[operator](values, pa.scalar(value, values.type))
        case In(column, allowed):
            values = _values(column, chunk)
            is_in = pc.is_in(values, pa.array(allowed, values.type))
            return pc.if_else(values.is_valid(), is_in, pa.scalar(None, pa.bool_()))
        case Like(column, pattern):
            return _matched(_values(column, chunk), lambda texts: match_like(texts, pattern), lambda text: fits(text, pattern, java=False))
        case RLike(column, pattern, whole):
            return _matched(
                _values(column, chunk),
                lambda texts: match_java(texts, pattern, whole),
                lambda text: fits(text, pattern, java=True, whole=whole),
            )
        case ArrayContains(column, value):
            return _contains(_values(column, chunk), value)
    raise TypeError(f"unknown predicate: {type(predicate).__name__}")


def _values(column: Column, chunk: Chunk) -> pa.Array:
    """The column's values; integers of any width and timestamps as 64-bit integers."""
    values = COLUMNS[column.name].make(chunk) if column.key is None else chunk.property(column.key)
    if pa.types.is_timestamp(values.type):
        return values.view(pa.int64())
    return values.cast(pa.int64()) if pa.types.is_integer(values.type) else values


def _matched(values: pa.Array, match: Callable[[pa.Array], pa.Array], match_one: Callable[[str], bool]) -> pa.Array:
    """Matches each distinct text once, because topics, tags and hosts repeat."""
    encoded = values.dictionary_encode()
    texts = encoded.dictionary
    if texts.nbytes <= _FEW_BYTES:  # the same few texts in every chunk; `match_one` caches its results
        return pa.array(list(map(match_one, texts.to_pylist())), pa.bool_()).take(encoded.indices)
    return match(texts).take(encoded.indices)


def _contains(lists: pa.Array, value: str) -> pa.Array:
    hits = pc.equal(lists.flatten(), pa.scalar(value, pa.string())).to_numpy(zero_copy_only=False)
    contains = np.zeros(len(lists), np.bool_)
    contains[pc.list_parent_indices(lists).to_numpy()[hits]] = True
    return pa.array(contains, mask=lists.is_null().to_numpy(zero_copy_only=False))


def _of_record(predicate: Predicate) -> bool:
    return not any(COLUMNS[column.name].differs_in_batch for column in predicate.columns())


def _cost(predicate: Predicate) -> int:
    return max((COLUMNS[column.name].source for column in predicate.columns()), default=0)
