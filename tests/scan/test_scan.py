"""The engine beyond rows: checksums, limits, memory, and code for rare rows."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.compare import InMemory, expected_rows, read, rows_of, same, segments_of, table_of
from support.plain_decoder import walk
from support.tune import Tune

import native_reader as nr
from native_reader.columns.projection import Projection
from native_reader.options import MessageOptions
from native_reader.scan.read import Reading, Shared
from native_reader.scan.run import Run
from native_reader.testing.compression import COMPRESSED
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import INNER_BATCH, InnerMessage, Message, encode, pack_inner, pack_properties
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store


def test_verify_crc_names_the_record_whose_body_changed() -> None:
    segments = segments_of(*(Message(topic="t", body=b"secret body %d" % i) for i in range(4)))
    base, content = segments[0]
    at = content.index(b"secret body 2")
    flipped = [(base, content[:at] + b"S" + content[at + 1 :])]
    offset = table_of(flipped)["physical_offset"][2].as_py()
    with pytest.raises(nr.StoreDamaged) as found:
        table_of(flipped, verify_crc=True)
    assert f"at offset {offset:,}: the checksum of the stored body is wrong" in str(found.value)
    for body in (b"secret body 2", b"Secret body 2"):
        assert f"{zlib.crc32(body) & 0x7FFFFFFF:X}" not in str(found.value)
    assert "ecret" not in str(found.value)
    assert len(table_of(segments, verify_crc=True)) == 4


def test_verify_crc_also_checks_the_property_checksum() -> None:
    segments = segments_of(
        *(Message(topic="t", body=b"b", properties=pack_properties([("TAGS", f"x{i}")]), property_crc="proper") for i in range(3))
    )
    base, content = segments[0]
    assert len(table_of(segments, verify_crc=True)) == 3
    at = content.index(b"x1")
    with pytest.raises(nr.StoreDamaged, match="the checksum of the record is wrong"):
        table_of([(base, content[:at] + b"y1" + content[at + 2 :])], verify_crc=True)


def test_verify_crc_accepts_an_empty_body() -> None:
    assert len(table_of(segments_of(Message(topic="t", body=b"", body_crc=7), Message(topic="t", body=b"x")), verify_crc=True)) == 2


def test_a_bomb_has_no_body_and_takes_no_memory() -> None:
    bomb = Message(topic="t", body=zlib.compress(bytes(8 << 20)), sys_flag=COMPRESSED)
    table = table_of(segments_of(Message(topic="t", body=b"x"), bomb), max_decompressed_bytes=1 << 20, columns=["body", "stored_body"])
    assert table["body"].to_pylist() == [b"x", None]
    assert table["stored_body"][1].as_py() == bomb.body
    assert table_of(segments_of(bomb), max_decompressed_bytes=8 << 20)["body"].to_pylist() == [bytes(8 << 20)]


def test_many_decompressed_bodies_become_many_batches(tune: Tune) -> None:
    tune(decompressed_at_once=5000)
    batch = pack_inner([InnerMessage(body=b"i%d" % i, properties=b"") for i in range(3)])
    messages = [Message(topic="t", body=zlib.compress(b"%d" % i * 500), sys_flag=COMPRESSED) for i in range(40)]
    for place in (3, 17, 17, 39):
        messages.insert(place, Message(topic="b", body=batch, sys_flag=INNER_BATCH))
    segments = segments_of(*messages)
    store = InMemory(segments)
    batches = list(store.messages(columns="*").to_batches())
    assert len(batches) > 4
    assert rows_of(pa.Table.from_batches(batches)) == [
        row | dict.fromkeys(("corrupt_record", "corrupt_reason"))
        | {"store": store.path, "segment": f"{0:020d}", "tiered": False}
        for row in expected_rows(walk(segments))
    ]  # fmt: skip


def test_names_with_the_same_hash_are_distinguished() -> None:
    names = ["abcdefgh", "abXdefgh", "abYdefgh", "abcdeZgh"]  # same length, same ends
    same(
        segments_of(*(Message(topic="t", body=b"", properties=pack_properties([(names[i % 4], "v"), ("TAGS", "x")])) for i in range(60))),
        "plain",
    )


def test_every_message_has_names_of_its_own() -> None:
    messages = [Message(topic="t", body=b"x" * 3000, properties=pack_properties([(f"n{i}", "v"), ("KEYS", "a b")])) for i in range(300)]
    same(segments_of(*messages, size=2 << 20), "plain")


def test_a_name_that_occurs_twice_has_its_last_value() -> None:
    twice = pack_properties([("TAGS", "a"), ("UNIQ_KEY", "1"), ("TAGS", "b"), ("UNIQ_KEY", "2")])
    table = same(
        segments_of(Message(topic="t", body=b"", properties=twice), Message(topic="t", body=b"", properties=b"TAGS\x01c\x02")), "plain"
    )
    assert table["tags"].to_pylist() == ["b", "c"]
    assert table["uniq_key"].to_pylist() == ["2", None]
    assert table["properties"].to_pylist()[0] == [("TAGS", "b"), ("UNIQ_KEY", "2")]


def test_odd_rows_do_not_affect_their_neighbours() -> None:
    odd = [b"a\x01\x02", b"no", b"k\x01v\x01w", b"\xff\x01x", b"\x00\x01\x00", b"TAGS\x01t\x02\x02", b"x\x01", b"\x02TAGS\x01u"]
    plain = [pack_properties([("TAGS", "x"), ("KEYS", "k1 k2")]), b"", pack_properties([("UNIQ_KEY", "1")], trailing=False)]
    same(
        segments_of(*(Message(topic="t", body=b"b", properties=each) for i in range(12) for each in (*plain, odd[i % 8], *plain))), "plain"
    )
    same(segments_of(*(Message(topic="t", body=b"b", properties=odd[i % 8]) for i in range(24))), "plain")


def test_head_reads_no_more_than_it_must(tmp_path: Path) -> None:
    write_store(tmp_path / "store", StoreSpec(bytes=32 << 20, queues=False, index=False))
    counted = FaultyStorage(f"file://{tmp_path}/store")
    scan = nr.open(counted.url).messages()
    scan.plan()
    before = counted.bytes_read
    assert len(scan.head(5)) == 5
    assert counted.bytes_read - before <= 256 << 10


MEMORY = """
import sys, native_reader as nr
def peak(): return int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) / 1024
def now(): return int(open('/proc/self/status').read().split('VmRSS:')[1].split()[0]) / 1024
idle = now()
rows = sum(batch.num_rows for batch in nr.open(sys.argv[1]).messages().to_batches())
print(rows, peak() - idle)
"""


@pytest.mark.gate
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc, which only Linux has")
def test_memory_of_a_scan(tmp_path: Path) -> None:
    write_store(tmp_path / "store", StoreSpec(bytes=192 << 20, queues=False, index=False))
    measured = subprocess.run([sys.executable, "-c", MEMORY, tmp_path / "store"], check=True, capture_output=True, text=True).stdout.split()
    assert int(measured[0]) > 100_000
    assert float(measured[1]) <= 120


def test_splits_read_in_parallel_and_stopped_early() -> None:
    segments = segments_of(*(Message(topic="t", body=b"x" * 200) for _ in range(300)), size=8192)
    table, report = read(segments, "plain", 4000, jobs=4)
    assert len(table) == 300
    assert sum(each.records for each in report.segments) == 300


def test_the_limit_of_a_record_does_not_depend_on_the_cuts() -> None:
    segments = segments_of(*(Message(topic="t", body=bytes(size)) for size in (300, 300, 700)), size=1 << 20)
    for most in (1 << 30, 400, 900):
        with pytest.raises(nr.StoreDamaged, match=r"at offset 0 .* a record of 39\d bytes is larger than max_record_bytes=100"):
            table_of(segments, max_record_bytes=100, max_partition_bytes=most)
        assert len(table_of(segments, max_record_bytes=1000, max_partition_bytes=most)) == 3


def test_a_record_that_claims_nearly_a_gibibyte_takes_no_memory(tmp_path: Path) -> None:
    """A sparse file. The record is valid, so only its head and its lengths may be read."""
    claimed = 900 << 20
    empty = len(encode(Message(topic="t", body=b""), 0))
    record = encode(Message(topic="t", body=b"", body_length=claimed, total_size=empty + claimed), 0)
    folder = tmp_path / "commitlog"
    folder.mkdir()
    with (folder / f"{0:020d}").open("wb") as file:
        file.write(record[:88])
        file.seek(88 + claimed)
        file.write(record[88:])
        file.truncate(1 << 30)
    tracemalloc.start()
    scan = nr.open(tmp_path).messages()
    assert scan.plan().ends == ((f"file://{tmp_path}", empty + claimed),)
    with pytest.raises(nr.StoreDamaged, match="is larger than max_record_bytes=67,108,864"):
        scan.to_table()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


def test_the_splits_of_a_read_use_the_same_memory() -> None:
    """A fresh buffer for each split cost as much time as reading into it."""
    log = CommitLog(4096)
    for number in range(40):
        log.append(Message(topic="t", body=b"%d" % number * 100))
    store = InMemory(log.segments(preallocated=False))
    scan = store.messages(columns=["body"], max_partition_bytes=1000)
    shared, used, bodies = Shared(), set(), []
    for split in scan.plan().splits:
        bodies += [batch["body"] for batch in Reading(split, Projection(("body",)), shared=shared)]
        memory = shared.memory.take(1000)
        used.add(memory.ctypes.data)
        shared.memory.give(memory)
    assert len(used) == 1 < len(scan.plan().splits)
    assert [body for column in bodies for body in column.to_pylist()] == [b"%d" % number * 100 for number in range(40)]


def test_a_stopped_read_ends_with_its_chunk() -> None:
    """A run with several jobs stops those ahead if its reader stops. A split without rows would not notice otherwise."""
    log = CommitLog(16 << 20)
    for _ in range(12):
        log.append(Message(topic="t", body=bytes(1 << 20)))
    store = InMemory(log.segments(preallocated=False))
    scan = store.messages(columns=["topic"])
    reading = Reading(scan.plan().splits[0], Projection(("topic",)))
    batches = iter(reading)
    assert 0 < next(batches).num_rows < 12
    reading.stop()
    assert list(batches) == []
    (account,) = reading.report.segments
    assert account.unread_bytes > 0


@pytest.mark.parametrize(("jobs", "ahead"), [(1, None), (1, 1 << 20), (2, None)])
def test_one_reader_ahead_does_not_cut_splits_as_several_do(tune: Tune, jobs: int, ahead: int | None) -> None:
    """1 TiB was 73,728 readings, most of them of zeros: that took longer than all else that the plan of a repair does."""
    tune(part_of_a_job=700)
    store = InMemory(segments_of(*(Message(topic="t", body=bytes(500)) for _ in range(12))))
    scan, options, made = store.messages(max_partition_bytes=2500), MessageOptions(), list[Reading]()

    def reading(*arguments: Any) -> Reading:
        made.append(Reading(*arguments))
        return made[-1]

    run = Run(scan.plan(), options.projection(), jobs, reading=reading, ahead=ahead)
    assert pa.Table.from_batches(run).equals(scan.to_table())
    splits = len(scan.plan().splits)
    assert splits > 1
    assert len(made) == splits if jobs == 1 else len(made) > splits
