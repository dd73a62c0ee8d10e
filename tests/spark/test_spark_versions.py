"""What an older PySpark cannot do is said in one line, and what it can do works."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pysparks import HAS_FILTERS, HAS_STREAMS

import rmqstore_spark
from native_reader.errors import StoreError, UseError
from rmqstore_spark import refused
from rmqstore_spark.source import RocketmqStore

NO_STREAMS = f"streams need PySpark 4.2 or newer; this is {pyspark.__version__}. Batch reads work"
NO_FILTERS = f"filterPushdown=true needs PySpark 4.1 or newer; this is {pyspark.__version__}. Use the option where instead"


def test_a_stream_runs_or_says_which_pyspark_it_needs(spark: SparkSession, kept: Path, tmp_path: Path) -> None:
    frame = spark.readStream.format("rocketmq-store").option("startingOffsets", "earliest").load(str(kept))
    writer = frame.writeStream.format("parquet").option("path", str(tmp_path / "rows")).option("checkpointLocation", str(tmp_path / "c"))
    query = writer.trigger(availableNow=True).start()
    if HAS_STREAMS:
        query.awaitTermination()
        assert spark.read.parquet(str(tmp_path / "rows")).count() == 40
    else:
        with pytest.raises(PySparkException) as error:
            query.awaitTermination()
        assert rmqstore_spark.reason(error.value) == NO_STREAMS
        assert "UnboundLocalError" not in str(error.value)


def test_filters_are_pushed_or_an_error_says_which_pyspark_it_needs(spark: SparkSession, kept: Path) -> None:
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    frame = spark.read.format("rocketmq-store").option("filterPushdown", "true").load(str(kept)).filter("topic = 'T0'")
    if HAS_FILTERS:
        assert frame.count() == 14
    else:
        with pytest.raises(PySparkException) as error:
            frame.count()
        assert rmqstore_spark.reason(error.value) == NO_FILTERS


def test_a_stream_is_refused_when_it_begins_not_when_it_is_made(monkeypatch: pytest.MonkeyPatch, kept: Path) -> None:
    """Spark hides an error of `streamReader` behind one of its own."""
    monkeypatch.setattr(refused, "find_spec", lambda name: None)
    source = RocketmqStore({"path": str(kept)})
    reader = source.streamReader(source.schema())
    with pytest.raises(UseError) as error:
        reader.initialOffset()
    assert str(error.value) == NO_STREAMS


def test_filters_are_refused_without_the_classes_of_filters(monkeypatch: pytest.MonkeyPatch, kept: Path) -> None:
    monkeypatch.delattr("pyspark.sql.datasource.Filter", raising=False)
    source = RocketmqStore({"path": str(kept), "filterPushdown": "true"})
    with pytest.raises(StoreError) as error:
        source.reader(source.schema())
    assert str(error.value) == NO_FILTERS


def test_the_format_can_be_registered_twice(spark: SparkSession, kept: Path) -> None:
    """PySpark 4.0 rejects that; newer ones replace the first."""
    for _ in range(2):
        rmqstore_spark.register(spark)
    assert spark.read.format("rocketmq-store").load(str(kept)).count() == 40


class Session:
    """Stands for a session that cannot register."""

    version = "3.5.8"


class Registering(Session):
    def __init__(self, condition: str) -> None:
        self._condition = condition

    @property
    def dataSource(self) -> Registering:
        return self

    def register(self, source: object) -> None:
        raise AnalysisException(f"[{self._condition}] no", errorClass=self._condition, messageParameters={"name": "x"})


def test_a_spark_without_data_sources_in_python() -> None:
    with pytest.raises(UseError) as error:
        rmqstore_spark.register(Session())  # type: ignore[arg-type]
    assert str(error.value) == "rocketmq-store needs PySpark 4.0 or newer, which has data sources in Python; this is 3.5.8"


def test_register_hides_no_other_error() -> None:
    rmqstore_spark.register(Registering("DATA_SOURCE_ALREADY_EXISTS"))  # type: ignore[arg-type]
    with pytest.raises(AnalysisException):
        rmqstore_spark.register(Registering("DATA_SOURCE_NOT_FOUND"))  # type: ignore[arg-type]


def test_tests_with_the_same_spark_are_grouped(request: pytest.FixtureRequest) -> None:
    """pytest 9.2 ignores how pytest-xdist 3.8 marks groups. Then everything passes, in twice the time."""
    is_grouped = request.node.nodeid.endswith(("@processes", "@test_spark_versions"))
    assert is_grouped == bool(request.config.getoption("loadgroup", False))
