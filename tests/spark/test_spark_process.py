"""The output of a user's own job, in a separate process with its own Spark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from pysparks import streams
from support.documented import ROOT
from support.stores import files_of, log_of, on_disk

import native_reader as nr
from native_reader.sentences import say
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

JOB = """
from pyspark.sql import SparkSession
import rmqstore_spark
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
rmqstore_spark.register(spark)
read = spark.read.format("rocketmq-store")
print("big", read.load({big!r}).rdd.getNumPartitions())
frame = read.option("where", "topic = 'sessions' AND queue_id = 1").load({pruned!r})
print("rows", frame.count(), "tasks", frame.rdd.getNumPartitions())
print("by key", spark.read.format("rocketmq-store").options(topic={topic!r}, keys={key!r}).load({pruned!r}).count())
"""


class Said(NamedTuple):
    """The two stores that one job read, what it printed, and what was logged."""

    big: Path
    pruned: Path
    topic: str
    key: str
    output: str
    log: str


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """A job in an environment that is not activated: the first python3 on the PATH is another one, without this package.

    Without care for that: DATA_SOURCE_NOT_FOUND, with a stack of 14,000 characters.
    """
    home = tmp_path_factory.mktemp("job")
    on_disk(home, files_of(log_of(10, segment_size=8192)))
    big, pruned = home / "store", home / "pruned"
    with (big / "commitlog" / ("0" * 20)).open("r+b") as file:  # 1.5 GiB of zeros between two records, which planning does not read
        file.seek(3 << 29)
        file.write(log_of(1, segment_size=8192, start=3 << 29).files()[f"{3 << 29:020}"][:200])
    write_store(pruned, StoreSpec(bytes=32 << 20, max_hash_slot_num=50_000, max_index_num=200_000))
    keyed = nr.open(pruned).messages(where="keys IS NOT NULL AND kind = 'normal'", columns="topic,keys").head(100).to_pylist()[-1]
    other = home / "bin" / "python3"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho 'the wrong python3 was started' >&2\nexit 1\n")
    other.chmod(0o755)
    names = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_ENV_LOADED", "PYSPARK_GATEWAY_PORT", "VIRTUAL_ENV")
    where = {name: value for name, value in os.environ.items() if name not in names}
    where |= {"PYTHONPATH": str(ROOT), "PATH": f"{other.parent}:{where['PATH']}"}
    code = JOB.format(big=str(big), pruned=str(pruned), topic=keyed["topic"], key=keyed["keys"][0])
    ended = subprocess.run([sys.executable, "-c", code], env=where, cwd=home, check=False, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    return Said(big, pruned, keyed["topic"], keyed["keys"][0], ended.stdout, ended.stderr)


@pytest.mark.gate
def test_a_big_scan_logs_what_it_reads(job: Said) -> None:
    assert job.output.startswith("big 13\n")
    (shown,) = re.findall(r"^rocketmq-store: .*\n", (ROOT / "docs/spark.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert shown == f"rocketmq-store: file:///data/store (1 segment, 13 tasks): scans 1.5 GiB; {say('read less').text()}\n"
    assert shown.replace("file:///data/store", job.big.as_uri()) in job.log


@pytest.mark.gate
def test_a_pruned_read_logs_what_it_reads_and_why(job: Said) -> None:
    store = nr.open(job.pruned)
    expected = store.messages(topic="sessions", queue_id=1).count_rows()
    found = store.messages(topic=job.topic, keys=job.key, access="scan").count_rows()
    assert job.output.endswith(f"\nrows {expected} tasks 1\nby key {found}\n")
    assert re.search(
        rf"^rocketmq-store: {job.pruned.as_uri()} \(1 segment, 1 task\): "
        r"reads about [\d.]+ KiB of 32\.0 MiB by consume queue, and the bytes in no consume queue",
        job.log,
        re.MULTILINE,
    )
    line = rf"^rocketmq-store: {job.pruned.as_uri()} \(1 segment, 1 task\): finds {found} records? by key; skips 1\.0 GiB by key$"
    assert re.search(line, job.log, re.MULTILINE)


@streams
@pytest.mark.long
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
