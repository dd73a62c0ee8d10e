"""The end of the log: losses after it are reported, truncated records do not count, and the newest record does."""

from __future__ import annotations

import gzip
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from random import Random
from struct import pack
from typing import Any

import pytest
from support.forged import ending_in_a_forged_blank
from support.log_ends import checkpoint, cut_log
from support.queued_stores import dispatched
from support.stores import ZERO, Files, files_of, in_memory, log_of, message, on_disk

import native_reader as nr
from native_reader.log import tail as log_tail
from native_reader.storage.window import Window
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import Message, encode

SEGMENT = 4096
LENIENT: Mapping[str, Any] = {"mode": "DROPMALFORMED", "fail_on_data_loss": False}


def store_of(log: CommitLog, **others: bytes) -> dict[str, bytes]:
    """The log with its queues, as a broker writes them to disk."""
    return files_of(log) | dispatched(log.placed) | {f"store/{name}": content for name, content in others.items()}


def count(files: Files, **options: Any) -> int:
    memory = in_memory(files)
    return nr.open(memory.url).messages(**options).count_rows()


def refused(files: Files, **options: Any) -> str:
    with pytest.raises(nr.DataLoss) as raised:
        count(files, **options)
    return re.sub(r"memory://\d+", "memory://", str(raised.value))


def table(files: Files, name: str) -> list[dict[str, Any]]:
    memory = in_memory(files)
    rows: list[dict[str, Any]] = nr.open(memory.url).table(name).to_table().to_pylist()
    for row in rows if name == "segments" else ():
        parts = [row[part] for part in row if part.endswith("_bytes")]
        assert row["state"] == "missing" or sum(parts) == row["size"]
    return rows


