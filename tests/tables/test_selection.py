"""Columns and conditions of the tables other than messages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from support.stores import files_of, in_memory, log_of

import native_reader as nr
from native_reader.columns.projection import Projection
from native_reader.columns.spec import KEYS_TYPE, PROPERTIES_TYPE, TIMESTAMP, ColumnSpec
from native_reader.tables import TABLES
from native_reader.tables.table import Table, TableRequest
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.memory import MemoryStorage
from native_reader.text import size_of

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
ROWS: list[dict[str, Any]] = [
    {"name": "a", "number": 1, "share": 0.5, "flag": True, "time": NOON, "keys": ["x", "y"], "pairs": {"k": "v"}, "small": 7},
    {"name": "b", "number": -2, "share": -1e-3, "flag": False, "time": NOON.replace(hour=13), "keys": [], "pairs": {}, "small": -7},
    {"name": "100%", "number": None, "share": None, "flag": None, "time": None, "keys": None, "pairs": None, "small": None},
]
COLUMNS = {
    "name": ColumnSpec(pa.string(), ""),
    "number": ColumnSpec(pa.int64(), ""),
    "share": ColumnSpec(pa.float64(), ""),
    "flag": ColumnSpec(pa.bool_(), ""),
    "time": ColumnSpec(TIMESTAMP, ""),
    "keys": ColumnSpec(KEYS_TYPE, ""),
    "pairs": ColumnSpec(PROPERTIES_TYPE, ""),
    "small": ColumnSpec(pa.int16(), ""),
    "span": ColumnSpec(pa.duration("us"), ""),
}


class Recorder:
    """A table of ROWS as one part, which records the columns that planning and reading are asked for."""

    def __init__(self) -> None:
        self.planned: list[tuple[str, ...] | None] = []
        self.read: list[tuple[str, ...]] = []

    def parts(self, request: TableRequest) -> list[list[dict[str, object]]]:
        self.planned.append(None if request.columns is None else tuple(request.columns))
        return [ROWS]

    def rows(self, part: list[dict[str, object]], projection: Projection) -> list[dict[str, object]]:
        self.read.append(projection.columns)
        return part

    def batches(self, part: list[dict[str, object]], projection: Projection) -> Iterator[pa.RecordBatch]:
        rows = self.rows(part, projection)
        for begin in range(0, len(rows), 2):
            yield pa.RecordBatch.from_pylist(rows[begin : begin + 2], pa.schema([(name, spec.type) for name, spec in COLUMNS.items()]))


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    made = Recorder()
    monkeypatch.setitem(TABLES, "of_rows", Table("of_rows", COLUMNS, made.parts, made.rows))
    monkeypatch.setitem(TABLES, "of_batches", Table("of_batches", COLUMNS, made.parts, batches=made.batches))
    return made


@pytest.fixture
def memory() -> MemoryStorage:
    return in_memory(files_of(log_of(30)))


@pytest.fixture
def store(memory: MemoryStorage) -> nr.Store:
    return nr.open(memory.url)


CONDITIONS = [
    ("number = 1", ["a"]),
    ("number < 5L", ["a", "b"]),
    ("small IN (7, 8)", ["a"]),
    ("NOT number = 1", ["b"]),
    ("share > 0", ["a"]),
    ("share = 0.5 OR share = -1e-3", ["a", "b"]),
    ("share BETWEEN -.5 AND 1", ["a", "b"]),
    ("share IN (1, 0.5)", ["a"]),
    ("flag = TRUE", ["a"]),
    ("FALSE = flag", ["b"]),
    ("flag != true OR flag IS NULL", ["b", "100%"]),
    ("flag IN (TRUE, FALSE)", ["a", "b"]),
    ("time > TIMESTAMP '2026-01-05 12:30:00Z'", ["b"]),
    ("time <= TIMESTAMP '2026-01-05 20:00:00'", ["a"]),
    ("name LIKE '%\\%'", ["100%"]),
    ("name RLIKE '^[ab]$'", ["a", "b"]),
    ("array_contains(keys, 'y')", ["a"]),
    ("NOT array_contains(keys, 'y')", ["b"]),
    ("pairs['k'] = 'v'", ["a"]),
    ("pairs['k'] IS NULL", ["b", "100%"]),
    ("pairs IS NULL", ["100%"]),
    ("span IS NULL AND NAME != 'b'", ["a", "100%"]),
    ("FALSE", []),
]


@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize("table", ["of_rows", "of_batches"])
@pytest.mark.parametrize(("where", "names"), CONDITIONS)
def test_a_condition_selects_its_rows(store: nr.Store, table: str, where: str, names: list[str]) -> None:
    scan = store.table(table, where=where, time_zone="Asia/Shanghai", columns="name")
    assert scan.to_table().to_pylist() == [{"name": name} for name in names]
    assert scan.to_table(jobs=2).num_rows == scan.count_rows() == scan.count_rows(jobs=2) == len(names)
    assert all(len(batch) for batch in scan.to_batches())


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"columns": "nam"}, nr.SchemaError, "column 'nam' does not exist. Did you mean 'name'? All columns: name, number, share, "),
        ({"columns": ["name", "name"]}, nr.SchemaError, "column 'name' is requested twice"),
        ({"columns": "heads"}, nr.SchemaError, "column 'heads' does not exist."),
        ({"where": "numbr = 1"}, nr.PredicateError, "where: column 'numbr' does not exist. Did you mean 'number'? All columns: name, "),
        ({"where": "topic = 'a'"}, nr.PredicateError, "where: column 'topic' does not exist."),
        ({"where": "number = 0.5"}, nr.PredicateError, "where: 0.5 is not an integer"),
        ({"where": "share = '1'"}, nr.PredicateError, "where: share is a number, but is compared with text. Types are not converted: "),
        ({"where": "flag > FALSE"}, nr.PredicateError, "where: flag is true or false, which has no order. Use = or !="),
        ({"where": "flag = 1"}, nr.PredicateError, "where: flag is true or false, but is compared with an integer. "),
        ({"where": "name = TRUE"}, nr.PredicateError, "where: name is text, but is compared with true or false. "),
        ({"where": "keys = 'x'"}, nr.PredicateError, "where: keys is an array of texts, which cannot be compared. Use array_contains(keys"),
        ({"where": "pairs = 'x'"}, nr.PredicateError, "where: pairs is a map, which cannot be compared. Use pairs['name'] = 'x'"),
        ({"where": "span = 1"}, nr.PredicateError, "where: span is of a type without conditions, which cannot be compared. Use df.filter"),
        ({"topic": "a"}, nr.OptionError, "table=of_rows does not support the option 'topic'."),
    ],
)
@pytest.mark.usefixtures("recorder")
def test_what_cannot_be_selected(store: nr.Store, options: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as raised:
        store.table("of_rows", **options)
    assert str(raised.value).startswith(said)


def test_a_table_learns_which_columns_are_needed(store: nr.Store, recorder: Recorder) -> None:
    scan = store.table("of_rows", columns=["share", "name"], where="number = 1 AND share > 0")
    assert scan.schema == pa.schema([("share", pa.float64()), ("name", pa.string())])
    assert scan.to_table().to_pylist() == [{"share": 0.5, "name": "a"}]
    assert (recorder.planned, recorder.read) == ([("share", "name", "number")], [("share", "name", "number")])
    assert scan.count_rows() == 1
    assert recorder.read[1:] == [("number", "share")]
    assert store.table("of_rows").count_rows() == 3
    assert store.table("of_rows", columns="*").to_table().schema.names == list(COLUMNS)


@pytest.mark.usefixtures("recorder")
def test_explain_says_what_is_computed(store: nr.Store) -> None:
    (files,) = store.stores
    size = size_of(sum(each.size for each in files.segments))
    scan = store.table("of_rows", columns="name,time,keys,pairs,small,span", where="number = 1", time_zone="UTC")
    assert str(scan.explain()).splitlines() == [
        "of_rows where number = 1",
        " times without a time zone are in UTC",
        " columns       name, time, keys, pairs, small, span",
        " for where     number",
        " not computed  share, flag",
        f" {files.uri}: {len(files.segments)} segments, {size}",
        " reads         1 part, without a search for the ends of the logs",
    ]
    assert store.table("damage").explain().to_dict()["ends_of_logs"] is True
    assert " where number = 1. Not read yet." in repr(scan)


def test_segments_are_listed_without_reading_records() -> None:
    memory = in_memory(files_of(log_of(30)))
    faulty = FaultyStorage(memory.url)
    store = nr.open(f"{faulty.url}/store")
    whole = store.table("segments").to_table()
    scan = store.table("segments", columns="state,segment", where="size > 0")
    scan.explain()
    before = faulty.bytes_read
    assert scan.to_table().equals(whole.select(["state", "segment"]))
    assert faulty.bytes_read == before
    assert store.table("segments", where="records > 0", columns="records").to_table().equals(whole.select(["records"]))
    assert store.table("segments", columns="broker_end").to_table().equals(whole.select(["broker_end"]))


def test_values_of_conditions_read_like_sql(store: nr.Store, recorder: Recorder) -> None:
    found = store.table("of_rows", where="flag = TRUE AND share < 1").explain().to_dict()["predicate"]
    assert found == "flag = TRUE AND share < 1.0"
    assert recorder.read == []


LITERALS = {
    pa.string(): "'x'",
    pa.int32(): "3",
    pa.int64(): "3",
    pa.float64(): "0.5",
    pa.bool_(): "TRUE",
    TIMESTAMP: "TIMESTAMP '2026-01-31 12:00:00Z'",
}


@pytest.mark.parametrize("table", TABLES)
def test_every_column_can_be_in_a_condition(store: nr.Store, table: str) -> None:
    """Also a name that SQL uses for something else."""
    for name in TABLES[table].columns:
        for where in (f"{name} IS NULL", f"NOT ({name} IS NOT NULL)"):
            assert store.table(table, where=where).explain().to_dict()["predicate"] in (f"{name} IS NULL", f"NOT NOT {name} IS NULL")
        value = LITERALS.get(TABLES[table].columns[name].type)
        for where in (f"{name} = {value}", f"{value} = {name}") if value else ():
            assert f" where {name} = " in repr(store.table(table, where=where))
