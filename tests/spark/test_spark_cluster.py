"""A real standalone cluster: a master, two workers with host names of their own, and a driver in a different directory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pysparks import streams
from support.cluster import Cluster, can_be_alone, cluster
from support.stores import files_of, log_of, on_disk

import native_reader as nr

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not can_be_alone(), reason="only root can name hosts: the CI of this project is root"
)
SMALL = """
frame = spark.read.format("rocketmq-store").option("maxPartitionBytes", "500").load("store")
"""
READ = (
    SMALL
    + """
import json, os, socket
from pyspark.sql import functions as sf

def where(_):
    return [(socket.gethostname(), os.getcwd())]

report = {"tasks": frame.rdd.getNumPartitions(), "rows": frame.count(), "sum": frame.agg(sf.sum("physical_offset")).first()[0]}
hosts = spark.sparkContext.parallelize(range(8), 8).mapPartitions(where).distinct().collect()
print(json.dumps(report | {"hosts": sorted(host for host, _ in hosts), "directories": len({path for _, path in hosts})}))
"""
)
SLOWLY = """
import time

def slowly(batches):
    for batch in batches:
        time.sleep(0.5)
        yield batch

def offsets(frame):
    return frame.select("physical_offset").mapInArrow(slowly, "physical_offset long")

"""
SLOW_BATCH = (
    SLOWLY
    + """
options = {"maxPartitionBytes": "2k"}
offsets(spark.read.format("rocketmq-store").options(**options).load("store")).write.parquet("rows")
"""
)
SLOW_STREAM = (
    SLOWLY
    + """
options = {"startingOffsets": "earliest", "maxBytesPerTrigger": "24k", "maxPartitionBytes": "2k"}
stream = offsets(spark.readStream.format("rocketmq-store").options(**options).load("store"))
writer = stream.writeStream.format("parquet").option("path", "rows").option("checkpointLocation", "checkpoint")
writer.trigger(availableNow=True).start().awaitTermination()
"""
)


@pytest.fixture(scope="module")
def unlike(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders whose `store` the workers see otherwise: not at all, or as a copy, which may be older."""
    found = {name: tmp_path_factory.mktemp(name) for name in ("missing", "copied")}
    for folder in found.values():
        on_disk(folder, files_of(log_of(60)))
    on_disk(found["missing"] / "own", {"store/x": b""})
    on_disk(found["copied"] / "own", files_of(log_of(40)))
    return found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, unlike: dict[str, Path]) -> Iterator[Cluster]:
    """Both workers see the other files, because which of them runs a task is left to Spark."""
    others = [(folder / "own/store", folder / "store") for folder in unlike.values()]
    with cluster(tmp_path_factory.mktemp("cluster"), others) as made:
        yield made


def offsets_of(store: Path) -> list[int]:
    return nr.open(store).messages(columns="physical_offset").to_table()["physical_offset"].to_pylist()  # type: ignore[no-any-return]


def ended(driver: subprocess.Popen[str]) -> str:
    """What the driver printed; it must end well."""
    out, err = driver.communicate(timeout=300)
    assert driver.returncode == 0, err[-4000:]
    return out


@pytest.mark.long
def test_a_cluster_reads_a_store_at_a_path_relative_to_the_driver(shared: Cluster, tmp_path: Path) -> None:
    """Also with limited memory: `spark.executor.pyspark.memory` limits what a Python worker may map."""
    on_disk(tmp_path, files_of(log_of(60)))
    report = json.loads(ended(shared.submit(READ, tmp_path, spark_executor_pyspark_memory="1g")).splitlines()[-1])
    assert report["tasks"] >= 8
    assert report["hosts"] == ["spark-one", "spark-two"]
    assert report["directories"] == 2
    assert (report["rows"], report["sum"]) == (60, sum(offsets_of(tmp_path / "store")))


# Workers that die


