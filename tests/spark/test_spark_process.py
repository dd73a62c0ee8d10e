"""What a person sees who runs a job of their own: another process, another Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from stores import files_of, log_of, on_disk

from native_reader.explain import HINT

JOB = """
from pyspark.sql import SparkSession
import rmqstore_spark
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
rmqstore_spark.register(spark)
print("tasks", spark.read.format("rocketmq-store").load({path!r}).rdd.getNumPartitions())
"""


def test_a_big_scan_says_what_it_reads(tmp_path: Path) -> None:
    on_disk(tmp_path, files_of(log_of(10, segment_size=8192)))
    store = tmp_path / "store"
    with (store / "commitlog" / ("0" * 20)).open("r+b") as file:  # 1.5 GiB of nothing between two records: to plan, nobody reads it
        file.seek(3 << 29)
        file.write(log_of(1, segment_size=8192, start=3 << 29).files()[f"{3 << 29:020}"][:200])
    where = {"PYTHONPATH": str(Path(__file__).parents[2]), "PYSPARK_PYTHON": sys.executable}
    job = [sys.executable, "-c", JOB.format(path=str(store))]
    ended = subprocess.run(job, env=os.environ | where, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300)
    assert ended.stdout == "tasks 13\n"
    assert f"rocketmq-store: scans 1.5 GiB of {store.as_uri()} (1 segment) in 13 tasks; {HINT}\n" in ended.stderr
