"""A damaged store in Spark: each mode, the rows for damage, and the tables that list it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from chispa import assert_df_equality
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from support.effort import at_effort, mostly_long
from support.golden import Golden
from support.store_damages import lost_property
from support.stores import files_of, log_of, on_disk

import native_reader as nr
import rmqstore_spark
from native_reader.tables import TABLES
from native_reader.verify.findings import by_topic


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 records in small segments, with a wrong magic, a page of zeros, a flipped bit in a body, and a missing segment."""
    log = log_of(300, segment_size=8192)
    files = files_of(log)
    names = sorted(files)
    content = {name: bytearray(files[name]) for name in names}
    content[names[0]][log.placed[3].offset + 5] ^= 1
    content[names[2]][1000:3000] = bytes(2000)
    at = next(placed for placed in log.placed if placed.segment == 3 * 8192)
    content[names[3]][at.offset - at.segment + 89] ^= 1
    del content[names[4]]
    return on_disk(tmp_path_factory.mktemp("broken"), {name: bytes(each) for name, each in content.items()}) / "store"


def load(spark: SparkSession, path: Path, **options: object) -> DataFrame:
    return spark.read.format("rocketmq-store").options(**{"failOnDataLoss": "false"} | options).load(str(path))


@pytest.mark.gate
@pytest.mark.parametrize("most", mostly_long(["1500", "128m"], "1500"))
@pytest.mark.parametrize("mode", ["DROPMALFORMED", "PERMISSIVE"])
@pytest.mark.parametrize("crc", mostly_long([False, True], True))
def test_each_mode_gives_the_rows_of_the_engine(spark: SparkSession, broken: Path, mode: str, most: str, crc: bool) -> None:
    columns = "physical_offset,topic,body,record_size,corrupt_record,corrupt_reason"
    found = load(spark, broken, mode=mode, columns=columns, maxPartitionBytes=most, verifyCrc=str(crc).lower()).toArrow()
    mine = nr.open(broken).messages(mode=mode, columns=columns, fail_on_data_loss=False, verify_crc=crc).to_table()
    assert found.sort_by("physical_offset").cast(mine.schema).equals(mine.sort_by("physical_offset"))
    reasons = set(found["corrupt_reason"].to_pylist())
    assert reasons == ({None, "magic", "offset", *(["checksum"] if crc else [])} if mode == "PERMISSIVE" else {None})


@pytest.mark.gate
@pytest.mark.sweep
def test_a_record_that_its_entries_contradict_is_marked_as_by_the_engine(
    spark: SparkSession, own_store: Callable[[str], Golden], tmp_path: Path
) -> None:
    store = Path(shutil.copytree(own_store("5.5.0-killed").root, tmp_path / "store"))
    offset, size = lost_property(store, b"TAGS")
    for most in at_effort(("128m",), ("4096", "128m")):
        rows = load(spark, store, mode="PERMISSIVE", columns="physical_offset,corrupt_reason", maxPartitionBytes=most)
        found = rows.filter("corrupt_reason is not null").collect()
        assert [tuple(row) for row in found] == [(offset, "properties")]
    damage = spark.read.format("rocketmq-store").option("table", "damage").load(str(store))
    (row,) = damage.select("start_offset", "bytes", "reason").collect()
    assert tuple(row) == (offset, size, "properties")


def test_failfast_is_the_default_and_says_how_to_continue(spark: SparkSession, broken: Path) -> None:
    with pytest.raises(PySparkException, match=r"found no record magic\. Set mode=DROPMALFORMED to skip"):
        load(spark, broken).count()
    with pytest.raises(PySparkException, match="Set failOnDataLoss=false to read the rest"):
        spark.read.format("rocketmq-store").load(str(broken)).count()


def test_damage_rows_pass_every_condition_and_come_only_on_request(spark: SparkSession, broken: Path) -> None:
    with_damage = load(spark, broken, mode="PERMISSIVE", topic="T1", columns="topic,physical_offset", columnNameOfCorruptRecord="_bad")
    assert with_damage.columns == ["topic", "physical_offset", "_bad"]
    assert with_damage.filter("topic is null").count() == with_damage.filter("_bad is not null").count() == 2
    assert {row.topic for row in with_damage.select("topic").distinct().collect()} == {"T1", None}
    without_damage = load(spark, broken, mode="PERMISSIVE", topic="T1", columns="topic,physical_offset")
    assert_df_equality(without_damage, with_damage.filter("_bad is null").drop("_bad"), ignore_row_order=True)
    typed = spark.read.schema("_bad binary, physical_offset bigint").format("rocketmq-store")
    typed = typed.options(mode="PERMISSIVE", columnNameOfCorruptRecord="_bad", failOnDataLoss="false").load(str(broken))
    assert typed.filter("_bad is not null").count() == 2


@pytest.mark.gate
def test_the_tables_equal_those_of_the_engine(spark: SparkSession, broken: Path) -> None:
    for table in TABLES:
        mine = nr.open(broken).table(table).to_table()
        found = load_table(spark, broken, table=table).toArrow().cast(mine.schema)
        if table == "findings":  # each segment is a task, so their rows are not combined yet
            found = pa.Table.from_batches(by_topic(found.sort_by("offset").to_batches()))
        if table == "account":  # the same
            found = rmqstore_spark.account(spark, str(broken)).table
        assert sorted(map(str, found.to_pylist())) == sorted(map(str, mine.to_pylist()))
    selected = {"columns": "segment,records", "where": "wrong_checksums = 1 AND state != 'missing'"}
    mine = nr.open(broken).table("segments", **selected).to_table()
    assert mine.num_rows == 1
    typed = spark.read.format("rocketmq-store").schema("segment string, records bigint")
    for found in (load_table(spark, broken, table="segments", **selected), typed.options(table="segments", **selected).load(str(broken))):
        assert found.toArrow().cast(mine.schema).equals(mine)
    damage = load_table(spark, broken, table="damage", verifyCrc="true").orderBy("start_offset")
    assert [row.reason for row in damage.collect()] == ["magic", "offset", "checksum", "missing"]
    total = load_table(spark, broken, table="segments").filter("state != 'missing'")
    parts = "record_bytes + blank_bytes + damage_bytes + unwritten_bytes + unread_bytes"
    assert total.agg(sf.expr(f"sum({parts}) = sum(size)")).first()[0]


def test_any_damage_can_fail_a_job(spark: SparkSession, broken: Path) -> None:
    """As docs/recovery.md shows."""
    check = load_table(spark, broken, table="damage").select(
        sf.expr("assert_true(count(*) = 0, concat(count(*), ' ranges of the log are damaged'))")
    )
    with pytest.raises(PySparkException, match="3 ranges of the log are damaged"):
        check.collect()


def load_table(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.read.format("rocketmq-store").options(**options).load(str(path))
