"""The output of a user's own job, in a separate process with its own Spark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pysparks import streams
from support.documented import ROOT
from support.stores import files_of, log_of, on_disk

import native_reader as nr
from native_reader.plan.explain import HINT
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

JOB = """
from pyspark.sql import SparkSession
import rmqstore_spark
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
rmqstore_spark.register(spark)
print("tasks", spark.read.format("rocketmq-store").load({path!r}).rdd.getNumPartitions())
"""


def test_a_big_scan_logs_what_it_reads(tmp_path: Path) -> None:
    on_disk(tmp_path, files_of(log_of(10, segment_size=8192)))
    store = tmp_path / "store"
    with (store / "commitlog" / ("0" * 20)).open("r+b") as file:  # 1.5 GiB of zeros between two records, which planning does not read
        file.seek(3 << 29)
        file.write(log_of(1, segment_size=8192, start=3 << 29).files()[f"{3 << 29:020}"][:200])
    where = {"PYTHONPATH": str(Path(__file__).parents[2]), "PYSPARK_PYTHON": sys.executable}
    job = [sys.executable, "-c", JOB.format(path=str(store))]
    ended = subprocess.run(job, env=os.environ | where, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300)
    assert ended.stdout == "tasks 13\n"
    (shown,) = re.findall(r"^rocketmq-store: .*\n", (ROOT / "docs/spark.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert shown == f"rocketmq-store: file:///data/store (1 segment, 13 tasks): scans 1.5 GiB; {HINT}\n"
    assert shown.replace("file:///data/store", store.as_uri()) in ended.stderr


def test_a_job_of_an_environment_that_is_not_activated(tmp_path: Path) -> None:
    """The first python3 on the PATH is another one, without this package: DATA_SOURCE_NOT_FOUND, with a stack of 14,000 characters."""
    other = tmp_path / "bin" / "python3"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho 'the wrong python3 was started' >&2\nexit 1\n")
    other.chmod(0o755)
    on_disk(tmp_path, files_of(log_of(10)))
    names = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_ENV_LOADED", "PYSPARK_GATEWAY_PORT", "VIRTUAL_ENV")
    where = {name: value for name, value in os.environ.items() if name not in names}
    where |= {"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": f"{other.parent}:{where['PATH']}"}
    job = [sys.executable, "-c", JOB.format(path=str(tmp_path / "store"))]
    ended = subprocess.run(job, env=where, cwd=tmp_path, check=False, capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stdout) == (0, "tasks 1\n"), ended.stderr


@streams
@pytest.mark.gate
def test_the_example_follows_a_store_into_files(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples/follow_to_parquet.py"
    where = {"PYTHONPATH": str(Path(__file__).parents[2]), "PYSPARK_PYTHON": sys.executable}
    for records, of_topic in ((40, 14), (60, 20)):
        on_disk(tmp_path, files_of(log_of(records)))
        follow = [sys.executable, str(example), "store", "out", "--topic", "T0", "--all", "--until-now"]
        ended = subprocess.run(follow, env=os.environ | where, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300)
        assert ended.stdout.splitlines()[-1] == f"{of_topic} messages in out/messages"
        assert f"{(tmp_path / 'store').as_uri()}: up to date" in ended.stdout
    assert "this query continues from its checkpoint; startingOffsets=earliest is for new queries" in ended.stderr


PRUNED = """
from pyspark.sql import SparkSession
import rmqstore_spark
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
rmqstore_spark.register(spark)
frame = spark.read.format("rocketmq-store").option("where", "topic = 'sessions' AND queue_id = 1").load({path!r})
print("rows", frame.count(), "tasks", frame.rdd.getNumPartitions())
print("by key", spark.read.format("rocketmq-store").options(topic={topic!r}, keys={key!r}).load({path!r}).count())
"""


def test_a_pruned_read_logs_what_it_reads_and_why(tmp_path: Path) -> None:
    store = tmp_path / "store"
    write_store(store, StoreSpec(bytes=24 << 20, max_hash_slot_num=50_000, max_index_num=200_000))
    keyed = nr.open(store).messages(where="keys IS NOT NULL AND kind = 'normal'", columns="topic,keys").head(100).to_pylist()[-1]
    where = {"PYTHONPATH": str(Path(__file__).parents[2]), "PYSPARK_PYTHON": sys.executable}
    job = [sys.executable, "-c", PRUNED.format(path=str(store), topic=keyed["topic"], key=keyed["keys"][0])]
    ended = subprocess.run(job, env=os.environ | where, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300)
    expected = nr.open(store).messages(topic="sessions", queue_id=1).count_rows()
    found = nr.open(store).messages(topic=keyed["topic"], keys=keyed["keys"][0], access="scan").count_rows()
    assert ended.stdout == f"rows {expected} tasks 1\nby key {found}\n"
    assert re.search(
        rf"^rocketmq-store: {store.as_uri()} \(1 segment, 1 task\): "
        r"reads about [\d.]+ KiB of 24\.0 MiB by consume queue, and the bytes in no consume queue",
        ended.stderr,
        re.MULTILINE,
    )
    line = rf"^rocketmq-store: {store.as_uri()} \(1 segment, 1 task\): finds {found} records? by key; skips 1\.0 GiB by key$"
    assert re.search(line, ended.stderr, re.MULTILINE)
