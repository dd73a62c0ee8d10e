"""A separate Spark driver whose queries follow a store, and its control by a test."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGKILL
from typing import TYPE_CHECKING, Any

from rocketmq import ended

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

FOLLOW, DRAIN = "follow", "drain"
EVERY = "500 milliseconds"
"""Without a pause, each batch has only a few messages, and two queries take both cores from the broker they follow."""
BEGUN_WITHIN = 300.0
TRIES = 20
_LATE = "Timed out while waiting for the Python worker to connect back"
"""Spark ends a query whose Python worker needs more than ten seconds to start. No setting changes that."""


class WorkerLateError(Exception):
    """The machine was too busy for Spark: start it again."""


class Driver:
    """Queries that follow `store`, one for each of `beginnings`. Their output and checkpoints are in `home`."""

    def __init__(self, store: Path, home: Path, columns: list[str], beginnings: list[str]) -> None:
        self._store, self.home, self._columns, self.beginnings = store, home, columns, beginnings
        self._process: subprocess.Popen[bytes] | None = None
        self._log = home / "driver.out"
        self._heard = 0
        home.mkdir()

    def start(self) -> None:
        """Start a new Spark, without queries."""
        assert self._process is None
        path = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
        where = {"PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}
        command = [sys.executable, __file__, str(self._store), str(self.home), ",".join(self._columns), *self.beginnings]
        self._heard = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as said:
            self._process = subprocess.Popen(
                command, env=os.environ | where, cwd=self.home, stdin=subprocess.PIPE, stdout=said, stderr=said, start_new_session=True
            )

    def ready(self) -> None:
        """Wait until Spark is up."""
        self._await(lambda: self._says("ready"))

    def follow(self) -> None:
        """Start the queries, or continue from their checkpoints, as soon as there is a store."""
        self._tell(FOLLOW)

    def follows(self) -> None:
        """Wait until each query has finished a batch since its start."""
        before = {beginning: self.batches(beginning) for beginning in self.beginnings}
        self._await(lambda: all(self.batches(beginning) > before[beginning] for beginning in self.beginnings))

    def start_following(self) -> None:
        """Wait until the queries of a started Spark follow the log."""

        def begin() -> None:
            self.ready()
            self.follow()
            self.follows()

        self._until_in_time(begin)

    def drain(self) -> None:
        """Stop the queries, and read everything written so far. Once."""

        def read() -> None:
            self.ready()
            self._heard = self._log.stat().st_size
            self._tell(DRAIN)
            self._await(lambda: self._says("drained"))

        self._until_in_time(read)

    def _until_in_time(self, step: Callable[[], None]) -> None:
        """Do this; with a new Spark, where the machine was too busy for the last one."""
        for _ in range(TRIES):
            try:
                step()
            except WorkerLateError:
                self.kill()
                self.start()
            else:
                return
        raise AssertionError(f"Spark's workers were late {TRIES} times: {self._why_it_ended()}")

    def close(self) -> None:
        """Let it end normally."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        code = self._process.wait(60)
        assert code == 0, self.said()[-5000:]

    def kill(self) -> None:
        """Kill all its processes with SIGKILL."""
        if self._process is not None:
            ended(self._process, SIGKILL)
            self._process = None

    def batches(self, beginning: str) -> int:
        """The number of batches that the query has finished."""
        return sum(path.name.isdigit() for path in (self.home / beginning / "checkpoint" / "commits").glob("*"))

    def began_at(self, beginning: str) -> int:
        """The offset in the log at which the query's first batch began."""
        offset = json.loads((self.home / beginning / "checkpoint" / "offsets" / "0").read_text().splitlines()[-1])
        (store,) = offset["stores"].values()
        return int(store["from"])

    def delivered(self, beginning: str) -> list[Path]:
        """The output of its batches, in order."""
        return sorted((self.home / beginning / "out").iterdir(), key=lambda folder: int(folder.name))

    def said(self) -> str:
        """Its output since its start, or since the last command."""
        with self._log.open("rb") as log:
            log.seek(self._heard)
            return log.read().decode(errors="replace")

    def _why_it_ended(self) -> str:
        """The lines with errors, which come long before the end of Java's output, and that end."""
        lines = self.said().splitlines()
        named = dict.fromkeys(line[:500] for line in lines if "Error" in line or "Exception" in line)
        return "\n".join([*list(named)[:20], "...", *lines[-20:]])

    def all_said(self) -> str:
        """All its output since the first start."""
        return self._log.read_text(errors="replace")

    def _tell(self, command: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n".encode())
        self._process.stdin.flush()

    def _says(self, word: str) -> bool:
        return any(line.startswith(f'{{"{word}"') for line in self.said().splitlines())

    def _await(self, done: Callable[[], bool]) -> None:
        assert self._process is not None
        patience = time.monotonic() + BEGUN_WITHIN
        while not done():
            if self._process.poll() is not None and _LATE in self.said():
                raise WorkerLateError
            assert self._process.poll() is None, f"Spark ended with {self._process.returncode}: {self._why_it_ended()}"
            assert time.monotonic() < patience, f"nothing within {BEGUN_WITHIN:.0f} s: {self.said()[-5000:]}"
            time.sleep(0.02)


@contextlib.contextmanager
def driving(store: Path, home: Path, columns: list[str], beginnings: list[str]) -> Iterator[Driver]:
    """A driver that is started, and stopped afterwards."""
    driver = Driver(store, home, columns, beginnings)
    try:
        driver.start()
        yield driver
    finally:
        driver.kill()


def _drive(store: Path, home: Path, columns: str, beginnings: list[str]) -> None:
    spark = _session(home)
    queries: list[StreamingQuery] = []
    _say(ready=time.time())
    for command in _commands(queries):
        if command == FOLLOW:
            _await_store(store)
            queries += [_query(spark, store, home / beginning, columns, beginning, processingTime=EVERY) for beginning in beginnings]
        elif command == DRAIN:
            while queries:
                queries.pop().stop()
            for query in [_query(spark, store, home / beginning, columns, beginning, availableNow=True) for beginning in beginnings]:
                query.awaitTermination()
            _say(drained=time.time())
    spark.stop()


def _session(home: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(home / "local"),
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.sql.streaming.minBatchesToRetain": "1000000",  # the test reads at the end where the first batch began
    }
    session = SparkSession.builder.master("local[2]").appName("follows").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    session.range(1).toArrow()
    return session


def _query(spark: SparkSession, store: Path, home: Path, columns: str, beginning: str, **trigger: Any) -> StreamingQuery:
    import rmqstore_spark

    own = spark.newSession()  # queries that share a registered source can break it when both start at once (docs/streaming.md)
    rmqstore_spark.register(own)
    options = {"columns": columns, "startingOffsets": beginning}
    stream = own.readStream.format("rocketmq-store").options(**options).load(str(store)).writeStream
    stream = stream.foreachBatch(_kept(home / "out")).option("checkpointLocation", str(home / "checkpoint"))
    return stream.trigger(**trigger).start()


def _kept(out: Path) -> Callable[[DataFrame, int], None]:
    """Keeps each batch once, even if it is repeated, and the time when it arrived."""

    def keep(batch: DataFrame, number: int) -> None:
        from pyspark.sql import functions as sf

        batch.withColumn("at", sf.lit(time.time())).write.mode("overwrite").parquet(str(out / str(number)))

    return keep


def _commands(queries: list[StreamingQuery]) -> Iterator[str]:
    """The commands, one per line, until standard input ends. A failed query ends the job."""
    while True:
        for query in queries:
            if not query.isActive:
                raise query.exception() or AssertionError("a query ended")
        if select.select([sys.stdin], [], [], 0.1)[0]:
            line = sys.stdin.readline()
            if not line:
                return
            yield line.strip()


def _await_store(store: Path) -> None:
    while not any((store / "commitlog").glob("*")):
        time.sleep(0.01)


def _say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _drive(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4:])
