"""Files made to cost much, or to raise other errors than those of this package. And no text shows bytes of a body."""

from __future__ import annotations

import logging
import os
import random
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from support.faults import ordinary
from support.queued_stores import dispatched
from support.stores import ZERO, files_of, in_memory, log_of, message, on_disk

import native_reader as nr
from native_reader.records.damages import Damage, Damages, Report
from native_reader.sides.queues import QueueReader, Topic, queues_of
from native_reader.storage.protocol import storage_of
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import encode, pack_properties

MIB, GIB = 1 << 20, 1 << 30
V1 = 0xDAA320A7


def work(url: str, **options: object) -> tuple[int, int, int, int]:
    """Rows, ranges of damage, bytes read and calls of one pass that skips damage."""
    faulty = FaultyStorage(url)
    run = nr.open(f"{faulty.url}/store").messages(columns="physical_offset", mode="DROPMALFORMED", **options).run()
    rows = sum(len(batch) for batch in run)
    (account,) = run.report.segments
    assert account.unread_bytes == 0
    return rows, len(run.report.damage), faulty.bytes_read, faulty.calls["read"]


def work_on(content: bytes, **options: object) -> tuple[int, int, int, int]:
    memory = in_memory({f"store/commitlog/{ZERO}": content})
    return work(memory.url, **options)


def knows_holes(path: Path) -> bool:
    with path.open("wb") as file:
        file.truncate(MIB)
        try:
            return os.lseek(file.fileno(), 0, os.SEEK_DATA) != 0
        except OSError:
            return True


# Sparse files


def sparse(root: Path, size: int, *places: int) -> str:
    """A segment of that size: ten records, then holes with a record at each of those places."""
    if not knows_holes(root / "probe"):
        pytest.skip("this file system does not report holes")
    path = root / "store/commitlog" / ZERO
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(b"".join(files_of(log_of(10, 1 << 14)).values()).rstrip(b"\0"))
        for place in places:
            file.seek(place)
            file.write(encode(message(1), place))
        file.truncate(size)
    return root.as_uri()


@pytest.mark.parametrize("size", [GIB, 1 << 40])
def test_a_sparse_last_segment_costs_as_much_as_its_data(tmp_path: Path, size: int) -> None:
    rows, ranges, read, calls = work(sparse(tmp_path, size), max_partition_bytes=size)
    assert (rows, ranges) == (10, 0)
    assert read < 4 * MIB
    assert calls < 100


