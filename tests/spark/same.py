"""Frames with the same rows, of whatever types and in whatever order."""

from __future__ import annotations

from pyspark.sql import DataFrame, Row


def assert_same_rows(one: DataFrame, other: DataFrame) -> int:
    """Fail if their schemas or rows differ; else, how many rows there are.

    Sorted here by the columns that name a record: Spark cannot sort by maps, and to sort it reads everything twice.
    """
    assert one.schema == other.schema
    names = [name for name in ("store", "physical_offset", "inner_index", "queue_offset") if name in one.columns]
    assert "physical_offset" in names

    def place(row: Row) -> tuple[object, ...]:
        return tuple((row[name] is not None, row[name]) for name in names)

    rows = sorted(one.collect(), key=place)
    assert rows == sorted(other.collect(), key=place)
    return len(rows)
