"""A batch read: planned on the driver; each task then reads its ranges of the log.

Limit pushdown (`limitPushdown=true`) is for Spark 5, where a reader ends when it has the rows that the query needs. Spark 5 rejects every
query on a reader that has `pushLimit`, unless `spark.sql.python.limitPushdown.enabled` is true. So this reader is not the default. Older
Sparks do not call the method.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from socket import gethostname

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from native_reader.errors import option_name, spelled
from native_reader.plan.plan import Plan
from native_reader.predicate.tree import EVERYTHING
from native_reader.scan.run import Task, tasks_of
from rmqstore_spark.options import in_sparks_words, spark_name
from rmqstore_spark.request import LoadRequest

_AHEAD = 8 << 20
"""The bytes of batches that are made while Spark processes one; the pipe to Spark holds little."""
_IF_DELETED = f"Set {option_name('fail_on_missing_topic', False)} to search the log for a deleted topic"


class StoreReader(DataSourceReader):
    """Sent with every task, so it holds the request, never its results."""

    def __init__(self, request: LoadRequest) -> None:
        self._request, self._planned_on = request, gethostname()

    def partitions(self) -> Sequence[InputPartition]:
        """Ranges of the log as of now."""
        with in_sparks_words():
            store = self._request.open()
            self._request.check_topics(store, _IF_DELETED)
            scan = self._request.scan(store)
            parts = partitions_of(self._tasks(scan.plan()))
            for line in (*scan.doubts(spark_name), *scan.explain().remarks(len(parts))):
                announce(line)
            if len(parts) > 1 and self._request.has_unasked_bodies:
                _say_that_bodies_are_read()
            return parts

    def _tasks(self, plan: Plan) -> list[Task]:
        return tasks_of(plan)

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The rows of a partition. For an empty plan, Spark passes None: 4.0 as the partition, newer ones as its value."""
        return rows_of(partition, self._request, self._planned_on)


def partitions_of(tasks: Iterable[Task]) -> list[InputPartition]:
    """The tasks as Spark sends them."""
    return [InputPartition(task) for task in tasks]


def rows_of(partition: InputPartition | None, request: LoadRequest, planned_on: str) -> Iterator[pa.RecordBatch]:
    """The rows of one task."""
    request.connect()
    with in_sparks_words(planned_on):
        if partition is not None and partition.value is not None:
            yield from partition.value.batches(request.projection, request.predicate, _AHEAD)


class TableReader(DataSourceReader):
    """A table other than `messages`: one task for each part."""

    def __init__(self, request: LoadRequest) -> None:
        self._request, self._planned_on = request, gethostname()

    def partitions(self) -> Sequence[InputPartition]:
        """The parts of the table as of now."""
        with in_sparks_words():
            return [InputPartition(part) for part in self._request.parts()]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The rows of a part. For an empty plan, Spark passes None: 4.0 as the partition, newer ones as its value."""
        with in_sparks_words(self._planned_on):
            if partition is not None and partition.value is not None:
                self._request.connect()
                yield from self._request.other().read(partition.value, self._request.projection, self._request.selection)


def announce(line: str) -> None:
    """Print one line to standard error, because Spark does not show INFO logs of its Python workers."""
    sys.stderr.write(f"rocketmq-store: {spelled(line, spark_name)}\n")
    sys.stderr.flush()


@cache
def _say_that_bodies_are_read() -> None:
    """Once in a process: Spark plans all queries of a session in the same one, as a rule.

    Spark 4.3 tells a Python source nothing of the columns that a query needs, so this is said of queries that need bodies, too.
    """
    announce(
        "bodies are read: Spark asks a source in Python for every column, also for those that the query does not use. "
        "If it does not need bodies, name its columns: rmqstore_spark.read(spark, path, columns='topic,tags')"
    )


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
