"""`rmqstore diff`: groups, single messages, exit codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import run
from support.stores import files_of, log_of, on_disk
from support.verified import healthy


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
    assert {(row["state"], row["other_state"]) for row in ended.rows} == {("unreachable", None)}
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


def whole_and(folder: Path, change: Callable[[dict[str, bytes]], object], *arguments: str) -> tuple[int, str]:
    """The exit code and what is said of a whole store twice, after the same change to both."""
    files = dict(healthy(60)[1])
    change(files)
    ended = run("diff", *(on_disk(folder / name, files) / "store" for name in "ab"), *arguments)
    return ended.code, ended.err


def test_two_whole_stores_are_the_same(tmp_path: Path) -> None:
    code, said = whole_and(tmp_path, lambda files: None)
    assert (code, said.count("60 served")) == (0, 2)
    assert "no differences in what was compared: heads" in said


def no_queue(files: dict[str, bytes]) -> None:
    for name in [name for name in files if "/consumequeue/T1/" in name]:
        del files[name]


def no_segment(files: dict[str, bytes]) -> None:
    del files[sorted(name for name in files if "/commitlog/" in name)[1]]


def other_tag(files: dict[str, bytes]) -> None:
    name = next(name for name in files if "/consumequeue/T1/" in name)
    files[name] = files[name][:119] + bytes([files[name][119] ^ 1]) + files[name][120:]


def tier(files: dict[str, bytes]) -> None:
    files["store/config/tieredStoreMetadata.json"] = b"{}"


NOT_WHOLE = ((no_queue, "20 whole, but no consumer gets them"), (no_segment, " lost"), (other_tag, "1 doubtful"), (tier, "not read"))


@pytest.mark.parametrize(("change", "state"), NOT_WHOLE, ids=[each.__name__ for each, _ in NOT_WHOLE])
def test_two_stores_that_lack_the_same_are_not_said_to_be_without_differences(
    tmp_path: Path, change: Callable[[dict[str, bytes]], object], state: str
) -> None:
    code, said = whole_and(tmp_path / "en", change)
    assert (code, said.count(state)) == (1, 2), said
    assert "heads, tags, unique keys" not in said
    assert "But not all messages of both stores are as a broker left them" in said
    code, said = whole_and(tmp_path / "zh", change, "--lang", "zh")
    assert (code, "比对的内容没有差异。但两个 store 中有消息不能正常消费" in said) == (1, True)


def test_heads_say_what_was_not_counted_and_which_part_is_not_read(tmp_path: Path) -> None:
    code, said = whole_and(tmp_path / "queue", no_queue, "--heads")
    assert (code, "and the states of messages were not counted" in said, "served" in said) == (0, True, False)
    code, said = whole_and(tmp_path / "tier", tier, "--heads")
    assert (code, said.count("warning: not all of ")) == (1, 2), said
    assert "no differences in the heads" not in said


def test_a_log_alone_is_compared_as_a_log(late: tuple[Path, Path], tmp_path: Path) -> None:
    """Its messages have no queues: that is no difference. Damage that both copies have is a loss."""
    ended = run("diff", late[0], late[0])
    assert "a is a log without queues: 60 whole, but no consumer gets them\n" in ended.err
    log = log_of(60)
    files, placed = files_of(log), log.placed[10]
    name = next(name for name in files if int(name[-20:]) == placed.segment)
    body = placed.offset - placed.segment + 88
    files[name] = files[name][:body] + b"X" + files[name][body + 1 :]
    both = [on_disk(tmp_path / side, files) / "store" for side in "ab"]
    ended = run("diff", *both)
    assert (ended.code, "But not all messages of both stores are as a broker left them" in ended.err) == (1, True)
