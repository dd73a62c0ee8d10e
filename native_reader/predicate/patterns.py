"""SQL patterns, matched in linear time: LIKE, and those Java regular expressions that RE2 can express.

Arrow's kernels match with RE2, which never backtracks. This module translates or rejects everything in which Java and RE2 differ.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import array
from native_reader.sentences import Said, say

_LONGEST = 10_000
_ANY = r"[^\n\r\x{85}\x{2028}\x{2029}]"
_LAST_LINE_END = r"(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])\z"
_TOKEN = re.compile(
    r"""(?P<escape>\\(?P<escaped>.))
    | (?P<set>\[\^?\]?(?:\\.|[^\]\\\[])*\])
    | (?P<open>\((?:\?(?:<?[=!]|<[A-Za-z][A-Za-z0-9]*>|[a-zA-Z-]*[:)]|>|<)?)?)
    | (?P<close>\))
    | (?P<repeat>(?:\{(?P<least>[0-9]{1,9})(?P<most>,[0-9]{0,9})?\}|[*+?])(?P<suffix>[?+]?))
    | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_PIECE = re.compile(r"\\.|%+|_|[^\\%_]+|\\", re.DOTALL)
"""Of a LIKE pattern."""
_CLASSES = {"d": "0-9", "D": r"\D", "w": "0-9A-Za-z_", "W": r"\W", "s": r"\x{9}-\x{d}\x{20}"}
_CLASSES["S"] = r"\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{10ffff}"
"""As Java defines them; RE2 does not treat a vertical tab as white space."""
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class WrongPattern(ValueError):
    """A pattern that cannot be used; `said`: why."""

    def __init__(self, said: Said) -> None:
        super().__init__(said.text())
        self.said = said


class Regex(NamedTuple):
    """A pattern in RE2 syntax; `ends`: it contains a `$`, which in Java also matches before a final line end."""

    text: str
    ends: bool = False


def match_like(texts: pa.Array, pattern: str) -> pa.Array:
    """Which texts match in SQL's LIKE."""
    return pc.match_substring_regex(texts, like_regex(pattern))


def match_java(texts: pa.Array, pattern: str, whole: bool = False) -> pa.Array:
    """Which texts contain a match of the Java regular expression; `whole`: which texts match entirely."""
    regex = java_regex(pattern)
    if whole:
        return pc.match_substring_regex(texts, rf"\A(?:{regex.text})\z")
    matches = pc.match_substring_regex(texts, regex.text)
    if regex.ends and pc.any(pc.match_substring_regex(texts, _LAST_LINE_END)).as_py():
        matches = pc.or_(matches, pc.match_substring_regex(pc.replace_substring_regex(texts, _LAST_LINE_END, ""), regex.text))
    return matches


@lru_cache(4096)
def fits(text: str, pattern: str, java: bool, whole: bool = False) -> bool:
    """Whether a single text matches a Java regular expression or a LIKE pattern."""
    texts = array([text], pa.string())
    return bool((match_java(texts, pattern, whole) if java else match_like(texts, pattern))[0].as_py())


@lru_cache(256)
def like_regex(pattern: str) -> str:
    """A LIKE pattern in RE2 syntax: `%` matches any text, also line ends, `_` one character; a backslash escapes either."""
    _refuse_odd(pattern)
    pieces = _PIECE.findall(pattern)
    if not pieces:
        return r"\A\z"
    begin, end = ("" if pieces[0][0] == "%" else r"\A"), ("" if pieces[-1][0] == "%" else r"\z")
    inner = pieces[pieces[0][0] == "%" : len(pieces) - (pieces[-1][0] == "%")]
    return _accepted(begin + "".join(map(_like_piece, inner)) + end)


def can_like(pattern: str) -> bool:
    """Whether LIKE accepts that pattern."""
    try:
        like_regex(pattern)
    except ValueError:
        return False
    return True


