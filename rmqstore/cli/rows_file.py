"""Rows in one file: Parquet, Arrow, JSON lines or CSV, as the name says. It appears complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rmqstore.cli.spoken import in_words

if TYPE_CHECKING:
    import pyarrow as pa

    from native_reader import Store
    from native_reader.export.formats import Writer

_FORMATS = {".parquet": "parquet", ".arrow": "arrow", ".jsonl": "jsonl", ".json": "jsonl", ".csv": "csv"}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_TEXT = ("jsonl", "csv")
_AT_ONCE = 16 << 20
"""Bytes of rows that are written at once: a row group of Parquet."""


def _format_of(path: Path) -> tuple[str, str | None]:
    """The format and the compression that the name says."""
    compression = _COMPRESSIONS.get(path.suffix)
    format_ = _FORMATS.get(Path(path.stem).suffix if compression else path.suffix)
    if format_ is None or (compression and format_ not in _TEXT):
        raise click.BadParameter(in_words("no format of name", path=str(path)), click.get_current_context(), param_hint="--output")
    return format_, compression


def is_text(path: Path) -> bool:
    """Whether the format is one of text, which has few types."""
    return _format_of(path)[0] in _TEXT


def write_rows(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], store: Store) -> int:
    """Write the rows to a new file, then rename it. Returns how many there are."""
    import pyarrow as pa

    from native_reader.errors import ExportError, OptionError
    from native_reader.export.formats import FORMATS
    from native_reader.export.target import refuse_inside
    from native_reader.sentences import say, words_of

    name, compression = _format_of(path)
    refuse_inside(str(path), store.stores)
    if path.exists() and not path.is_file():
        raise OptionError(say("output not a file", path=str(path)))
    _check_types(name, schema, path)
    path = path.resolve() if path.is_symlink() else path
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.touch(exist_ok=False)  # before the rows are read, which may take hours
        with pa.output_stream(str(part), compression=None) as sink:
            count = _fill(FORMATS[name].writer(sink, schema, compression or FORMATS[name].compressions[0], False), batches)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not path.parent.is_dir():  # /proc exists, but no file can be made in it
            raise ExportError(say("output without folder", path=str(path), parent=str(path.parent))) from error
        if error.filename is None and not error.errno:  # of the read
            raise
        raise ExportError(say("file not written", path=str(path), why=words_of(error))) from error
    finally:
        with suppress(OSError):
            part.unlink()
    return count


def _check_types(name: str, schema: pa.Schema, path: Path) -> None:
    """Refuse a column that the format cannot have, as pyarrow's Parquet has no interval and no union, before a row is read."""
    import pyarrow as pa

    from native_reader.errors import OptionError
    from native_reader.export.formats import FORMATS
    from native_reader.sentences import say

    format_ = FORMATS[name]
    for field in schema:
        try:
            format_.writer(pa.BufferOutputStream(), pa.schema([field]), format_.compressions[0], False).close()
        except pa.ArrowNotImplementedError:
            raise OptionError(say("column not in format", path=str(path), name=repr(field.name), type=str(field.type))) from None


def _fill(writer: Writer, batches: Iterable[pa.RecordBatch]) -> int:
    count, size, waiting = 0, 0, list[Any]()
    for batch in batches:
        count, size = count + len(batch), size + batch.nbytes
        waiting.append(batch)
        if size >= _AT_ONCE:
            writer.write(waiting)
            size, waiting = 0, []
    if waiting:
        writer.write(waiting)
    writer.close()
    return count
