"""The numpy path against the plain decoder: the same rows and the same account, however a log is cut, wherever it ends."""

from __future__ import annotations

import reprlib
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from support.plain_decoder import Log, walk
from support.stores import sampled

import native_reader as nr
from native_reader.records.damages import REASONS
from native_reader.records.report import Report
from native_reader.testing import strategies as drawn
from native_reader.testing.logs import CommitLog
from native_reader.testing.memory import MemoryStorage
from native_reader.testing.records import Message, encode

FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
NOT_IN_PLAIN = ("store", "segment", "corrupt_record", "corrupt_reason")
Segments = list[tuple[int, bytes]]


def storage_of(segments: Segments, framing: str) -> tuple[MemoryStorage, str]:
    folder = "s/commitlog" if framing == "plain" else "s/dledger-n0/data"
    memory = MemoryStorage({f"{folder}/": b""} | {f"{folder}/{base:020d}": content for base, content in segments})
    return memory, f"{memory.url}/s"


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as the plain decoder tells them: times in milliseconds, maps as dicts."""
    columns = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        columns[name] = column.to_pylist()
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for row in rows:
        row["properties"] = dict(row["properties"])
        for name in ("born_timestamp", "store_timestamp"):
            row[name] = None if row[name] is None else row[name] // 1000
    return rows


def told(plain: Log) -> list[dict[str, Any]]:
    rows = []
    for row in plain.rows:
        times = {name: row[name] if FIRST_MS <= row[name] <= LAST_MS else None for name in ("born_timestamp", "store_timestamp")}
        rows.append(row | times)
    return rows


def read(segments: Segments, framing: str, most: int, jobs: int = 1, mode: str = "FAILFAST") -> tuple[pa.Table, Report]:
    memory, path = storage_of(segments, framing)
    scan = nr.open(path).messages(columns="*", max_partition_bytes=most, fail_on_data_loss=False, mode=mode)
    run = scan.run(jobs)
    table = pa.Table.from_batches(run, scan.schema)
    table.validate(full=True)
    assert set(memory.files)  # keeps the files mounted until here
    return table, run.report


def assert_same_rows(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    """Names what differs and shortens it: bodies can be megabytes."""
    assert [row["physical_offset"] for row in ours] == [row["physical_offset"] for row in theirs]
    for one, other in zip(ours, theirs, strict=True):
        different = {
            name: (one.get(name), other.get(name)) for name in one.keys() | other.keys() if one.get(name, ...) != other.get(name, ...)
        }
        assert not different, f"at {one['physical_offset']} (ours, plain): {reprlib.repr(different)}"


def same(segments: Segments, framing: str, most: int = 1 << 27, jobs: int = 1) -> pa.Table:
    """Assert that both truths agree on rows, damage and every byte, however the log is cut, in each mode."""
    strict = walk([each for each in segments if each[1]], framing)
    plain = walk([each for each in segments if each[1]], framing, lenient=True)
    if strict.damage:
        with pytest.raises(nr.StoreDamaged, match=f"at offset {strict.damage[0][1]:,} "):
            read(segments, framing, 1 << 40)
    elif plain.damage:
        assert_same_rows(rows_of(read(segments, framing, most)[0].drop_columns(list(NOT_IN_PLAIN))), told(strict))
    if plain.damage:
        permissive, _ = read(segments, framing, most, jobs, "PERMISSIVE")
        as_rows(permissive, plain, dict(segments))
    table, report = read(segments, framing, most, jobs, "DROPMALFORMED" if plain.damage else "FAILFAST")
    identities = table.select(["store", "physical_offset", "inner_index"]).to_pylist()
    assert len({tuple(each.values()) for each in identities}) == len(table)
    rows = [{name: value for name, value in row.items() if name not in NOT_IN_PLAIN} for row in rows_of(table)]
    assert_same_rows(rows, told(plain))
    accounts = [(each.base, each.record_bytes, each.blank_bytes, each.damage_bytes, each.unwritten_bytes) for each in report.segments]
    assert accounts == [tuple(each) for each in plain.segments]
    assert all(each.unread_bytes == 0 for each in report.segments)
    assert [(int(each.segment.rpartition("/")[2]), each.start, each.end) for each in report.damage] == plain.damage
    records = {row["physical_offset"] - (48 if framing == "dledger" else 0) for row in plain.rows}
    for each in report.damage:
        assert each.reason in REASONS
        assert each.found
        assert each.behind == (each.end if each.end in records - dict(segments).keys() else None)
        assert each.before is None or each.before in records
    return table


def as_rows(table: pa.Table, plain: Log, contents: dict[int, bytes]) -> None:
    """Damage as PERMISSIVE tells it: at its place among the messages, with its first bytes."""
    rows = table.to_pylist()
    damage = [row for row in rows if row["corrupt_record"] is not None]
    assert [(row["physical_offset"], row["physical_offset"] + row["record_size"]) for row in damage] == [each[1:] for each in plain.damage]
    for row, (base, start, end) in zip(damage, plain.damage, strict=True):
        assert row["corrupt_record"] == contents[base][start - base : end - base][: 64 << 10]
        assert row["corrupt_reason"] in REASONS
        said = {name for name, value in row.items() if value is not None}
        assert said == {"physical_offset", "record_size", "store", "segment", "corrupt_record", "corrupt_reason"}
    assert [row["physical_offset"] for row in rows] == sorted(row["physical_offset"] for row in rows)
    whole = [row for row in rows if row["corrupt_record"] is None]
    assert [row["physical_offset"] for row in whole] == [row["physical_offset"] for row in plain.rows]
    assert {row["corrupt_reason"] for row in whole} <= {None, "body"}
    assert all(row["body"] is None for row in whole if row["corrupt_reason"])


@pytest.mark.sweep
@sampled(300)
@given(log=drawn.commitlogs(), most=st.one_of(st.integers(40, 900), st.just(1 << 27)), jobs=st.sampled_from([1, 1, 3]))
def test_any_log_cut_anyhow(log: drawn.DrawnLog, most: int, jobs: int) -> None:
    table = same(log.segments, log.framing, most, jobs)
    event(f"{log.framing}, {min(len(table) // 4 * 4, 12)} or more rows")


@pytest.mark.sweep
@sampled(300)
@given(log=drawn.damaged_logs(), most=st.one_of(st.integers(40, 900), st.just(1 << 27)), jobs=st.sampled_from([1, 1, 3]))
def test_damage_is_found_where_it_is(log: drawn.DrawnLog, most: int, jobs: int) -> None:
    same(log.segments, log.framing, most, jobs)


@pytest.mark.sweep
@sampled(25)
@given(log=drawn.commitlogs(max_messages=6))
def test_every_truncation(log: drawn.DrawnLog) -> None:
    if not log.segments:
        return
    base, content = log.segments[-1]
    written = len(content.rstrip(b"\0")) + 2
    for length in range(min(written, len(content)) + 1):
        same([*log.segments[:-1], (base, content[:length])], log.framing, 700)


@pytest.mark.sweep
@sampled(60)
@given(
    most=st.integers(100, 3000), sizes=st.lists(st.integers(0, 5000), min_size=1, max_size=6), framing=st.sampled_from(["plain", "dledger"])
)
def test_records_larger_than_a_split(most: int, sizes: list[int], framing: Any) -> None:
    log = CommitLog(16 << 10, framing=framing)
    for size in sizes:
        log.append(Message(topic="t", body=b"x" * size))
    same(log.segments(), framing, most)


def test_a_record_larger_than_a_chunk() -> None:
    log = CommitLog(32 << 20)
    for size in (10, 9 << 20, 5 << 20, 20):
        log.append(Message(topic="t", body=bytes(range(256)) * (size // 256 + 1)))
    table = same(log.segments(preallocated=False), "plain")
    assert [len(body) for body in table["body"].to_pylist()] == [256, (9 << 20) + 256, (5 << 20) + 256, 256]
    same(log.segments(preallocated=False), "plain", 1 << 20)


def test_a_record_over_the_limit_is_refused_before_memory_is_taken() -> None:
    log = CommitLog(8 << 20)
    log.append(Message(topic="t", body=b"x" * (5 << 20)))
    memory, path = storage_of(log.segments(), "plain")
    with pytest.raises(
        nr.StoreDamaged, match=r"of 5,242,97\d bytes is larger than max_record_bytes=1,000,000\. .*max_record_bytes=524297\d"
    ):
        nr.open(path).messages(max_record_bytes=1_000_000).to_table()
    assert memory.files


def forged_log(trailing: int) -> Segments:
    """A body that holds a whole record whose physical offset is its own place: nothing but a walk can tell."""
    inner = Message(topic="forged", body=b"never to be seen")
    start = encode(Message(topic="t", body=b"." * 100), 0).index(b"." * 100) + 100
    log = CommitLog(4096)
    log.append(Message(topic="t", body=b"." * 100 + encode(inner, start) + b"." * 50))
    for _ in range(trailing):
        log.append(Message(topic="t", body=b"after"))
    return log.segments()


def test_a_cut_on_a_forged_record_is_found_out() -> None:
    segments = forged_log(3)
    plain = walk(segments)
    found_out = 0
    for most in range(60, 800, 3):
        try:
            table, _ = read(segments, "plain", most)
        except nr.SplitError as error:
            told = str(error)
            found_out += "a cut fell on something that looks like a record but is inside one" in told
            found_out += f"max_partition_bytes={len(segments[0][1])}" in told
        else:
            assert rows_of(table)[0]["topic"] == "t"
            assert len(table) == len(plain.rows)
    assert found_out >= 2
    assert found_out % 2 == 0
    table, _ = read(segments, "plain", len(segments[0][1]))
    assert table["topic"].to_pylist() == ["t"] * 4


def test_a_first_size_that_became_1_does_not_make_the_log_a_dledger_one() -> None:
    log = CommitLog(256)
    for _ in range(4):
        log.append(Message(topic="orders", body=b"", version=2))
    (base, content), *rest = log.segments()
    same([(base, b"\0\0\0\1" + content[4:]), *rest], "plain")
    same([(base, b"\0\0\0\1\0" + content[5:]), *rest], "plain")
