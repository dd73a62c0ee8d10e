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
from native_reader.testing.records import pack_properties

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
    assert found_in(written(SEGMENTS[1], at, b"\xff")) == ONE | {("doubtful", "properties"): 1}


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


def test_the_last_segment_is_gone() -> None:
    """Its records are named after the end of the log. The checkpoint is later, too."""
    assert found_in(without(SEGMENTS[-1])) == {
        ("served", "queued"): 60 - in_segment(-1),
        ("lost", "after end"): in_segment(-1),
        ("at least", "checkpoint"): 0,
    }


def test_an_entry_that_names_bytes_inside_a_whole_record_is_no_lost_message() -> None:
    """The record that has its queue offset has no entry then. Behind the last one, no message was."""
    queue, number = queue_of(TOPIC), PLACED.message.queue_offset
    wrong = struct.pack(">qiq", LOG.placed[7].offset + 5, 200, 3)
    assert found_in(written(queue, 20 * number, wrong)) == ONE | {("unreachable", "no entry"): 1}
    assert found_in(written(queue, 20 * 20, wrong)) == SERVED


def test_an_entry_that_names_damage_is_no_lost_message_if_its_record_is_elsewhere() -> None:
    """Two entries name the same damaged bytes. The record of one of them is there."""
    queue, number = queue_of(TOPIC), PLACED.message.queue_offset
    files = in_record(0, bytes(PLACED.size))
    content = bytearray(files[queue])
    content[20 * (number + 1) : 20 * (number + 2)] = content[20 * number : 20 * (number + 1)]
    assert found_in(files | {queue: bytes(content)}) == {("served", "queued"): 58, ("lost", "entry"): 1, ("unreachable", "no entry"): 1}


def test_a_wrong_first_entry_does_not_make_a_topic_new() -> None:
    """Else the first record would be one of an earlier topic, which was deleted."""
    first = next(each for each in LOG.placed if each.message.topic == "T0")
    wrong = struct.pack(">qiq", first.offset + 1, first.size, 0)
    assert found_in(written(queue_of("T0"), 0, wrong)) == ONE | {("unreachable", "no entry"): 1}


def expired(hours: int, *, is_cleaned: bool) -> Found:
    """The first segment is gone. The store's times span some hours; a broker that deletes it deletes files of queues and index, too."""
    times = [1_700_000_000_000 + each * hours * 3_600_000 // 60 for each in range(60)]
    log, files = healthy([message(each, store_timestamp=times[each]) for each in range(60)], queue_file=80)
    gone = [each for each in log.placed if each.segment == 0]
    files.pop(SEGMENTS[0])
    for number in range(0, 20, 4) if is_cleaned else ():
        for topic in ("T0", "T1", "T2"):
            own = [each.message.queue_offset for each in gone if each.message.topic == topic]
            if number + 3 in own:
                files.pop(queue_of(topic, 20 * number))
    if is_cleaned:
        files = {name: content for name, content in files.items() if "/index/" not in name}
    found = found_in(files)
    return {key: count for key, count in found.items() if key != ("served", "queued")}


def test_a_first_segment_that_a_broker_deleted_has_expired() -> None:
    assert expired(1, is_cleaned=False).keys() == {("lost", "removed"), ("at least", "removed file")}
    assert expired(1, is_cleaned=True).keys() == {("expired", "before begin")}
    assert expired(100, is_cleaned=False).keys() == {("expired", "before begin")}


def test_a_light_queue_names_messages_that_are_counted_in_their_own() -> None:
    lights = {"INNER_MULTI_DISPATCH": "%LMQ%a", "INNER_MULTI_QUEUE_OFFSET": "0"}
    light = message(30, properties=pack_properties({"TAGS": "tag0", "KEYS": "k30 all", "UNIQ_KEY": "U0030", **lights}))
    log, files = healthy([*map(message, range(30)), light, *map(message, range(31, 60))])
    placed = log.placed[30]
    name, at = f"store/commitlog/{placed.segment:020}", placed.offset - placed.segment
    found = found_in(files | {name: files[name][:at] + bytes(placed.size) + files[name][at + placed.size :]})
    assert found == ONE | {("lost", "entry"): 1}


def test_an_account_with_a_doubt_is_not_whole() -> None:
    memory = in_memory(entry_at(">q", 12, 7))
    check = nr.open(f"{memory.url}/store").verify()
    check.to_table()
    assert (check.account.is_whole, check.account.lost, check.account.knows_all) == (False, 0, True)


def test_a_queue_whose_last_messages_are_in_bytes_that_nothing_explains() -> None:
    """Their entries are there and say nothing: only how far the queue reaches shows them."""
    files = in_record(0, bytes(PLACED.size))
    content = bytearray(files[queue_of(TOPIC)])
    struct.pack_into(">qiq", content, 20 * PLACED.message.queue_offset, 0, 0, 0)
    assert found_in(files | {queue_of(TOPIC): bytes(content)}) == ONE | {("lost", "hole"): 1}


def test_each_mark_has_a_case() -> None:
    """But those of whole stores, of files that cannot be read, of the ends of logs, and of tiers: they have tests of their own."""
    tested = {reason for _, found in CASES.values() for _, reason in found}
    tested |= {"other keys", "properties", "packed", "foreign", "hole", "bytes"}
    tested |= {"before begin", "after end"}
    elsewhere = {Mark.NOT_DISPATCHED, Mark.IN_NO_QUEUE, Mark.EARLIER_TOPIC, Mark.DELETED_TOPIC}
    elsewhere |= {Mark.UNREAD, Mark.UNREAD_RECORD, Mark.QUEUE_NOT_READ, Mark.LAST_BYTES, Mark.GAP_BYTES}
    elsewhere |= {mark for mark in Mark if Mark.TIERED <= mark <= Mark.TIER_BYTES}
    assert {why(mark) for mark in STATE_OF} == tested | {why(mark) for mark in elsewhere}
