"""Bodies and partitions larger than one array or batch of Spark and Arrow."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from support.stores import files_of, log_of, message, on_disk

MIB = 1 << 20


@pytest.mark.gate
def test_a_body_of_64_mib(spark: SparkSession, tmp_path: Path) -> None:
    raw = bytes(range(256)) * (64 * MIB // 256)
    packed = message(1, body=zlib.compress(raw, 1), sys_flag=1)
    on_disk(tmp_path, files_of(log_of([message(0, body=raw), packed, message(2)], segment_size=66 * MIB)))
    reader = spark.read.format("rocketmq-store").option("columns", "queue_offset,body")
    refused = reader.load(str(tmp_path / "store"))
    found = reader.option("maxRecordBytes", "65m").load(str(tmp_path / "store")).select("queue_offset", sf.crc32("body"), sf.length("body"))
    crc = zlib.crc32(raw)
    assert found.orderBy("queue_offset").collect() == [(0, crc, 64 * MIB), (1, crc, 64 * MIB), (2, zlib.crc32(b"body 2"), 6)]
    with pytest.raises(Exception, match=r"maxRecordBytes"):
        refused.count()


@pytest.mark.long
def test_two_gibibytes_of_bodies_in_one_partition(spark: SparkSession, tmp_path: Path) -> None:
    packed = zlib.compress(bytes(32 * MIB))
    on_disk(tmp_path, files_of(log_of([message(n, body=packed, sys_flag=1) for n in range(65)], segment_size=4 * MIB)))
    frame = spark.read.format("rocketmq-store").option("columns", "queue_offset,body").load(str(tmp_path / "store"))
    assert frame.rdd.getNumPartitions() == 1
    assert frame.agg(sf.sum(sf.length("body")), sf.count("*")).first() == (65 * 32 * MIB, 65)
