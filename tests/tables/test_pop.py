"""`pop`: what pop consumers took, against a second decoder of the same bodies, and bodies that no broker writes."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.golden import Golden, opened
from support.plain_decoder import Row
from support.stores import files_of, in_memory, log_of

import native_reader as nr
from native_reader.layout.pop import Held, held_in
from native_reader.testing.records import Message, pack_properties

REVIVE, TIMER = "rmq_sys_REVIVE_LOG_DefaultCluster", "rmq_sys_wheel_timer"
POPPED = 1_700_000_000_000


def time(milliseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def point(**changes: Any) -> dict[str, Any]:
    return {"c": "CG", "d": [0, 1, 4], "it": 5000, "n": 3, "pt": POPPED, "q": 2, "so": 7, "t": "orders", "bn": "b", "sp": False} | changes


def ack(offset: int, **changes: Any) -> dict[str, Any]:
    return {"ao": offset, "bn": "b", "c": "CG", "pt": POPPED, "q": 2, "so": 7, "t": "orders"} | changes


def stored(tag: str, body: object, number: int = 0, *, waits: bool = False) -> Message:
    """A message of the revive topic, or before, when it waits in the timer topic."""
    pairs = {"TAGS": tag} | ({"REAL_TOPIC": REVIVE} if waits else {})
    content = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
    return Message(
        topic=TIMER if waits else REVIVE, body=content, queue_offset=number, properties=pack_properties(pairs),
        store_timestamp=POPPED + 100 + number,
    )  # fmt: skip


def popped(*messages: Message) -> list[Row]:
    memory = in_memory(files_of(log_of(messages, 4096 + sum(len(each.body) + 512 for each in messages))))
    return list(nr.open(f"{memory.url}/store").table("pop").to_table().to_pylist())


def offsets(*messages: Message) -> list[tuple[int, bool]]:
    return [(row["queue_offset"], row["acknowledged"]) for row in popped(*messages)]


# What brokers write


def said(rows: Iterable[Row]) -> dict[tuple[object, ...], bool]:
    """By message and until when it is invisible: whether it is acknowledged. `rows`: as Java decoded them."""
    points, acks = dict[tuple[object, ...], int](), set[tuple[object, ...]]()
    for row in rows:
        if REVIVE not in (row["topic"], row["properties"].get("REAL_TOPIC")):
            continue
        body = json.loads(row["body"])
        of = (body["c"], body["t"], body["q"], body["pt"])
        if row["tags"] == "ck":
            points |= {(*of, body["so"] + after): body["pt"] + body["it"] for after in body["d"]}
        else:
            acks |= {(*of, offset) for offset in body.get("aol", [body.get("ao")])}
    return {(*message, until): message in acks for message, until in points.items()}


def same_as_said(golden: Golden) -> None:
    rows = [row for row in opened(golden).table("pop").to_table().to_pylist() if row["physical_offset"] is not None]
    ours = {
        (
            *(row[name] for name in ("group", "topic", "queue_id")), milliseconds(row["popped_timestamp"]), row["queue_offset"],
            milliseconds(row["visible_timestamp"]),
        ): row["acknowledged"]
        for row in rows
    }  # fmt: skip
    assert ours == said(golden.expected_rows)
    assert len(ours) == len(rows) > 0


def milliseconds(moment: datetime) -> int:
    return (moment - time(0)) // timedelta(milliseconds=1)


@pytest.mark.parametrize("name", ["5.5.0-features", "5.5.0-pop", "5.4.0-rocksdb"])
def test_the_rows_of_a_log_are_those_of_another_decoder(own_store: Callable[[str], Golden], name: str) -> None:
    same_as_said(own_store(name))


def test_the_rows_of_another_broker(golden_store: Callable[[str], Golden]) -> None:
    same_as_said(golden_store("v5-kinds"))


def test_what_a_consumer_held_when_it_ended(own_store: Callable[[str], Golden]) -> None:
    """The consumer took 8 messages for five minutes and ended; then the broker was set to keep such messages in RocksDB, and again."""
    rows = opened(own_store("5.5.0-pop")).table("pop").to_table().to_pylist()
    held = {(row["queue_id"], row["queue_offset"]): row["physical_offset"] is None for row in rows}
    assert held == {(queue, offset): offset > 3 for queue in (0, 1) for offset in range(8)}
    assert {(row["group"], row["topic"], row["acknowledged"]) for row in rows} == {("CG_held", "Held", False)}
    assert {row["visible_timestamp"] - row["popped_timestamp"] for row in rows} == {timedelta(minutes=5)}


def test_what_a_consumer_of_5_4_held_in_the_database(own_store: Callable[[str], Golden]) -> None:
    rows = opened(own_store("5.4.0-pop")).table("pop").to_table().to_pylist()
    held = sorted((row["queue_id"], row["queue_offset"], row["physical_offset"]) for row in rows)
    assert held == [(queue, offset, None) for queue in (0, 1) for offset in range(4)]
    assert {(row["group"], row["topic"], row["acknowledged"]) for row in rows} == {("CG_held", "Held", False)}


def test_without_the_library_the_log_is_still_read(
    own_store: Callable[[str], Golden], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    with caplog.at_level(logging.WARNING, "native_reader"):
        assert len(opened(own_store("5.5.0-pop")).table("pop").to_table()) == 8
    (text,) = caplog.messages
    assert "kvStore is a RocksDB database. To read it, install the extra" in text
    assert text.endswith("Without it, messages that pop consumers hold are missing")


def test_a_checkpoint_and_its_acknowledgements_are_stored_twice() -> None:
    messages = [stored("ck", point(), 0, waits=True), stored("ack", ack(8), 1, waits=True)]
    messages += [stored("ck", point(), 50), stored("bAck", ack(0, aol=[7, 8]), 51)]
    rows = popped(*messages)
    assert [(row["queue_offset"], row["acknowledged"]) for row in rows] == [(7, True), (8, True), (11, False)]
    assert [row["acknowledged_timestamp"] for row in rows] == [time(POPPED + 151), time(POPPED + 101), None]
    assert {(row["group"], row["topic"], row["queue_id"]) for row in rows} == {("CG", "orders", 2)}
    assert {(row["popped_timestamp"], row["visible_timestamp"]) for row in rows} == {(time(POPPED), time(POPPED + 5000))}
    assert {row["physical_offset"] for row in rows} == {0}


def test_a_longer_time_is_a_new_row() -> None:
    again = point(pt=POPPED + 30, so=8, d=[0], n=1)
    assert offsets(stored("ck", point()), stored("ck", again, 1), stored("ack", ack(8), 2)) == [
        (7, False), (8, True), (11, False), (8, False),
    ]  # fmt: skip


def test_without_a_list_the_offsets_follow_each_other() -> None:
    assert offsets(stored("ck", point(d=[])), stored("ck", {**point(pt=1, n=2)} | {"d": None}, 1)) == [
        (7, False), (8, False), (9, False), (7, False), (8, False),
    ]  # fmt: skip


def test_other_messages_of_the_timer_are_not_read() -> None:
    other = Message(topic=TIMER, body=b"{}", properties=pack_properties({"TAGS": "ck", "REAL_TOPIC": "orders"}))
    assert popped(other) == []


# What no broker writes


HOSTILE = {
    "nothing": b"",
    "no object": b"[1]",
    "empty": b"{}",
    "no text": b"\xff\xfe{",
    "cut off": b'{"c":"CG","d":[0',
    "two objects": b'{"c":"A","t":"B","q":1,"pt":1,"it":1,"so":1,"n":1}{"c":"A"}',
    "two lines": b'{"c":"A"}\n{"c":"B"}',
    "half of two lines": b'{"c":"A","t":\n',
    "deep": b'{"d":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "large": b'{"c":"' + b"x" * (5 << 20) + b'"}',
    "twice": b'{"c":"A","c":"B","t":"B","q":1,"pt":1,"it":1,"so":1,"n":1}',
    "wrong types": b'{"c":1,"t":"B","q":"1","pt":1,"it":1,"so":1,"n":1}',
    "long numbers": b'{"c":"A","t":"B","q":1,"pt":99999999999999999999,"it":1,"so":1,"n":1}',
    "escaped": b'{"c":"A\\u0000","t":"B","q":1,"pt":1,"it":1,"so":1,"n":1}',
    "no group": json.dumps(point(c=None)).encode(),
    "no start": json.dumps(point(so=None), separators=(",", ":")).encode(),
    "no time": json.dumps(point(it=None), separators=(",", ":")).encode(),
    "no queue": json.dumps(point(q=-1), separators=(",", ":")).encode(),
    "large queue": json.dumps(point(q=1 << 31), separators=(",", ":")).encode(),
    "negative number": json.dumps(point(n=-5, d=[]), separators=(",", ":")).encode(),
}


@pytest.mark.parametrize("tag", ["ck", "ack", "bAck"])
def test_bodies_that_are_something_else_have_no_rows(tag: str) -> None:
    messages = [stored(tag, body, number) for number, body in enumerate(HOSTILE.values())]
    assert offsets(stored("ck", point()), *messages, stored("ack", ack(7), 99)) == [(7, True), (8, False), (11, False)]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_body_does_not_move_others(name: str) -> None:
    before, after = stored("ck", point(t="before", n=1, d=[0])), stored("ck", point(t="after", n=1, d=[0]), 2)
    assert [row["topic"] for row in popped(before, stored("ck", HOSTILE[name], 1), after)] == ["before", "after"]


def test_a_checkpoint_has_at_most_as_many_messages_as_a_broker_can_name() -> None:
    assert len(popped(stored("ck", point(n=10**17, d=[])))) == 127


def row(**changes: Any) -> bytes:
    whole = {"popTime": 5, "groupId": "G", "topicId": "T", "queueId": 3, "retryFlag": 0, "invisibleTime": 60, "offset": 9}
    return json.dumps({**whole, "attemptTimes": 0, "suspend": False} | changes).encode()


def test_a_row_of_the_database() -> None:
    assert held_in(row()) == Held("G", "T", 3, 9, 5, 65)
    assert [held_in(row(retryFlag=which)).topic for which in (1, 2, 7)] == ["%RETRY%G_T", "%RETRY%G+T", "%RETRY%G+T"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "value",
    [b"", b"\xff", b"[]", b"[" * 100_000, b"1", row(groupId=None), row(topicId=7), row(offset=-1), row(queueId=True), row(popTime=1e9)],
)
def test_a_row_of_the_database_that_is_something_else(value: bytes) -> None:
    assert held_in(value) is None
