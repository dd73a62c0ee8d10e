"""A rescue that ends early loses at most the part that it was in: a task of the export, or a segment or some topics of the check."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.golden import unpack
from support.own_stores import STORES
from support.store_damages import random_bytes, wrong_magic

import native_reader as nr
from native_reader.export.target import Target
from native_reader.tables import account

ENDS = """
import errno, logging, os, signal, sys
import native_reader as nr

logging.disable()
store, folder, end, at, jobs = sys.argv[1:]
left = [int(at)]


def counted(function):
    def ends(*arguments, **others):
        left[0] -= 1
        if left[0] == 0 and end != "None":
            os.kill(os.getpid(), int(end))
        elif left[0] <= 0 and end == "None":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return function(*arguments, **others)
    return ends


for name in ("fsync", "rename", "unlink"):
    setattr(os, name, counted(getattr(os, name)))
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored below nohup
try:
    nr.open(store).rescue(folder, jobs=int(jobs))
except (KeyboardInterrupt, nr.StoreError) as error:
    print(f"{type(error).__name__}: {error}")
    sys.exit(9)
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    found = unpack("5.5.0-killed", tmp_path, STORES).root
    wrong_magic(found, Random(1))
    random_bytes(found, Random(2))
    return found


def end_at(store: Path, folder: Path, end: signal.Signals | None, at: int, jobs: int = 1) -> str | None:
    """Rescue, and end before that change of the disk. Returns how it ended; None if there are fewer changes."""
    number = "None" if end is None else str(int(end))
    command = [sys.executable, "-c", ENDS, store, folder, number, str(at), str(jobs)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ran.returncode == 0 or not (folder / "rescue.md").exists(), ran.stderr
    return None if ran.returncode == 0 else ran.stdout.strip() or str(ran.returncode)


def contents(folder: Path) -> dict[str, bytes]:
    """All files; the page without its time and the paths."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    page = found["rescue.md"].decode().replace(str(folder), "FOLDER")
    return found | {"rescue.md": re.sub(r"20\d\d-\d\d-\d\d \d\d:\d\d(:\d\d)?", "TIME", page).encode()}


def read_parts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of the parts that the check reads, from now on."""
    kinds, checked = list[str](), account.checked

    def counted(part: Any, *more: Any) -> Any:
        kinds.append(type(part).__name__)
        return checked(part, *more)

    monkeypatch.setattr(account, "checked", counted)
    return kinds


def stop_in_check(store: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Ctrl-C while the check reads the part after so many."""
    checked, left = account.checked, [after]

    def stopped(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return checked(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(account, "checked", stopped)
        with pytest.raises(KeyboardInterrupt):
            nr.open(store).rescue(folder)
    assert len(list((folder / "checked").iterdir())) == after


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, signal.SIGHUP, None])
def test_a_rescue_that_ends_again_and_again(store: Path, tmp_path: Path, end: signal.Signals | None) -> None:
    """Before any change of the disk; without a signal, because the disk is full."""
    nr.open(store).rescue(tmp_path / "whole")
    random = Random(str(end))
    ended = [end_at(store, tmp_path / "out", end, random.randrange(2, 40), jobs) for jobs in (1, 2, 1, 1, 2)]
    assert {(each or "").split(":")[0] for each in ended} <= {"", f"-{end}", "KeyboardInterrupt", "ExportError"}, ended
    assert any(ended)
    nr.open(store).rescue(tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_the_check_goes_on_where_it_was_stopped(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = read_parts(monkeypatch)
    nr.open(store).rescue(tmp_path / "whole")
    every = kinds.copy()
    assert {"StorePart", "LogPart", "QueuePart", "IndexPart"} <= set(every)
    stop_in_check(store, tmp_path / "out", monkeypatch, 5)
    del kinds[:]
    nr.open(store).rescue(tmp_path / "out")
    assert kinds == every[5:]
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert not (tmp_path / "out" / "checked").exists()


@pytest.mark.parametrize("change", ["a time", "a byte", "a file"])
def test_a_store_that_changed_is_checked_from_the_start(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    stop_in_check(store, tmp_path / "out", monkeypatch, 5)
    topics = store / "config" / "topics.json"
    if change == "a time":
        os.utime(topics)
    elif change == "a byte":
        topics.write_bytes(topics.read_bytes() + b"\n")
    else:
        (store / "consumequeue" / "New" / "0").mkdir(parents=True)
        (store / "consumequeue" / "New" / "0" / f"{0:020d}").write_bytes(bytes(6000))
    kinds = read_parts(monkeypatch)
    nr.open(store).rescue(tmp_path / "out")
    assert kinds.count("StorePart") == 1
    assert kinds.count("LogPart") == len(nr.open(store).stores[0].segments)
    assert not (tmp_path / "out" / "checked").exists()


@pytest.mark.parametrize("spoiled", ["changed", "cut", "zeros", "empty"])
def test_what_was_kept_is_not_trusted(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoiled: str) -> None:
    """As after a loss of power: names are there, and not the bytes."""
    nr.open(store).rescue(tmp_path / "whole")
    stop_in_check(store, tmp_path / "out", monkeypatch, 5)
    for path in (tmp_path / "out" / "checked").iterdir():
        content = path.read_bytes()
        new = {"changed": content[:-1] + b"\x55", "cut": content[:-1], "zeros": bytes(len(content)), "empty": b""}[spoiled]
        path.write_bytes(new)
    kinds = read_parts(monkeypatch)
    nr.open(store).rescue(tmp_path / "out")
    assert "LogPart" in kinds[:2]
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_disk_without_room_for_it_costs_only_the_continuation(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = Target.publish

    def full(self: Target, files: Any) -> None:
        named = list(files)
        if any(name.startswith("checked/") for _, name in named):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        publish(self, named)

    nr.open(store).rescue(tmp_path / "whole")
    monkeypatch.setattr(Target, "publish", full)
    nr.open(store).rescue(tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_finished_rescue_is_checked_again(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nr.open(store).rescue(tmp_path / "out")
    kinds = read_parts(monkeypatch)
    nr.open(store).rescue(tmp_path / "out")
    assert "LogPart" in kinds
