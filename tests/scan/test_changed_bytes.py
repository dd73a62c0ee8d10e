"""A log whose end is not what it was when the read was planned: as on a network file system that is behind."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

import pytest
from support.stores import files_of, log_of, message, on_disk

import native_reader as nr


def last_segment(store: Path) -> Path:
    return [each for each in sorted((store / "commitlog").iterdir()) if any(each.read_bytes())][-1]


@pytest.mark.parametrize("mode", ["DROPMALFORMED", "PERMISSIVE"])
@pytest.mark.parametrize("lost", [138, 300])
@pytest.mark.parametrize("max_partition_bytes", [500, 1 << 20])
def test_the_newest_records_are_not_there_yet(tmp_path: Path, mode: str, lost: int, max_partition_bytes: int) -> None:
    """Skipped damage had fewer rows than the log that was planned."""
    scan = nr.open(on_disk(tmp_path, files_of(log_of(40))) / "store").messages(mode=mode, max_partition_bytes=max_partition_bytes)
    assert scan.plan()
    segment = last_segment(tmp_path / "store")
    content = segment.read_bytes()
    end = len(content.rstrip(b"\0"))
    with segment.open("r+b") as file:
        file.seek(end - lost)
        file.write(bytes(lost))
    with pytest.raises(nr.DataLoss) as raised:
        scan.to_table()
    expected = (
        rf"{segment.as_uri()}: bytes [\d,]+ to [\d,]+ of the log held records when the read was planned, and do not now\. "
        r"Load the store again\. If a network file system is behind on this machine, wait until it shows the whole file"
    )
    assert re.fullmatch(expected, str(raised.value))
    with segment.open("r+b") as file:
        file.write(content)
    assert scan.count_rows() == 40


def test_a_loss_that_is_allowed_is_still_listed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    scan = nr.open(on_disk(tmp_path, files_of(log_of(40))) / "store").messages(mode="DROPMALFORMED", fail_on_data_loss=False)
    scan.plan()
    segment = last_segment(tmp_path / "store")
    end = len(segment.read_bytes().rstrip(b"\0"))
    with segment.open("r+b") as file:
        file.seek(end - 300)
        file.write(bytes(300))
    run = scan.run()
    assert sum(batch.num_rows for batch in run) == 38
    assert "held records when the read was planned" in caplog.text
    assert len(run.report.damage) == 1


def test_a_file_that_is_shorter_than_planned(tmp_path: Path) -> None:
    scan = nr.open(on_disk(tmp_path, files_of(log_of(40))) / "store").messages(mode="DROPMALFORMED")
    scan.plan()
    os.truncate(last_segment(tmp_path / "store"), 100)
    with pytest.raises(nr.DataLoss, match=r"has 100 bytes, but had 2,048 when the read was planned\."):
        scan.to_table()


@pytest.mark.parametrize("verify_crc", [True, False])
def test_a_wrong_checksum_of_the_newest_record_is_no_loss(tmp_path: Path, verify_crc: bool) -> None:
    log = log_of(40)
    store = on_disk(tmp_path, files_of(log)) / "store"
    last = log.placed[-1]
    segment = last_segment(store)
    body = segment.read_bytes().rfind(last.message.body)
    with segment.open("r+b") as file:
        file.seek(body)
        file.write(b"\xff")
    assert nr.open(store).messages(mode="DROPMALFORMED", verify_crc=verify_crc, access="scan").count_rows() in (39, 40)


@pytest.mark.parametrize("mode", ["DROPMALFORMED", "PERMISSIVE"])
def test_an_end_that_was_overwritten_before_the_read_is_damage(tmp_path: Path, mode: str) -> None:
    """Rescue of such a log failed: its end was taken for records that a slow network file system did not show yet."""
    store = on_disk(tmp_path, files_of(log_of(40, 1 << 20))) / "store"
    segment = last_segment(store)
    end = len(segment.read_bytes().rstrip(b"\0"))
    with segment.open("r+b") as file:
        file.seek(end - 300)
        file.write(b"\xee" * (128 << 10))
    for most in (4096, 1 << 21):
        scan = nr.open(store).messages(mode=mode, max_partition_bytes=most)
        run = scan.run()
        rows = sum(batch.num_rows for batch in run)
        assert (rows, run.report.damage[-1].end) == (38, end - 300 + (128 << 10))


@pytest.mark.parametrize("mode", ["DROPMALFORMED", "PERMISSIVE"])
@pytest.mark.parametrize("segment_size", [2048, 1 << 20])
def test_damage_before_a_newest_record_that_does_not_count_is_damage(tmp_path: Path, mode: str, segment_size: int) -> None:
    """The newest record's body was wrong, and the record before it damaged. The log ended at the newest one, so after damage."""
    log = log_of(40, segment_size)
    *_, before, last = log.placed
    assert before.segment == last.segment
    content = files_of(log)
    name = f"store/commitlog/{last.segment:020}"
    changed = bytearray(content[name])
    changed[before.offset - before.segment] ^= 1
    changed[changed.rindex(last.message.body)] = 0
    store = nr.open(on_disk(tmp_path, content | {name: bytes(changed)}) / "store")
    for most in (500, 1 << 21):
        run = store.messages(mode=mode, max_partition_bytes=most, access="scan").run()
        assert sum(batch.num_rows for batch in run) == 38
        assert (run.report.damage[-1].start, run.report.damage[-1].end) == (before.offset, last.offset)


