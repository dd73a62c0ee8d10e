"""Frames have the rows of the engine, whatever the options, and whatever Spark does with the frame."""

from __future__ import annotations

import doctest
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from chispa import assert_df_equality
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pysparks import PLANS_ONCE
from same import assert_same_rows
from support import golden
from support.effort import at_effort, mostly_long, thinned
from support.own_stores import NAMES as OWN_STORES
from support.own_stores import STORES
from support.stores import files_of, log_of, message, on_disk
from support.verified import OFFSETS, healthy

import native_reader as nr
import rmqstore_spark
from native_reader.columns.schema import COLUMNS, DEFAULT_COLUMNS, projected


def load(spark: SparkSession, path: object = None, **options: object) -> DataFrame:
    return spark.read.format("rocketmq-store").options(**options).load(None if path is None else str(path))


def in_order(table: pa.Table) -> list[dict[str, object]]:
    """Rows as Python objects, in log order."""
    return sorted(table.to_pylist(), key=lambda row: (row["store"], row["physical_offset"], row.get("inner_index") or 0))


def expected(path: Path, **options: object) -> pa.Table:
    return nr.open(path).messages(**options).to_table()


@pytest.mark.parametrize("columns", ["*", "heads", "store,physical_offset,body", None])
@pytest.mark.parametrize("most", mostly_long(["400k", "128m"], "400k"))
def test_spark_gives_the_rows_of_the_engine(spark: SparkSession, varied: Path, columns: str | None, most: str) -> None:
    frame = load(spark, varied, maxPartitionBytes=most, **({} if columns is None else {"columns": columns}))
    found = frame.toArrow()
    assert found.schema.names == list(projected(columns))
    mine = expected(varied, columns=columns)
    assert in_order(found.cast(mine.schema)) == in_order(mine)


@pytest.mark.sweep
def test_every_column_can_be_selected_alone(spark: SparkSession, varied: Path) -> None:
    for name in at_effort(list(COLUMNS)[::5], list(COLUMNS)):
        found = load(spark, varied, columns=name).toArrow()
        mine = expected(varied, columns=name)
        key = str
        assert sorted(map(key, found.cast(mine.schema)[name].to_pylist())) == sorted(map(key, mine[name].to_pylist())), name


def test_a_user_schema_selects_columns_in_its_order(spark: SparkSession, kept: Path) -> None:
    frame = spark.read.format("rocketmq-store").schema("body binary, topic string, keys array<string>").load(str(kept))
    assert frame.columns == ["body", "topic", "keys"]
    assert_df_equality(frame, load(spark, kept).select("body", "topic", "keys"), ignore_row_order=True)


def test_the_schema_of_a_frame_is_accepted(spark: SparkSession, varied: Path) -> None:
    wide = load(spark, varied, columns="*")
    again = spark.read.format("rocketmq-store").schema(wide.schema).load(str(varied))
    assert_same_rows(again, wide)


OPTIONS: list[tuple[dict[str, object], dict[str, object]]] = [
    ({"topic": "T0"}, {"topic": "T0"}),
    ({"topic": "T0, T2"}, {"topic": ["T0", "T2"]}),
    ({"TOPIC": "T1"}, {"topic": "T1"}),
    ({"topicPattern": "T[01]"}, {"topic_pattern": "T[01]"}),
    ({"queueId": "0"}, {"queue_id": 0}),
    ({"queueId": "7, 0"}, {"queue_id": [7, 0]}),
    ({"startingTimestamp": "1700000000010"}, {"starting_timestamp": 1_700_000_000_010}),
    (
        {"startingTimestamp": "2023-11-14T22:13:20.010Z", "endingTimestamp": 1_700_000_000_020},
        {"starting_timestamp": 1_700_000_000_010, "ending_timestamp": 1_700_000_000_020},
    ),
    (
        {"startingPhysicalOffset": "2048", "endingPhysicalOffset": "4000"},
        {"starting_physical_offset": 2048, "ending_physical_offset": 4000},
    ),
    ({"systemTopics": "FALSE"}, {"system_topics": False}),
    ({"verifyCrc": "true"}, {"verify_crc": True}),
    ({"failOnDataLoss": "false"}, {"fail_on_data_loss": False}),
    ({"maxRecordBytes": "1k", "maxDecompressedBytes": "1k"}, {"max_record_bytes": "1k"}),
    ({"minPartitions": "7"}, {}),
    ({"mode": "failfast", "table": "messages", "access": "scan", "filterPushdown": "false", "timeZone": "UTC"}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "meant"), thinned(OPTIONS, 8), ids=",".join)
