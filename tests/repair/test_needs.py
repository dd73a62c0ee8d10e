"""What a repair needs is said before it writes: bytes, room, time, and what links or shared blocks would save."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.command_line import run
from support.golden import unpack
from support.own_stores import STORES
from support.store_damages import wrong_magic

import native_reader as nr
from native_reader.repair import disk, survey
from native_reader.repair.needs import Needs


@pytest.fixture
def store(tmp_path: Path) -> Path:
    found = unpack("5.5.0-killed", tmp_path, STORES).root
    wrong_magic(found, Random(1))
    return found


def needs_of(store: Path, new: Path, **how: Any) -> Needs:
    needs = nr.open(store).repair(new, dry_run=True, **how).needs
    assert needs is not None
    return needs


def copied_by(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes of segments and queues each copy has, from now on."""
    sizes, copy = list[int](), disk.copy

    def counted(source: str, target: str) -> None:
        if "/commitlog/" in target or "/consumequeue/" in target:
            sizes.append(disk.data_bytes(source))
        copy(source, target)

    monkeypatch.setattr(disk, "copy", counted)
    return sizes


@pytest.mark.parametrize("link", [False, True])
def test_what_is_copied_and_how_much_room_it_takes(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: bool) -> None:
    needs = needs_of(store, tmp_path / "new", link=link)
    copied = copied_by(monkeypatch)
    nr.open(store).repair(tmp_path / "new", link=link)
    assert needs.copied == sum(copied) > 0
    parts = [tmp_path / "new" / name for name in ("commitlog", "consumequeue", "index")]
    own = {path.stat().st_ino: path for part in parts for path in part.rglob("*") if path.is_file() and path.stat().st_nlink == 1}
    taken = sum(disk.data_bytes(str(path)) for path in own.values())
    assert taken <= needs.room == needs.copied + needs.made < taken * 2


def test_links_would_need_what_a_plan_with_links_needs(store: Path, tmp_path: Path) -> None:
    copies, links = needs_of(store, tmp_path / "new"), needs_of(store, tmp_path / "new", link=True)
    assert copies.linked == links.room < copies.room
    assert links.linked is None


def test_no_links_on_another_disk(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "is_beside", lambda file, path: False)
    needs = needs_of(store, tmp_path / "new")
    assert (needs.linked, needs.is_beside) == (None, False)
    shown = run("repair", store, tmp_path / "new", "--dry-run").out
    assert "With `--link`:" not in shown
    assert "On a second disk:" not in shown


