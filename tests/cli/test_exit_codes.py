"""One exit code a meaning, in all commands: docs/cli.md has the table."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import ROOT, run
from support.stores import files_of, on_disk
from support.verified import healthy

from native_reader.testing.logs import CommitLog

LOG, WHOLE = healthy(60)
SEGMENTS = sorted(files_of(LOG))


def whole(folder: Path) -> Path:
    return on_disk(folder, WHOLE) / "store"


def zeros(folder: Path) -> Path:
    """A record of a middle segment is zeros."""
    root = whole(folder)
    placed = next(each for each in LOG.placed if each.segment == int(SEGMENTS[1][-20:]))
    return overwritten(root, placed.offset, bytes(placed.size), LOG)


def body(folder: Path) -> Path:
    """A body has a wrong checksum."""
    placed = next(each for each in LOG.placed if each.segment == int(SEGMENTS[1][-20:]))
    return overwritten(whole(folder), placed.offset + 88, b"X", LOG)


def overwritten(root: Path, offset: int, content: bytes, log: CommitLog) -> Path:
    placed = next(each for each in reversed(log.placed) if each.offset <= offset)
    with (root / "commitlog" / f"{placed.segment:020}").open("r+b") as file:
        file.seek(offset - placed.segment)
        file.write(content)
    return root


def no_queue(folder: Path) -> Path:
    """The files of one queue are gone."""
    root = whole(folder)
    for file in (root / "consumequeue" / "T1" / "0").iterdir():
        file.unlink()
    (root / "consumequeue" / "T1" / "0").rmdir()
    (root / "consumequeue" / "T1").rmdir()
    return root


def no_file(folder: Path) -> Path:
    """A middle segment is gone."""
    root = whole(folder)
    (root / "commitlog" / SEGMENTS[1][-20:]).unlink()
    return root


def swapped(folder: Path) -> Path:
    """Two segments have each other's names."""
    log = whole(folder) / "commitlog"
    one, other = (log / SEGMENTS[place][-20:] for place in (1, 2))
    one.rename(log / "x")
    other.rename(one)
    (log / "x").rename(other)
    return log.parent


def html(folder: Path) -> Path:
    """The settings of topics are a page of a proxy."""
    root = whole(folder)
    (root / "config" / "topics.json").write_text("<html>404</html>")
    return root


NOT_WHOLE = (zeros, body, no_queue, no_file, swapped, html)
CHECKS = (("doctor",), ("doctor", "--full"), ("verify",), ("rescue", "OUT"), ("lost", "-o", "OUT"))
READS = (("stat",), ("find", "--key", "k3"), ("cat",), ("lag",), ("ls",), ("export", "-o", "OUT"))


def code_of(command: tuple[str, ...], store: Path, folder: Path) -> int:
    name, *rest = (str(folder / "out") if each == "OUT" else each for each in command)
    return run(name, store, *rest).code


@pytest.mark.parametrize("command", [*CHECKS, *READS, ("repair", "OUT"), ("repair", "OUT", "--dry-run")])
def test_0_is_for_a_store_on_which_all_is_well(command: tuple[str, ...], tmp_path: Path) -> None:
    assert code_of(command, whole(tmp_path), tmp_path) == 0


@pytest.mark.parametrize("damaged", NOT_WHOLE)
@pytest.mark.parametrize("command", CHECKS)
def test_1_is_for_each_store_that_is_not_whole(command: tuple[str, ...], damaged: Callable[[Path], Path], tmp_path: Path) -> None:
    assert code_of(command, damaged(tmp_path), tmp_path) == 1


@pytest.mark.parametrize("damaged", [zeros, no_file])
@pytest.mark.parametrize("command", [("stat",), ("cat",), ("export", "-o", "OUT"), ("repair", "OUT"), ("repair", "OUT", "--dry-run")])
def test_1_is_for_what_is_lost(command: tuple[str, ...], damaged: Callable[[Path], Path], tmp_path: Path) -> None:
    assert code_of(command, damaged(tmp_path), tmp_path) == 1


@pytest.mark.parametrize("command", [("find", "--key", "no-such-key"), ("cat", "--topic", "no such topic")])
def test_1_is_for_what_is_not_there(command: tuple[str, ...], tmp_path: Path) -> None:
    assert code_of(command, whole(tmp_path), tmp_path) == 1


@pytest.mark.parametrize("command", [*CHECKS, *READS, ("repair", "OUT")])
def test_2_is_for_wrong_arguments_and_3_for_no_store(command: tuple[str, ...], tmp_path: Path) -> None:
    assert code_of((*command, "--no-such-option"), whole(tmp_path), tmp_path) == 2
    assert code_of(command, tmp_path / "nothing", tmp_path) == 3


def test_two_stores_that_are_the_same_and_two_that_are_not(tmp_path: Path) -> None:
    one, other = whole(tmp_path / "one"), whole(tmp_path / "other")
    assert run("diff", one, other).code == 0
    assert run("diff", one, zeros(tmp_path / "third")).code == 1


def test_the_codes_are_documented() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8").partition("## Exit codes\n")[2]
    assert re.findall(r"^\| ([0-9, ]+) \|", text, re.MULTILINE) == ["0", "1", "2", "3", "130, 143", "141"]
