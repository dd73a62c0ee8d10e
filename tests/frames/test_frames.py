"""Lazy frames of Polars and datasets for DuckDB: the rows are those of the whole table, and what is read is what `messages` would read."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.stores import in_memory

import native_reader as nr
from native_reader.columns.projection import Projection
from native_reader.frames import dataset, polars_frame
from native_reader.frames.implied import Call, Field, Literal, Node, fields_of, implied
from native_reader.plan.plan import Plan
from native_reader.scan.run import Run
from native_reader.testing.memory import MemoryFile, MemoryStorage
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

KINDS = {
    "topic": "text",
    "tags": "text",
    "queue_id": "an integer",
    "store_timestamp": "a timestamp",
    "keys": "an array of texts",
    "body": "bytes",
    "exists": "true or false",
}
SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("tags", pa.string()),
        ("queue_id", pa.int32()),
        ("store_timestamp", pa.timestamp("us", "UTC")),
        ("keys", pa.list_(pa.string())),
        ("body", pa.binary()),
        ("exists", pa.bool_()),
        ("properties", pa.map_(pa.string(), pa.string())),
    ]
)
COLUMNS = "topic,queue_id,queue_offset,tags,keys,body,store_timestamp"
NOON = datetime.datetime(2026, 1, 5, 12, tzinfo=datetime.UTC)
col, field = pl.col, pc.field


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> MemoryStorage:
    root = tmp_path_factory.mktemp("frames") / "store"
    write_store(root, StoreSpec(bytes=1 << 20, mapped_file_size_commit_log=1 << 18, max_hash_slot_num=100, max_index_num=400))
    return in_memory({f"store/{path.relative_to(root)}": path.read_bytes() for path in root.rglob("*") if path.is_file()})


@pytest.fixture(scope="module")
def store(storage: MemoryStorage) -> nr.Store:
    return nr.open(f"{storage.url}/store")


@pytest.fixture(scope="module")
def table(store: nr.Store) -> pa.Table:
    return store.messages(columns=COLUMNS).to_table()


@pytest.fixture
def bytes_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], int]:
    """A function that counts the bytes of the log which a call reads."""
    count = 0
    read = MemoryFile._read

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


def sql(query: str, messages: Any) -> list[tuple[Any, ...]]:
    """The rows of a query on `messages`."""
    with duckdb.connect() as connection:
        return connection.register("messages", messages).sql(query).fetchall()


# What is read


def test_a_query_reads_what_messages_would_read(store: nr.Store, bytes_of: Callable[[Callable[[], object]], int]) -> None:
    asked = bytes_of(lambda: store.messages(topic="clicks", columns="topic").to_table())
    whole = bytes_of(lambda: store.messages(columns="topic").to_table())
    dataset, frame = store.messages().to_pyarrow_dataset(), store.messages().to_polars()
    query = "SELECT topic, count(*) FROM messages WHERE topic = 'clicks' GROUP BY 1"
    by_polars = frame.filter(col("topic") == "clicks").group_by("topic").len()
    assert bytes_of(lambda: sql(query, dataset)) == asked
    assert bytes_of(by_polars.collect) == asked
    assert 2 * asked < whole
    count = store.messages(topic="clicks").count_rows()
    assert sql(query, dataset) == [("clicks", count)]
    assert by_polars.collect().rows() == [("clicks", count)]


def test_only_the_columns_of_a_query_are_made(store: nr.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[tuple[str, ...]]()

    def run(plan: Plan, projection: Projection, *rest: Any) -> Run:
        made.append(projection.columns)
        return Run(plan, projection, *rest)

    monkeypatch.setattr("native_reader.lazy.Run", run)
    dataset, frame = store.messages().to_pyarrow_dataset(), store.messages().to_polars()
    sql("SELECT queue_id FROM messages WHERE tags = 'cancelled'", dataset)
    frame.filter(col("tags") == "cancelled").select("queue_id").collect()
    dataset.to_table(columns={"n": field("queue_offset") + 1}, filter=field("tags") == "cancelled")
    dataset.to_table(columns=["body"])
    dataset.count_rows()
    dataset.count_rows(field("topic") == "orders")
    wanted = [("queue_id", "tags"), ("queue_id", "tags"), ("queue_offset", "tags"), ("body",), ("queue_id",), ("topic",)]
    assert made == wanted


def test_a_limit_reads_the_beginning(store: nr.Store, bytes_of: Callable[[Callable[[], object]], int]) -> None:
    frame, first = store.messages(columns=COLUMNS).to_polars(), store.messages(columns="queue_offset").head(3)
    whole = bytes_of(frame.collect)
    assert bytes_of(frame.head(3).collect) < whole
    assert frame.head(3).select("queue_offset").collect().to_arrow().to_pylist() == first.to_pylist()


def test_a_limit_before_a_condition_is_not_one_after_it(store: nr.Store, table: pa.Table) -> None:
    frame, topics = store.messages(columns=COLUMNS).to_polars(), table.column("topic").to_pylist()[:9]
    assert frame.head(9).filter(col("topic") == "orders").collect().height == topics.count("orders") < 9
    assert frame.filter(col("topic") == "orders").head(9).collect().height == 9


# Conditions

PUSHED: dict[str, tuple[pl.Expr, pc.Expression | None, str]] = {
    "equal": (col("topic") == "orders", field("topic") == "orders", "topic = 'orders'"),
    "mirrored": (pl.lit(2) < col("queue_id"), pc.scalar(2) < field("queue_id"), "queue_id > 2"),
    "a time": (
        col("store_timestamp") >= NOON,
        field("store_timestamp") >= NOON,
        "store_timestamp >= TIMESTAMP '2026-01-05 12:00:00+00:00'",
    ),
    "a time in a text": (
        col("store_timestamp") < pl.lit("2026-01-05T12:00:00Z").str.to_datetime(time_zone="UTC", time_unit="us"),
        None,
        "store_timestamp < TIMESTAMP '2026-01-05 12:00:00+00:00'",
    ),
    "in": (
        col("topic").is_in(["orders", "x"]),
        field("topic").isin(["orders", "x"]),
        "topic IN ('orders', 'x')",
    ),
    "between": (col("queue_id").is_between(1, 2), (field("queue_id") >= 1) & (field("queue_id") <= 2), "queue_id >= 1 AND queue_id <= 2"),
    "or": (
        (col("topic") == "a") | col("tags").is_null(),
        (field("topic") == "a") | field("tags").is_null(),
        "topic = 'a' OR tags IS NULL",
    ),
    "not": (~col("tags").is_in(["a"]), ~field("tags").isin(["a"]), "NOT tags IN ('a')"),
    "bytes": (col("body") == b"\x00", field("body") == b"\x00", "body = X'00'"),
    "keys": (col("keys").list.contains("k"), None, "array_contains(keys, 'k')"),
    "flag": (col("exists") & (col("queue_id") == 1), field("exists") & (field("queue_id") == 1), "exists = TRUE AND queue_id = 1"),
    "a part of AND": (
        (col("topic") == "a") & (col("tags").str.to_uppercase() == "X"),
        (field("topic") == "a") & (pc.utf8_upper(field("tags")) == "X"),
        "topic = 'a'",
    ),
    "a part of OR": (
        (col("topic") == "a") | (col("tags").str.to_uppercase() == "X"),
        (field("topic") == "a") | (pc.utf8_upper(field("tags")) == "X"),
        "TRUE",
    ),
    "a part of NOT AND": (
        ~((col("topic") == "a") & (col("tags").str.to_uppercase() == "X")),
        ~((field("topic") == "a") & (pc.utf8_upper(field("tags")) == "X")),
        "TRUE",
    ),
    "AND that is null with any null": (
        col("topic").is_null() | (col("queue_id") % 2 == 0),
        pc.and_(field("topic") == "a", field("tags") == "b"),
        "TRUE",
    ),
    "a column": (col("topic") == col("tags"), field("topic") == field("tags"), "TRUE"),
    "another type": (col("queue_id") == 1.5, field("queue_id") == 1.5, "TRUE"),
    "a list with null": (col("queue_id").is_in([1, None]), field("queue_id").isin([1, None]), "queue_id IN (1)"),
    "null": (col("topic") == pl.lit(None, pl.String), field("topic") == pa.scalar(None, pa.string()), "TRUE"),
}


def tree_of_arrow(expression: Any) -> Node | None:
    return dataset.tree_of(expression, SCHEMA)


def said(tree: Any) -> str:
    return "TRUE" if tree is None else str(implied(tree, KINDS))


@pytest.mark.parametrize("name", PUSHED)
def test_what_a_condition_becomes(name: str) -> None:
    of_polars, of_arrow, expected = PUSHED[name]
    assert said(polars_frame.tree_of(of_polars)) == expected
    if of_arrow is not None:
        # A null is in a list with a null, for pyarrow; and not in one without, where SQL and Polars say null.
        in_arrow = {"not": "TRUE", "a list with null": "TRUE"}
        assert said(tree_of_arrow(of_arrow)) == in_arrow.get(name, expected)


def test_how_duckdb_writes_in() -> None:
    listed = pc.if_else(field("topic").is_valid(), field("topic").isin(["a", "b"]), pa.scalar(None, pa.bool_()))
    assert said(tree_of_arrow(listed)) == "topic IN ('a', 'b')"
    assert said(tree_of_arrow(~listed)) == "NOT topic IN ('a', 'b')"


def test_what_a_value_must_be() -> None:
    """Also a value of the column's type in another form. A moment between two microseconds is left to the library."""
    times = {unit: pa.array([1_767_614_400 * per], pa.timestamp(unit, "UTC")) for unit, per in (("s", 1), ("ms", 10**3), ("ns", 10**9))}
    for values in times.values():
        node = Call("<", (Field("store_timestamp"), Literal(values)))
        assert str(implied(node, KINDS)) == "store_timestamp < TIMESTAMP '2026-01-05 12:00:00+00:00'"
    refused = [
        ("store_timestamp", pa.array([1], pa.timestamp("ns", "UTC"))),
        ("store_timestamp", pa.array([1], pa.timestamp("us"))),
        ("queue_id", pa.array([2**63], pa.uint64())),
        ("queue_id", pa.array([1, 2])),
        ("topic", pa.array(["a"]).dictionary_encode()),
        ("exists", pa.array([True])),
        ("keys", pa.array(["a"])),
        ("unknown", pa.array(["a"])),
    ]
    for name, values in refused:
        assert str(implied(Call("<", (Field(name), Literal(values))), KINDS)) == "TRUE", name


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """A message of protobuf with small fields."""
    texts = (
        bytes([number << 3, value]) if isinstance(value, int) else bytes([number << 3 | 2, len(value)]) + value for number, value in fields
    )
    return b"".join(texts)


