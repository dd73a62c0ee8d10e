"""The columns of `messages`: each is described once, here. And which of them a read returns."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from native_reader.columns import makers as make
from native_reader.columns.spec import KEYS_TYPE, PROPERTIES_TYPE, TIMESTAMP, MessageColumn, Source
from native_reader.errors import SchemaError, did_you_mean, option_name
from native_reader.layout.properties import DELAY, KEYS, REAL_TOPIC, TAGS, UNIQ_KEY

HEAD, TEXT, PROPERTIES, BODY = Source
COLUMNS: dict[str, MessageColumn] = {
    "topic": MessageColumn(
        pa.string(),
        TEXT,
        make.topic,
        "the topic that stores the message. Half, delayed and retried messages are stored in the broker's own topics",
        default=True,
    ),
    "queue_id": MessageColumn(pa.int32(), HEAD, make.number_of("queue_id"), "the queue of that topic", default=True),
    "queue_offset": MessageColumn(
        pa.int64(),
        HEAD,
        make.number_of("queue_offset"),
        "the offset in that queue; 0 for prepared and rolled back messages of brokers 4.0 to 4.2, which are in no queue",
        default=True,
        of_message=True,
    ),
    "tags": MessageColumn(
        pa.string(), PROPERTIES, make.property_of(TAGS), "the property `TAGS`; null when absent", default=True, single=TAGS
    ),
    "keys": MessageColumn(
        KEYS_TYPE, PROPERTIES, make.keys, "the property `KEYS` split at spaces; null when absent", default=True, single=KEYS
    ),
    "msg_id": MessageColumn(
        pa.string(),
        PROPERTIES,
        make.msg_id,
        "the id in the Java client: `uniq_key`, else `offset_msg_id`",
        default=True,
        single=UNIQ_KEY,
    ),
    "body": MessageColumn(
        pa.binary(),
        BODY,
        make.bodies_of("body"),
        "decompressed. Empty stays empty; null when it cannot be decompressed, or would be larger than `max_decompressed_bytes`",
        default=True,
    ),
    "properties": MessageColumn(
        PROPERTIES_TYPE,
        PROPERTIES,
        make.properties,
        "all properties; empty, never null, when there are none. The broker's own checksum is not included",
        default=True,
    ),
    "born_timestamp": MessageColumn(
        TIMESTAMP,
        HEAD,
        make.time_of("born_timestamp"),
        "when the producer created the message, by its clock, in milliseconds; null outside the years 1 to 9999",
        default=True,
    ),
    "store_timestamp": MessageColumn(
        TIMESTAMP,
        HEAD,
        make.time_of("store_timestamp"),
        "when the broker stored the message, by its clock, in milliseconds; null outside the years 1 to 9999. This clock can jump back",
        default=True,
    ),
    "kind": MessageColumn(pa.string(), TEXT, make.kind, "the kind of message, see [below](#kinds)", default=True),
    "physical_offset": MessageColumn(
        pa.int64(),
        HEAD,
        make.number_of("physical_offset"),
        "the offset of the record in the log; in DLedger logs the offset after the entry's header",
        default=True,
    ),
    "store": MessageColumn(pa.string(), HEAD, make.constant_of("store"), "URI of the store's root", default=True),
    "born_host": MessageColumn(pa.string(), TEXT, make.born_host, "address and port of the producer"),
    "store_host": MessageColumn(pa.string(), TEXT, make.store_host, "address and port of the broker that stored it"),
    "reconsume_times": MessageColumn(pa.int32(), HEAD, make.number_of("reconsume_times"), "how often consumers retried it"),
    "flag": MessageColumn(
        pa.int32(),
        HEAD,
        make.number_of("flag"),
        "a number set by the producer; in an inner batch, that of the message",
        of_message=True,
    ),
    "sys_flag": MessageColumn(pa.int32(), HEAD, make.number_of("sys_flag"), "as on disk, see [format.md](format.md#flags)"),
    "prepared_transaction_offset": MessageColumn(
        pa.int64(), HEAD, make.number_of("prepared_transaction_offset"), "of a committed message: the physical offset of its half message"
    ),
    "body_crc": MessageColumn(
        pa.int32(),
        HEAD,
        make.number_of("body_crc"),
        "CRC-32 of the stored body, with its highest bit cleared; in an inner batch, of the record's whole body",
    ),
    "record_size": MessageColumn(
        pa.int32(),
        HEAD,
        make.number_of("size"),
        "size of the record in bytes; equal for all messages of an inner batch, so add it only where `inner_index` is null or 0",
    ),
    "uniq_key": MessageColumn(
        pa.string(),
        PROPERTIES,
        make.property_of(UNIQ_KEY),
        "the property `UNIQ_KEY`: the id set by the producer, else by the broker; null when absent",
        single=UNIQ_KEY,
    ),
    "offset_msg_id": MessageColumn(pa.string(), TEXT, make.offset_msg_id, "the broker's id: store host and physical offset in hexadecimal"),
    "inner_index": MessageColumn(
        pa.int32(), HEAD, make.inner_index, "the index in an inner batch, from 0; null outside an inner batch", of_message=True
    ),
    "stored_body": MessageColumn(
        pa.binary(), BODY, make.bodies_of("stored_body"), "the body as stored on disk; in an inner batch, the part of this message"
    ),
    "body_size": MessageColumn(pa.int32(), HEAD, make.number_of("body_size"), "size of `stored_body` in bytes", of_message=True),
    "magic": MessageColumn(pa.int32(), HEAD, make.number_of("magic"), "-626843481 in V1 records, -626843477 in V2 records"),
    "real_topic": MessageColumn(
        pa.string(),
        PROPERTIES,
        make.property_of(REAL_TOPIC),
        "the property `REAL_TOPIC`: the target topic of a half or delayed message. Delivered copies may keep it; null when absent",
        single=REAL_TOPIC,
    ),
    "delay_level": MessageColumn(
        pa.int32(), PROPERTIES, make.delays, "the property `DELAY`; null when absent or not a number", single=DELAY
    ),
    "segment": MessageColumn(pa.string(), HEAD, make.constant_of("segment"), "name of the commitlog file"),
    "corrupt_record": MessageColumn(
        pa.binary(),
        HEAD,
        make.nulls,
        "mode `PERMISSIVE`: the first 64 KiB of a damaged range; null in a message ([recovery.md](recovery.md))",
    ),
    "corrupt_reason": MessageColumn(
        pa.string(),
        HEAD,
        make.corrupt_reason,
        "mode `PERMISSIVE`: the reason of the damage; `checksum` or `body` in a message with that fault, else null",
    ),
}

CORRUPT_RECORD = "corrupt_record"
DEFAULT_COLUMNS = tuple(name for name, spec in COLUMNS.items() if spec.default)
HEADS = "heads"
ALL = "*"
_NOT_HEADS = ("body", "properties", "stored_body", "corrupt_record", "corrupt_reason")


def projected(columns: str | Iterable[str] | None, corrupt_name: str | None = None) -> tuple[str, ...]:
    """Resolve requested columns: None is the default columns, `*` all, `heads` all without bodies and properties.

    `corrupt_name`: the user's name for `corrupt_record`, which is then always included.
    """
    if corrupt_name is not None and corrupt_name in COLUMNS and corrupt_name != CORRUPT_RECORD:
        raise SchemaError(f"{option_name('column_name_of_corrupt_record')}={corrupt_name} is the name of another column. Choose a new name")
    names = _projected(columns, corrupt_name)
    return names if corrupt_name is None or CORRUPT_RECORD in names else (*names, CORRUPT_RECORD)


def _projected(columns: str | Iterable[str] | None, corrupt_name: str | None) -> tuple[str, ...]:
    if columns is None:
        return DEFAULT_COLUMNS
    names = [name.strip() for name in columns.split(",")] if isinstance(columns, str) else list(columns)
    names = [CORRUPT_RECORD if name == corrupt_name else name for name in names]
    if names == [ALL]:
        return tuple(COLUMNS)
    if names == [HEADS]:
        return tuple(name for name in COLUMNS if name not in _NOT_HEADS)
    for name in names:
        if name not in COLUMNS:
            raise SchemaError(f"column '{name}' does not exist.{did_you_mean(name, COLUMNS)} All columns: {', '.join(COLUMNS)}")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SchemaError(f"column '{twice}' is requested twice")
    return tuple(names)


def schema_of(names: Iterable[str], corrupt_name: str | None = None) -> pa.Schema:
    """The Arrow schema of these columns, all nullable."""
    return pa.schema([pa.field(corrupt_name or name if name == CORRUPT_RECORD else name, COLUMNS[name].type) for name in names])