@pytest.mark.parametrize("size", [GIB, 1 << 40])
def test_records_far_apart_in_holes_are_all_read_and_every_byte_is_accounted_for(tmp_path: Path, size: int) -> None:
    url = sparse(tmp_path, size, size // 2 + 1, size - 4096 - 7)
    rows, ranges, read, calls = work(url, max_partition_bytes=size)
    assert (rows, ranges) == (12, 2)
    assert read < 32 * MIB
    assert calls < 100
    with pytest.raises(nr.StoreDamaged, match="found zeros"):
        nr.open(f"{url}/store").messages(max_partition_bytes=size).to_table()
    (segment,) = nr.open(f"{url}/store").table("segments").to_table().to_pylist()
    kinds = ("record_bytes", "blank_bytes", "damage_bytes", "unwritten_bytes", "stale_bytes", "unread_bytes")
    assert sum(segment[kind] for kind in kinds) == size
    assert (segment["records"], segment["damages"]) == (12, 2)
    assert nr.open(f"{url}/store").table("damage", max_partition_bytes=size).to_table().num_rows == 2


def test_one_byte_at_the_end_of_a_sparse_segment_is_reported_without_reading_its_holes(tmp_path: Path) -> None:
    url = sparse(tmp_path, GIB)
    with (tmp_path / "store/commitlog" / ZERO).open("r+b") as file:
        file.seek(GIB - 1)
        file.write(b"\1")
    faulty = FaultyStorage(url)
    with pytest.raises(nr.DataLoss, match=r"bytes after the end of the log at offset .* are not records"):
        nr.open(f"{faulty.url}/store").messages().to_table()
    assert faulty.bytes_read < 8 * MIB


def test_holes_are_skipped_in_both_directions(tmp_path: Path) -> None:
    url = sparse(tmp_path, GIB, 512 * MIB)
    uri = f"{url}/store/commitlog/{ZERO}"
    with storage_of(uri).open(uri) as file:
        assert 0 < (first := file.written_end(512 * MIB)) <= 64 << 10
        assert 512 * MIB - (64 << 10) <= file.next_data(first) <= 512 * MIB
        assert 512 * MIB < file.written_end() <= 512 * MIB + (64 << 10)
        assert file.next_data(GIB - 1) == GIB
    memory = in_memory({"store/file": bytes(100)})
    with memory.open(f"{memory.url}/store/file") as file:  # a storage that does not report holes
        assert (file.next_data(7), file.written_end(50), file.written_end(500)) == (7, 50, 100)


def test_a_sparse_queue_file_takes_no_memory_for_its_holes(tmp_path: Path) -> None:
    log = log_of((message(i, topic="wanted" if i % 10 == 0 else "orders", body=bytes(4000), queue_offset=0) for i in range(500)), 4 * MIB)
    on_disk(tmp_path, files_of(log))
    if not knows_holes(tmp_path / "probe"):
        pytest.skip("this file system does not report holes")
    queue = tmp_path / "store/consumequeue/orders/0" / ZERO
    queue.parent.mkdir(parents=True)
    orders = [each for each in log.placed if each.message.topic == "orders"]
    units = (GIB << 3) // 20
    first, end, (low, high) = 0, units, (orders[5], orders[-1])
    with queue.open("wb") as file:
        file.truncate(20 * units)
        places = [(units - 1, high)]
        while 20 * (end - first) > 16 << 10:  # where a binary search looks
            places.append(((first + end) // 2, low))
            first = places[-1][0] + 1
        for place, each in places:
            file.seek(20 * place)
            file.write(struct.pack(">qiq", each.offset, each.size, 0))
    store = nr.open(tmp_path / "store")
    tracemalloc.start()
    found = [store.messages(topic="wanted", columns="topic", access=access).count_rows() for access in ("auto", "scan")]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [50, 50]
    assert peak < 48 * MIB


def test_parts_of_a_queue_inside_a_hole_hold_no_entries(tmp_path: Path) -> None:
    path = tmp_path / "orders" / "0" / ZERO
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.write(struct.pack(">qiq", 5, 100, 0))
        file.truncate(20 * 1_000_000)
    (queue,) = queues_of(Topic("orders", f"{tmp_path.as_uri()}/orders", False))
    with QueueReader(queue) as reader:
        assert len(reader.read(0, 1_000_000)) == 1
        assert len(reader.read(400_000, 900_000)) == 0


def test_a_queue_with_more_entries_than_records_fit_is_rejected(tmp_path: Path) -> None:
    log = log_of((message(i, topic="a" if i % 10 else "b", queue_offset=i // 10 if i % 10 == 0 else 0) for i in range(1000)), 1 << 18)
    files = files_of(log) | dispatched([each for each in log.placed if each.message.topic == "b"], file=20 * 100)
    again = struct.pack(">qiq", log.placed[1].offset, log.placed[1].size, 0) * 250_000
    on_disk(tmp_path, files | {f"store/consumequeue/a/0/{ZERO}": again})
    faulty = FaultyStorage(tmp_path.as_uri())
    (queue,) = queues_of(Topic("a", f"{faulty.url}/store/consumequeue/a", False))
    with QueueReader(queue) as reader:
        assert len(reader.within(0, 4096)) == 0
    assert faulty.bytes_read < 2 * MIB  # of almost five
    found = {access: nr.open(tmp_path / "store").messages(topic="b", access=access).to_table() for access in ("auto", "scan")}
    assert found["auto"].num_rows == 100
    assert found["auto"].equals(found["scan"])


# Damage at every record, forged heads


def broken_records(count: int) -> bytes:
    """The smallest records, with four other bytes after each."""
    unit = encode(ordinary(1, topic="t", body=b"", properties=b""), 0) + b"\0\0\0\1"
    content = np.frombuffer(unit * count, np.uint8).copy().reshape(count, len(unit))
    content[:, 28:36] = (np.arange(count) * len(unit)).astype(">i8").view(np.uint8).reshape(count, 8)
    return content.tobytes()


def test_damage_after_every_record_is_read_in_linear_time() -> None:
    rows, ranges, read, calls = work_on(broken_records(10_000))
    assert (rows, ranges) == (10_000, 9_999)
    more_rows, more_ranges, more_read, more_calls = work_on(broken_records(20_000))
    assert (more_rows, more_ranges) == (20_000, 19_999)
    assert more_read < 2.5 * read
    assert more_read < 12 * 20_000 * 96
    assert max(calls, more_calls) < 200  # not one per range


def test_many_ranges_of_damage_take_little_memory_until_they_are_used() -> None:
    memory = in_memory({f"store/commitlog/{ZERO}": broken_records(40_000)})
    run = nr.open(memory.url).messages(columns="queue_id", mode="DROPMALFORMED").run()
    for _ in run:
        pass
    tracemalloc.start()
    report = run.report
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(report.damage) == 39_999
    assert size < 80 * 40_000
    middle = report.damage[20_000]
    assert (middle.end - middle.start, middle.reason) == (4, "magic")
    assert middle.before is not None
    assert middle.after == middle.end == middle.before + 96


def test_rows_of_damage_keep_their_place_between_messages_if_there_are_many() -> None:
    memory = in_memory({f"store/commitlog/{ZERO}": broken_records(5_000)})
    columns = "physical_offset,record_size,corrupt_reason"
    table = nr.open(memory.url).messages(columns=columns, mode="PERMISSIVE").to_table()
    assert table["physical_offset"].to_pylist() == sorted([96 * i for i in range(5_000)] + [96 * i + 92 for i in range(4_999)])
    assert table["corrupt_reason"].to_pylist() == [None, "magic"] * 4_999 + [None]


def forged_heads(count: int, size: int | None, *, far: bool = False) -> bytes:
    """A head with the right offset every 36 bytes. Each claims to extend to the end, or this far. `far`: its body ends just before."""
    length = 36 * count + 200
    content = bytearray(length)
    for place in range(0, 36 * count, 36):
        struct.pack_into(">iI", content, place, (length - place) if size is None else size, V1)
        struct.pack_into(">q", content, place + 28, place)
        if far and place >= 72:  # the queue id of the third head is the body size of the first
            struct.pack_into(">i", content, place + 12, (length - place - 100) if size is None else size - 100)
    return bytes(content)


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("size", [None, 64 << 10, 2**31 - 1])
def test_forged_heads_are_read_in_linear_time(size: int | None, far: bool) -> None:
    rows, _, read, calls = work_on(forged_heads(8_000, size, far=far), fail_on_data_loss=False)
    more_rows, _, more_read, more_calls = work_on(forged_heads(16_000, size, far=far), fail_on_data_loss=False)
    assert rows == more_rows == 0
    assert more_read < 2.5 * read + MIB
    assert more_read < 12 * 36 * 16_000
    assert more_calls < 2.5 * calls + 50
    if not far:
        assert more_calls < 100  # no call for a head that its own window disproves


def test_records_with_forged_ones_in_their_bodies_are_skipped_at_once() -> None:
    log = CommitLog(4 * MIB)
    for number in range(2_000):
        forged = bytearray(encode(message(number), log.end + 100) if hasattr(log, "end") else b"")
        log.append(ordinary(number, body=bytes(forged)))
    content = bytearray(log.segments()[0][1])
    for each in log.placed[::2]:
        content[each.offset + 4] ^= 1
    rows, _, read, calls = work_on(bytes(content))
    assert rows >= 1_000
    assert read < 10 * len(content)
    assert calls < 300


# Reports


def test_ranges_survive_conversion_to_arrays() -> None:
    ranges = [Damage("a", 0, 5, "size", 12, None, 7), Damage("a", 5, 9, "zeros", before=0), Damage("b", 1, 2, "checksum")]
    damages = Damages.of(ranges)
    assert list(damages) == ranges
    assert damages == tuple(ranges)
    assert tuple(damages[1:]) == tuple(ranges[1:])
    assert (damages[0], damages[-1]) == (ranges[0], ranges[-1])
    assert Report(damage=tuple(ranges)) == Report(damage=damages)
    assert Damages.joined([damages[:1], damages[1:]]) == damages
    assert damages != ranges[:2]
    assert hash(damages) == hash(tuple(ranges))
    assert repr(damages) == repr(tuple(ranges))


# Files that change or have impossible names


@pytest.mark.parametrize("mode", ["FAILFAST", "DROPMALFORMED", "PERMISSIVE"])
@pytest.mark.parametrize("left", [0, 3, 100, 9_000])
def test_a_segment_cut_while_it_is_read_is_a_loss_in_each_mode(tmp_path: Path, mode: str, left: int) -> None:
    for loses in (True, False):
        on_disk(tmp_path, files_of(log_of(1_000, 1 << 18)))
        batches = nr.open(tmp_path / "store").messages(columns="physical_offset", mode=mode, fail_on_data_loss=loses).to_batches()
        rows = len(next(iter(batches)))
        os.truncate(tmp_path / "store/commitlog" / ZERO, left)
        if loses:
            with pytest.raises(nr.DataLoss, match="It was truncated since then"):
                list(batches)
        else:
            assert 0 < rows + sum(map(len, batches)) < 1_000


@pytest.mark.parametrize("loses", [True, False])
def test_a_cut_between_two_reads_is_a_loss_and_not_a_struct_error(tmp_path: Path, loses: bool) -> None:
    on_disk(tmp_path, files_of(log_of((message(i, body=b"o" * 900) for i in range(200)), 1 << 16)))
    batches = nr.open(tmp_path / "store").messages(columns="physical_offset", mode="DROPMALFORMED", fail_on_data_loss=loses).to_batches()
    rows = len(next(batches))
    os.truncate(tmp_path / "store/commitlog" / ZERO, 100)
    if loses:
        with pytest.raises(nr.DataLoss, match="It was truncated since then"):
            list(batches)
    else:
        assert rows < rows + sum(map(len, batches)) <= 200


@pytest.mark.parametrize("base", [2**63 - 1, 2**63 - 2**32 - 4095])
def test_a_segment_with_impossible_offsets_is_rejected_by_name(tmp_path: Path, base: int) -> None:
    files = files_of(log_of(20, 1 << 14)) | {f"store/commitlog/{base:020}": b"x" * 4096}
    on_disk(tmp_path, files)
    with pytest.raises(nr.StoreDamaged, match=f"{base:020} cannot be a segment.*Move it away"):
        nr.open(tmp_path / "store")


def test_the_last_offsets_of_a_log_can_be_read(tmp_path: Path) -> None:
    base = 2**63 - 2**32 - 4096
    on_disk(tmp_path, {f"store/commitlog/{base:020}": b"".join(encode(message(i), base) for i in range(1)).ljust(4096, b"\0")})
    store = nr.open(tmp_path / "store")
    assert store.messages(columns="physical_offset").to_table()["physical_offset"].to_pylist() == [base]
    assert store.table("segments").to_table().num_rows == 1


# No byte of a body in any text


MARKS = (b"S3CR", b"PRIV")


def forms_of(mark: bytes) -> list[str]:
    """All usual forms of printed numbers and bytes, for the mark alone and with its possible neighbours."""
    found = [mark.decode(), mark.hex(), mark[::-1].hex(), repr(mark)]
    for nearby in (mark, mark * 2, b"\0" + mark[:3], mark[:3] + b"\0", b"\0\0" + mark[:2], mark[2:] + mark, mark[1:] + mark[:1]):
        for order in ("big", "little"):
            number = int.from_bytes(nearby, order)  # type: ignore[arg-type]
            found += [f"{number:,}", str(number), f"{number:X}"]
    return [each.lower() for each in found if len(each) > 5 or not each.isdigit()]


@pytest.mark.parametrize("framing", ["plain", "dledger"])
def test_31_no_byte_of_a_body_or_a_property_is_in_any_text(framing: str, caplog: pytest.LogCaptureFixture) -> None:
    draw, forms = random.Random(3), sorted({form for mark in MARKS for form in forms_of(mark)})
    properties = pack_properties({"TAGS": "PRIV", "KEYS": "PRIVKEY", "P": "PRIV"})
    log = CommitLog(1 << 13, 0, framing)  # type: ignore[arg-type]
    for number in range(15):
        log.append(message(number, body=b"S3CR" * 60, properties=properties))
    good, files = log.segments()[0][1], {}
    memory, texts = in_memory(files), 0
    for _ in range(150):
        broken = bytearray(good)
        for _ in range(draw.choice([1, 1, 3])):
            at, how, other = draw.randrange(len(good) // 2), draw.randrange(5), draw.randrange(len(good) // 2)
            match how:
                case 0:
                    broken[at] ^= 1 << draw.randrange(8)
                case 1:
                    del broken[at : at + draw.randrange(1, 60)]
                case 2:
                    broken[at:at] = draw.choice([b"S3CR" * 9, bytes(7), b"\0\0\0\0S3CR", draw.randbytes(9)])
                case 3:
                    broken[at : at + 40] = broken[other : other + 40]
                case 4:  # a field of a head
                    start = draw.choice(log.placed).offset
                    place, width = draw.choice([(0, 4), (4, 4), (28, 8), (84, 4), (8, 4)])
                    broken[start + place : start + place + width] = draw.choice([b"S3CRS3CR", b"\0S3CR\0\0", b"\0\0S3CRS3"])[:width]
        files[f"store/commitlog/{ZERO}"] = bytes(broken[: 1 << 13])
        for options in ({}, {"mode": "DROPMALFORMED"}):
            caplog.clear()
            with caplog.at_level(logging.DEBUG):
                try:
                    run = nr.open(memory.url).messages(columns="physical_offset", verify_crc=True, **options).run()
                    list(run)
                    said = "".join(each.description for each in run.report.damage)
                except nr.StoreError as error:
                    said = str(error)
            text = (said + caplog.text).lower()
            texts += bool(said)
            assert not [form for form in forms if form in text]
    assert texts > 100
