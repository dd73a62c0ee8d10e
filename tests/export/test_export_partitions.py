"""Partitions become folders with safe names that can be read back. Memory, open files and the number of partitions are bounded."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import dataset
from support.exported import data_files, expected_rows, exported_rows, summary
from support.stores import files_of, in_memory, log_of, message
from support.tune import Tune

import native_reader as nr
from native_reader.export import writers
from native_reader.export.formats import FORMATS
from native_reader.export.partitions import days
from native_reader.export.writers import EMPTY, LONGEST, NULL, folder_name, is_cut, value_of
from native_reader.testing.records import Message, pack_properties

HOSTILE = (
    *("../x", "..", ".", "/etc/passwd", "a=b", "a/b", "%2F", "%RETRY%group", "a b", "~", "x" * 300, "订单" * 100, "订单", "e\u0301"),
    *(NULL, EMPTY, "\x00", "\u202e", "con", "tail.", "_hidden", "0", "12", "<script>", "a\nb", "\\", ":", "*", "-"),
)


def messages() -> list[Message]:
    odd = [message(number, topic=topic, version=2, store_timestamp=day(number)) for number, topic in enumerate(HOSTILE)]
    return [*odd, *(message(100 + number, store_timestamp=day(number % 3)) for number in range(60)), message(200, properties=b"")]


def day(number: int) -> int:
    return 1_700_000_000_000 + number * 6 * 3_600_000


@pytest.fixture(scope="module")
def store() -> Iterator[nr.Store]:
    memory = in_memory(files_of(log_of(messages(), segment_size=8192)))
    yield nr.open(memory.url)
    assert memory  # its files exist until here


@pytest.mark.parametrize("to", FORMATS)
def test_hostile_names_stay_inside_the_folder_and_are_read_back(store: nr.Store, tmp_path: Path, to: str) -> None:
    scan = store.messages(max_partition_bytes=4000)
    target = tmp_path / "out"
    scan.export(target, to, partition_by=["topic", "day", "tags"])
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    rows = exported_rows(target, to, scan.schema)
    assert [{name: value for name, value in row.items() if name != "day"} for row in rows] == expected_rows(scan.to_table())
    assert all(row["day"] == row["store_timestamp"].astimezone(UTC).date().isoformat() for row in rows)
    assert len(summary(target)["cut_names"]) == 2
    for path in data_files(target):
        assert [part.partition("=")[0] for part in path.relative_to(target).parts[:-1]] == ["topic", "day", "tags"]
        assert all(len(part.encode()) <= LONGEST for part in path.relative_to(target).parts)


@given(st.text())
def test_any_text_can_be_a_folder(text: str) -> None:
    name = folder_name("topic", text)
    assert len(name.encode()) <= LONGEST
    assert not set(name) & set('/\\\0\n :*?"<>|')
    assert name.isprintable()
    assert value_of(name, {name: text} if is_cut(name) else {}) == ("topic", text)


@given(st.lists(st.text(max_size=3), unique=True, max_size=50))
def test_different_texts_are_different_folders(texts: list[str]) -> None:
    assert len({folder_name("topic", text) for text in (*texts, None)}) == len(texts) + 1


def test_long_names_that_begin_alike_differ() -> None:
    assert folder_name("topic", "x" * 300) != folder_name("topic", "x" * 301)


def test_other_tools_read_the_folders(store: nr.Store, tmp_path: Path) -> None:
    scan = store.messages(columns="physical_offset,body", where="topic IN ('T0', 'T1', '%RETRY%group', 'a=b')")
    scan.export(tmp_path, partition_by="topic")
    as_hive = dataset.partitioning(pa.schema([("topic", pa.string())]), flavor="hive")
    table = dataset.dataset(tmp_path, partitioning=as_hive).to_table()
    assert {*table["topic"].to_pylist()} == {"T0", "T1", "%RETRY%group", "a=b"}
    assert table.select(["physical_offset", "body"]).sort_by("physical_offset").equals(scan.to_table())


def test_a_day_begins_at_midnight_of_the_zone() -> None:
    times = [datetime(2026, 1, 31, 15, 59, 59, tzinfo=UTC), datetime(2026, 1, 31, 16, tzinfo=UTC), None, datetime(1, 1, 1, tzinfo=UTC)]
    column = pa.array(times, pa.timestamp("us", tz="UTC"))
    assert days(column, UTC).to_pylist() == ["2026-01-31", "2026-01-31", None, "0001-01-01"]
    assert days(column, ZoneInfo("Asia/Shanghai")).to_pylist() == ["2026-01-31", "2026-02-01", None, "0001-01-01"]
    assert days(column, timezone(timedelta(hours=-8))).to_pylist() == ["2026-01-31", "2026-01-31", None, None]


def test_the_zone_of_days_is_the_option(store: nr.Store, tmp_path: Path) -> None:
    for zone in ("UTC", "+14:00"):
        scan = store.messages(columns="physical_offset,store_timestamp", time_zone=zone)
        scan.export(tmp_path / zone, partition_by="day")
        for row in exported_rows(tmp_path / zone, "parquet", scan.schema):
            local = row["store_timestamp"].astimezone(UTC if zone == "UTC" else timezone(timedelta(hours=14)))
            assert row["day"] == local.date().isoformat()


@pytest.mark.parametrize("to", ["parquet", "csv"])
def test_few_files_are_open_and_few_bytes_wait(
    store: nr.Store, tmp_path: Path, tune: Tune, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    """Many partitions with a tiny buffer: the bounds hold, and every row is there once."""
    limit, largest = 200_000, 0
    tune(export_buffer=limit, export_open_files=2)
    open_now, most_open, most_waiting = 0, 0, 0
    begin, end, write = writers._Open.__init__, writers._Open.close, writers.TaskFiles.write

    def opened(self: writers._Open, *arguments: object) -> None:
        nonlocal open_now, most_open
        begin(self, *arguments)  # type: ignore[arg-type]
        open_now += 1
        most_open = max(most_open, open_now)

    def closed(self: writers._Open) -> None:
        nonlocal open_now
        end(self)
        open_now -= 1

    def written(self: writers.TaskFiles, batch: pa.RecordBatch) -> None:
        nonlocal most_waiting, largest
        largest = max(largest, batch.nbytes + len(batch) * writers._BATCH_COSTS)
        write(self, batch)
        most_waiting = max(most_waiting, self.buffered)

    monkeypatch.setattr(writers._Open, "__init__", opened)
    monkeypatch.setattr(writers._Open, "close", closed)
    monkeypatch.setattr(writers.TaskFiles, "write", written)
    scan = store.messages()
    exported = scan.export(tmp_path, to, partition_by=["topic", "tags", "day"])
    assert open_now == 0
    assert most_open <= 3  # the third is open while one of the others is closed
    assert 0 < most_waiting <= limit + largest
    assert exported_rows(tmp_path, to, scan.schema.append(pa.field("day", pa.string()))) == [
        row | {"day": row["store_timestamp"].date().isoformat()} for row in expected_rows(scan.to_table())
    ]
    assert len(exported.files) == len({file.name for file in exported.files})


def test_rows_that_come_after_their_file_was_closed_get_another_one(store: nr.Store, tmp_path: Path, tune: Tune) -> None:
    tune(export_buffer=1, export_open_files=1)
    scan = store.messages()
    exported = scan.export(tmp_path, partition_by="tags")
    assert exported_rows(tmp_path, "parquet", scan.schema) == expected_rows(scan.to_table())
    assert any(file.name.endswith("-1.parquet") for file in exported.files)


def test_too_many_partitions_are_an_error(store: nr.Store, tmp_path: Path, tune: Tune) -> None:
    tune(export_partitions=10)
    with pytest.raises(nr.OptionError, match="partition_by=topic makes more than 10 partitions in one task"):
        store.messages().export(tmp_path, partition_by="topic")
    assert not data_files(tmp_path)


def test_a_day_without_a_time_and_a_tag_that_is_absent_are_null(tmp_path: Path) -> None:
    memory = in_memory(files_of(log_of([message(1, store_timestamp=2**62, properties=pack_properties({"KEYS": "k"}))])))
    nr.open(memory.url).messages().export(tmp_path, partition_by="day,tags")
    assert [path.relative_to(tmp_path).as_posix() for path in data_files(tmp_path)] == [f"day={NULL}/tags={NULL}/part-00000.parquet"]
