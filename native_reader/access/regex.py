"""Patterns of SQL as Python's regular expressions: LIKE, and RLIKE, which in Spark is Java's, as far as both can mean the same."""

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
_LONGEST = 10_000


def like_to_regex(pattern: str) -> str:
    """SQL's LIKE; `.` must match line ends too."""
    pieces = re.findall(r"\\.|[%_]|[^\\%_]+|\\", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    return "".join(wild.get(piece) or re.escape(piece[1:] if piece[0] == "\\" and len(piece) > 1 else piece) for piece in pieces)


def java_pattern(pattern: str) -> str:
    """The same pattern for Python's `re`; ValueError says what cannot be carried over."""
    if len(pattern) > _LONGEST:
        raise ValueError(f"the pattern has {len(pattern):,} characters; {_LONGEST:,} are the most")
    flags = "a"
    if pattern.startswith("(?i)"):
        flags, pattern = "ai", pattern[4:]
    # In `(?a)` \d, \w, \s and the case of letters are ASCII's, as they are in Java unless told otherwise.
    made = f"(?{flags})" + "".join(_carried(found) for found in _TOKEN.finditer(pattern))
    try:
        re.compile(made)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{pattern!r} is no regular expression: {getattr(error, 'msg', error)}") from None
    return made


def _carried(found: re.Match[str]) -> str:
    text = found[0]
    match found.lastgroup:
        case "escape" | "escaped":
            return _escape(found["escaped"])
        case "set":
            return _set(text)
        case "group":
            if text == "(?" or text.startswith("(?<"):
                raise ValueError(f"{text!r} is not possible; groups, (?: ), (?= ), (?! ) and (?i) at the start are")
            return text
        case "other":
            return {".": _ANY, "$": _END, "^": r"\A"}.get(text) or _plain(text)
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
        raise ValueError(f"{character!r} stands alone; \\{character} means the character")
    return character if character in "|()" else re.escape(character)
