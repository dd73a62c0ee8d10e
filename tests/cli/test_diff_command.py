"""`rmqstore diff`: groups, single messages, exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import run
from support.stores import files_of, log_of, on_disk


@pytest.fixture
def late(tmp_path: Path) -> tuple[Path, Path]:
    """A master, and a slave without its last segment."""
    files = files_of(log_of(60))
    names = sorted(files)
    master = on_disk(tmp_path / "master", files) / "store"
    return master, on_disk(tmp_path / "slave", {name: files[name] for name in names[:-1]}) / "store"


def test_the_same_store_twice_is_clean(late: tuple[Path, Path]) -> None:
    ended = run("diff", late[0], late[0])
    assert (ended.code, ended.cells) == (0, [["only_in", "difference", "topic", "messages", "bytes", *_TIMES]])
    assert ended.err.endswith("no differences in what was compared: heads, tags, unique keys, and bodies by their checksums\n")


_TIMES = ("first_store_timestamp", "last_store_timestamp")


def test_what_a_slave_lacks_by_topic(late: tuple[Path, Path]) -> None:
    ended = run("diff", *late, "--json")
    assert ended.code == 1
    assert {(row["only_in"], row["difference"]) for row in ended.rows} == {("a", "newer")}
    assert [row["topic"] for row in ended.rows] == ["T0", "T1", "T2"]
    count = sum(row["messages"] for row in ended.rows)
    assert f"{count} messages are only in a: newer than the other log\n" in ended.err
    each = run("diff", *late, "--each", "--json").rows
    assert len(each) == count
    assert {row["topic"] for row in each} == {"T0", "T1", "T2"}
    assert len(run("diff", *late, "--by", "topic", "--by", "hour").cells) == len(ended.rows) + 1
    assert len(run("diff", *late, "--topic", "T1", "--each").cells) == 1 + ended.rows[1]["messages"]


def test_mistakes_exit_with_2(late: tuple[Path, Path]) -> None:
    wrong = ([late[0]], "A comparison needs two stores: rmqstore diff A B."), ([*late, "--option", "mode=FAILFAST"], "the option 'mode'")
    for arguments, text in wrong:
        ended = run("diff", *arguments)
        assert (ended.code, ended.out) == (2, "")
        assert text in ended.err