def test_a_part_in_another_form_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that is added to a message can change what it means."""
    column = message((1, message((2, message((1, 2))))), (4, b""))
    known = message((2, column))
    comparison = message((1, 1), (4, message((3, known))), (4, message((3, message((1, message((7, 5))))))))
    file, function = message((2, b"/functions_comparison.yaml")), message((3, message((2, 1), (3, b"gt"))))

    def pushed(call: bytes, *declared: tuple[int, bytes]) -> str:
        plan = message(*declared, (3, message((1, call))))
        monkeypatch.setattr(dataset, "_substrait", lambda *_: plan)
        return said(tree_of_arrow(None))

    declared = ((1, file), (2, function))
    assert pushed(message((3, comparison)), *declared) == "queue_id > 5"
    others = {
        "a field of a call": message((3, comparison + message((9, 1)))),
        "a field of an expression": message((3, comparison), (15, 1)),
        "a kind of expression": message((14, comparison)),
        "an outer reference": message((3, comparison.replace(column, message((1, message((2, message((1, 2))))), (5, b""))))),
        "a nested field": message((3, comparison.replace(b"\x08\x02", b"\x10\x02"))),
        "cut": message((3, comparison[:-1])),
        "a wire type": message((3, comparison)) + b"\x0f",
    }
    assert {name: pushed(call, *declared) for name, call in others.items()} == dict.fromkeys(others, "TRUE")
    assert pushed(message((3, comparison)), (1, message((2, b"/functions_other.yaml"))), (2, function)) == "TRUE"
    assert pushed(message((3, comparison)), (1, file)) == "TRUE"


@pytest.fixture
def pushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The conditions that the scans of a test are narrowed by."""
    narrowed, conditions = nr.Scan._narrowed, list[str]()

    def noted(scan: nr.Scan, columns: Any, condition: Any, stops_early: bool) -> nr.Scan:
        conditions.append(str(condition))
        return narrowed(scan, columns, condition, stops_early)

    monkeypatch.setattr(nr.Scan, "_narrowed", noted)
    return conditions