def test_a_record_before_a_newest_one_that_does_not_count_is_not_there_yet(tmp_path: Path) -> None:
    """The log ends before the newest record, after a whole one: if that one is gone later, it is a loss."""
    log = log_of(40, 1 << 20)
    *_, before, last = log.placed
    content = bytearray(files_of(log)[f"store/commitlog/{0:020}"])
    content[content.rindex(last.message.body)] = 0
    segment = on_disk(tmp_path, files_of(log) | {f"store/commitlog/{0:020}": bytes(content)}) / f"store/commitlog/{0:020}"
    scan = nr.open(tmp_path / "store").messages(mode="DROPMALFORMED")
    assert scan.plan()
    with segment.open("r+b") as file:
        file.seek(before.offset)
        file.write(bytes(before.size))
    with pytest.raises(nr.DataLoss, match=rf"bytes {before.offset:,} to {last.offset:,} of the log held records when the read was planned"):
        scan.to_table()


@pytest.mark.parametrize("tail", ["flushed", "confirmed"])
def test_damage_before_the_offset_in_the_checkpoint_is_damage(tmp_path: Path, tail: str) -> None:
    log = log_of(40, 1 << 20)
    content = files_of(log)
    name = f"store/commitlog/{0:020}"
    changed = bytearray(content[name])
    changed[log.placed[20].offset] ^= 1
    middle = log.placed[20].offset + 40
    checkpoint = struct.pack(">5q", *[log.placed[-1].message.store_timestamp] * 3, middle, middle)
    store = nr.open(on_disk(tmp_path, content | {name: bytes(changed), "store/checkpoint": checkpoint}) / "store")
    run = store.messages(mode="DROPMALFORMED", tail=tail).run()
    assert sum(batch.num_rows for batch in run) == 20
    assert [(each.start, each.end) for each in run.report.damage] == [(log.placed[20].offset, middle)]


@pytest.mark.parametrize("mode", ["DROPMALFORMED", "PERMISSIVE"])
def test_a_newest_record_over_the_limit_is_damage(tmp_path: Path, mode: str) -> None:
    """It was taken for a record that a slow network file system did not show yet."""
    log = log_of([message(n, body=b"x" * (3000 if n == 5 else 10)) for n in range(6)], 1 << 16)
    run = nr.open(on_disk(tmp_path, files_of(log)) / "store").messages(mode=mode, max_record_bytes=1000).run()
    assert sum(batch.num_rows for batch in run) == 5
    assert [each.reason for each in run.report.damage] == ["too large"]
