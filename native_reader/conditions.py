"""Converts the options that select rows into one predicate."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from native_reader.checks import instant
from native_reader.columns.schema import COLUMNS
from native_reader.errors import OptionError, PredicateError, option_name
from native_reader.layout.kinds import KINDS, SYSTEM_KINDS, kind_of_topic
from native_reader.options import MessageOptions
from native_reader.predicate.sql import BYTES, DECIMAL, FLAG, MOMENT, NUMBER, OTHER, PAIRS, TEXT, TEXTS, moment_zone, parse
from native_reader.predicate.tree import (
    EVERYTHING,
    And,
    ArrayContains,
    Column,
    Compare,
    Contains,
    In,
    Not,
    Or,
    Predicate,
    RLike,
    all_of,
    any_of,
    leaves,
)
from native_reader.sentences import commas, meant, say

_HEX = re.compile("[0-9A-Fa-f]+")
_SYNONYMS = {"dead": "dlq", "deadletter": "dlq", "dead_letter": "dlq", "transaction": "half", "scheduled": "delay", "message": "normal"}


def predicate_of(options: MessageOptions) -> Predicate:
    """The conditions of all options, combined with AND."""
    return all_of(_parts(options))


def condition_on(types: Mapping[str, pa.DataType], options: MessageOptions) -> Predicate:
    """The condition of `where` on columns of those types."""
    text, zone = options.values["where"], options.values["time_zone"]
    return EVERYTHING if text is None else parse(text, {name: type_name(each) for name, each in types.items()}, zone)


def _parts(options: MessageOptions) -> Iterator[Predicate]:
    values = options.values
    topics, zone = values["topic"], values["time_zone"]
    if topics is not None:
        yield _one_of("topic", topics)
    if values["topic_pattern"] is not None:
        yield RLike(Column("topic"), values["topic_pattern"], whole=True)
    if values["queue_id"] is not None:
        yield _one_of("queue_id", values["queue_id"])
    yield from _of_clients(values)
    tz = None if zone is None else moment_zone(zone)
    times = {name: instant(name, values[name], tz) for name in ("starting_timestamp", "ending_timestamp")}
    yield from _bounds("store_timestamp", times)
    yield from _bounds("physical_offset", {name: values[name] for name in ("starting_physical_offset", "ending_physical_offset")})
    if not values["system_topics"]:
        if topics and all(kind_of_topic(topic) in SYSTEM_KINDS for topic in topics):
            hides = option_name("system_topics", False)
            raise OptionError(say("topics hidden", option=hides, topics=repr(", ".join(topics))))
        yield Not(In(Column("kind"), SYSTEM_KINDS))
    if values["where"] is not None:
        condition = condition_on({name: spec.type for name, spec in COLUMNS.items()}, options)
        _check_kinds(condition)
        yield condition


def _of_clients(values: Mapping[str, Any]) -> Iterator[Predicate]:
    """The options that RocketMQ's own clients and tools have too."""
    if values["tags"] is not None and "*" not in values["tags"]:
        yield _one_of("tags", values["tags"])
    if values["keys"] is not None:
        yield any_of(ArrayContains(Column("keys"), key) for key in values["keys"])
    if values["text"] is not None:
        text = values["text"]
        yield Or((Contains(Column("body"), text.encode()), Contains(Column("properties"), text)))
    if values["msg_id"] is not None:
        name = values["msg_id"].strip()
        # Java clients write upper case, others lower case. An index finds only the exact text, so try each.
        cases = list(dict.fromkeys((name, name.upper(), name.lower()))) if _HEX.fullmatch(name) else [name]
        yield Or((_one_of("uniq_key", cases), Compare(Column("offset_msg_id"), "=", name.upper())))
    yield from _outside("<", values["starting_offsets"])
    yield from _outside(">=", values["ending_offsets"])


def _outside(operator: str, bounds: list[tuple[str, int, int]] | None) -> Iterator[Predicate]:
    """Exclude rows outside the bound of their queue. Other queues have no bound."""
    for topic, queue, offset in bounds or ():
        of_queue = Compare(Column("topic"), "=", topic), Compare(Column("queue_id"), "=", queue)
        yield Not(And((*of_queue, Compare(Column("queue_offset"), operator, offset))))


def _bounds(column: str, bounds: Mapping[str, int | None]) -> Iterator[Predicate]:
    (start_name, start), (end_name, end) = bounds.items()
    if start is not None and end is not None and start > end:
        raise OptionError(say("bounds crossed", option=option_name(start_name), end=option_name(end_name)))
    if start is not None:
        yield Compare(Column(column), ">=", start)
    if end is not None:
        yield Compare(Column(column), "<", end)


def _one_of(name: str, values: list[Any]) -> Predicate:
    return Compare(Column(name), "=", values[0]) if len(values) == 1 else In(Column(name), tuple(values))


def _check_kinds(condition: Predicate) -> None:
    """Reject kinds that do not exist."""
    for leaf in leaves(condition):
        match leaf:
            case Compare(Column("kind"), "=" | "!=", value):
                kinds: tuple[object, ...] = (value,)
            case In(Column("kind"), values):
                kinds = values
            case _:
                continue
        for kind in kinds:
            if kind not in KINDS:
                near = meant(_SYNONYMS.get(str(kind).lower(), str(kind)), KINDS)
                raise PredicateError(say("no kind", name=repr(kind), near=near, known=commas(KINDS)))


_TYPES: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (pa.types.is_string, TEXT),
    (pa.types.is_integer, NUMBER),
    (pa.types.is_timestamp, MOMENT),
    (pa.types.is_binary, BYTES),
    (pa.types.is_boolean, FLAG),
    (pa.types.is_floating, DECIMAL),
    (lambda column: pa.types.is_list(column) and pa.types.is_string(column.value_type), TEXTS),
    (lambda column: pa.types.is_map(column) and pa.types.is_string(column.key_type) and pa.types.is_string(column.item_type), PAIRS),
)


def type_name(column: pa.DataType) -> str:
    """The type of a column, as `where` names it."""
    return next((name for is_it, name in _TYPES if is_it(column)), OTHER)
