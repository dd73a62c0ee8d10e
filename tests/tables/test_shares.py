"""Rows grouped by a key in bounded memory: each key is whole, each row comes once, and one frequent key costs one more read."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from support.stores import files_of, in_memory, log_of, message
from support.tune import Tune

import native_reader as nr
from native_reader.tables.shares import KEY, shares
from native_reader.testing.records import pack_properties


class Source:
    """Batches of ten rows each with these keys; counts how often it is read."""

    def __init__(self, keys: list[str]) -> None:
        self._keys, self.reads = keys, 0

    def read(self) -> Iterator[pa.RecordBatch]:
        self.reads += 1
        for begin in range(0, len(self._keys), 10):
            keys = self._keys[begin : begin + 10]
            yield pa.RecordBatch.from_pydict({KEY: pa.array(keys), "physical_offset": pa.array(range(begin, begin + len(keys)))})


def grouped(source: Source) -> list[list[tuple[str, int]]]:
    """The rows of each table. No two tables share a key."""
    found = [list(zip(*table.to_pydict().values(), strict=True)) for table in shares(source.read)]
    keys = [{key for key, _ in rows} for rows in found]
    assert sum(map(len, keys)) == len(set().union(*keys))
    return found


def rows_of(keys: list[str]) -> list[tuple[str, int]]:
    return [(key, number) for number, key in enumerate(keys)]


def test_what_fits_is_read_once() -> None:
    source = Source([f"k{number % 7}" for number in range(100)])
    (rows,) = grouped(source)
    assert (rows, source.reads) == (rows_of([f"k{number % 7}" for number in range(100)]), 1)


@pytest.mark.parametrize("at_once", [200, 1000, 3000])
def test_each_row_comes_once_and_in_order(tune: Tune, at_once: int) -> None:
    tune(grouped_at_once=at_once)
    keys = [f"key number {number % 90}" for number in range(500)]
    source = Source(keys)
    found = grouped(source)
    assert sorted(row for rows in found for row in rows) == sorted(rows_of(keys))
    for rows in found:
        assert [number for _, number in rows] == sorted(number for _, number in rows)
    assert source.reads >= len(found) > 1


def test_a_very_frequent_key_costs_one_more_read(tune: Tune) -> None:
    """Not one for each bit of the hash. A producer that sends one message again and again gives all of them one key."""
    tune(grouped_at_once=2000)
    keys = ["the same" if number % 10 else f"k{number}" for number in range(1000)]
    source = Source(keys)
    found = grouped(source)
    assert source.reads <= 4
    assert sorted(row for rows in found for row in rows) == sorted(rows_of(keys))


def test_texts_of_other_rows_are_not_held(tune: Tune) -> None:
    """Texts that repeat are held once in each batch. Of texts that are all different, a share holds only its own."""
    tune(grouped_at_once=4000)
    tags = pa.array([f"a tag that no other row has {number:04}" for number in range(1000)])

    def read() -> Iterator[pa.RecordBatch]:
        nonlocal reads
        reads += 1
        for begin in range(0, 1000, 100):
            keys, offsets = [f"k{number}" for number in range(begin, begin + 100)], range(begin, begin + 100)
            columns = {KEY: pa.array(keys), "physical_offset": pa.array(offsets), "tag": tags.slice(begin, 100).dictionary_encode()}
            yield pa.RecordBatch.from_pydict(columns)

    reads = 0
    found = [row for table in shares(read) for row in table.to_pylist()]
    assert reads < 40
    assert sorted(row["physical_offset"] for row in found) == list(range(1000))
    assert all(row["tag"].endswith(f"{row['physical_offset']:04}") and row[KEY] == f"k{row['physical_offset']}" for row in found)


def test_a_source_without_rows() -> None:
    source = Source([])
    assert (grouped(source), source.reads) == ([], 1)


@pytest.mark.parametrize("table", ["duplicates", "transactions", "timers"])
def test_too_many_messages_with_one_key_are_an_error(tune: Tune, table: str) -> None:
    """The error names a message, and does not show the key."""
    tune(grouped_at_once=500, grouped_of_one_key=1500)
    topic = {"duplicates": "orders", "transactions": "RMQ_SYS_TRANS_HALF_TOPIC", "timers": "rmq_sys_wheel_timer"}[table]
    properties = pack_properties({"UNIQ_KEY": "secret", "REAL_TOPIC": "orders"})
    memory = in_memory(files_of(log_of(message(number, topic=topic, body=b"body", properties=properties) for number in range(100))))
    store = nr.open(f"{memory.url}/store")
    said = r"^the messages with the uniq_key of the one at offset 0 take more than 1,500 bytes of memory\. .* with Spark or DuckDB$"
    with pytest.raises(nr.StoreError, match=said) as raised:
        store.table(table).to_table()
    assert "secret" not in str(raised.value)
    tune(grouped_of_one_key=1 << 20)
    assert len(store.table(table).to_table()) == {"duplicates": 100, "transactions": 1, "timers": 1}[table]
