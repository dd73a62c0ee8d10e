"""A batch read: planned on the driver; each task then reads its ranges of the log."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from socket import gethostname

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from native_reader.errors import spelled
from native_reader.plan.estimate import SCAN
from native_reader.plan.explain import BIG, stale_text
from native_reader.plan.plan import Plan
from native_reader.predicate.tree import Predicate
from native_reader.scan.ahead import side_by_side
from native_reader.scan.read import Projection, Reading, Shared
from rmqstore_spark.options import in_sparks_words, spark_name
from rmqstore_spark.request import Request

_AHEAD = 8 << 20
"""The bytes of batches that are made while Spark processes one; the pipe to Spark holds little."""


class StoreReader(DataSourceReader):
    """Sent with every task, so it holds the request, never its results."""

    def __init__(self, request: Request) -> None:
        self._request, self._planned_on = request, gethostname()
        self._projection, self._predicate = request.projection, request.predicate

    def partitions(self) -> Sequence[InputPartition]:
        """Ranges of the log as of now."""
        with in_sparks_words():
            scan = self._request.scan(self._predicate)
            plan = scan.plan()
            parts = partitions_of(plan)
            for doubt in scan.doubts(spark_name):
                announce(doubt)
            for uri, size in plan.stale:
                announce(f"not read: {stale_text(uri, size)}")
            if plan.bytes_to_scan >= BIG or plan.bytes_to_prune or plan.bytes_skipped:
                announce(scan.explain().in_short(len(parts)))
            return parts

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The rows of a partition. For an empty plan, Spark passes None: 4.0 as the partition, newer ones as its value."""
        self._request.connect()
        return rows_of(partition, self._projection, self._predicate, self._planned_on)


def partitions_of(plan: Plan) -> list[InputPartition]:
    """The tasks of a plan. Spark sends each one separately, so each holds all that its splits need."""
    tasks = plan.packed()
    return [InputPartition((task, plan.pruning if any(split.access != SCAN for split in task) else None)) for task in tasks]


def rows_of(partition: InputPartition | None, projection: Projection, predicate: Predicate, planned_on: str) -> Iterator[pa.RecordBatch]:
    """The rows of one task."""
    with in_sparks_words(planned_on):
        splits, pruning = (partition and partition.value) or ((), None)
        shared = Shared()
        readings = (Reading(split, projection, predicate, pruning, shared) for split in splits)
        yield from side_by_side(readings, 1, most=_AHEAD)


class TableReader(DataSourceReader):
    """A table other than `messages`: one task for each part."""

    def __init__(self, request: Request) -> None:
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
