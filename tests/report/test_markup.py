"""Text from a store cannot become markup, and cannot hide."""

from __future__ import annotations

import html
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqstore.report.markup import Markup, element, escaped, filled, joined, name_of, shortened

HOSTILE = (
    *("<script>alert(1)</script>", "</svg>", "</title></style>", "&", "&amp;", "]]>", "<!--", '" onload="x', "' x='", "{s}", "%s", "\\"),
    *("a\x00b\x1b[31m", "\r\n", "\x7f\x85", "\u202eevil", "\u2066a\u2069", "\u200bzero\ufeff", "\u2028", "\ud800", "\uffff", "𝒳\U000e0041"),
    *("订单", "סדר", "a\u0301", "x" * 255, "<" * 255, ""),
)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_hostile_text_stays_text(text: str) -> None:
    found = element("p", text, name_of(text), title=text)
    assert isinstance(found, Markup)
    parsed = ET.fromstring(found)
    assert [each.tag for each in parsed.iter()] == ["p", "bdi"]
    assert html.unescape(escaped(text)) == parsed.text or not text
    assert not parsed.attrib.keys() - {"title"}
    assert all(character.isprintable() for character in escaped(text))


@given(st.text(st.characters(), max_size=50))
def test_any_text_stays_text(text: str) -> None:
    parsed = ET.fromstring(element("p", text, title=text))
    assert len(parsed) == 0
    assert (parsed.text or "") == html.unescape(escaped(text)) == parsed.attrib["title"]


def test_what_cannot_be_seen_is_written_out() -> None:
    assert escaped("a\x00b\u202ec") == "a\\x00b\\u202ec"
    assert escaped("订单 é ö") == "订单 é ö"


def test_only_markup_is_not_escaped() -> None:
    inner = element("b", "<i>")
    assert joined(inner, "<i>", None) == "<b>&lt;i&gt;</b>&lt;i&gt;"
    assert element("p", inner + "<i>").count("&lt;b&gt;") == 1  # a sum of texts is a text


def test_a_text_is_filled_with_markup() -> None:
    time = element("b", "1 < 2")
    assert filled("<i> {first} to {last} {s}", {"first": time, "last": time}) == f"&lt;i&gt; {time} to {time} {{s}}"


def test_long_names_are_cut() -> None:
    assert shortened("x" * 255) == "x" * 255
    assert len(shortened("x" * 256)) == 255
    assert shortened("x" * 256).endswith("…")
