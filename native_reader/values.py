"""The types of option values: how each is written as text, and how it is checked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from native_reader.checks import LARGEST, MOST_INT32, duration, flag, list_of, one_of_words, plain, size, text, texts, whole
from native_reader.errors import OptionError, option_name
from native_reader.predicate.patterns import java_regex
from native_reader.predicate.sql import moment_zone
from native_reader.storage.local import text_of
from native_reader.storage.remote import Access, fs_names

_EXAMPLE = '{"orders": {"0": 100, "1": 250}}'
_EARLIEST, _LATEST = -2, -1


class ValueType(NamedTuple):
    """`values`: the allowed values, for the docs. Both functions take the option's name, for errors.

    `parse`: text to a value, which is not checked yet. `check`: the value in one form.
    """

    values: str
    parse: Callable[[str, str], object]
    check: Callable[[str, Any], object]


def _parse_text(name: str, given: str) -> str:
    if not given.strip():
        raise OptionError(f"{option_name(name)} is empty. Omit the option instead")
    return given


def _parse_texts(name: str, given: str) -> list[str]:
    several = [part.strip() for part in given.split(",")]
    if not all(several):
        raise OptionError(f"{option_name(name)}={given!r} has an empty name between commas")
    return several


def _parse_integer(name: str, given: str) -> int | str:
    """Text that is not an integer is rejected by `check`, which knows the range."""
    return int(given) if re.fullmatch(r"\s*[+-]?[0-9]{1,19}\s*", given) else given


def _parse_flag(name: str, given: str) -> bool:
    if given.strip().lower() not in ("true", "false"):
        raise OptionError(f"{option_name(name)} must be true or false, not {given!r}")
    return given.strip().lower() == "true"


def _parse_time(name: str, given: str) -> int | str:
    number = _parse_integer(name, given)
    return _parse_text(name, given) if isinstance(number, str) else number


def _non_empty(name: str, value: object) -> str:
    return _parse_text(name, text(name, value))


def _columns(name: str, value: object) -> object:
    return value if isinstance(value, str) else texts(name, value)


def _pattern(name: str, value: object) -> str:
    pattern = text(name, value)
    try:
        java_regex(pattern)
    except ValueError as error:
        raise OptionError(f"{option_name(name)}={pattern!r}: {error}") from None
    return pattern


def _tags(name: str, value: object) -> list[str]:
    tags = [tag.strip() for each in texts(name, value) for tag in each.split("||")]
    if not all(tags):
        raise OptionError(f"{option_name(name)}={value!r} has an empty tag. Example: 'paid || refunded'")
    return tags


def _zone(name: str, value: object) -> str:
    zone = _non_empty(name, value)
    moment_zone(zone)
    return zone


def _offsets(name: str, value: object, all_of_it: str, unbounded: int) -> list[tuple[str, int, int]]:
    """Topics, queues, and the offset of each; queues without a bound are left out."""
    if value == all_of_it:
        return []
    try:
        by_topic = plain(name, json.loads(value)) if isinstance(value, str) else value
        if not isinstance(by_topic, Mapping) or not all(isinstance(topic, str) for topic in by_topic):
            raise TypeError
        bounds = [(topic, _queue(queue), offset) for topic, queues in by_topic.items() for queue, offset in queues.items()]
    except (ValueError, TypeError, AttributeError, RecursionError):
        expected = f"'{all_of_it}', or offsets by topic and queue. Example: {_EXAMPLE}"
        raise OptionError(f"{option_name(name)}={value!r} is invalid. It must be {expected}") from None
    return [
        (topic, _queue_id(name, queue), whole(name, offset, 0, of=f" of {topic}/{queue}"))
        for topic, queue, offset in bounds
        if offset != unbounded
    ]


def _queue_id(name: str, value: object) -> int:
    return whole(name, value, -MOST_INT32 - 1, MOST_INT32)


def _queue(key: object) -> int:
    """JSON has texts for keys, Python's mappings have numbers too."""
    if isinstance(key, bool) or not isinstance(key, int | str):
        raise TypeError
    return int(key)


def _parse_access(name: str, given: str) -> object:
    raise OptionError(f"{option_name(name)} is several options. Write each by its name, for example fs.region")


TEXT = ValueType("text", _parse_text, _non_empty)
PATH = ValueType("a path", _parse_text, lambda name, value: text_of(value, name))
PATHS = PATH._replace(values="paths, separated by commas")
COLUMN_NAMES = ValueType("names, separated by commas", _parse_text, _columns)
TEXTS = ValueType("names, separated by commas", _parse_texts, texts)
KEYS = ValueType("text", _parse_text, texts)
TAGS = ValueType("text", _parse_text, _tags)
PATTERN = ValueType("a regular expression", _parse_text, _pattern)
ACCESS = ValueType(", ".join(f"`{name}`" for name in fs_names()), _parse_access, lambda name, value: Access(value))
FLAG = ValueType("`true`, `false`", _parse_flag, flag)
TIME = ValueType("a time", _parse_time, lambda name, value: value)
"""Checked together with `time_zone`, when the predicate is made."""
ZONE = ValueType("a time zone", _parse_text, _zone)
DURATION = ValueType("a duration", _parse_text, duration)
STARTING_OFFSETS = ValueType("JSON", _parse_text, lambda name, value: _offsets(name, value, "earliest", _EARLIEST))
ENDING_OFFSETS = ValueType("JSON", _parse_text, lambda name, value: _offsets(name, value, "latest", _LATEST))
QUEUE_IDS = ValueType(
    "numbers, separated by commas",
    lambda name, given: [_parse_integer(name, part) for part in given.split(",")],
    lambda name, value: [_queue_id(name, each) for each in list_of(name, value)],
)


def number(least: int, most: int = LARGEST) -> ValueType:
    """An integer in that range."""
    return ValueType("a number", _parse_integer, lambda name, value: whole(name, value, least, most))


def size_from(least: int) -> ValueType:
    """A number of bytes, at least that many."""
    return ValueType("a size", _parse_text, lambda name, value: size(name, value, least))


def one_of(*words: str) -> ValueType:
    """One of `words`; case does not matter."""
    values = ", ".join(f"`{word}`" for word in words)
    return ValueType(values, lambda name, given: given, lambda name, value: one_of_words(name, value, words))
