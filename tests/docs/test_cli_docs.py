"""The documents show what the commands print."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.documented import NOT_RUN, ROOT, commands_in, lasting, printed, write_stores

from rmqstore.cli.program import COMMANDS

NAMES = ("docs/recipes.md", "docs/summary.md", "README.md", "README.zh.md")
"""tests/docs/test_blocks.py does the same with other pages."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder with the stores of the documents."""
    found = tmp_path_factory.mktemp("documented")
    write_stores(found)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(found)
        patch.setenv("COLUMNS", "120")
        patch.setattr("rmqstore.cli.rows.is_terminal", lambda: True)
        yield found


@pytest.mark.gate
@pytest.mark.parametrize("name", NAMES)
def test_every_command_prints_what_the_document_shows(name: str, folder: Path) -> None:
    commands, given = list(commands_in((ROOT / name).read_text(encoding="utf-8"))), set(folder.iterdir())
    assert commands
    for command, output in commands:
        assert lasting(printed(command, folder)) == lasting(output), command
    for made in set(folder.iterdir()) - given:  # by one document, and by the next one again
        shutil.rmtree(made) if made.is_dir() else made.unlink()


def test_every_output_was_filled_in() -> None:
    assert [path.name for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")) if NOT_RUN in path.read_text(encoding="utf-8")] == []


def test_every_command_is_documented() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `rmqstore (\w+) ", text, re.MULTILINE) == list(COMMANDS)