def lost_tasks(events: Path) -> Counter[str]:
    """How often tasks ended by the loss of their executor, and executors were removed."""
    found = Counter[str]()
    for log in events.rglob("events_*"):
        for line in log.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            found[event["Event"]] += event["Event"] == "SparkListenerExecutorRemoved"
            found["lost"] += (event.get("Task End Reason") or {}).get("Reason") == "ExecutorLostFailure"
    return found


def one_dies(shared: Cluster, folder: Path, job: str, has_begun: Callable[[], bool]) -> list[int]:
    """Kill a worker while its tasks run, once the job has begun; the rows in the end."""
    on_disk(folder, files_of(log_of(500)))
    (folder / "events").mkdir()
    driver = shared.submit(
        job, folder, spark_eventLog_enabled="true", spark_eventLog_compress="false", spark_eventLog_dir=(folder / "events").as_uri()
    )
    patience = time.monotonic() + 300
    while not has_begun():
        assert driver.poll() is None, driver.communicate()[1][-4000:]
        assert time.monotonic() < patience
        time.sleep(0.1)
    shared.kill("two")
    try:
        ended(driver)
    finally:
        shared.start_worker("two")
    lost = lost_tasks(folder / "events")
    assert lost["SparkListenerExecutorRemoved"] == 1
    assert lost["lost"] >= 1
    return list(rows_in(folder / "rows"))


def rows_in(folder: Path) -> Iterator[int]:
    """The rows that Spark would read from a folder: those in the log of its file sink, if there is one."""
    listed = {
        Path(json.loads(line)["path"]).name for log in folder.glob("_spark_metadata/[0-9]*") for line in log.read_text().splitlines()[1:]
    }
    for file in folder.glob("*.parquet"):
        if not listed or file.name in listed:
            yield from pq.read_table(file)["physical_offset"].to_pylist()


@pytest.mark.long
def test_a_worker_that_dies_in_a_batch_costs_no_row(shared: Cluster, tmp_path: Path) -> None:
    rows = one_dies(shared, tmp_path, SLOW_BATCH, lambda: len(list(tmp_path.glob("rows/_temporary/0/task_*"))) >= 3)
    assert sorted(rows) == offsets_of(tmp_path / "store")


@streams
@pytest.mark.long
def test_a_worker_that_dies_in_a_batch_of_a_stream_costs_no_row(shared: Cluster, tmp_path: Path) -> None:
    def in_the_second_batch() -> bool:
        return (tmp_path / "checkpoint/offsets/1").exists() and len(list(tmp_path.glob("rows/*.parquet"))) >= 13

    rows = one_dies(shared, tmp_path, SLOW_STREAM, in_the_second_batch)
    assert sorted(rows) == offsets_of(tmp_path / "store")
    assert len(list((tmp_path / "checkpoint/commits").glob("[0-9]*"))) > 2


# Workers that see other files

FAILS = """
options = {"maxPartitionBytes": "500", "mode": "DROPMALFORMED", "access": "scan"}
for path in PATHS:
    try:
        print("rows", spark.read.format("rocketmq-store").options(**options).load(path).count())
    except Exception as error:
        print("error", rmqstore_spark.reason(error))
"""
ADVICE = (
    r"This happened on host spark-(one|two); the read was planned on .+\. Every host must see the same files at that path: "
    r"mount the same storage on all of them, or read from object storage"
)


@pytest.mark.long
def test_a_host_that_sees_other_files_is_named(shared: Cluster, unlike: dict[str, Path], tmp_path: Path) -> None:
    said = {
        "missing": r"no longer exists; it existed when the read was planned\. .*",
        "copied": r"was replaced by another file after the read was planned\. .*",
    }
    job = FAILS.replace("PATHS", repr([str(unlike[how] / "store") for how in said]))
    # After the first failure: each one costs a Python worker, and the next has to import everything.
    lines = [
        line for line in ended(shared.submit(job, tmp_path, spark_task_maxFailures="1")).splitlines() if line.startswith(("error", "rows"))
    ]
    assert len(lines) == len(said)
    for line, expected in zip(lines, said.values(), strict=True):
        assert re.fullmatch(rf"error .*/commitlog/\d{{20}} {expected}{ADVICE}", line), line
