"""The errors of the engine. Each one is a StoreError and the matching built-in error.

A message says what happened, where, what was expected and found, and what to do next. It never shows bodies or property values.
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
    """Base class: a store, or a request to read it, is wrong. The message is always printable and of limited length."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(_printable(each) if isinstance(each, str) else each for each in arguments))


class PathError(StoreError, FileNotFoundError):
    """The path is not a store."""


class OptionError(StoreError, ValueError):
    """An option is unknown or has an invalid value."""


class UseError(StoreError, TypeError):
    """An object does not support this use."""


class PredicateError(OptionError):
    """A condition is invalid."""


class SchemaError(StoreError, LookupError):
    """A column does not exist, or cannot be returned as requested."""


class StoreDamaged(StoreError, ValueError):
    """A store has damaged bytes."""


class DataLoss(StoreError, OSError):
    """Data that was or should be in the log is missing. `file`: a whole file disappeared after planning."""

    file = False


class SplitError(StoreError, RuntimeError):
    """A split boundary is at bytes that only look like a record."""


class UnreadableError(StoreError, OSError):
    """A file of the store cannot be read."""


def shown(value: object) -> str:
    """A short `repr` of a value for errors; safe even if the value's own methods fail."""
    try:
        return _SHORT.repr(value).replace("\n", " ")
    except Exception:
        return f"<{type(value).__name__}>"


def _printable(text: str) -> str:
    """The text without unprintable characters; long text is shortened in the middle."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - _TAIL]} … {text[-_TAIL:]}"
    return _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], text)


def nearest(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the nearest known name, or an empty string."""
    if len(name) > _TAIL:
        return ""
    by_folded = {each.lower().replace("_", ""): each for each in known}
    found = difflib.get_close_matches(name.lower().replace("_", ""), by_folded, n=1, cutoff=0.5)
    return f" Did you mean '{by_folded[found[0]]}'?" if found else ""


def no_zone(what: str, with_one: str) -> str:
    """The error text for a time without a zone."""
    return f"{what} names no time zone. Write {with_one}, or say time_zone=Asia/Shanghai (any zone) for all that name none"
