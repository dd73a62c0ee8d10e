"""The columns of `messages`: names, types, and which ones are included by default."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa

from native_reader.errors import SchemaError, nearest

TIMESTAMP = pa.timestamp("us", tz="UTC")
KEYS_TYPE = pa.list_(pa.field("element", pa.string()))
PROPERTIES_TYPE = pa.map_(pa.string(), pa.string())


class ColumnSpec(NamedTuple):
    """One column. `default`: included if no columns are named; `what`: the description in the docs."""

    type: pa.DataType
    default: bool
    what: str


COLUMNS: dict[str, ColumnSpec] = {
    "topic": ColumnSpec(pa.string(), True, "the topic it lies in: for delayed or half messages the broker's own"),
    "queue_id": ColumnSpec(pa.int32(), True, "the queue"),
    "queue_offset": ColumnSpec(pa.int64(), True, "its number in the queue; 0 for prepared and rolled back ones of 4.0 to 4.2"),
    "tags": ColumnSpec(pa.string(), True, "the property TAGS, null when absent"),
    "keys": ColumnSpec(KEYS_TYPE, True, "the property KEYS split at spaces, null when absent"),
    "msg_id": ColumnSpec(pa.string(), True, "what the client shows: uniq_key, else offset_msg_id"),
    "body": ColumnSpec(pa.binary(), True, "decompressed; null when it cannot be"),
    "properties": ColumnSpec(PROPERTIES_TYPE, True, "all properties, empty when there are none; the broker's __CRC32# is left out"),
    "born_timestamp": ColumnSpec(TIMESTAMP, True, "the producer's clock; null outside the years 1 to 9999"),
    "store_timestamp": ColumnSpec(TIMESTAMP, True, "the broker's clock; null outside the years 1 to 9999"),
    "kind": ColumnSpec(pa.string(), True, "normal, half, op, delay, retry, dlq ...: decided by topic and sys_flag"),
    "physical_offset": ColumnSpec(pa.int64(), True, "its place in the log; with store and inner_index it identifies the row"),
    "store": ColumnSpec(pa.string(), True, "URI of the store's root"),
    "born_host": ColumnSpec(pa.string(), False, "address and port of the producer"),
    "store_host": ColumnSpec(pa.string(), False, "address and port of the broker"),
    "reconsume_times": ColumnSpec(pa.int32(), False, "how often a consumer gave it back"),
    "flag": ColumnSpec(pa.int32(), False, "a number of the producer's"),
    "sys_flag": ColumnSpec(pa.int32(), False, "as on disk"),
    "prepared_transaction_offset": ColumnSpec(pa.int64(), False, "of a committed message: where its half lies"),
    "body_crc": ColumnSpec(pa.int32(), False, "CRC-32 of the stored body, without its highest bit"),
    "record_size": ColumnSpec(pa.int32(), False, "bytes of the whole record in the log"),
    "uniq_key": ColumnSpec(pa.string(), False, "the property UNIQ_KEY: the id that the producer gave"),
    "offset_msg_id": ColumnSpec(pa.string(), False, "the id made of store host and physical offset"),
    "inner_index": ColumnSpec(pa.int32(), False, "the place in an inner batch, null outside of one"),
    "stored_body": ColumnSpec(pa.binary(), False, "the body as on disk"),
    "body_size": ColumnSpec(pa.int32(), False, "bytes of stored_body"),
    "magic": ColumnSpec(pa.int32(), False, "tells V1 from V2 records"),
    "real_topic": ColumnSpec(pa.string(), False, "the property REAL_TOPIC, which delivered copies may keep"),
    "delay_level": ColumnSpec(pa.int32(), False, "the property DELAY"),
    "segment": ColumnSpec(pa.string(), False, "name of the commitlog file"),
    "corrupt_record": ColumnSpec(pa.binary(), False, "mode PERMISSIVE: the first 64 KiB of a damaged range; null in a message"),
    "corrupt_reason": ColumnSpec(pa.string(), False, "mode PERMISSIVE: why; null in a message that is whole"),
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
        raise SchemaError(f"column_name_of_corrupt_record={corrupt_name} is the name of another column")
    found = _projected(columns, corrupt_name)
    return found if corrupt_name is None or CORRUPT_RECORD in found else (*found, CORRUPT_RECORD)


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
            raise SchemaError(f"column '{name}' does not exist.{nearest(name, COLUMNS)} All columns: {', '.join(COLUMNS)}")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SchemaError(f"column '{twice}' is asked for twice")
    return tuple(names)


def schema_of(names: Iterable[str], corrupt_name: str | None = None) -> pa.Schema:
    """The Arrow schema of these columns, all nullable."""
    told = {CORRUPT_RECORD: corrupt_name} if corrupt_name is not None else {}
    return pa.schema([pa.field(told.get(name, name), COLUMNS[name].type) for name in names])
