"""`timers`: messages that wait in the timer topic."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.golden import Golden
from support.plain_decoder import Row
from support.stores import Files, files_of, in_memory, log_of
from support.tune import Tune

import native_reader as nr
from native_reader.testing.records import Message, pack_properties

TIMER = "rmq_sys_wheel_timer"
DUE = 1_700_000_100_000
CHECK = "store/config/timercheck"
SCANNED = b"sys_topic_scan_offset_checkpoint"


def time(milliseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def checked(read_time: int, queue_offset: int) -> Files:
    return {CHECK: struct.pack(">4q", read_time, 0, queue_offset, queue_offset).ljust(4096, b"\0")}


def timed(key: str | None, number: int, due: int | str = DUE, **properties: str) -> Message:
    pairs = {"REAL_TOPIC": "orders", "REAL_QID": "3", "TIMER_OUT_MS": str(due), "TAGS": "t"} | ({"UNIQ_KEY": key} if key else {})
    return Message(
        topic=TIMER, queue_offset=number, properties=pack_properties(pairs | properties), store_timestamp=1_700_000_000_000 + number
    )


def timers(messages: list[Message], more: Files) -> list[Row]:
    memory = in_memory(files_of(log_of(messages)) | more)
    return list(nr.open(f"{memory.url}/store").table("timers").to_table().to_pylist())


def states(messages: list[Message], more: Files) -> list[tuple[str | None, str, int]]:
    return [(row["uniq_key"], row["state"], row["queue_offset"]) for row in timers(messages, more)]


def test_what_the_timer_has_not_reached_is_pending() -> None:
    messages = [timed("A", 0, DUE - 1000), timed("B", 1), timed("C", 2, DUE + 1000), timed("D", 3, DUE - 5000)]
    assert states(messages, checked(DUE, 3)) == [("B", "pending", 1), ("C", "pending", 2), ("D", "pending", 3)]
    assert states(messages, checked(DUE + 5000, 4)) == []


def test_a_message_that_is_stored_again_is_one_row() -> None:
    messages = [timed("A", 0), timed("B", 1), timed("A", 2, TIMER_ROLL_TIMES="1"), timed("A", 3, TIMER_ROLL_TIMES="2")]
    first, other = timers(messages, checked(DUE - 50_000, 4))
    assert (first["uniq_key"], first["rolls"], first["queue_offset"]) == ("A", 2, 3)
    assert first["first_store_timestamp"] == time(1_700_000_000_000)
    assert (first["due_timestamp"], first["topic"], first["queue_id"], first["tags"]) == (time(DUE), "orders", 3, "t")
    assert (other["uniq_key"], other["rolls"], other["recalled_timestamp"]) == ("B", 0, None)


@pytest.mark.parametrize("deleted", ["A", "orders+A"])
def test_a_recalled_message(deleted: str) -> None:
    messages = [timed("A", 0), timed("B", 1), timed("A", 2, TIMER_DEL_UNIQKEY=deleted), timed("A", 3, TIMER_ROLL_TIMES="1")]
    first, other = timers(messages, checked(DUE - 50_000, 4))
    assert (first["state"], first["queue_offset"], first["recalled_timestamp"]) == ("recalled", 3, time(1_700_000_000_002))
    assert (other["uniq_key"], other["state"]) == ("B", "pending")


def test_a_recall_with_a_key_of_its_own_or_another_time() -> None:
    recall = timed("R", 1, TIMER_DEL_UNIQKEY="A")
    assert states([timed("A", 0), recall], checked(1, 0)) == [("A", "recalled", 0)]
    assert states([timed("A", 0), timed("A", 1, DUE + 1000, TIMER_DEL_UNIQKEY="A")], checked(1, 0)) == [("A", "pending", 0)]
    assert states([recall], checked(1, 0)) == []


def test_the_same_key_with_two_due_times_is_two_messages() -> None:
    messages = [timed("A", 0), timed("A", 1, DUE + 1000), timed(None, 2), timed(None, 3)]
    assert [state for _, state, _ in states(messages, checked(1, 0))] == ["pending"] * 4


@pytest.mark.parametrize("content", [None, b"", bytes(4096), b"\1" * 31])
def test_without_timercheck_nothing_is_known(content: bytes | None) -> None:
    assert states([timed("A", 0, 1000)], {} if content is None else {CHECK: content}) == [("A", "unknown", 0)]


@pytest.mark.parametrize("due", ["", "soon", "9" * 30, "1e9"])
def test_a_due_time_that_is_no_number(due: str) -> None:
    (row,) = timers([timed("A", 0, due)], checked(DUE, 1))
    assert (row["state"], row["due_timestamp"]) == ("unknown", None)


def test_a_due_time_outside_the_calendar() -> None:
    (row,) = timers([timed("A", 0, 10**17)], checked(DUE, 1))
    assert (row["state"], row["due_timestamp"]) == ("pending", None)


def plain(store: Golden, read_time: int, queue_offset: int) -> dict[str, Any]:
    """Key → state, by dicts, from Java's records."""
    waiting: dict[tuple[str, int], str] = {}
    recalled = set()
    for record in store.expected_rows:
        properties = record.get("properties") or {}
        if record.get("topic") != TIMER or not (int(properties["TIMER_OUT_MS"]) >= read_time or record["queue_offset"] >= queue_offset):
            continue
        due = int(properties["TIMER_OUT_MS"])
        if "TIMER_DEL_UNIQKEY" in properties:
            recalled.add((properties["TIMER_DEL_UNIQKEY"], due))
        else:
            waiting[properties["UNIQ_KEY"], due] = "pending"
    return {key: "recalled" if (key, due) in recalled else state for (key, due), state in waiting.items()}


