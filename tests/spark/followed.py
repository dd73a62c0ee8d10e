"""A job that follows stores until it is killed. `lives.py` runs it in a separate process.

Its one argument is JSON: what to follow and how. It writes a line to `notes` for each step.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import rmqstore_spark

_BETWEEN_TURNS = 0.1
_LATE = "Python worker failed to connect back"
"""Spark 4.3 gives a Python worker ten seconds to start, and no setting changes that. A busy machine needs more."""


class Job:
    """Follows the stores, and writes each batch to a folder of its own."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._asked, self._home = asked, Path(asked["home"])
        self._spark = _session(self._home)

    def run(self) -> None:
        """Run one query after another, as each turn says. The last turn ends with its query."""
        turns = self._asked["turns"]
        for turn in turns if self._asked["ends"] else itertools.cycle(turns):
            while self._was_late(turn):
                time.sleep(_BETWEEN_TURNS)
            time.sleep(_BETWEEN_TURNS)
        self._spark.stop()

    def _was_late(self, turn: dict[str, Any]) -> bool:
        """Whether a worker had no time to start, so that the query must be started again."""
        try:
            self._query(turn)
        except PySparkException as error:
            if _LATE in str(error):
                self._note(late=str(error)[:300])
                return True
            if not (self._home / "robbed").exists() or "native_reader" in str(error):
                raise  # Spark does not always report that a Python process was killed
            self._note(died=str(error)[:300])
        return False

    def _query(self, turn: dict[str, Any]) -> None:
        frame = self._spark.readStream.format("rocketmq-store").options(**turn["options"]).load(self._asked["path"])
        writer = frame.writeStream.foreachBatch(self._keep).option("checkpointLocation", str(self._home / "checkpoint"))
        writer = writer.trigger(**turn["trigger"]) if turn["trigger"] else writer
        writer.start().awaitTermination()

    def _keep(self, frame: DataFrame, batch: int) -> None:
        """A repeated batch replaces the first."""
        self._note(begun=batch)
        kept = self._home / "out" / str(batch)
        frame.write.mode("overwrite").parquet(str(kept))
        self._note(kept=batch, rows=_digest(kept))
        time.sleep(self._asked["lingers"])

    def _note(self, **said: object) -> None:
        with (self._home / "notes").open("a") as notes:
            notes.write(json.dumps(said) + "\n")


def _digest(kept: Path) -> list[int]:
    """The number of rows, and a checksum over them."""
    rows = pq.read_table(kept, columns=["store", "physical_offset"]).sort_by([("store", "ascending"), ("physical_offset", "ascending")])
    return [rows.num_rows, zlib.crc32(repr(rows.to_pylist()).encode())]


def _session(home: Path) -> SparkSession:
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={home} -Dderby.system.home={home}",
        "spark.local.dir": str(home / "local"),
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    }
    session = SparkSession.builder.master("local[2]").appName("followed").config(map=settings).getOrCreate()
    rmqstore_spark.register(session)
    return session


def _end_with_who_started_it() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_who_started_it, daemon=True).start()
    Job(json.loads(sys.argv[1])).run()
