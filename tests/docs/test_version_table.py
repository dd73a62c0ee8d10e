"""docs/recovery.md has the table of versions as the code goes by it: `python .ci/version_table.py` writes it."""

from __future__ import annotations

import runpy

from support.documented import ROOT

TABLE = runpy.run_path(str(ROOT / ".ci/version_table.py"))


def test_the_table_is_that_of_the_code() -> None:
    text = (ROOT / "docs/recovery.md").read_text(encoding="utf-8")
    assert TABLE["page_with"](text) == text, "a row of LINES has changed: run python .ci/version_table.py"
