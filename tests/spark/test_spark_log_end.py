"""In Spark: a read that begins inside a body, a log whose end is lost, and records that a broker truncated."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pysparks import streams
from support.forged import FORGED, forged_log
from support.log_ends import checkpoint, cut_log
from support.queued_stores import dispatched
from support.stores import files_of, log_of, on_disk


class Inside(NamedTuple):
    """A store to be read from inside a body."""

    path: str
    options: dict[str, Any]
    expected: list[int]


@pytest.fixture(params=[True, False], ids=["queues", "no queues"])
def inside(request: pytest.FixtureRequest, tmp_path: Path) -> Inside:
    log = forged_log(30, 1 << 16)
    path = str(on_disk(tmp_path, files_of(log) | (dispatched(log.placed) if request.param else {})) / "store")
    outer = next(each for each in log.placed if FORGED.encode() in each.message.body)
    options = {"startingPhysicalOffset": outer.offset + 1, "columns": "topic,physical_offset"}
    return Inside(path, options, [each.offset for each in log.placed if each.offset > outer.offset])


def test_a_batch_that_begins_inside_a_body(spark: SparkSession, inside: Inside) -> None:
    rows = spark.read.format("rocketmq-store").options(**inside.options).load(inside.path).collect()
    assert sorted(row.physical_offset for row in rows) == inside.expected


@streams
def test_a_stream_that_begins_inside_a_body(spark: SparkSession, inside: Inside, tmp_path: Path) -> None:
    frame = spark.readStream.format("rocketmq-store").options(**inside.options).load(inside.path)
    stream = frame.writeStream.format("memory").queryName("certain")
    stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start().awaitTermination()
    assert sorted(row.physical_offset for row in spark.table("certain").collect()) == inside.expected


def test_a_lost_end_fails_a_batch_and_says_how_to_continue(spark: SparkSession, tmp_path: Path) -> None:
    log = log_of(100, 4096)
    store = on_disk(tmp_path, files_of(log) | dispatched(log.placed)) / "store"
    last = max(each.segment for each in log.placed)
    (store / "commitlog" / f"{last:020}").unlink()
    left = sum(each.segment < last for each in log.placed)
    found = f"{100 - left} records in 3 queues are after the end of the log at offset {last:,}"
    with pytest.raises(PySparkException, match=f"{found}.*Set failOnDataLoss=false to read the rest"):
        spark.read.format("rocketmq-store").load(str(store)).count()
    assert spark.read.format("rocketmq-store").option("failOnDataLoss", "false").load(str(store)).count() == left
    (row,) = spark.read.format("rocketmq-store").option("table", "damage").load(str(store)).collect()
    assert (row.reason, row.start_offset) == ("lost", last)


def test_records_that_a_broker_truncated_give_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    files, _, _ = cut_log()
    store = on_disk(tmp_path, files | {"store/checkpoint": checkpoint(flushed=5024)}) / "store"
    assert spark.read.format("rocketmq-store").load(str(store)).count() == 25