def test_options_have_the_same_effect_as_in_python(
    spark: SparkSession, kept: Path, asked: dict[str, object], meant: dict[str, object]
) -> None:
    found = in_order(load(spark, kept, **asked).toArrow().cast(expected(kept).schema))
    assert found == in_order(expected(kept, **meant))


def test_the_size_and_number_of_partitions(spark: SparkSession, varied: Path) -> None:
    def tasks(**options: object) -> int:
        return load(spark, varied, **options).rdd.getNumPartitions()

    assert tasks() == 1  # four segments of 1 MiB are combined
    assert tasks(maxPartitionBytes="1m") == 4
    assert tasks(maxPartitionBytes="100k") >= 40
    assert tasks(minPartitions=9) >= 9
    assert tasks(minPartitions=2, maxPartitionBytes="1m") == 4


def test_a_partition_can_be_smaller_than_a_record(spark: SparkSession, tmp_path: Path) -> None:
    store = on_disk(tmp_path, files_of(log_of(8))) / "store"
    frame = load(spark, store, maxPartitionBytes="50")
    assert frame.rdd.getNumPartitions() > 16
    assert assert_same_rows(frame, load(spark, store)) == 8


def test_several_paths_a_glob_and_a_parent_make_one_frame(spark: SparkSession, tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b")):
        on_disk(tmp_path, files_of(log_of(10 + number), f"{name}/commitlog"))
    a, b = tmp_path / "a", tmp_path / "b"
    several = spark.read.format("rocketmq-store").load([str(a), str(b)])
    assert several.groupBy("store").count().orderBy("count").collect() == [(a.as_uri(), 10), (b.as_uri(), 11)]
    for path in (tmp_path, tmp_path / "*", f"{tmp_path}/[ab]/commitlog"):
        assert_same_rows(load(spark, path), several)
    assert load(spark, a / "commitlog" / ("0" * 20)).count() == expected(a, ending_physical_offset=2048).num_rows


def test_parts_on_other_disks_are_read(spark: SparkSession, tmp_path: Path) -> None:
    on_disk(tmp_path, files_of(log_of(10), "disk1/log") | {"home/consumequeue/": b"", "home/config/": b""})
    (tmp_path / "broker.conf").write_text(f"storePathRootDir={tmp_path}/home\nstorePathCommitLog={tmp_path}/disk1/log\n")
    assert load(spark, brokerConf=tmp_path / "broker.conf").count() == 10
    assert load(spark, storePathCommitLog=tmp_path / "disk1/log").count() == 10
    assert load(spark, tmp_path / "home", storePathCommitLog=f"{tmp_path}/disk1/log,{tmp_path}/disk2").count() == 10


def test_a_path_may_be_relative_and_file_uris_are_paths(spark: SparkSession, kept: Path) -> None:
    assert load(spark, kept.as_uri()).count() == 40
    assert load(spark, f"file:{kept}").count() == 40
    assert load(spark, os.path.relpath(kept)).count() == 40


def test_a_read_of_what_one_query_needs(spark: SparkSession, kept: Path) -> None:
    """The format is registered where it is not known; several stores, the columns in any form, and errors as those of load."""
    frame = rmqstore_spark.read(
        spark.newSession(), str(kept), columns=["topic", "physical_offset"], where="topic IN ('T0', 'T1')", tail="available"
    )
    assert frame.columns == ["topic", "physical_offset"]
    assert assert_same_rows(frame, load(spark, kept, columns="topic,physical_offset", topic="T0,T1")) > 0
    assert rmqstore_spark.read(spark, [str(kept)], columns="heads", systemTopics=True, where=None).count() == 40
    with pytest.raises(AnalysisException) as raised:
        rmqstore_spark.read(spark, str(kept), column="topic")
    assert "unknown option 'column'. Did you mean 'columns'?" in rmqstore_spark.reason(raised.value)
    with pytest.raises(AnalysisException) as raised:
        rmqstore_spark.read(spark, str(kept / "no"))
    assert "does not exist" in rmqstore_spark.reason(raised.value)


def test_the_account_is_that_of_python(spark: SparkSession, kept: Path) -> None:
    check = nr.open(kept).verify()
    check.to_table()
    found = rmqstore_spark.account(spark, str(kept))
    assert found.messages == check.account.messages
    assert found.table.sort_by("topic").equals(check.account.table.sort_by("topic"))


def test_the_account_of_a_damaged_store_is_that_of_python(spark: SparkSession, tmp_path: Path) -> None:
    """A segment is gone, one has zeros, a tag contradicts its entry, a queue has no files, and a group is ahead. Each segment is a task."""
    _, files = healthy(60)
    segments = sorted(name for name in files if "/commitlog/" in name)
    assert len(segments) > 4
    del files[segments[1]]
    files[segments[2]] = files[segments[2]][:200] + bytes(700) + files[segments[2]][900:]
    files = {name: content for name, content in files.items() if "/consumequeue/T2/" not in name}
    name = next(name for name in files if "/consumequeue/T1/" in name)
    files[name] = files[name][:19] + bytes([files[name][19] ^ 1]) + files[name][20:]
    files[OFFSETS] = b'{"offsetTable":{"T0@g":{0:25}}}'
    store = on_disk(tmp_path, files) / "store"
    check = nr.open(store).verify()
    check.to_table()
    assert {"served", "unreachable", "doubtful", "lost", "at least"} <= check.account.messages.keys()
    found = rmqstore_spark.account(spark, str(store)).table
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, check.account.table.to_pylist()))


