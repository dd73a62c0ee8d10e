"""A check finds nothing on healthy stores, except what is normal: deleted topics, expired entries, a crash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.golden import STORES, Golden, opened
from support.own_stores import NAMES
from support.queued_stores import dispatched
from support.slaves import batch
from support.stores import files_of, in_memory, log_of, message
from support.tune import Tune
from support.verified import OFFSETS, beside, codes, healthy

import native_reader as nr
from native_reader.testing.logs import Framing
from native_reader.testing.records import PREPARED, pack_properties
from native_reader.verify.codes import CODES, NOTE

DELETED = {"record-of-deleted-topic", "record-of-earlier-topic"}
EXPIRED = {"entry-expired", "index-expired"}
WITHOUT_CONFIG = {"key-rolled-back", "queue-of-unknown-topic"}
CRASHED = {"broker-crashed"}

COPIES = {"copy-not-read"}
EXPECTED: dict[str, set[str]] = {
    "v4-kinds": DELETED,
    "v4-killed-transient": CRASHED,
    "v5-kinds": DELETED,
    "v5-dledger": DELETED,
    "v5-compaction": COPIES,
    "5.5.0-compaction": COPIES,
    "v5-propcrc": DELETED,
    "v5-expired": EXPIRED,
    "v5-inproc": WITHOUT_CONFIG,  # written through the store's own class: no broker configured these topics
    "v5-killed": CRASHED | {"record-not-dispatched"},
    "v5-rocksdb-cq": DELETED,
    **{f"v55-{name}-rocks": {"record-of-deleted-topic"} for name in ("all", "double", "lite", "timer", "trans")},
    "4.9.7-kinds": DELETED,
    "4.9.7-killed-pooled": CRASHED,
    "5.5.0-kinds": DELETED,
    "5.5.0-old-client": DELETED,
    "5.5.0-property-crc": DELETED,
    "5.5.0-expired": EXPIRED,
    "5.5.0-killed": CRASHED,
    "5.5.0-rare": WITHOUT_CONFIG,
    "5.5.0-rocksdb-index": DELETED | {"index-not-checked"},
    "5.4.0-rocksdb": DELETED | {"index-not-checked"},
    "5.4.0-rocksdb-index": {"index-not-checked"},
    "5.5.0-rocksdb-all": DELETED | {"index-not-checked"},
}
"""The notes of each store; those that are not here have none."""

DAMAGED: dict[str, dict[str, str]] = {
    "5.5.0-failover": {
        "entry-without-record": "an entry of a discarded record stayed, and a newer record covers its offset",
        "index-without-record": "entries of discarded records stayed in the index",
        "index-other-key": "one of them names the offset of a newer record",
        "index-time": "new entries in a file that still begins with discarded ones",
        "key-without-entry": "new records before the end of the old entries were not indexed",
        "entry-discarded": "entries of discarded records after the end of the log",
        "log-old-records": "the discarded records",
    },
    "5.5.0-lost-page": {
        "key-not-covered": "the recovery deleted the index file, and indexed only what it dispatched again",
        "entry-discarded": "entries of discarded records after the end of the log",
        "log-old-records": "the discarded records",
    },
    "5.5.0-rocksdb-moved": {
        "queue-order": "5.5.0 put a log into RocksDB: entries of a deleted topic replaced those of the topic that was made after it",
        "queue-copies-differ": "the queue in files has the right ones",
        "record-without-entry": "so consumers get deleted messages, and not these",
        "record-of-earlier-topic": "other messages of the deleted topic",
        "queue-of-unknown-topic": "it has queues of another deleted topic, too",
        "queue-left-behind": "files that the broker used before",
    },
    "5.5.0-slave": {
        "record-without-entry": "a slave does not dispatch a new topic's records below the old topic's end",
        "entry-number": "its first new entry follows the old topic's entries",
        "queue-of-batches": "a slave does not know which topics hold batches",
        "queue-of-unknown-topic": "a slave keeps the queues of deleted topics",
    },
}
"""Stores whose brokers left them inconsistent: what a check must find, and why."""


def found(store: Golden) -> set[str]:
    return set(opened(store).verify().to_table()["code"].to_pylist())


@pytest.mark.parametrize("name", NAMES)
def test_a_store_of_this_repository(own_store: Callable[[str], Golden], name: str) -> None:
    assert found(own_store(name)) == (set(DAMAGED[name]) if name in DAMAGED else EXPECTED.get(name, set()))


@pytest.mark.parametrize("name", STORES)
def test_a_golden_store(golden_store: Callable[[str], Golden], name: str) -> None:
    assert found(golden_store(name)) == EXPECTED.get(name, set())


def test_what_is_expected_are_notes() -> None:
    assert {CODES[code] for notes in EXPECTED.values() for code in notes} == {NOTE}


@pytest.mark.parametrize("at_once", [1, 1000, 128 << 20])
@pytest.mark.parametrize("whole", [0, 160 << 10])
@pytest.mark.parametrize("framing", ["plain", "dledger"])
def test_a_small_store(tune: Tune, framing: Framing, whole: int, at_once: int) -> None:
    tune(verified_at_once=at_once, queue_read_whole=whole, queue_read_at_once=40)
    log, files = healthy()
    if framing == "dledger":
        dledger = log_of((placed.message for placed in log.placed), segment_size=4096, framing=framing)
        files = files_of(dledger, "store/dledger-n0/data") | dispatched(dledger.placed, file=4000) | beside(log)
        assert codes(files) == {"index-not-checked": 1, "dledger-index": 1}  # it has no index at all
        return
    assert codes(files) == {}


def test_every_kind_of_record() -> None:
    messages = [
        message(0),
        batch(1, 5),
        batch(2, 1),
        message(3, topic="SCHEDULE_TOPIC_XXXX", properties=pack_properties({"DELAY": "3", "UNIQ_KEY": "U3"})),
        message(4, sys_flag=PREPARED),
        message(5, properties=pack_properties({"KEYS": "订单 k5", "TAGS": "支付", "UNIQ_KEY": "U5"})),
        message(6, properties=b""),
        message(7, topic="订单"),
    ]
    lights = {"INNER_MULTI_DISPATCH": "%LMQ%a,%LMQ%b", "INNER_MULTI_QUEUE_OFFSET": "0,0", "UNIQ_KEY": "U8"}
    messages.append(message(8, properties=pack_properties(lights)))
    log, files = healthy((replace(each, store_timestamp=1_700_000_000_000 + number) for number, each in enumerate(messages)))
    topics = ("T0", "T1", "T2", "batched", "SCHEDULE_TOPIC_XXXX", "订单")
    assert codes(files | beside(log, topics) | {OFFSETS: b'{"offsetTable":{}}'}) == {}


def test_a_log_without_anything_else() -> None:
    assert codes(files_of(log_of(20))) == {"queue-not-checked": 1, "index-not-checked": 1, "checkpoint-missing": 1}


def test_jobs_and_parts_give_the_same_findings_and_progress_reaches_the_end() -> None:
    _, files = healthy()
    memory = in_memory({name: content for name, content in files.items() if "/T1/" not in name})
    store, seen = nr.open(f"{memory.url}/store"), list[Any]()
    alone = store.verify().to_table(progress=seen.append)
    assert alone.num_rows > 0
    assert alone == store.verify().to_table(jobs=3) == store.table("findings").to_table()
    assert seen[-1].done == seen[-1].total > 0
    assert seen[-1].share == 1
    assert [each.done for each in seen] == sorted(each.done for each in seen)
