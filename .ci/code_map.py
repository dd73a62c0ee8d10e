"""Writes the map of files in docs/code.md, from the first line of each file: `make map`.

What stands before the map in that page is written by hand.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/code.md"
BEGIN = "<!-- From here on `make map` writes this page. -->\n"
ENGINE = (
    "sentences",
    "layout",
    "writing",
    "storage",
    "broker",
    "predicate",
    "records",
    "log",
    "columns",
    "summary",
    "sides",
    "plan",
    "scan",
    "verify",
    "account",
    "tables",
)
FOLDERS = (
    "native_reader",
    *(f"native_reader/{name}" for name in (*ENGINE, "witness", "export", "frames", "stream", "start", "facts", "compare")),
    *("native_reader/rescue", "native_reader/lost", "native_reader/repair", "native_reader/testing"),
    *("rmqstore_spark", "pyspark_rmqstore", "rmqstore", "rmqstore/cli", "rmqstore/report"),
    *("kernel/src", "tests/support", ".ci"),
)
"""In the order of the page: the engine from its lowest layer up, what users call, what is around it."""


def main() -> None:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {sum(len(files_of(folder)) for folder in FOLDERS)} files in {len(FOLDERS)} folders")


def page(text: str) -> str:
    """The page with a new map."""
    by_hand, begin, _ = text.partition(BEGIN)
    if not begin:
        sys.exit(f"{PAGE.relative_to(ROOT)} has no line {BEGIN}")
    return "\n".join([by_hand + begin, *lines()])


def lines() -> Iterator[str]:
    for folder in FOLDERS:
        yield from (f"## `{folder}/`", "")
        files = files_of(folder)
        package = ROOT / folder / "__init__.py"
        if package in files:
            yield from (first_line(package), "")
        if listed := [path for path in files if path != package]:
            yield from ("| file | |", "|---|---|")
            yield from (f"| `{path.name}` | {cell(first_line(path))} |" for path in listed)
            yield ""


def files_of(folder: str) -> list[Path]:
    """The source files of a folder, without those of folders in it. Scripts of `.ci` have no suffix."""
    found = sorted(path for path in (ROOT / folder).iterdir() if path.is_file() and re.fullmatch(r"\w+(\.py|\.rs)?", path.name))
    if not found:
        sys.exit(f"{folder} has no source files: is it another folder now? .ci/code_map.py lists them in FOLDERS")
    return found


def first_line(path: Path) -> str:
    """The first line of what a file says about itself."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py" or re.match("#!.*python", text):
        said = ast.get_docstring(ast.parse(text))
    else:
        comment = re.match(r"(?:#!.*\n)?(?://!|#) (.+)", text)
        said = comment and comment[1]
    if not said:
        sys.exit(f"{path.relative_to(ROOT)} does not say what it is: begin it with a sentence")
    return said.splitlines()[0]


def cell(text: str) -> str:
    """Text in a table of Markdown."""
    return text.replace("|", r"\|")


if __name__ == "__main__":
    main()
