"""The options: each is described once, and so parsed, checked and documented in one way for Python and for Spark.

The types of their values say how each is written as text, and how it is checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import tzinfo
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from native_reader.checks import (
    LARGEST,
    MOST_INT32,
    Duration,
    Instant,
    Size,
    duration,
    flag,
    list_of,
    one_of_words,
    plain,
    size,
    text,
    texts,
    whole,
)
from native_reader.columns.projection import DROPMALFORMED, FAILFAST, MODES, PERMISSIVE, Projection
from native_reader.columns.schema import projected
from native_reader.errors import OptionError, option_name
from native_reader.log.tail import AVAILABLE, TAILS
from native_reader.plan.planning import Planning
from native_reader.plan.ways import ACCESSES, AUTO, TRUST
from native_reader.predicate.patterns import java_regex
from native_reader.predicate.sql import moment_zone
from native_reader.sentences import Said, commas, say, told
from native_reader.storage.local import LocalPath, text_of
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
        raise OptionError(say("empty option", option=option_name(name)))
    return given


def _parse_texts(name: str, given: str) -> list[str]:
    several = [part.strip() for part in given.split(",")]
    if not all(several):
        raise OptionError(say("empty between commas", option=option_name(name), given=repr(given)))
    return several


def _parse_integer(name: str, given: str) -> int | str:
    """Text that is not an integer is rejected by `check`, which knows the range."""
    return int(given) if re.fullmatch(r"\s*[+-]?[0-9]{1,19}\s*", given) else given


def _parse_flag(name: str, given: str) -> bool:
    if given.strip().lower() not in ("true", "false"):
        raise OptionError(say("not a written flag", option=option_name(name), given=repr(given)))
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
        raise OptionError(say("wrong pattern", option=option_name(name), pattern=repr(pattern), error=told(error))) from None
    return pattern


def _tags(name: str, value: object) -> list[str]:
    tags = [tag.strip() for each in texts(name, value) for tag in each.split("||")]
    if not all(tags):
        raise OptionError(say("empty tag", option=option_name(name), value=repr(value)))
    return tags


def _keys(name: str, value: object) -> list[str]:
    keys = texts(name, value)
    if several := next((key for key in keys if " " in key), None):
        each = commas(map(repr, filter(None, several.split(" "))))
        raise OptionError(say("key with space", option=option_name(name), key=repr(several), keys=each))
    return keys


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
        expected = say("offsets expected", all=all_of_it, example=_EXAMPLE)
        raise OptionError(say("wrong offsets", option=option_name(name), value=repr(value), expected=expected)) from None
    return [
        (topic, _queue_id(name, queue), whole(name, offset, 0, of=say("of a queue", topic=topic, queue=queue)))
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
    raise OptionError(say("several options", option=option_name(name)))


TEXT = ValueType("text", _parse_text, _non_empty)
PATH = ValueType("a path", _parse_text, lambda name, value: text_of(value, name))
PATHS = PATH._replace(values="paths, separated by commas")
COLUMN_NAMES = ValueType("names, separated by commas", _parse_text, _columns)
TEXTS = ValueType("names, separated by commas", _parse_texts, texts)
KEYS = ValueType("text", _parse_text, _keys)
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


class Option(NamedTuple):
    """`meaning`: its text in the docs. `tables`: the tables other than `messages` take it. `streams`: a stream takes it."""

    name: str
    default: object
    type: ValueType
    meaning: str
    tables: bool = False
    streams: bool = True


def option(default: Any, type_: ValueType, meaning: str, **applies: bool) -> Any:
    """The field of an option in a dataclass; see `Option`."""
    return field(default=default, metadata={"type": type_, "meaning": meaning, **applies})


@cache
def options_of(holder: type[Options]) -> tuple[Option, ...]:
    """The options that a dataclass describes."""
    return tuple(Option(field.name, field.default, **field.metadata) for field in fields(holder) if field.metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options as given; `values` has the checked ones, each in one form. None means not set."""

    values: Mapping[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values = {}
        for each in options_of(type(self)):  # type: ignore[arg-type]  # mypy: not the hash of the class, but of its instances
            given = plain(each.name, getattr(self, each.name))
            object.__setattr__(self, each.name, given)
            values[each.name] = None if given is None and each.default is None else each.type.check(each.name, given)
        object.__setattr__(self, "values", values)


PLACES = (
    Option(
        "path",
        None,
        PATH,
        "a store (`storePathRootDir` of a broker), a commitlog directory, one segment, a directory of stores, a `.tar`, a glob",
    ),
    Option("store_path_commit_log", None, PATHS, "the directories of the log, if not below `path`"),
    Option("store_path_consume_queue", None, PATH, "the directory of the consume queues, if not below `path`"),
    Option("store_path_index", None, PATH, "the directory of the index files, if not below `path`"),
    Option("broker_conf", None, PATH, "the broker's own configuration file, which contains these paths"),
    Option("fs", None, ACCESS, "how object storage is reached, each by its name: `fs.region`. [s3.md](s3.md)"),
)
"""The options of `open`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageOptions(Options):
    """The options of `messages`."""

    columns: str | Iterable[str] | None = option(
        None,
        COLUMN_NAMES,
        "these columns, in this order; `heads`: all except bodies and properties; `*`: all. See [columns.md](columns.md)",
        tables=True,
    )
    topic: str | Iterable[str] | None = option(None, TEXTS, "only these topics")
    topic_pattern: str | None = option(None, PATTERN, "only topics whose whole name matches")
    queue_id: int | Iterable[int] | None = option(None, QUEUE_IDS, "only these queues")
    starting_timestamp: Instant | None = option(None, TIME, "only messages stored at this time or later")
    ending_timestamp: Instant | None = option(None, TIME, "only messages stored before this time", streams=False)
    starting_physical_offset: int | None = option(
        None, number(0), "only records at this offset of the log or after it; segments before it are not read"
    )
    ending_physical_offset: int | None = option(
        None, number(0), "only records before this offset of the log; segments after it are not read", streams=False
    )
    where: str | None = option(
        None, TEXT, "a condition in SQL: `topic = 'orders' AND queue_id IN (0, 1)`; [filters.md](filters.md)", tables=True
    )
    tags: str | Iterable[str] | None = option(
        None, TAGS, "only messages with one of these tags, in the syntax of consumers: `paid || refunded`"
    )
    keys: str | Iterable[str] | None = option(None, KEYS, "only messages with this key")
    text: str | None = option(None, TEXT, "only messages with this text in the body or in the value of a property")
    msg_id: str | None = option(None, TEXT, "only the message with this id, as clients and consoles show it")
    starting_offsets: str | Mapping[str, Mapping[int, int]] | None = option(
        None,
        STARTING_OFFSETS,
        'the first offset of each queue: `{"orders": {"0": 100}}`; queues not named are read from their beginning. '
        "In a stream also `earliest` or `latest` (the default): [streaming.md](streaming.md)",
    )
    ending_offsets: str | Mapping[str, Mapping[int, int]] | None = option(
        None, ENDING_OFFSETS, "read each queue up to, but not including, this offset; in the same format", streams=False
    )
    time_zone: str | None = option(
        None,
        ZONE,
        "the time zone of times written without one: `Asia/Shanghai`, `UTC`, `+08:00`; if not set, such a time is an error",
        tables=True,
    )
    access: str = option(AUTO, one_of(*ACCESSES), "how rows are located: [filters.md](filters.md)")
    summary: LocalPath | None = option(
        None, PATH, "the folder of a summary, which `rmqstore summarize` wrote; streams ignore it: [summary.md](summary.md)"
    )
    tiered: bool = option(
        False,
        FLAG,
        "`true` also reads tiered storage on a disk: what the log no longer has. [tiered.md](tiered.md)",
        streams=False,
    )
    tiered_store_file_path: LocalPath | None = option(
        None, PATH, "the folder of tiered storage, if it is not below the store or where `broker_conf` says; for `tiered`", streams=False
    )
    max_hash_slot_num: int | None = option(
        None, number(1, MOST_INT32), "the number of slots in an index file, if the broker's configuration sets this or `maxIndexNum`"
    )
    time_skew_tolerance: Duration = option("1m", DURATION, "how far the broker's clock may have jumped back: `90s`, `10m`")
    system_topics: bool = option(True, FLAG, "`false` hides the broker's internal messages; retry and DLQ topics are still read")
    verify_crc: bool = option(
        False, FLAG, "check the checksum of each body, and of the record if it has one; a wrong checksum is an error", tables=True
    )
    mode: str = option(FAILFAST, one_of(*MODES), "what to do with damaged bytes: fail, skip them, or return a row for each range")
    column_name_of_corrupt_record: str | None = option(None, TEXT, "adds the column `corrupt_record` under this name")
    fail_on_data_loss: bool = option(True, FLAG, "`false` continues if a segment in the middle is missing, or is truncated during the read")
    ignore_missing_files: bool = option(False, FLAG, "continue if a segment is deleted after planning", tables=True)
    tail: str = option(AVAILABLE, one_of(*TAILS), "where the read ends; `all` includes old records after the end of the log")
    max_partition_bytes: Size = option("128m", size_from(1), "the largest range of the log in one task", tables=True)
    min_partitions: int = option(1, number(1, 1_000_000), "the minimum number of tasks, if the log is large enough to split")
    max_record_bytes: Size = option("64m", size_from(1), "a larger record is an error", tables=True)
    max_decompressed_bytes: Size = option("64m", size_from(0), "a larger body becomes null")
    max_read_rate: Size | None = option(
        None, size_from(1 << 20), "the maximum number of bytes per second in one task; at least 1m", tables=True
    )

    def projection(self, columns: tuple[str, ...] | None = None) -> Projection:
        """The columns, and the limits of the read. `columns`: those of a table other than `messages`."""
        if columns is None:
            columns = projected(self.values["columns"], self.values["column_name_of_corrupt_record"])
        return Projection(**{**self._fields_of(Projection), "columns": columns})

    @property
    def zone(self) -> tzinfo | None:
        """The time zone of times written without one; None if it is not set."""
        name = self.values["time_zone"]
        return None if name is None else moment_zone(name)

    def planning(self) -> Planning:
        """The settings for planning."""
        return Planning(**self._fields_of(Planning), lenient=self.values["mode"] != FAILFAST, compares=self.values["mode"] == PERMISSIVE)

    def _fields_of(self, holder: type[Projection | Planning]) -> dict[str, Any]:
        """The values of the options that a dataclass has as fields of the same name.

        So a new option of a read or of planning is a field there and an option here, and nothing else has to pass it on.
        """
        return {field.name: self.values[field.name] for field in fields(holder) if field.name in self.values}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions(MessageOptions):
    """The options of `messages` in Python: also those that Spark cannot use."""

    body_views: bool = option(
        False, FLAG, "bodies as views of the bytes that were read, without a copy: [python.md](python.md#bodies-without-a-copy)"
    )


def refuse_in_streams(options: MessageOptions, kind: str = "not in stream") -> None:
    """Reject options that end a read, or miss new messages. `kind`: of the sentence of the error."""
    if options.values["access"] == TRUST:
        raise OptionError(Said("trust in stream"))
    for each in options_of(MessageOptions):
        if not each.streams and options.values[each.name] not in (None, False):
            raise OptionError(say(kind, option=option_name(each.name)))


LENIENT: Mapping[str, Any] = MappingProxyType({"mode": DROPMALFORMED, "fail_on_data_loss": False})
"""To read what can be read: damage is skipped, and losses are no errors."""
TABLE_OPTIONS = tuple(each.name for each in options_of(MessageOptions) if each.tables)
"""The options that all tables other than `messages` take."""
