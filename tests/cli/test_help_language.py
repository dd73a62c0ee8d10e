"""The help in Chinese: all of it, and laid out by the columns that a terminal shows."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner
from support.command_line import run, run_on_terminal, uncolored
from support.languages import in_english

from rmqstore.cli.chinese_help import wrapped
from rmqstore.cli.help_texts import HELP_TEXTS
from rmqstore.cli.program import COMMANDS, program
from rmqstore.text import width_of

ALL = ("", *COMMANDS)
OF_CLICK = {"Usage", "Options", "Commands", "[OPTIONS]", "COMMAND [ARGS]...", "[required]", "Show this message and exit."}
WIDTHS = (58, 78, 98)
"""Of a terminal with 60, 80 and 100 columns."""


def command_of(name: str) -> click.Command:
    command = program.get_command(click.Context(program), name) if name else program
    assert command is not None
    return command


def in_chinese(name: str, width: int = 78) -> list[str]:
    ended = CliRunner().invoke(program, [*([name] if name else []), "--help", "--lang", "zh"], terminal_width=width)
    assert ended.exit_code == 0
    return ended.stdout.splitlines()


def texts_of(command: click.Command) -> Iterator[str]:
    """The English texts of a help: paragraphs, and lines of lists without what they are about."""
    for paragraph in "\n\n".join(inspect.cleandoc(each or "") for each in (command.help, command.epilog)).split("\n\n"):
        if not paragraph.startswith("\b"):
            yield " ".join(paragraph.splitlines())
            continue
        lines = [line for line in re.sub("\n   +", " ", paragraph).splitlines()[1:] if not re.match(r"  rmqstore |  eval ", line)]
        yield from (re.sub(r"^ *([^ ]+ {2,})?", "", line) for line in lines)
    yield from (option.help or "" for option in command.params if isinstance(option, click.Option))


def test_all_help_is_in_the_book_and_all_of_the_book_is_help() -> None:
    texts = {text for name in ALL for text in texts_of(command_of(name))} | set(COMMANDS.values())
    assert texts - HELP_TEXTS.keys() == set()
    assert HELP_TEXTS.keys() - texts == OF_CLICK


_NAMES = re.compile(r"--[\w-]+|\w+\.(?:md|html|jsonl?|csv|prom)\b|[\w-]+/\w+|'[^']*'|\"[^\"]*\"|\b[A-Z]{2,}\b|(?<!\w)-[a-z]\b|[0-9]{2,}")


def test_both_languages_name_the_same_options_and_files() -> None:
    for english, chinese in HELP_TEXTS.items():
        if english in OF_CLICK:
            continue
        # Apostrophes are not quotation marks. A Chinese text may have more capitals: it says whose file or log this is.
        found = [set(_NAMES.findall(re.sub(r"\w'(?=\w)", "", text))) for text in (english, chinese)]
        assert found[0] <= found[1] | {"'day'", "ISO"}, english
        assert {each for each in found[1] if each.startswith(("-", "'"))} <= found[0], english


@pytest.mark.parametrize("name", ALL)
def test_the_help_has_the_same_options_commands_and_examples_in_both_languages(name: str) -> None:
    english, chinese = run(*filter(None, [name]), "--help", "--lang", "en").out.splitlines(), in_chinese(name)
    for pattern in (r"  (-.*?)(?:  |$)", r"    (rmqstore .*)", *([] if name else [r"  ([a-z]+)  "])):
        named, also = (
            [each[1] for line in lines[lines.index(heading) :] if (each := re.match(pattern, line))]
            for lines, heading in ((english, "Options:"), (chinese, "选项："))
        )
        assert named
        assert named == also
    assert in_english("\n".join(chinese)) == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ALL)
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    lines = in_chinese(name, width)
    assert [line for line in lines if width_of(line) > width and not re.match(r"    (rmqstore|eval) |  --by ", line)] == []
    assert [line for line in lines if re.match(r"\s*[，。：；！？、）》]|.*[（《]$", line)] == []
    options = [line for line in lines[lines.index("选项：") + 1 :] if line.startswith("  ")]
    texts = {len(each[1]) for line in options if (each := re.match(r"(  -[^ ].*?  +)[^ ].*", line))}
    assert len(texts) == 1  # all begin in one column


@pytest.mark.parametrize("name", ALL)
def test_nor_is_one_in_english(name: str) -> None:
    lines = run(*filter(None, [name]), "--help").out.splitlines()
    assert [line for line in lines if len(line) > 80 and not re.match(r"    (rmqstore|eval) ", line)] == []


@pytest.mark.parametrize("words", [("--lang", "zh", "--help"), ("--help", "--lang", "zh"), ("-h", "--lang=zh_CN.UTF-8")], ids=" ".join)
@pytest.mark.parametrize("name", ["", "find"])
def test_the_language_may_be_named_before_and_after(name: str, words: tuple[str, ...]) -> None:
    ended = run(*filter(None, [name]), *words)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"用法：{' '.join(filter(None, ['rmqstore', name]))} [选项]")


@pytest.mark.parametrize("name", ["", "find"])
def test_the_locale_decides_if_nothing_else_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [*filter(None, [name]), "--help"]
    assert run(*words).out.startswith("Usage: ")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert run(*words).out.startswith("用法：")
    assert run(*words, "--lang", "en").out.startswith("Usage: ")
    assert run(*words, "--lang", "fr").out.startswith("用法：")


def test_the_language_may_be_named_before_a_command() -> None:
    assert run("--lang", "zh", "find", "--help").out.startswith("用法：rmqstore find [选项] STORE...\n")
    assert run("--lang", "zh", "lag").err.splitlines()[-1] == "错误：缺少参数 STORE"
    assert run("--lang", "zh").err.splitlines()[-1] == "错误：缺少命令"


def test_without_arguments_the_help_is_in_the_language_of_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    ended = run()
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == run("--help").out


def test_a_terminal_shows_it_by_its_width() -> None:
    shown = uncolored(run_on_terminal("repair", "--help", "--lang", "zh", width=80).out)
    assert shown.splitlines() == in_chinese("repair", 78)


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("查看堆积，按消费组", 12, ["查看堆积，按", "消费组"]),
        ("查看堆积，按消费组", 9, ["查看堆", "积，按消", "费组"]),
        ("见（按大小）列出", 6, ["见（按", "大小）", "列出"]),
        ("只读取 STORE，不写入", 14, ["只读取 STORE，", "不写入"]),
        ("只读取 STORE，不写入", 13, ["只读取", "STORE，不写入"]),
        ("并行任务数  [默认：1]", 20, ["并行任务数", "[默认：1]"]),
        ("a-word-that-is-longer，后", 8, ["a-word-that-is-longer，", "后"]),
        ("", 8, [""]),
    ],
)
def test_a_line_breaks_between_characters_but_not_before_a_mark(text: str, width: int, lines: list[str]) -> None:
    assert wrapped(text, width) == lines


def test_nothing_gets_lost_between_the_lines() -> None:
    for text in HELP_TEXTS.values():
        for width in range(30, 90, 7):
            lines = wrapped(text, width)
            assert "".join(lines).replace(" ", "") == text.replace(" ", "")
            assert all(width_of(line) <= width or " " not in line for line in lines)
