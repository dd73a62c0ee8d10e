"""Numbers, sizes, durations, lists of names and sentences, as people read them in every output."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_LEAST_SHARE = 0.001


class Said(NamedTuple):
    """What a sentence says, without its words: its kind, its numbers and names, and parts. Each language has a table of sentences."""

    kind: str
    values: tuple[tuple[str, int | str | Said], ...] = ()

    def text(self, sentences: Mapping[str, str], write: Callable[[str], str] = str) -> str:
        """The sentence of that table. In it, `{count:is|are}` agrees with the number. `write`: how names are written."""
        return sentences[self.kind].format_map({name: _filled(value, sentences, write) for name, value in self.values})

    def to_json(self) -> str:
        """The same for a column of text."""
        return json.dumps(_plain(self), ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Said:
        """What `to_json` made."""
        return _said(json.loads(text))


def _plain(said: Said) -> dict[str, object]:
    return {"kind": said.kind, **{name: _plain(value) if isinstance(value, Said) else value for name, value in said.values}}


def _said(plain: dict[str, Any]) -> Said:
    values = ((name, _said(value) if isinstance(value, dict) else value) for name, value in plain.items() if name != "kind")
    return Said(plain["kind"], tuple(values))


def _filled(value: int | str | Said, sentences: Mapping[str, str], write: Callable[[str], str]) -> str | _Counted:
    if isinstance(value, Said):
        return value.text(sentences, write)
    return write(value) if isinstance(value, str) else _Counted(value)


class _Counted(int):
    def __format__(self, form: str) -> str:
        one, choice, several = form.partition("|")
        return (one if self == 1 else several) if choice else super().__format__(form)


def say(kind: str, **values: int | str | Said) -> Said:
    """A sentence of that kind with these values."""
    return Said(kind, tuple(values.items()))


def verbatim(text: str) -> Said:
    """A path or an error of others, which has no kind. A table of sentences needs an entry for it: `"text": "{text}"`."""
    return say("text", text=text)


def joined(kind: str, parts: Sequence[Said]) -> Said:
    """At least one part, one after another: that kind has a `{first}` and a `{second}`."""
    return reduce(lambda one, other: say(kind, first=one, second=other), parts)


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


def names_of(names: Sequence[str], most: int) -> str:
    """The first names; `…` stands for the rest."""
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")
