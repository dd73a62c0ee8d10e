"""The note that bodies are read although nobody chose columns: once, and only if it is worth a change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql.types import StructType
from support.stores import files_of, log_of, on_disk

from rmqstore_spark import reader
from rmqstore_spark.columns import spark_schema
from rmqstore_spark.source import RocketmqStore

NOTE = (
    "rocketmq-store: bodies are read: Spark asks a source in Python for every column, also for those that the query does not use. "
    "If it does not need bodies, name its columns: rmqstore_spark.read(spark, path, columns='topic,tags')\n"
)


@pytest.fixture(autouse=True)
def _new_session() -> Iterator[None]:
    reader._say_that_bodies_are_read.cache_clear()
    yield
    reader._say_that_bodies_are_read.cache_clear()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of several segments."""
    return on_disk(tmp_path, files_of(log_of(60))) / "store"


def plan(store: Path, schema: StructType | None = None, **options: str) -> None:
    source = RocketmqStore({"path": str(store), "maxpartitionbytes": "2k"} | options)
    source.reader(source.schema() if schema is None else schema).partitions()


def test_it_is_said_once(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plan(store)
    plan(store, topic="T1")
    assert capfd.readouterr().err.count(NOTE) == 1


def test_chosen_columns_are_what_the_user_wants(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plan(store, columns="topic,body")
    plan(store, columns="*")
    plan(store, columns="heads")
    plan(store, schema=spark_schema(("topic", "body")))
    plan(store, table="segments")
    assert "bodies" not in capfd.readouterr().err


def test_a_small_read_needs_no_advice(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plan(store, maxpartitionbytes="128m")
    assert "bodies" not in capfd.readouterr().err