def test_the_example_of_register_runs(spark: SparkSession, kept: Path) -> None:
    text = (rmqstore_spark.register.__doc__ or "").replace('"store"', f'"{kept}"').replace("255", "40")
    example = doctest.DocTestParser().get_doctest(text, {"rmqstore_spark": rmqstore_spark}, "register", None, None)
    assert len(example.examples) == 4
    assert doctest.DocTestRunner().run(example).failed == 0


def test_sql_reads_a_store(spark: SparkSession, kept: Path) -> None:
    spark.sql(f"CREATE TEMPORARY VIEW log USING `rocketmq-store` OPTIONS (path '{kept}', topic 'T0,T1')")
    assert spark.sql("SELECT count(*) FROM log WHERE topic = 'T1'").first()[0] == 13
    assert spark.sql("SELECT count(*) FROM log a JOIN log b USING (store, physical_offset)").first()[0] == 27
    one = spark.sql("SELECT properties['KEYS'], keys FROM log WHERE array_contains(keys, 'k4')").first()
    assert tuple(one) == ("k4 all", ["k4", "all"])


def test_a_catalog_table_needs_its_path_again(spark: SparkSession, kept: Path) -> None:
    spark.sql("DROP TABLE IF EXISTS logged")
    spark.sql(f"CREATE TABLE logged USING `rocketmq-store` OPTIONS (path '{kept}')")
    try:
        assert spark.sql(f"SELECT * FROM logged WITH (path = '{kept}')").count() == 40
        with pytest.raises(Exception, match=r"the path is missing\. Use .* Spark dropped its OPTIONS.* Use CREATE TEMPORARY VIEW"):
            spark.sql("SELECT * FROM logged").count()
    finally:
        spark.sql("DROP TABLE logged")


def test_a_catalog_table_rejects_a_condition_that_it_would_not_store(spark: SparkSession, kept: Path) -> None:
    spark.sql("DROP TABLE IF EXISTS logged")
    for options in ("topic 'T0'", "where 'queue_id = 0'", "mode 'DROPMALFORMED'"):
        with pytest.raises(Exception, match=r"CREATE TABLE: Spark .* drops its OPTIONS.* Use CREATE TEMPORARY VIEW"):
            spark.sql(f"CREATE TABLE logged USING `rocketmq-store` OPTIONS (path '{kept}', {options})")
    with pytest.raises(Exception, match="CREATE TABLE: Spark"):
        spark.catalog.createTable("logged", path=str(kept), source="rocketmq-store", topic="T0")
    spark.sql(f"CREATE TEMPORARY VIEW remembered USING `rocketmq-store` OPTIONS (path '{kept}', topic 'T0')")
    assert spark.sql("SELECT count(*) FROM remembered").first()[0] == 14


def test_a_limit_stops_early(spark: SparkSession, varied: Path, tmp_path: Path) -> None:
    broken = tmp_path / "store"
    shutil.copytree(varied, broken)
    with (broken / "commitlog" / "00000000000000000000").open("r+b") as file:
        file.seek(1 << 19)
        file.write(bytes(1 << 10))
    frame = load(spark, broken, maxPartitionBytes="1m")
    assert len(frame.limit(5).collect()) == 5  # five rows are read before the damage, which is after the first half megabyte
    assert frame.first()["physical_offset"] == 0
    with pytest.raises(Exception, match="StoreDamaged"):
        frame.count()


def test_an_empty_store_is_an_empty_frame(spark: SparkSession, tmp_path: Path) -> None:
    on_disk(tmp_path, {"fresh/commitlog/": b"", "fresh/consumequeue/": b"", "zeros/commitlog/" + "0" * 20: bytes(4096)})
    for name in ("fresh", "zeros"):  # a log of zeros is an error, unless losses are accepted
        frame = load(spark, tmp_path / name, failOnDataLoss=str(name == "fresh").lower())
        assert frame.columns == list(DEFAULT_COLUMNS)
        assert (frame.count(), frame.collect(), frame.groupBy("topic").count().collect()) == (0, [], [])


