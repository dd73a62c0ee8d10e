"""Letters and times of mqadmin mean the same here, and what cannot be meant is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.command_line import run
from support.queued_stores import dispatched, numbered
from support.stores import files_of, log_of, message, on_disk

from native_reader.testing.config import fastjson


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    """A queue and three groups behind it; the name of one has quotes."""
    log = log_of(numbered(message(number, topic="orders", queue_id=0) for number in range(20)))
    offsets = {f"orders@{name}": {0: 5} for name in ("billing", "stock", "it's")}
    files = files_of(log) | dispatched(log.placed) | {"store/config/consumerOffset.json": fastjson({"offsetTable": offsets}).encode()}
    return on_disk(tmp_path, files) / "store"


def test_a_group_is_named_as_in_mqadmin(groups: Path) -> None:
    assert [row["group"] for row in run("lag", groups, "-g", "billing", "--json").rows] == ["billing"]
    assert {row["group"] for row in run("lag", groups, "-g", "it's", "-g", "stock", "--json").rows} == {"it's", "stock"}
    assert run("lag", groups, "-g", "stock", "--where", "lag > 15 OR lag < 3", "--json").rows == []
    assert "no consumer offset matches" in run("lag", groups, "-g", "nobody").err
    assert run("lag", groups, "-g", "stock", "--where", "lag > 15").code == 0
    assert "no message that matches was given up" in run("dlq", groups, "-g", "billing").err
    both = run("lag", groups, "-g", "stock", "--option", "where=lag > 0")
    assert (both.code, "--option where and --where are the same option" in both.err) == (2, True)


def test_ids_and_times_are_given_as_in_mqadmin(store: Path, rows: list[dict[str, Any]]) -> None:
    first, later = rows[0], rows[20]
    assert [row["msg_id"] for row in run("find", store, "-i", first["msg_id"], "-c", "msg_id", "--json").rows] == [first["msg_id"]]
    begin, end = (moment["store_timestamp"] for moment in (rows[10], later))
    for form in ("%Y-%m-%d#%H:%M:%S:{}", "%Y-%m-%d %H:%M:%S.{}Z"):
        since, until = (moment.strftime(form).format(f"{moment.microsecond // 1000:03}") for moment in (begin, end))
        found = run("cat", store, "-b", since, "-e", until, "--time-zone", "UTC", "--json").rows
        assert len(found) == len([row for row in rows if begin <= row["store_timestamp"] < end]) > 0
    since, until = (str(int(moment.timestamp() * 1000)) for moment in (begin, end))
    assert len(run("cat", store, "-b", since, "-e", until, "--json").rows) == len(found)


def test_a_group_that_has_no_offset_is_said(groups: Path) -> None:
    """A misspelled group looked like one without a lag: no row, no word in JSON, and 0."""
    ended = run("lag", groups, "-g", "biling", "-g", "stock", "--json")
    assert (ended.code, ended.err.splitlines()[-1]) == (1, "warning: group 'biling' has no consumer offset")
    assert [row["group"] for row in ended.rows] == ["stock"]


def test_an_error_names_the_letter_that_was_typed(store: Path) -> None:
    """It named --since, which was not in the command."""
    for letter in (("-b", "soon"), ("-bsoon",)):
        assert run("cat", store, *letter).err.startswith("error: -b='soon' is not a time")
    assert run("cat", store, "--since", "soon", "-q", "0").err.startswith("error: --since='soon' is not a time")
    assert run("cat", store, "--since=soon").err.startswith("error: --since='soon' is not a time")


@pytest.mark.parametrize("command", ["find", "lag", "dlq", "doctor"])
def test_a_name_server_is_not_needed(store: Path, command: str) -> None:
    ended = run(command, store, "-n", "127.0.0.1:9876")
    assert ended.code == 2
    assert "rmqstore reads the files of a store, and needs no name server (-n) and no cluster" in ended.err


def test_an_address_is_no_number_and_no_time(store: Path) -> None:
    ended = run("cat", store, "-n", "127.0.0.1:9876")
    assert (ended.code, "needs no name server (-n) and no cluster. Here, -n is a number" in ended.err) == (2, True)
    ended = run("cat", store, "-b", "10.0.0.1:10911")
    assert (ended.code, "is an address, and no time: rmqstore reads files, and asks no broker" in ended.err) == (2, True)
