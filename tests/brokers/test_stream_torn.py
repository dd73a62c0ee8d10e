"""Streams of a log while RocketMQ writes it at full speed: no micro-batch tears, omits or repeats a record."""

from __future__ import annotations

import json
import logging
import pickle
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from random import Random
from signal import SIGKILL
from subprocess import Popen
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from follows import driving
from live import COLUMNS, RATE, SECONDS, ended_by_its_input, report_in, written, zeros
from pyspark.sql.datasource import DataSourceStreamReader
from rocketmq import Java, ended
from support.tune import Tune

import native_reader as nr
from native_reader.layout.record import BLANK_HEAD, Records
from native_reader.log.boundary import Boundary
from native_reader.log.follow import Follower
from native_reader.log.tail import look_at_end
from native_reader.records.walk import EndWalk
from native_reader.storage.window import Window
from rmqstore_spark.source import RocketmqStore

KILLS = 20
MOST_KILLS = 100
"""A kill rarely leaves half a record: the sweep goes on until one has."""
TRANSIENT = {"transientStorePoolEnable": "true", "transientStorePoolSize": 32, "flushDiskType": "ASYNC_FLUSH"}
"""When the pool is used up, 5.5.0 writes the next segments directly. A kill then leaves zeros before them, in the middle of the log."""
MAPPED, POOLED = pytest.param({}, id="mapped"), pytest.param(TRANSIENT, id="pooled")
SMALL_SEGMENTS = {"mappedFileSizeCommitLog": 2 << 20}
log = logging.getLogger(__name__)


class Content:
    """The content of rows, however they are cut into batches: their offsets, and a checksum of each column's bytes."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.bytes, self.checksums = Counter[str](), Counter[str]()

    def add(self, table: pa.Table, halves: Collection[int] = ()) -> None:
        """Add rows. They have no zero bytes, except in records at `halves`."""
        offsets = table["physical_offset"].to_pylist()
        assert zeros(table.filter(pa.array([offset not in halves for offset in offsets], pa.bool_()))) == 0, "torn"
        self.offsets += offsets
        pairs = table["properties"].combine_chunks()
        columns = {
            "topic": table["topic"].combine_chunks(),
            "body": table["body"].combine_chunks(),
            "keys": pairs.keys,
            "values": pairs.items,
        }
        for name, column in columns.items():
            content = column.buffers()[2].slice(*_span(column)) if len(column) else b""
            self.bytes[name] += len(content)
            self.checksums[name] = zlib.crc32(content, self.checksums[name])

    def is_that_of(self, store: Path, halves: Collection[int] = ()) -> None:
        """Check that it equals one read of the whole store."""
        whole = Content()
        for batch in nr.open(store).messages(columns=COLUMNS).run():
            whole.add(pa.Table.from_batches([batch]), halves)
        assert self.offsets == whole.offsets, "left out, twice, or out of order"
        assert (self.bytes, self.checksums) == (whole.bytes, whole.checksums)
        assert self.bytes["body"] > len(self.offsets) * 100


def _span(column: pa.Array) -> tuple[int, int]:
    """Position and length of an array's bytes in its buffer."""
    ends = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    return int(ends[0]), int(ends[-1] - ends[0])


