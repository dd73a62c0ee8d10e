"""The options of `messages`, checked once and turned into a predicate and limits."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from native_reader.access.predicate import Column, Compare, In, Not, Predicate, RLike, all_of
from native_reader.errors import OptionError
from native_reader.layout.kinds import SYSTEM_KINDS
from native_reader.scan.read import Projection
from native_reader.schema import projected

Instant = datetime | str | int
"""A moment: a datetime with a zone, ISO 8601 text (UTC where it names no zone), or milliseconds since 1970."""

_LARGEST = 2**63 - 1


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
    fail_on_data_loss: bool = True
    max_partition_bytes: int = 128 << 20
    max_record_bytes: int = 64 << 20
    max_decompressed_bytes: int = 64 << 20

    def projection(self) -> Projection:
        """What is wanted of each row."""
        return Projection(
            projected(self.columns),
            _flag("verify_crc", self.verify_crc),
            _size("max_record_bytes", self.max_record_bytes, 1),
            _size("max_decompressed_bytes", self.max_decompressed_bytes, 0),
        )

    def predicate(self) -> Predicate:
        """All conditions on rows, combined with AND."""
        parts: list[Predicate] = []
        if self.topic is not None:
            parts.append(_one_of("topic", (self.topic,) if isinstance(self.topic, str) else tuple(self.topic), str))
        if self.topic_pattern is not None:
            parts.append(RLike(Column("topic"), f"^(?:{_pattern('topic_pattern', self.topic_pattern)})\\Z"))
        if self.queue_id is not None:
            parts.append(_one_of("queue_id", (self.queue_id,) if isinstance(self.queue_id, int) else tuple(self.queue_id), int))
        parts += _bounds("store_timestamp", "timestamp", _instant("starting_timestamp", self.starting_timestamp), _instant("ending_timestamp", self.ending_timestamp))
        parts += _bounds("physical_offset", "physical_offset", *self._offsets())
        if not _flag("system_topics", self.system_topics):
            parts.append(Not(In(Column("kind"), SYSTEM_KINDS)))
        return all_of(parts)

    def offsets(self) -> tuple[int, int] | None:
        """The range of the log outside of which no row can be, None where all of it counts."""
        first, behind = self._offsets()
        return None if first is None and behind is None else (first or 0, _LARGEST if behind is None else behind)

    def _offsets(self) -> tuple[int | None, int | None]:
        first, behind = self.starting_physical_offset, self.ending_physical_offset
        return (
            None if first is None else _size("starting_physical_offset", first, 0),
            None if behind is None else _size("ending_physical_offset", behind, 0),
        )

    def partition_bytes(self) -> int:
        """The largest split."""
        return _size("max_partition_bytes", self.max_partition_bytes, 1)


def _bounds(column: str, what: str, first: int | None, behind: int | None) -> list[Predicate]:
    if first is not None and behind is not None and first > behind:
        raise OptionError(f"starting_{what} lies behind ending_{what}: no row can be in between")
    parts: list[Predicate] = []
    if first is not None:
        parts.append(Compare(Column(column), ">=", first))
    if behind is not None:
        parts.append(Compare(Column(column), "<", behind))
    return parts


def _one_of(name: str, values: tuple[object, ...], kind: type[str] | type[int]) -> Predicate:
    for value in values:
        if not isinstance(value, kind) or isinstance(value, bool):
            raise OptionError(f"{name}: {value!r} is no {kind.__name__}")
    if not values:
        raise OptionError(f"{name} is an empty list: no row could match")
    chosen: tuple[str | int, ...] = values  # type: ignore[assignment]
    return Compare(Column(name), "=", chosen[0]) if len(chosen) == 1 else In(Column(name), chosen)


def _pattern(name: str, pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise OptionError(f"{name}={pattern!r} is no regular expression: {error}") from error
    return pattern


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise OptionError(f"{name}={value!r} is neither True nor False")
    return value


def _size(name: str, value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _LARGEST:
        raise OptionError(f"{name}={value!r} is no whole number from {least} to {_LARGEST}")
    return value


def _instant(name: str, value: Instant | None) -> int | None:
    """Microseconds since 1970."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > _LARGEST // 1000:
            raise OptionError(f"{name}={value} lies outside of all time: milliseconds since 1970 are meant")
        return value * 1000
    moment = value
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment.strip())
        except ValueError as error:
            raise OptionError(f"{name}={value!r} is no moment. Examples: '2026-01-31 12:00:00', '2026-01-31T12:00:00+08:00', 1769860800000") from error
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if not isinstance(moment, datetime):
        raise OptionError(f"{name}={value!r} is no moment: a datetime with a zone, ISO 8601 text, or milliseconds since 1970")
    if moment.tzinfo is None:
        raise OptionError(f"{name}={value!r} names no time zone: use datetime(..., tzinfo=UTC)")
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
