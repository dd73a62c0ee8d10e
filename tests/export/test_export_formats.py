"""Each format holds the rows of the scan, as far as it can; the docs say how far."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import dataset, parquet
from support.exported import data_files, expected_rows, exported_rows
from support.stores import Files, files_of, in_memory, log_of, message

import native_reader as nr
from native_reader.export.formats import FORMATS, suffix_of
from native_reader.testing.compression import COMPRESSED
from native_reader.testing.records import INNER_BATCH, InnerMessage, Message, pack_inner, pack_properties

EVERY_WAY = [(to, compression) for to, format_ in FORMATS.items() for compression in format_.compressions]


def rare_messages() -> list[Message]:
    """Nulls, empty values, text that formats must quote, bytes that are not text, times at the ends of the calendar, a batch."""
    inner = [InnerMessage(b"one", pack_properties({"TAGS": "x"})), InnerMessage(b"", b"")]
    return [
        message(1, properties=b"", body=b""),
        message(2, topic="订单", body="支付 ✓".encode(), properties=pack_properties({"a": 'quote " comma , \\ line\nend\ttab', "b": " "})),
        message(3, body=bytes(range(256))),
        message(4, body=zlib.compress(b"z" * 5000), sys_flag=COMPRESSED),
        message(5, body=b"not compressed", sys_flag=COMPRESSED),
        message(6, store_timestamp=-62_135_596_800_000, born_timestamp=253_402_300_799_999),
        message(7, store_timestamp=2**62, properties=pack_properties({"KEYS": "=1+1 @x", "k\u2028": "\u202e"})),
        message(8, topic=b"\xff\xfe no text"),
        message(9, body=pack_inner(inner), sys_flag=INNER_BATCH, properties=pack_properties({"INNER_NUM": "2"})),
    ]


@pytest.fixture(scope="module")
def store() -> Iterator[nr.Store]:
    memory = in_memory(files_of(log_of([*rare_messages(), *map(message, range(20, 60))], segment_size=8192)))
    yield nr.open(memory.url)
    assert memory  # its files exist until here


@pytest.mark.parametrize(("to", "compression"), EVERY_WAY)
def test_every_format_holds_every_column(store: nr.Store, tmp_path: Path, to: str, compression: str) -> None:
    scan = store.messages(columns="*", max_partition_bytes=3000)
    exported = scan.export(tmp_path, to, compression=compression)
    names = {f"part-{task:05}{suffix_of(to, compression)}" for task in range(len(exported.files))}
    assert {path.name for path in data_files(tmp_path)} == names
    table = scan.to_table()
    assert len(table) == exported.rows == 50
    assert exported_rows(tmp_path, to, scan.schema) == expected_rows(table)


def test_other_tools_read_the_folder_of_a_parquet_export(store: nr.Store, tmp_path: Path) -> None:
    scan = store.messages(max_partition_bytes=3000)
    scan.export(tmp_path)
    assert dataset.dataset(tmp_path).to_table().sort_by("physical_offset").equals(scan.to_table())


@pytest.mark.parametrize("to", ["jsonl", "csv"])
def test_bodies_can_be_text(store: nr.Store, tmp_path: Path, to: str) -> None:
    scan = store.messages(columns="physical_offset,body", where="body IS NOT NULL")
    scan.export(tmp_path, to, text_bodies=True)
    texts = [value.decode(errors="replace") for value in scan.to_table()["body"].to_pylist()]
    schema = pa.schema([("physical_offset", pa.int64()), ("body", pa.string())])
    assert [row["body"] for row in exported_rows(tmp_path, to, schema)] == texts
    assert "支付 ✓" in texts


@pytest.mark.parametrize("to", FORMATS)
def test_an_export_without_rows_has_the_columns(store: nr.Store, tmp_path: Path, to: str) -> None:
    scan = store.messages(columns="topic,body,properties", where="queue_id = 77")
    exported = scan.export(tmp_path, to)
    assert (exported.rows, len(exported.files)) == (0, 1)
    (path,) = data_files(tmp_path)
    if to == "csv":
        assert path.read_text() == '"topic","body","properties"\n'
    elif to == "jsonl":
        assert path.read_bytes() == b""
    else:
        assert exported_rows(tmp_path, to, scan.schema) == []


def test_a_store_without_segments_can_be_exported(tmp_path: Path) -> None:
    files: Files = {"store/commitlog/": b"", "store/checkpoint": b""}
    memory = in_memory(files)
    assert nr.open(f"{memory.url}/store").messages(columns="topic").export(tmp_path).rows == 0
    assert dataset.dataset(tmp_path).schema.names == ["topic"]


def test_row_groups_are_large(store: nr.Store, tmp_path: Path) -> None:
    store.messages().export(tmp_path)
    (path,) = data_files(tmp_path)
    assert parquet.read_metadata(path).num_row_groups == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"to": "parqet"}, "to='parqet' is not a format. Did you mean 'parquet'?"),
        ({"to": None}, "to=None is not a format"),
        ({"compression": "gzp"}, "compression='gzp' is not possible with to=parquet. Possible: zstd, none, snappy, lz4, gzip"),
        ({"to": "csv", "compression": "snappy"}, "compression='snappy' is not possible with to=csv"),
        ({"text_bodies": True}, "text_bodies is only for to=jsonl and to=csv"),
        ({"partition_by": "body"}, "partition_by: 'body' is not a partition column"),
        ({"partition_by": "topics"}, "Did you mean 'topic'?"),
        ({"partition_by": ["topic", "topic"]}, "partition_by names 'topic' twice"),
        ({"jobs": 0}, "jobs must be an integer from 1"),
        ({"progress": 5}, "progress must be True, False or a function"),
    ],
)
def test_wrong_arguments_are_errors_before_anything_is_written(
    store: nr.Store, tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    target = tmp_path / "out"
    with pytest.raises(nr.OptionError) as raised:
        store.messages().export(target, **options)
    assert words in str(raised.value)
    assert not data_files(tmp_path)


def test_partition_columns_cannot_be_all_columns(store: nr.Store, tmp_path: Path) -> None:
    with pytest.raises(nr.OptionError, match="partition_by names every column"):
        store.messages(columns="topic").export(tmp_path / "out", partition_by="topic")


def test_json_lines_end_only_at_newlines(store: nr.Store, tmp_path: Path) -> None:
    exported = store.messages(max_partition_bytes="1g").export(tmp_path, "jsonl")
    (path,) = data_files(tmp_path)
    lines = path.read_bytes().split(b"\n")
    assert len(lines) == exported.rows + 1
    assert all(isinstance(json.loads(line), dict) for line in lines[:-1])