class Watch:
    """Counts the newest records that the follower of a log saw, and whether each look accepted them.

    `torn`: the record's last byte was not written yet. `begun`: the record after it was written in part.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen = Counter[str]()
        newest: tuple[str, int] | None = None
        """State of the newest record of the latest walk, and the offset where it ends."""

        class Watched(EndWalk):
            def __init__(self, window: Window, *bounds: int) -> None:
                super().__init__(window, *bounds)
                self.window = window

            def __iter__(self) -> Iterator[Records]:
                nonlocal newest
                for records in super().__iter__():
                    end = self.reached - self.window.position
                    after = self.window.u8[end : end + BLANK_HEAD]
                    state = "torn" if self.window.u8[end - 1] == 0 else "begun" if after.any() else "newest"
                    newest = state, self.window.segment.base + self.reached
                    yield records

        def watched_look(follower: Follower) -> Boundary:
            nonlocal newest
            newest = None
            found = look(follower)
            if newest is not None:
                state, end = newest
                self.seen[f"{state}, {'accepted' if found.offset >= end else 'held back'}"] += 1
            return found

        look = Follower.look
        monkeypatch.setattr("native_reader.log.follow.EndWalk", Watched)
        monkeypatch.setattr(Follower, "look", watched_look)


class Query:
    """Micro-batches as Spark requests them: offsets are converted to JSON and back, and tasks have their own reader."""

    def __init__(self, store: Path) -> None:
        source = RocketmqStore({"path": str(store), "columns": ",".join(COLUMNS), "startingOffsets": "earliest"})
        self._driver: DataSourceStreamReader = source.streamReader(source.schema())
        self._task: DataSourceStreamReader = pickle.loads(pickle.dumps(self._driver))
        self._start = _kept(self._driver.initialOffset())
        self.batches = self.asked = 0

    def rows(self) -> pa.Table | None:
        """The rows of the next micro-batch; None if there are no new ones."""
        batches = list(self._batches())
        return pa.Table.from_batches(batches) if batches else None

    def _batches(self) -> Iterable[pa.RecordBatch]:
        end = _kept(self._driver.latestOffset(self._start, self._driver.getDefaultReadLimit()))
        self.asked += 1
        if end == self._start:
            return
        partitions = self._driver.partitions(self._start, end)
        self._start, self.batches = end, self.batches + 1
        for partition in partitions:
            yield from self._task.read(pickle.loads(pickle.dumps(partition)))


def _kept(offset: dict[str, Any]) -> dict[str, Any]:
    return dict(json.loads(json.dumps(offset)))


@pytest.mark.long
@pytest.mark.parametrize("settings", [MAPPED, POOLED])
def test_micro_batch_after_micro_batch(
    rocketmq: Callable[[str], Java], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tune: Tune, settings: dict[str, object]
) -> None:
    tune(look_every=0.0)
    watch, content, home = Watch(monkeypatch), Content(), tmp_path / "live"
    with written(rocketmq("5.5.0"), home, held=True, **SMALL_SEGMENTS, **settings) as writer:
        while (query := begun(home / "store")) is None:
            assert_it_runs(writer, home)
        while (rows := query.rows()) is None:
            assert_it_runs(writer, home)
        content.add(rows)
        (home / "held").unlink()
        while not (home / "quiet").exists():
            assert_it_runs(writer, home)
            if rows := query.rows():
                content.add(rows)
        if rows := query.rows():
            content.add(rows)
        report = report_in(home / "writer.out", "written")
        assert report["written"] == RATE * SECONDS
        assert len(content.offsets) == report["written"], "the newest record has its witness while the broker lives"
        assert query.rows() is None
        assert ended_by_its_input(writer) == 0
    assert query.rows() is None
    content.is_that_of(home / "store")
    assert query.batches > 1  # the number depends on the machine
    assert watch.seen
    log.info(
        "%s looks, %s micro-batches with %s rows while %s were written in %.1f s; newest records: %s",
        query.asked, query.batches, len(content.offsets), report["written"], report["seconds"], dict(watch.seen),
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("settings", [MAPPED, POOLED])
def test_a_writer_that_is_killed_again_and_again(
    rocketmq: Callable[[str], Java], tmp_path: Path, tune: Tune, settings: dict[str, object]
) -> None:
    """Half of a record may stay at the end of the log until RocketMQ comes back.

    Then RocketMQ replaces it. Or keeps it, if the body is complete: the only checksum is that of the body.
    """
    tune(look_every=0.0)
    content, home, random, halves = Content(), tmp_path / "live", Random(1), set[int]()
    query: Query | None = None
    needs_half, kills = not settings, 0  # with the pool, no kill may leave half a record
    while kills < KILLS or (needs_half and not halves and kills < MOST_KILLS):
        kills += 1
        wanted = len(content.offsets) + random.randrange(RATE // 10, RATE)
        with written(rocketmq("5.5.0"), home, **SMALL_SEGMENTS, **settings) as writer:
            while len(content.offsets) < wanted:
                assert_it_runs(writer, home)
                query = query or begun(home / "store")
                if query is not None and (rows := query.rows()):
                    content.add(rows, halves)
            ended(writer, SIGKILL)
        halves |= half_a_record(home / "store")
    assert query is not None
    if rows := query.rows():
        content.add(rows, halves)
    content.is_that_of(home / "store", halves)
    assert query.batches >= kills
    assert halves or not needs_half
    log.info("%s of %s kills left half a record; %s micro-batches with %s rows", len(halves), kills, query.batches, len(content.offsets))


@pytest.mark.long
@pytest.mark.parametrize("settings", [MAPPED, POOLED])
def test_a_query_of_spark(rocketmq: Callable[[str], Java], tmp_path: Path, settings: dict[str, object]) -> None:
    home, content = tmp_path / "live", Content()
    with driving(home / "store", tmp_path / "spark", COLUMNS, ["earliest"]) as driver:
        with written(rocketmq("5.5.0"), home, held=True, **settings) as writer:
            driver.start_following()
            before = driver.batches("earliest")
            (home / "held").unlink()
            while not (home / "quiet").exists():
                assert_it_runs(writer, home)
                time.sleep(0.05)
            while_written = driver.batches("earliest") - before
            report = report_in(home / "writer.out", "written")
            driver.drain()
            assert ended_by_its_input(writer) == 0
        driver.close()
    for batch in driver.delivered("earliest"):
        content.add(pq.read_table(batch).sort_by("physical_offset"))
    assert len(content.offsets) == report["written"] == RATE * SECONDS
    content.is_that_of(home / "store")
    assert while_written >= 1
    log.info("%s batches while %s were written in %.1f s", while_written, report["written"], report["seconds"])


def begun(store: Path) -> Query | None:
    """A query, as soon as there is a log."""
    if any((store / "commitlog").glob("*")):
        return Query(store)
    time.sleep(0.01)
    return None


def half_a_record(store: Path) -> set[int]:
    """The offset of a record that was begun after the end of the log, if there is one."""
    (files,) = nr.open(store).stores
    end = look_at_end(files, 4 << 20, 0).offset
    segment = next((each for each in files.segments if each.base <= end < each.end), None)
    if segment is None:
        return set()
    with (store / "commitlog" / f"{segment.base:020}").open("rb") as file:
        file.seek(end - segment.base)
        return {end} if any(file.read(4)) else set()


def assert_it_runs(writer: Popen[bytes], home: Path) -> None:
    """Fail with its output if it has ended."""
    assert writer.poll() is None, (home / "writer.out").read_text()[-3000:]
