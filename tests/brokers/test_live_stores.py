"""Reads while RocketMQ writes: nothing is torn or lost, and each look sees all records of the one before."""

from __future__ import annotations

import contextlib
import logging
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from live import COLUMNS, RATE, SECONDS, Follower, ended_by_its_input, report_in, written
from rocketmq import SMALL_FILES, VERSIONS, Broker, Java, ended
from support.tune import Tune

import native_reader as nr
from native_reader.storage import storage_of

ASKED = {"topic": "Live3", "tags": "Tag0 || Tag1"}
TRANSIENT = {"transientStorePoolEnable": "true", "transientStorePoolSize": 4, "flushDiskType": "ASYNC_FLUSH"}
log = logging.getLogger(__name__)


@pytest.mark.long
@pytest.mark.parametrize(("settings", "asked"), [({}, {}), (TRANSIENT, {}), ({}, ASKED)], ids=["mapped", "pooled", "through its queues"])
def test_a_store_that_is_being_written(
    rocketmq: Callable[[str], Java],
    tmp_path: Path,
    tune: Tune,
    settings: dict[str, object],
    asked: dict[str, str],
) -> None:
    tune(queue_costs=0)
    home = tmp_path / "live"
    store = home / "store"
    follower = Follower(lambda begin: nr.open(store).messages(columns=COLUMNS, starting_physical_offset=begin, **asked).to_table())
    with written(rocketmq("5.5.0"), home, **settings) as writer:
        while not (home / "quiet").exists():
            assert writer.poll() is None, (home / "writer.out").read_text()[-3000:]
            if (store / "commitlog").is_dir():
                follower.look()
            else:
                time.sleep(0.01)

        # The producer is quiet, but the broker still runs: its queues prove that the newest record is complete.
        lock = (store / "lock").as_uri()
        assert storage_of(lock).is_locked(lock)
        report = report_in(home / "writer.out", "written")
        assert report["written"] == RATE * SECONDS
        assert nr.open(store).messages().count_rows() == report["written"]
        assert ended_by_its_input(writer) == 0
    assert not storage_of(lock).is_locked(lock)
    assert nr.open(store).messages().count_rows() == report["written"]
    assert follower.looks > 1  # the number depends on the machine
    if asked:
        rows = nr.open(store).messages(**asked, access="scan").count_rows()
        assert rows == nr.open(store).messages(**asked).count_rows() == nr.open(store).messages(**asked, access="trust").count_rows() > 0
    log.info("%s looks at %s rows while %s were written in %.1f s", follower.looks, follower.rows, report["written"], report["seconds"])


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_a_broker_under_load(broker: Callable[..., Broker], tmp_path: Path, version: str) -> None:
    """Four clients send as fast as they can. In the end each acknowledged message is there once, both live and at rest."""
    segment = 1 << 20
    settings = {"maxIndexNum": SMALL_FILES["maxIndexNum"] * 100, "enableLmq": "false"}
    running = broker(version, mappedFileSizeCommitLog=segment, **settings)
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
    follower.look()  # on a busy machine, one look can take as long as all of the load
    acknowledged = set(report_in(said / "said", "acknowledged")["acknowledged"])
    refused = (said / "said").read_text().count('"busy"')  # by an overloaded broker; refused messages may be there

    def ids() -> list[str]:
        return list(nr.open(running.store).messages(columns="uniq_key", topic="Load").to_table()["uniq_key"].to_pylist())

    patience = time.monotonic() + 30  # for asynchronous work of the broker
    while not acknowledged <= set(ids()) and time.monotonic() < patience:
        time.sleep(0.5)
    for at_rest in (False, True):
        if at_rest:
            assert running.stop() == 143
        found = ids()
        assert len(found) == len(set(found)), at_rest
        assert acknowledged <= set(found), at_rest
        assert len(found) <= len(acknowledged) + refused, at_rest
    assert follower.looks > 1
    log.info("%s: %s looks at %s rows while %s were written", version, follower.looks, follower.rows, len(found))