def test_the_end_of_a_large_log_without_queues_is_searched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read walked the last segment from its start, all of 1 GiB. What is appended, cut or damaged is seen."""
    walked: list[int] = []

    class Counted(log_tail.EndWalk):
        def __init__(self, window: Window, begin: int, *rest: Any) -> None:
            walked.append(begin)
            super().__init__(window, begin, *rest)

    monkeypatch.setattr(log_tail, "EndWalk", Counted)
    log = log_of((message(number, body=b"b" * 4000) for number in range(2100)), 16 << 20)
    store = on_disk(tmp_path, files_of(log)) / "store"
    (segment,) = (store / "commitlog").iterdir()
    opened = nr.open(store)
    assert [opened.messages(columns="queue_offset").count_rows() for _ in range(3)] == [2100] * 3
    assert nr.open(store).messages().plan().ends[0][1] == log.placed[-1].offset + log.placed[-1].size
    assert walked == [0]
    end = log.placed[-1].offset + log.placed[-1].size
    modified = segment.stat().st_mtime_ns
    with segment.open("r+b") as file:
        file.seek(end)
        file.write(encode(message(2100), end))
    os.utime(segment, ns=(modified, modified))  # a broker that maps the file leaves its time for seconds
    assert opened.messages(columns="queue_offset").count_rows() == 2101
    with segment.open("r+b") as file:
        file.seek(log.placed[2000].offset)
        file.write(bytes((16 << 20) - log.placed[2000].offset))
    os.utime(segment, ns=(modified, modified))
    assert opened.messages(columns="queue_offset").count_rows() == 2000
    assert walked == [0] * 3


# Losses


@pytest.fixture
def whole() -> CommitLog:
    """800 records in some thirty segments."""
    return log_of(800, SEGMENT)


def last_segments(log: CommitLog, count: int) -> list[str]:
    return sorted(files_of(log))[-count:]


def test_segments_at_the_end_overwritten_with_random_bytes(whole: CommitLog, caplog: pytest.LogCaptureFixture) -> None:
    files, gone = store_of(whole), last_segments(whole, 10)
    begin = int(gone[0][-20:])
    left = sum(each.offset < begin for each in whole.placed)
    files |= {name: Random(name).randbytes(SEGMENT) for name in gone}
    end = max(each.offset + each.size for each in whole.placed)
    assert refused(files).startswith(
        f"memory:///store: {800 - left} records in 3 queues are after the end of the log at offset {begin:,}, up to offset {end:,}. "
        f"memory:///store/commitlog/{gone[0][-20:]} begins with unknown bytes. Set fail_on_data_loss=False to read the rest"
    )
    assert count(files, fail_on_data_loss=False) == count(files, **LENIENT) == left
    assert f"{800 - left} records in 3 queues are after the end of the log" in caplog.text
    damage = table(files, "damage")
    assert sum(row["bytes"] for row in damage) >= 10 * SEGMENT - 100
    assert {row["start_offset"] for row in damage} >= {int(name[-20:]) for name in gone}
    states = {row["first_offset"]: row["state"] for row in table(files, "segments")}
    assert all(states[int(name[-20:])] != "ahead" for name in gone)


def test_a_segment_that_was_cut_off_is_named(whole: CommitLog) -> None:
    """An interrupted copy: the file is there, but shorter than the others. It is the last one, or an empty one follows."""
    files, (name,) = store_of(whole), last_segments(whole, 1)
    base = int(name[-20:])
    cut = files | {name: files_of(whole)[name][:1000]}
    text = f"Segment {base:020d} has 1,000 bytes, others {SEGMENT:,}: it looks cut off"
    assert text in refused(cut)
    assert text in refused(cut | {f"{name[:-20]}{base + SEGMENT:020d}": bytes(SEGMENT)})


def test_segments_at_the_end_that_were_packed_renamed_or_deleted(whole: CommitLog) -> None:
    gone = last_segments(whole, 3)
    begin = int(gone[0][-20:])
    files = {name: content for name, content in store_of(whole).items() if name not in gone}
    text = refused(files)
    assert f"are after the end of the log at offset {begin:,}, up to offset" in text
    assert "No file contains these offsets: segments at the end are missing or renamed. " in text
    packed = files | {f"{name}.zip": b"x" for name in gone}
    assert f"or renamed. {gone[0][-20:]}.zip exists: unpack it first: unzip {gone[0][-20:]}.zip." in refused(packed)
    without_queues = {name: content for name, content in packed.items() if "commitlog" in name}
    assert f"{gone[0][-20:]}.zip is not a segment, but its name is an offset after the end of the log at offset {begin:,}" in refused(
        without_queues
    )
    in_place = store_of(whole) | {name: gzip.compress(files_of(whole)[name]) for name in gone}
    assert f"{gone[0][-20:]} looks like gzip data. Unpack it first" in refused(in_place)
    (lost,) = table(files, "damage")
    assert (lost["start_offset"], lost["reason"], lost["segment"]) == (begin, "lost", None)


def test_a_log_that_was_copied_before_its_queues(whole: CommitLog, caplog: pytest.LogCaptureFixture) -> None:
    """Zeros where queues name records: a copy of a store that was being written is read, and the missing part is reported."""
    files = store_of(whole, abort=b"")
    name = last_segments(whole, 1)[0]
    last = [each for each in whole.placed if each.segment == int(name[-20:])]
    files[name] = files[name][: last[4].offset - last[4].segment].ljust(SEGMENT, b"\0")
    left = 800 - len(last) + 4
    assert count(files) == left
    lost = f"{len(last) - 4} records in 3 queues are after the end of the log at offset {last[4].offset:,}"
    assert lost in caplog.text
    assert "the log was copied before its consume queues, or its newest pages were lost" in caplog.text
    (row,) = table(files, "damage")
    assert (row["start_offset"], row["end_offset"], row["reason"]) == (last[4].offset, last[-1].offset + last[-1].size, "lost")
    assert lost in row["found"]


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        (gzip.compress(b"x" * 99), f"looks like gzip data. Unpack it first: mv {ZERO} {ZERO}.gz && gunzip {ZERO}.gz"),
        (b"an old note of somebody, and more of it " * 9, "begins with text"),
        (bytes(4096), "begins with zeros: nothing was written, or the data is lost"),
        (Random(1).randbytes(4096), "begins with unknown bytes"),
    ],
    ids=["gzip", "text", "zeros", "random"],
)
def test_a_store_whose_segments_hold_no_record(content: bytes, looks: str, caplog: pytest.LogCaptureFixture) -> None:
    files = {f"store/commitlog/{ZERO}": content.ljust(200, b"\0")}
    text = refused(files)
    assert text.startswith(f"memory:///store: its only segment contains no record. memory:///store/commitlog/{ZERO} {looks}. Set fail_on")
    assert count(files, fail_on_data_loss=False) == count(files, **LENIENT) == 0
    assert looks in caplog.text
    two = files | {f"store/commitlog/{len(content.ljust(200, bytes(1))):020}": content}
    assert "none of its 2 segments contains a record" in refused(two)


def test_a_store_with_only_queues_left(whole: CommitLog) -> None:
    files = {"store/commitlog/": b""} | dispatched(whole.placed)
    assert "800 records in 3 queues are after the end of the log at offset 0" in refused(files)
    assert count(files, fail_on_data_loss=False) == 0


def test_a_few_bytes_after_the_end_are_not_reported(whole: CommitLog, caplog: pytest.LogCaptureFixture) -> None:
    """5.5.0 leaves some with writeWithoutMmap, and a killed broker leaves half a record."""
    log = log_of(10, SEGMENT)
    for tail in (b"\x9c\x01" * 90, encode(message(11), log.end)[:-20]):
        files = files_of(log) | dispatched(log.placed)
        files[f"store/commitlog/{ZERO}"] = log.segments(tail=tail)[0][1]
        assert count(files) == 10
        assert table(files, "damage") == []
    assert caplog.text == ""


def test_one_wrong_queue_entry_is_not_a_loss(whole: CommitLog, caplog: pytest.LogCaptureFixture) -> None:
    """Only this entry names such a record, and the log decides."""
    files = store_of(whole)
    for place in (1 << 40, max(each.offset + each.size for each in whole.placed) + 7):
        name = next(name for name in files if "consumequeue/T1" in name)
        changed = files | {name: files[name][:-20] + pack(">qiq", place, 100, 0)}
        assert count(changed) == 800
    assert caplog.text == ""


def test_two_wrong_queue_entries_that_confirm_each_other_are_a_loss() -> None:
    """The same bit was flipped in the only entries of two queues. Where one of these records would end, the other would begin."""
    log = log_of(message(number, queue_offset=0) for number in range(3))
    files = files_of(log) | dispatched(log.placed)
    for name in (f"store/consumequeue/T1/0/{ZERO}", f"store/consumequeue/T2/0/{ZERO}"):
        files[name] = bytes([files[name][0] ^ 1]) + files[name][1:]
    assert "2 records in 2 queues are after the end of the log" in refused(files)
    assert count(files, fail_on_data_loss=False) == 3


def test_a_path_to_one_segment_misses_nothing(tmp_path: Path, whole: CommitLog, caplog: pytest.LogCaptureFixture) -> None:
    """The queues name records of the other segments, which are not part of the read."""
    store = on_disk(tmp_path, store_of(whole)) / "store"
    assert nr.open(store / "commitlog" / ZERO).messages().count_rows() == sum(each.segment == 0 for each in whole.placed)
    assert caplog.text == ""


# Truncated


@pytest.mark.parametrize(
    "said",
    [
        {"checkpoint": checkpoint(flushed=5024)},
        {"checkpoint": checkpoint(flushed=1010, dispatched_time=5024)},
        {"checkpoint": checkpoint(flushed=5020), "abort": b"1"},
        {"checkpoint": checkpoint(flushed=5020)},
    ],
)
def test_records_that_a_broker_truncated_do_not_count(said: dict[str, bytes], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "native_reader")
    files, end, begins = cut_log()
    files |= {f"store/{name}": content for name, content in said.items()}
    old = sum(each.offset >= begins for each in log_of([message(number) for number in range(40)], 1 << 16).placed)
    for options in ({}, LENIENT, {"mode": "PERMISSIVE"}, {"topic": "T1"}):
        topics = ["T0", "T1", "T2"] if "topic" not in options else ["T1"]
        assert count(files, **options) == sum(f"T{number % 3}" in topics for number in range(25))
    assert [record.levelno for record in caplog.records if record.levelno > logging.INFO] == []
    assert "bytes of old records follow the end of the log: a broker discarded them" in caplog.text
    assert table(files, "damage") == []
    (segment,) = table(files, "segments")
    assert (segment["records"], segment["state"]) == (25, "last")
    assert segment["stale_bytes"] >= old * 100
    memory = in_memory(files)
    store = nr.open(memory.url)
    assert dict(store.messages().plan().ends) == {f"{memory.url}/store": end}
    written = len(files[f"store/commitlog/{0:020}"].rstrip(b"\0"))
    assert dict(store.messages().plan().stale) == {f"{memory.url}/store": written - end}
    assert f"of old records after the end of the log of {memory.url}/store, which a broker discarded. Set tail=all to read them" in str(
        store.messages().explain()
    )
    assert count(files, tail="all", **LENIENT) == 25 + old


def test_truncated_records_right_after_the_last_one() -> None:
    """With equal sizes there is no break between them. Only the checkpoint shows the end, if it has the time of the last record."""
    log = log_of([message(number, store_timestamp=(5000 if number < 15 else 1000) + number) for number in range(30)], 1 << 16)
    assert count(store_of(log, checkpoint=checkpoint(flushed=5014))) == 15
    assert count(store_of(log, checkpoint=checkpoint(flushed=5000))) == 30
    end = log.placed[15].offset
    controlled = {"checkpoint": checkpoint(flushed=5000, confirmed=end), "epochFileCheckpoint": b"1\n0\n1-0\n"}
    assert count(store_of(log, **controlled)) == 15


@pytest.mark.parametrize(
    "said", [{}, {"checkpoint": bytes(4096)}, {"checkpoint": checkpoint(flushed=1035)}, {"checkpoint": checkpoint(flushed=9000)}]
)
def test_bytes_that_the_checkpoint_does_not_confirm_as_truncated_are_damage(said: dict[str, bytes]) -> None:
    """Bytes outside of records, and records after them. Without the broker's checkpoint they do not count as truncated."""
    files, end, begins = cut_log()
    files |= {f"store/{name}": content for name, content in said.items()}
    with pytest.raises(nr.StoreDamaged, match=f"at offset {end:,} .*expected a record"):
        count(files)
    (damage,) = [row for row in table(files, "damage") if row["reason"] != "lost"]
    assert (damage["start_offset"], damage["end_offset"]) == (end, begins)


