"""`Store.sql`: the rows are those of DuckDB over the whole tables, and what is read is what `messages` would read."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from support.stores import in_memory

import native_reader as nr
from native_reader.columns.schema import COLUMNS
from native_reader.conditions import type_name
from native_reader.frames.statement import Statement
from native_reader.scan.progress import Watch
from native_reader.testing.memory import MemoryFile, MemoryStorage
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

KINDS = {name: type_name(spec.type) for name, spec in COLUMNS.items()}


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> MemoryStorage:
    root = tmp_path_factory.mktemp("sql") / "store"
    write_store(root, StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=1 << 17, max_hash_slot_num=100, max_index_num=400))
    return in_memory({f"store/{path.relative_to(root)}": path.read_bytes() for path in root.rglob("*") if path.is_file()})


@pytest.fixture(scope="module")
def store(storage: MemoryStorage) -> nr.Store:
    return nr.open(f"{storage.url}/store")


@pytest.fixture(scope="module")
def table(store: nr.Store) -> pa.Table:
    return store.messages(columns="*").to_table()


@pytest.fixture(scope="module")
def key(table: pa.Table) -> str:
    """A key of the last messages that have one."""
    return str(next(keys[0] for keys in reversed(table["keys"].to_pylist()) if keys))


@pytest.fixture
def bytes_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], int]:
    """A function that counts the bytes of the log which a call reads."""
    count, read = 0, MemoryFile._read

    def counted(file: MemoryFile, offset: int, view: memoryview) -> int:
        nonlocal count
        got = read(file, offset, view)
        count += got if "/commitlog/" in file.uri else 0
        return got

    def bytes_of(call: Callable[[], object]) -> int:
        nonlocal count
        count = 0
        call()
        return count

    monkeypatch.setattr(MemoryFile, "_read", counted)
    return bytes_of


def rows(store: nr.Store, query: str) -> list[tuple[object, ...]]:
    found = store.sql(query).to_table()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True), key=repr)


CONDITIONS = (
    "list_contains(keys, '{key}')",
    "array_has(m.keys, '{key}') OR queue_offset = 3",
    "'{key}' = ANY(keys)",
    "'{key}' IN keys",
    "list_has_any(keys, ['{key}', 'none'])",
    "NOT list_contains(keys, '{key}')",
    "NOT (list_contains(keys, '{key}') OR topic = 'orders')",
    "list_contains(keys, '{key}') IS NULL",
    "topic = 'orders' AND list_contains(keys, upper('{key}'))",
    "topic IN ('orders', 'clicks') AND NOT queue_id IN (0, 1)",
    "properties['TAGS'] = 'cancelled'",
    "properties['TAGS'] != 'cancelled' OR topic = 'clicks'",
    "properties['no such'] IS NULL AND topic = 'orders'",
    "body_text LIKE '%a%b_%' AND queue_id >= 1",
    "body_text NOT LIKE '%a%'",
    "topic LIKE 'or%' OR topic LIKE '%k_'",
    "topic LIKE 'or$%' ESCAPE '$'",
    "contains(topic, 'der')",
    "contains(keys, '{key}')",
    "topic ILIKE 'ORD%'",
    "queue_id = -1 OR queue_id = 2",
    "queue_id = '2'",
    "tags = topic",
    "tags IS NOT NULL AND tags > 'c'",
    "store_timestamp >= TIMESTAMPTZ '2020-01-01 00:00:00+00' AND topic = 'orders'",
    "topic = 'it''s' OR topic = 'orders'",
    "upper(topic) = 'ORDERS'",
)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_rows_are_those_of_the_whole_table(store: nr.Store, table: pa.Table, key: str, condition: str) -> None:
    query = f"SELECT topic, queue_id, queue_offset FROM messages m WHERE {condition.format(key=key)}"
    with duckdb.connect() as connection:
        expected = connection.register("messages", table).sql(query).fetchall()
    assert rows(store, query) == sorted(expected, key=repr)


STATEMENTS = (
    "SELECT count(*) FROM messages WHERE topic = 'orders' UNION ALL SELECT count(*) FROM messages WHERE list_contains(keys, '{key}')",
    "WITH messages AS (SELECT 1 AS topic) SELECT topic FROM messages WHERE topic = 1",
    "WITH m AS (FROM messages WHERE list_contains(keys, '{key}')) SELECT count(*) FROM m, messages",
    "SELECT 1 FROM messages WHERE list_contains(keys, '{key}') AND queue_id IN (SELECT queue_id FROM messages WHERE topic = 'orders')",
    "SELECT count(*) FROM messages AS m(keys, topic) WHERE topic != 'orders'",
    "SELECT (SELECT count(*) FROM query_table('messages')) FROM messages WHERE list_contains(keys, '{key}')",
    "SELECT count(*) FROM query('FROM messages') WHERE topic = 'orders'",
    "SELECT a.topic FROM messages a LEFT JOIN messages b ON list_contains(b.keys, 'x') WHERE list_contains(a.keys, '{key}')",
    "SELECT upper(topic) AS topic FROM messages WHERE topic = 'orders'",
    "SELECT topic FROM main.messages WHERE list_contains(keys, '{key}')",
)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_rows_of_statements_that_name_a_table_often(store: nr.Store, table: pa.Table, key: str, statement: str) -> None:
    query = statement.format(key=key)
    with duckdb.connect() as connection:
        try:
            expected = sorted(connection.register("messages", table).sql(query).fetchall(), key=repr)
        except duckdb.Error:
            expected = None
    if expected is None:
        with pytest.raises(nr.OptionError, match="sql: "):
            rows(store, query)
    else:
        assert rows(store, query) == expected


def test_conditions_that_duckdb_keeps_reach_the_log(store: nr.Store, key: str, bytes_of: Callable[[Callable[[], object]], int]) -> None:
    whole = bytes_of(lambda: store.messages(columns="topic").to_table())
    by_key = bytes_of(lambda: store.messages(columns="queue_offset,keys", keys=key).to_table())
    assert bytes_of(lambda: rows(store, f"SELECT queue_offset FROM messages WHERE list_contains(keys, '{key}')")) == by_key
    both = f"SELECT queue_offset FROM messages WHERE list_contains(keys, '{key}') OR list_contains(keys, '{key}')"
    assert bytes_of(lambda: store.sql(both, access="trust").to_table()) < whole / 4
    by_topic = bytes_of(lambda: store.messages(topic="clicks", columns="topic").to_table())
    assert bytes_of(lambda: rows(store, "SELECT count(topic) FROM messages WHERE topic = 'clicks'")) == by_topic < whole / 2


def test_a_limit_does_not_read_the_whole_log(store: nr.Store, bytes_of: Callable[[Callable[[], object]], int]) -> None:
    whole = bytes_of(lambda: store.messages(columns="topic").to_table())
    assert bytes_of(lambda: rows(store, "SELECT topic FROM messages LIMIT 5")) < whole / 2
    assert len(rows(store, "SELECT topic FROM messages LIMIT 5")) == 5


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("list_contains(keys, 'a') AND upper(topic) = 'X'", "array_contains(keys, 'a')"),
        ("list_contains(keys, 'a') OR upper(topic) = 'X'", "TRUE"),
        ("NOT list_contains(keys, 'a')", "TRUE"),
        ("NOT topic = 'a'", "NOT topic = 'a'"),
        ("properties['r'] = 'e' AND queue_id = 1", "properties['r'] = 'e' AND queue_id = 1"),
        ("body_text LIKE '%ab%c\\%'", "TRUE"),
        ("body_text LIKE '%ab%c_'", "contains(body_text, 'ab') AND contains(body_text, 'c')"),
        ("other.topic = 'a'", "TRUE"),
        ("queue_id = 99999999999999999999", "TRUE"),
        ("queue_id = '1'", "TRUE"),
    ],
)
def test_what_a_where_means_for_us(where: str, expected: str) -> None:
    assert str(Statement(f"SELECT 1 FROM messages WHERE {where}").condition("messages", KINDS)) == expected


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("SELECT topc FROM messages", "sql: the column 'topc' does not exist. Did you mean 'topic'?"),
        ("SELECT m.topc FROM messages m", "sql: the column 'topc' does not exist. Did you mean 'topic'?"),
        ("FROM mesages", "sql: the table 'mesages' does not exist. Did you mean 'messages'? All tables: messages, damage, "),
        ("FROM '/etc/passwd'", "sql: the table '/etc/passwd' does not exist."),
        ("FROM read_text('/etc/passwd')", "file system operations are disabled by configuration"),
        ("COPY messages TO 'x.csv'", "sql: only a query is possible: SELECT, FROM, "),
        ("SET enable_external_access = true", "sql: only a query is possible"),
        ("ATTACH 'x.db'", "sql: only a query is possible"),
        ("SELECT 1; SELECT 2", "sql: write one query, not several"),
        ("SELCT 1", 'sql: syntax error at or near "SELCT"'),
        ("", "sql='' is no query. Example: SELECT topic, "),
    ],
)
def test_errors_are_short_and_say_what_to_do(store: nr.Store, query: str, text: str) -> None:
    with pytest.raises(nr.OptionError) as raised:
        store.sql(query).to_table()
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("expression", "kind", "then"),
    [
        ("CAST(body_text AS INT)", "Conversion", ". TRY_CAST gives NULL for a value that cannot be converted"),
        ("strptime(body_text, '%Y')", "Invalid Input", ". TRY(expression) gives NULL where an expression fails"),
        ("9223372036854775807 + queue_id + 1", "Out of Range", ". TRY(expression) gives NULL where an expression fails"),
        ("timezone(body_text, store_timestamp)", "Not implemented", ""),
    ],
)
def test_an_error_shows_no_value_of_a_row_and_says_what_to_do(store: nr.Store, expression: str, kind: str, then: str) -> None:
    with pytest.raises(nr.OptionError) as raised:
        store.sql(f"SELECT {expression} FROM messages").to_table()
    assert str(raised.value) == f"sql: {kind} Error; its words may have values of rows, and are not shown{then}"
    if "TRY_" in then:
        store.sql(f"SELECT TRY_{expression} FROM messages").to_table()
    elif then:
        store.sql(f"SELECT TRY({expression}) FROM messages").to_table()


def test_an_error_of_the_read_is_that_of_the_engine(storage: MemoryStorage) -> None:
    segment = sorted(name for name in storage.files if "/commitlog/" in name)[1]
    files, content = dict(storage.files), storage.files[segment]
    storage.files = files | {segment: content[:4096] + bytes(4096) + content[8192:]}
    try:
        store = nr.open(f"{storage.url}/store")
        with pytest.raises(nr.StoreDamaged):
            store.sql("SELECT max(topic) FROM messages").to_table()
        query = store.sql("SELECT max(topic) FROM messages", mode="DROPMALFORMED")
        assert query.to_table().num_rows == 1
        assert [len(run.report.damage) for run in query.runs] == [1]
    finally:
        storage.files = files


def test_columns_have_types_that_others_read(store: nr.Store) -> None:
    query = "SELECT sum(body_size) AS n, sum(body_size) AS n, 1.5 AS d, DATE '2026-01-31' AS day FROM messages"
    assert [str(each.type) for each in store.sql(query).to_table().schema] == ["int64", "int64", "decimal128(2, 1)", "date32[day]"]
    plain = store.sql(query, plain=True).to_table()
    assert [str(each.type) for each in plain.schema] == ["int64", "int64", "double", "string"]
    assert plain.schema.names == ["n", "n_2", "d", "day"]


def test_every_table_can_be_queried(store: nr.Store) -> None:
    for name in nr.api.TABLE_NAMES:
        store.sql(f"SELECT * FROM {name} LIMIT 1").to_table()
    assert {name for (name,) in rows(store, "SHOW TABLES")} >= {"messages", "queues"}
    assert ("topic", "VARCHAR") in [row[:2] for row in rows(store, "DESCRIBE messages")]


def test_without_duckdb_it_says_what_to_install(store: nr.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    said = r"needs the package duckdb, 1\.4 or newer: pip install 'rmqstore-spark\[sql\]'\. The program file and the container image do not"
    with pytest.raises(nr.UseError, match=said):
        store.sql("SELECT 1").to_table()


def test_a_query_needs_no_file_of_its_own(store: nr.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows(store, "SELECT topic FROM messages ORDER BY body")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("condition", ["keys['1'] IS NOT NULL", "topic['1'] IS NOT NULL", "NOT (topic['1'] IS NULL)"])
def test_a_subscript_of_a_text_or_a_list_was_taken_for_a_property(store: nr.Store, table: pa.Table, condition: str) -> None:
    """Of no row was it known to be there."""
    everything = table  # noqa: F841  DuckDB finds it by its name
    expected = duckdb.sql(f"SELECT count(*) FROM everything WHERE {condition}").fetchall()
    assert rows(store, f"SELECT count(*) FROM messages WHERE {condition}") == expected


@pytest.mark.parametrize(
    "expression", ["timezone(body_text, store_timestamp)", "regexp_matches(topic, '[' || body_text)", "error(body_text)"]
)
def test_an_error_showed_a_body(store: nr.Store, expression: str) -> None:
    with pytest.raises(nr.OptionError) as raised:
        store.sql(f"SELECT {expression} FROM messages").to_table()
    assert "body" not in str(raised.value).replace("body_text", "")


def test_two_columns_had_one_name(store: nr.Store) -> None:
    assert store.sql('SELECT 1 a, 2 "a_2", 3 a').to_table().to_pylist() == [{"a": 1, "a_2": 2, "a_3": 3}]


@pytest.mark.parametrize("progress", [False, lambda _: None])
@pytest.mark.parametrize("more", ["", ", messages AS other"])
def test_a_query_that_ended_early_left_a_traceback(store: nr.Store, monkeypatch: pytest.MonkeyPatch, progress: Watch, more: str) -> None:
    """The read was closed, reported its progress once more, and that raised an error which Python could only print."""
    dropped: list[object] = []
    monkeypatch.setattr("native_reader.scan.progress._EVERY", 0)
    monkeypatch.setattr(sys, "unraisablehook", lambda each: dropped.append(each.exc_value))
    with store.sql(f"SELECT messages.topic FROM messages{more}", progress=progress).batches() as (_, batches):
        next(batches)
    del batches
    gc.collect()
    assert dropped == []


def test_the_parser_wrote_a_line_of_its_own(store: nr.Store, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(nr.OptionError, match="only a query is possible"):
        store.sql("EXPLAIN SELECT 1").to_table()
    assert caplog.records == []
