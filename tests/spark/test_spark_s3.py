"""Stores in object storage, read by Spark: its tasks get the options, and nothing shows the secrets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pysparks import streams
from support.object_store import DENIED, KEY, SECRET, TOKEN, Bucket, bucket_of
from support.stores import files_of, log_of

SECRETS = (KEY, SECRET, TOKEN)


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    """A bucket with a store of 40 records."""
    with bucket_of(files_of(log_of(40))) as made:
        yield made


def options(bucket: Bucket) -> dict[str, str]:
    return {f"fs.{name}": str(value) for name, value in bucket.link.fs.items()} | {"fs.session_token": TOKEN}


def loaded(spark: SparkSession, bucket: Bucket, **more: str) -> DataFrame:
    return spark.read.format("rocketmq-store").options(**options(bucket)).options(**more).load(f"{bucket.url}/store")


def without_secrets(text: str) -> str:
    assert not any(secret in text for secret in SECRETS)
    return text


def test_a_batch_and_its_tables(spark: SparkSession, bucket: Bucket) -> None:
    rows = loaded(spark, bucket, minPartitions="3").select("store", "queue_offset").collect()
    assert sorted(row.queue_offset for row in rows) == list(range(40))
    assert {row.store for row in rows} == {f"{bucket.url}/store"}
    segments = loaded(spark, bucket, table="segments")
    assert segments.selectExpr("sum(records)").collect()[0][0] == 40
    assert loaded(spark, bucket, table="findings", where="severity = 'error'").count() == 0


@pytest.mark.gate
def test_tasks_of_several_buckets_use_their_own_options(spark: SparkSession, bucket: Bucket) -> None:
    """Workers of Spark read for one request after another."""
    first = loaded(spark, bucket)
    with bucket_of(files_of(log_of(7))) as other:
        second = loaded(spark, other)
        assert [first.count(), second.count(), first.count(), second.count()] == [40, 7, 40, 7]
    unknown = spark.read.format("rocketmq-store").options(
        **options(bucket) | {"fs.endpoint_override": "127.0.0.1:9", "fs.connect_timeout": "1"}
    )
    with pytest.raises(Exception, match="no connection"):
        unknown.load(f"{bucket.url}/store")
    assert loaded(spark, bucket).count() == 40


def test_no_plan_and_no_error_shows_a_secret(spark: SparkSession, bucket: Bucket, capfd: pytest.CaptureFixture[str]) -> None:
    frame = loaded(spark, bucket)
    frame.explain(extended=True)
    frame.explain("formatted")
    loaded(spark, bucket, keys="k5").collect()
    plan = frame._jdf.queryExecution()  # type: ignore[operator]
    for text in (plan.toString(), plan.analyzed().toJSON(), plan.executedPlan().treeString()):
        without_secrets(text)
    message = DENIED._replace(body=DENIED.body.replace(b"Access Denied", f"{KEY} and {SECRET} and {TOKEN}".encode()))
    bucket.link.fault = lambda call: message if call.kind == "get" else None
    with pytest.raises(Exception, match=r"could not read .* at byte 0: access denied") as unread:
        frame.collect()
    without_secrets(str(unread.value))
    bucket.link.fault = lambda call: message if call.kind == "list" else None  # the text of other answers does not always arrive
    with pytest.raises(Exception, match=r"could not \S.*: access denied") as raised:
        loaded(spark, bucket)
    assert "*** and *** and ***" in without_secrets(str(raised.value))
    with pytest.raises(Exception, match=r"the option fs\.secretkey is not supported\. Did you mean 'fs\.secret_key'\?") as wrong:
        loaded(spark, bucket, **{"fs.secretkey": SECRET})
    without_secrets(str(wrong.value))
    output = capfd.readouterr()
    without_secrets(output.out + output.err)


@streams
@pytest.mark.long
def test_a_stream_of_a_copy_that_is_synced(spark: SparkSession, bucket: Bucket, tmp_path: Path) -> None:
    """A sync replaces the last segment and adds others. Each row comes once, and the checkpoint has no secret."""
    reader = spark.readStream.format("rocketmq-store").options(**options(bucket)).option("startingOffsets", "earliest")
    checkpoint, table = tmp_path / "checkpoint", tmp_path / "rows"
    for count in (40, 75, 75, 90):
        for name, content in files_of(log_of(count)).items():
            before = bucket.client.list_objects_v2(Bucket=bucket.name, Prefix=name).get("Contents")
            if not before:
                bucket.put(name, content)
            elif bucket.client.get_object(Bucket=bucket.name, Key=name)["Body"].read() != content:
                bucket.replace(name, content)
        stream = reader.load(f"{bucket.url}/store").select("queue_offset").writeStream.format("parquet")
        query = stream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start(str(table))
        query.awaitTermination()
        without_secrets(str(query.recentProgress))
        found = sorted(row.queue_offset for row in spark.read.parquet(str(table)).collect())
        assert found == list(range(count))
    for path in checkpoint.rglob("*"):
        assert path.is_dir() or not any(secret.encode() in path.read_bytes() for secret in SECRETS)
