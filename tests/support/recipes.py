"""The recipes of docs/recipes.md, and how their answers are compared."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from support.documented import ROOT, commands_in
from support.golden import Golden, unpack
from support.own_stores import STORES

Row = dict[str, Any]
_TEXT = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")


class Recipe(NamedTuple):
    """One job: code for Spark and for Python, and commands. The answer is that of the last expression, or of the last command."""

    title: str
    spark: str
    python: str
    commands: tuple[str, ...]


def recipes() -> list[Recipe]:
    """All of them."""
    found = []
    for section in re.split(r"^## ", _TEXT, flags=re.MULTILINE)[1:]:
        spark, python = _code(section)
        found.append(Recipe(section.splitlines()[0], spark, python, tuple(command for command, _ in commands_in(section))))
    return found


def names(changed: Callable[[str], str] = str, **more: Any) -> dict[str, Any]:
    """The names that the document defines at its beginning. `changed`: what to do with its code. `more`: other names."""
    (code,) = _code(_TEXT.partition("\n## ")[0])
    defined = dict(more)
    exec(changed(code), defined)
    return defined


def answer_to(code: str, defined: dict[str, Any]) -> Any:
    """Run the code; the value of its last expression."""
    *before, last = ast.parse(code).body
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module(before, []), "recipe", "exec"), defined)
    return eval(compile(ast.Expression(last.value), "recipe", "eval"), defined)


def rows_of(answer: Any) -> list[Row]:
    """The rows of an answer. A number is one row, as `rmqstore export --json` prints it."""
    if isinstance(answer, int):
        return [{"rows": answer}]
    return answer.to_pylist() if isinstance(answer, pa.Table) else [row.asDict() for row in answer.collect()]


def compare(changed: Callable[[str], str], other: Callable[[Recipe, dict[str, Any]], list[Row] | None], **more: Any) -> list[str]:
    """Assert that each recipe answers the same in Python and in another way; the titles of those without a row.

    `changed`: what to do with the code. `other`: the answer in the other way, from the names that the document defines, with `more`;
    None if it has none.
    """
    defined, empty = names(changed, **more), []
    for recipe in recipes():
        if (answer := other(recipe, defined)) is None:
            continue
        rows = rows_of(answer_to(changed(recipe.python), defined))
        columns = list(rows[0]) if rows else []
        assert len(answer) == len(rows), recipe.title
        assert comparable(answer, columns) == comparable(rows, columns), recipe.title
        empty += [] if rows else [recipe.title]
    return empty


def comparable(rows: Iterable[Row], columns: Sequence[str]) -> list[str]:
    """These columns of the rows, in an order of their own."""
    return sorted(json.dumps([_plain(row[name]) for name in columns]) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value


def _code(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


# The same on stores of real brokers

BROKERS = ("4.9.7-kinds", "5.5.0-kinds")
"""Stores with everything that the recipes ask for. `kinds` of tests/brokers/java/Traffic.java is what was sent."""
_NAMES = {
    r"\b(?:orders|payments)\b": "Plain",
    r"\binvoices\b": "Gone",  # a deleted topic
    r"\bo441422207746\b": "key3",
    r'\\?"created\\?":1672': " total ",
    # Whether a check had given up, and whether a client sent a message twice, depends on the moment.
    r"'undecided'": "'committed'",
    r"'sent', 'stored'": "'sent', 'stored', 'delivered'",
}


def broker_stores(store: Golden, folder: Path) -> None:
    """The stores `store` and `damaged` of the recipes, as a broker wrote them; the latter with a page of zeros."""
    (folder / "store").symlink_to(store.root)
    damaged = unpack(store.name, folder, STORES).root.rename(folder / "damaged")
    first = min((damaged / "commitlog").iterdir())
    with first.open("r+b") as file:
        file.seek(_sent_to_plain(store, "physical_offset")[10] - int(first.name))  # at a record: zeros inside a body are no damage
        file.write(bytes(4096))


def of_broker(code: str, store: Golden) -> str:
    """Code or a command of a recipe with the names, the key, the text and the times of that store."""
    for pattern, name in _NAMES.items():
        code = re.sub(pattern, name, code)
    times = _sent_to_plain(store, "store_timestamp")
    for written, moment in (("2026-01-05 08:01:00Z", times[10]), ("2026-01-05 08:02:00Z", times[-10])):
        code = code.replace(written, datetime.fromtimestamp(moment / 1000, UTC).isoformat(" ", "milliseconds").replace("+00:00", "Z"))
    return code


def _sent_to_plain(store: Golden, column: str) -> list[int]:
    return sorted(row[column] for row in store.expected_rows if row.get("topic") == "Plain")
