"""The recipes give the same answers in Python and on the command line. tests/spark/test_spark_recipes.py: also in Spark."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from support.command_line import run
from support.documented import write_stores
from support.recipes import answer_to, comparable, names, recipes, rows_of


def test_there_are_fifteen_jobs() -> None:
    assert [int(recipe.title.partition(".")[0]) for recipe in recipes()] == list(range(1, 16))


def test_python_and_the_command_line_give_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stores(tmp_path)
    monkeypatch.chdir(tmp_path)
    defined, without_command = names(), []
    for recipe in recipes():
        rows = rows_of(answer_to(recipe.python, defined))
        assert rows, recipe.title
        if not recipe.commands:
            without_command.append(recipe.title)
            continue
        ended = [run(*shlex.split(command), "--json") for command in recipe.commands]
        columns = list(rows[0])
        assert comparable(ended[-1].rows, columns) == comparable(rows, columns), recipe.title
    assert without_command == ["13. Follow the log into a data lake"]
