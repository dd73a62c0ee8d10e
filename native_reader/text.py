"""Numbers, sizes, durations and lists of names, as people read them in every output."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from urllib.parse import unquote

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_LEAST_SHARE = 0.001
_IN_CHINESE = {"byte": "字节", "bytes": "字节", "s": "秒", "days": "天"}
_MEASURE = re.compile(rf"((?:< )?[\d.,]+) ({'|'.join(_IN_CHINESE)}|%)")
_CLOCK = re.compile(r"(\d+):(\d\d) (min|h)")
_LOCAL_URI = re.compile(r"(?<![\w+.-])file://(/[\w.~%/-]*)", re.ASCII)
"""The URI of a local file. `tar+file://` and the like have no path."""


def with_paths(text: str) -> str:
    """The text with paths in place of `file://` URIs: people read, copy and paste them. JSON has the URIs."""
    return _LOCAL_URI.sub(lambda uri: unquote(uri[1], errors="surrogateescape"), text)


def quoted(word: str) -> str:
    """A word of a command as a shell takes it. What cannot be printed is written as bytes: a name never begins a new line."""
    if word.isprintable():
        return shlex.quote(word)
    pieces = (each if each.isprintable() and each not in "'\\" else _octal(each) for each in word)
    return f"$'{''.join(pieces)}'"


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))


def counted(count: int, noun: str) -> str:
    """`1 record`, `2,000 records`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def number_of(value: object) -> str:
    """A whole number with separators."""
    return f"{int(str(value)):,}"


def size_of(count: float) -> str:
    """A number of bytes: `1 byte`, `1.5 GiB`."""
    size, unit = float(count), 0
    while round(size, 1) >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:,.1f} {_UNITS[unit]}" if unit else counted(round(count), "byte")


def duration_of(seconds: float) -> str:
    """`12 s`, `3:05 min`, `2:07 h`, `5.2 days`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole >= 172_800:
        return f"{whole / 86_400:,.1f} days"
    return f"{whole // 60}:{whole % 60:02} min" if whole < 3600 else f"{whole // 3600}:{whole % 3600 // 60:02} h"


def share_of(part: float, whole: float) -> str:
    """A percentage: `12.5 %`."""
    if not part or not whole:
        return "0 %"
    share = part / whole
    return "< 0.1 %" if share < _LEAST_SHARE else f"{share:.1%}".replace("%", " %")


def in_chinese(measure: str) -> str:
    """A number with its unit, as this file writes it, in Chinese: `5 字节`, `3 分 05 秒`, `12.5%`. Any other text as it is."""
    if (clock := _CLOCK.fullmatch(measure)) is not None:
        whole, part, unit = clock.groups()
        return f"{whole} 分 {part} 秒" if unit == "min" else f"{whole} 小时 {part} 分"
    if (found := _MEASURE.fullmatch(measure)) is None:
        return measure
    number, unit = found.groups()
    return f"{number}%" if unit == "%" else f"{number} {_IN_CHINESE[unit]}"


def names_of(names: Sequence[str], most: int) -> str:
    """The first names; `…` stands for the rest."""
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")