def _like_piece(piece: str) -> str:
    if piece[0] in "%_":
        return "(?s:.*)" if piece[0] == "%" else "(?s:.)"
    return "".join(map(_literal, _unescaped(piece)))


def _unescaped(piece: str) -> str:
    return piece[1:] if piece[0] == "\\" and len(piece) > 1 else piece


def literals_of_like(pattern: str) -> list[str]:
    """The texts between the wildcards of a LIKE pattern: each text that matches contains all of them."""
    literals = [""]
    for piece in _PIECE.findall(pattern):
        if piece[0] in "%_":
            literals.append("")
        else:
            literals[-1] += _unescaped(piece)
    return literals


@lru_cache(256)
def java_regex(pattern: str) -> Regex:
    """A Java expression in RE2 syntax; raises WrongPattern if RE2 cannot express it."""
    _refuse_odd(pattern)
    flags = re.match(r"\(\?([is]{1,2})\)|", pattern)
    assert flags is not None
    translation = _Translation(flags[1] or "")
    for token in _TOKEN.finditer(pattern, flags.end()):
        translation.take(token)
    return Regex(_accepted(translation.text()), translation.ends)


class _Branches:
    """An open group: its expanded size in characters, and whether a `$` ended its current branch, or any branch."""

    def __init__(self) -> None:
        self.size, self.last, self.ended, self.ends, self.can_repeat = 0, 0, False, False, False


class _Translation:
    """Translates a Java expression to RE2, token by token."""

    def __init__(self, flags: str) -> None:
        self._folded, self._any = "i" in flags, "(?s:.)" if "s" in flags else _ANY
        self._made, self._open = list[str](), [_Branches()]
        self.ends = False

    def text(self) -> str:
        if len(self._open) > 1:
            raise WrongPattern(say("pattern bracket", bracket=")"))
        return "".join(self._made)

    def take(self, token: re.Match[str]) -> None:
        group, text = self._open[-1], token[0]
        match token.lastgroup, text:
            case "open", _:
                if text not in ("(", "(?:"):
                    raise WrongPattern(say(_why_no_group(text), text=repr(text)))
                self._not_after_end(group)
                self._open.append(_Branches())
                self._made.append("(?:")
            case "close", _:
                self._close()
            case "repeat", _:
                self._repeat(token)
            case "other", "|":
                group.ended = group.can_repeat = False
                self._made.append("|")
            case "other", "$":
                group.ended = group.ends = self.ends = True
                group.can_repeat = False
                self._made.append(r"\z")
            case "other", "^":
                self._not_after_end(group)
                group.can_repeat = False
                self._made.append(r"\A")
            case _:
                self._not_after_end(group)
                self._atom(self._any if text == "." else _atom(token, self._folded), 1)

    def _atom(self, text: str, size: int) -> None:
        group = self._open[-1]
        group.size, group.last, group.can_repeat = group.size + size, size, True
        self._made.append(text)
        if group.size > _LONGEST:
            raise WrongPattern(say("pattern expanded", most=_LONGEST))

    def _close(self) -> None:
        if len(self._open) == 1:
            raise WrongPattern(say("pattern bracket", bracket="("))
        closed = self._open.pop()
        self._atom(")", closed.size)
        group = self._open[-1]
        if closed.ends:
            group.ended = group.ends = True
            group.can_repeat = False

    def _repeat(self, token: re.Match[str]) -> None:
        group = self._open[-1]
        if token["suffix"] == "+":
            raise WrongPattern(say("pattern linear", text=repr(token[0])))
        if not group.can_repeat:
            raise WrongPattern(say("pattern repeat", text=repr(token[0])))
        group.can_repeat = False
        if token["least"]:
            times = int((token["most"] or "").strip(",") or token["least"])
            self._made.append(token[0])
            self._atom("", group.last * max(0, times - 1))
            group.can_repeat = False
        else:
            self._made.append(token[0])

    def _not_after_end(self, group: _Branches) -> None:
        # Text after a `$` could match the line end that `$` matches before.
        if group.ended:
            raise WrongPattern(Said("pattern end"))


