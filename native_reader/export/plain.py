"""Columns as the values that text formats have: text, numbers, lists and objects."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def plain_values(column: pa.Array, text_bodies: bool) -> list[Any]:
    """The values for JSON. Bytes are base64, or with `text_bodies` UTF-8 text with U+FFFD for other bytes."""
    if pa.types.is_binary(column.type):
        return [None if value is None else _of_bytes(value, text_bodies) for value in column.to_pylist()]
    if pa.types.is_timestamp(column.type):
        return _times(column).to_pylist()  # type: ignore[no-any-return]
    if pa.types.is_map(column.type):
        return [None if pairs is None else dict(pairs) for pairs in column.to_pylist()]
    return column.to_pylist()  # type: ignore[no-any-return]


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of `plain_batch`: numbers and text."""
    return pa.schema([pa.field(field.name, field.type if _is_plain(field.type) else pa.string()) for field in schema])


def plain_batch(batch: pa.RecordBatch, text_bodies: bool) -> pa.RecordBatch:
    """The batch with numbers and text only: lists and maps are JSON text."""
    columns = [column if _is_plain(column.type) else _as_text(column, text_bodies) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=plain_schema(batch.schema))


def _is_plain(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_integer(kind))


def _as_text(column: pa.Array, text_bodies: bool) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        return _times(column)
    values = plain_values(column, text_bodies)
    if not pa.types.is_binary(column.type):
        encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        values = [None if value is None else encode(value) for value in values]
    return pa.array(values, pa.string())


def _of_bytes(value: bytes, text_bodies: bool) -> str:
    return value.decode(errors="replace") if text_bodies else b64encode(value).decode()


def _times(column: pa.Array) -> pa.Array:
    """ISO 8601 text in UTC: 2026-01-31T12:00:00.123000Z. Without a zone in the type, because the text of one needs its data base."""
    texts = pc.replace_substring(column.cast(pa.timestamp("us")).cast(pa.string()), " ", "T")
    return pc.binary_join_element_wise(texts, "Z", "")
