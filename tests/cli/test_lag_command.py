"""`rmqstore lag`: who is behind, by topic and by queue."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import run, run_on_terminal, uncolored
from support.queued_stores import dispatched, numbered
from support.stores import files_of, log_of, message, on_disk

from native_reader.testing.config import fastjson


@pytest.fixture
def behind(tmp_path: Path) -> Path:
    """Two queues without their first segment, and groups before, within and after what is left."""
    log = log_of(numbered(message(number, topic="orders", queue_id=number % 2) for number in range(60)))
    files = files_of(log) | dispatched(log.placed)
    del files[min(name for name in files if "/commitlog/" in name)]
    groups = {"orders@slow": {0: 0, 1: 29}, "orders@ready": {0: 30, 1: 30}, "orders@ahead": {0: 31, 1: 30}, "gone@slow": {0: 1}}
    files["store/config/consumerOffset.json"] = fastjson({"offsetTable": groups}).encode()
    return on_disk(tmp_path, files) / "store"


def test_groups_that_are_behind(behind: Path) -> None:
    found = run("lag", behind, "--json")
    assert found.code == 0
    (row,) = found.rows
    assert {name: row[name] for name in ("group", "topic", "lag", "behind")} == {"group": "slow", "topic": "orders", "lag": 31, "behind": 2}
    assert 0 < row["expired"] < 30
    assert row["oldest_unread"].startswith("2023-11-14T22:13:20.")
    queues = run("lag", behind, "--by", "queue", "--json").rows
    assert [(each["queue_id"], each["lag"], each["expired"] > 0) for each in queues] == [(0, 30, True), (1, 1, False)]
    assert len(run("lag", behind, "--all", "--json").rows) == 4
    assert run("lag", behind, "--where", "group = 'ready'", "--json").rows == []


def test_people_see_the_age_and_what_is_odd(behind: Path) -> None:
    shown = uncolored(run_on_terminal("lag", behind).out)
    assert " days" in shown
    assert "--all also shows 3 rows without a lag" in shown
    assert "note: the lag of 1 offset is not known: the queue has no files" in shown
    assert "warning: 1 offset after the end of the queue" in shown
    piped = run("lag", behind)
    assert piped.cells[0] == ["group", "topic", "lag", "expired", "behind", "oldest_unread"]


def test_a_condition_that_no_group_meets_is_not_a_store_without_offsets(behind: Path) -> None:
    assert run("lag", behind, "--where", "group = 'nobody'").err == "no consumer offset matches\n"


def test_a_store_without_offsets_says_so(tmp_path: Path) -> None:
    ended = run("lag", on_disk(tmp_path, files_of(log_of(3))) / "store")
    assert (ended.code, ended.err) == (0, "the store has no consumer offsets\n")