PLANS = [b"", b"\x1a", b"\xff" * 11, b"\x18\x01", b'{"plan": 3}', ImportError("no Substrait"), pa.ArrowInvalid("no")]


@pytest.mark.parametrize("plan", PLANS)
def test_a_version_of_pyarrow_with_another_form_pushes_nothing(
    store: nr.Store, table: pa.Table, plan: bytes | Exception, pushed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def substrait(*_: object) -> bytes:
        if isinstance(plan, Exception):
            raise plan
        return plan

    monkeypatch.setattr(dataset, "_substrait", substrait)
    messages = store.messages(columns=COLUMNS).to_pyarrow_dataset()
    orders = field("topic") == "orders"
    assert messages.to_table(columns=["queue_offset"], filter=orders) == table.filter(orders).select(["queue_offset"])
    assert sql("SELECT count(*) FROM messages WHERE topic = 'orders'", messages) == [(table.filter(orders).num_rows,)]
    assert set(pushed) == {"TRUE"}


ORDERS = '{"BinaryExpr": {"left": {"Column": "topic"}, "op": "Eq", "right": {"Literal": {"Scalar": {"String": "orders"}}}}}'
FORMS = [
    TypeError("serialize() got an unexpected keyword argument 'format'"),
    pl.exceptions.ComputeError("no"),
    "",
    "[]",
    "[" * 100_000,
    '{"version": 2, "expression": ' + ORDERS + "}",
    ORDERS.replace('"op"', '"nulls": "equal", "op"'),
    ORDERS.replace('{"Column": "topic"}', '{"Column": "topic", "of": "right"}'),
    ORDERS.replace('"topic"', '["topic"]'),
    ORDERS.replace('"Eq"', '"Equals"'),
    ORDERS.replace('"Scalar"', '"Value"'),
    '{"Function": {"input": [{"Column": "topic"}], "function": {"Boolean": "IsNull"}, "options": 1}}',
    '{"Function": {"input": [{"Column": "topic"}, {"Literal": {"Scalar": {"String": "x"}}}], "function": {"Boolean": {"IsIn": {}}}}}',
]


@pytest.mark.parametrize("form", FORMS)
def test_a_version_of_polars_with_another_form_pushes_nothing(
    store: nr.Store, table: pa.Table, form: str | Exception, pushed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def serialize(*_: object, **__: object) -> str:
        if isinstance(form, Exception):
            raise form
        return form

    condition = col("topic") == "orders"
    assert said(polars_frame.tree_of(condition)) == "topic = 'orders'"
    monkeypatch.setattr(type(condition.meta), "serialize", serialize)
    found = store.messages(columns=COLUMNS).to_polars().filter(condition).select("queue_offset").collect()
    assert found.to_arrow() == table.filter(field("topic") == "orders").select(["queue_offset"])
    assert pushed == ["TRUE"]


def test_long_and_deep_conditions() -> None:
    """Substrait of pyarrow doubles with each level, so a long one is left to the library. A list in Polars is one OR."""
    either, nested = field("queue_id") == 0, field("exists")
    for number in range(1, 3000):
        either = either | (field("queue_id") == number)
        nested = ~nested
    assert tree_of_arrow(either) is tree_of_arrow(nested) is None
    assert said(tree_of_arrow((field("topic") == "a") & (field("queue_id") > 1) & field("tags").isin(["a"] * 9))).startswith(
        "topic = 'a' AND"
    )
    assert said(polars_frame.tree_of((col("topic") == "a") | (col("topic") == "b") | (col("topic") == "c"))).count("OR") == 2


# The rows


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> tuple[pl.Expr, Any]:
    """A condition of Polars, and of pyarrow; a part of them cannot be said in our own."""
    shape = draw(st.sampled_from(["leaf", "leaf", "and", "or", "not"])) if depth else "leaf"
    if shape in ("and", "or"):
        (one, one_of_arrow), (other, other_of_arrow) = draw(conditions(depth - 1)), draw(conditions(depth - 1))
        return (one & other, one_of_arrow & other_of_arrow) if shape == "and" else (one | other, one_of_arrow | other_of_arrow)
    if shape == "not":
        one, of_arrow = draw(conditions(depth - 1))
        return ~one, ~of_arrow
    name = draw(st.sampled_from(["topic", "tags", "queue_id"]))
    values = st.integers(0, 4) if name == "queue_id" else st.sampled_from(["orders", "clicks", "cancelled", "标签", ""])
    value, several = draw(values), draw(st.lists(values, min_size=1, max_size=3))
    listed = pc.if_else(field(name).is_valid(), field(name).isin(several), pa.scalar(None, pa.bool_()))
    return draw(
        st.sampled_from(
            [
                (col(name) == value, field(name) == value),
                (col(name) != value, field(name) != value),
                (col(name) <= value, field(name) <= value),
                (col(name).is_null(), field(name).is_null()),
                (col(name).is_in(several), listed),
                (col("tags").str.to_uppercase() == "CANCELLED", pc.utf8_upper(field("tags")) == "CANCELLED"),
                (col("queue_id") % 2 == 0, pc.bit_wise_and(field("queue_id"), 1) == 0),
            ]
        )
    )


@pytest.mark.sweep
@sampled(240)
@given(conditions())
def test_the_rows_are_those_of_the_whole_table(store: nr.Store, table: pa.Table, both: tuple[pl.Expr, Any]) -> None:
    of_polars, of_arrow = both
    rows = table.filter(of_arrow).select(["topic", "queue_id", "queue_offset"])
    scan = store.messages(columns=COLUMNS)
    assert scan.to_pyarrow_dataset().to_table(columns=rows.schema.names, filter=of_arrow).sort_by(by(rows)) == rows.sort_by(by(rows))
    found = scan.to_polars().filter(of_polars).select(rows.schema.names).collect()
    assert found.sort(rows.schema.names).to_dicts() == rows.sort_by(by(rows)).to_pylist()


def by(rows: pa.Table) -> list[tuple[str, str]]:
    return [(name, "ascending") for name in rows.schema.names]


@contextmanager
def damaged(storage: MemoryStorage) -> Iterator[nr.Store]:
    name = next(name for name in sorted(storage.files) if "/commitlog/" in name)
    content = bytearray(storage.files[name])
    content[4096:8192] = bytes(4096)
    changed = in_memory({**storage.files, name: content})
    yield nr.open(f"{changed.url}/store")


def test_rows_of_damage_stay(storage: MemoryStorage) -> None:
    """They are in no topic, so no condition may leave them out before the library sees them; nor may a choice of columns."""
    with damaged(storage) as store:
        scan = store.messages(mode="PERMISSIVE", columns="topic,queue_id,corrupt_reason")
        whole = scan.to_table()
        count = len(whole) - whole.column("corrupt_reason").null_count
        frame, dataset = scan.to_polars(), scan.to_pyarrow_dataset()
        assert count > 0
        assert frame.select("queue_id").collect().height == len(whole)
        wanted = (col("topic") == "orders") | col("corrupt_reason").is_not_null()
        orders = whole.column("topic").to_pylist().count("orders")
        assert frame.filter(wanted).select("topic").collect().height == orders + count
        query = "SELECT count(*) FROM messages WHERE topic = 'orders' OR corrupt_reason IS NOT NULL"
        assert sql(query, dataset) == [(orders + count,)]


def test_damage_is_an_error_with_its_place(storage: MemoryStorage) -> None:
    with damaged(storage) as store:
        scan = store.messages()
        with pytest.raises(duckdb.Error, match=r"commitlog/0{20}.*4096|mode=DROPMALFORMED"):
            sql("SELECT count(topic) FROM messages", scan.to_pyarrow_dataset())
        with pytest.raises((pl.exceptions.ComputeError, nr.StoreDamaged), match=r"mode=DROPMALFORMED"):
            scan.to_polars().select("topic").collect()


def test_other_tables(store: nr.Store) -> None:
    """Their parts are planned once; a check and a comparison of stores give all rows, and the library selects."""
    queues = store.queues()
    wanted = queues.to_table().filter(field("topic") == "orders").num_rows
    assert wanted > 0
    assert queues.to_polars().filter(col("topic") == "orders").select("queue_id").collect().height == wanted
    assert sql("SELECT count(*) FROM messages WHERE topic = 'orders'", queues.to_pyarrow_dataset()) == [(wanted,)]
    findings = store.verify().to_polars()
    assert findings.filter(col("severity") == "error").select("code").collect().height == 0


def test_parts_are_read_in_parallel(store: nr.Store, table: pa.Table) -> None:
    assert store.messages(columns="topic").to_polars(jobs=2).collect().height == len(table)
    assert store.messages(columns="topic").to_pyarrow_dataset(jobs=2).count_rows() == len(table)


def test_what_else_a_dataset_can_do(store: nr.Store, table: pa.Table, tmp_path: Path) -> None:
    """The methods of a scanner, and pyarrow's writer, which takes the stream."""
    dataset, orders = store.messages(columns=COLUMNS).to_pyarrow_dataset(), field("topic") == "orders"
    found = table.filter(orders)
    assert dataset.to_table(filter=orders) == found
    assert dataset.head(7, filter=orders) == found.slice(0, 7)
    assert dataset.head(len(table) + 1) == table
    assert dataset.take([1, 3]) == table.take([1, 3])
    assert sum(batch.num_rows for batch in dataset.scanner(columns=[]).to_batches()) == len(table)
    # pyarrow may change the order of rows, seldom also without threads.
    pyarrow.dataset.write_dataset(dataset, tmp_path, format="parquet", use_threads=False)
    written = pyarrow.dataset.dataset(tmp_path).to_table(columns=table.column_names)
    place = [(name, "ascending") for name in ("topic", "queue_id", "queue_offset")]
    assert written.sort_by(place) == table.sort_by(place)


# Mistakes


def test_without_polars_the_error_names_the_command(store: nr.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(nr.UseError, match=r"a lazy frame needs the package polars, 1.34 or newer: pip install 'polars>=1.34' \("):
        store.messages().to_polars()


@pytest.mark.parametrize("jobs", [0, 1001, True])
def test_jobs_are_checked_before_a_query(store: nr.Store, jobs: int) -> None:
    for make in (store.messages().to_polars, store.messages().to_pyarrow_dataset):
        with pytest.raises(nr.OptionError, match="jobs must be an integer from 1 to 1000"):
            make(jobs)


def test_what_a_dataset_cannot_do_is_refused(store: nr.Store) -> None:
    """Each of these would find the empty table that the dataset rests on."""
    dataset = store.messages().to_pyarrow_dataset()
    uses: list[Callable[[], object]] = [
        lambda: dataset.filter(field("topic") == "orders"),
        lambda: dataset.get_fragments(filter=None),
        lambda: dataset.sort_by("topic"),
        lambda: dataset.replace_schema(dataset.schema),
        lambda: dataset.join(dataset, "topic"),
        lambda: dataset.join_asof(dataset, "queue_id", "topic", 1),
    ]
    for use in uses:
        with pytest.raises(nr.UseError, match=r"a dataset of a scan has no such method. Pass columns= and filter= to its scanner\(\)"):
            use()
    with pytest.raises(nr.UseError, match=r"cannot be pickled\. Send the path and the options"):
        dataset.__reduce__()
    assert repr(dataset).startswith("<ScanDataset of <Scan memory")


def test_a_column_that_is_not_there(store: nr.Store) -> None:
    with pytest.raises(pa.ArrowInvalid, match="bodi"):
        store.messages().to_pyarrow_dataset().to_table(columns=["bodi"])
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="bodi"):
        store.messages().to_polars().select("bodi").collect()


def test_columns_that_a_condition_uses() -> None:
    """All of them are read, also those in a part that we cannot say. A nested field is a part of an expression that we do not know."""
    tree = tree_of_arrow((field("topic") == "a") & (pc.utf8_upper(field("tags")) == "X"))
    assert tree is not None
    assert set(fields_of(tree)) == {"topic", "tags"}
    assert tree_of_arrow(field(("properties", "x")).is_null()) is None
