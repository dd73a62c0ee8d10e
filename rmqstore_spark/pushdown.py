"""Filters that Spark hands over (`filterPushdown=true`): which of them can be answered here exactly, and a reader that takes them.

Spark 4.3.0 keeps what was pushed with the loaded frame and gives it to every other query of it: docs/filters.md. So this is
not the reader that comes unasked.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from pyspark.sql import datasource as spark

from native_reader.predicate.patterns import can_like
from native_reader.predicate.tree import And, Column, Compare, In, IsNull, Like, Not, Predicate, Value, all_of
from native_reader.schema import COLUMNS
from rmqstore_spark.reader import StoreReader

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OPERATORS: dict[type[spark.Filter], str] = {
    spark.EqualTo: "=",
    spark.LessThan: "<",
    spark.LessThanOrEqual: "<=",
    spark.GreaterThan: ">",
    spark.GreaterThanOrEqual: ">=",
}


class PushdownReader(StoreReader):
    """Reads no more than the filters of its one query want."""

    def pushFilters(self, filters: list[spark.Filter]) -> Iterable[spark.Filter]:
        """Takes those it can answer exactly; Spark evaluates the others, which come back as they are."""
        for each in filters:
            # Rows of damage pass every condition of ours, and no filter of Spark's.
            found = None if self._projection.tells_damage else predicate_of(each)
            if found is None:
                yield each
            else:
                self._predicate = all_of((self._predicate, found))


def predicate_of(told: spark.Filter) -> Predicate | None:
    """The same condition in our words; None where it is not ours to answer."""
    if isinstance(told, spark.Not):
        inside = predicate_of(told.child)
        return None if inside is None else Not(inside)
    column = _column(told)
    if column is None:
        return None
    match told:
        case spark.IsNull():
            return IsNull(column)
        case spark.IsNotNull():
            return Not(IsNull(column))
        case spark.EqualNullSafe(value=None):
            return IsNull(column)
        case spark.EqualNullSafe():
            value = _value(column, told.value)
            return None if value is None else And((Not(IsNull(column)), Compare(column, "=", value)))
        case spark.In():
            values = [_value(column, each) for each in told.value]
            return In(column, tuple(value for value in values if value is not None)) if values and None not in values else None
        case spark.StringStartsWith():
            return _like(column, "", told.value, "%")
        case spark.StringEndsWith():
            return _like(column, "%", told.value, "")
        case spark.StringContains():
            return _like(column, "%", told.value, "%")
    operator, value = _OPERATORS.get(type(told)), _value(column, getattr(told, "value", None))
    return None if operator is None or value is None else Compare(column, operator, value)


def _column(told: spark.Filter) -> Column | None:
    """The column of ours that a filter is on; parts of a column are left to Spark."""
    path: tuple[str, ...] = getattr(told, "attribute", ())
    return Column(path[0]) if len(path) == 1 and path[0] in COLUMNS else None


def _value(column: Column, value: object) -> Value | None:
    """A value as our conditions have it, if it is of the column's own type."""
    kind = COLUMNS[column.name].type
    if pa.types.is_timestamp(kind):
        return (value - _EPOCH) // timedelta(microseconds=1) if isinstance(value, datetime) and value.tzinfo is not None else None
    if pa.types.is_integer(kind):
        return value if isinstance(value, int) and not isinstance(value, bool) else None
    if pa.types.is_string(kind):
        return value if isinstance(value, str) else None
    return value if pa.types.is_binary(kind) and isinstance(value, bytes) else None


def _like(column: Column, before: str, text: str, behind: str) -> Predicate | None:
    if not pa.types.is_string(COLUMNS[column.name].type):
        return None
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    pattern = f"{before}{escaped}{behind}"
    return Like(column, pattern) if can_like(pattern) else None
