"""Charts as inline SVG without text: the labels are HTML around them, so they stay readable at every width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rmqstore.report.markup import Markup, element

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
