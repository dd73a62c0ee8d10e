"""Whether the files before the log were removed, or have expired: one rule for the check, the quick look and the repair."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.command_line import run
from support.stores import Files, on_disk
from support.verified import healthy

import native_reader as nr
from native_reader.account.states import Mark
from native_reader.verify.findings import FirstFindings

WRITTEN = 1_700_000_000_000


def has_removed(store: nr.Store) -> bool:
    """What all three say: the account, the quick look, and the plan of a repair."""
    check = store.verify()
    codes = {row["code"] for row in check.to_table().to_pylist()}
    said = any(each.kind == "witness first gone" for each in store.diagnose().losses)
    assert ("log-removed" in codes, "entry-removed" in codes, "lost" in check.account.messages) == (said, said, said)
    plan = store.repair(f"{store.stores[0].uri.removeprefix('file://')}-new", dry_run=True).plan
    assert (plan.before_log(Mark.REMOVED) > 0, plan.is_whole) == (said, not said)
    assert plan.before_log(Mark.REMOVED) + plan.before_log(Mark.BEFORE_BEGIN) > 0
    return said


def without(files: Files, *names: str) -> Files:
    return {path: content for path, content in files.items() if not path.endswith(names)}


@pytest.mark.parametrize("hours", [None, 72, 0])
def test_the_retention_is_that_of_the_broker(tmp_path: Path, hours: int | None) -> None:
    """The check took the default of a broker, whatever its configuration said."""
    _, files = healthy()
    store = on_disk(tmp_path, without(files, f"commitlog/{0:020}")) / "store"
    conf = tmp_path / "broker.conf"
    conf.write_text("" if hours is None else f"fileReservedTime={hours}\n")
    assert has_removed(nr.open(store)) is True
    conf.write_text(f"storePathRootDir={store}\nmappedFileSizeCommitLog=2048\nmappedFileSizeConsumeQueue=4000\n{conf.read_text()}")
    assert has_removed(nr.open(store, broker_conf=str(conf))) is (hours != 0)


@pytest.mark.parametrize("hours", [72, 0])
def test_the_retention_that_is_asked_for_reaches_the_check(tmp_path: Path, hours: int) -> None:
    """`doctor --full` and `report --verify` gave it to their answer about a start only."""
    _, files = healthy()
    store = on_disk(tmp_path, without(files, f"commitlog/{0:020}")) / "store"
    (doctor,) = run("doctor", store, "--full", "--json", "--file-reserved-time", str(hours)).rows
    check = nr.open(store).verify(file_reserved_time=hours)
    codes = {row["code"] for row in check.to_table().to_pylist()}
    reported = nr.open(store).report(verify=True, file_reserved_time=hours).findings
    assert isinstance(reported, FirstFindings)
    is_told = any(row["code"] == "log-removed" for row in reported.rows)
    assert ("log-removed" in codes, "lost" in doctor["states"], is_told) == (hours != 0,) * 3


@pytest.mark.parametrize("days", [0, 4])
def test_a_broker_that_got_no_messages_deletes_all_segments_but_the_last(tmp_path: Path, days: int) -> None:
    """The times of its last messages did not tell that it ran on for days."""
    log, files = healthy()
    last = f"commitlog/{log.placed[-1].segment:020}"
    segments = [path for path in files if "/commitlog/" in path and not path.endswith(last)]
    store = on_disk(tmp_path, without(files, *segments)) / "store"
    ran = WRITTEN // 1000 + days * 86_400
    os.utime(store / "config" / "consumerOffset.json", (ran, ran))
    assert has_removed(nr.open(store)) is (days == 0)


def test_times_of_a_copy_do_not_count(tmp_path: Path) -> None:
    """A broker that had run until the copy was made would have deleted the other segments, too."""
    _, files = healthy()
    store = on_disk(tmp_path, without(files, f"commitlog/{0:020}")) / "store"
    assert (store / "config" / "consumerOffset.json").stat().st_mtime > WRITTEN / 1000 + 30 * 86_400
    assert has_removed(nr.open(store)) is True


@pytest.mark.parametrize("has_older", [False, True])
def test_a_broker_deletes_files_of_queues_and_index_with_segments(tmp_path: Path, has_older: bool) -> None:
    """With a full disk, it does so at any time. The check did not look at the index."""
    log, files = healthy(180, queue_file=400)
    begin = log.placed[70].segment
    gone = [path for path in files if "/commitlog/" in path and int(path[-20:]) < begin]
    queues = [f"{topic}/0/{0:020}" for topic in ("T0", "T1", "T2")]
    *older, _ = sorted(path for path in files if "/index/" in path)
    kept = without(files, *gone, *queues, *(() if has_older else older))
    store = nr.open(on_disk(tmp_path, kept) / "store")
    codes = {row["code"] for row in store.verify().to_table().to_pylist()}
    said = any(each.kind == "witness first gone" for each in store.diagnose().losses)
    assert ("log-removed" in codes, said) == (has_older, has_older)


def test_a_first_record_that_is_damaged_does_not_hide_it(tmp_path: Path) -> None:
    """Nothing was said of the messages before it."""
    _, files = healthy()
    kept = without(files, f"commitlog/{0:020}")
    first = min(path for path in kept if "/commitlog/" in path)
    store = on_disk(tmp_path, kept | {first: bytes(100) + kept[first][100:]}) / "store"
    assert nr.open(store).verify().to_table().num_rows
    assert "log-removed" in {row["code"] for row in nr.open(store).verify().to_table().to_pylist()}
