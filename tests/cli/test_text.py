"""No text that reaches a terminal can control it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import unsafe
from support.effort import sampled

from rmqstore.text import AUTO, BODIES, HEX, JSON, TEXT, as_json, body_line, body_lines, body_of, cell, moment_of, plain, safe, time_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("orders", "orders"),
        ("订单　一", "订单　一"),
        ("a b\u00a0c", "a b\u00a0c"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\u202eabc", "\\u202eabc"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x9b1m\x7f", "\\x9b1m\\x7f"),
        ("\U000e0041", "\\U000e0041"),
        ("\udcff", "\\udcff"),
        ("\u2028", "\\u2028"),
    ],
)
def test_invisible_characters_are_escaped(text: str, shown: str) -> None:
    assert safe(text) == shown


@given(st.text())
@sampled(300)
def test_any_text_is_safe_in_every_form(text: str) -> None:
    assert not unsafe(safe(text))
    assert "\n" not in safe(text)
    line = as_json({text: [text]})
    assert not unsafe(line)
    assert "\n" not in line
    assert json.loads(line) == {text: [text]}
    assert not unsafe(cell([text, text]))
    assert not unsafe(cell({text: text}))


@given(st.one_of(st.binary(), st.text().map(lambda text: text.encode())), st.sampled_from(BODIES[:-1]))
@sampled(300)
def test_any_body_is_safe_in_every_form(content: bytes, form: str) -> None:
    assert not unsafe(body_line(content, form))
    assert "\n" not in body_line(content, form)
    assert not any(unsafe(line) for line in body_lines(content, form))
    assert not unsafe(as_json(body_of(content, form)[1]))


@pytest.mark.parametrize(
    ("content", "form", "expected"),
    [
        (b"text", AUTO, (TEXT, "text")),
        ("订单".encode(), AUTO, (TEXT, "订单")),
        (b"two\nlines", AUTO, (TEXT, "two\nlines")),
        (b"\x00\x01", AUTO, (HEX, "0001")),
        (b"\xff\xfe", AUTO, (HEX, "fffe")),
        (b"text", HEX, (HEX, "74657874")),
        (b"\xff", TEXT, (TEXT, "\ufffd")),
        (b'{"a": 1}', AUTO, (TEXT, '{"a": 1}')),
        (b'{"a": 1}', JSON, (JSON, {"a": 1})),
        (b"{", JSON, (TEXT, "{")),
        (b"1e999", JSON, (TEXT, "1e999")),
        (b"NaN", JSON, (TEXT, "NaN")),
        (b"[" * 100_000, JSON, (TEXT, "[" * 100_000)),
        (b"\xff", JSON, (HEX, "ff")),
        (b"", AUTO, (TEXT, "")),
    ],
)
def test_bodies_have_the_form_that_fits(content: bytes, form: str, expected: object) -> None:
    assert body_of(content, form) == expected


def test_bodies_for_people_have_lines() -> None:
    assert body_lines(b"a\r\nb\tc", AUTO) == ["a", "b   c"]
    assert body_lines(b'{"a": [1]}', JSON) == ["{", '  "a": [', "    1", "  ]", "}"]
    assert body_lines(bytes(range(17)), HEX) == [
        "00000000  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f  ................",
        "00000010  10                                               .",
    ]


def test_times_name_their_zone() -> None:
    moment = datetime(2026, 1, 31, 12, 0, 0, 5000, UTC)
    assert time_text(moment, None) == "2026-01-31 12:00:00.005Z"
    assert time_text(moment, timezone(timedelta(hours=8))) == "2026-01-31 20:00:00.005+08:00"
    assert [moment_of(moment, zone) for zone in (None, UTC, timezone(timedelta(hours=8)))] == [
        "2026-01-31 12:00:00.005 UTC",
        "2026-01-31 12:00:00.005 UTC",
        "2026-01-31 20:00:00.005+08:00",
    ]
    assert time_text(datetime.min.replace(tzinfo=UTC), timezone(-timedelta(hours=8))) == "0001-01-01 00:00:00.000Z"


def test_values_are_printed_as_a_cell_and_in_json() -> None:
    assert [cell(value) for value in (None, True, 1, 0.25, "a\tb", ["k", "l"], {"a": "b"}, b"x")] == [
        "", "true", "1", "0.25", "a\\tb", "k l", '{"a": "b"}', "x",
    ]  # fmt: skip
    assert [plain(value) for value in (None, 1, float("nan"), ["k"], {"a": "b"}, b"x")] == [None, 1, None, ["k"], {"a": "b"}, "x"]
    assert plain(datetime(2026, 1, 31, tzinfo=UTC)) == "2026-01-31T00:00:00.000Z"


def test_unsafe_characters_are_noticed() -> None:
    assert unsafe("\x1b]0;\x07 \u202e \u200b \x9b") == {"\x1b", "\x07", "\u202e", "\u200b", "\x9b"}
    assert unsafe("\x1b[1mbold\x1b[0m 订单\n") == set()
