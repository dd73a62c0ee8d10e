"""Converts the options that select rows into one predicate."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from native_reader.checks import flag, instant, list_of, plain, whole
from native_reader.errors import OptionError, PredicateError, nearest
from native_reader.layout.kinds import KINDS, SYSTEM_KINDS, kind_of_topic
from native_reader.options import MessageOptions
from native_reader.predicate.patterns import java_regex
from native_reader.predicate.sql import BYTES, MOMENT, NUMBER, PAIRS, TEXT, TEXTS, moment_zone, parse
from native_reader.predicate.tree import And, ArrayContains, Column, Compare, In, Not, Or, Predicate, RLike, all_of, leaves
from native_reader.schema import COLUMNS

_EARLIEST, _LATEST = -2, -1
_HEX = re.compile("[0-9A-Fa-f]+")
_MEANT = {"dead": "dlq", "deadletter": "dlq", "dead_letter": "dlq", "transaction": "half", "scheduled": "delay", "message": "normal"}
_EXAMPLE = '{"orders": {"0": 100, "1": 250}}'


def predicate_of(options: MessageOptions) -> Predicate:
    """The conditions of all options, combined with AND."""
    return all_of(_parts(options))


def _parts(options: MessageOptions) -> Iterator[Predicate]:
    zone = None if options.time_zone is None else moment_zone(_text("time_zone", options.time_zone))
    topics = None if options.topic is None else list_of("topic", options.topic, str)
    if topics is not None:
        yield _one_of("topic", topics)
    if options.topic_pattern is not None:
        yield RLike(Column("topic"), _pattern("topic_pattern", options.topic_pattern), whole=True)
    if options.queue_id is not None:
        yield _one_of("queue_id", [whole("queue_id", each, -(2**31), 2**31 - 1) for each in list_of("queue_id", options.queue_id, int)])
    yield from _of_clients(options)
    first = instant("starting_timestamp", options.starting_timestamp, zone)
    behind = instant("ending_timestamp", options.ending_timestamp, zone)
    yield from _bounds("store_timestamp", "timestamp", first, behind)
    yield from _bounds("physical_offset", "physical_offset", *_offsets(options))
    if not flag("system_topics", options.system_topics):
        if topics and all(kind_of_topic(topic) in SYSTEM_KINDS for topic in topics):
            raise OptionError(f"system_topics=False hides topic={', '.join(topics)!r}: no row could match")
        yield Not(In(Column("kind"), SYSTEM_KINDS))
    if options.where is not None:
        condition = parse(_text("where", options.where), {name: _kind(spec.type) for name, spec in COLUMNS.items()}, options.time_zone)
        _check_kinds(condition)
        yield condition


def _of_clients(options: MessageOptions) -> Iterator[Predicate]:
    """The options that RocketMQ's own clients and tools have too."""
    if options.tags is not None:
        tags = [tag.strip() for each in list_of("tags", options.tags, str) for tag in each.split("||")]
        if not all(tags):
            raise OptionError(f"tags={options.tags!r}: a tag is empty. Example: 'paid || refunded'")
        if "*" not in tags:
            yield _one_of("tags", tags)
    if options.keys is not None:
        found = tuple(ArrayContains(Column("keys"), key) for key in list_of("keys", options.keys, str))
        yield found[0] if len(found) == 1 else Or(found)
    if options.msg_id is not None:
        name = _text("msg_id", options.msg_id).strip()
        # Java clients write upper case, others lower case. An index finds only the exact text, so try each.
        cases = list(dict.fromkeys((name, name.upper(), name.lower()))) if _HEX.fullmatch(name) else [name]
        yield Or((_one_of("uniq_key", cases), Compare(Column("offset_msg_id"), "=", name.upper())))
    yield from _queue_bounds("starting_offsets", options.starting_offsets, "<", "earliest", _EARLIEST)
    yield from _queue_bounds("ending_offsets", options.ending_offsets, ">=", "latest", _LATEST)


def _offsets(options: MessageOptions) -> tuple[int | None, int | None]:
    first, behind = options.starting_physical_offset, options.ending_physical_offset
    return (
        None if first is None else whole("starting_physical_offset", first, 0),
        None if behind is None else whole("ending_physical_offset", behind, 0),
    )


def _queue_bounds(name: str, value: object, beyond: str, all_of_it: str, unbounded: int) -> Iterator[Predicate]:
    """Exclude rows beyond the offset given for their queue. Other queues have no bound."""
    if value is None or value == all_of_it:
        return
    try:
        told = plain(name, json.loads(value)) if isinstance(value, str) else value
        if not isinstance(told, Mapping):
            raise TypeError
        bounds = [(topic, _queue_number(queue), offset) for topic, queues in told.items() for queue, offset in queues.items()]
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise OptionError(f"{name}={value!r} is neither '{all_of_it}' nor offsets by topic and queue. Example: {_EXAMPLE}") from None
    for topic, queue, offset in bounds:
        if not isinstance(topic, str) or (offset != unbounded and whole(f"{name} of {topic}/{queue}", offset, 0) < 0):
            raise OptionError(f"{name}: {topic!r} is no topic")
        if offset != unbounded:
            here = Compare(Column("topic"), "=", topic), Compare(Column("queue_id"), "=", whole(name, queue, -(2**31), 2**31 - 1))
            yield Not(And((*here, Compare(Column("queue_offset"), beyond, offset))))


def _queue_number(key: object) -> int:
    """JSON has texts for keys, Python's mappings have numbers too."""
    if isinstance(key, bool) or not isinstance(key, int | str):
        raise TypeError
    return int(key)


def _bounds(column: str, what: str, first: int | None, behind: int | None) -> Iterator[Predicate]:
    if first is not None and behind is not None and first > behind:
        raise OptionError(f"starting_{what} lies behind ending_{what}: no row can be in between")
    if first is not None:
        yield Compare(Column(column), ">=", first)
    if behind is not None:
        yield Compare(Column(column), "<", behind)


def _one_of(name: str, values: list[Any]) -> Predicate:
    return Compare(Column(name), "=", values[0]) if len(values) == 1 else In(Column(name), tuple(values))


def _check_kinds(condition: Predicate) -> None:
    """Reject kinds that are not in `KINDS`."""
    for leaf in leaves(condition):
        match leaf:
            case Compare(Column("kind"), "=" | "!=", value):
                asked: tuple[object, ...] = (value,)
            case In(Column("kind"), values):
                asked = values
            case _:
                continue
        for each in asked:
            if each not in KINDS:
                near = f" Did you mean '{_MEANT[str(each).lower()]}'?" if str(each).lower() in _MEANT else nearest(str(each), KINDS)
                raise PredicateError(f"where: there is no kind {each!r}.{near} All kinds: {', '.join(KINDS)}")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise OptionError(f"{name}={value!r} is no text")
    return value


def _pattern(name: str, pattern: object) -> str:
    try:
        if not isinstance(pattern, str):
            raise ValueError("it is no text")
        java_regex(pattern)
    except ValueError as error:
        raise OptionError(f"{name}={pattern!r}: {error}") from None
    return pattern


def _kind(column: pa.DataType) -> str:
    """The type of a column, as `where` names it."""
    if pa.types.is_timestamp(column):
        return MOMENT
    if pa.types.is_binary(column):
        return BYTES
    if pa.types.is_integer(column):
        return NUMBER
    return PAIRS if pa.types.is_map(column) else TEXTS if pa.types.is_list(column) else TEXT
