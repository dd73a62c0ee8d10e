"""A standalone cluster of Spark: a master and two workers, each with a host name of its own; other files than the driver's, if wanted."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyspark
from ports import free_port

HERE = Path(__file__).parents[2]
SPARK_HOME = Path(pyspark.__file__).parent
ENVIRONMENT = {
    "SPARK_HOME": str(SPARK_HOME),
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_NO_DAEMONIZE": "1",
    "PYSPARK_PYTHON": sys.executable,
    "PYTHONPATH": str(HERE),
}
SESSION = """
import sys
from pyspark.sql import SparkSession
quiet = {
    "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0", "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
}
more = dict(each.split("=", 1) for each in sys.argv[2:])
spark = SparkSession.builder.master(sys.argv[1]).config(map=quiet | more).getOrCreate()
import rmqstore_spark
rmqstore_spark.register(spark)
"""
"""The begin of a job; its arguments are the master and settings."""


class Cluster:
    """A running cluster."""

    def __init__(self, folder: Path, others: Sequence[tuple[Path, Path]]) -> None:
        self._folder, self._port = folder, free_port()
        self._mounts = [f"mount --bind {shlex.quote(str(own))} {shlex.quote(str(at))}" for own, at in others]
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self.url = f"spark://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start a master and two workers."""
        ports = ("--port", str(self._port), "--webui-port", str(free_port()))
        self._run("master", [], "master.Master", "--host", "127.0.0.1", *ports)
        for name in ("one", "two"):
            self.start_worker(name)

    def start_worker(self, name: str) -> None:
        """Start a worker that does not run."""
        before, places = self._registered(), ("--work-dir", str(self._folder / name), "--webui-port", str(free_port()))
        self._run(name, self._mounts, "worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g", *places, self.url)
        patience = time.monotonic() + 60
        while self._registered() == before:
            assert time.monotonic() < patience, "\n".join(log.read_text() for log in self._folder.glob("*.log"))
            time.sleep(0.1)

    def _registered(self) -> int:
        return (self._folder / "master.log").read_text().count("Registering worker")

    def _run(self, name: str, prepare: list[str], kind: str, *arguments: str) -> None:
        command = shlex.join([str(SPARK_HOME / "bin/spark-class"), f"org.apache.spark.deploy.{kind}", *arguments])
        alone = ["unshare", "--uts", "--mount", "sh", "-ec", "\n".join([f"hostname spark-{name}", *prepare, f"exec {command}"])]
        with (self._folder / f"{name}.log").open("wb") as log:
            self._started[name] = subprocess.Popen(alone, env=os.environ | ENVIRONMENT, stdout=log, stderr=log, start_new_session=True)

    def kill(self, name: str) -> None:
        """Kill a worker, with its executors and their Python processes."""
        kill_all(self._started.pop(name))

    def stop(self) -> None:
        """Kill all of it."""
        for name in [*self._started]:
            self.kill(name)

    def submit(self, job: str, folder: Path, **settings: str) -> subprocess.Popen[str]:
        """Start a driver in that folder."""
        options = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
        command = [sys.executable, "-c", SESSION + job, self.url, *options]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=folder, env=os.environ | ENVIRONMENT, text=True, **pipes)  # type: ignore[call-overload,no-any-return]


def kill_all(process: subprocess.Popen[Any]) -> None:
    """SIGKILL for a process and all below it."""
    for below in reversed(descendants(process.pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(below, signal.SIGKILL)
    process.wait()


def descendants(process: int) -> list[int]:
    """A process and all below it."""
    children = Path(f"/proc/{process}/task/{process}/children")
    with contextlib.suppress(FileNotFoundError):
        return [process, *(each for child in children.read_text().split() for each in descendants(int(child)))]
    return [process]


@contextlib.contextmanager
def cluster(folder: Path, others: Sequence[tuple[Path, Path]] = ()) -> Iterator[Cluster]:
    """A cluster that keeps its logs in that folder. `others`: directories that its workers see in place of the second ones."""
    made = Cluster(folder, others)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def can_be_alone() -> bool:
    """Whether this user may give a process a host name and mounts of its own."""
    return subprocess.run(["unshare", "--uts", "--mount", "true"], capture_output=True, check=False).returncode == 0
