"""The frame of a page: its head, with the style and what a browser may load, and its contents."""

from __future__ import annotations

from collections.abc import Iterable

from rmqstore.report.markup import Markup, element
from rmqstore.report.style import style_sheet

_LANGUAGES = {"en": "en", "zh": "zh-CN"}


def framed(title: str, language: str, body: Markup) -> str:
    """The whole page."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        # If a name were ever not escaped, a browser would still run and load nothing.
        element("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        element("title", title),
        element("style", style_sheet()),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang=_LANGUAGES[language])}\n"


def contents(label: str, sections: Iterable[tuple[str, str]]) -> Markup:
    """Links to sections: the id and the title of each."""
    links = [element("li", element("a", title, href=f"#{identity}")) for identity, title in sections]
    return element("nav", element("ul", *links), aria_label=label)
