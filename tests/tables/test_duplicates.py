"""Messages that are in the log more than once: sent again, stored again, or delivered by the broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.golden import Golden, opened
from support.stores import files_of, in_memory, log_of
from support.tune import Tune

import native_reader as nr
from native_reader.columns.schema import COLUMNS
from native_reader.tables.duplicates import DUPLICATES
from native_reader.testing.memory import MemoryStorage
from native_reader.testing.records import COMMIT, INNER_BATCH, InnerMessage, Message, pack_inner, pack_properties

HALF, DELAY, RETRY, DLQ = "RMQ_SYS_TRANS_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX", "%RETRY%group", "%DLQ%group"
BACK = {"RETRY_TOPIC": "orders", "REAL_TOPIC": RETRY}


def message(key: str | None, topic: str, at: int, born: int = 0, times: int = 0, **more: Any) -> Message:
    properties = {**({} if key is None else {"UNIQ_KEY": key}), **more.pop("properties", {})}
    return Message(
        topic=topic,
        body=more.pop("body", b"body"),
        properties=pack_properties(properties),
        born_timestamp=1_700_000_000_000 + born,
        store_timestamp=1_700_000_001_000 + at,
        reconsume_times=times,
        **more,
    )


STORY = [
    (message("once", "orders", 0), None),
    (message("A", "orders", 1, born=1), "first"),
    (message(None, "orders", 2), None),
    (message(None, "orders", 3), None),
    (message("A", "orders", 4, born=900), "sent"),
    (message("B", "orders", 5, born=2), "first"),
    (message("B", "orders", 6, born=2), "stored"),
    (message("half", HALF, 7, born=3, properties={"REAL_TOPIC": "orders"}), "first"),
    (message("half", HALF, 8, born=3, properties={"REAL_TOPIC": "orders"}), "delivered"),  # put again by a check
    (message("half", "orders", 9, born=3, sys_flag=COMMIT), "delivered"),
    (message("late", DELAY, 10, born=4, properties={"REAL_TOPIC": "orders"}), "first"),
    (message("late", DELAY, 11, born=5, properties={"REAL_TOPIC": "orders"}), "sent"),
    (message("late", "orders", 12, born=4), "delivered"),
    (message("late", "orders", 13, born=5), "delivered"),
    (message("late", "orders", 14, born=5), "stored"),
    (message("fails", "orders", 15, born=6), "first"),
    (message("fails", DELAY, 16, born=6, times=1, properties=BACK), "delivered"),
    (message("fails", RETRY, 17, born=6, times=1, properties=BACK), "delivered"),
    (message("fails", DELAY, 18, born=700, times=2, properties=BACK), "delivered"),  # a client sent it back as a new message
    (message("fails", RETRY, 19, born=700, times=2, properties=BACK), "delivered"),
    (message("fails", RETRY, 20, born=700, times=2, properties=BACK), "stored"),
    (message("fails", DLQ, 21, born=700, times=2, properties=BACK), "delivered"),
    (message("batch", "orders", 22, born=8, body=b"one"), None),  # all messages of a batch have one id, in the stores of old brokers
    (message("batch", "orders", 22, born=8, body=b"two"), None),
    (message("equal", "orders", 23, born=8), None),
    (message("equal", "orders", 23, born=8), None),
    (message("ck", "rmq_sys_REVIVE_LOG_c", 24), None),
    (message("ck", "rmq_sys_REVIVE_LOG_c", 25), None),
    (message("ck", "rmq_sys_wheel_timer", 26, properties={"REAL_TOPIC": "rmq_sys_REVIVE_LOG_c"}), None),
    (message("ck", "rmq_sys_wheel_timer", 27, properties={"REAL_TOPIC": "rmq_sys_REVIVE_LOG_c"}), None),
]


@pytest.fixture(scope="module")
def storage() -> MemoryStorage:
    return in_memory(files_of(log_of([each for each, _ in STORY], 1024)))


def copies_of(store: nr.Store, **options: Any) -> list[dict[str, Any]]:
    return store.table("duplicates", **options).to_table().to_pylist()


@pytest.mark.parametrize("at_once", [512 << 20, 1500])
def test_each_copy_is_explained(storage: MemoryStorage, tune: Tune, at_once: int) -> None:
    tune(grouped_at_once=at_once)
    placed = log_of([each for each, _ in STORY], 1024).placed
    expected = {place.offset: reason for place, (_, reason) in zip(placed, STORY, strict=True) if reason is not None}
    store = nr.open(storage.url)
    rows = copies_of(store)
    assert {row["physical_offset"]: row["reason"] for row in rows} == expected
    assert len(rows) == len(expected)
    keys = {place.offset: each.properties for place, (each, _) in zip(placed, STORY, strict=True)}
    for row in rows:
        same = [each for each in rows if each["uniq_key"] == row["uniq_key"]]
        assert row["copies"] == len(same)
        assert row["first_physical_offset"] == min(each["physical_offset"] for each in same)
        assert f"UNIQ_KEY\x01{row['uniq_key']}".encode() in keys[row["physical_offset"]]
    columns = [name for name in DUPLICATES.columns if name in COLUMNS and name != "uniq_key"]
    messages = {row["physical_offset"]: row for row in store.messages(columns=columns).to_table().to_pylist()}
    assert all(row.items() >= messages[row["physical_offset"]].items() for row in rows)


def test_what_consumers_got_twice(storage: MemoryStorage) -> None:
    rows = copies_of(nr.open(storage.url), columns="uniq_key,reason", where="reason IN ('sent', 'stored') AND topic = 'orders'")
    assert sorted(map(tuple, (row.values() for row in rows))) == [("A", "sent"), ("B", "stored"), ("late", "stored")]


def test_copies_in_two_stores() -> None:
    logs = {name: log_of([message("A", "orders", at, born=at), message(name, "orders", 9)], 1024) for name, at in (("b", 1), ("a", 2))}
    memory = in_memory({path: content for name, log in logs.items() for path, content in files_of(log, f"{name}/commitlog").items()})
    rows = copies_of(nr.open([f"{memory.url}/a", f"{memory.url}/b"]), columns="store,reason")
    assert rows == [{"store": f"{memory.url}/b", "reason": "first"}, {"store": f"{memory.url}/a", "reason": "sent"}]


def test_messages_of_inner_batches() -> None:
    units = [InnerMessage(b"unit %d" % number, pack_properties({"UNIQ_KEY": f"U{number % 3}"})) for number in range(4)]
    batch = {"topic": "batch", "body": pack_inner(units), "sys_flag": INNER_BATCH}
    memory = in_memory(files_of(log_of([Message(**batch, store_timestamp=1), Message(**batch, store_timestamp=2)])))
    rows = copies_of(nr.open(memory.url), columns="uniq_key,inner_index,reason")
    # The fourth message has the key of the first. They belong to one batch, so neither is a copy of the other.
    expected = [(f"U{number}", number, copy) for number in range(3) for copy in ("first", "stored")]
    assert sorted(map(tuple, (row.values() for row in rows))) == expected


def test_an_empty_log_has_none() -> None:
    memory = in_memory({"store/commitlog/": b""})
    assert copies_of(nr.open(memory.url)) == []


@pytest.fixture
def golden(golden_store: Callable[[str], Golden]) -> Callable[[str], nr.Store]:
    return lambda name: opened(golden_store(name))


@pytest.mark.parametrize("name", ["v4-kinds", "v5-kinds"])
def test_the_copies_that_brokers_made(golden: Callable[[str], nr.Store], name: str) -> None:
    """Every committed, delivered, retried and dead message of a real broker is a copy of one that it has."""
    store = golden(name)
    by_offset = {row["physical_offset"]: row["reason"] for row in copies_of(store)}
    rows = store.messages(columns="physical_offset,kind,topic", where="kind IN ('committed', 'retry', 'dlq')").to_table().to_pylist()
    assert len(rows) > 10
    assert {by_offset.get(row["physical_offset"]) for row in rows} == {"delivered"}
