"""The engine against Java: every column of every message in twelve stores of real brokers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from support.against_java import NOT_IN_JAVA, OUR_TIMES, SCHEMA
from support.compare import FIRST_MS, LAST_MS, rows_of
from support.golden import EXPLAINED, KINDS, STORES, Golden, differences, opened
from support.plain_decoder import Row, walk

DEFAULT = tuple(SCHEMA)[:13]
Get = Callable[[str], Golden]


@pytest.fixture(scope="module")
def read(golden_store: Get) -> Callable[[str], list[Row]]:
    """All columns of a store's messages, read once."""
    tables: dict[str, list[Row]] = {}

    def get(name: str) -> list[Row]:
        if name not in tables:
            tables[name] = rows_of(opened(golden_store(name)).messages(columns="*").to_table())
        return tables[name]

    return get


@pytest.mark.parametrize("name", STORES)
def test_every_column_of_every_message_is_as_in_java(golden_store: Get, read: Callable[[str], list[Row]], name: str) -> None:
    store, rows = golden_store(name), read(name)
    columns = [column for column in SCHEMA if column not in NOT_IN_JAVA]
    # In log order, and no other rows: compaction/ has only copies of these.
    assert len(rows) == len(store.expected_rows)
    assert differences(store.expected_rows, rows, columns, (*EXPLAINED, OUR_TIMES), Counter()) == []
    assert Counter(row["kind"] for row in rows) == KINDS[name]
    assert {row[column] for row in rows for column in ("corrupt_record", "corrupt_reason")} == {None}


def test_every_explanation_is_needed(golden_store: Get, read: Callable[[str], list[Row]]) -> None:
    used: Counter[str] = Counter()
    for name in STORES:
        differences(golden_store(name).expected_rows, read(name), SCHEMA.keys() - NOT_IN_JAVA, (*EXPLAINED, OUR_TIMES), used)
    assert set(used) == {explanation.why for explanation in (*EXPLAINED, OUR_TIMES)}


@pytest.mark.parametrize("name", STORES)
def test_the_plain_decoder_agrees(golden_store: Get, read: Callable[[str], list[Row]], name: str) -> None:
    """Also where Java gives no result: records that do not inflate."""
    store = golden_store(name)
    plain = walk(store.segments, store.framing).rows
    for row in plain:
        row |= {time: None for time in OUR_TIMES.columns if not FIRST_MS <= row[time] <= LAST_MS}
    added = ("store", "segment", "tiered", "corrupt_record", "corrupt_reason")
    assert [{column: row[column] for column in row if column not in added} for row in read(name)] == [
        {column: row[column] for column in SCHEMA if column not in added} for row in plain
    ]


def test_the_schemas(golden_store: Get) -> None:
    store = opened(golden_store("v4-lmq"))
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
    run = opened(store).messages(columns="*").run()
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


def test_any_cuts_give_the_rows_of_one_pass(golden_store: Get, read: Callable[[str], list[Row]]) -> None:
    """Inner batches, blanks and IPv6 across cuts. The property tests do the same with generated stores."""
    for name in ("v5-inproc", "v5-dledger"):
        for size in (200, 5_000):
            scan = opened(golden_store(name)).messages(columns="*", max_partition_bytes=size)
            assert rows_of(scan.to_table()) == read(name)
