"""From a running broker into a lake table, with examples/lake.py or lake_delta.py, killed in their batches: each message once."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event, Thread

import pytest
from pysparks import streams
from rocketmq import SMALL_FILES, Broker
from support.cluster import kill_all

import native_reader as nr

HERE = Path(__file__).parents[2]
PATIENCE = 600
"""Seconds to the first batch of a Spark. On two slow cores, beside two more tests with a broker, clients and a Spark each, it took 80 to
130, and twice more than 180. Its threads were not blocked: they waited for the processor."""
DELTA = ("pyspark==4.2.0", "delta-spark==4.4.0")
"""The newest PySpark that Delta has jars for, in November 2026; and the newest Delta with jars in Maven Central."""
READ_DELTA = """
import json, sys
from deltalake import DeltaTable
print(json.dumps(DeltaTable(sys.argv[1]).to_pyarrow_table(columns=["topic", "day", "physical_offset"])["physical_offset"].to_pylist()))
"""
log = logging.getLogger(__name__)


def iceberg(warehouse: Path, _: str) -> list[int]:
    """The rows of the Iceberg table."""
    from pyiceberg.catalog.sql import SqlCatalog  # it takes seconds, in each process that collects the tests

    catalog = SqlCatalog("lake", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=warehouse.as_uri())
    rows = catalog.load_table("rocketmq.messages").scan().to_arrow()["physical_offset"].to_pylist()
    catalog.close()
    return rows  # type: ignore[no-any-return]


def delta(warehouse: Path, python: str) -> list[int]:
    """The rows of the Delta table."""
    ended = subprocess.run([python, "-c", READ_DELTA, warehouse / "messages"], capture_output=True, text=True, check=True)
    return json.loads(ended.stdout)  # type: ignore[no-any-return]


def python_with_delta(folder: Path) -> str:
    """A virtual environment with a PySpark that Delta supports."""
    python = str(folder / "bin/python")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    wanted = ("numpy", "pyarrow", "sqlglot", "deltalake", *DELTA)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted], check=True)
    return python


@contextmanager
def producing(broker: Broker) -> Iterator[None]:
    """Clients send messages all the time: a few hundred each second, so that batches stay short."""
    stop = Event()

    def send() -> None:
        seed = 0
        while not stop.wait(1):
            seed += 1
            broker.traffic("plain", 300, seed=seed)

    thread = Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class Lake:
    """An example, in a process of its own, with its table and its checkpoint."""

    def __init__(self, script: str, store: Path, warehouse: Path, python: str) -> None:
        self._command = [python, HERE / "examples" / script, store, warehouse]
        self._checkpoint, self._log = warehouse / "checkpoint", warehouse.with_suffix(".log")
        self._environment = os.environ | {"PYTHONPATH": str(HERE), "PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1"}
        self._environment["PYSPARK_SUBMIT_ARGS"] = "--conf spark.ui.enabled=false pyspark-shell"

    def _start(self, *more: str) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as said:
            return subprocess.Popen([*self._command, *more], env=self._environment, stdout=said, stderr=said, start_new_session=True)

    def _batches(self, which: str) -> int:
        return len(list((self._checkpoint / which).glob("[0-9]*")))

    def live_until_killed(self, random: Random) -> int:
        """Run until some moment of a batch; the batches that were begun but not committed."""
        before, process, patience = self._batches("offsets"), self._start(), time.monotonic() + PATIENCE
        try:
            while self._batches("offsets") <= before or self._batches("offsets") == self._batches("commits"):
                assert process.poll() is None, self._log.read_text()[-3000:]
                assert time.monotonic() < patience, self._log.read_text()[-3000:]
                time.sleep(0.01)
            time.sleep(random.random() * 2)
        finally:
            kill_all(process)
        return self._batches("offsets") - self._batches("commits")

    def finish(self) -> int:
        """Run to the end of the log; the number of batches."""
        process = self._start("--until-now")
        assert process.wait(PATIENCE) == 0, self._log.read_text()[-3000:]
        return self._batches("commits")


@streams
@pytest.mark.long
@pytest.mark.parametrize("read", [iceberg, delta], ids=lambda read: read.__name__)
def test_a_killed_stream_into_a_lake_has_each_message_once(
    broker: Callable[..., Broker], tmp_path: Path, read: Callable[[Path, str], list[int]]
) -> None:
    python = python_with_delta(tmp_path / "environment") if read is delta else sys.executable
    running = broker("5.5.0", **SMALL_FILES)
    lake = Lake("lake.py" if read is iceberg else "lake_delta.py", running.store, tmp_path / "warehouse", python)
    (tmp_path / "warehouse").mkdir()
    counts, random = Counter[str](), Random(2665)
    with producing(running):
        while counts["within a batch"] < 5:
            assert counts["kills"] < 20
            counts["within a batch"] += lake.live_until_killed(random)
            counts["kills"] += 1
    counts["batches"] = lake.finish()
    expected = nr.open(running.store).messages(columns="physical_offset").to_table()["physical_offset"].to_pylist()
    rows = read(tmp_path / "warehouse", python)
    log.info("%s: %s rows, %s", read.__name__, len(rows), dict(counts))
    assert len(rows) == len(set(rows))
    assert sorted(rows) == expected
