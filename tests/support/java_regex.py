"""Translates Java's regular expressions to Python's `re`, to check the engine. Only patterns that the engine accepts are covered."""

from __future__ import annotations

import re

_ENDS = "\\n\\r\\u0085\\u2028\\u2029"
_ANY = f"[^{_ENDS}]"
_END = r"(?:(?=\r\n\Z|[\r\u0085\u2028\u2029]?\Z)|(?<!\r)(?=\n\Z))"
_TOKEN = re.compile(
    r"""(?P<escape>\\(?P<escaped>.))
    | (?P<set>\[\^?\]?(?:\\.|[^\]\\\[])*\])
    | (?P<group>\((?:\?(?::|=|!|<[A-Za-z][A-Za-z0-9]*>)?)?)
    | (?P<repeat>\{[0-9]{1,4}(?:,[0-9]{0,4})?\}|[*+?])(?P<how>[?+]?)
    | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_CLASSES, _CONTROLS = "dDwWsS", "tnrf"


def java_pattern(pattern: str) -> str:
    """The same pattern for Python's `re`."""
    given = re.match(r"\(\?([is]+)\)|", pattern)
    assert given is not None
    flags, pattern = f"a{given[1] or ''}", pattern[given.end() :]
    # With `(?a)`, \d, \w, \s and case-insensitivity cover ASCII only, as in Java by default.
    made = f"(?{flags})" + "".join(_translated(token, "s" in flags) for token in _TOKEN.finditer(pattern))
    return made


def _translated(token: re.Match[str], dots: bool) -> str:
    text = token[0]
    match token.lastgroup:
        case "escape" | "escaped":
            return _escape(token["escaped"])
        case "set":
            return _set(text)
        case "group":
            if text == "(?" or text.startswith("(?<"):
                raise ValueError(f"{text!r} is not possible; groups, (?: ), (?= ), (?! ) and (?i) at the start are")
            return text
        case "other":
            return {".": "." if dots else _ANY, "$": _END, "^": r"\A"}.get(text) or _plain(text)
    return text


def _escape(character: str) -> str:
    if character in _CLASSES or character in _CONTROLS or not (character.isalnum() or ord(character) > 127):
        return f"\\{character}"
    raise ValueError(f"\\{character} is not possible; \\d \\w \\s \\t \\n and escaped punctuation are")


def _set(text: str) -> str:
    inner = text[1:-1].removeprefix("^")
    if "&&" in inner or inner.startswith("]") or not inner:
        raise ValueError(f"{text!r}: brackets inside brackets and && are not possible")
    pieces = re.findall(r"\\.|.", inner, re.DOTALL)
    made = [_escape(each[1]) if each[0] == "\\" else re.escape(each) if each not in "-^" else each for each in pieces]
    return f"[{'^' if text[1] == '^' else ''}{''.join(made)}]"


def _plain(character: str) -> str:
    if character in "[]{}":
        raise ValueError(f"{character!r} is unbalanced; write \\{character} for the character")
    return character if character in "|()" else re.escape(character)
