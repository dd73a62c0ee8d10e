"""Bodies as views: the same bytes, in memory that is not used again while a batch, or a part of one, refers to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.compare import InMemory
from support.kernels import VARIABLE

import native_reader as nr
from native_reader.storage.window import Memory
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store
from native_reader.tuning import tuned
from rmqstore_spark.request import LoadRequest

BODIES = "physical_offset,body,stored_body"
MIB = 1 << 20


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("views") / "store"
    write_store(path, StoreSpec(bytes=12 * MIB, mapped_file_size_commit_log=8 * MIB, compressed=0.1, index=False))
    return path


@pytest.fixture(params=["numpy", pytest.param("compiled", marks=pytest.mark.kernel)])
def by_each(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, request.param)


def copied(table: pa.Table) -> pa.Table:
    return table.cast(
        pa.schema([(field.name, pa.binary() if pa.types.is_binary_view(field.type) else field.type) for field in table.schema])
    )


@pytest.mark.usefixtures("by_each")
@pytest.mark.parametrize("columns", [BODIES, "body_text,body", "body", "body_text"])
def test_views_are_the_same_bodies(store: Path, columns: str) -> None:
    scan = nr.open(store).messages(columns=columns, body_views=True)
    views = scan.to_table()
    expected = {name: pa.binary_view() for name in columns.split(",") if name in ("body", "stored_body")}
    assert {field.name: field.type for field in scan.schema if field.name in expected} == expected
    views.validate(full=True)
    assert copied(views).equals(nr.open(store).messages(columns=columns).to_table())


@pytest.mark.usefixtures("by_each")
@pytest.mark.parametrize("many", [2, 64])
def test_views_are_the_same_bodies_beside_damage(store: Path, many: int) -> None:
    content = bytearray((store / "commitlog" / f"{0:020}").read_bytes()[:MIB])
    for place in range(5000, MIB, 40_000):
        content[place] ^= 1
    damaged = InMemory([(0, bytes(content))])
    options: dict[str, Any] = {"columns": "*", "mode": "PERMISSIVE", "fail_on_data_loss": False}
    with tuned(decompressed_at_once=3000, many_damages=many):
        views, copies = (damaged.messages(**options, body_views=is_view).to_table() for is_view in (True, False))
    assert copies["corrupt_record"].drop_null()
    assert copied(views).equals(copies)


def kept(batches: Iterator[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """One row of each batch, and what it was when it came; all other rows are freed while the scan goes on."""
    slices = []
    for number, batch in enumerate(batches):
        row = batch.slice(number % len(batch), 1)
        slices.append((row, row.to_pylist()))
    assert all(row.to_pylist() == content for row, content in slices)
    return [row for row, _ in slices]


@pytest.mark.usefixtures("by_each")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_slice_outlives_its_batch_its_scan_and_later_scans(store: Path, jobs: int) -> None:
    with tuned(part_of_a_job=MIB):
        slices = kept(nr.open(store).messages(columns=BODIES, body_views=True, max_partition_bytes="2m").to_batches(jobs))
        nr.open(store).messages(columns=BODIES, body_views=True).to_table()
    assert len(slices) > 6
    rows = copied(pa.Table.from_batches(slices))
    everything = nr.open(store).messages(columns=BODIES).to_table()
    assert rows.to_pylist() == everything.filter(pa.compute.is_in(everything["physical_offset"], rows["physical_offset"])).to_pylist()


@pytest.mark.usefixtures("by_each")
def test_a_batch_of_few_bodies_keeps_no_chunk(store: Path) -> None:
    scan = nr.open(store).messages(columns="body", where="queue_offset = 3", body_views=True)
    (column,) = scan.to_table().columns
    assert sum(chunk.get_total_buffer_size() for chunk in column.chunks) < 64 * len(column) + 2 * sum(map(len, column.to_pylist()))


def test_memory_comes_back_when_the_last_part_of_it_is_free() -> None:
    memory = Memory()
    whole = memory.take(1000)
    part = whole[8:]
    memory.give_after(part, whole)
    address, view = whole.ctypes.data, pa.Array.from_buffers(pa.binary_view(), 0, [None, pa.py_buffer(b""), pa.py_buffer(part)])
    del whole, part
    assert memory.take(10).ctypes.data != address
    del view
    again = memory.take(1000)
    assert again.ctypes.data == address


def test_memory_of_an_ended_read_is_freed_with_its_last_batch() -> None:
    memory = Memory()
    whole = memory.take(1000)
    part, pool = whole[8:], pa.default_memory_pool().bytes_allocated()
    memory.give_after(part, whole)
    del memory, whole
    assert pa.default_memory_pool().bytes_allocated() == pool
    del part
    assert pa.default_memory_pool().bytes_allocated() < pool


def test_more_memory_than_is_useful_is_not_kept() -> None:
    memory, large = Memory(), np.empty(65 * MIB, np.uint8)
    memory.give(large)
    assert memory.take(10).ctypes.data != large.ctypes.data


def test_polars_and_duckdb_take_views(store: Path) -> None:
    scan = nr.open(store).messages(columns="topic,body", body_views=True)
    sizes = pa.compute.sum(pa.compute.binary_length(nr.open(store).messages(columns="body").to_table()["body"])).as_py()
    assert scan.to_polars().select(pl.col("body").bin.size().sum()).collect().item() == sizes
    assert pl.DataFrame(scan)["body"].bin.size().sum() == sizes
    with duckdb.connect() as connection:
        assert connection.register("scan", scan.to_reader()).sql("select sum(octet_length(body)) from scan").fetchall() == [(sizes,)]
    topic = scan.head(1)["topic"][0].as_py()
    count = scan.to_table()["topic"].to_pylist().count(topic)
    query = f"select count(body) from messages where topic = '{topic}'"
    with duckdb.connect() as connection:
        messages = scan.to_pyarrow_dataset()  # with copies: pyarrow cannot filter views
        assert connection.register("messages", messages).sql(query).fetchall() == [(count,)]


def test_an_export_has_copies(store: Path, tmp_path: Path) -> None:
    nr.open(store).messages(columns="body", body_views=True).export(tmp_path / "out")
    (file,) = (tmp_path / "out").rglob("*.parquet")
    assert pq.read_schema(file).field("body").type == pa.binary()


def test_spark_has_no_views() -> None:
    with pytest.raises(nr.OptionError, match="unknown option 'bodyViews'"):
        LoadRequest.of({"path": "/data/store", "bodyViews": "true"})
