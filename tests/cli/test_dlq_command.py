"""`rmqstore dlq`: what consumer groups gave up, and the command that exports it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import run, run_on_terminal, uncolored
from support.golden import Golden
from support.queued_stores import dispatched
from support.stores import files_of, log_of, on_disk


@pytest.fixture
def failing(own_store: Callable[[str], Golden]) -> Path:
    """The store of a real broker, whose group CG_fails gave up two messages."""
    return own_store("5.5.0-kinds").root


def test_what_a_group_gave_up(failing: Path) -> None:
    found = run("dlq", failing, "--json")
    assert found.code == 0
    (row,) = found.rows
    assert row == {
        "group": "CG_fails",
        "origin_topic": "Fails",
        "messages": 2,
        "bytes": 824,
        "failures": 3,
        "first": "2026-11-21T07:26:20.653Z",
        "last": "2026-11-21T07:26:20.666Z",
    }
    assert run("dlq", failing, "--where", "group = 'other'", "--json").rows == []


def test_the_command_that_it_names_exports_them(failing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run("dlq", failing)
    assert shown.cells[0] == ["group", "origin_topic", "messages", "bytes", "failures", "first", "last"]
    program, *command = shlex.split(shown.err.splitlines()[-1])
    assert program == "rmqstore"
    monkeypatch.chdir(tmp_path)
    assert run(*command, "--to", "jsonl").code == 0
    lines = [line for file in (tmp_path / "dead-letters").glob("part-*.jsonl") for line in file.read_text().splitlines()]
    assert [json.loads(line)["topic"] for line in lines] == ["%DLQ%CG_fails"] * 2


def test_the_command_that_it_names_exports_the_groups_that_were_asked_for(
    failing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It exported those of all groups."""
    shown = run("dlq", failing, "-g", "CG_fails").err.splitlines()
    assert shown[0] == "to export all dead messages of these groups, with bodies and properties:"
    _, *command = shlex.split(shown[1])
    assert command[command.index("--topic") + 1] == "%DLQ%CG_fails"
    monkeypatch.chdir(tmp_path)
    assert run(*command).code == 0


def test_the_command_that_it_names_has_the_places_of_the_store(failing: Path, tmp_path: Path) -> None:
    shown = run("dlq", "--commitlog", failing / "commitlog")
    assert f"rmqstore export --commitlog {failing / 'commitlog'} -o" in shown.err


def test_people_see_the_age(failing: Path) -> None:
    shown = uncolored(run_on_terminal("dlq", failing).out)
    assert "   first (UTC)        last (UTC)   " in shown.splitlines()[0]
    assert "age" in shown
    assert "CG_fails   Fails " in shown


def test_a_store_without_them_says_so(tmp_path: Path) -> None:
    ended = run("dlq", on_disk(tmp_path, files_of(log_of(3))) / "store")
    assert (ended.code, ended.err) == (0, "no message was given up\n")


def test_the_exit_code_says_that_the_end_of_the_log_is_lost(tmp_path: Path) -> None:
    log = log_of(30)
    files = files_of(log)
    del files[max(files)]
    ended = run("dlq", on_disk(tmp_path, files | dispatched(log.placed)) / "store")
    assert ended.code == 1
    assert "segments at the end are missing or renamed" in ended.err
