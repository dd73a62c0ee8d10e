"""Reads what an export wrote, with the tools of others where they exist, and compares it with the rows of the scan."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from native_reader.export.writers import value_of

Rows = list[dict[str, Any]]


def data_files(folder: Path) -> list[Path]:
    """The files with rows: all that do not begin with an underscore, in no folder that does."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in paths if not any(part.startswith("_") for part in path.relative_to(folder).parts)]


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "_summary.json").read_text())
    return found


def json_lines(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]]


def exported_rows(folder: Path, to: str, schema: pa.Schema) -> Rows:
    """All rows in the order of the log, in the types of the schema; the values of folders are columns again."""
    cut, found = summary(folder)["cut_names"], []
    for path in data_files(folder):
        values = dict(value_of(part, cut) for part in path.relative_to(folder).parts[:-1])
        typed = {name: _typed(value, schema.field(name).type if name in schema.names else pa.string()) for name, value in values.items()}
        found += [row | typed for row in _rows_of(path, to, schema)]
    return in_order(found)


def expected_rows(table: pa.Table) -> Rows:
    """The rows of a table as Python has them, in the order of the log."""
    return in_order([_with_dicts(row, table.schema) for row in table.to_pylist()])


def in_order(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: (row["physical_offset"], row.get("inner_index") or 0))


def _rows_of(path: Path, to: str, schema: pa.Schema) -> Rows:
    match to:
        case "parquet":
            table = parquet.ParquetFile(path).read()
        case "arrow":
            table = pa.ipc.open_file(path).read_all()
        case "jsonl":
            rows = [json.loads(line) for line in _content(path).decode().split("\n")[:-1]]
            return [{name: _from_json(value, schema.field(name).type) for name, value in row.items()} for row in rows]
        case _:
            types = {each.name: each.type if pa.types.is_integer(each.type) else pa.string() for each in schema}
            options = csv.ConvertOptions(column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""])
            read = csv.read_csv(
                io.BytesIO(_content(path)), parse_options=csv.ParseOptions(newlines_in_values=True), convert_options=options
            )
            return [{name: _from_csv(value, schema.field(name).type) for name, value in row.items()} for row in read.to_pylist()]
    assert table.schema == pa.schema([field for field in schema if field.name in table.schema.names])
    return [_with_dicts(row, table.schema) for row in table.to_pylist()]


def _content(path: Path) -> bytes:
    with pa.input_stream(str(path), compression="detect") as file:
        content: bytes = file.read()
    return content


def _with_dicts(row: Mapping[str, Any], schema: pa.Schema) -> dict[str, Any]:
    return {name: dict(value) if value is not None and pa.types.is_map(schema.field(name).type) else value for name, value in row.items()}


def _from_json(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_binary(kind):
        return base64.b64decode(value, validate=True)
    return datetime.fromisoformat(value) if pa.types.is_timestamp(kind) else value


def _from_csv(value: Any, kind: pa.DataType) -> Any:
    if value is not None and (pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_boolean(kind)):
        return json.loads(value)
    return _from_json(value, kind)


def _typed(value: str | None, kind: pa.DataType) -> Any:
    return int(value) if value is not None and pa.types.is_integer(kind) else value
