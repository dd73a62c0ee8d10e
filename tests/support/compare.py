"""Compares the engine with the plain decoder: rows, damage and the bytes of every segment."""

from __future__ import annotations

import reprlib
from typing import Any

import pyarrow as pa
import pytest

import native_reader as nr
from native_reader.records.damages import REASONS, Report
from native_reader.testing.logs import CommitLog
from native_reader.testing.memory import MemoryStorage
from native_reader.testing.records import Message
from support.plain_decoder import Log, Row, both_walks

FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999  # the years 0001 to 9999
NOT_IN_PLAIN = ("store", "segment", "tiered", "corrupt_record", "corrupt_reason")
Segments = list[tuple[int, bytes]]


class InMemory:
    """A store in memory; it exists as long as this object."""

    def __init__(self, segments: Segments, framing: str = "plain") -> None:
        folder = "s/commitlog" if framing == "plain" else "s/dledger-n0/data"
        self._memory = MemoryStorage({f"{folder}/": b""} | {f"{folder}/{base:020d}": content for base, content in segments})
        self.path = f"{self._memory.url}/s"

    def messages(self, **options: Any) -> nr.Scan:
        return nr.open(self.path).messages(**options)


def rows_of(table: pa.Table) -> list[Row]:
    """A table as dicts, with times in milliseconds: Python's datetime cannot hold all of them."""
    columns: dict[str, list[Any]] = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_timestamp(column.type):
            ticks = column.cast(pa.int64()).to_pylist()
            assert all(tick is None or tick % 1000 == 0 for tick in ticks), name
            columns[name] = [None if tick is None else tick // 1000 for tick in ticks]
        elif pa.types.is_map(column.type):
            columns[name] = [_map(pairs) for pairs in column.to_pylist()]
        else:
            columns[name] = column.to_pylist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _map(pairs: list[tuple[str, str]] | None) -> dict[str, str] | None:
    if pairs is None:
        return None
    assert len(dict(pairs)) == len(pairs), "duplicate key in a map"
    return dict(pairs)


def expected_rows(plain: Log) -> list[Row]:
    """The plain decoder's rows, with times outside the years 1 to 9999 as null, like the engine's."""
    rows = []
    for row in plain.rows:
        times = {name: row[name] if FIRST_MS <= row[name] <= LAST_MS else None for name in ("born_timestamp", "store_timestamp")}
        rows.append(row | times)
    return rows


def read(segments: Segments, framing: str, most: int, jobs: int = 1, mode: str = "FAILFAST") -> tuple[pa.Table, Report]:
    store = InMemory(segments, framing)
    scan = store.messages(columns="*", max_partition_bytes=most, fail_on_data_loss=False, mode=mode)
    run = scan.run(jobs)
    table = pa.Table.from_batches(run, scan.schema)
    table.validate(full=True)
    return table, run.report


def assert_same_rows(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    """Compare rows; the message names the different columns and shortens their values."""
    assert [row["physical_offset"] for row in ours] == [row["physical_offset"] for row in theirs]
    for one, other in zip(ours, theirs, strict=True):
        different = {
            name: (one.get(name), other.get(name)) for name in one.keys() | other.keys() if one.get(name, ...) != other.get(name, ...)
        }
        assert not different, f"at {one['physical_offset']} (ours, plain): {reprlib.repr(different)}"


def same(segments: Segments, framing: str, most: int = 1 << 27, jobs: int = 1) -> pa.Table:
    """Assert that engine and plain decoder agree in every mode on rows, damage and byte counts, with splits of `most` bytes."""
    strict, plain = both_walks([each for each in segments if each[1]], framing)
    if strict.damage:
        with pytest.raises(nr.StoreDamaged, match=f"at offset {strict.damage[0][1]:,} "):
            read(segments, framing, 1 << 40)
    elif plain.damage:
        assert_same_rows(rows_of(read(segments, framing, most)[0].drop_columns(list(NOT_IN_PLAIN))), expected_rows(strict))
    if plain.damage:
        permissive, _ = read(segments, framing, most, jobs, "PERMISSIVE")
        assert_damage_rows(permissive, plain, dict(segments))
    table, report = read(segments, framing, most, jobs, "DROPMALFORMED" if plain.damage else "FAILFAST")
    identities = table.select(["store", "physical_offset", "inner_index"]).to_pylist()
    assert len({tuple(each.values()) for each in identities}) == len(table)
    rows = [{name: value for name, value in row.items() if name not in NOT_IN_PLAIN} for row in rows_of(table)]
    assert_same_rows(rows, expected_rows(plain))
    accounts = [(each.base, each.record_bytes, each.blank_bytes, each.damage_bytes, each.unwritten_bytes) for each in report.segments]
    assert accounts == [tuple(each) for each in plain.segments]
    assert all(each.unread_bytes == 0 for each in report.segments)
    assert [(int(each.segment.rpartition("/")[2]), each.start, each.end) for each in report.damage] == plain.damage
    records = {row["physical_offset"] - (48 if framing == "dledger" else 0) for row in plain.rows}
    for each in report.damage:
        assert each.reason in REASONS
        assert each.description
        assert each.after == (each.end if each.end in records - dict(segments).keys() else None)
        assert each.before is None or each.before in records
    return table


def assert_damage_rows(table: pa.Table, plain: Log, contents: dict[int, bytes]) -> None:
    """Damage in PERMISSIVE mode is a row in offset order, with the first 64 KiB of its bytes."""
    rows = table.to_pylist()
    damage = [row for row in rows if row["corrupt_record"] is not None]
    assert [(row["physical_offset"], row["physical_offset"] + row["record_size"]) for row in damage] == [each[1:] for each in plain.damage]
    for row, (base, start, end) in zip(damage, plain.damage, strict=True):
        assert row["corrupt_record"] == contents[base][start - base : end - base][: 64 << 10]
        assert row["corrupt_reason"] in REASONS
        filled = {name for name, value in row.items() if value is not None}
        assert filled == {"physical_offset", "record_size", "store", "segment", "tiered", "corrupt_record", "corrupt_reason"}
    assert [row["physical_offset"] for row in rows] == sorted(row["physical_offset"] for row in rows)
    whole = [row for row in rows if row["corrupt_record"] is None]
    assert [row["physical_offset"] for row in whole] == [row["physical_offset"] for row in plain.rows]
    assert {row["corrupt_reason"] for row in whole} <= {None, "body", "properties"}
    assert all(row["body"] is None for row in whole if row["corrupt_reason"] == "body")
    for row in whole:
        if row["corrupt_reason"] == "properties" and row.get("inner_index") is None:
            end = row["physical_offset"] + row["record_size"] - 1
            base = max(each for each in contents if each <= end)
            assert contents[base][end - base] == 0


def segments_of(*messages: Message, size: int = 1 << 16) -> Segments:
    """A log of those messages; its last segment ends with the last of them."""
    log = CommitLog(size)
    for message in messages:
        log.append(message)
    return log.segments(preallocated=False)


def table_of(segments: Segments, **options: Any) -> pa.Table:
    store = InMemory(segments)
    return store.messages(**options).to_table()
