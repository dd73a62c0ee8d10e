"""A store for each witness that contradicts: in which state the account puts the messages, and what shows it."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from support.stores import Files, files_of, in_memory, message
from support.verified import CHECKPOINT, OFFSETS, TOPICS, beside, healthy

import native_reader as nr
from native_reader.account.account import Account
from native_reader.account.states import STATE_OF, Mark, why
from native_reader.testing.compression import lz4_body, zlib_body, zstd_body
from native_reader.testing.logs import CommitLog

LOG, WHOLE = healthy(60)
SEGMENTS = sorted(files_of(LOG))
PLACED = next(each for each in LOG.placed if each.segment == int(SEGMENTS[1][-20:]))
"""The first record of the second segment."""
SERVED = {("served", "queued"): 60}
Found = dict[tuple[str, str], int]


def found_in(files: Files) -> Found:
    memory = in_memory(files)
    check = nr.open(f"{memory.url}/store").verify()
    check.to_table()
    return sums(check.account)


def sums(account: Account) -> Found:
    found: Counter[tuple[str, str]] = Counter()
    for row in account.table.to_pylist():
        found[row["state"], row["why"]] += row["messages"]
    return dict(found)


def written(name: str, at: int, content: bytes) -> Files:
    """The whole store with other bytes at that place of a file."""
    before = WHOLE[name]
    return WHOLE | {name: before[:at] + content + before[at + len(content) :]}


def in_record(at: int, content: bytes) -> Files:
    return written(SEGMENTS[1], PLACED.offset - PLACED.segment + at, content)


def queue_of(topic: str, place: int = 0) -> str:
    return f"store/consumequeue/{topic}/0/{place:020}"


def entry_at(fields: str, at: int, value: int) -> Files:
    """With another number in the entry of that record."""
    return written(queue_of(str(PLACED.message.topic)), 20 * PLACED.message.queue_offset + at, struct.pack(fields, value))


def without(*names: str) -> Files:
    return {name: content for name, content in WHOLE.items() if name not in names}


def with_messages(change: Callable[[int], dict[str, Any]]) -> Files:
    """A whole store of messages that differ."""
    log, files = healthy(message(each, **change(each)) for each in range(60))
    return files | beside(log)


def settings(*topics: str) -> bytes:
    return json.dumps({"topicConfigTable": {topic: {"topicName": topic} for topic in topics}}).encode()


def swapped() -> Files:
    return WHOLE | {SEGMENTS[1]: WHOLE[SEGMENTS[2]], SEGMENTS[2]: WHOLE[SEGMENTS[1]]}


def of_another_broker() -> Files:
    """A segment with records of other sizes."""
    other = CommitLog(2048, 0)
    for each in range(90):
        other.append(message(each, body=b"another broker %d" % each * 3, topic="T0", queue_offset=each))
    return WHOLE | {SEGMENTS[1]: files_of(other)[SEGMENTS[1]]}


def in_segment(number: int) -> int:
    return sum(each.segment == int(SEGMENTS[number][-20:]) for each in LOG.placed)


FLAGS_AT, TOPIC = 36, str(PLACED.message.topic)
BODY_AT = 88
ONE = {("served", "queued"): 59}
CASES: dict[str, tuple[Files, Found]] = {
    "a body": (in_record(BODY_AT, b"X"), ONE | {("lost", "checksum"): 1}),
    "a flag for compression": (in_record(FLAGS_AT, struct.pack(">i", 1)), ONE | {("lost", "compression"): 1}),
    "a tag": (entry_at(">q", 12, 7), ONE | {("doubtful", "other tag"): 1}),
    "a size": (entry_at(">i", 8, PLACED.size + 1), ONE | {("doubtful", "other size"): 1}),
    "a queue offset": (in_record(20, struct.pack(">q", 77)), ONE | {("doubtful", "other number"): 1}),
    "a queue id": (in_record(12, struct.pack(">i", 5)), ONE | {("doubtful", "other queue"): 1}),
    "a record": (in_record(0, bytes(PLACED.size)), ONE | {("lost", "entry"): 1}),
    "an entry": (written(queue_of(TOPIC), 20 * PLACED.message.queue_offset, bytes(20)), ONE | {("unreachable", "no entry"): 1}),
    "a queue": (without(queue_of(TOPIC)), {("served", "queued"): 40, ("unreachable", "no queue"): 20}),
    "all queues": (
        {name: content for name, content in WHOLE.items() if "/consumequeue/" not in name}, {("unreachable", "no queue"): 60}
    ),
    "a segment": (
        without(SEGMENTS[1]), {("served", "queued"): 60 - in_segment(1), ("lost", "gap"): in_segment(1)}
    ),
    "the first segment": (
        without(SEGMENTS[0]),
        {("served", "queued"): 60 - in_segment(0), ("lost", "removed"): in_segment(0), ("at least", "removed file"): 0},
    ),
    "names of segments": (
        swapped(), {("served", "queued"): 60 - in_segment(1) - in_segment(2), ("unreachable", "file name"): in_segment(1) + in_segment(2)}
    ),
    "settings of another broker": (WHOLE | {TOPICS: settings("TBW102", "Others")}, {("unreachable", "no settings"): 60}),
    "settings of no topic": (WHOLE | {TOPICS: settings()}, {("unreachable", "no settings"): 60}),
    "an offset of a group": (
        WHOLE | {OFFSETS: b'{"offsetTable":{"T1@g":{0:25}}}'}, SERVED | {("at least", "group offset"): 5}
    ),
    "a checkpoint": (WHOLE | {CHECKPOINT: struct.pack(">6q", *[18 * 10**11] * 2, 0, 0, 0, 0)}, SERVED | {("at least", "checkpoint"): 0}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_witness_that_contradicts(name: str) -> None:
    files, expected = CASES[name]
    assert found_in(files) == expected


def test_a_key_that_the_index_has_and_the_record_has_not() -> None:
    before = WHOLE[SEGMENTS[1]]
    at = before.index(b"KEYS\x01k", PLACED.offset - PLACED.segment) + 6
    assert found_in(written(SEGMENTS[1], at, b"X")) == ONE | {("doubtful", "other keys"): 1}


def test_properties_that_are_no_text() -> None:
    before = WHOLE[SEGMENTS[1]]
    at = before.index(b"UNIQ_KEY\x01U", PLACED.offset - PLACED.segment)
    assert found_in(written(SEGMENTS[1], at, b"\xff")) in (ONE | {("doubtful", "properties"): 1}, ONE | {("doubtful", "other keys"): 1})


@pytest.mark.parametrize(("pack", "kind"), [(zlib_body, 3), (lz4_body, 1), (zstd_body, 2)])
def test_compressed_bodies_are_served_and_a_cleared_flag_is_doubted(pack: Callable[[bytes], bytes], kind: int) -> None:
    def packed(each: int) -> dict[str, Any]:
        return {"body": pack(b"body %d " % each * 20), "sys_flag": kind << 8 | (each != 30)}

    assert found_in(with_messages(packed)) == ONE | {("doubtful", "packed"): 1}


def test_a_segment_of_another_broker() -> None:
    found = found_in(of_another_broker())
    assert found["served", "queued"] == 60 - in_segment(1)
    assert found["lost", "entry"] + found.get(("lost", "hole"), 0) == in_segment(1)
    assert found["doubtful", "foreign"] > 0


def test_records_that_no_queue_and_no_entry_names_leave_a_hole() -> None:
    """Without queues, only the queue offsets of the records around show that one is missing."""
    files = {name: content for name, content in in_record(0, bytes(PLACED.size)).items() if "/consumequeue/" not in name}
    assert found_in(files) == {("unreachable", "no queue"): 59, ("lost", "hole"): 1}


def test_bytes_that_no_offset_explains_are_a_loss_of_unknown_size() -> None:
    """A record of a deleted topic: its queue has no files, and no other record of it is there."""
    log, files = healthy([*map(message, range(20)), message(20, topic="gone", queue_offset=0), *map(message, range(21, 60))])
    placed = next(each for each in log.placed if each.message.topic == "gone")
    files = {name: content for name, content in files.items() if "/consumequeue/gone/" not in name and "/index/" not in name}
    name = f"store/commitlog/{placed.segment:020}"
    at = placed.offset - placed.segment
    found = found_in(files | {name: files[name][:at] + bytes(placed.size) + files[name][at + placed.size :]})
    assert found["at least", "bytes"] == 0
    assert ("lost", "entry") not in found


def test_each_mark_has_a_case() -> None:
    """But those of whole stores, of files that cannot be read, and of the ends of logs: they have tests of their own."""
    tested = {reason for _, found in CASES.values() for _, reason in found}
    tested |= {"other keys", "properties", "packed", "foreign", "hole", "bytes"}
    elsewhere = {Mark.NOT_DISPATCHED, Mark.IN_NO_QUEUE, Mark.EARLIER_TOPIC, Mark.DELETED_TOPIC, Mark.BEFORE_BEGIN, Mark.AFTER_END}
    elsewhere |= {Mark.UNREAD, Mark.UNREAD_RECORD, Mark.LAST_BYTES, Mark.GAP_BYTES}
    assert {why(mark) for mark in STATE_OF} == tested | {why(mark) for mark in elsewhere}
