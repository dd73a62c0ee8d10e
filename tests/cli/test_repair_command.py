"""`rmqstore repair`: the plan, the result, and its exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest
from support.command_line import run
from support.golden import unpack
from support.own_stores import STORES
from support.store_damages import wrong_magic


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    wrong_magic(store, Random(1))
    return store


def test_the_plan_is_printed_and_nothing_is_written(damaged: Path, tmp_path: Path) -> None:
    ended = run("repair", damaged, tmp_path / "new", "--dry-run")
    assert ended.code == 1
    assert "- **Survived:** 799 messages" in ended.out
    assert re.search(r"^\| Plain \| [0-3] \| lost \| 1 \| \d+ \| an entry of its queue names it \|$", ended.out, re.MULTILINE)
    assert ended.err.endswith("this is the plan: nothing was written\n")
    assert not (tmp_path / "new").exists()


def test_a_repair_says_what_survived_and_where_the_page_is(damaged: Path, tmp_path: Path) -> None:
    ended = run("repair", damaged, tmp_path / "new")
    assert (ended.code, ended.out) == (1, "")
    asked = "warning: Is it safe to start a broker on the damaged store?"
    assert f"799 messages survived\n{asked} better not: it would truncate the log at " in ended.err
    assert (
        f"the new store was written and checked, and serves all messages of its topics; see {tmp_path / 'new' / 'repair.md'}\n" in ended.err
    )
    assert run("verify", tmp_path / "new").code == 0


def test_a_store_without_offsets_does_not_promise_that_groups_go_on(damaged: Path, tmp_path: Path) -> None:
    """The page said so of groups whose file is gone."""
    offsets = damaged / "config" / "consumerOffset.json"
    assert not offsets.exists()
    assert "No consumer group has an offset in these queues" in run("repair", damaged, tmp_path / "new", "--dry-run").out
    for group, said in (("CID_RMQ_SYS_TRANS", "No consumer group has an offset"), ("readers", "None: each group resumes at its offset")):
        offsets.write_text(json.dumps({"offsetTable": {f"Plain@{group}": {"0": 190}}}))
        assert said in run("repair", damaged, tmp_path / "new", "--dry-run").out


def test_numbers_for_programs(damaged: Path, tmp_path: Path) -> None:
    ended = run("repair", damaged, tmp_path / "new", "--json")
    assert json.loads(ended.out) == json.loads((tmp_path / "new" / "repair.json").read_text())


def test_a_store_without_losses_ends_with_0(tmp_path: Path) -> None:
    store = unpack("4.9.7-kinds", tmp_path, STORES).root
    ended = run("repair", store, tmp_path / "new")
    assert (ended.code, ended.err.splitlines()[1]) == (0, "131 messages survived")


def test_a_refusal_is_one_line(tmp_path: Path) -> None:
    ended = run("repair", unpack("5.5.0-dledger", tmp_path, STORES).root, tmp_path / "new")
    assert ended.code == 3
    assert ended.err.count("\n") == 1
    assert "--plain" in ended.err


def test_the_folder_must_be_named(tmp_path: Path) -> None:
    ended = run("repair", tmp_path / "my store")
    assert ended.code == 2
    assert f"The folder for the new store is missing: rmqstore repair '{tmp_path / 'my store'}' NEW" in ended.err


def test_other_options_are_refused(damaged: Path, tmp_path: Path) -> None:
    ended = run("repair", damaged, tmp_path / "new", "--option", "access=scan")
    assert (ended.code, ended.err.splitlines()[-1]) == (2, "error: This command takes no other options: --option access.")
