"""The building blocks of a section: headings, tables with bars, pairs, notes, and charts as inline SVG without text.

The labels of charts are HTML around them, so they stay readable at every width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from native_reader.facts import Problem, Row, Top
from native_reader.text import number_of, share_of
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


def share_cell(words: Words, value: int, whole: int) -> Markup:
    """A percentage with its bar."""
    return joined(words.measure(share_of(value, whole)), bar(value / whole if whole else 0))


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
        others = [words.say("others", count=found.groups), *empty, *_figures(words, found.others, whole)]
    return table(columns, ([*names(row), *_figures(words, row, whole)] for row in found.rows), others)


def _figures(words: Words, row: Mapping[str, object], whole: int) -> list[str]:
    size = int(str(row["bytes"]))
    return [number_of(row["messages"]), words.size(size), share_cell(words, size, whole)]


def pairs(rows: Iterable[tuple[str, str]]) -> Markup:
    """Names and values."""
    return element("dl", *(joined(element("dt", title), element("dd", value)) for title, value in rows), class_="pairs")


WIDTH = 1000
_BAR, _AREA, _STRIP = 10, 200, 20
_LEAST = 4
"""The least width of a damaged range in a strip, so that it can be seen."""


class Range(NamedTuple):
    """A part of a strip, from 0 to 1. `style`: a class of the style sheet."""

    start: float
    stop: float
    style: str
    title: str | None = None


def bar(share: float) -> Markup:
    """A bar of that share of the width. The table cell around it has the number."""
    width = _rounded(max(0.0, min(1.0, share)) * WIDTH)
    rect = element("rect", x=0, y=0, width=width, height=_BAR, class_="bar")
    return element("svg", rect, viewBox=f"0 0 {WIDTH} {_BAR}", preserveAspectRatio="none", class_="bar", aria_hidden="true")


def area(values: Sequence[int], title: str) -> Markup:
    """Steps over time, one for each value."""
    most, width = max(values, default=0) or 1, WIDTH / max(1, len(values))
    points = [f"M0 {_AREA}"]
    for number, value in enumerate(values):
        y = _rounded(_AREA - value / most * _AREA)
        points.append(f"V{y}H{_rounded((number + 1) * width)}")
    path = element("path", d=f"{''.join(points)}V{_AREA}Z", class_="area")
    middle = element("line", x1=0, x2=WIDTH, y1=_AREA // 2, y2=_AREA // 2, class_="grid")
    return _figure("area", _AREA, title, (middle, path))


def strip(ranges: Iterable[Range], borders: Iterable[float], title: str) -> Markup:
    """Ranges side by side, later ones above earlier ones, and thin lines at the borders."""
    drawn = [_range(each) for each in ranges]
    drawn += [
        element("line", x1=_rounded(at * WIDTH), x2=_rounded(at * WIDTH), y1=0, y2=_STRIP, class_="border") for at in borders if 0 < at < 1
    ]
    return _figure("strip", _STRIP, title, drawn)


def _range(each: Range) -> Markup:
    width = max(_LEAST, (each.stop - each.start) * WIDTH)
    title = None if each.title is None else element("title", each.title)
    start = min(each.start * WIDTH, WIDTH - width)
    return element("rect", title, x=_rounded(start), y=0, width=_rounded(width), height=_STRIP, class_=each.style)


def _figure(style: str, height: int, title: str, content: Iterable[Markup]) -> Markup:
    box = f"0 0 {WIDTH} {height}"
    return element("svg", element("title", title), *content, viewBox=box, preserveAspectRatio="none", class_=style, role="img")


def _rounded(number: float) -> str:
    """At most one decimal: enough for a screen, and short."""
    return f"{number:.1f}".removesuffix(".0")
