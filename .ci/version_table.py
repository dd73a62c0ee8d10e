"""Writes the table of versions in docs/recovery.md, from the rows of `native_reader/start/lines.py`. `--check`: compares only."""

from __future__ import annotations

import sys
from pathlib import Path

from native_reader.log.recovery import by_queues, of_ten_by_queues, third_last
from native_reader.start.lines import LINES, Line, Requeues

PAGE = Path(__file__).parents[1] / "docs" / "recovery.md"
BEGIN, END = "<!-- versions -->\n", "<!-- /versions -->"
CHECKED = {
    third_last: "the third-last segment",
    by_queues: "the newest segment that a queue names",
    of_ten_by_queues: "the newest of the last ten that a queue names, with a whole first record",
}
QUEUED = {
    Requeues.NONE: "none",
    Requeues.AFTER_ALL: "those after the farthest queue; after damage, only from the next segment on",
    Requeues.CHECKED: "those after the farthest queue, as far as it checks",
}


def row_of(line: Line) -> str:
    """One row of versions."""
    size = "does not start" if line.refuses_sizes else "left out, with those after it"
    folder = size if line.refuses_folders else "skipped"
    empty = size if line.refuses_empty else "deleted"
    cells = line.span, CHECKED[line.stopped], QUEUED[line.requeues], size, folder, empty
    return f"| {' | '.join(cells)} |\n"


def table() -> str:
    """The whole table."""
    names = (
        "version",
        "checks after a clean stop from",
        "queues again after a clean stop",
        "file of another size",
        "folder",
        "empty last file",
    )
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}\n{''.join(map(row_of, LINES))}"


def page_with(text: str) -> str:
    """The page with the table of today."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    old = PAGE.read_text()
    if "--check" not in sys.argv:
        PAGE.write_text(page_with(old))
    elif page_with(old) != old:
        sys.exit(f"{PAGE}: the table of versions is not that of native_reader/start/lines.py: python .ci/version_table.py")
