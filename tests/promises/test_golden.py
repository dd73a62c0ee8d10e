"""The engine against Java: every column of every message of twelve stores that real brokers wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.golden import EXPLAINED, KINDS, MISSING, STORES, Explanation, Golden, differences
from support.plain_decoder import Row, walk

import native_reader as nr

TEXTS = pa.list_(pa.string())
TIME = pa.timestamp("us", tz="UTC")
SCHEMA = {  # the columns, typed again
    "topic": pa.string(), "queue_id": pa.int32(), "queue_offset": pa.int64(), "tags": pa.string(), "keys": TEXTS, "msg_id": pa.string(),
    "body": pa.binary(), "properties": pa.map_(pa.string(), pa.string()), "born_timestamp": TIME, "store_timestamp": TIME,
    "kind": pa.string(), "physical_offset": pa.int64(), "store": pa.string(),
    "born_host": pa.string(), "store_host": pa.string(), "reconsume_times": pa.int32(), "flag": pa.int32(), "sys_flag": pa.int32(),
    "prepared_transaction_offset": pa.int64(), "body_crc": pa.int32(), "record_size": pa.int32(), "uniq_key": pa.string(),
    "offset_msg_id": pa.string(), "inner_index": pa.int32(), "stored_body": pa.binary(), "body_size": pa.int32(), "magic": pa.int32(),
    "real_topic": pa.string(), "delay_level": pa.int32(), "segment": pa.string(), "corrupt_record": pa.binary(),
    "corrupt_reason": pa.string(),
}  # fmt: skip
DEFAULT = tuple(SCHEMA)[:13]
NOT_JAVAS = ("kind", "corrupt_record", "corrupt_reason")

FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999  # the years 0001 to 9999
OUR_OWN = Explanation(
    "Spark's timestamps and Python's end with the year 9999: null beyond",
    ("born_timestamp", "store_timestamp"),
    lambda java, ours: java is not MISSING and not FIRST_MS <= java <= LAST_MS and ours is None,
)

Get = Callable[[str], Golden]


def open_store(store: Golden) -> nr.Store:
    """Where the log does not lie in `commitlog`, someone must say so: the broker knows it from its configuration."""
    if store.name == "v5-multipath":
        return nr.open(str(store.root), store_path_commit_log=",".join(map(str, store.log_folders)))
    return nr.open(str(store.root))


def rows_of(table: pa.Table) -> list[Row]:
    """A table as plain rows; times as milliseconds, because Python's own cannot hold all of them."""
    columns: dict[str, list[Any]] = {}
    for name in table.column_names:
        column = table[name]
        if column.type == TIME:
            ticks = column.cast(pa.int64()).to_pylist()
            assert all(tick is None or tick % 1000 == 0 for tick in ticks), name
            columns[name] = [None if tick is None else tick // 1000 for tick in ticks]
        elif column.type == SCHEMA["properties"]:
            columns[name] = [_map(pairs) for pairs in column.to_pylist()]
        else:
            columns[name] = column.to_pylist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _map(pairs: list[tuple[str, str]] | None) -> dict[str, str] | None:
    if pairs is None:
        return None
    assert len(dict(pairs)) == len(pairs), "a key twice in one map"
    return dict(pairs)


@pytest.fixture(scope="module")
def read(golden_store: Get) -> Callable[[str], list[Row]]:
    """All columns of a store's messages, read once."""
    tables: dict[str, list[Row]] = {}

    def get(name: str) -> list[Row]:
        if name not in tables:
            tables[name] = rows_of(open_store(golden_store(name)).messages(columns="*").to_table())
        return tables[name]

    return get


@pytest.mark.parametrize("name", STORES)
def test_every_column_of_every_message_is_javas(golden_store: Get, read: Callable[[str], list[Row]], name: str) -> None:
    store, rows = golden_store(name), read(name)
    columns = [column for column in SCHEMA if column not in NOT_JAVAS]
    # In log order and no row more: what lies in compaction/ are copies of these.
    assert len(rows) == len(store.expected_rows)
    assert differences(store.expected_rows, rows, columns, (*EXPLAINED, OUR_OWN), Counter()) == []
    assert Counter(row["kind"] for row in rows) == KINDS[name]
    assert {row[column] for row in rows for column in ("corrupt_record", "corrupt_reason")} == {None}


def test_every_explanation_is_needed(golden_store: Get, read: Callable[[str], list[Row]]) -> None:
    used: Counter[str] = Counter()
    for name in STORES:
        differences(golden_store(name).expected_rows, read(name), SCHEMA.keys() - NOT_JAVAS, (*EXPLAINED, OUR_OWN), used)
    assert set(used) == {explanation.why for explanation in (*EXPLAINED, OUR_OWN)}


@pytest.mark.parametrize("name", STORES)
def test_the_plain_decoder_says_the_same(golden_store: Get, read: Callable[[str], list[Row]], name: str) -> None:
    """Also where Java says nothing: records that do not inflate."""
    store = golden_store(name)
    plain = walk(store.segments, store.framing).rows
    for row in plain:
        row |= {time: None for time in OUR_OWN.columns if not FIRST_MS <= row[time] <= LAST_MS}
    added = ("store", "segment", "corrupt_record", "corrupt_reason")
    assert [{column: row[column] for column in row if column not in added} for row in read(name)] == [
        {column: row[column] for column in SCHEMA if column not in added} for row in plain
    ]


def test_the_schemas(golden_store: Get) -> None:
    store = open_store(golden_store("v4-lmq"))
    for columns, names in {None: DEFAULT, "*": tuple(SCHEMA)}.items():
        scan = store.messages() if columns is None else store.messages(columns=columns)
        want = pa.schema([(name, SCHEMA[name]) for name in names])
        assert scan.schema == want
        assert scan.to_table().schema == want


@pytest.mark.parametrize("name", STORES)
def test_store_and_segment(golden_store: Get, read: Callable[[str], list[Row]], name: str) -> None:
    store, rows = golden_store(name), read(name)
    assert {row["store"] for row in rows} == {"file://" + str(store.root)}
    files = {path.name: path for folder in store.log_folders for path in folder.iterdir()}
    for row in rows:
        position = row["physical_offset"] - int(row["segment"])
        assert 0 <= position < files[row["segment"]].stat().st_size
    assert "compaction" not in {path.parent.name for path in files.values()}


@pytest.mark.parametrize("name", STORES)
def test_every_byte_is_accounted_for(golden_store: Get, name: str) -> None:
    store = golden_store(name)
    plain = walk(store.segments, store.framing)
    run = open_store(store).messages(columns="*").run()
    rows = sum(batch.num_rows for batch in run)
    assert rows == len(plain.rows)
    assert list(run.report.damage) == []
    counts = Counter(int(Path(truth["file"]).name) for truth in store.lines("truth"))
    wanted = [
        (account.records, account.blank, account.damage, account.unwritten, 0, len(data), counts[base])
        for account, (base, data) in zip(plain.segments, store.segments, strict=True)
    ]
    segments = sorted(run.report.segments, key=lambda each: each.base)  # by folder, then by offset
    assert [
        (each.record_bytes, each.blank_bytes, each.damage_bytes, each.unwritten_bytes, each.unread_bytes, each.size, each.records)
        for each in segments
    ] == wanted


def test_one_pass_is_one_pass_in_any_cut(golden_store: Get, read: Callable[[str], list[Row]]) -> None:
    """Inner batches, blanks and IPv6 across cuts; the property tests do this to made-up stores."""
    for name in ("v5-inproc", "v5-dledger"):
        for size in (200, 5_000):
            scan = open_store(golden_store(name)).messages(columns="*", max_partition_bytes=size)
            assert rows_of(scan.to_table()) == read(name)
