"""Selects the rows that match a predicate: head fields first, then small columns, then properties, bodies last."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.columns.chunk import Chunk, Columns
from native_reader.columns.rows import Rows
from native_reader.columns.schema import COLUMNS
from native_reader.layout.record import Mask
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

    def __init__(self, predicate: Predicate, *, of_records: bool, store: str, segment: str, max_decompressed_bytes: int = 64 << 20) -> None:
        parts = predicate.parts if isinstance(predicate, And) else (predicate,)
        mine = [part for part in parts if _of_record(part) == of_records]
        stages: dict[int, list[Predicate]] = {}
        for part in mine:
            stages.setdefault(_cost(part), []).append(part)
        self._stages = [(And(tuple(stages[cost])), self._columns(stages[cost], store, segment)) for cost in sorted(stages)]
        self._max_decompressed_bytes = max_decompressed_bytes

    @staticmethod
    def _columns(parts: list[Predicate], store: str, segment: str) -> Columns:
        looked_at = [column for part in parts for column in part.columns()]
        names = {column.name for column in looked_at if column.key is None}
        return Columns(sorted(names), store, segment, {column.key for column in looked_at if column.key is not None})

    def __bool__(self) -> bool:
        """Whether there is any condition to check."""
        return bool(self._stages)

    def survivors(self, rows: Rows) -> Rows:
        """The rows for which the predicate is true."""
        for predicate, columns in self._stages:
            if not len(rows):
                break
            chosen = self._chosen(predicate, columns, rows)
            if not chosen.all():
                rows = rows.where(chosen)
        return rows

    def _chosen(self, predicate: Predicate, columns: Columns, rows: Rows) -> Mask:
        pieces = rows.with_bodies(self._max_decompressed_bytes) if "body" in columns.names else (rows,)
        found = [truth(predicate, columns.chunk(piece)).fill_null(False).to_numpy(zero_copy_only=False) for piece in pieces]
        return np.concatenate(found)


def truth(predicate: Predicate, chunk: Chunk) -> pa.Array:
    """True, false or null for each row."""
    match predicate:
        case And(parts):
            return _folded(pc.and_kleene, [truth(part, chunk) for part in parts], len(chunk.rows), True)
        case Or(parts):
            return _folded(pc.or_kleene, [truth(part, chunk) for part in parts], len(chunk.rows), False)
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
            found = pc.is_in(values, pa.array(allowed, values.type))
            return pc.if_else(values.is_valid(), found, pa.scalar(None, pa.bool_()))
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
    raise TypeError(f"no such predicate: {type(predicate).__name__}")


def _values(column: Column, chunk: Chunk) -> pa.Array:
    """The column's values; integers of any width and timestamps as 64-bit integers."""
    values = chunk.column(column.name) if column.key is None else chunk.property(column.key)
    if pa.types.is_timestamp(values.type):
        return values.view(pa.int64())
    return values.cast(pa.int64()) if pa.types.is_integer(values.type) else values


def _folded(both: Callable[[pa.Array, pa.Array], pa.Array], parts: list[pa.Array], count: int, empty: bool) -> pa.Array:
    whole = pa.repeat(pa.scalar(empty), count)
    for part in parts:
        whole = both(whole, part)
    return whole


def _matched(values: pa.Array, match: Callable[[pa.Array], pa.Array], match_one: Callable[[str], bool]) -> pa.Array:
    """Matches each distinct text once, because topics, tags and hosts repeat."""
    found = values.dictionary_encode()
    texts = found.dictionary
    if texts.nbytes <= _FEW_BYTES:  # the same few texts in every chunk; `match_one` caches its results
        return pa.array(list(map(match_one, texts.to_pylist())), pa.bool_()).take(found.indices)
    return match(texts).take(found.indices)


def _contains(lists: pa.Array, value: str) -> pa.Array:
    hits = pc.equal(lists.flatten(), pa.scalar(value, pa.string())).to_numpy(zero_copy_only=False)
    found = np.zeros(len(lists), np.bool_)
    found[pc.list_parent_indices(lists).to_numpy()[hits]] = True
    return pa.array(found, mask=lists.is_null().to_numpy(zero_copy_only=False))


def _of_record(predicate: Predicate) -> bool:
    return not any(COLUMNS[column.name].differs_in_batch for column in predicate.columns())


def _cost(predicate: Predicate) -> int:
    return max((COLUMNS[column.name].source for column in predicate.columns()), default=0)