@pytest.mark.parametrize("adaptive", mostly_long(["true", "false"], "true"))
def test_a_frame_used_twice_joined_with_itself_cached_and_repartitioned(spark: SparkSession, kept: Path, adaptive: str) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    frame = load(spark, kept, maxPartitionBytes="1k")
    assert (frame.count(), frame.count()) == (40, 40)
    first, second = frame.filter("topic = 'T0'"), frame.filter("topic = 'T1'")
    assert first.union(second).groupBy("topic").count().orderBy("topic").collect() == [("T0", 14), ("T1", 13)]
    assert frame.alias("a").join(frame.alias("b"), ["store", "physical_offset"]).count() == 40
    assert_same_rows(frame.repartition(5), frame)
    cached = frame.cache()
    assert (cached.count(), cached.filter("queue_offset < 5").count()) == (40, 5)


@pytest.mark.parametrize(
    "zone", mostly_long(["UTC", "America/New_York", "Asia/Shanghai", "Australia/Lord_Howe"], "America/New_York", "Australia/Lord_Howe")
)
def test_times_are_the_same_in_every_session_zone(spark: SparkSession, tmp_path: Path, zone: str) -> None:
    # Around both clock changes in New York, and with milliseconds.
    moments = [1_762_063_200_000 + 600_000 * step for step in range(24)] + [1_772_953_200_123 + 600_000 * step for step in range(24)]
    on_disk(tmp_path, files_of(log_of([message(n, store_timestamp=moment) for n, moment in enumerate(moments)])))
    spark.conf.set("spark.sql.session.timeZone", zone)
    frame = load(spark, tmp_path / "store").orderBy("queue_offset")
    assert [row[0] for row in frame.select(sf.unix_millis("store_timestamp")).collect()] == moments
    assert frame.toArrow()["store_timestamp"].cast(pa.int64()).to_pylist() == [1000 * moment for moment in moments]
    begin = datetime.fromtimestamp(moments[5] / 1000, UTC).isoformat()
    assert load(spark, tmp_path / "store", startingTimestamp=begin).count() == len(moments) - 5


def test_a_frame_keeps_the_plan_of_its_first_use(spark: SparkSession, tmp_path: Path) -> None:
    on_disk(tmp_path, files_of(log_of(30)))
    frame = load(spark, tmp_path / "store")
    assert frame.count() == 30
    on_disk(tmp_path, files_of(log_of(60)))
    assert frame.count() == (30 if PLANS_ONCE else 60)  # later records are not read
    assert load(spark, tmp_path / "store").count() == 60
    (tmp_path / "store/commitlog" / ("0" * 20)).unlink()
    if PLANS_ONCE:
        with pytest.raises(Exception, match=r"no longer exists; it existed when the read was planned\. A broker deletes its oldest segm"):
            frame.count()
    assert 0 < load(spark, tmp_path / "store").count() < 60  # expired segments are not a loss


@pytest.mark.parametrize("name", mostly_long(golden.STORES, "v4-kinds", "v5-kinds", "v5-multipath", "v55-lite-rocks"))
def test_golden_stores_have_the_same_rows_in_spark_and_the_engine(
    spark: SparkSession, golden_store: Callable[[str], golden.Golden], name: str
) -> None:
    store = golden_store(name)
    logs = ",".join(map(str, store.log_folders)) if name == "v5-multipath" else None
    spark_says = {} if logs is None else {"storePathCommitLog": logs}
    found = load(spark, store.root, columns="*", maxPartitionBytes="256k", **spark_says).toArrow()
    mine = nr.open(store.root, store_path_commit_log=logs).messages(columns="*").to_table()
    assert in_order(found.cast(mine.schema)) == in_order(mine)


@pytest.mark.parametrize("name", mostly_long(OWN_STORES, "4.9.7-kinds", "5.5.0-dledger", "5.5.0-rare"))
def test_the_stores_of_this_repository_have_the_same_rows_in_spark_and_the_engine(spark: SparkSession, tmp_path: Path, name: str) -> None:
    store = golden.unpack(name, tmp_path, STORES)
    logs = ",".join(map(str, store.log_folders)) if len(store.log_folders) > 1 else None
    spark_says = {} if logs is None else {"storePathCommitLog": logs}
    found = load(spark, store.root, columns="*", maxPartitionBytes="256k", **spark_says).toArrow()
    mine = nr.open(store.root, store_path_commit_log=logs).messages(columns="*").to_table()
    assert in_order(found.cast(mine.schema)) == in_order(mine)
