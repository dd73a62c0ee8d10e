"""Each fault of queues and side files, one by one: what a check finds. And every case that `auto` misses."""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable
from dataclasses import replace

import pytest
from support.indexed_stores import indexed
from support.missed import MISSED, Case, changed
from support.queued_stores import dispatched, numbered
from support.slaves import batch
from support.stores import Files, files_of, in_memory, log_of, message
from support.verified import CHECKPOINT, OFFSETS, TOPICS, beside, codes, findings, healthy

import native_reader as nr
from native_reader.layout.queue_entry import FILLER_SIZE
from native_reader.options import MessageOptions
from native_reader.tables.findings import FINDINGS
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.java import hash_code

QUEUE = f"store/consumequeue/T1/0/{0:020}"
SMALL = [f"store/consumequeue/T1/0/{place:020}" for place in range(0, 400, 80)]
NO_OFFSETS = b'{"offsetTable":{}}'


def entry(files: Files, number: int, name: str = QUEUE) -> tuple[int, int, int]:
    fields: tuple[int, int, int] = struct.unpack_from(">qiq", files[name], 20 * number)
    return fields


def put(files: Files, number: int, *fields: int, name: str = QUEUE) -> Files:
    return changed(files, name, 20 * number, ">qiq", *fields)


# Queues


def test_45_a_queue_without_files() -> None:
    _, files = healthy(deleted=["T1"])
    assert codes(files) == {"queue-missing": 20}
    assert codes(files | beside(healthy()[0], ["T0", "T2"])) == {"record-of-deleted-topic": 20}


def test_45_a_deleted_topic_is_one_finding() -> None:
    messages = numbered([message(each, topic="gone" if each % 3 else "T", queue_id=each % 4) for each in range(120)])
    log = log_of(messages)
    files = files_of(log) | dispatched(log.placed, deleted=["gone"]) | indexed(log.placed) | beside(log, ["T"])
    assert len([path for path in files if "/commitlog/" in path]) > 3
    offsets = [each.offset for each in log.placed if each.message.topic == "gone"]
    (row,) = findings(files)
    assert (row["code"], row["topic"], row["queue_id"], row["count"]) == ("record-of-deleted-topic", "gone", None, 80)
    assert (row["offset"], row["last_offset"]) == (offsets[0], offsets[-1])
    assert row["message"] == f"80 records of 'gone' that were in 4 queues, from offset {offsets[0]:,} to {offsets[-1]:,}"
    (parallel,) = findings(files, jobs=3)
    assert parallel | {"file": row["file"]} == row


def test_45_a_condition_is_about_the_one_row_of_a_deleted_topic() -> None:
    log, files = healthy(deleted=["T1"])
    memory = in_memory(files | beside(log, ["T0", "T2"]))
    table = nr.open(f"{memory.url}/store").table
    assert table("findings", columns="count", where="count = 20 AND queue_id IS NULL").to_table().to_pylist() == [{"count": 20}]
    assert table("findings", where="queue_id = 0").count_rows() == 0
    assert table("findings").count_rows() == 1


def test_45_a_task_has_one_row_for_each_deleted_topic() -> None:
    log, files = healthy(deleted=["T1"])
    memory = in_memory(files | beside(log, ["T0", "T2"]))
    scan = nr.open(f"{memory.url}/store").table("findings")
    projection = MessageOptions().projection(())
    of_parts = [FINDINGS.read(part, projection) for part in scan.parts()]
    rows = [row for batches in of_parts for batch in batches for row in batch.to_pylist()]
    assert len(rows) == len({row["offset"] for row in rows}) > 1
    assert sum(row["count"] for row in rows) == 20
    assert {row["topic"] for row in rows} == {"T1"}


def test_45_very_many_deleted_topics_are_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    log, files = healthy(deleted=["T1"])
    memory = in_memory(files | beside(log, ["T0", "T2"]))
    monkeypatch.setattr("native_reader.verify.findings._COSTS", 1 << 30)
    found = nr.open(f"{memory.url}/store").verify().to_table().to_pylist()
    assert sum(row["count"] for row in found) == 20
    assert len(found) > 1


