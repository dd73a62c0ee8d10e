"""The formats of exported files: how batches become bytes, and columns become values of text formats."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import array, leaves, listed
from native_reader.columns.schema import COLUMNS

_SPREAD = (
    *("body", "stored_body", "body_text", "corrupt_record", "keys", "properties"),
    *("msg_id", "uniq_key", "offset_msg_id", "origin_msg_id"),
)
"""Columns whose values hardly repeat: a dictionary or statistics of them cost time and save nothing."""
_REPEATED = [*(name for name in COLUMNS if name not in _SPREAD and pa.types.is_string(COLUMNS[name].type)), "properties.key_value.key"]
_WITH_STATISTICS = [name for name in COLUMNS if name not in _SPREAD]


class Writer(ABC):
    """Writes batches of one schema to one file."""

    @abstractmethod
    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Write these batches; in Parquet, as one row group."""

    @abstractmethod
    def close(self) -> None:
        """Write what belongs to the end of the file. The sink stays open."""


class Format(NamedTuple):
    """A format. `compressions`: the possible ones, the default first. `meaning`: its text in the docs."""

    suffix: str
    compressions: tuple[str, ...]
    writer: Callable[[Any, pa.Schema, str, bool], Writer]
    meaning: str


class _Parquet(Writer):
    def __init__(self, sink: Any, schema: pa.Schema, compression: str, text_bodies: bool) -> None:
        from pyarrow import parquet

        # Pages stay at their default of 1 MiB: larger than the buffer of the sink, so they are not copied into it.
        self._writer = parquet.ParquetWriter(
            sink, schema, compression=compression, use_dictionary=_REPEATED, write_statistics=_WITH_STATISTICS
        )

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        table = pa.Table.from_batches(batches)
        self._writer.write_table(table, row_group_size=max(1, len(table)))

    def close(self) -> None:
        self._writer.close()


class _Arrow(Writer):
    def __init__(self, sink: Any, schema: pa.Schema, compression: str, text_bodies: bool) -> None:
        codec = None if compression == "none" else compression
        self._writer = pa.ipc.new_file(sink, schema, options=pa.ipc.IpcWriteOptions(compression=codec))

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        for batch in batches:
            self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()


class _Text(Writer):
    """Formats of text: bytes to a sink, compressed or not."""

    def __init__(self, sink: Any, schema: pa.Schema, compression: str, text_bodies: bool) -> None:
        self._text_bodies = text_bodies
        self._sink = sink if compression == "none" else pa.CompressedOutputStream(sink, compression)
        self._compressed = self._sink is not sink

    def close(self) -> None:
        if self._compressed:
            self._sink.close()


class _Lines(_Text):
    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        for batch in batches:
            names = batch.schema.names
            rows = zip(*(plain_values(column, self._text_bodies) for column in batch.columns), strict=True)
            self._sink.write("".join(f"{encode(dict(zip(names, row, strict=True)))}\n" for row in rows).encode())


class _Csv(_Text):
    def __init__(self, sink: Any, schema: pa.Schema, compression: str, text_bodies: bool) -> None:
        from pyarrow import csv

        super().__init__(sink, schema, compression, text_bodies)
        self._writer = csv.CSVWriter(self._sink, plain_schema(schema))

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        for batch in batches:
            self._writer.write_batch(plain_batch(batch, self._text_bodies))

    def close(self) -> None:
        self._writer.close()
        super().close()


FORMATS = {
    "parquet": Format("parquet", ("zstd", "none", "snappy", "lz4", "gzip"), _Parquet, "every column in its own type"),
    "arrow": Format("arrow", ("none", "zstd", "lz4"), _Arrow, "an Arrow IPC file (Feather 2): every column in its own type"),
    "jsonl": Format("jsonl", ("none", "gzip", "zstd"), _Lines, "one JSON object per line: bytes as base64, times as ISO 8601 text in UTC"),
    "csv": Format("csv", ("none", "gzip", "zstd"), _Csv, "with a header: as jsonl, and keys and properties as JSON text"),
}
"""By name, as in the option `to`."""
TEXT_FORMATS = ("jsonl", "csv")
_SUFFIXES = {"gzip": ".gz", "zstd": ".zst"}


def suffix_of(name: str, compression: str) -> str:
    """The end of the file names. Only text files show their compression there, as their readers expect."""
    format_ = FORMATS[name]
    return f".{format_.suffix}{_SUFFIXES.get(compression, '') if name in TEXT_FORMATS else ''}"


def plain_values(column: pa.Array, text_bodies: bool) -> list[Any]:
    """The values for JSON. Bytes are base64, or with `text_bodies` UTF-8 text with U+FFFD for other bytes."""
    if pa.types.is_binary(column.type):
        return [None if value is None else _of_bytes(value, text_bodies) for value in column.to_pylist()]
    if pa.types.is_timestamp(column.type):
        return _times(column).to_pylist()  # type: ignore[no-any-return]
    values = listed(column)
    return [_plain_value(value, text_bodies) for value in values] if any(map(_is_odd, leaves(column.type))) else values


def _is_odd(kind: pa.DataType) -> bool:
    """Whether JSON may lack values of that type."""
    return bool(pa.types.is_binary(kind) or pa.types.is_timestamp(kind) or pa.types.is_floating(kind))


def _plain_value(value: Any, text_bodies: bool) -> Any:
    """A value as JSON has it, which has no NaN and no infinity."""
    match value:
        case list():
            return [_plain_value(each, text_bodies) for each in value]
        case dict():
            return {key: _plain_value(each, text_bodies) for key, each in value.items()}
        case bytes():
            return _of_bytes(value, text_bodies)
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
        case float():
            return value if isfinite(value) else None
    return value


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
    values = column.to_pylist() if pa.types.is_floating(column.type) else plain_values(column, text_bodies)
    if not pa.types.is_binary(column.type):
        encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        values = [None if value is None else encode(value) for value in values]
    return array(values, pa.string())


def _of_bytes(value: bytes, text_bodies: bool) -> str:
    return value.decode(errors="replace") if text_bodies else b64encode(value).decode()


def _times(column: pa.Array) -> pa.Array:
    """ISO 8601 text in UTC: 2026-01-31T12:00:00.123000Z. Without a zone in the type, because the text of one needs its data base."""
    texts = pc.replace_substring(column.cast(pa.timestamp("us")).cast(pa.string()), " ", "T")
    return pc.binary_join_element_wise(texts, "Z", "")
