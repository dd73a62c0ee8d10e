"""The index in RocksDB of small stores, written as a broker 5.4.0+ does. It follows the format and does not use the reader."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import rocksdict

from native_reader.layout.properties import parse
from native_reader.testing.logs import Placed
from support.indexed_stores import keys_of
from support.stores import Files

HOUR = 3_600_000


def indexed_in_database(
    placed: Iterable[Placed], *, end: int | None = None, more: dict[bytes, bytes] | None = None, family: str = "default"
) -> Files:
    """The files of the database with the rows of these records, and with `more` rows. `end`: the last indexed offset."""
    rows: dict[bytes, bytes] = {}
    last = 0
    for each in placed:
        rows |= _rows_of(each)
        last = each.offset
    rows[b"lastOffsetPy"] = struct.pack(">q", last if end is None else end)
    with TemporaryDirectory() as folder:
        database = rocksdict.Rdict(folder, rocksdict.Options(raw_mode=True))
        into = database if family == "default" else database.create_column_family(family, rocksdict.Options(raw_mode=True))
        for key, value in (rows | (more or {})).items():
            into[key] = value
        database.close()
        return {f"store/rocksdbstore/{path.name}": path.read_bytes() for path in Path(folder).iterdir() if path.suffix != ".json"}


def _rows_of(placed: Placed) -> dict[bytes, bytes]:
    """None without UNIQ_KEY."""
    said, sent = parse(placed.message.properties), placed.message
    uniq_key, time = said.get("UNIQ_KEY", ""), sent.store_timestamp
    if not uniq_key or not keys_of(placed):
        return {}
    words = [*(f"K@{word}@" for word in said.get("KEYS", "").split(" ") if word), "U@"]
    words += [f"T@{said['TAGS']}@"] if said.get("TAGS") else []
    start, end = struct.pack(">q", time // HOUR * HOUR), struct.pack(">q", placed.offset)
    return {start + f"@{sent.topic}@{word}{uniq_key}@".encode() + end: struct.pack(">q", time) for word in words}
