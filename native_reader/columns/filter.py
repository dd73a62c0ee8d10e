"""Selects the rows that match a predicate: head fields first, then small columns, then properties, bodies last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader import kernel
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
_BODY = "body"


class Filter:
    """A predicate in stages, cheapest first. `of_records`: use only conditions on record columns, else only the others."""

    def __init__(self, predicate: Predicate, *, of_records: bool, max_decompressed_bytes: int = 0) -> None:
        parts = predicate.parts if isinstance(predicate, And) else (predicate,)
        stages: dict[int, list[Predicate]] = {}
        for part in parts:
            if _of_record(part) == of_records:
                stages.setdefault(_cost(part), []).append(part)
        on_bodies = stages.pop(Source.BODY, [])
        self._needs_bodies = any(column.name == _BODY for part in on_bodies for column in part.columns())
        self._stages = [_Stage(stages[cost]) for cost in sorted(stages)]
        self._on_bodies = _Stage(on_bodies) if on_bodies else None
        self._max_decompressed_bytes = max_decompressed_bytes

    @property
    def is_empty(self) -> bool:
        """Whether every row matches."""
        return not self._stages and self._on_bodies is None

    def survivors(self, chunk: Chunk) -> Iterator[Chunk]:
        """The rows for which the predicate is true. Several pieces if it depends on bodies, which stay decompressed."""
        for stage in self._stages:
            chunk = stage.selected(chunk)
            if not len(chunk):
                return
        for piece in chunk.with_bodies(self._max_decompressed_bytes) if self._needs_bodies else (chunk,):
            survivors = piece if self._on_bodies is None else self._on_bodies.selected(piece)
            if len(survivors):
                yield survivors


class _Stage:
    """A part of a predicate, whose columns are made together."""

    def __init__(self, parts: Iterable[Predicate]) -> None:
        self._predicate = And(tuple(parts))
        names = {column: column.name if column.key is None else kernel.property_column(column.key) for column in self._predicate.columns()}
        # Bodies are decompressed a few at a time, and kept for the batch.
        self._made = {name: column for column, name in names.items() if kernel.makes(name) and name != _BODY}
        self._schema = pa.schema([(name, _type_of(column)) for name, column in self._made.items()])

    def selected(self, chunk: Chunk) -> Chunk:
        """The rows for which it is true."""
        matches = truth(self._predicate, self._with_columns(chunk))
        chosen = (matches.fill_null(False) if matches.null_count else matches).to_numpy(zero_copy_only=False)
        return chunk if chosen.all() else chunk.where(np.flatnonzero(chosen))

    def _with_columns(self, chunk: Chunk) -> Chunk:
        """The same rows, with the columns that the kernel makes."""
        rows = chunk.rows
        pieces = kernel.columns(rows.source.u8, rows.records, rows.is_inner, self._schema, at_most=0, at_once=0)
        for _, arrays in pieces:  # one piece: only bodies make more
            chunk.made |= {self._made[name]: array for name, array in arrays.items()}
        return chunk


def _type_of(column: Column) -> pa.DataType:
    return COLUMNS[column.name].type if column.key is None else pa.string()


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
    values = chunk.made.get(column)
    if values is None:
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