@pytest.mark.long
def test_copies_of_a_store_that_is_being_written(rocketmq: Callable[[str], Java], tmp_path: Path, tune: Tune) -> None:
    """The log first, the log last, or file by file: no copy adds a record to the log, and none omits one."""
    home = tmp_path / "live"
    copies: list[Path] = []
    tune(queue_costs=0, most_share=0.9)
    with written(rocketmq("5.5.0"), home) as writer:
        while len(copies) < 3 or not (home / "quiet").exists():
            assert writer.poll() is None, (home / "writer.out").read_text()[-3000:]
            time.sleep(0.5)
            if not any((home / "store/consumequeue").glob("Live*/*/*")):
                continue
            copy = tmp_path / f"copy{len(copies)}"
            parts = sorted(path for path in (home / "store").rglob("*") if path.is_file())  # commitlog comes before consumequeue
            if len(copies) % 3 == 0:
                parts.reverse()
            elif len(copies) % 3 == 2:  # file by file, in any order
                Random(len(copies)).shuffle(parts)
            for part in parts:
                target = copy / part.relative_to(home / "store")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(part, target)
            copies.append(copy)
        assert ended_by_its_input(writer) == 0
    whole = nr.open(home / "store").messages(columns=COLUMNS).to_table()
    sizes = []
    for copy in copies:
        # Its queues can name a segment that the log did not have when it was copied. That is reported.
        run, batches, is_torn = nr.open(copy).messages(columns=COLUMNS, fail_on_data_loss=False).run(), [], False
        try:
            batches += run
        except nr.StoreDamaged as damaged:  # the writer overtook the copy inside a record: that is reported
            is_torn = "properties of the record before" in str(damaged)
        table = pa.Table.from_batches(batches, whole.schema)
        same = whole.slice(0, len(table))
        assert table.drop_columns("properties").equals(same.drop_columns("properties"))
        assert table.slice(0, len(table) - is_torn).equals(same.slice(0, len(table) - is_torn))
        sizes.append(len(table))
        queues_of_another_moment(copy, Random(len(sizes)))
    assert sizes == sorted(sizes)
    assert sizes[0] > 0


def queues_of_another_moment(copy: Path, random: Random) -> None:
    """Each queue of such a copy knows a different part of the log. The rows are those of the log nevertheless."""
    table = nr.open(copy).messages(columns="topic,tags,queue_offset", mode="DROPMALFORMED").to_table()
    for row in random.choices(table.to_pylist(), k=4):
        where = f"topic = '{row['topic']}' AND (queue_offset > {row['queue_offset']} OR tags IS NOT NULL)"
        asked = {"where": where, "columns": "physical_offset", "mode": "DROPMALFORMED", "fail_on_data_loss": False}
        pruned, scanned = (nr.open(copy).messages(access=access, **asked).run() for access in ("auto", "scan"))
        found, expected = ([place for batch in run for place in batch["physical_offset"].to_pylist()] for run in (pruned, scanned))
        assert sorted(found) == sorted(expected)


def _copy(source: str, target: str) -> None:
    """A broker writes a file of its settings anew under another name, so it may be gone since the folder was listed."""
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(source, target)


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_the_index_of_a_killed_broker_and_of_copies_has_no_errors(broker: Callable[..., Broker], tmp_path: Path, version: str) -> None:
    """A broker writes an entry and counts it afterwards, and a copy takes a moment: the newest file is not finished."""
    running = broker(version, mappedFileSizeCommitLog=1 << 20, enableLmq="false", maxHashSlotNum=5000, maxIndexNum=20_000)
    clients = running.java.start("Traffic", "load", running.name_server, running.address, 1, SECONDS, home=tmp_path / "said", log="said")
    copies = list[Path]()
    while clients.poll() is None and len(copies) < 4:
        time.sleep(SECONDS / 6)
        if any((running.store / "index").glob("*")):
            copies.append(tmp_path / f"copy{len(copies)}")
            shutil.copytree(running.store, copies[-1], copy_function=_copy, ignore=shutil.ignore_patterns("lock"))
    running.kill()
    ended(clients, signal.SIGKILL)
    assert copies
    unfinished = 0
    for store in (*copies, running.store):
        found = nr.open(store).verify().to_table().to_pylist()
        of_index = {row["code"] for row in found if row["severity"] != "note" and row["code"].startswith(("index-", "key-"))}
        assert of_index <= {"index-after-end"}, store  # the log was copied before the index
        unfinished += any(row["code"] == "index-unfinished" for row in found)
    assert [row for row in found if row["severity"] != "note"] == [], "a merely killed broker has no finding"
    log.info("%s: the newest index file of %s of %s stores was not finished", version, unfinished, len(copies) + 1)
