"""A real standalone cluster: a master, two workers, and a driver in a different directory."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from ports import free_port
from pysparks import streams
from support.stores import files_of, log_of, on_disk

import native_reader as nr

HERE = Path(__file__).parents[2]
SPARK_HOME = Path(pyspark.__file__).parent
ENVIRONMENT = {
    "SPARK_HOME": str(SPARK_HOME),
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_NO_DAEMONIZE": "1",
    "PYSPARK_PYTHON": sys.executable,
    "PYTHONPATH": str(HERE),
}
JOB = """
import json, os, sys
from pyspark.sql import SparkSession, functions as sf
import rmqstore_spark
quiet = {
    "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
}
spark = SparkSession.builder.master(sys.argv[1]).config(map=quiet).getOrCreate()
rmqstore_spark.register(spark)
frame = spark.read.format("rocketmq-store").option("maxPartitionBytes", "500").load("store")

def where(_):
    return [os.getcwd()]

report = {"tasks": frame.rdd.getNumPartitions(), "rows": frame.count(), "sum": frame.agg(sf.sum("physical_offset")).first()[0]}
report["directories"] = spark.sparkContext.parallelize(range(8), 8).mapPartitions(where).distinct().count()
os.remove("store/commitlog/" + "0" * 20)
try:
    frame.count()
except Exception as error:
    report["error"] = str(error)
print(json.dumps(report))
"""


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("cluster"), free_port()
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, kind: str, *arguments: str) -> None:
        log = (folder / f"{name}.log").open("wb")
        command = [str(SPARK_HOME / "bin/spark-class"), f"org.apache.spark.deploy.{kind}", *arguments]
        started.append(subprocess.Popen(command, env=os.environ | ENVIRONMENT, stdout=log, stderr=log, start_new_session=True))
        log.close()

    url = f"spark://127.0.0.1:{port}"
    try:
        start("master", "master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port()))
        for name in ("one", "two"):
            places = ("--work-dir", str(folder / name), "--webui-port", str(free_port()))
            start(name, "worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g", *places, url)
        patience = time.monotonic() + 60
        while (folder / "master.log").read_text().count("Registering worker") < 2:
            assert time.monotonic() < patience, "\n".join(log.read_text() for log in folder.glob("*.log"))
            time.sleep(0.1)
        yield url
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


STREAM = """
import sys
from pyspark.sql import SparkSession
import rmqstore_spark
quiet = {
    "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.cores.max": "2",
}
spark = SparkSession.builder.master(sys.argv[1]).config(map=quiet).getOrCreate()
rmqstore_spark.register(spark)
options = {"startingOffsets": "earliest", "maxBytesPerTrigger": "3k", "maxPartitionBytes": "500"}
stream = spark.readStream.format("rocketmq-store").options(**options).load("store")
writer = stream.writeStream.format("parquet").option("path", "rows").option("checkpointLocation", "checkpoint")
writer.trigger(availableNow=True).start().awaitTermination()
print(spark.read.parquet("rows").select("physical_offset").distinct().count(), spark.read.parquet("rows").count())
"""


@streams
@pytest.mark.gate
def test_a_cluster_follows_a_store(master: str, tmp_path: Path) -> None:
    on_disk(tmp_path, files_of(log_of(60)))
    job = [sys.executable, "-c", STREAM, master]
    ended = subprocess.run(job, cwd=tmp_path, env=os.environ | ENVIRONMENT, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "60 60"
    assert len(list((tmp_path / "checkpoint/offsets").glob("[0-9]*"))) > 2


@pytest.mark.gate
def test_a_cluster_reads_a_store_at_a_path_relative_to_the_driver(master: str, tmp_path: Path) -> None:
    on_disk(tmp_path, files_of(log_of(60)))
    expected = nr.open(tmp_path / "store").messages(columns="physical_offset").to_table()["physical_offset"].to_pylist()
    job = [sys.executable, "-c", JOB, master]
    ended = subprocess.run(job, cwd=tmp_path, env=os.environ | ENVIRONMENT, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout.splitlines()[-1])
    assert report["tasks"] >= 8
    assert report["directories"] == 2  # both executors work, each in its own directory
    assert (report["rows"], report["sum"]) == (60, sum(expected))
    gone = next(line for line in report["error"].splitlines() if "DataLoss: " in line)
    assert f"{(tmp_path / 'store/commitlog').as_uri()}/{'0' * 20} no longer exists; it existed when the read was planned." in gone
    assert "On a cluster, every machine must have the store at that path" in gone
