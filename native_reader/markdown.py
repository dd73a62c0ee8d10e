"""A page of titles, lists and tables, and how it becomes Markdown. No untrusted name becomes markup, a link or a new row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html import unescape
from typing import NamedTuple

from native_reader.errors import spelled
from native_reader.sentences import Said, say
from native_reader.text import with_paths

LONGEST, LONGEST_SENTENCE = 200, 1000
"""Characters of a name, and of an error or warning, which may hold two paths."""
_MARKUP = re.compile(r"([\\`*_\[\]|~#@!$])")
_CODE = re.compile(r"(?<!\\)`((?:[^`\\]|\\.)*)`")
_ESCAPED = re.compile(r"\\([\\`*_\[\]~#@!$:.])")
_LINK = re.compile(r"(?i)(https?|ftp)(://)|(www)(\.)")
"""Text that becomes a link by itself."""
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def lines_of(page: Document, language: str) -> Iterator[str]:
    """The lines of the page in that language. In its sentences, code is between backticks."""
    say = partial(_said, language=language)
    yield f"# {say(page.title)}"
    yield from _blocks(page.blocks, say)
    for section in page.sections:
        yield from ("", f"## {say(section.title)}", *_blocks(section.blocks, say))


def _said(said: Said, language: str) -> str:
    return _CODE.sub(_as_code, spelled(said.text(language, lambda value: text(with_paths(spelled(value, str)), LONGEST_SENTENCE)), str))


def _as_code(span: re.Match[str]) -> str:
    """Code, in which Markdown takes a backslash as one: a path is shown as it is. A backtick would end it."""
    plain = _ESCAPED.sub(r"\1", span[1]).translate({ord("`"): "'"})
    return f"`{unescape(plain)}`"


def _blocks(blocks: Iterable[Block], say: partial[str]) -> Iterator[str]:
    for block in blocks:
        yield ""
        yield from _block(block, say)


def _block(block: Block, say: partial[str]) -> Iterator[str]:
    match block:
        case Lines(said):
            yield from "\n\n".join(map(say, said)).split("\n")
        case Items(said, is_numbered):
            yield from (f"{f'{number}.' if is_numbered else '-'} {say(each)}" for number, each in enumerate(said, 1))
        case Results(rows):
            yield from (f"- **{say(row.label)}** {say(row.said)}" for row in rows)
        case Code(language, lines):
            yield from (f"```{language}", *lines, "```")
        case Table(titles, rows):
            yield from table([say(title) for title in titles], [[_shown(cell, say) for cell in row] for row in rows])


class _Written(str):
    """Text that is Markdown already."""

    __slots__ = ()


def _shown(cell: Cell, say: partial[str]) -> int | str | None:
    return _Written(say(cell)) if isinstance(cell, Said) else cell


def text(value: object, longest: int = LONGEST) -> str:
    """A value as plain text of one line; long ones are cut."""
    found = str(value)
    if len(found) > longest:
        found = f"{found[:longest]}…"
    visible = "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in found)
    return _LINK.sub(r"\1\3\\\2\4", _MARKUP.sub(r"\\\1", visible)).translate(_HTML)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a table. Numbers are grouped by thousands and on the right; a column of numbers has only numbers and None."""
    filled = [list(row) for row in rows]
    is_number = [all(isinstance(row[place], int | None) for row in filled) for place in range(len(heads))]
    rule = "|".join("--:" if number else "---" for number in is_number)
    return [_line(heads), f"|{rule}|", *(_line(map(_cell, row)) for row in filled)]


def _cell(value: object) -> str:
    if value is None or isinstance(value, _Written):
        return value or ""
    return f"{value:,}" if isinstance(value, int) else text(with_paths(str(value)))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


Cell = int | str | Said | None
"""Of a table. A text is a name from a store: it can hold anything."""


class Lines(NamedTuple):
    """Paragraphs."""

    said: Sequence[Said]


class Items(NamedTuple):
    """A list. Only the steps of a procedure are numbered."""

    said: Sequence[Said]
    is_numbered: bool = False


class Result(NamedTuple):
    """One of the main results, with its label. A warning is about what a reader must not do."""

    label: Said
    said: Said
    is_warning: bool = False


class Results(NamedTuple):
    """The main results."""

    rows: Sequence[Result]


class Code(NamedTuple):
    """Lines of a program."""

    language: str
    lines: Sequence[str]


class Table(NamedTuple):
    """A table: the titles of its columns, and its rows."""

    titles: Sequence[Said]
    rows: Sequence[Sequence[Cell]]


Block = Lines | Items | Results | Code | Table


class Section(NamedTuple):
    """A part of the page."""

    title: Said
    blocks: Sequence[Block]


class Document(NamedTuple):
    """A page."""

    title: Said
    blocks: Sequence[Block]
    sections: Sequence[Section]


def paragraph(kind: str, **values: int | str | Said) -> list[Block]:
    """One sentence of that kind."""
    return [Lines([say(kind, **values)])]


def columns(*names: str) -> list[Said]:
    """The titles of these columns."""
    return [Said(f"column {name}") for name in names]


def result(label: str, said: Said) -> Result:
    """A main result with that label."""
    return Result(Said(f"result {label}"), said)
