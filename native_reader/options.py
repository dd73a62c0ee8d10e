"""The options of `messages`, checked once and turned into a predicate and limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import index
from typing import Any

from native_reader.access.predicate import Column, Compare, In, Not, Predicate, RLike, all_of
from native_reader.errors import OptionError, nearest
from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.scan.read import FAILFAST, MODES, Projection
from native_reader.scan.tail import AVAILABLE, TAILS
from native_reader.schema import projected

Instant = datetime | str | int
"""A moment: a datetime with a zone, ISO 8601 text (UTC where it names no zone), or milliseconds since 1970."""

Size = int | str
"""Bytes: a number, or text like `128m` (k, m, g, t: powers of 1024)."""

_LARGEST = 2**63 - 1
_MOST_PARTITIONS = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageOptions:
    """What may be asked of `messages`; a field that is None asks nothing."""

    columns: str | Iterable[str] | None = None
    topic: str | Iterable[str] | None = None
    topic_pattern: str | None = None
    queue_id: int | Iterable[int] | None = None
    starting_timestamp: Instant | None = None
    ending_timestamp: Instant | None = None
    starting_physical_offset: int | None = None
    ending_physical_offset: int | None = None
    system_topics: bool = True
    verify_crc: bool = False
    mode: str = FAILFAST
    column_name_of_corrupt_record: str | None = None
    fail_on_data_loss: bool = True
    ignore_missing_files: bool = False
    tail: str = AVAILABLE
    max_partition_bytes: Size = 128 << 20
    min_partitions: int = 1
    max_record_bytes: Size = 64 << 20
    max_decompressed_bytes: Size = 64 << 20
    max_read_rate: Size | None = None

    def projection(self) -> Projection:
        """What is wanted of each row."""
        columns = self.columns if self.columns is None or isinstance(self.columns, str) else _list_of("columns", self.columns, str)
        corrupt_name = self.column_name_of_corrupt_record
        if corrupt_name is not None and (not isinstance(corrupt_name, str) or not corrupt_name.strip()):
            raise OptionError(f"column_name_of_corrupt_record={corrupt_name!r} is no name")
        return Projection(
            projected(columns, corrupt_name),
            mode=_one_of_words("mode", self.mode, MODES),
            verify_crc=_flag("verify_crc", self.verify_crc),
            max_record_bytes=_size("max_record_bytes", self.max_record_bytes, 1),
            max_decompressed_bytes=_size("max_decompressed_bytes", self.max_decompressed_bytes, 0),
            max_read_rate=None if self.max_read_rate is None else _size("max_read_rate", self.max_read_rate, 1 << 20),
            refuses_loss=self.refuses_loss(),
            ignores_missing=_flag("ignore_missing_files", self.ignore_missing_files),
            corrupt_name=corrupt_name,
        )

    def predicate(self) -> Predicate:
        """All conditions on rows, combined with AND."""
        parts: list[Predicate] = []
        topics = None if self.topic is None else _list_of("topic", self.topic, str)
        if topics is not None:
            parts.append(_one_of("topic", topics))
        if self.topic_pattern is not None:
            parts.append(RLike(Column("topic"), _pattern("topic_pattern", self.topic_pattern), whole=True))
        if self.queue_id is not None:
            parts.append(
                _one_of("queue_id", [_whole("queue_id", each, -(2**31), 2**31 - 1) for each in _list_of("queue_id", self.queue_id, int)])
            )
        first = _instant("starting_timestamp", self.starting_timestamp)
        behind = _instant("ending_timestamp", self.ending_timestamp)
        parts += _bounds("store_timestamp", "timestamp", first, behind)
        parts += _bounds("physical_offset", "physical_offset", *self._offsets())
        if not _flag("system_topics", self.system_topics):
            if topics and all(kind_of_topic(topic) in SYSTEM_KINDS for topic in topics):
                raise OptionError(f"system_topics=False hides topic={', '.join(topics)!r}: no row could match")
            parts.append(Not(In(Column("kind"), SYSTEM_KINDS)))
        return all_of(parts)

    def offsets(self) -> tuple[int, int] | None:
        """The range of the log outside of which no row can be, None where all of it counts."""
        first, behind = self._offsets()
        return None if first is None and behind is None else (first or 0, _LARGEST if behind is None else behind)

    def refuses_loss(self) -> bool:
        """Whether a hole in the log is an error."""
        return _flag("fail_on_data_loss", self.fail_on_data_loss)

    def end(self) -> str:
        """How much of the log's end counts."""
        return _one_of_words("tail", self.tail, TAILS)

    def partition_bytes(self) -> int:
        """The largest split."""
        return _size("max_partition_bytes", self.max_partition_bytes, 1)

    def partitions(self) -> int:
        """How many splits there must be at least."""
        return _whole("min_partitions", self.min_partitions, 1, _MOST_PARTITIONS)

    def _offsets(self) -> tuple[int | None, int | None]:
        first, behind = self.starting_physical_offset, self.ending_physical_offset
        return (
            None if first is None else _whole("starting_physical_offset", first, 0),
            None if behind is None else _whole("ending_physical_offset", behind, 0),
        )


