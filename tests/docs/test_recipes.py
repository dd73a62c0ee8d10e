"""The recipes give the same answers in Python and on the command line. tests/spark/test_spark_recipes.py: also in Spark."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command_line import run
from support.documented import write_stores
from support.golden import Golden
from support.recipes import BROKERS, Recipe, Row, broker_stores, compare, of_broker, recipes


def test_there_are_fifteen_jobs() -> None:
    assert [int(recipe.title.partition(".")[0]) for recipe in recipes()] == list(range(1, 16))
    assert all(recipe.commands for recipe in recipes())


@pytest.mark.gate
def test_python_and_the_command_line_give_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stores(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert compare(str, printed_by(str)) == []


@pytest.mark.parametrize("name", BROKERS)
def test_they_do_so_on_stores_of_real_brokers(
    own_store: Callable[[str], Golden], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker_stores(own_store(name), tmp_path)
    monkeypatch.chdir(tmp_path)

    def changed(code: str) -> str:
        return of_broker(code, own_store(name))

    assert compare(changed, printed_by(changed)) == []


def printed_by(changed: Callable[[str], str]) -> Callable[[Recipe, dict[str, Any]], list[Row]]:
    """What the last command prints, but for notes."""

    def answer(recipe: Recipe, _: dict[str, Any]) -> list[Row]:
        ended = [run(*shlex.split(changed(command)), "--json") for command in recipe.commands]
        assert all(each.code in (0, 1) for each in ended), recipe.title
        return [row for row in ended[-1].rows if row.get("severity") != "note"]

    return answer
