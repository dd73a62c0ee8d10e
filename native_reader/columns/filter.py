"""Selects the rows that match a predicate: head fields first, then small columns, then properties, bodies last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader import kernel
from native_reader.arrow import array, numpy_of, repeat, scalar
from native_reader.columns.chunk import WITH_PLACE_IDS, Chunk
from native_reader.columns.schema import COLUMNS
from native_reader.columns.spec import DECOMPRESSED, TIMESTAMP, ColumnSource
from native_reader.predicate.patterns import fits, match_java, match_like
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
    Value,
)

_OPERATORS: dict[str, Callable[[pa.Array, pa.Scalar], pa.Array]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_FEW_BYTES = 1024

Values = Callable[[Column], pa.Array]
"""Returns the values of a column for the rows that a condition is evaluated on."""


class Filter:
    """A predicate in stages, cheapest first. `of_records`: use only conditions on record columns, else only the others."""

    def __init__(self, predicate: Predicate, *, of_records: bool, max_decompressed_bytes: int = 0) -> None:
        parts = predicate.parts if isinstance(predicate, And) else (predicate,)
        stages: dict[int, list[Predicate]] = {}
        for part in parts:
            if _of_record(part) == of_records:
                stages.setdefault(_cost(part), []).append(part)
        on_bodies = stages.pop(ColumnSource.BODY, [])
        self._needs_bodies = any(column.name in DECOMPRESSED for part in on_bodies for column in part.columns())
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
        self._made = {name: column for column, name in names.items() if kernel.makes(name) and name not in DECOMPRESSED}
        self._schema = pa.schema([(name, _type_of(column)) for name, column in self._made.items()])

    def selected(self, chunk: Chunk) -> Chunk:
        """The rows for which it is true."""
        self._make_columns(chunk)
        matches = truth(self._predicate, partial(_of_chunk, chunk), len(chunk))
        chosen = numpy_of(matches.fill_null(False) if matches.null_count else matches)
        return chunk if chosen.all() else chunk.where(np.flatnonzero(chosen))

    def _make_columns(self, chunk: Chunk) -> None:
        """Make the columns that the kernel can make of these rows."""
        rows = chunk.rows
        pieces = kernel.columns(rows.source.u8, rows.records, rows.is_inner, self._schema, at_most=0, at_once=0)
        for _, arrays in pieces:  # one piece: only bodies make more
            chunk.made |= {self._made[name]: array for name, array in arrays.items() if not _is_of_log(chunk, name)}


def _is_of_log(chunk: Chunk, name: str) -> bool:
    """Whether a column of the kernel has ids that rows of a tier do not have."""
    return chunk.columns.is_tiered and name in WITH_PLACE_IDS


def _type_of(column: Column) -> pa.DataType:
    return COLUMNS[column.name].type if column.key is None else pa.string()


def matching(predicate: Predicate, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of a batch for which the predicate on its columns is true."""
    return batch.filter(truth(predicate, partial(_of_batch, batch), len(batch)))


def truth(predicate: Predicate, values: Values, count: int) -> pa.Array:
    """True, false or null for each of `count` rows."""
    match predicate:
        case And(()) | Or(()):
            return repeat(isinstance(predicate, And), count)
        case And(parts):
            return reduce(pc.and_kleene, (truth(part, values, count) for part in parts))
        case Or(parts):
            return reduce(pc.or_kleene, (truth(part, values, count) for part in parts))
        case Not(part):
            return pc.invert(truth(part, values, count))
        case IsNull(column):
            return pc.is_null(values(column))
        case _:
            return _compared(predicate, values)


def _compared(predicate: Predicate, of: Values) -> pa.Array:
    match predicate:
        case Compare(column, operator, value):
            values = _comparable(of(column))
            return _OPERATORS[operator](values, scalar(value, values.type))
        case In(column, allowed):
            values = _comparable(of(column))
            is_in = pc.is_in(values, _set_of(allowed, values.type))
            return pc.if_else(values.is_valid(), is_in, scalar(None, pa.bool_()))
        case Like(column, pattern):
            return _matched(column, of, lambda texts: match_like(texts, pattern), lambda text: fits(text, pattern, java=False))
        case RLike(column, pattern, whole):
            return _matched(
                column,
                of,
                lambda texts: match_java(texts, pattern, whole),
                lambda text: fits(text, pattern, java=True, whole=whole),
            )
        case ArrayContains(column, value):
            return _contains(of(column), lambda words: pc.equal(words, scalar(value, pa.string())))
        case Contains(Column("properties", None) as column, value):
            pairs = of(column)
            values = pa.ListArray.from_arrays(pairs.offsets, pairs.items)
            return _contains(values, lambda texts: pc.match_substring(texts, value))
        case Contains(column, value):
            return pc.match_substring(of(column), value)
        case ArraysOverlap(column, allowed):
            return _contains(of(column), lambda words: pc.is_in(words, _set_of(allowed, pa.string())))
    raise TypeError(f"unknown predicate: {type(predicate).__name__}")


@lru_cache(maxsize=8)
def _set_of(values: tuple[Value, ...], type_: pa.DataType) -> pa.Array:
    """Values of a condition, which can be thousands, for all batches: where queues or an index choose, a batch often has one row."""
    return array(values, type_)


def _of_chunk(chunk: Chunk, column: Column) -> pa.Array:
    if (made := chunk.made.get(column)) is not None:
        return made
    return COLUMNS[column.name].make(chunk) if column.key is None else chunk.property(column.key)


def _of_batch(batch: pa.RecordBatch, column: Column) -> pa.Array:
    values = batch.column(column.name)
    return values if column.key is None else pc.map_lookup(values, column.key, "last")


def _comparable(values: pa.Array) -> pa.Array:
    """Integers of any width and timestamps as 64-bit integers; other values unchanged."""
    if pa.types.is_timestamp(values.type):
        return values.cast(TIMESTAMP).view(pa.int64())
    return values.cast(pa.int64()) if pa.types.is_integer(values.type) else values


def _matched(column: Column, of: Values, match: Callable[[pa.Array], pa.Array], match_one: Callable[[str], bool]) -> pa.Array:
    """Matches each distinct text once, because topics, tags and hosts repeat; bodies do not."""
    values = of(column)
    if column.name in DECOMPRESSED:
        return match(values)
    encoded = values.dictionary_encode()
    texts = encoded.dictionary
    if texts.nbytes <= _FEW_BYTES:  # the same few texts in every chunk; `match_one` caches its results
        return array(list(map(match_one, texts.to_pylist())), pa.bool_()).take(encoded.indices)
    return match(texts).take(encoded.indices)


def _contains(lists: pa.Array, is_it: Callable[[pa.Array], pa.Array]) -> pa.Array:
    hits = numpy_of(is_it(lists.flatten()))
    contains = np.zeros(len(lists), np.bool_)
    contains[numpy_of(pc.list_parent_indices(lists))[hits]] = True
    return array(contains, mask=numpy_of(lists.is_null()))


def _of_record(predicate: Predicate) -> bool:
    return not any(COLUMNS[column.name].differs_in_batch for column in predicate.columns())


def _cost(predicate: Predicate) -> int:
    return max((COLUMNS[column.name].source for column in predicate.columns()), default=0)
