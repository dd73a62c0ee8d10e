"""Limit pushdown, which Spark 5 calls as these tests do: pushFilters, pushLimit, partitions, read. Older Sparks never call pushLimit."""

from __future__ import annotations

import pickle
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSourceReader
from support.stores import files_of, log_of, on_disk

from rmqstore_spark.columns import spark_schema
from rmqstore_spark.reader import LimitReader, first_rows
from rmqstore_spark.source import RocketmqStore

COUNT = 60


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of many segments: ordinary reads of it have several tasks."""
    return on_disk(tmp_path_factory.mktemp("limit"), files_of(log_of(COUNT))) / "store"


def reader_of(path: Path, **options: str) -> DataSourceReader:
    given = {"path": str(path), "maxpartitionbytes": "2k"} | {name.lower(): value for name, value in options.items()}
    return RocketmqStore(given).reader(spark_schema(("topic", "queue_offset"), None))


def limited(path: Path, limit: int, **options: str) -> list[list[int]]:
    """The queue offsets that each task reads."""
    reader = reader_of(path, limitPushdown="true", **options)
    assert isinstance(reader, LimitReader)
    assert reader.pushLimit(limit) is True
    return offsets(reader)


def offsets(reader: DataSourceReader) -> list[list[int]]:
    parts = reader.partitions()
    sent = pickle.loads(pickle.dumps(reader))
    return [[offset for batch in sent.read(part) for offset in batch.column("queue_offset").to_pylist()] for part in parts]


@pytest.mark.parametrize("limit", [1, 7, COUNT, COUNT + 5])
def test_one_task_reads_the_first_rows(path: Path, limit: int) -> None:
    assert len(offsets(reader_of(path))) > 3
    assert limited(path, limit) == [list(range(COUNT))[:limit]]


def test_many_rows_or_a_condition_are_read_by_several_tasks(path: Path) -> None:
    """Each ends after as many rows as the query needs."""
    tasks = limited(path, 2, topic="T1")
    assert len(tasks) > 3
    assert all(1 <= len(task) <= 2 for task in tasks)
    several = limited(path, 10_001)
    assert len(several) > 3
    assert sorted(chain(*several)) == list(range(COUNT))


def test_without_a_limit_all_rows_are_read(path: Path) -> None:
    """Spark does not call pushLimit for a query without one."""
    assert sorted(chain(*offsets(reader_of(path, limitPushdown="true")))) == list(range(COUNT))


def test_a_filter_comes_before_the_limit(path: Path) -> None:
    filters = pytest.importorskip("rmqstore_spark.pushdown", reason="PySpark before 4.1 has no filters")
    from pyspark.sql.datasource import EqualTo

    reader = reader_of(path, limitPushdown="true", filterPushdown="true")
    assert isinstance(reader, filters.LimitedPushdownReader)
    assert list(reader.pushFilters([EqualTo(("topic",), "T1")])) == []
    assert reader.pushLimit(1) is True
    assert {len(task) for task in offsets(reader)} == {1}


def test_the_rest_is_not_asked_for() -> None:
    asked = []

    def batches():
        for number in range(3):
            asked.append(number)
            yield pa.record_batch({"n": [number, number]})

    assert [batch.num_rows for batch in first_rows(batches(), 3)] == [2, 1]
    assert asked == [0, 1]


def test_other_readers_have_no_limit(path: Path) -> None:
    """Spark 5 rejects all queries on a reader with this method, unless a setting that is off by default is on."""
    for reader in (reader_of(path), reader_of(path, limitPushdown="false"), reader_of(path, filterPushdown="true")):
        assert getattr(type(reader), "pushLimit", None) is getattr(DataSourceReader, "pushLimit", None)


def test_this_spark_returns_the_same_rows(spark: SparkSession, path: Path) -> None:
    """Also if the frame is used again."""
    frame = spark.read.format("rocketmq-store").option("columns", "queue_offset").option("limitPushdown", "true").load(str(path))
    assert [row.queue_offset for row in frame.limit(3).collect()] == [0, 1, 2]
    assert frame.count() == COUNT
