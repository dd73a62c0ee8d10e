"""What each command says to people with `--lang zh`: no English sentence; and programs get the same bytes in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command_line import HOSTILE, Ran, run, run_on_terminal
from support.languages import HAN, in_english

from rmqstore.cli.program import COMMANDS as ALL_COMMANDS

COMMANDS = {
    "doctor": (),
    "doctor of all": ("--full",),
    "ls": (),
    "ls of queues": ("--queues",),
    "ls of stores": ("--stores",),
    "stat": ("--top", "1"),
    "find": ("--key", "no-such-key,not"),
    "find by text": ("--text", "nothing has this"),
    "cat": ("-n", "2"),
    "cat of nothing": ("--topic", "T0", "--until", "2000-01-01 00:00:00Z"),
    "tail": (),
    "tables": ("queues",),
    "lag": ("--all",),
    "lag of states": ("--verify",),
    "dlq": (),
    "verify": (),
    "export": ("-o", "out"),
    "summarize": ("--to", "summary"),
    "diff": (),
    "sql": ("SELECT topic FROM messages LIMIT 1",),
    "sql to a file": ("SELECT topic FROM messages LIMIT 1", "-o", "out.csv"),
    "explain": ("--key", "k"),
    "rescue": ("out",),
    "lost": ("-o", "out"),
    "repair": ("out",),
    "repair as planned": ("out", "--dry-run"),
    "extract": ("out", "--topic", "T0"),
    "report": ("-o", "page.html"),
}
"""The commands by their names and what follows."""
_FILES = ("out", "summary", "out.csv", "page.html")
_NOT_FOR_PROGRAMS = ("doctor", "summarize", "repair as planned", "explain")
"""What is printed for people only."""


def arguments(name: str, store: Path, folder: Path) -> list[object]:
    command, more = name.split(" ", maxsplit=1)[0], [str(folder / each) if each in _FILES else each for each in COMMANDS[name]]
    paths = (store, store) if command == "diff" else (store,)
    return [command, *paths, *more]


@pytest.mark.parametrize("name", COMMANDS)
def test_no_screen_mixes_the_languages(damaged: Path, tmp_path: Path, name: str) -> None:
    ended = run(*arguments(name, damaged, tmp_path), "--lang", "zh")
    assert in_english(ended.err) == []
    (tmp_path / "other").mkdir()
    english = run(*arguments(name, damaged, tmp_path / "other"), "--lang", "en")
    assert ended.code == english.code
    assert len(ended.err.splitlines()) == len(english.err.splitlines())
    if name not in (*_NOT_FOR_PROGRAMS, "doctor of all"):
        assert ended.out == english.out
    else:
        assert in_english(ended.out) == []


def test_every_command_is_tried() -> None:
    assert {name.split(" ", maxsplit=1)[0] for name in COMMANDS} == ALL_COMMANDS.keys()


@pytest.mark.parametrize("name", ["ls", "stat", "cat", "verify", "dlq", "find by text"])
def test_nor_does_one_on_a_terminal(damaged: Path, tmp_path: Path, name: str) -> None:
    assert in_english(run_on_terminal(*arguments(name, damaged, tmp_path), "--lang", "zh").out) == []


WRONG = {
    ("fin", "x"): "错误：没有命令 fin。是不是 find？",
    ("lag", "--lagg", "x"): "错误：没有选项 --lagg。是不是 --",
    ("explain", "--summar", "x"): "错误：没有选项 --summar。是不是 --summary？",
    ("lag",): "错误：缺少参数 STORE",
    ("lag", "x", "--all=yes"): "错误：选项 --all 不带值",
    ("lag", "x", "--jobs"): "错误：选项 --jobs 缺少值",
    ("report", "x", "-o", "/"): "错误：-o / --output 的值不正确：/ 是目录，请指定文件",
    ("lag", "x", "--by", "day"): "错误：--by 的值不正确：可选值为 topic、queue",
    ("lag", "x", "--jobs", "0"): "错误：--jobs / -j 的值不正确：'0' 不是 1 至 1000 的整数",
    ("export", "x"): "错误：缺少 --output / -o",
    ("find", "x"): "错误：没有查找条件。请用 --key、--keys、--msg-id、--offset、--text 或 --where；查看全部消息：rmqstore cat",
    ("diff", "x"): "错误：比对需要两个 store：rmqstore diff A B",
    ("repair", "x"): "错误：缺少新 store 的目录：rmqstore repair x NEW",
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_a_wrong_argument_is_named_in_chinese(words: tuple[str, ...]) -> None:
    ended = run("--lang=zh_CN", *words)
    assert ended.code == 2
    *usage, error = ended.err.splitlines()
    assert error.startswith(WRONG[words])
    assert not usage or (usage[0].startswith("用法：rmqstore") and usage[-1].startswith("查看用法：rmqstore"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b,c", "第 1 行：应为 topic 的通配符和团队，例如 orders*,sales"),
        ("", "文件中没有内容。请每行写 topic 的通配符和团队，例如 orders*,sales"),
        ('{"a":', "无法按 JSON 解析"),
        ('{"a": 1}', '应为 {"orders*": "sales"} 或 [{"topic": "orders*", "team": "sales"}]'),
    ],
)
def test_what_is_wrong_with_a_file_of_teams_is_said_in_chinese(tmp_path: Path, content: str, said: str) -> None:
    (owners := tmp_path / "owners").write_text(content, encoding="utf-8")
    ended = run("lost", "x", "-o", tmp_path / "lost", "--owners", owners, "--lang", "zh")
    assert (ended.code, ended.err.splitlines()[-1]) == (2, f"错误：--owners 的值不正确：{owners}：{said}")


def test_the_locale_decides_what_is_said_of_a_wrong_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("lag").err.splitlines()[-1] == "error: Missing argument 'STORE...'."
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert run("lag").err.splitlines()[-1] == "错误：缺少参数 STORE"
    assert run("lag", "--lang", "en").err.splitlines()[-1] == "error: Missing argument 'STORE...'."


@pytest.mark.parametrize("topic", HOSTILE)
def test_hostile_names_in_errors_stay_text(topic: str) -> None:
    ended: Ran = run("lag", "x", "--by", topic, "--lang", "zh")
    assert ended.code == 2
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e]", ended.err)


def test_what_is_wrong_with_a_path_is_said_in_chinese(store: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    said = {path: run("lag", path, "--lang", "zh").err for path in (f"{store}x", tmp_path / "empty", tmp_path)}
    assert said[f"{store}x"] == f"错误：{store}x 不存在。是不是 {store.name}？\n"
    assert said[tmp_path / "empty"].endswith("也没有文件名为 20 位数字的文件；目录为空。请指定 commitlog 所在的目录\n")
    assert all(re.search(HAN, text) for text in said.values())


def test_a_topic_that_no_record_has_is_named_in_chinese(store: Path) -> None:
    ended = run("cat", store, "--topic", "T9", "--lang", "zh")
    assert (ended.code, ended.err.splitlines()[0][:22]) == (1, "警告：没有 topic 'T9' 的记录")
