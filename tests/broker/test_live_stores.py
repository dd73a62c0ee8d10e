"""A store is read while RocketMQ writes it: nothing torn, nothing lost, and what one look saw the next one sees."""

from __future__ import annotations

import contextlib
import logging
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from live import COLUMNS, RATE, SECONDS, Follower, ended_by_its_input, told_by, written
from rocketmq import SMALL_FILES, VERSIONS, Broker, Java, ended

import native_reader as nr
from native_reader.storage import storage_of

TRANSIENT = {"transientStorePoolEnable": "true", "transientStorePoolSize": 4, "flushDiskType": "ASYNC_FLUSH"}
log = logging.getLogger(__name__)


@pytest.mark.sweep
@pytest.mark.parametrize("settings", [{}, TRANSIENT], ids=["mapped", "pooled"])
def test_a_store_that_is_being_written(rocketmq: Callable[[str], Java], tmp_path: Path, settings: dict[str, object]) -> None:
    home = tmp_path / "live"
    store = home / "store"
    follower = Follower(lambda begin: nr.open(store).messages(columns=COLUMNS, starting_physical_offset=begin).to_table())
    with written(rocketmq("5.5.0"), home, **settings) as writer:
        while not (home / "quiet").exists():
            assert writer.poll() is None, (home / "writer.out").read_text()[-3000:]
            if (store / "commitlog").is_dir():
                follower.look()
            else:
                time.sleep(0.01)

        # The producer is quiet, the broker still runs: its queues say that the newest record is whole.
        lock = (store / "lock").as_uri()
        assert storage_of(lock).is_locked(lock)
        told = told_by(home / "writer.out", "written")
        assert told["written"] == RATE * SECONDS
        assert nr.open(store).messages().count_rows() == told["written"]
        assert ended_by_its_input(writer) == 0
    assert not storage_of(lock).is_locked(lock)
    assert nr.open(store).messages().count_rows() == told["written"]
    assert follower.looks > 5 * SECONDS
    log.info("%s looks at %s rows while %s were written in %.1f s", follower.looks, follower.rows, told["written"], told["seconds"])


@pytest.mark.sweep
@pytest.mark.parametrize("version", VERSIONS)
def test_a_broker_under_load(broker: Callable[..., Broker], tmp_path: Path, version: str) -> None:
    """Four clients send as fast as they can. In the end there is what was acknowledged, once each, alive and at rest."""
    segment = 1 << 20
    running = broker(version, mappedFileSizeCommitLog=segment, maxIndexNum=SMALL_FILES["maxIndexNum"] * 100, enableLmq="false")
    said = tmp_path / "said"
    arguments = ("load", running.name_server, running.address, 1, SECONDS)
    clients = running.java.start("Traffic", *arguments, home=said, log="said")

    def read(begin: int) -> pa.Table:
        return nr.open(running.store).messages(columns=COLUMNS, topic="Load", starting_physical_offset=begin).to_table()

    follower = Follower(read, segment)
    try:
        while clients.poll() is None:
            follower.look()
    finally:
        ended(clients)
    told = told_by(said / "said", "acknowledged")
    assert '"busy"' not in (said / "said").read_text()
    time.sleep(1.5)  # what is asynchronous in a broker is done
    for at_rest in (False, True):
        if at_rest:
            assert running.stop() == 143
        ids = nr.open(running.store).messages(columns="uniq_key", topic="Load").to_table()["uniq_key"].to_pylist()
        assert len(ids) == len(set(ids)), at_rest
        assert set(ids) == set(told["acknowledged"]), at_rest
    assert follower.looks > SECONDS
    log.info("%s: %s looks at %s rows while %s were written", version, follower.looks, follower.rows, len(ids))


def test_copies_of_a_store_that_is_being_written(rocketmq: Callable[[str], Java], tmp_path: Path) -> None:
    """`cp -r`, the log first, the log last: no copy shows a record that is not in the log, and none leaves one out."""
    home = tmp_path / "live"
    copies: list[Path] = []
    with written(rocketmq("5.5.0"), home) as writer:
        while len(copies) < 2 or not (home / "quiet").exists():
            assert writer.poll() is None, (home / "writer.out").read_text()[-3000:]
            time.sleep(0.5)
            if not any((home / "store/consumequeue").glob("Live*/*/*")):
                continue
            copy = tmp_path / f"copy{len(copies)}"
            parts = sorted((home / "store").iterdir(), reverse=len(copies) % 2 == 0)  # commitlog comes before consumequeue
            copy.mkdir()
            for part in parts:
                (shutil.copytree if part.is_dir() else shutil.copy)(part, copy / part.name)
            copies.append(copy)
        assert ended_by_its_input(writer) == 0
    whole = nr.open(home / "store").messages(columns=COLUMNS).to_table()
    sizes = []
    for copy in copies:
        run, batches = nr.open(copy).messages(columns=COLUMNS).run(), []
        with contextlib.suppress(nr.StoreDamaged):  # the writer overtook the copy inside a record: that is said, not hidden
            batches += run
        table = pa.Table.from_batches(batches, whole.schema)
        assert table.equals(whole.slice(0, len(table)))
        sizes.append(len(table))
    assert sizes == sorted(sizes)
    assert sizes[0] > 0
