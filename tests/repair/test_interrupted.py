"""A repair that ends early leaves nothing that looks finished. The same repair continues it, and trusts nothing of what is there."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import contents
from support.store_damages import patch, tail, wrong_magic

import native_reader as nr
from native_reader.repair import disk
from native_reader.repair import repair as repairing

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


ENDS = """
import errno, logging, os, signal, sys
import native_reader as nr

logging.disable()
store, folder, end, at, *topics = sys.argv[1:]
left, begun = [int(at)], os.getpid()
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored below nohup


def counted(function):
    def ends(*arguments, **others):
        left[0] -= 1
        if left[0] == 0 and end != "None":
            os.kill(begun, int(end))
        elif left[0] <= 0 and end == "None":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return function(*arguments, **others)
    return ends


for name in ("pwrite", "copy_file_range", "ftruncate", "fsync", "utime", "rename"):
    setattr(os, name, counted(getattr(os, name)))
try:
    opened = nr.open(store)
    opened.extract(folder, topics) if topics else opened.repair(folder)
except (KeyboardInterrupt, nr.StoreError) as error:
    print(f"{type(error).__name__}: {error}")
    sys.exit(9)
"""


def end_at(store: Path, folder: Path, end: signal.Signals | None, at: int, *topics: str) -> str | None:
    """Repair, or extract, and end before that write. Returns how it ended; None if there are fewer writes."""
    number = "None" if end is None else str(int(end))
    ran = subprocess.run(
        [sys.executable, "-c", ENDS, store, folder / "new", number, str(at), *topics], check=False, capture_output=True, text=True
    )
    if ran.returncode == 0:
        shutil.rmtree(folder / "new")
        return None
    assert not (folder / "new").exists()
    return ran.stdout.strip() or str(ran.returncode)


def times(store: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (store / "commitlog").iterdir()}


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
        nr.open(store).repair(folder / stage)
        assert contents(folder / stage) == whole, stage
        assert times(folder / stage) == times(folder / "whole"), stage
    assert {path.name for path in folder.iterdir()} == {"whole", *STAGES}


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, signal.SIGHUP, None])
def test_a_repair_that_ends_again_and_again(store: Path, folder: Path, end: signal.Signals | None) -> None:
    """Before any of its writes; without a signal, because the disk is full."""
    nr.open(store).repair(folder / "whole")
    random = Random(str(end))
    ended = [each for _ in range(4) if (each := end_at(store, folder, end, random.randrange(5, 200))) is not None]
    assert ended
    assert {each.split(":")[0] for each in ended} <= {f"-{end}", "KeyboardInterrupt", "ExportError"}, ended
    if end is None:
        assert "could not write: No space left on device. Start the same repair again to continue it" in ended[0]
    nr.open(store).repair(folder / "new")
    assert contents(folder / "new") == contents(folder / "whole")
    assert times(folder / "new") == times(folder / "whole")


def test_what_is_there_is_not_copied_again(store: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kill_at(store, folder, "repair.prove")
    copied: list[str] = []
    copy = disk.copy
    monkeypatch.setattr(disk, "copy", lambda source, target: (copied.append(target), copy(source, target)))
    nr.open(store).repair(folder / "repair.prove")
    assert copied
    assert not [path for path in copied if "/commitlog/" in path]


@pytest.mark.parametrize("spoiled", ["changed", "cut", "longer", "zeros", "other", "empty"])
def test_what_is_there_is_not_trusted(store: Path, folder: Path, spoiled: str) -> None:
    """As after a loss of power: names and sizes are there, and not the bytes."""
    nr.open(store).repair(folder / "whole")
    kill_at(store, folder, "repair.prove")
    log = folder / "repair.prove.repairing" / "commitlog"
    for path in sorted(log.iterdir()):
        content = path.read_bytes()
        new = {
            "changed": content[:4000] + b"x" + content[4001:],
            "cut": content[:-1],
            "longer": content + b"x",
            "zeros": bytes(len(content)),
        }
        path.write_bytes(new.get(spoiled, b"" if spoiled == "empty" else content[::-1]))
    (log / f"{1 << 40:020d}").write_bytes(b"no segment of it")
    (log.parent / "config" / "topics.json").write_text("nothing")
    (log.parent / "more").mkdir()
    (log.parent / "more" / "file").write_text("nothing")
    nr.open(store).repair(folder / "repair.prove")
    assert contents(folder / "repair.prove") == contents(folder / "whole")
    assert times(folder / "repair.prove") == times(folder / "whole")


def test_one_byte_anywhere_in_a_segment_that_is_there(store: Path, folder: Path) -> None:
    """Also in what the repair fills, and in the rest of the last segment."""
    nr.open(store).repair(folder / "whole")
    kill_at(store, folder, "repair.prove")
    left, at = folder / "repair.prove.repairing", Random(7)
    for number in range(6):
        shutil.copytree(left, folder / f"{number}.repairing")
        for path in (folder / f"{number}.repairing" / "commitlog").iterdir():
            time = path.stat()
            patch(path, at.randrange(path.stat().st_size), b"\x55")
            os.utime(path, ns=(time.st_atime_ns, time.st_mtime_ns))
        nr.open(store).repair(folder / str(number))
        assert contents(folder / str(number)) == contents(folder / "whole")


def test_another_repair_does_not_continue_it(store: Path, folder: Path) -> None:
    kill_at(store, folder, "repair.prove")
    left = folder / "repair.prove.repairing"
    text = f"{left} holds an unfinished repair that this one cannot continue"
    with pytest.raises(nr.RepairError, match=text):
        nr.open(store).repair(folder / "repair.prove", crc="fix")
    with pytest.raises(nr.RepairError, match=text):
        nr.open(store).repair(folder / "repair.prove", dry_run=True, keep_doubtful=True)
    other = shutil.copytree(store, folder.parent / "other")
    with pytest.raises(nr.RepairError, match=rf"Delete it, and start again: rm -r {left}"):
        nr.open(other).repair(folder / "repair.prove")
    os.utime(next((store / "commitlog").iterdir()))
    with pytest.raises(nr.RepairError, match=text):
        nr.open(store).repair(folder / "repair.prove")
    (left / "repairing.json").unlink()
    with pytest.raises(nr.RepairError, match=text):
        nr.open(store).repair(folder / "repair.prove")
    assert (left / "commitlog").exists()


def test_a_store_that_changes_meanwhile(store: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a broker that somebody started, for example."""
    prove = repairing.prove

    def changed(*arguments: Any) -> Any:
        os.utime(store / "config" / "topics.json")
        return prove(*arguments)

    monkeypatch.setattr(repairing, "prove", changed)
    with pytest.raises(nr.RepairError, match=rf"files of file://{store} changed while it was repaired"):
        nr.open(store).repair(folder / "new")
    assert not (folder / "new").exists()


def test_an_extract_begins_again(store: Path, folder: Path) -> None:
    nr.open(store).extract(folder / "whole", ["Plain"])
    assert end_at(store, folder, signal.SIGKILL, 20, "Plain") == f"-{signal.SIGKILL}"
    nr.open(store).extract(folder / "new", ["Plain"])
    assert contents(folder / "new") == contents(folder / "whole")


def test_an_unfinished_repair_is_no_store(store: Path, folder: Path) -> None:
    """It can be read, and lacks messages. `doctor` says so, and it is not repaired instead of the damaged store."""
    kill_at(store, folder, "write._write_checkpoint")
    left = nr.open(folder / "write._write_checkpoint.repairing")
    text = "this is the folder of a repair that was not finished. Start the same repair again to continue it, or delete it"
    assert text in left.diagnose().findings
    with pytest.raises(nr.RepairError, match=r"holds a repair that was not finished\. Name the damaged store"):
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
