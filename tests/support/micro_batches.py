"""Simulates Spark's micro-batches: the calls to a stream reader in Spark's order, and the state that survives a kill.

As observed with Spark 4.3: each run has a new reader, and another one for the tasks. Offsets are JSON text. A batch is logged before
it is read, and committed before the next one is planned. An uncommitted first batch starts at what `initialOffset` returns after the
restart.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit

from rmqstore_spark import stream
from rmqstore_spark.columns import spark_schema
from rmqstore_spark.source import RocketmqStore
from rmqstore_spark.stream import StoreStreamReader
from support.tune import Tune

STAGES = ("polled", "logged", "planned", "reading", "written", "committed")
"""Stages of a batch after which a query can be killed; `logged`: its offset is in the offset log."""


class Killed(Exception):
    """The process was killed; its memory is lost."""


@dataclass
class Query:
    """One query, its checkpoint and its sink, over all its runs."""

    path: str
    options: Mapping[str, str]
    columns: str = "store,physical_offset,topic,body"
    offsets: list[str] = field(default_factory=list)
    commits: int = 0
    sink: dict[int, pa.Table] = field(default_factory=dict)
    kills: dict[str, int] = field(default_factory=dict)
    replays: int = 0
    asks: int = 0
    _reader: Any = None
    _once: bool = False

    def start(self, *, available_now: bool = False, once: bool = False, **options: str) -> None:
        """Start a new process."""
        self.options = {**self.options, **options}
        self._reader, self._tasks = self._readers()
        self._once = once
        if available_now or once:
            self._reader.prepareForTriggerAvailableNow()
        self._limit = self._reader.getDefaultReadLimit()
        if self.commits == len(self.offsets):
            self._start = self.offsets[-1] if self.offsets else self._as_json(self._reader.initialOffset)
            return
        # The last batch was logged, but not committed. Spark does not log the start of the first batch.
        self.replays += 1
        number = len(self.offsets) - 1
        start = self.offsets[number - 1] if number else self._as_json(self._reader.initialOffset)
        self._run(number, start, self.offsets[number], lambda _: None)

    def trigger(self, kill: str | None = None, meanwhile: Callable[[], None] = lambda: None) -> bool:
        """Run one batch if there is new data. `kill`: the stage at which the process ends; `meanwhile` runs before the batch is read."""

        def at(stage: str) -> None:
            if stage == "planned":
                meanwhile()
            if stage == kill:
                self.kill(stage)

        start = self._start
        limit: ReadLimit = ReadAllAvailable() if self._once else self._limit
        end = self._as_json(lambda: self._reader.latestOffset(json.loads(start), limit))
        self._reader.reportLatestOffset()
        self.asks += 1
        at("polled")
        if end == start and self.offsets:
            return False
        if self.offsets:
            self._reader.commit(json.loads(self.offsets[-1]))
        else:
            self._as_json(self._reader.initialOffset)
        self.offsets.append(end)
        at("logged")
        self._run(len(self.offsets) - 1, start, end, at)
        return True

    def end(self) -> None:
        """End the process; logs and sink are kept."""
        self._reader = None

    def kill(self, stage: str) -> None:
        self.kills[stage] = self.kills.get(stage, 0) + 1
        self.end()
        raise Killed(stage)

    def _run(self, number: int, start: str, end: str, at: Callable[[str], None]) -> None:
        parts = self._reader.partitions(json.loads(start), json.loads(end)) if start != end else []
        at("planned")
        batches: list[pa.RecordBatch] = []
        for which, part in enumerate(parts):
            sent: InputPartition = pickle.loads(pickle.dumps(part))
            batches += self._tasks.read(sent)
            if which * 2 >= len(parts) - 1:
                at("reading")
        self.sink[number] = pa.Table.from_batches(batches) if batches else None
        at("written")
        self.commits = number + 1
        self._start = end
        at("committed")

    def _readers(self) -> tuple[DataSourceStreamReader, DataSourceStreamReader]:
        source = RocketmqStore({"path": self.path, "columns": self.columns, "failOnMissingTopic": "false", **self.options})
        schema = spark_schema(self.columns.split(","))
        return source.streamReader(schema), pickle.loads(pickle.dumps(source.streamReader(schema)))

    def _as_json(self, call: Callable[[], Any]) -> str:
        return json.dumps(call())

    @property
    def runs(self) -> bool:
        return self._reader is not None

    @property
    def began(self) -> dict[str, int]:
        """The start offset of the first batch in each store."""
        return {uri: batch["from"] for uri, batch in json.loads(self.offsets[0])["stores"].items()} if self.offsets else {}

    def rows(self) -> list[dict[str, Any]]:
        """All rows of the sink, by batch."""
        return [row for number in sorted(self.sink) if self.sink[number] is not None for row in self.sink[number].to_pylist()]


def drained(path: str, columns: str = "store,physical_offset,topic,body", **options: str) -> Query:
    """A query that has read everything available."""
    query = Query(path, options, columns)
    query.start(available_now=True)
    while query.trigger():
        pass
    return query


def offsets_of(query: Query) -> list[int]:
    return [row["physical_offset"] for row in query.rows()]


def reader_of(path: str, **options: str) -> StoreStreamReader:
    reader = RocketmqStore({"path": path, **options}).streamReader(spark_schema(["physical_offset"]))
    assert isinstance(reader, StoreStreamReader)
    return reader


def at_once(patch: pytest.MonkeyPatch, tune: Tune) -> list[str]:
    """Disable all waiting between reads; returns the list that receives announcements."""
    lines: list[str] = []
    patch.setattr(stream, "announce", lines.append)
    tune(look_every=0, list_every=0, rest=0)
    return lines
