"""docs/recovery.md and its Chinese page have the table of versions as the code goes by it: `python .ci/version_table.py` writes it."""

from __future__ import annotations

import runpy

import pytest
from support.documented import ROOT

TABLE = runpy.run_path(str(ROOT / ".ci/version_table.py"))


@pytest.mark.parametrize("language", [0, 1])
def test_the_table_is_that_of_the_code(language: int) -> None:
    text = TABLE["PAGES"][language].read_text(encoding="utf-8")
    assert TABLE["page_with"](text, language) == text, "a row of LINES has changed: run python .ci/version_table.py"
