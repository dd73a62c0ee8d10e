"""The cases that hide rows from `access=auto` are those of `support.missed`. `access=scan` finds the rows. docs/filters.md lists them.

If `auto` detects one of these some day, its test fails: remove the case here and there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.missed import MISSED, Case
from support.pruning import AccessRead

pytestmark = pytest.mark.usefixtures("queues_always_used", "small_parts_pruned")


@pytest.mark.parametrize("case", [case for cases in MISSED.values() for case in cases], ids=lambda case: case.__name__)
def test_auto_misses_rows_and_a_scan_finds_them(case: Callable[[], Case]) -> None:
    files, predicate = case()
    scanned, auto = (AccessRead(files, predicate, access) for access in ("scan", "auto"))
    assert auto.rows < scanned.rows
    assert scanned.ways == {"scan"}
    assert not auto.run.report.scanned


@pytest.mark.parametrize("case", [case for cases in MISSED.values() for case in cases], ids=lambda case: case.__name__)
def test_a_summary_finds_the_rows_that_auto_misses(case: Callable[[], Case], tmp_path: Path) -> None:
    """In the segments that it covers: all but the newest one."""
    files, predicate = case()
    scanned = AccessRead(files, predicate, "scan")
    covered = AccessRead(files, predicate, "auto", summary=tmp_path)
    ((_, summary),) = covered.plan.summaries
    end = max((each.base + each.size for each in covered.run.report.segments if each.base in summary.segments), default=0)
    ours, all_rows = ({at: count for at, count in looked.rows.items() if at[0] < end} for looked in (covered, scanned))
    assert (ours, summary.why) == (all_rows, ())


def test_the_documentation_lists_all_cases() -> None:
    text = (Path(__file__).parents[2] / "docs" / "filters.md").read_text(encoding="utf-8")
    (part,) = re.findall(r"^## What `auto` misses\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    assert re.findall(r"^- \*\*(.*?)\*\*", part, re.MULTILINE) == list(MISSED)
