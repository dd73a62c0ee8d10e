"""A repair that is killed leaves nothing that looks finished, and says how to start again."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from support.golden import unpack
from support.own_stores import STORES
from support.store_damages import tail, wrong_magic

import native_reader as nr
from native_reader.repair import disk

STAGES = (
    *("repair._plan", "disk.copy", "write._write_log", "write._fill", "write._write_queues", "write._copy_rest", "write._write_index"),
    *("write._write_checkpoint", "repair.prove", "disk.flush", "disk.publish"),
)
KILLED = """
import importlib, logging, os, signal, sys
import native_reader as nr
from native_reader.repair import disk

logging.disable()
store, folder, *stages = sys.argv[1:]
for stage in stages:
    child = os.fork()
    if child:
        print(stage, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        continue
    module, _, name = stage.partition(".")
    where = importlib.import_module(f"native_reader.repair.{module}")
    function = getattr(where, name)

    def killed(*arguments):
        if name != "flush_one" or arguments == (folder,):  # the last step of all: the name is flushed
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments)

    setattr(where, name, killed)
    nr.open(store).repair(f"{folder}/{stage}")
    os._exit(0)
"""


def contents(store: Path) -> dict[str, bytes]:
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    found = unpack("5.5.0-killed", tmp_path, STORES).root
    wrong_magic(found, Random(1))
    tail(found, Random(1))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "new"
    found.mkdir()
    return found


def kill_at(store: Path, folder: Path, *stages: str) -> None:
    ran = subprocess.run([sys.executable, "-c", KILLED, store, folder, *stages], check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines() == [f"{stage} {-signal.SIGKILL}" for stage in stages], ran.stderr


def test_a_repair_killed_at_any_stage(store: Path, folder: Path) -> None:
    nr.open(store).repair(folder / "whole")
    whole = contents(folder / "whole")
    kill_at(store, folder, *STAGES)
    assert {path.name for path in folder.iterdir()} == {"whole", *(f"{stage}.repairing" for stage in STAGES)}
    for stage in STAGES:
        unfinished = folder / f"{stage}.repairing"
        if any(unfinished.iterdir()):
            with pytest.raises(nr.RepairError) as refused:
                nr.open(store).repair(folder / stage)
            text = f"{unfinished} holds a repair that was not finished. Delete it, and start again: rm -r {unfinished}"
            assert str(refused.value) == text
    shutil.rmtree(folder / "disk.publish.repairing")
    nr.open(store).repair(folder / "disk.publish")
    assert contents(folder / "disk.publish") == whole


def test_an_unfinished_repair_is_no_store(store: Path, folder: Path) -> None:
    """It can be read, and lacks messages. `doctor` says so, and it is not repaired instead of the damaged store."""
    kill_at(store, folder, "write._write_checkpoint")
    left = nr.open(folder / "write._write_checkpoint.repairing")
    text = "this is the folder of a repair that was not finished. Delete it, and repair the damaged store again"
    assert text in left.diagnose().findings
    with pytest.raises(nr.RepairError, match=r"holds a repair that was not finished\. Delete it, and start again: rm -r "):
        left.repair(folder / "other")


def test_a_repair_killed_after_its_last_step_is_finished(store: Path, folder: Path) -> None:
    nr.open(store).repair(folder / "whole")
    kill_at(store, folder, "disk.flush_one")
    assert {path.name for path in folder.iterdir()} == {"whole", "disk.flush_one"}
    assert contents(folder / "disk.flush_one") == contents(folder / "whole")


def test_an_empty_folder_becomes_the_store(store: Path, folder: Path) -> None:
    """Also one that a link names."""
    (folder / "link").symlink_to(folder / "empty")
    (folder / "empty").mkdir()
    done = nr.open(store).repair(folder / "link")
    assert done.page == str(folder / "link" / "repair.md")
    assert {path.name for path in folder.iterdir()} == {"link", "empty"}
    assert (folder / "empty" / "repair.md").exists()


def test_two_repairs_to_one_folder(store: Path, folder: Path) -> None:
    (folder / "new.repairing" / "commitlog").mkdir(parents=True)
    lock = os.open(folder / "new.repairing", os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(nr.RepairError, match=r"another repair is writing to \S+/new\.repairing\. Wait for its end"):
            nr.open(store).repair(folder / "new")
    finally:
        os.close(lock)


def test_a_folder_that_is_a_disk(store: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a folder cannot be replaced, and the one beside it is on another disk."""
    monkeypatch.setattr(disk, "is_mount", lambda path: path == str(folder))
    with pytest.raises(nr.RepairError, match=rf"{folder} is where a disk is mounted.* Name a folder in it: {folder}/store"):
        nr.open(store).repair(folder)


def test_a_store_with_the_name_of_an_unfinished_one(tmp_path: Path) -> None:
    """The damaged store is never offered for deletion."""
    found = unpack("5.5.0-killed", tmp_path, STORES).root.rename(tmp_path / "new.repairing")
    with pytest.raises(nr.OptionError, match="is inside the store"):
        nr.open(found).repair(tmp_path / "new")
