"""The errors of the engine: one small family, each also the built-in it is a kind of.

A message says what, where, what was expected and found, and what to do next. It never holds a body or a property value.
"""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Iterable

_LONGEST, _TAIL = 2000, 500
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 200


class StoreError(Exception):
    """Anything that went wrong with a store or a request to read it. Its text can always be printed, and is never endless."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(_printable(each) if isinstance(each, str) else each for each in arguments))


class PathError(StoreError, FileNotFoundError):
    """The path is no store."""


class OptionError(StoreError, ValueError):
    """An option is unknown, or its value cannot be meant."""


class UseError(StoreError, TypeError):
    """An object cannot be used in this way."""


class PredicateError(OptionError):
    """A condition cannot be read."""


class SchemaError(StoreError, LookupError):
    """A column does not exist, or cannot be had as asked."""


class StoreDamaged(StoreError, ValueError):
    """Bytes are not what they should be."""


class DataLoss(StoreError, OSError):
    """Bytes that were there, or must have been, are gone. `file`: a whole file, which was there when the read was planned."""

    file = False


class SplitError(StoreError, RuntimeError):
    """A cut fell on something that looks like a record and is none."""


class UnreadableError(StoreError, OSError):
    """A file of the store cannot be read."""


def shown(value: object) -> str:
    """A value as an error shows it: short, whatever it is and whatever its own methods do."""
    try:
        return _SHORT.repr(value).replace("\n", " ")
    except Exception:
        return f"<{type(value).__name__}>"


def _printable(text: str) -> str:
    """The text in characters that a terminal takes; of a very long one the begin and the end."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - _TAIL]} … {text[-_TAIL:]}"
    return _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], text)


def nearest(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the nearest known name, or nothing."""
    if len(name) > _TAIL:
        return ""
    by_folded = {each.lower().replace("_", ""): each for each in known}
    found = difflib.get_close_matches(name.lower().replace("_", ""), by_folded, n=1, cutoff=0.5)
    return f" Did you mean '{by_folded[found[0]]}'?" if found else ""


def no_zone(what: str, with_one: str) -> str:
    """What to say about a moment that could be meant in any zone."""
    return f"{what} names no time zone. Write {with_one}, or say time_zone=Asia/Shanghai (any zone) for all that name none"