def test_records_after_a_clock_stepped_back_are_not_old() -> None:
    log = log_of([message(number, store_timestamp=(5000 if number < 15 else 1000) + number) for number in range(30)], 1 << 16)
    assert count(store_of(log, checkpoint=checkpoint(flushed=1029))) == 30
    files = files_of(log)
    content = bytearray(files[f"store/commitlog/{ZERO}"])
    at = log.placed[14]
    content[at.offset : at.offset + 40] = bytes(40)
    files[f"store/commitlog/{ZERO}"] = bytes(content)
    files["store/checkpoint"] = checkpoint(flushed=1029)
    assert count(files, **LENIENT) == 29


@pytest.mark.parametrize(("before", "after"), [(5000, -1000), (0, -40)])
def test_a_missing_checkpoint_confirms_nothing(before: int, after: int) -> None:
    """A time of 0 means none, not the year 1970."""
    log = log_of([message(number, store_timestamp=before if number < 15 else after + number) for number in range(30)], 1 << 16)
    files = files_of(log)
    assert count(files) == 30
    content = bytearray(files[f"store/commitlog/{ZERO}"])
    at = log.placed[15]
    content[at.offset : at.offset + 40] = bytes(40)
    broken = files | {f"store/commitlog/{ZERO}": bytes(content)}
    assert count(broken, **LENIENT) == 29
    with pytest.raises(nr.StoreDamaged, match=f"at offset {at.offset:,} "):
        count(broken)


