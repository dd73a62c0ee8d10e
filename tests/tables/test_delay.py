"""`delay`: messages that wait for their level."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from support import golden, own_stores
from support.golden import Golden
from support.plain_decoder import Row
from support.queued_stores import dispatched
from support.stores import Files, files_of, in_memory, log_of

import native_reader as nr
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.records import Message, pack_properties

DELAY = "SCHEDULE_TOPIC_XXXX"
STORED = 1_700_000_000_000
FILE = "store/config/delayOffset.json"


def time(milliseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def delayed(level: int, number: int, **properties: str) -> Message:
    pairs = {"DELAY": str(level), "REAL_TOPIC": "orders", "REAL_QID": "2", "TAGS": "t", "KEYS": "k1 k2", "UNIQ_KEY": f"{level}-{number}"}
    return Message(
        topic=DELAY, queue_id=level - 1, queue_offset=number, store_timestamp=STORED, properties=pack_properties(pairs | properties)
    )


def store_of(messages: Iterable[Message], more: Files, *, queues: bool = True) -> Files:
    log = log_of(messages)
    return files_of(log) | (dispatched(log.placed) if queues else {}) | more


def delay(files: Files) -> list[Row]:
    memory = in_memory(files)
    return list(nr.open(f"{memory.url}/store").table("delay").to_table().to_pylist())


def waiting(files: Files) -> list[tuple[int, int, str]]:
    return [(row["delay_level"], row["queue_offset"], row["state"]) for row in delay(files)]


MESSAGES = [delayed(1, 0), delayed(3, 0), delayed(1, 1), delayed(18, 0), delayed(1, 2), delayed(3, 1)]


def test_what_the_offset_of_its_level_has_not_reached_is_pending() -> None:
    files = store_of(MESSAGES, {FILE: b'{"offsetTable":{1:2,3:2}}'})
    assert waiting(files) == [(18, 0, "pending"), (1, 2, "pending")]
    first = delay(files)[0]
    assert (first["due_timestamp"], first["store_timestamp"]) == (time(STORED + 5000), time(STORED))
    assert (first["topic"], first["queue_id"], first["tags"], first["keys"], first["msg_id"]) == ("orders", 2, "t", ["k1", "k2"], "18-0")


@pytest.mark.parametrize("more", [{}, {"store/config/topics.json": b"{}"}])
def test_without_the_file_nothing_is_known(more: Files) -> None:
    assert [state for _, _, state in waiting(store_of(MESSAGES, more))] == ["unknown"] * len(MESSAGES)


def test_the_backup_is_used_as_a_broker_uses_it() -> None:
    files = store_of(MESSAGES, {FILE: b'{"offsetTable":{1:', FILE + ".bak": b'{"offsetTable":{1:3,3:2,18:1}}'})
    assert waiting(files) == []


def test_a_damaged_file_is_an_error_that_names_it() -> None:
    with pytest.raises(nr.StoreDamaged, match=r"delayOffset.json: is not JSON"):
        delay(store_of(MESSAGES, {FILE: b"\0" * 50}))
    with pytest.raises(nr.StoreDamaged, match=r"delayOffset.json.*offsetTable"):
        delay(store_of(MESSAGES, {FILE: b'{"offsetTable":[1]}'}))


@pytest.mark.parametrize(
    "table", ['{"1":"2"}', '{"1":-1}', '{"1":1e300}', '{"x":1,"-1":5,"99999999999":1}', '{"1":true}', '{"1":null}', "{}"]
)
def test_levels_and_offsets_that_cannot_be_are_ignored(table: str) -> None:
    assert len(waiting(store_of(MESSAGES, {FILE: b'{"offsetTable":%s}' % table.encode()}))) == len(MESSAGES)


def test_an_offset_beyond_the_queue_delivers_all_of_its_level() -> None:
    files = store_of(MESSAGES, {FILE: json.dumps({"offsetTable": {"1": 2**63 - 1, "3": 7}}).encode()})
    assert waiting(files) == [(18, 0, "pending")]


def test_a_message_without_a_queue_entry_has_no_due_time() -> None:
    rows = delay(store_of(MESSAGES, {FILE: b'{"offsetTable":{}}'}, queues=False))
    assert [row["due_timestamp"] for row in rows] == [None] * len(MESSAGES)
    no_level = delayed(1, 0)
    properties = pack_properties({"TAGS": "t"})
    (row,) = delay(store_of([Message(topic=DELAY, properties=properties, store_timestamp=no_level.store_timestamp)], {}))
    assert (row["due_timestamp"], row["topic"]) == (None, None)


def test_an_entry_of_another_record_gives_no_due_time() -> None:
    files = store_of(MESSAGES[:1], {})
    (queue,) = (name for name in files if "consumequeue" in name)
    content = files[queue]
    assert delay(files)[0]["due_timestamp"] is not None
    wrong = content[:8] + (int.from_bytes(content[8:12], "big") + 1).to_bytes(4, "big") + content[12:]
    assert delay(files | {queue: wrong})[0]["due_timestamp"] is None


@pytest.mark.parametrize("name", ["v4-kinds", "v5-kinds", "v5-dledger", "v5-rocksdb-cq", "v5-compaction"])
def test_what_waits_in_the_stores_of_real_brokers(golden_store: Callable[[str], Golden], name: str) -> None:
    """Java's records, the file as text, and the tags codes on disk. Queues in RocksDB too."""
    assert name in golden.STORES
    store = golden_store(name)
    text = (store.root / "config" / "delayOffset.json").read_text().partition('"offsetTable":{')[2].partition("}")[0]
    pairs = [pair.partition(":") for pair in text.split(",") if ":" in pair]
    delivered = {int(level): int(offset) for level, _, offset in pairs}
    entries = store.lines("queues_rocksdb_raw" if name == "v5-rocksdb-cq" else "queues_raw")
    codes = {entry["physical_offset"]: entry["tags_code"] for entry in entries if entry["topic"] == DELAY}
    expected = [
        (row["physical_offset"], row["queue_id"] + 1, row["msg_id"], row["real_topic"], codes.get(row["physical_offset"]))
        for row in store.expected_rows
        if row.get("topic") == DELAY and row["queue_offset"] >= delivered.get(row["queue_id"] + 1, 0)
    ]
    rows = nr.open(store.root).table("delay").to_table().to_pylist()
    assert [(row["physical_offset"], row["delay_level"], row["msg_id"], row["topic"]) for row in rows] == [each[:4] for each in expected]
    assert [row["due_timestamp"] for row in rows] == [None if each[4] is None else time(each[4]) for each in expected]
    assert all(each[4] is not None for each in expected)
    assert {row["state"] for row in rows} <= {"pending"}
    assert len(rows) == {"v5-compaction": 0}.get(name, 4)


