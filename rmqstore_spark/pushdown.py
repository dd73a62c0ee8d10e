"""Filter pushdown (`filterPushdown=true`): converts the filters we can answer exactly, and a reader that accepts them.

Spark 4.3.0 keeps pushed filters with the loaded DataFrame and applies them to its other queries too: docs/filters.md. So
this reader is not the default.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import pyarrow as pa
from pyspark.sql import datasource as spark

from native_reader.columns.schema import COLUMNS
from native_reader.layout.times import EPOCH
from native_reader.predicate.patterns import can_like
from native_reader.predicate.tree import And, Column, Compare, In, IsNull, Like, Not, Predicate, Value, all_of
from rmqstore_spark.reader import LimitReader, StoreReader

_OPERATORS: dict[type[spark.Filter], str] = {
    spark.EqualTo: "=",
    spark.LessThan: "<",
    spark.LessThanOrEqual: "<=",
    spark.GreaterThan: ">",
    spark.GreaterThanOrEqual: ">=",
}


class PushdownReader(StoreReader):
    """Reads only what the filters of its single query need."""

    def pushFilters(self, filters: list[spark.Filter]) -> Iterable[spark.Filter]:
        """Accept the filters we can answer exactly; the others are returned for Spark to evaluate."""
        for each in filters:
            # Rows of damage match all our conditions, but no Spark filter.
            condition = None if self._request.projection.has_damage_rows else predicate_of(each)
            if condition is None:
                yield each
            else:
                self._request = replace(self._request, predicate=all_of((self._request.predicate, condition)))


class LimitedPushdownReader(LimitReader, PushdownReader):
    """Takes filters, and the limit of a query whose filters it took."""


def predicate_of(given: spark.Filter) -> Predicate | None:
    """The filter as our predicate; None if we cannot answer it exactly."""
    if isinstance(given, spark.Not):
        inside = predicate_of(given.child)
        return None if inside is None else Not(inside)
    column = _column(given)
    if column is None:
        return None
    match given:
        case spark.IsNull():
            return IsNull(column)
        case spark.IsNotNull():
            return Not(IsNull(column))
        case spark.EqualNullSafe(value=None):
            return IsNull(column)
        case spark.EqualNullSafe():
            value = _value(column, given.value)
            return None if value is None else And((Not(IsNull(column)), Compare(column, "=", value)))
        case spark.In():
            values = [_value(column, each) for each in given.value]
            return In(column, tuple(value for value in values if value is not None)) if values and None not in values else None
        case spark.StringStartsWith() | spark.StringEndsWith() | spark.StringContains():
            begin, end = ("" if isinstance(given, each) else "%" for each in (spark.StringStartsWith, spark.StringEndsWith))
            return _like(column, begin, given.value, end)
    operator, value = _OPERATORS.get(type(given)), _value(column, getattr(given, "value", None))
    return None if operator is None or value is None else Compare(column, operator, value)


def _column(given: spark.Filter) -> Column | None:
    """The column of a filter; None for nested fields, which Spark handles."""
    path: tuple[str, ...] = getattr(given, "attribute", ())
    return Column(path[0]) if len(path) == 1 and path[0] in COLUMNS else None


def _value(column: Column, value: object) -> Value | None:
    """The value as our predicates store it; None if it is not of the column's type."""
    kind = COLUMNS[column.name].type
    if pa.types.is_timestamp(kind):
        return (value - EPOCH) // timedelta(microseconds=1) if isinstance(value, datetime) and value.tzinfo is not None else None
    if pa.types.is_integer(kind):
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    if pa.types.is_string(kind):
        return value if isinstance(value, str) else None
    return value if pa.types.is_binary(kind) and isinstance(value, bytes) else None


def _like(column: Column, prefix: str, text: str, suffix: str) -> Predicate | None:
    if not pa.types.is_string(COLUMNS[column.name].type):
        return None
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    pattern = f"{prefix}{escaped}{suffix}"
    return Like(column, pattern) if can_like(pattern) else None