# The newest record


@pytest.mark.parametrize("queues", [True, False])
def test_the_newest_record_may_hold_nul(queues: bool) -> None:
    """Clients and brokers allow NUL in keys, tags and values. A torn record also has zeros up to its end."""
    for properties in (b"KEYS\1a\0b\2", b"TAGS\1\0\2", b"k\1a\0\0\0z\2TAGS\1t\2", b"KEYS\1a\0b"):
        log = log_of([message(0), Message(topic="T1", body=b"new", properties=properties)], SEGMENT)
        files = files_of(log) | (dispatched(log.placed) if queues else {})
        assert count(files) == 2, properties
    log = log_of([message(0), Message(topic="T1", body=b"new", properties=b"KEYS\1abcdefgh\2TAGS\1t\2")], SEGMENT)
    end = log.placed[1].offset + log.placed[1].size
    for zeros in range(1, 20):
        files = files_of(log)
        content = bytearray(files[f"store/commitlog/{ZERO}"])
        content[end - zeros : end] = bytes(zeros)
        assert count(files | {f"store/commitlog/{ZERO}": bytes(content)}) == 1, zeros


def test_a_value_that_ends_in_nul_counts_if_its_queue_names_it() -> None:
    """4.9.1 to 5.1.4 put no separator after the last property."""
    log = log_of([message(0), Message(topic="T", body=b"new", properties=b"KEYS\1ab\0", queue_offset=1)], SEGMENT)
    assert count(files_of(log) | dispatched(log.placed)) == 2
    assert count(files_of(log)) == 1


# Forged


@pytest.mark.parametrize("queues", [True, False])
def test_a_forged_blank_in_the_newest_body_does_not_end_the_log(tmp_path: Path, queues: bool) -> None:
    """The whole file counted as log: default reads failed, and unwritten bytes were damage."""
    log = ending_in_a_forged_blank(16 << 20)
    store = on_disk(tmp_path, files_of(log) | (dispatched(log.placed) if queues else {})) / "store"
    for options in ({}, {"topic": "T1"}, LENIENT, {"max_partition_bytes": 1 << 20}):
        scan = nr.open(store).messages(columns="topic", **options)
        run = scan.run()
        assert sum(len(batch) for batch in run) == (67 if "topic" in options else 201)
        assert run.report.damage == ()
        assert dict(scan.plan().ends) == {store.as_uri(): log.end}
    (segment,) = nr.open(store).table("segments").to_table().to_pylist()
    assert (segment["state"], segment["unwritten_bytes"]) == ("last", (16 << 20) - log.end)
