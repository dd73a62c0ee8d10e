"""Texts for a terminal. Names, keys and bodies come from untrusted bytes: they must not move the cursor, set colors or hide text."""

from __future__ import annotations

import json
import re
import unicodedata
from contextlib import suppress
from datetime import datetime, tzinfo
from math import isfinite
from typing import Any

LANGUAGES = ("en", "zh")
AUTO, TEXT, JSON, HEX, NONE = "auto", "text", "json", "hex", "none"
BODIES = (AUTO, TEXT, JSON, HEX, NONE)
"""How bodies are shown. `auto`: as text if they are printable text, else in hexadecimal."""

_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_IN_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Control characters that printable text does not have."""
_PER_LINE = 16
_TEXT_ONLY = frozenset({str})


def safe(text: str) -> str:
    """The text with control, format and other invisible characters as escapes; spaces stay."""
    return text if text.isprintable() else "".join(map(_visible, text))


def for_people(text: str) -> str:
    """The same, with paths in place of `file://` URIs."""
    if "file://" in text:  # the engine is loaded already
        from native_reader.text import with_paths

        text = with_paths(text)
    return safe(text)


def padded(text: str, width: int) -> str:
    """The text with spaces up to that width."""
    return text + " " * (width - width_of(text))


def width_of(text: str) -> int:
    """How many columns of a terminal the text takes. It shows Chinese characters, and their marks, twice as wide."""
    return len(text) + sum(unicodedata.east_asian_width(each) in "WF" for each in text)


def _visible(character: str) -> str:
    if character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def as_json(value: Any) -> str:
    """One line of JSON that is also safe on a terminal: there, invisible characters are escapes."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or unicodedata.category(each) == "Zs" else json.dumps(each)[1:-1] for each in text)


def time_text(moment: datetime, zone: tzinfo | None) -> str:
    """A time in ISO 8601 with milliseconds and its zone: UTC, or that one."""
    if zone is not None:
        with suppress(OverflowError, ValueError):  # at the ends of the calendar
            moment = moment.astimezone(zone)
    return moment.isoformat(sep=" ", timespec="milliseconds").replace("+00:00", "Z")


def moment_of(moment: datetime, zone: tzinfo | None) -> str:
    """The same in a sentence: with ` UTC` for the Z, which not everybody knows."""
    text = time_text(moment, zone)
    return f"{text[:-1]} UTC" if text.endswith("Z") else text


def body_of(content: bytes, form: str) -> tuple[str, Any]:
    """The form in which a body is shown (`text`, `json` or `hex`), and its value in JSON.

    A body that is not JSON is shown as text, and one that is not text in hexadecimal, except that `text` replaces invalid bytes.
    """
    if form == HEX:
        return HEX, content.hex()
    if form == TEXT:
        return TEXT, content.decode("utf-8", "replace")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return HEX, content.hex()
    if form == JSON:
        try:
            return JSON, json.loads(text, parse_float=_finite, parse_constant=_finite)
        except (ValueError, RecursionError):
            pass
    return (HEX, content.hex()) if _IN_TEXT.search(text) else (TEXT, text)


def _finite(number: str) -> float:
    """JSON has no infinity, but `1e999` and Python's `NaN` would become one."""
    if not isfinite(value := float(number)):
        raise ValueError(number)
    return value


def body_line(content: bytes, form: str) -> str:
    """A body on one line."""
    shown, value = body_of(content, form)
    return as_json(value) if shown == JSON else safe(value)


def body_lines(content: bytes, form: str) -> list[str]:
    """A body on lines for people: JSON is indented, and bytes are shown with their positions."""
    shown, value = body_of(content, form)
    if shown == HEX:
        return [_hex_line(content, start) for start in range(0, len(content), _PER_LINE)]
    text = json.dumps(value, ensure_ascii=False, indent=2) if shown == JSON else value
    return [safe(line.removesuffix("\r").expandtabs(4)) for line in text.split("\n")]


def _hex_line(content: bytes, start: int) -> str:
    piece = content[start : start + _PER_LINE]
    text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
    return f"{start:08x}  {piece.hex(' '):<{3 * _PER_LINE - 1}}  {text}"


def cell(value: Any, zone: tzinfo | None = None, body: str = AUTO) -> str:
    """A value on one line, for a table or a column of plain text."""
    match value:
        case None:
            return ""
        case str():
            return safe(value)
        case bool():
            return "true" if value else "false"
        case datetime():
            return time_text(value, zone)
        case bytes():
            return body_line(value, body)
        case float():
            return f"{value:.6g}"
        case list() if not any(isinstance(each, list | dict) for each in value):
            return " ".join(cell(each, zone, body) for each in value)
        case list() | dict():
            return as_json(plain(value, zone, body))
        case _:
            return safe(str(value))


def plain(value: Any, zone: tzinfo | None = None, body: str = AUTO) -> Any:
    """A value as JSON has it."""
    match value:
        case str() | int():
            return value
        case datetime():
            return time_text(value, zone).replace(" ", "T")
        case bytes():
            return body_of(value, body)[1]
        case float():
            return value if isfinite(value) else None
        case list():
            return value if _TEXT_ONLY.issuperset(map(type, value)) else [plain(each, zone, body) for each in value]
        case dict():
            is_text = _TEXT_ONLY.issuperset(map(type, value.values()))
            return value if is_text else {name: plain(each, zone, body) for name, each in value.items()}
        case _:
            return value
