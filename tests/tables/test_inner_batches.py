"""Inner batches in the tables other than `messages`: unpacked only for the number of their messages."""

from __future__ import annotations

import struct

import pytest
from support.queued_stores import dispatched, numbered
from support.stores import Files, files_of, in_memory, log_of, message

import native_reader as nr
from native_reader.testing.records import INNER_BATCH, InnerMessage, Message, pack_inner

UNITS = pack_inner([InnerMessage(b"unit")] * 3)


def batch(number: int) -> Message:
    return message(number, topic="batches", body=UNITS, sys_flag=INNER_BATCH)


def store() -> Files:
    """Two topics with two records each. The last record, a batch, is in no queue."""
    log = log_of(numbered([message(0, topic="plain"), batch(1), message(2, topic="plain"), batch(3)]))
    return files_of(log) | dispatched(log.placed, until=log.placed[-1].offset)


def test_a_table_that_needs_no_messages_unpacks_no_inner_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = in_memory(store())
    opened = nr.open(f"{memory.url}/store")
    topics = opened.topics(access="scan").to_table()

    def unwrapped(*_: object) -> None:
        raise AssertionError("an inner batch was unpacked")

    monkeypatch.setattr("native_reader.scan.read.unwrapped", unwrapped)
    names = ["topic", "records", "bytes", "share", "first_store_timestamp", "last_store_timestamp", "is_complete"]
    assert opened.topics(access="scan", columns=names).to_table() == topics.select(names)
    (segment,) = opened.table("segments").to_table().to_pylist()
    assert [segment[name] for name in ("records", "damage_bytes", "wrong_checksums")] == [4, 0, 0]
    assert opened.table("damage").to_table().num_rows == 0
    queues = opened.queues(columns="topic,state").to_table().to_pylist()
    assert {row["topic"]: row["state"] for row in queues} == {"plain": "dispatched", "batches": "behind"}
    with pytest.raises(AssertionError, match="an inner batch was unpacked"):
        opened.topics(access="scan").to_table()


def test_the_messages_of_inner_batches_count_for_their_topic() -> None:
    memory = in_memory(store())
    for access, records in (("scan", 2), ("auto", 1)):
        rows = {row["topic"]: row for row in nr.open(f"{memory.url}/store").topics(access=access).to_table().to_pylist()}
        assert [rows["batches"][name] for name in ("records", "messages")] == [records, 3 * records]
        assert [rows["plain"][name] for name in ("records", "messages")] == [2, 2]


def test_a_negative_count_in_an_entry_takes_no_messages_away() -> None:
    files = store()
    name = f"store/batchconsumequeue/batches/0/{0:020}"
    content = bytearray(files[name])
    struct.pack_into(">h", content, 36, -5)
    memory = in_memory(files | {name: bytes(content)})
    rows = {row["topic"]: row["messages"] for row in nr.open(f"{memory.url}/store").topics().to_table().to_pylist()}
    assert rows["batches"] == 0


def test_an_empty_message_at_the_end_of_a_batch_counts() -> None:
    body = pack_inner([InnerMessage(b"unit"), InnerMessage()])
    memory = in_memory(files_of(log_of([message(0, topic="batches", body=body, sys_flag=INNER_BATCH)])))
    messages = nr.open(f"{memory.url}/store").messages()
    assert messages.to_table()["body"].to_pylist() == [b"unit", b""]
    assert messages.count_rows() == 2
