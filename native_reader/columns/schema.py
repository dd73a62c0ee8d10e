"""The columns of `messages`: each is described once, here. And which of them a read returns."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from native_reader.columns import makers as make
from native_reader.columns.makers import Maker
from native_reader.columns.spec import KEYS_TYPE, PROPERTIES_TYPE, TIMESTAMP, ColumnSource, selected
from native_reader.errors import SchemaError
from native_reader.layout.properties import (
    DELAY,
    DLQ_ORIGIN_MESSAGE_ID,
    DLQ_ORIGIN_TOPIC,
    KEYS,
    LITE_TOPIC,
    ORIGIN_GROUP,
    ORIGIN_MESSAGE_ID,
    REAL_TOPIC,
    RETRY_TOPIC,
    TAGS,
    UNIQ_KEY,
)
from native_reader.layout.record import HEAD
from native_reader.predicate.tree import Predicate
from native_reader.sentences import say

_STRING = pa.string()


class MessageColumn(NamedTuple):
    """All about one column of `messages`. `meaning`: its meaning in the docs.

    `of_message`: made from the head, but the messages of one inner batch can differ. `singles`: the properties it is made from.
    """

    type: pa.DataType
    source: ColumnSource
    make: Maker
    meaning: str
    of_message: bool = False
    singles: tuple[str, ...] = ()

    @property
    def differs_in_batch(self) -> bool:
        """Whether the messages of one inner batch can have different values."""
        return self.of_message or self.source >= ColumnSource.PROPERTIES


def _number(field: str, meaning: str, *, of_message: bool = False) -> MessageColumn:
    """A number of the head, as wide as it is there."""
    return MessageColumn(pa.from_numpy_dtype(HEAD[field].newbyteorder("=")), ColumnSource.HEAD, make.number_of(field), meaning, of_message)


def _time(field: str, meaning: str) -> MessageColumn:
    return MessageColumn(TIMESTAMP, ColumnSource.HEAD, make.time_of(field), meaning)


def _constant(name: str, meaning: str) -> MessageColumn:
    return MessageColumn(_STRING, ColumnSource.HEAD, make.constant_of(name), meaning)


def _text(maker: Maker, meaning: str) -> MessageColumn:
    return MessageColumn(_STRING, ColumnSource.TEXT, maker, meaning)


def _body(name: str, meaning: str) -> MessageColumn:
    return MessageColumn(pa.binary(), ColumnSource.BODY, make.bodies_of(name), meaning)


def _property(name: str, meaning: str, kind: pa.DataType = _STRING, maker: Maker | None = None) -> MessageColumn:
    """A column made from one property: by default its text."""
    return MessageColumn(kind, ColumnSource.PROPERTIES, maker or make.property_of(name), meaning, singles=(name,))


_DEFAULT = {
    "topic": _text(
        lambda chunk: chunk.topic(),
        "the topic that stores the message. Half, delayed and retried messages are stored in the broker's own topics",
    ),
    "queue_id": _number("queue_id", "the queue of that topic"),
    "queue_offset": _number(
        "queue_offset",
        "the offset in that queue; 0 for prepared and rolled back messages of brokers 4.0 to 4.2, which are in no queue",
        of_message=True,
    ),
    "tags": _property(TAGS, "the property `TAGS`; null when absent"),
    "keys": _property(KEYS, "the property `KEYS` split at spaces; null when absent", KEYS_TYPE, make.keys),
    "msg_id": _property(UNIQ_KEY, "the id in the Java client: `uniq_key`, else `offset_msg_id`", maker=make.msg_id),
    "body": _body(
        "body", "decompressed. Empty stays empty; null when it cannot be decompressed, or would be larger than `max_decompressed_bytes`"
    ),
    "properties": MessageColumn(
        PROPERTIES_TYPE,
        ColumnSource.PROPERTIES,
        lambda chunk: chunk.properties().map(),
        "all properties; empty, never null, when there are none. The broker's own checksum is not included",
    ),
    "born_timestamp": _time(
        "born_timestamp", "when the producer created the message, by its clock, in milliseconds; null outside the years 1 to 9999"
    ),
    "store_timestamp": _time(
        "store_timestamp",
        "when the broker stored the message, by its clock, in milliseconds; null outside the years 1 to 9999. This clock can jump back",
    ),
    "kind": _text(make.kind, "the kind of message, see [below](#kinds)"),
    "physical_offset": _number(
        "physical_offset", "the offset of the record in the log; in DLedger logs the offset after the entry's header"
    ),
    "store": _constant("store", "URI of the store's root"),
}
_ON_REQUEST = {
    "born_host": _text(make.born_host, "address and port of the producer"),
    "store_host": _text(make.store_host, "address and port of the broker that stored it"),
    "reconsume_times": _number("reconsume_times", "how often consumers retried it"),
    "flag": _number("flag", "a number set by the producer; in an inner batch, that of the message", of_message=True),
    "sys_flag": _number("sys_flag", "as on disk, see [format.md](format.md#flags)"),
    "prepared_transaction_offset": _number("prepared_transaction_offset", "physical offset of the half message of a committed message"),
    "body_crc": _number("body_crc", "CRC-32 of the stored body, highest bit cleared; in an inner batch, of the record's whole body"),
    "record_size": _number(
        "size", "size of the record in bytes; equal for all messages of an inner batch, so add it only where `inner_index` is null or 0"
    ),
    "uniq_key": _property(UNIQ_KEY, "the property `UNIQ_KEY`: the id set by the producer, else by the broker; null when absent"),
    "offset_msg_id": _text(make.offset_msg_id, "the broker's id: store host and physical offset in hexadecimal; null in tiered storage"),
    "inner_index": MessageColumn(
        pa.int32(), ColumnSource.HEAD, make.inner_index, "the index in an inner batch, from 0; null outside an inner batch", of_message=True
    ),
    "stored_body": _body("stored_body", "the body as stored on disk; in an inner batch, the part of this message"),
    "body_size": _number("body_size", "size of `stored_body` in bytes", of_message=True),
    "magic": _number("magic", "-626843481 in V1 records, -626843477 in V2 records"),
    "real_topic": _property(
        REAL_TOPIC,
        "the property `REAL_TOPIC`: the target topic of a half or delayed message. Delivered copies may keep it; null when absent",
    ),
    "lite_topic": _property(
        LITE_TOPIC, "the property `__LITE_TOPIC` (5.5.0): the lite topic of a message. `topic` is its parent; null when absent"
    ),
    "delay_level": _property(DELAY, "the property `DELAY`; null when absent or not a number", pa.int32(), make.delays),
    "origin_topic": MessageColumn(
        _STRING,
        ColumnSource.PROPERTIES,
        make.origin_topic,
        "in a retry or DLQ topic: the topic to which the message was sent at first; null elsewhere, or if it cannot be known",
        singles=(RETRY_TOPIC, DLQ_ORIGIN_TOPIC, ORIGIN_GROUP),
    ),
    "origin_msg_id": MessageColumn(
        _STRING,
        ColumnSource.PROPERTIES,
        make.origin_msg_id,
        "in a retry or DLQ topic: the `offset_msg_id` of the message as sent at first, or its `uniq_key` if the consumer sent it back "
        "as a new message; null elsewhere, and in the retry topics of pop consumers. All copies have the same `uniq_key`",
        singles=(ORIGIN_MESSAGE_ID, DLQ_ORIGIN_MESSAGE_ID),
    ),
    "body_text": MessageColumn(
        _STRING, ColumnSource.BODY, make.body_text, "`body` as text; null where `body` is null or not valid UTF-8. For LIKE, RLIKE and JSON"
    ),
    "segment": _constant("segment", "name of the commitlog file"),
    "tiered": MessageColumn(
        pa.bool_(),
        ColumnSource.HEAD,
        make.tiered,
        "whether the message is only in tiered storage ([tiered.md](tiered.md)): then `physical_offset` and `segment` are those of its "
        "queue's log there",
    ),
    "corrupt_record": MessageColumn(
        pa.binary(),
        ColumnSource.HEAD,
        lambda chunk: pa.nulls(len(chunk), pa.binary()),
        "mode `PERMISSIVE`: the first 64 KiB of a damaged range; null in a message ([recovery.md](recovery.md))",
    ),
    "corrupt_reason": MessageColumn(
        pa.string(),
        ColumnSource.HEAD,
        make.corrupt_reason,
        "mode `PERMISSIVE`: the reason of the damage; `checksum`, `body` or `properties` in a message with that fault, else null",
    ),
}
COLUMNS: dict[str, MessageColumn] = _DEFAULT | _ON_REQUEST
DEFAULT_COLUMNS = tuple(_DEFAULT)

CORRUPT_RECORD = "corrupt_record"
HEADS = "heads"
VIEWED = ("body", "stored_body")
"""The columns that can be views."""
_NOT_HEADS = ("body", "properties", "stored_body", "body_text", "corrupt_record", "corrupt_reason")


def projected(columns: str | Iterable[str] | None, corrupt_name: str | None = None) -> tuple[str, ...]:
    """Resolve requested columns: None is the default columns, `*` all, `heads` all without bodies and properties.

    `corrupt_name`: the user's name for `corrupt_record`, which is then always included.
    """
    if corrupt_name is not None and corrupt_name in COLUMNS and corrupt_name != CORRUPT_RECORD:
        raise SchemaError(say("column taken", name=corrupt_name))
    names = _projected(columns, corrupt_name)
    return names if corrupt_name is None or CORRUPT_RECORD in names else (*names, CORRUPT_RECORD)


def _projected(columns: str | Iterable[str] | None, corrupt_name: str | None) -> tuple[str, ...]:
    if columns is None:
        return DEFAULT_COLUMNS
    names = [name.strip() for name in columns.split(",")] if isinstance(columns, str) else list(columns)
    if names == [HEADS]:
        return tuple(name for name in COLUMNS if name not in _NOT_HEADS)
    return selected([CORRUPT_RECORD if name == corrupt_name else name for name in names], COLUMNS)


def schema_of(names: Iterable[str], corrupt_name: str | None = None, viewed: Collection[str] = ()) -> pa.Schema:
    """The Arrow schema of these columns, all nullable. `viewed`: those that are views."""
    return _schema_of(tuple(names), corrupt_name, frozenset(viewed))


@lru_cache(64)  # a read asks for that of its columns in each of its parts
def _schema_of(names: tuple[str, ...], corrupt_name: str | None, viewed: frozenset[str]) -> pa.Schema:
    types = ((name, pa.binary_view() if name in viewed else COLUMNS[name].type) for name in names)
    return pa.schema([pa.field(corrupt_name or name if name == CORRUPT_RECORD else name, kind) for name, kind in types])


def properties_of(names: Iterable[str], predicate: Predicate) -> set[str]:
    """The single properties that these columns and these conditions are made from."""
    conditions = list(predicate.columns())
    columns = (COLUMNS[name] for name in (*names, *(condition.name for condition in conditions)))
    return {name for column in columns for name in column.singles} | {
        condition.key for condition in conditions if condition.key is not None
    }
