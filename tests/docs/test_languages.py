"""A page in Chinese says what its English page says: the same commands, headings, tables and code, so that the two cannot drift."""

from __future__ import annotations

import re

import pytest
from support.blocks import Block, blocks_of
from support.documented import ROOT

PARTS = "docs/recovery.zh.md", "docs/runbook.zh.md"
"""A page that has a part of its English page; and one without blocks, which test_runbook.py compares line by line."""
CHINESE = sorted(path.relative_to(ROOT).as_posix() for pattern in ("*.zh.md", "docs/*.zh.md") for path in ROOT.glob(pattern))
WHOLE = [page for page in CHINESE if page not in PARTS]


def english(page: str) -> str:
    return page.replace(".zh.md", ".md")


def prose(page: str) -> str:
    return re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[str]:
    """Those with an output, without their language. A page that shows one in both languages has it once."""
    found = [line for block in blocks_of(page) for line in re.findall(r"^\$ (.*?)(?: +#.*)?$", block.code, re.MULTILINE)]
    return list(dict.fromkeys(line.replace(" --lang zh", "") for line in found))


def code(page: str) -> list[tuple[str, str]]:
    """The other blocks, without comments."""
    blocks: list[Block] = [block for block in blocks_of(page) if block.language != "console"]
    return [(block.language, re.sub(r"\s+#.*", "", block.code).replace(" --lang zh", "")) for block in blocks]


def levels(page: str) -> list[int]:
    return [len(marks) for marks in re.findall(r"^(#+) ", prose(page), re.MULTILINE)]


def tables(page: str) -> list[list[int]]:
    """The number of cells of each row of each table."""
    found = re.findall(r"(?:^\|.*\n)+", prose(page), re.MULTILINE)
    return [[len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()] for table in found]


def firsts(page: str) -> list[str]:
    """What the first cells of rows say in code: commands, options, columns."""
    rows = re.findall(r"^\| ([^|]*?) \|", prose(page), re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize("page", WHOLE)
def test_it_shows_the_same_commands_and_code(page: str) -> None:
    assert commands(page) == commands(english(page))
    assert code(page) == code(english(page))


@pytest.mark.parametrize("page", WHOLE)
def test_it_has_the_same_headings_and_tables(page: str) -> None:
    assert levels(page) == levels(english(page))
    assert tables(page) == tables(english(page))
    assert firsts(page) == firsts(english(page))


@pytest.mark.parametrize("page", PARTS)
def test_a_part_shows_no_other_commands(page: str) -> None:
    shown = [text for _, text in code(english(page))]
    assert [text for _, text in code(page) if text not in shown] == []
    assert len(levels(page)) <= len(levels(english(page)))


@pytest.mark.parametrize("page", CHINESE)
def test_each_page_leads_to_the_other(page: str) -> None:
    for one, other in ((page, english(page)), (english(page), page)):
        assert f"]({other.rpartition('/')[2]})" in (ROOT / one).read_text(encoding="utf-8").split("\n## ")[0], one