def _why_no_group(text: str) -> str:
    if re.fullmatch(r"\(\?(<?[=!]|>)", text):
        return "pattern linear"
    return "pattern group"


def _atom(token: re.Match[str], folded: bool) -> str:
    """The RE2 text for one character."""
    text = token[0]
    match token.lastgroup:
        case "escape" | "escaped":
            character = token["escaped"]
            return f"[{_CLASSES[character]}]" if character in _CLASSES else _one(_escape(character), folded)
        case "set":
            return _set(text, folded)
    if text in "[]{}\\":
        raise WrongPattern(say("pattern unbalanced", text=repr(text), character=text))
    return _one(text, folded)


def _one(character: str, folded: bool) -> str:
    # By default Java's (?i) folds only ASCII letters; RE2's (?i) folds all of Unicode.
    if folded and character.isascii() and character.isalpha():
        return f"[{character.lower()}{character.upper()}]"
    return _literal(character)


def _literal(character: str) -> str:
    return character if character.isalnum() and character.isascii() else rf"\x{{{ord(character):x}}}"


def _escape(character: str) -> str:
    """The character that an escape stands for."""
    if character in _CONTROLS:
        return _CONTROLS[character]
    if character.isdigit() or character == "k":
        raise WrongPattern(say("pattern linear", text=f"\\{character}"))
    if character.isalnum() or ord(character) > 127:
        raise WrongPattern(say("pattern escape", text=f"\\{character}"))
    return character


def _set(text: str, folded: bool) -> str:
    inner = text[1:-1].removeprefix("^")
    if "&&" in inner or inner.startswith("]") or not inner:
        raise WrongPattern(say("pattern set", text=repr(text)))
    pieces, made = re.findall(r"\\.|.", inner, re.DOTALL), []
    while pieces:
        piece = pieces.pop(0)
        is_range = len(pieces) > 1 and pieces[0] == "-"
        if piece[0] == "\\" and piece[1] in _CLASSES:
            if is_range:
                raise WrongPattern(say("pattern begin", text=repr(text), piece=piece))
            made.append(_CLASSES[piece[1]])
            continue
        first = last = _member(piece, text)
        if is_range:
            last = _member(pieces[1], text)
            del pieces[:2]
        made.append(_range(first, last, text))
        if folded:
            made += [_literal(letter.swapcase()) for letter in _LETTERS if first <= letter <= last]
    return f"[{'^' if text[1] == '^' else ''}{''.join(made)}]"


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _member(piece: str, text: str) -> str:
    if piece[0] != "\\":
        return piece
    if piece[1] in _CLASSES:
        raise WrongPattern(say("pattern stop", text=repr(text), piece=piece))
    return _escape(piece[1])


def _range(first: str, last: str, text: str) -> str:
    if first > last:
        raise WrongPattern(say("pattern reversed", text=repr(text), first=first, last=last))
    if first < "\ud800" and "\udfff" < last <= "\uffff":
        # Java would also match one half of a character above U+FFFF.
        raise WrongPattern(say("pattern surrogates", text=repr(text)))
    return _literal(first) if first == last else f"{_literal(first)}-{_literal(last)}"


def _refuse_odd(pattern: str) -> None:
    if len(pattern) > _LONGEST:
        raise WrongPattern(say("pattern long", length=len(pattern), most=_LONGEST))
    if re.search("[\ud800-\udfff]", pattern):
        raise WrongPattern(Said("pattern surrogate"))


def _accepted(regex: str) -> str:
    """The expression, if RE2 accepts it; otherwise raises WrongPattern."""
    try:
        pc.match_substring_regex(array([""], pa.string()), regex)
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise WrongPattern(say("pattern invalid", reason=reason)) from None
    return regex
