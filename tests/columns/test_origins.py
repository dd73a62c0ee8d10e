"""Where messages in retry and DLQ topics come from, and bodies as text."""

from __future__ import annotations

import zlib

import pytest
from support.compare import segments_of, table_of
from support.queued_stores import dispatched, numbered
from support.stores import files_of, in_memory, log_of

import native_reader as nr
from native_reader.testing.compression import COMPRESSED
from native_reader.testing.records import Message, pack_properties

SENT_BACK = {"RETRY_TOPIC": "orders", "ORIGIN_MESSAGE_ID": "AC10"}
RETRY_OF_POP = "%RETRY%group_a_orders_b"


@pytest.mark.parametrize(
    ("topic", "properties", "origin"),
    [
        ("%RETRY%group", SENT_BACK | {"REAL_TOPIC": "%RETRY%group"}, ("orders", "AC10")),
        ("%DLQ%group", SENT_BACK | {"REAL_TOPIC": "%RETRY%group"}, ("orders", "AC10")),
        ("%DLQ%group", {"DLQ_ORIGIN_TOPIC": "orders", "DLQ_ORIGIN_MESSAGE_ID": "01AB"}, ("orders", "01AB")),
        ("%DLQ%group", SENT_BACK | {"DLQ_ORIGIN_TOPIC": "x", "DLQ_ORIGIN_MESSAGE_ID": "y"}, ("orders", "AC10")),
        (RETRY_OF_POP, {"ORIGIN_GROUP": "group_a"}, ("orders_b", None)),
        (RETRY_OF_POP, {"ORIGIN_GROUP": "group_a", "RETRY_TOPIC": "copied by a producer"}, ("orders_b", None)),
        (RETRY_OF_POP, {"ORIGIN_GROUP": "another", "RETRY_TOPIC": "orders"}, ("orders", None)),
        (RETRY_OF_POP, {}, (None, None)),
        ("%RETRY%group_a+orders_b", {}, ("orders_b", None)),
        ("%RETRY%a+b+c", {}, (None, None)),
        ("%RETRY%group_", {"ORIGIN_GROUP": "group"}, (None, None)),
        ("%RETRY%+orders", {}, (None, None)),
        ("%DLQ%group_a", {"RETRY_TOPIC": RETRY_OF_POP, "ORIGIN_MESSAGE_ID": "AC10"}, ("orders_b", "AC10")),
        ("%DLQ%group_a", {"RETRY_TOPIC": "%RETRY%group_a+orders_b"}, ("orders_b", None)),
        ("%DLQ%other", {"RETRY_TOPIC": RETRY_OF_POP}, (None, None)),
        ("orders", SENT_BACK | {"DLQ_ORIGIN_TOPIC": "x", "DLQ_ORIGIN_MESSAGE_ID": "y", "ORIGIN_GROUP": "g"}, (None, None)),
        ("SCHEDULE_TOPIC_XXXX", SENT_BACK | {"REAL_TOPIC": "%RETRY%group"}, (None, None)),
    ],
)
def test_the_origin_of_a_message(topic: str, properties: dict[str, str], origin: tuple[str | None, str | None]) -> None:
    other = Message(topic="orders", properties=pack_properties(SENT_BACK))
    segments = segments_of(other, Message(topic=topic, properties=pack_properties(properties)), other)
    table = table_of(segments, columns="origin_topic,origin_msg_id")
    assert [tuple(row.values()) for row in table.to_pylist()] == [(None, None), origin, (None, None)]


@pytest.mark.usefixtures("queues_always_used", "small_parts_pruned")
def test_conditions_on_the_origin_read_only_retry_and_dlq_queues() -> None:
    topics = ["orders"] * 40 + ["%RETRY%group", "%DLQ%group", "orders"]
    log = log_of(numbered(Message(topic=topic, body=bytes(400), properties=pack_properties(SENT_BACK)) for topic in topics), 4096)
    memory = in_memory(files_of(log) | dispatched(log.placed, file=4000))
    store = nr.open(memory.url)
    for where, count, wanted in (
        ("origin_topic = 'orders'", 2, 2),
        ("NOT origin_msg_id LIKE 'X%'", 2, 2),
        ("origin_topic IS NULL", 41, 0),
    ):
        scan = store.messages(where=where)
        assert scan.count_rows() == store.messages(where=where, access="scan").count_rows() == count
        (way,) = scan.explain().to_dict()["ways"]
        assert way["entries_wanted"] == wanted, way


@pytest.mark.parametrize(
    "bodies",
    [
        [b"", b"a", "é主🚀".encode()],
        [b"a", b"\xff", "é".encode(), b"\xc3", b"\xa9", b"b"],  # together, the bytes of the fourth and the fifth are valid
        [b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"a\0b", "\N{REPLACEMENT CHARACTER}".encode()],
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_a_body_as_text_is_null_where_it_is_not_utf_8(bodies: list[bytes], compressed: bool) -> None:
    def text(body: bytes) -> str | None:
        try:
            return body.decode()
        except UnicodeDecodeError:
            return None

    flag = COMPRESSED if compressed else 0
    messages = [Message(topic="t", body=zlib.compress(body) if compressed and body else body, sys_flag=flag) for body in bodies]
    broken = Message(topic="t", body=b"not compressed", sys_flag=COMPRESSED)
    segments = segments_of(*messages, broken)
    expected = [*map(text, bodies), None]
    assert table_of(segments, columns="body_text")["body_text"].to_pylist() == expected
    for where, wanted in (("body_text IS NULL", None), ("body_text LIKE '%'", True), ("NOT body_text LIKE '%'", False)):
        found = table_of(segments, columns="body_text", where=where)["body_text"].to_pylist()
        assert found == [each for each in expected if (None if each is None else True) is wanted]
