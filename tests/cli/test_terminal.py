"""On a terminal: tables and blocks for people, a bar for long work, and no name that controls the screen."""

from __future__ import annotations

import io
import os
import re
from itertools import count, groupby
from pathlib import Path

import pytest
from support.command_line import ENVIRONMENT, HOSTILE, run, run_apart, run_on_terminal, uncolored, unsafe

from native_reader.scan import progress
from native_reader.scan.progress import Bar, Progress
from rmqstore.cli import stderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_people_see_tables_with_units(store: Path) -> None:
    shown = run_on_terminal("stat", store)
    assert shown.code == 0
    head, line, *rows = [each for each in uncolored(shown.out).splitlines() if each.strip()]
    assert head.split() == ["topic", "messages", "bytes", "share", "mean", "largest", "first", "(UTC)", "last", "(UTC)"]
    assert set(line.strip()) <= {"─", " ", "━"}
    assert sorted(row.split()[0] for row in rows[:3]) == ["T0", "T1", "T2"]
    assert re.search(r" 33\.\d% ███ .* 2023-11-14 22:13 ", rows[0])
    assert "60 messages, " in rows[-2]
    assert re.fullmatch(r"on disk .*: log .*, consume queues .*, index .*, other .*; its disk has .*, .* used, .* free.*", rows[-1])


def test_a_column_of_times_names_its_zone_once(store: Path) -> None:
    """Also a zone that somebody asked for, and in Chinese; programs see the names of the columns."""
    for more in ((), ("--lang", "zh")):
        head, _, row, *_ = uncolored(run_on_terminal("stat", store, "--time-zone", "Asia/Shanghai", *more).out).splitlines()
        assert re.search(r" first \(Asia/Shanghai\) +last \(Asia/Shanghai\)$", head)
        assert re.search(r" 2023-11-15 06:13 +2023-11-15 06:13$", row.rstrip())
    assert run("stat", store).out.splitlines()[0].split("\t")[-3:-1] == ["first_store_timestamp", "last_store_timestamp"]


def test_people_see_a_heading_and_the_body(store: Path) -> None:
    shown = run_on_terminal("find", store, "--key", "k20")
    lines = uncolored(shown.out).splitlines()
    assert lines[0] == "2023-11-14 22:13:20.020 UTC  T2/0 offset 6  tag tag2  keys k20 all"
    assert re.fullmatch(rf"    id U0020, at [\d,]+ of {re.escape(str(store))}", lines[1])
    assert lines[2] == "    body 20"
    assert re.fullmatch(r"1 message found; [\d,.]+ \w+ of the log were read", lines[3])
    assert len(lines) == 4


