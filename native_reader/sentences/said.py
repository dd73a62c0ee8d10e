"""A sentence without its words: its kind, and the numbers and names in it. The files beside this one have the words, by subject."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce
from typing import Any, NamedTuple

from native_reader.errors import StoreError, nearest
from native_reader.text import in_chinese

LANGUAGES = ENGLISH, CHINESE = "en", "zh"


class Said(NamedTuple):
    """What a sentence says: its kind, its numbers and names, and parts that are sentences themselves.

    gettext translates a text where it is made, and the text has one language from then on. A Said has none: it can be sent to another
    process, or stored in a cell of a table or in JSON, and whoever prints it chooses the language. The kind is the key, not the English
    text, so a sentence can be reworded. Each language has its own order of parts, and its own plurals.
    """

    kind: str
    values: tuple[tuple[str, int | str | Said], ...] = ()

    def text(self, language: str = ENGLISH, write: Callable[[str], str] = str) -> str:
        """The sentence in that language. In it, `{count:is|are}` agrees with the number. `write`: how names are written."""
        sentence = _book()[self.kind][LANGUAGES.index(language)]
        return sentence.format_map({name: _filled(value, language, write) for name, value in self.values})

    def to_json(self) -> str:
        """The same for a column of text."""
        return json.dumps(_plain(self), ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Said:
        """What `to_json` made."""
        return _said(json.loads(text))


@cache
def _book() -> Mapping[str, tuple[str, str]]:
    """All sentences. They are loaded with the first one that is written: most reads write none."""
    from native_reader.sentences.book import BOOK

    return BOOK


def _plain(said: Said) -> dict[str, object]:
    return {"kind": said.kind, **{name: _plain(value) if isinstance(value, Said) else value for name, value in said.values}}


def _said(plain: dict[str, Any]) -> Said:
    values = ((name, _said(value) if isinstance(value, dict) else value) for name, value in plain.items() if name != "kind")
    return Said(plain["kind"], tuple(values))


def _filled(value: int | str | Said, language: str, write: Callable[[str], str]) -> str | _Counted:
    if isinstance(value, Said):
        return value.text(language, write)
    if isinstance(value, str):
        return write(in_chinese(value) if language == CHINESE else value)
    return _Counted(value)


class _Counted(int):
    def __format__(self, form: str) -> str:
        one, choice, several = form.partition("|")
        return (one if self == 1 else several) if choice else super().__format__(form)


def say(kind: str, **values: int | str | Said) -> Said:
    """A sentence of that kind with these values."""
    return Said(kind, tuple(values.items()))


def verbatim(text: str) -> Said:
    """A path or an error of others, which is the same in all languages."""
    return say("text", text=text)


def meant(name: str, known: Iterable[str]) -> Said:
    """`Did you mean 'x'?` for the nearest known name, after a sentence; else nothing."""
    near = nearest(name, known)
    return Said("nothing") if near is None else say("did you mean", near=near)


def told(error: BaseException) -> Said:
    """What an error says: one of ours in all languages, one of the system with its words and its path."""
    own = getattr(error, "said", None)
    if isinstance(own, Said):
        return own
    if isinstance(error, OSError) and not isinstance(error, StoreError) and error.strerror is not None:
        what = words_of(error)
        return what if error.filename is None else say("system at", what=what, path=str(error.filename))
    return verbatim(str(error))


def words_of(error: OSError) -> Said:
    """The words of the system for an error; they also stand in its own logs."""
    if isinstance(own := getattr(error, "said", None), Said):
        return own
    text = error.strerror or str(error)
    name = f"system {errno.errorcode.get(error.errno or 0)}"
    return say(name, text=text) if error.strerror is not None and name in _book() else verbatim(text)


def joined(kind: str, parts: Sequence[Said]) -> Said:
    """At least one part, one after another: that kind has a `{first}` and a `{second}`."""
    return reduce(lambda one, other: say(kind, first=one, second=other), parts)


def commas(names: Iterable[str]) -> Said:
    """Names, one after another, as each language does it. Pairs of pairs: any number of names is nested a few levels deep."""
    parts = [verbatim(name) for name in names]
    while len(parts) > 1:
        parts = [joined("commas", parts[at : at + 2]) for at in range(0, len(parts), 2)]
    return parts[0] if parts else Said("nothing")