def test_45_a_system_topic_is_not_deleted() -> None:
    messages = numbered([message(each, topic="RMQ_SYS_TRACE_TOPIC" if each % 2 else "T") for each in range(20)])
    log = log_of(messages)
    files = files_of(log) | dispatched(log.placed, deleted=["RMQ_SYS_TRACE_TOPIC"]) | indexed(log.placed) | beside(log, ["T"])
    assert codes(files) == {"queue-missing": 10}


@pytest.mark.parametrize("cut", [19, 21, 399])
def test_46_a_file_that_was_cut_inside_an_entry(cut: int) -> None:
    _, files = healthy()
    found = codes(files | {QUEUE: files[QUEUE][:cut]} | {OFFSETS: NO_OFFSETS})
    assert found.pop("queue-file") == 1
    assert found == {"record-without-entry" if cut > 20 else "queue-missing": 20 - cut // 20}


def test_47_entries_of_expired_records() -> None:
    of_days = [message(each, store_timestamp=1_700_000_000_000 + each * 6 * 3_600_000) for each in range(60)]
    log, files = healthy(of_days)
    del files[f"store/commitlog/{0:020}"]
    expired = [placed for placed in log.placed if placed.segment == 0]
    assert codes(files) == {"entry-expired": len(expired), "index-expired": 3 * len(expired)}


def test_47_entries_of_records_that_have_not_expired() -> None:
    log, files = healthy()
    del files[f"store/commitlog/{0:020}"]
    gone = [placed for placed in log.placed if placed.segment == 0]
    assert codes(files) == {"entry-removed": len(gone), "log-removed": 1, "index-expired": 3 * len(gone)}


def test_48_entries_after_the_end_of_the_log() -> None:
    log, files = healthy()
    last = max(name for name in files if "commitlog" in name)
    kept = [placed for placed in log.placed if placed.segment < int(last[-20:])]
    del files[last]
    found = codes(files)
    assert found["entry-after-end"] == len(log.placed) - len(kept)
    assert found["log-lost"] == 1
    assert found["checkpoint-ahead"] == 1


def test_49_a_filler_after_the_first_entry() -> None:
    _, files = healthy()
    assert codes(put(files, 3, 0, FILLER_SIZE, 0)) == {"queue-filler": 1, "record-without-entry": 1}


def test_49_fillers_before_the_first_entry_are_normal() -> None:
    log = log_of([replace(each, queue_offset=each.queue_offset + 5) for each in numbered(map(message, range(30)))])
    files = files_of(log) | dispatched(log.placed, file=4000) | indexed(log.placed) | beside(log)
    assert codes(files | {OFFSETS: NO_OFFSETS}) == {}


@pytest.mark.parametrize(
    ("number", "code"),
    [(0, "entry-without-record"), (1, "entry-size"), (2, "entry-tag")],
)
def test_50_a_field_that_disagrees(number: int, code: str) -> None:
    _, files = healthy()
    fields = list(entry(files, 5))
    fields[number] += 1
    found = codes(put(files, 5, *fields))
    assert found.pop(code) == 1
    assert found == ({"record-without-entry": 1} if number == 0 else {})


def test_50_numbers_that_disagree() -> None:
    _, files = healthy()
    one, other = entry(files, 5), entry(files, 6)
    found = codes(put(put(files, 5, *other), 6, *one))
    assert found == {"entry-number": 2, "queue-order": 1}


def test_50_an_entry_of_another_queue() -> None:
    _, files = healthy()
    other = entry(files, 5, f"store/consumequeue/T2/0/{0:020}")
    assert codes(put(files, 5, *other)) == {"entry-of-other-queue": 1, "record-without-entry": 1}


@pytest.mark.parametrize("number", [0, 7, 19])
def test_51_an_entry_of_zeros(number: int) -> None:
    _, files = healthy()
    holes = {"queue-hole": 1} if number == 7 else {}
    expected = {"record-without-entry": 1} | holes
    if number == 19:  # the group is at the end of the queue
        expected["offset-after-queue"] = 1
    assert codes(put(files, number, 0, 0, 0)) == expected


def test_52_an_empty_last_file_is_normal() -> None:
    _, files = healthy(queue_file=80)
    assert codes(files | {f"store/consumequeue/T1/0/{400:020}": b""}) == {}


def test_53_a_missing_file_in_the_middle() -> None:
    _, files = healthy(queue_file=80)
    del files[SMALL[2]]
    assert codes(files) == {"queue-hole": 4, "record-without-entry": 4}


def test_53_a_missing_first_file() -> None:
    _, files = healthy(queue_file=80)
    del files[SMALL[0]]
    assert codes(files) == {"record-without-entry": 4}


def test_54_addresses_without_their_file() -> None:
    _, files = healthy()
    offset, size, _ = entry(files, 5)
    far = put(files, 5, offset, size, -(2**63) + 77)
    assert codes(far) == {"entry-address": 1}
    assert codes(far | {f"store/consumequeue_ext/T1/0/{0:020}": b"x"}) == {}


def test_55_an_impossible_delivery_time() -> None:
    messages = [message(number, topic="SCHEDULE_TOPIC_XXXX", properties=b"DELAY\x013\x02") for number in range(20)]
    log, files = healthy(messages)
    files |= beside(log, ["SCHEDULE_TOPIC_XXXX"]) | {OFFSETS: NO_OFFSETS}
    name = f"store/consumequeue/SCHEDULE_TOPIC_XXXX/0/{0:020}"
    offset, size, time = entry(files, 5, name)
    assert time > 10**12
    assert codes(files) == {"index-not-checked": 1}
    assert codes(put(files, 5, offset, size, hash_code("tag"), name=name)) == {"index-not-checked": 1, "entry-tag": 1}


def test_56_entries_of_a_light_queue() -> None:
    properties = b"INNER_MULTI_DISPATCH\x01%%LMQ%%a\x02INNER_MULTI_QUEUE_OFFSET\x01%d\x02"
    _, files = healthy(message(number, properties=properties % number) for number in range(12))
    files |= {OFFSETS: NO_OFFSETS}
    name = f"store/consumequeue/%LMQ%a/0/{0:020}"
    assert codes(files) == {"index-not-checked": 1}
    one, other = entry(files, 5, name), entry(files, 6, name)
    swapped = codes(put(put(files, 5, *other, name=name), 6, *one, name=name))
    assert swapped == {"index-not-checked": 1, "entry-number": 2, "queue-order": 1}


@pytest.mark.parametrize(("place", "fields", "code"), [(36, ">h", "entry-count"), (28, ">q", "entry-number")])
@pytest.mark.parametrize("change", [-2, 1, 9])
def test_57_a_changed_field_of_a_batch_entry(place: int, fields: str, code: str, change: int) -> None:
    log, files = healthy([each for number in range(6) for each in (batch(2 * number, 5), message(2 * number + 1))])
    files |= beside(log, ["T0", "T1", "T2", "batched"]) | {OFFSETS: NO_OFFSETS}
    assert codes(files) == {}
    name = f"store/batchconsumequeue/batched/0/{0:020}"
    (before,) = struct.unpack_from(fields, files[name], 46 * 3 + place)
    assert codes(changed(files, name, 46 * 3 + place, fields, before + change))[code] >= 1


def test_58_queues_in_a_database_that_cannot_be_opened() -> None:
    _, files = healthy()
    kept = {name: content for name, content in files.items() if "consumequeue" not in name}
    assert codes(kept | {"store/consumequeue/CURRENT": b"MANIFEST-000004\n"}) == {"database-unreadable": 1, "queue-not-checked": 1}


def test_59_queues_that_are_behind() -> None:
    log, _ = healthy()
    until = log.placed[50].offset
    behind = files_of(log) | dispatched(log.placed, file=4000, until=until) | indexed(log.placed) | beside(log) | {OFFSETS: NO_OFFSETS}
    assert codes(behind) == {"record-without-entry": 10}
    assert codes(behind | {"store/abort": b""}) == {"record-not-dispatched": 10, "broker-crashed": 1}


def test_60_two_entries_of_one_record() -> None:
    _, files = healthy()
    found = codes(put(files, 5, *entry(files, 4)))
    assert found == {"entry-twice": 1, "entry-number": 1, "queue-order": 1, "record-without-entry": 1}


@pytest.mark.parametrize("topic", ["%RETRY%g", "%DLQ%g", "with space", "x" * 255, "ünïcode", "a#b?c", "50%25", "主题🚀"])
def test_61_odd_names_are_normal(topic: str) -> None:
    named = [replace(message(number, **({"topic": topic} if number % 3 else {})), version=2) for number in range(40)]
    log, files = healthy(named)
    files |= beside(log, ["T0", topic]) | {OFFSETS: NO_OFFSETS}
    assert codes(files) == {}
    del files[next(name for name in files if "consumequeue" in name and "/T0/" not in name)]
    assert codes(files) == {"queue-missing": 26}


def test_a_queue_that_cannot_be_listed_hides_no_other() -> None:
    messages = [message(number, topic="T0", queue_id=number % 2) for number in range(20)]
    _, files = healthy(messages)
    files = put(files, 3, 0, 0, 0, name=f"store/consumequeue/T0/1/{0:020}")
    memory = in_memory(files | {OFFSETS: NO_OFFSETS})
    faulty = FaultyStorage(memory.url)

    def fault(call: str, uri: str, _: int) -> None:
        if call == "list" and uri.endswith("/consumequeue/T0/0"):
            raise PermissionError(errno.EACCES, "Permission denied")

    faulty.fault = fault
    found = nr.open(f"{faulty.url}/store").verify().to_table().to_pylist()
    assert {(each["code"], each["queue_id"]) for each in found if each["topic"] == "T0"} == {
        ("queue-unreadable", 0),
        ("queue-missing", 0),
        ("queue-hole", 1),
        ("record-without-entry", 1),
    }
    (unreadable,) = [each for each in found if each["code"] == "queue-unreadable"]
    assert unreadable["message"].endswith("/consumequeue/T0/0: Permission denied")


# Configuration and checkpoint


@pytest.mark.parametrize("text", [b"", b"{", b'{"offsetTable":{"T0@g":{0:3}', b"\xff\xfe"])
def test_70_offsets_that_cannot_be_read(text: bytes) -> None:
    _, files = healthy()
    (finding,) = findings(files | {OFFSETS: text})
    assert finding["code"] == "config-damaged"
    assert "it has no readable .bak. The positions of all groups are lost" in finding["message"]
    files["store/config/subscriptionGroup.json"] = b'{"subscriptionGroupTable":{}}'
    (finding,) = findings(files | {OFFSETS: text, f"{OFFSETS}.bak": files[OFFSETS]})
    assert finding["message"].endswith("its .bak can be read")


def test_70_an_offset_after_the_end_of_its_queue() -> None:
    _, files = healthy()
    (finding,) = findings(files | {OFFSETS: b'{"offsetTable":{"T1@g":{0:21}}}'})
    assert (finding["code"], finding["topic"], finding["queue_id"]) == ("offset-after-queue", "T1", 0)


def test_71_checkpoints() -> None:
    log, files = healthy()
    assert codes({name: content for name, content in files.items() if name != CHECKPOINT}) == {"checkpoint-missing": 1}
    assert codes(files | {CHECKPOINT: bytes(4096)}) == {"checkpoint-missing": 1}
    assert codes(files | {CHECKPOINT: b"\0" * 7}) == {"checkpoint-missing": 1}
    newest = log.placed[-1].message.store_timestamp
    found = codes(changed(files, CHECKPOINT, 0, ">q", newest + 10**6))
    assert found.pop("checkpoint-ahead") == 1
    assert set(found) <= {"log-short"}
    assert codes(changed(files, CHECKPOINT, 16, ">q", newest + 10**6)) == {"checkpoint-ahead": 1}  # the index's time was not compared


@pytest.mark.parametrize("text", [b"{}", b'{"topicConfigTable": 5}', b'{"topicConfigTable": []}'])
def test_settings_without_their_table_were_no_finding(text: bytes) -> None:
    _, files = healthy()
    (finding,) = findings(files | {TOPICS: text})
    assert finding["code"] == "config-damaged"
    assert "topics.json: expected " in finding["message"]


def test_72_configuration_in_a_database_that_cannot_be_opened() -> None:
    _, files = healthy()
    del files[TOPICS]
    assert codes(files | {"store/config/topics/CURRENT": b"MANIFEST-000004\n"}) == {"database-unreadable": 1}


# The log


@pytest.mark.parametrize(("part", "code"), [(4, "log-damage"), (88, "log-checksum")])
def test_a_changed_magic_or_body_is_found_once_and_a_starting_broker_would_truncate(part: int, code: str) -> None:
    log, files = healthy()
    placed = log.placed[50]
    name = f"store/commitlog/{placed.segment:020}"
    content = bytearray(files[name])
    content[placed.offset - placed.segment + part] ^= 1
    damaged = files | {name: bytes(content)}
    assert codes(damaged) == {code: 1, "log-truncated-by-start": 1}
    (text,) = (row["message"] for row in findings(damaged) if row["code"] == "log-truncated-by-start")
    assert text.startswith(f"a broker up to 5.3.1 that starts would truncate the log at offset {placed.offset:,}, ")


def test_a_starting_broker_truncates_once_at_the_lowest_place() -> None:
    log, files = healthy()
    damaged, first = dict(files), log.placed[50]
    second = next(each for each in log.placed[51:] if each.segment != first.segment)
    for placed in (first, second):
        name = f"store/commitlog/{placed.segment:020}"
        content = bytearray(damaged[name])
        content[placed.offset - placed.segment + 4] ^= 1
        damaged[name] = bytes(content)
    assert codes(damaged) == {"log-damage": 2, "log-truncated-by-start": 1}
    (row,) = (row for row in findings(damaged) if row["code"] == "log-truncated-by-start")
    assert row["offset"] == first.offset


def test_a_missing_segment() -> None:
    log, files = healthy()
    bases = sorted({placed.segment for placed in log.placed})
    del files[f"store/commitlog/{bases[1]:020}"]
    assert codes(files) == {"log-missing": 1}


def test_numbers_at_the_limits_of_64_bits() -> None:
    log, files = healthy()
    placed = [each for each in log.placed if each.message.topic == "T1"][5:7]
    for number, each, value in zip((5, 6), placed, (-(2**63), 2**63 - 1), strict=True):
        name, at = f"store/commitlog/{each.segment:020}", each.offset - each.segment
        files = changed(files, name, at + 20, ">q", value)  # its queue offset
        files = put(changed(files, name, at + 56, ">q", -1 - value), number, 0, 0, 0)  # its store time, and its entry
    found = codes(files)
    assert found["record-without-entry"] == 2
    assert found["time-goes-back"] >= 1


# What `auto` misses

FOUND: dict[str, str | tuple[str, ...]] = {
    "a_hash_in_a_queue": "entry-tag",
    "a_size_in_a_queue": "entry-size",
    "two_entries_of_batches": "entry-count",
    "a_pointer_of_an_index": ("index-slot", "index-chain"),
    "a_hash_in_an_index": "index-other-key",
    "an_index_that_was_off": "key-without-entry",
    "an_index_in_a_database_that_was_off": "index-not-checked",
    "an_index_in_a_database_that_outlived_the_log": "index-not-checked",
    "a_prepared_message_that_expired": "key-rolled-back",
    "a_prepared_message_that_no_index_names": "key-rolled-back",
    "a_batch_of_one_on_a_slave": "queue-of-batches",
    "a_first_time": "time-of-first",
    "a_time_within_a_segment": "time-goes-back",
    "a_jump_of_the_clock": "time-goes-back",
}


@pytest.mark.parametrize("case", [case for cases in MISSED.values() for case in cases], ids=lambda case: case.__name__)
def test_a_check_finds_what_auto_misses(case: Callable[[], Case]) -> None:
    files, _ = case()
    if case.__name__ == "an_id_with_a_checksum":  # no fault of the files: brokers index such ids so
        assert codes(files).keys() == {"checkpoint-missing"}
    else:
        assert any(code.startswith(FOUND[case.__name__]) for code in codes(files))