@pytest.mark.gate
def test_without_rich_one_line_says_what_to_install(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rich.py").write_text("raise ModuleNotFoundError(\"No module named 'rich'\", name='rich')")
    monkeypatch.setitem(ENVIRONMENT, "PYTHONPATH", f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}")
    shown = run_on_terminal("stat", store)
    assert shown.code == 2
    assert uncolored(shown.out) == (
        "error: tables on a terminal need the package rich: pip install rich. Without it, use --json, or add | cat\n"
    )
    assert run_on_terminal("stat", store, "--json").code == 0
    assert run_apart("stat", store).code == 0


@pytest.mark.gate
def test_people_see_the_store_of_a_table_once(store: Path) -> None:
    shown = run_on_terminal("tables", store, "consumer_offsets", width=120)
    lines = [line.rstrip() for line in uncolored(shown.out).splitlines()]
    assert lines[0] == f"store: {store}"
    of_groups = ["group", "topic", "queue_id", "committed", "max", "lag", "min", "expired", "oldest_unread", "pulled", "is_broadcast"]
    assert lines[1].split() == of_groups
    oldest = ["2023-11-14", "22:13:20.009Z"]
    rows = [["g", "T0", "0", "3", "20", "17", "0", "0", *oldest, "false"], ["g", "T1", "0", "20", "20", "0", "0", "0", "false"]]
    assert [line.split() for line in lines[3:5]] == rows
    assert lines[5:] == ["not shown on 120 columns: tiered, file, parent_topic, lite_topic. A wider terminal or --json has them"]
    wide = uncolored(run_on_terminal("tables", store, "consumer_offsets", width=400).out).splitlines()
    assert wide[1].split()[-3] == "file"
    assert uncolored(run_on_terminal("tables", store, "consumer_offsets", "--columns", "store,lag").out).startswith("store ")
    assert uncolored(run_on_terminal("tables", store, "damage").out) == "0 rows\n"


def test_programs_on_a_terminal_still_get_json(store: Path) -> None:
    assert run_on_terminal("ls", store, "--stores", "--json").rows[0]["store"] == store.as_uri()


@pytest.mark.gate
@pytest.mark.parametrize("arguments", [["ls"], ["stat", "--by", "tag"], ["cat"], ["find", "--key", HOSTILE[0]], ["verify"], ["doctor"]])
def test_no_name_of_a_store_controls_a_real_terminal(hostile: Path, arguments: list[str]) -> None:
    command, *more = arguments
    shown = run_on_terminal(command, hostile, *more)
    assert shown.code in (0, 1)
    assert not unsafe(shown.out)
    assert "\x1b[31m" not in shown.out.replace("\x1b[31m\x1b[1m", "")  # red begins only a finding, which is also bold
    if command in ("ls", "stat", "cat"):
        assert "[bold]markup" in shown.out


def test_long_work_draws_a_bar_and_removes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    bar = stderr.bar("saving")
    assert isinstance(bar, Bar)
    bar(Progress(1 << 20, 4 << 20, 0, 0.5))
    assert screen.getvalue() == ""
    bar(Progress(2 << 20, 4 << 20, 0, 4.0))
    assert screen.getvalue() == "\r\x1b[Ksaving [##########          ]  50%  2.0 MiB of 4.0 MiB, 512.0 KiB/s, 4 s left"
    stderr.note("a note")
    assert screen.getvalue().endswith("left\r\x1b[Ka note\n")
    bar.close()
    assert screen.getvalue().endswith("a note\n\r\x1b[K")


def test_without_a_terminal_there_is_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    assert isinstance(stderr.bar(), progress.Lines)
    stderr.clear()
    stderr.note("a note")
    assert stream.getvalue() == "a note\n"


def test_a_table_that_comes_in_portions_has_one_heading(store: Path) -> None:
    portions = ("--option", "max_partition_bytes=1k", "--columns", "topic,queue_offset")
    lines = run_on_terminal("cat", store, *portions).out.rstrip("\n").split("\n")
    # A slow read also draws its progress, and clears it.
    shown = [line for each in lines if (line := uncolored(each.rpartition("\r\x1b[K")[2]))]
    assert len(shown) == 62
    assert [line.split() for line in shown[:1]] == [["topic", "queue_offset"]]
    assert len({len(line.rstrip()) for line in shown}) == 1


COMMANDS = {
    "verify": (("verify", "STORE"), []),
    "rescue": (("rescue", "STORE", "NEW"), ["saving", "checking"]),
    "repair": (("repair", "STORE", "NEW"), ["reading", "checking", "copying", "checking"]),
    "extract": (("extract", "STORE", "NEW", "--topic", "T0"), ["reading", "checking", "copying", "checking", "comparing"]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_log_gets_lines_that_say_what_is_done(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Here a minute passes whenever the clock is asked."""
    minutes = count(0, 60.0)
    monkeypatch.setattr(progress.Lines.__init__, "__kwdefaults__", {"language": "en", "clock": lambda: next(minutes)})
    monkeypatch.setattr(progress, "_EVERY", 0)
    command, expected = COMMANDS[name]
    said = run(*(str({"STORE": store, "NEW": tmp_path / "new"}.get(each, each)) for each in command)).err
    lines = re.findall(r"^(?:([a-z]+): )?[0-9]+ %, \S+ \w+ of \S+ \w+(?:, .* left)?$", said, re.MULTILINE)
    assert len(lines) > len(expected)
    assert [label for label, _ in groupby(lines)] == (expected or [""])


def test_a_short_command_writes_no_line(store: Path) -> None:
    assert "%" not in run("verify", store).err
