"""Limit pushdown (`limitPushdown=true`), for Spark 5: a reader that ends when it has the rows that the query needs.

Spark 5 rejects every query on a reader that has `pushLimit`, unless `spark.sql.python.limitPushdown.enabled` is true. So this
reader is not the default. Older Sparks do not call the method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from native_reader.plan.plan import Plan
from native_reader.predicate.tree import EVERYTHING
from native_reader.scan.tasks import Task
from rmqstore_spark.reader import StoreReader

_IN_ONE_TASK = 10_000
"""So many rows are read sooner than a second task starts."""


class LimitReader(StoreReader):
    """Returns the first rows of each task, as many as the query needs of all of them. Spark applies the limit again."""

    _limit: int | None = None

    def pushLimit(self, limit: int) -> bool:
        """Take the limit of the query. Spark calls this before `partitions`, and not if it filters rows itself."""
        self._limit = limit
        return True

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The first rows of a partition."""
        rows = super().read(partition)
        return rows if self._limit is None else first_rows(rows, self._limit)

    def _tasks(self, plan: Plan) -> list[Task]:
        tasks = super()._tasks(plan)
        # With a condition, the rows can be far apart, and several tasks find them sooner.
        if self._limit is None or self._limit > _IN_ONE_TASK or self._request.predicate != EVERYTHING:
            return tasks
        return [Task(tuple(plan.splits))] if tasks else []


def first_rows(batches: Iterable[pa.RecordBatch], count: int) -> Iterator[pa.RecordBatch]:
    """The first rows; no batch after them is asked for."""
    for batch in batches:
        kept = batch.slice(0, count)
        count -= len(kept)
        yield kept
        if count <= 0:
            return