@pytest.mark.parametrize("name", ["v5-kinds", "v4-kinds", "v55-timer-rocks"])
def test_what_waits_in_the_stores_of_real_brokers(golden_store: Callable[[str], Golden], tune: Tune, name: str) -> None:
    """v5-kinds, v55-timer-rocks: six messages are due an hour after the broker stopped, and three of them were recalled."""
    store = golden_store(name)
    path = store.root / "config" / "timercheck"
    read_time, _, queue_offset, _ = struct.unpack(">4q", path.read_bytes()[:32]) if path.exists() else (0, 0, 0, 0)
    if in_database := store.rows_in("rocksdbstore", "timer"):
        read_time, queue_offset = (int.from_bytes(in_database[name], "big") for name in (b"timeline_checkpoint", SCANNED))
    found = nr.open(store.root).table("timers")
    rows = {row["uniq_key"]: row["state"] for row in found.to_table().to_pylist()}
    assert rows == plain(store, read_time, queue_offset)
    assert sorted(rows.values()) == ([] if name == "v4-kinds" else ["pending"] * 3 + ["recalled"] * 3)
    tune(grouped_at_once=500)
    again = nr.open(store.root).table("timers").to_table().to_pylist()
    assert {row["uniq_key"]: row["state"] for row in again} == rows


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("5.4.0-rocksdb", {"Pending"}),
        ("5.4.0-rocksdb-timers", {"Pending", "Recalled"}),
        ("5.5.0-rocksdb-timers", {"Pending", "Recalled"}),
        ("5.5.0-rocksdb-all", {"Pending", "Recalled"}),
    ],
)
def test_timers_of_this_repository_in_rocksdb(own_store: Callable[[str], Golden], name: str, expected: set[str]) -> None:
    """Of six, four were delivered. The time of the recalled one was over when the first broker stopped."""
    rows = nr.open(own_store(name).root).table("timers").to_table().to_pylist()
    states = {row["tags"]: row["state"] for row in rows if row["topic"] == "Timed"}
    assert states == {tag: tag.lower() for tag in expected}


def test_without_the_extra_the_timer_in_rocksdb_is_unknown(
    golden_store: Callable[[str], Golden], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    rows = nr.open(golden_store("v55-timer-rocks").root).table("timers").to_table().to_pylist()
    assert {row["state"] for row in rows} == {"unknown", "recalled"}
    assert "Messages of the timer are `unknown` without it" in caplog.text


def test_the_timer_of_a_broker_without_it_in_rocksdb_needs_no_extra(
    golden_store: Callable[[str], Golden], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each broker since 5.4.0 has the database; this one wrote nothing to it."""
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    assert nr.open(golden_store("v55-double-rocks").root).table("timers").to_table().num_rows == 0
    assert caplog.text == ""