def test_a_disk_without_room_names_the_way_out(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is written."""
    needs = needs_of(store, tmp_path / "new")
    assert needs.linked is not None
    for free, expected in (
        (needs.room - 1, r"has \S+ \w+ free, and the new store needs .* Add --link .* and needs .* Or choose a folder on another disk"),
        (needs.linked - 1, r"free, and the new store needs [\d.]+ \w+\. Choose a folder on another disk"),
    ):
        monkeypatch.setattr(disk, "free_bytes", lambda _, free=free: free)
        for dry_run in (True, False):
            with pytest.raises(nr.RepairError, match=expected):
                nr.open(store).repair(tmp_path / "new", dry_run=dry_run)
        assert not list(tmp_path.glob("new*"))
    monkeypatch.setattr(disk, "free_bytes", lambda _: needs.room)
    assert nr.open(store).repair(tmp_path / "new").path is not None


def test_links_fit_where_copies_do_not(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = needs_of(store, tmp_path / "new", link=True).room
    monkeypatch.setattr(disk, "free_bytes", lambda _: room)
    assert nr.open(store).repair(tmp_path / "new", link=True).path is not None


def test_copies_take_no_room_where_blocks_are_shared(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "shares_blocks", lambda file, path: True)
    needs = needs_of(store, tmp_path / "new")
    assert needs.room == needs.made == needs.linked
    monkeypatch.setattr(disk, "free_bytes", lambda _: needs.made)
    assert nr.open(store).repair(tmp_path / "new").path is not None
    assert "this file system has them" in run("repair", store, tmp_path / "other", "--dry-run").out


@pytest.mark.parametrize(("number", "expected"), [(0, True), (errno.EOPNOTSUPP, False), (errno.EXDEV, False), (errno.ENOTTY, None)])
def test_whether_blocks_are_shared_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: bool | None) -> None:
    (tmp_path / "file").write_bytes(b"content")

    def ioctl(target: int, request: int, source: int) -> None:
        assert request == 0x40049409
        assert os.read(source, 9) == b"content"
        assert os.write(target, b"") == 0
        if number:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(disk.fcntl, "ioctl", ioctl)
    assert disk.shares_blocks(str(tmp_path / "file"), str(tmp_path / "new")) is expected
    assert disk.shares_blocks(str(tmp_path / "file"), str(tmp_path / "missing" / "new")) is None
    assert os.listdir(tmp_path) == ["file"]


def test_the_trial_leaves_nothing(store: Path, tmp_path: Path) -> None:
    before = sorted(os.listdir(tmp_path))
    assert needs_of(store, tmp_path / "new").shares is not None
    assert needs_of(store, tmp_path / "missing" / "new").shares is None
    assert sorted(os.listdir(tmp_path)) == before


def clock(*times: float) -> Callable[[], float]:
    left = iter(times)
    return lambda: next(left)


def test_the_time_is_that_of_the_measured_rate(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that is too short says nothing."""
    assert (needs_of(store, tmp_path / "new").rate, needs_of(store, tmp_path / "new").seconds) == (None, None)
    log = sum(disk.data_bytes(str(path)) for path in (store / "commitlog").iterdir())
    monkeypatch.setattr(survey, "monotonic", clock(50, 60))
    plan = nr.open(store).repair(tmp_path / "new", dry_run=True)
    assert plan.needs is not None
    assert plan.needs.rate == plan.plan.survey.reader.run.report.bytes_read / 10
    assert plan.needs.read == 3 * log + 3 * plan.needs.copied
    assert plan.needs.seconds == pytest.approx((log + 3 * plan.needs.copied) / plan.needs.rate, abs=5)  # and the plan again
    monkeypatch.setattr(survey, "monotonic", clock(50, 60))
    shown = run("repair", store, tmp_path / "new", "--dry-run").out
    assert " a second, as the plan read the log. Reads beside each other take less. How fast the disk writes was not measured." in shown


def test_a_run_says_what_follows_its_plan_before_it_writes(store: Path, tmp_path: Path) -> None:
    planned: list[nr.Repaired] = []

    def look(found: nr.Repaired) -> None:
        planned.append(found)
        assert not (tmp_path / "new.repairing" / "consumequeue").exists()

    done = nr.open(store).repair(tmp_path / "new", when_planned=look)
    (found,) = planned
    assert (found.path, found.plan, done.needs) == (None, done.plan, None)
    assert found.needs is not None
    log = sum(disk.data_bytes(str(path)) for path in (store / "commitlog").iterdir())
    assert found.needs.read == log + 3 * found.needs.copied


def test_an_error_of_the_function_ends_the_repair(store: Path, tmp_path: Path) -> None:
    def no(found: nr.Repaired) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nr.open(store).repair(tmp_path / "new", when_planned=no)
    assert not (tmp_path / "new").exists()
    nr.open(store).repair(tmp_path / "new")


def test_the_command_says_it_first(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = run("repair", store, tmp_path / "new").err.splitlines()
    said = next(number for number, line in enumerate(lines) if line.startswith("the plan is made. To do: "))
    assert all(line.startswith("warning: ") for line in lines[:said])
    assert lines[said].endswith(" free")
    shown = run("repair", store, tmp_path / "other", "--dry-run").out.splitlines()
    assert shown[6].startswith("- **Needs:** ")
    needs = json.loads(run("repair", store, tmp_path / "other", "--dry-run", "--json").out)["needs"]
    assert needs["room_bytes"] == needs["copied_bytes"] + needs["made_bytes"]
    assert json.loads((tmp_path / "new" / "repair.json").read_text())["needs"] is None
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1000}))
    ended = run("repair", store, tmp_path / "more")
    assert ended.code == 3
    assert ended.err.startswith("note: the log has ")
    assert "has only 1,000 bytes free. The repair is refused if the plan shows that it needs more." in ended.err
    assert "note: " not in run("repair", store, tmp_path / "more", "--link").err


def test_an_extract_copies_records(store: Path, tmp_path: Path) -> None:
    found = nr.open(store).extract(tmp_path / "new", "Plain", dry_run=True)
    assert found.needs is not None
    assert found.plan.moved is not None
    assert found.needs.copied == found.plan.moved.sizes.sum()
    assert (found.needs.linked, found.needs.shares) == (None, None)
    ended = run("extract", store, tmp_path / "new", "--topic", "Plain")
    assert "the plan is made. To do: " in ended.err
