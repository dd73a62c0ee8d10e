"""`rmqstore_spark.reason` finds the one sentence in real errors of Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pysparks import streams
from support.stores import files_of, log_of, on_disk

import native_reader as nr
from native_reader.errors import OptionError
from rmqstore_spark import reason

EXAMPLES = Path(__file__).parents[2] / "examples"


def why(work: Callable[[], object]) -> str:
    """The reason why this fails."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - Spark has many types of errors
        work()
    found = reason(raised.value)
    assert "\n" not in found
    return found


def loaded(spark: SparkSession, path: object, **options: str) -> DataFrame:
    return spark.read.format("rocketmq-store").options(**options).load(str(path))


def damaged(folder: Path) -> str:
    log = log_of(30)
    files = files_of(log)
    name = "store/commitlog/" + "0" * 20
    place = log.placed[3].offset
    on_disk(folder, files | {name: files[name][: place + 4] + b"\xff" * 4 + files[name][place + 8 :]})
    return str(folder / "store")


def test_an_option_or_a_path_at_load(spark: SparkSession, kept: Path) -> None:
    said = why(lambda: loaded(spark, kept, startingOffset="earliest"))
    assert said == "unknown option 'startingoffset'. Did you mean 'startingOffsets'? python -m rmqstore_spark --options lists all options"
    assert why(lambda: loaded(spark, kept.parent / "stor")) == f"{(kept.parent / 'stor').as_uri()} does not exist. Did you mean 'store'?"


def test_an_action(spark: SparkSession, kept: Path, tmp_path: Path) -> None:
    frame = spark.read.format("rocketmq-store").schema("topic int").load(str(kept))
    assert why(frame.count) == "column 'topic' is string, but the schema has int. Cast it after loading"
    said = why(loaded(spark, damaged(tmp_path)).count)
    assert said.startswith(f"{(tmp_path / 'store/commitlog' / ('0' * 20)).as_uri()} at offset ")
    assert "Set mode=DROPMALFORMED to skip the damaged bytes" in said


def stream(spark: SparkSession, path: str, folder: Path, sink: Callable[[DataFrame, int], None] | None = None, **options: str) -> None:
    writer = spark.readStream.format("rocketmq-store").options(**options).load(path).writeStream
    writer = writer.foreachBatch(sink) if sink else writer.format("parquet").option("path", str(folder / "rows"))
    writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start().awaitTermination()


@streams
def test_a_stream(spark: SparkSession, kept: Path, tmp_path: Path) -> None:
    said = why(lambda: stream(spark, str(kept), tmp_path / "a", endingTimestamp="2020-01-01 00:00:00Z"))
    assert said == "endingTimestamp is not supported in a stream, which has no end. Omit it, or use spark.read"
    path = damaged(tmp_path)
    said = why(lambda: stream(spark, path, tmp_path / "b", startingOffsets="earliest"))
    assert said.startswith(f"{Path(path).as_uri()}/commitlog/{'0' * 20} at offset ")


MISSING = "topic 'oders' is not in the consume queues or the configuration: it is misspelled or was deleted. Did you mean 'orders'? "


@streams
def test_a_stream_of_a_missing_topic_waited_for_ever(spark: SparkSession, varied: Path, tmp_path: Path) -> None:
    said = why(loaded(spark, varied, topic="oders").count)
    assert said == f"{MISSING}Set failOnMissingTopic=false to search the log for a deleted topic"
    said = why(lambda: stream(spark, str(varied), tmp_path / "a", topic="oders"))
    assert said.startswith(f"{MISSING}Set failOnMissingTopic=false to wait for a topic that does not exist yet")
    assert loaded(spark, varied, topic="oders", failOnMissingTopic="false").count() == 0
    stream(spark, str(varied), tmp_path / "b", topic="oders", failOnMissingTopic="false")


@streams
def test_the_users_own_function(spark: SparkSession, kept: Path, tmp_path: Path) -> None:
    def fails(_frame: DataFrame, _batch: int) -> None:
        raise ValueError("the table\nis full")

    assert why(lambda: stream(spark, str(kept), tmp_path, fails, startingOffsets="earliest")) == "ValueError: the table is full"


def test_a_function_of_the_user_in_a_batch(spark: SparkSession, kept: Path) -> None:
    @sf.udf("string", useArrow=False)  # otherwise it warns of such annotations where there is a pandas
    def fails(_: Any) -> str:
        raise ValueError("no such customer")

    assert why(loaded(spark, kept).select(fails("topic")).collect) == "ValueError: no such customer"


def test_sparks_own_errors(spark: SparkSession, kept: Path) -> None:
    said = why(lambda: loaded(spark, kept).select("topik"))
    assert said.startswith(
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `topik` cannot be resolved"
    )
    assert said.endswith("].")
    assert why(lambda: spark.sql("SELEC 1")) == "[PARSE_SYNTAX_ERROR] Syntax error at or near 'SELEC'."
    assert why(lambda: spark.read.parquet("/no/such")) == "[PATH_NOT_FOUND] Path does not exist: file:/no/such."
    assert why(lambda: spark.sql("SELECT 1 / 0").collect()).startswith("[DIVIDE_BY_ZERO] Division by zero.")


def test_a_format_that_does_not_exist(spark: SparkSession) -> None:
    """Spark 4.3 raises an error of py4j, with 14,000 characters of stack."""
    said = why(lambda: spark.read.format("rocketmq-stor").load("x"))
    assert said.startswith("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: rocketmq-stor. Make sure")
    assert said.endswith("compatible with your Spark version.")


def test_a_host_without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    error = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    said = "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number"
    assert reason(error) == f"{said}. The lines above say why: this Java is new enough for Spark"
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    advice = "Spark needs Java 17 or newer. Install it, or set JAVA_HOME"
    assert reason(error) == f"Java is not on the PATH, and JAVA_HOME is not set. {advice}"
    monkeypatch.setenv("JAVA_HOME", "/no/such")
    assert reason(error).startswith("/no/such/bin/java does not start: ")
    assert reason(error).endswith(advice)


def test_an_example_without_java_names_what_is_missing(tmp_path: Path) -> None:
    """Spark's own script prints a line or two before."""
    command = [sys.executable, str(EXAMPLES / "dead_letters.py"), "store"]
    environment = {**os.environ, "JAVA_HOME": "/no/such"}
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("/no/such/bin/java does not start: ")


def test_errors_that_are_not_of_spark() -> None:
    assert why(lambda: nr.open("/no/such/store")).startswith("file:///no/such/store does not exist")
    assert reason(OptionError("no")) == "no"
    assert reason(KeyboardInterrupt()) == "KeyboardInterrupt"
    assert reason(ValueError("[NOT_SPARK] first\n\n second SQLSTATE: 00000")) == "[NOT_SPARK] first second SQLSTATE: 00000"
