"""docs/code.md names every source file, as the file itself says what it is."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parents[2]
PAGE = HERE / "docs/code.md"
PACKAGES = ("native_reader", "rmqstore", "rmqstore_spark", "pyspark_rmqstore", "kernel/src", "tests/support", ".ci")


@pytest.fixture
def code_map() -> dict[str, Any]:
    return runpy.run_path(str(HERE / ".ci/code_map.py"))


def test_the_map_is_current(code_map: dict[str, Any]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert code_map["page"](text) == text, "a file or its first line has changed: run `make map`"


def test_every_folder_with_source_files_is_in_the_map(code_map: dict[str, Any]) -> None:
    """A new folder has to find its place in the order of the page."""
    sources = [path for package in PACKAGES for pattern in ("*.py", "*.rs") for path in (HERE / package).rglob(pattern)]
    assert {path.parent.relative_to(HERE).as_posix() for path in sources} == set(code_map["FOLDERS"])


def test_first_lines_are_sentences(code_map: dict[str, Any]) -> None:
    """A sentence that goes on in the second line would be cut in the map."""
    lines = [code_map["first_line"](path) for folder in code_map["FOLDERS"] for path in code_map["files_of"](folder)]
    assert [line for line in lines if not re.search(r"[.`)]$", line)] == []


def test_what_the_page_says_by_hand_stays(code_map: dict[str, Any]) -> None:
    page = code_map["page"]("# By hand\n\n" + code_map["BEGIN"] + "an old map\n")
    assert page.startswith("# By hand\n\n" + code_map["BEGIN"])
    assert "an old map" not in page
    assert "`record.py`" in page
    with pytest.raises(SystemExit):
        code_map["page"]("# A page without a place for the map\n")
