"""The building blocks of a section: headings, tables with bars, pairs, notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from native_reader.facts import Problem, Row, Top
from native_reader.text import number_of, share_of, size_of
from rmqstore.report.charts import bar
from rmqstore.report.markup import Markup, element, joined, name_of
from rmqstore.report.words import Words

TOP = 15
"""The rows of a table. All others are one row."""
NUMBER, TEXT, SHARE, LONG = "number", "text", "share", "long"
Columns = Sequence[tuple[str, str]]
"""Titles and styles."""


def section(words: Words, key: str, *content: Markup | None) -> Markup:
    """A section of the page."""
    return element("section", element(words.heading(2), words.say(key)), *content, id=words.id(key))


def part(words: Words, key: str, *content: Markup | None) -> Markup:
    """A part of a section."""
    return joined(element(words.heading(3), words.say(key)), *content)


def note(text: str) -> Markup:
    """A small explanation."""
    return element("p", text, class_="note")


def times_in(words: Words, zone_name: str) -> Markup:
    """In which zone the times of a section are."""
    return note(words.say("times_in", zone=zone_name))


def problem(words: Words, found: Problem) -> Markup:
    """Why a part is missing."""
    return element("p", words.say("problem", text=found.text), class_="alarm")


def table(columns: Columns, rows: Iterable[Sequence[str | None]], others: Sequence[str | None] | None = None) -> Markup:
    """A table. The first cell of a row is its heading; `others`: the last row."""
    heads = [element("th", title, scope="col", class_=None if style == TEXT else style) for title, style in columns]
    lines = [_line(columns, row, None) for row in rows]
    if others is not None:
        lines.append(_line(columns, others, "others"))
    found = element("table", element("thead", element("tr", *heads)), element("tbody", *lines))
    return element("div", found, class_="wide")


def _line(columns: Columns, row: Sequence[str | None], style: str | None) -> Markup:
    first, *rest = row
    cells = [element("th", first, scope="row")]
    cells += [element("td", cell, class_=kind) for (_, kind), cell in zip(columns[1:], rest, strict=True)]
    return element("tr", *cells, class_=style)


def stacked(*lines: str | None) -> Markup:
    """Lines of one cell, without those that are None."""
    return joined(*(element("div", line) for line in lines if line is not None))


def share_cell(value: int, whole: int) -> Markup:
    """A percentage with its bar."""
    return joined(share_of(value, whole), bar(value / whole if whole else 0))


def name(words: Words, value: object, missing: str = "no_name") -> Markup:
    """A name from the store; null and empty names have a text of their own."""
    return name_of(str(value)) if value is not None and value != "" else joined(words.say(missing))


def ranking(words: Words, found: Top, whole: int, titles: Sequence[str], names: Callable[[Row], Sequence[Markup]]) -> Markup:
    """Groups with their messages, size and share of the whole, the largest first. `titles`: keys of the columns of `names`."""
    columns = [*((words.say(title), TEXT) for title in titles), (words.say("messages"), NUMBER), (words.say("size"), NUMBER)]
    columns.append((words.say("share"), SHARE))
    others = None
    if found.groups:
        empty = [None] * (len(titles) - 1)
        others = [words.say("others", count=found.groups), *empty, *_figures(found.others, whole)]
    return table(columns, ([*names(row), *_figures(row, whole)] for row in found.rows), others)


def _figures(row: Mapping[str, object], whole: int) -> list[str]:
    size = int(str(row["bytes"]))
    return [number_of(row["messages"]), size_of(size), share_cell(size, whole)]


def pairs(rows: Iterable[tuple[str, str]]) -> Markup:
    """Names and values."""
    return element("dl", *(joined(element("dt", title), element("dd", value)) for title, value in rows), class_="pairs")
