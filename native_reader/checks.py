"""Checks option values: each function returns the value in one form, or raises an error that says what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta, tzinfo
from itertools import islice
from operator import index
from typing import Any

from native_reader.errors import OptionError, option_name, shown
from native_reader.layout.times import EPOCH
from native_reader.sentences import Said, commas, meant, say, verbatim

Instant = datetime | str | int
"""A time: a datetime or ISO 8601 text, each with a zone unless time_zone is set, or milliseconds since 1970."""

Size = int | str
"""Bytes: a number, or text like `128m` (k, m, g, t: powers of 1024)."""

Duration = timedelta | str | int
"""A timedelta, text like `90s` (ms, s, m, h, d), or milliseconds."""

LARGEST = 2**63 - 1
MOST_INT32 = 2**31 - 1
MOST_JOBS = 1000
_MOST_VALUES = 1 << 20
_DEEPEST = 3
_PLAUSIBLE = 1_262_304_000_000, 4_102_444_800_000
"""Milliseconds of the years 2010 to 2099, the plausible range. 0 is also accepted, because it means 1970 in any unit."""
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def plain(name: str, value: object) -> Any:
    """Convert the value to Python's own types, which can be compared and printed."""
    try:
        converted = _plain(name, value, 0)
        repr(converted)
    except OptionError:
        raise
    except UnicodeEncodeError:
        raise OptionError(say("surrogate", option=option_name(name), value=shown(value))) from None
    except Exception:  # the value's own methods may raise anything
        raise OptionError(say("wrong type", option=option_name(name), name=type(value).__name__)) from None
    return converted


def _plain(name: str, value: Any, depth: int) -> Any:
    if isinstance(value, str):
        value.encode()
        return str.__str__(value)
    if value is None or isinstance(value, bool | float | bytes | date | timedelta):
        return value
    if hasattr(value, "__fspath__"):
        return _plain(name, value.__fspath__(), depth)
    if isinstance(value, Iterable) and depth < _DEEPEST:
        several = list(islice(value.items() if isinstance(value, Mapping) else value, _MOST_VALUES + 1))
        if len(several) > _MOST_VALUES:
            raise OptionError(say("many values", option=option_name(name), most=_MOST_VALUES))
        if isinstance(value, Mapping):
            return {_plain(name, key, depth + 1): _plain(name, each, depth + 1) for key, each in several}
        return [_plain(name, each, depth + 1) for each in several]
    return index(value)


def list_of(name: str, value: object) -> list[Any]:
    """A list with one or more values."""
    several = isinstance(value, Iterable) and not isinstance(value, str | bytes)
    values = list(value) if several else [value]  # type: ignore[call-overload]
    if not values:
        raise OptionError(say("empty list", option=option_name(name)))
    return values


def text(name: str, value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise OptionError(say("not text", option=option_name(name), value=repr(value)))
    return value


def texts(name: str, value: object) -> list[str]:
    """A list with one or more texts."""
    return [text(name, each) for each in list_of(name, value)]


def one_of_words(name: str, value: object, words: Sequence[str]) -> str:
    """One of `words`; case does not matter."""
    known = next((word for word in words if isinstance(value, str) and word.lower() == value.strip().lower()), None)
    if known is None:
        raise OptionError(
            say("not of words", option=option_name(name), words=commas(words), value=repr(value), near=meant(str(value), words))
        )
    return known


def flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise OptionError(say("not a flag", option=option_name(name), value=repr(value)))
    return value


def whole(name: str, value: Any, least: int, most: int = LARGEST, of: Said | None = None) -> int:
    """An integer in range; numpy integers are accepted. `of`: what else the error says after the name."""
    try:
        number = None if isinstance(value, bool) else index(value)
    except Exception:  # a foreign object's own method may raise anything
        number = None
    if number is None or not least <= number <= most:
        raise OptionError(say("not whole", option=option_name(name), of=of or Said("nothing"), least=least, most=most, value=shown(value)))
    return number


def size(name: str, value: Size, least: int) -> int:
    """A size in bytes."""
    if not isinstance(value, str):
        return whole(name, value, least)
    parts = re.fullmatch(r"\s*([0-9]{1,19})\s*([kmgt]?)b?\s*", value.lower())
    if parts is None:
        raise OptionError(say("not a size", option=option_name(name), value=repr(value)))
    number = int(parts[1]) << _UNITS[parts[2]]
    if number > LARGEST:
        raise OptionError(say("size too large", option=option_name(name), value=repr(value), largest=LARGEST))
    return whole(name, number, least)


def duration(name: str, value: object) -> int:
    """A duration in microseconds."""
    if isinstance(value, timedelta):
        microseconds: int | None = value // timedelta(microseconds=1)
    elif isinstance(value, str):
        parts = re.fullmatch(r"\s*([0-9]{1,12})\s*(ms|s|m|h|d)?\s*", value.lower())
        microseconds = None if parts is None else int(parts[1]) * _MILLISECONDS[parts[2] or "ms"] * 1000
    else:
        microseconds = whole(name, value, 0, LARGEST // 1000) * 1000
    if microseconds is None or not 0 <= microseconds <= LARGEST // 4:
        raise OptionError(say("not a duration", option=option_name(name), value=repr(value)))
    return microseconds


def instant(name: str, value: object, zone: tzinfo | None = None) -> int | None:
    """Microseconds since 1970. `zone` applies to times without a zone of their own."""
    if value is None:
        return None
    if isinstance(value, datetime | str):
        time = value if isinstance(value, datetime) else _from_iso(name, value)
        if time.tzinfo is None and zone is None:
            example = verbatim("datetime(..., tzinfo=UTC)") if isinstance(value, datetime) else say("zones of time", time=str(time))
            raise OptionError(say("no zone", time=f"{option_name(name)}={str(value)!r}", example=example))
        try:
            since = (time if time.tzinfo else time.replace(tzinfo=zone)) - EPOCH
        except Exception:  # a tzinfo of the user's own may raise anything
            raise OptionError(say("no utc offset", option=option_name(name))) from None
        return since // timedelta(microseconds=1)
    try:
        milliseconds = None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        milliseconds = None
    if milliseconds is None:
        raise OptionError(say("not an instant", option=option_name(name), value=repr(value)))
    if milliseconds and not _PLAUSIBLE[0] <= milliseconds < _PLAUSIBLE[1]:
        raise OptionError(say("not milliseconds", option=option_name(name), milliseconds=milliseconds, why=_not_milliseconds(milliseconds)))
    return milliseconds * 1000


def from_iso(text: str) -> datetime:
    """A time in ISO 8601; ` UTC` is a zone, too, as the screens for people write it."""
    written = text.strip()
    return datetime.fromisoformat(f"{written[:-4]}Z" if written.endswith(" UTC") else written)


def _from_iso(name: str, text: str) -> datetime:
    try:
        return from_iso(text)
    except ValueError as error:
        examples = "'2026-01-31 12:00:00Z', '2026-01-31T12:00:00+08:00', 1769860800000"
        raise OptionError(say("not a time", option=option_name(name), text=repr(text), examples=examples)) from error


def _not_milliseconds(number: int) -> Said:
    """A hint for a number that is not a plausible count of milliseconds."""
    for unit, milliseconds in (
        ("like seconds", number * 1000),
        ("like microseconds", number // 1000),
        ("like nanoseconds", number // 1_000_000),
    ):
        if _PLAUSIBLE[0] <= milliseconds < _PLAUSIBLE[1]:
            return say(unit, number=milliseconds)
    return Said("out of range")
