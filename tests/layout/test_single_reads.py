"""Formats that are read one at a time: what the writer of tests wrote comes back, and the same as from arrays."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from native_reader.layout import begin, config_database, progress, queue_database, queue_entry, record
from native_reader.testing.records import Message, blank, dledger_blank, encode, frame

HOSTS = (bytes([127, 0, 0, 1]), 10911), (bytes(16), 10911)
OFFSET = 3 << 33


def padded(content: bytes) -> record.Bytes:
    return np.frombuffer(content + bytes(record.PADDING), np.uint8)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("born", HOSTS)
def test_a_head_read_alone_is_that_of_the_arrays(version, born):
    content = encode(Message(topic="T", body=b"body", version=version, born_host=born), OFFSET)
    u8, start = padded(b"before" + content), np.array([6])
    (head,) = record.heads_of(u8, start)
    assert begin.read_head(u8.data, 6) == (head["size"], head["magic"], OFFSET, head["sys_flag"])
    assert begin.read_size(u8.data, 6) == (len(content),) == tuple(record.sizes_at(u8, start))
    assert begin.read_pair(u8.data, 6) == (len(content), head["magic"]) == tuple(each[0] for each in record.pairs_at(u8, start))
    assert record.offsets_at(u8, start) == OFFSET
    (seen,) = u8[6 : 6 + record.UP_TO_OFFSET.itemsize].view(record.UP_TO_OFFSET)
    assert seen.tolist() == (len(content), head["magic"], OFFSET)


def test_constants_are_places_of_fields():
    def place(fields: np.dtype[np.void], name: str) -> int:
        return fields.fields[name][1]

    assert (place(record.HEAD, "body_crc"), place(record.HEAD, "queue_id")) == (record.UP_TO_MAGIC, record.UP_TO_BODY_CRC)
    assert record.UP_TO_OFFSET.itemsize == place(record.HEAD, "sys_flag")
    assert (place(record.ENTRY, "size"), record.ENTRY.itemsize) == (record.ENTRY_SIZE_AT, record.ENTRY_HEAD)
    assert {queue_entry.PLACE_SIZE} == {place(each, "tags_code") for each in (queue_entry.QUEUE_ENTRY, queue_entry.BATCH_ENTRY)}


def test_a_segment_tells_its_framing():
    plain, framed = (encode(Message(topic="T"), OFFSET + skipped) for skipped in (0, record.ENTRY_HEAD))
    framed = frame(framed, OFFSET, 1)
    assert begin.is_framed(plain, OFFSET) is False
    assert begin.is_framed(blank(1000).ljust(100, b"\0"), OFFSET) is False
    assert begin.is_framed(framed, OFFSET) is True
    assert begin.is_framed(framed[: begin.UP_TO_FRAMING], OFFSET) is True
    assert begin.is_framed(framed, OFFSET + 1) is None
    assert begin.is_framed(framed[: begin.UP_TO_FRAMING - 1], OFFSET) is None
    assert begin.is_framed(bytes(100), 0) is None
    for place in (0, 4, 24, 44, 48, 52):  # each field counts
        assert begin.is_framed(framed[:place] + b"\x05" + framed[place + 1 :], OFFSET) is None
    assert begin.entry_matches(framed, len(framed) - record.ENTRY_HEAD, OFFSET)
    assert not begin.entry_matches(framed, len(framed), OFFSET)


def test_a_blank_fills_what_is_left():
    for content, framed in ((blank(500), False), (dledger_blank(500), True)):
        pair = begin.read_pair(content)
        assert begin.closes(*pair, 500, framed)
        assert not begin.closes(*pair, 501, framed)
        assert not begin.closes(*pair, 500, not framed)
        columns = (np.array([each, each]) for each in pair)
        assert begin.closes(*columns, np.array([500, 400]), framed).tolist() == [True, False]


@pytest.mark.parametrize("version", [1, 2])
def test_a_topic_as_it_is_stored(version):
    magic = record.MAGIC_V1 if version == 1 else record.MAGIC_V2
    for length in (1, 127):
        field = begin.topic_field(b"T" * length, magic)
        assert field is not None
        assert field in encode(Message(topic="T" * length, version=version))
    assert begin.topic_field(b"T" * (128 if version == 1 else 1 << 15), magic) is None


def test_numbers_of_fields_have_a_sign_unless_asked():
    assert (begin.number(b"\xff\xfe"), begin.number(b"\xff\xfe", signed=False), begin.number(b"\1\0")) == (-2, 0xFFFE, 256)


def test_a_queue_entry_read_alone():
    simple, batch = struct.pack(">qiq", 5, 6, 7), struct.pack(">qiqqqhii", 5, 6, 7, 8, 9, 10, 11, 12)
    assert queue_entry.read_place(simple) == queue_entry.read_place(batch) == (5, 6)
    assert queue_entry.read_batch_place(batch) == (5, 6, 9, 10)
    assert (len(simple), len(batch)) == (queue_entry.QUEUE_ENTRY.itemsize, queue_entry.BATCH_ENTRY.itemsize)
    for offset, size in ((0, 1), (0, 0), (-1, 1), (0, queue_entry.FILLER_SIZE), (5, -1), (1 << 40, 88)):
        entries = np.array([(offset, size, 0)], queue_entry.QUEUE_ENTRY)
        assert [queue_entry.refers_to_record(offset, size)] == queue_entry.is_written(entries).tolist()


def test_keys_of_queues_in_a_database():
    prefix = queue_database.entries_prefix("Bücher", 3)
    assert prefix == struct.pack(">i", 7) + b"\1" + "Bücher".encode() + b"\1" + struct.pack(">i", 3) + b"\1"
    keys = [queue_database.entry_key(prefix, number) for number in (0, 1 << 40)]
    assert queue_database.numbers_in(keys).tolist() == [0, 1 << 40]
    assert queue_database.is_entry(keys[0], bytes(28), prefix)
    assert not queue_database.is_entry(keys[0], bytes(27), prefix)
    assert not queue_database.is_entry(keys[0] + b"0", bytes(28), prefix)
    key = queue_database.max_key("Bücher", 3)
    assert queue_database.queue_of_max(key) == ("Bücher", 3)
    others = key[:-1], key + b"0", key.replace(b"max", b"min"), b"", key[:4], struct.pack(">i", -1) + key[4:], keys[0]
    assert [queue_database.queue_of_max(each) for each in others] == [None] * len(others)
    log = queue_database.max_key("CHECKPOINT_TOPIC", 0), queue_database.max_key("a\n", 0), queue_database.max_key("T", -1)
    assert [queue_database.queue_of_max(each) for each in log] == [None] * 3
    values = (struct.pack(">qq", 77, last) for last in (-1, 0, 9, -2, 2**63 - 1))
    ends = [(0, 77), (1, 77), (10, 77), None, None, None]
    assert [queue_database.end_in(each) for each in (*values, bytes(15))] == ends


def test_keys_of_offsets_and_settings_in_a_database():
    def sized(name: str) -> bytes:
        return struct.pack(">H", len(name)) + name.encode()

    key = config_database.COMMITTED + sized("group") + b"\1" + sized("topic") + b"\1" + struct.pack(">i", 4)
    assert config_database.queue_in(key, config_database.COMMITTED) == ("group", "topic", 4)
    assert config_database.queue_in(key[:-1], config_database.COMMITTED) == ("group", "topic", None)
    assert config_database.queue_in(config_database.COMMITTED, config_database.COMMITTED) == ("", "", None)
    assert config_database.name_in(config_database.TOPICS + sized("topic"), config_database.TOPICS) == "topic"
    assert [config_database.offset_in(each) for each in (struct.pack(">q", 5), struct.pack(">q", -5), b"")] == [5, None, None]
    assert config_database.json_in(b"\1{}") == b"{}"


def test_progress_of_a_broker_and_its_timer():
    content = struct.pack(">6q", 1, 2, 3, 4, 5, 6)
    found = progress.checkpoint_in(content)
    assert (found, found.times, found.newest) == ((1, 2, 3, 4, 5, 6), (1, 2, 3), 2)
    assert progress.checkpoint_in(content[:23]) == (1, 2, 0, 0, 0, 0)
    assert progress.checkpoint_in(b"") == progress.Checkpoint()
    assert progress.timer_check_in(content[:32]) == (1, 2, 3, 4)
    assert progress.timer_check_in(content[:31]) is None
    assert progress.timer_check_in(bytes(32)) is None
