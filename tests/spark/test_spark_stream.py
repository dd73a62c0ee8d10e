"""Spark streams: into files, with each trigger, through restarts, and with errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery
from pysparks import streams
from support.effort import mostly_long
from support.growing import Disk, GrowingStore
from support.stores import on_disk

import native_reader as nr
from rmqstore_spark.lag import LagListener, is_up_to_date, lags

pytestmark = streams


class OnDisk:
    """A store on disk that grows."""

    def __init__(self, root: Path, place: str = "store", *, seed: int = 1, records: int = 40) -> None:
        self._root, self._memory = root, Disk()
        self.log = GrowingStore(self._memory, place, Random(seed), segment_size=4096)
        self.append(records)

    @property
    def path(self) -> str:
        return str(self._root / self.log.place)

    def append(self, records: int) -> None:
        self.log.append(records)
        for file, content in self._memory.content.items():
            path = self._root / file
            if path.exists() and path.is_file() and path.stat().st_size == len(content):
                with path.open("r+b") as same:  # as a broker does
                    same.write(content)
            else:
                on_disk(self._root, {file: content})

    def expire(self, segments: int) -> None:
        self.log.expire(segments)
        for file in (self._root / self.log.place / "commitlog").iterdir():
            if int(file.name) < self.log.expired:
                file.unlink()


@pytest.fixture
def store(tmp_path: Path) -> OnDisk:
    return OnDisk(tmp_path)


@pytest.fixture(autouse=True)
def no_query_stays(spark: SparkSession) -> Iterator[None]:
    yield
    for query in spark.streams.active:
        query.stop()


def followed(spark: SparkSession, path: str, **options: str) -> DataFrame:
    return spark.readStream.format("rocketmq-store").options(**options).load(path)


def into_files(frame: DataFrame, folder: Path, **trigger: Any) -> StreamingQuery:
    writer = (
        frame.writeStream.format("parquet").option("path", str(folder / "rows")).option("checkpointLocation", str(folder / "checkpoint"))
    )
    return writer.trigger(**(trigger or {"availableNow": True})).start()


def finished(query: StreamingQuery) -> list[dict[str, Any]]:
    """All its batches, after it has read everything."""
    query.awaitTermination(120)
    assert not query.isActive
    return [json.loads(progress.json) for progress in query.recentProgress]


def rows_in(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.parquet(str(folder / "rows"))


def test_every_record_of_a_store_reaches_the_files_once(spark: SparkSession, store: OnDisk, tmp_path: Path) -> None:
    frame = followed(spark, store.path, startingOffsets="earliest", maxBytesPerTrigger="3k")
    batches = finished(into_files(frame, tmp_path))
    assert len(batches) > 4
    store.append(9)
    finished(into_files(frame, tmp_path))
    finished(into_files(frame, tmp_path))
    batch = spark.read.format("rocketmq-store").load(store.path)
    assert_df_equality(rows_in(spark, tmp_path).orderBy("physical_offset"), batch.orderBy("physical_offset"), ignore_nullable=True)


def test_trigger_once_is_one_batch(spark: SparkSession, store: OnDisk, tmp_path: Path) -> None:
    frame = followed(spark, store.path, startingOffsets="earliest", maxOffsetsPerTrigger="3")
    assert [batch["numInputRows"] for batch in finished(into_files(frame, tmp_path, once=True))] == [40]


def test_new_records_arrive_in_new_batches(spark: SparkSession, store: OnDisk, tmp_path: Path) -> None:
    query = into_files(followed(spark, store.path), tmp_path, processingTime="0 seconds")
    query.processAllAvailable()
    for _ in range(3):
        store.append(5)
        query.processAllAvailable()
    query.stop()
    assert len(list((tmp_path / "checkpoint/commits").glob("[0-9]*"))) == 4  # without new records there are no batches
    assert sorted(row["physical_offset"] for row in rows_in(spark, tmp_path).collect()) == [each.offset for each in store.log.placed[40:]]


@pytest.mark.gate
def test_progress_shows_the_lag(spark: SparkSession, store: OnDisk, tmp_path: Path) -> None:
    printed: list[str] = []
    listener = LagListener(printed.append)
    spark.streams.addListener(listener)
    try:
        frame = followed(spark, store.path, startingOffsets="earliest", maxOffsetsPerTrigger="25", columns="physical_offset,topic")
        query = into_files(frame, tmp_path)
        finished(query)
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    finally:
        spark.streams.removeListener(listener)
    uri, placed = Path(store.path).as_uri(), store.log.placed
    begin = placed[25].offset if placed[25].segment == placed[24].segment else placed[25].segment
    first, last = (list(lags(progress)) for progress in query.recentProgress[:2])
    assert [(lag.store, lag.bytes, lag.seconds) for lag in first] == [(uri, store.log.end - begin, 15.0)]
    assert first[0].rows == round((store.log.end - begin) * 25 / begin)
    assert [(lag.bytes, lag.seconds, lag.rows) for lag in last] == [(0, 0.0, 0)]
    assert is_up_to_date(query)
    size = f"{(store.log.end - begin) / 1024:.1f} KiB"
    assert [line.partition(": ")[2] for line in printed] == [
        f"{uri}: {size} behind, 15.0 s, about {first[0].rows} rows",
        f"{uri}: up to date",
    ]
    (source,) = json.loads(query.recentProgress[0].json)["sources"]
    assert source["endOffset"]["stores"][uri]["next"] == begin
    assert source["latestOffset"]["stores"][uri]["next"] == store.log.end


@pytest.mark.long
def test_two_streams_in_one_query(spark: SparkSession, tmp_path: Path) -> None:
    """The one without new records stays unchanged."""
    one, two = OnDisk(tmp_path / "a", records=5), OnDisk(tmp_path / "b", seed=2, records=7)
    frame = followed(spark, one.path, startingOffsets="earliest").union(followed(spark, two.path, startingOffsets="earliest"))
    finished(into_files(frame, tmp_path))
    two.append(2)
    finished(into_files(frame, tmp_path))
    one.append(1)
    finished(into_files(frame, tmp_path))
    found = rows_in(spark, tmp_path).groupBy("store").count().collect()
    assert {row["store"]: row["count"] for row in found} == {Path(one.path).as_uri(): 6, Path(two.path).as_uri(): 9}


@pytest.mark.gate
def test_a_new_store_below_the_path(spark: SparkSession, tmp_path: Path) -> None:
    OnDisk(tmp_path, "parent/one", records=5)
    frame = followed(spark, str(tmp_path / "parent"), startingOffsets="earliest")
    finished(into_files(frame, tmp_path))
    OnDisk(tmp_path, "parent/two", seed=2, records=7)
    finished(into_files(frame, tmp_path))
    assert rows_in(spark, tmp_path).count() == 12


def test_conditions_columns_and_a_schema(spark: SparkSession, store: OnDisk, tmp_path: Path) -> None:
    reader = spark.readStream.format("rocketmq-store").schema("physical_offset bigint, topic string")
    frame = reader.options(topic="T1", startingOffsets="earliest", maxOffsetsPerTrigger="7").load(store.path)
    finished(into_files(frame.where(sf.col("physical_offset") > 1000), tmp_path))
    expected = (
        nr.open(store.path).messages(topic="T1", where="physical_offset > 1000", columns="physical_offset,topic").to_table().to_pylist()
    )
    assert sorted(row.asDict()["physical_offset"] for row in rows_in(spark, tmp_path).collect()) == [
        row["physical_offset"] for row in expected
    ]


def test_batches_go_to_a_function_in_order(spark: SparkSession, store: OnDisk, tmp_path: Path) -> None:
    """The idempotent sink from the documentation: one folder for each batch."""

    def write(rows: DataFrame, number: int) -> None:
        rows.write.mode("overwrite").parquet(str(tmp_path / f"out/batch={number}"))

    frame = followed(spark, store.path, startingOffsets="earliest", maxOffsetsPerTrigger="15")
    query = frame.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
    finished(query)
    found = spark.read.parquet(str(tmp_path / "out")).groupBy("batch").count().orderBy("batch").collect()
    assert [row["count"] for row in found] == [15, 15, 10]


def failing(query: StreamingQuery) -> str:
    """The error that ends a query."""
    with pytest.raises(StreamingQueryException) as raised:
        query.awaitTermination(120)
    return str(raised.value)


@pytest.mark.gate
def test_a_loss_ends_the_query(spark: SparkSession, store: OnDisk, tmp_path: Path) -> None:
    frame = followed(spark, store.path, startingOffsets="earliest", maxOffsetsPerTrigger="2")
    query = into_files(frame, tmp_path, once=True)
    query.awaitTermination(120)
    end = store.log.end
    store.append(60)
    store.expire(8)
    assert store.log.expired == 32768 > end
    said = failing(into_files(frame, tmp_path))
    assert f"DataLoss: {Path(store.path).as_uri()}: offsets {end:,} to 32,768 " in said
    assert "To continue with the remaining data, set failOnDataLoss=false; to start over, use a new checkpointLocation" in said
    finished(into_files(followed(spark, store.path, startingOffsets="earliest", failOnDataLoss="false"), tmp_path))
    assert rows_in(spark, tmp_path).count() == 40 + sum(each.offset >= 32768 for each in store.log.placed)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"access": "trust"}, "OptionError: access=trust misses new messages in a stream"),
        (
            {"endingTimestamp": "1700000000005"},
            "OptionError: endingTimestamp is not supported in a stream, which has no end. Omit it, or use spark.read",
        ),
    ],
)
def test_a_store_that_cannot_be_followed_is_an_error(
    spark: SparkSession, store: OnDisk, tmp_path: Path, options: dict[str, str], sentence: str
) -> None:
    said = failing(into_files(followed(spark, store.path, **options), tmp_path))
    assert sentence in said
    assert "UnboundLocalError" not in said


EDITED = {
    "a newer version": (
        r'"version": 2',
        '"version": 3',
        "the checkpoint was written by a newer rmqstore-spark: its offsets have version 3",
    ),
    "next before last": (r'"next": \d+', '"next": 0', "next: expected more than "),
    "no stores": (r'"stores": .*, "version"', '"stores": {}, "version"', "was changed after it was written. checksum: expected "),
}


@pytest.mark.parametrize("what", mostly_long(EDITED, "a newer version"))
def test_an_edited_checkpoint_ends_the_query(spark: SparkSession, store: OnDisk, tmp_path: Path, what: str) -> None:
    pattern, put, sentence = EDITED[what]
    frame = followed(spark, store.path, startingOffsets="earliest")
    finished(into_files(frame, tmp_path))
    log = tmp_path / "checkpoint/offsets/0"
    log.write_text(re.sub(pattern, put, log.read_text()))
    (tmp_path / "checkpoint/offsets/.0.crc").unlink()
    said = failing(into_files(frame, tmp_path))
    assert "OffsetError: " in said
    assert sentence in said
    assert rows_in(spark, tmp_path).count() == 40


def test_a_checkpoint_contains_no_body_and_no_property(spark: SparkSession, store: OnDisk, tmp_path: Path) -> None:
    finished(into_files(followed(spark, store.path, startingOffsets="earliest", maxOffsetsPerTrigger="7"), tmp_path))
    kept = "".join(path.read_text(errors="replace") for path in (tmp_path / "checkpoint").rglob("*") if path.is_file())
    assert '"next"' in kept
    assert not any(word in kept for word in ("xxxx", "tag1", "k7"))
