"""docs/code.md names every source file, as the file itself says what it is: `make map` writes it."""

from __future__ import annotations

import re
import runpy

from support.documented import ROOT

MAP = runpy.run_path(str(ROOT / ".ci/code_map.py"))
PACKAGES = ("native_reader", "rmqstore", "rmqstore_spark", "pyspark_rmqstore", "kernel/src", "tests/support", ".ci")


def test_the_map_is_current() -> None:
    text = (ROOT / "docs/code.md").read_text(encoding="utf-8")
    assert MAP["page"](text) == text, "a file or its first line has changed: run `make map`"


def test_every_folder_with_source_files_is_in_the_map() -> None:
    """A new folder has to find its place in the order of the page. A first line that goes on in the second would be cut there."""
    sources = [path for package in PACKAGES for pattern in ("*.py", "*.rs") for path in (ROOT / package).rglob(pattern)]
    assert {path.parent.relative_to(ROOT).as_posix() for path in sources} == {*MAP["FOLDERS"]}
    lines = [MAP["first_line"](path) for folder in MAP["FOLDERS"] for path in MAP["files_of"](folder)]
    assert [line for line in lines if not re.search(r"[.`)]$", line)] == []
