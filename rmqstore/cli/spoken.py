"""The language of what a command says to people: that of `--lang`, else of the locale. What programs read is the same in both."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from rmqstore.text import LANGUAGES

if TYPE_CHECKING:
    from native_reader.sentences import Said

_chosen = [LANGUAGES[0]]
"""No context variable: threads that read a store warn, too, and have contexts of their own."""
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")


def spoken() -> str:
    """The language of this command."""
    return _chosen[0]


def in_words(kind: str, **values: int | str | Said) -> str:
    """A sentence in the language of this command."""
    from native_reader.sentences import say

    return say(kind, **values).text(spoken())


def listed(names: Iterable[str]) -> str:
    """Names one after another, as the language of this command does it."""
    return ", ".join(names) if spoken() == LANGUAGES[0] else "、".join(names)


def speak(arguments: Sequence[str]) -> None:
    """Choose the language before the arguments are parsed, so that what is wrong with them is said in it, too."""
    given = [each.removeprefix("--lang=") for each in arguments if each.startswith("--lang=")]
    given += [value for option, value in pairwise(arguments) if option == "--lang"]
    _chosen[0] = (given and language_of(given[-1])) or language_of_locale()


def language_of(text: str) -> str | None:
    """`zh` of `zh_CN`, `zh-Hans` or `zh_CN.UTF-8`; None of a language that the book does not have."""
    language = re.split(r"[-_.]", text.lower())[0]
    return language if language in LANGUAGES else None


def language_of_locale() -> str:
    """The language of the locale, if the book has it; else English."""
    given = next((each for each in map(os.environ.get, _LOCALE) if each), "")
    return language_of(given) or LANGUAGES[0]


def language_option(**more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option `--lang`."""
    return click.option("--lang", metavar="en|zh", callback=_language, help="The language.  [default: as the locale, else en]", **more)


def _language(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    """Also `zh_CN`, `zh-Hans` or `en_US.UTF-8`. Without a value, that of the locale, if it is one of them."""
    if value is not None and language_of(value) is None:
        raise click.BadParameter(in_words("no language", value=repr(value), languages=listed(LANGUAGES)), context, parameter)
    return spoken()
