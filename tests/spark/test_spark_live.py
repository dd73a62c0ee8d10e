"""Spark reads a store repeatedly while RocketMQ writes it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from live import COLUMNS, RATE, SECONDS, Follower, ended_by_its_input, written
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from rocketmq import Java


@pytest.mark.sweep
@pytest.mark.long
def test_a_store_that_is_being_written(spark: SparkSession, rocketmq: Callable[[str], Java], varied: Path, tmp_path: Path) -> None:
    home = tmp_path / "live"
    assert spark.read.format("rocketmq-store").load(str(varied)).count()  # one-time work, before the clock starts

    def frame(begin: int) -> DataFrame:
        options = {"columns": ",".join(COLUMNS), "startingPhysicalOffset": begin, "maxPartitionBytes": "16m"}
        return spark.read.format("rocketmq-store").options(**options).load(str(home / "store"))

    def looked_at(begin: int) -> pa.Table:
        # A slow machine would sort the whole log in one read, which needs more memory than a driver of 2 GiB has.
        return frame(begin).where(f"physical_offset < {begin + (128 << 20)}").sort("physical_offset").toArrow()

    follower = Follower(looked_at)
    with written(rocketmq("5.5.0"), home) as writer:
        while not (home / "quiet").exists():
            assert writer.poll() is None, (home / "writer.out").read_text()[-3000:]
            if (home / "store/commitlog").is_dir():
                follower.look()
            else:
                time.sleep(0.01)
        assert frame(0).agg(sf.countDistinct("physical_offset")).first()[0] == RATE * SECONDS
        assert ended_by_its_input(writer) == 0
    assert frame(0).count() == RATE * SECONDS
    assert follower.looks >= 1  # the number depends on the machine
    logging.getLogger(__name__).info("%s looks at %s rows", follower.looks, follower.rows)