def _bounds(column: str, what: str, first: int | None, behind: int | None) -> list[Predicate]:
    if first is not None and behind is not None and first > behind:
        raise OptionError(f"starting_{what} lies behind ending_{what}: no row can be in between")
    parts: list[Predicate] = []
    if first is not None:
        parts.append(Compare(Column(column), ">=", first))
    if behind is not None:
        parts.append(Compare(Column(column), "<", behind))
    return parts


def _list_of(name: str, value: object, kind: type[str] | type[int]) -> list[Any]:
    """One value or several of that type."""
    several = isinstance(value, Iterable) and not isinstance(value, str | bytes)
    values = list(value) if several else [value]  # type: ignore[call-overload]
    if not values:
        raise OptionError(f"{name} is an empty list. Leave it out to ask for nothing special")
    for each in values:
        if kind is str and not isinstance(each, str):
            raise OptionError(f"{name}: {each!r} is no text")
    return values


def _one_of(name: str, values: list[Any]) -> Predicate:
    return Compare(Column(name), "=", values[0]) if len(values) == 1 else In(Column(name), tuple(values))


def _pattern(name: str, pattern: str) -> str:
    try:
        if not isinstance(pattern, str):
            raise TypeError("it is no text")
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError, TypeError) as error:
        raise OptionError(f"{name}={pattern!r} is no regular expression: {error}") from error
    return pattern


def _one_of_words(name: str, value: object, words: Sequence[str]) -> str:
    """One of those words, in any case."""
    found = next((word for word in words if isinstance(value, str) and word.lower() == value.strip().lower()), None)
    if found is None:
        raise OptionError(f"{name}={value!r} is none of {', '.join(words)}.{nearest(str(value), words)}")
    return found


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise OptionError(f"{name}={value!r} is neither True nor False")
    return value


def _whole(name: str, value: Any, least: int, most: int = _LARGEST) -> int:
    """A whole number, also one of numpy's."""
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise OptionError(f"{name}={value!r} is no whole number from {least} to {most}")
    return number


def _size(name: str, value: Size, least: int) -> int:
    if not isinstance(value, str):
        return _whole(name, value, least)
    found = re.fullmatch(r"\s*([0-9]{1,19})\s*([kmgt]?)b?\s*", value.lower())
    if found is None:
        raise OptionError(f"{name}={value!r} is not a size. Examples: 134217728, '128m', '1g'")
    size = int(found[1]) << _UNITS[found[2]]
    if size > _LARGEST:
        raise OptionError(f"{name}={value!r} is larger than {_LARGEST} bytes")
    return _whole(name, size, least)


def _instant(name: str, value: object) -> int | None:
    """Microseconds since 1970."""
    if value is None:
        return None
    moment = value
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment.strip())
        except ValueError as error:
            examples = "'2026-01-31 12:00:00', '2026-01-31T12:00:00+08:00', 1769860800000"
            raise OptionError(f"{name}={value!r} is no moment. Examples: {examples}") from error
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise OptionError(f"{name}={value!r} names no time zone: use datetime(..., tzinfo=UTC)")
        since = moment - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    try:
        milliseconds = None if isinstance(moment, bool) else index(moment)  # type: ignore[arg-type]
    except TypeError:
        milliseconds = None
    if milliseconds is None:
        raise OptionError(f"{name}={value!r} is no moment: a datetime with a zone, ISO 8601 text, or milliseconds since 1970")
    if abs(milliseconds) > _LARGEST // 1000:
        raise OptionError(f"{name}={value!r} lies outside of all time: milliseconds since 1970 are meant")
    return milliseconds * 1000
