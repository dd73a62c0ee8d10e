"""Markdown from untrusted names: no name can become markup, a link, or a new row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LONGEST, LONGEST_SENTENCE = 200, 1000
"""Characters of a name, and of an error or warning, which may hold two paths."""
_MARKUP = re.compile(r"([\\`*_\[\]|~#@!$])")
_LINK = re.compile(r"(?i)(https?|ftp)(://)|(www)(\.)")
"""Text that becomes a link by itself."""
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def text(value: object, longest: int = LONGEST) -> str:
    """A value as plain text of one line; long ones are cut."""
    found = str(value)
    if len(found) > longest:
        found = f"{found[:longest]}…"
    visible = "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in found)
    return _LINK.sub(r"\1\3\\\2\4", _MARKUP.sub(r"\\\1", visible)).translate(_HTML)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], longest: int = LONGEST) -> list[str]:
    """The lines of a table. Numbers are grouped by thousands and on the right; a column of numbers has only numbers and None."""
    filled = [list(row) for row in rows]
    is_number = [all(isinstance(row[place], int | None) for row in filled) for place in range(len(heads))]
    rule = "|".join("--:" if number else "---" for number in is_number)
    return [_line(heads), f"|{rule}|", *(_line(_cell(value, longest) for value in row) for row in filled)]


def _cell(value: object, longest: int) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else text(value, longest)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
