"""The recipes give the same answers in Python and on the command line. tests/spark/test_spark_recipes.py: also in Spark."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import run
from support.documented import ROOT, write_stores
from support.golden import Golden
from support.recipes import BROKERS, Row, answer_to, broker_stores, comparable, names, of_broker, recipes, rows_of


def test_there_are_fifteen_jobs() -> None:
    assert [int(recipe.title.partition(".")[0]) for recipe in recipes()] == list(range(1, 16))


@pytest.mark.gate
def test_python_and_the_command_line_give_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stores(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert [title for title, rows in compared(str).items() if not rows] == []


@pytest.mark.parametrize("name", BROKERS)
def test_they_do_so_on_stores_of_real_brokers(
    own_store: Callable[[str], Golden], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker_stores(own_store(name), tmp_path)
    monkeypatch.chdir(tmp_path)
    answers = compared(lambda code: of_broker(code, own_store(name)))
    assert [title for title, rows in answers.items() if not rows] == []


def compared(changed: Callable[[str], str]) -> dict[str, list[Row]]:
    """The answer of each recipe in Python. Asserts that the last command prints the same. `changed`: what to do with code and commands."""
    defined, answers = names(), dict[str, list[Row]]()
    for recipe in recipes():
        rows = answers[recipe.title] = rows_of(answer_to(changed(recipe.python), defined))
        assert recipe.commands, recipe.title
        ended = [run(*shlex.split(changed(command)), "--json") for command in recipe.commands]
        assert all(each.code in (0, 1) for each in ended), recipe.title
        columns = list(rows[0]) if rows else []
        printed = [row for row in ended[-1].rows if row.get("severity") != "note"]
        assert len(printed) == len(rows), recipe.title
        assert comparable(printed, columns) == comparable(rows, columns), recipe.title
    return answers


@pytest.mark.gate
def test_the_commands_for_one_order_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stores(tmp_path)
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^\|.*`rmqstore (.*)` \|$", (ROOT / "docs/recipes.md").read_text(encoding="utf-8"), re.MULTILINE)
    codes = [run(*shlex.split(command)).code for command in commands]
    assert (codes[0], set(codes) - {0, 1}) == (0, set())
    assert len(codes) == 4