@pytest.mark.parametrize("name", own_stores.NAMES)
def test_due_times_follow_from_the_settings_of_the_broker(own_store: Callable[[str], Golden], name: str) -> None:
    """A level has its delay in `messageDelayLevel`, and a message is due that long after it was stored."""
    store = own_store(name)
    levels = json.loads((store.folder / "settings.json").read_text())["messageDelayLevel"].split()
    delays = [timedelta(seconds=int(level[:-1]) * {"s": 1, "m": 60, "h": 3600}[level[-1]]) for level in levels]
    rows = golden.opened(store).table("delay").to_table().to_pylist()
    for row in rows:
        assert row["due_timestamp"] == row["store_timestamp"] + delays[row["delay_level"] - 1]
    assert rows or not name.endswith("-kinds")


def test_the_queues_of_the_levels_are_listed_once_for_each_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each batch: a store can have thousands of topics beside them."""
    monkeypatch.setattr("native_reader.records.walk.CHUNK", 64 << 10)
    messages = [replace(delayed(1, number), body=bytes(20 << 10)) for number in range(60)]
    log = log_of(messages, segment_size=2 << 20)
    memory = in_memory(files_of(log) | dispatched(log.placed, file=4000))
    faulty = FaultyStorage(memory.url)
    scan = nr.open(f"{faulty.url}/store").table("delay")
    assert len(scan.parts()) == 1
    faulty.calls.clear()
    batches = list(scan.to_batches())
    assert len(batches) > 5
    assert [due for batch in batches for due in batch["due_timestamp"].to_pylist()] == [time(STORED + 5000)] * 60
    assert faulty.calls["list"] < 10
