"""The tables `consumer_offsets` and `lag_by_tag`, compared with what brokers stored and what Java says of their queues."""

from __future__ import annotations

import errno
import json
import re
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.golden import STORES, Golden, opened
from support.plain_decoder import Row
from support.queued_stores import dispatched, numbered, queued_stores
from support.stores import Files, files_of, in_memory, log_of, message, on_disk

import native_reader as nr
from native_reader.testing.config import fastjson
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.java import hash_code
from native_reader.testing.records import INNER_BATCH, InnerMessage, pack_inner, pack_properties

Get = Callable[[str], Golden]
_FILES = ("consumerOffset.json", "lmqConsumerOffset.json")


def rows_of(store: Any, table: str) -> list[Row]:
    rows: list[Row] = store.table(table).to_table().to_pylist()
    return rows


def stored_offsets(store: Golden) -> dict[tuple[str, str, int], int]:
    """What a broker wrote: {(group, topic, queue): offset}."""
    found = {}
    for key, value in {**store.rows_in("config/consumerOffsets"), **store.rows_in("config/metadata", "consumerOffset")}.items():
        topic, group, *_ = key.decode().split("@")
        found |= {(group, topic, int(queue)): offset for queue, offset in json.loads(quoted(value.decode()))["offsetTable"].items()}
    for path in (store.root / "config" / name for name in _FILES):
        if path.exists():
            for name, offsets in json.loads(quoted(path.read_text()))["offsetTable"].items():
                topic, group, *_ = name.split("@")
                found |= {(group, topic, int(queue)): offset for queue, offset in offsets.items()}
    return found


def quoted(text: str) -> str:
    """The same JSON, with keys that are numbers as text."""
    return re.sub(r"([{,]\s*)(\d+)(\s*:)", r'\1"\2"\3', text)


@pytest.mark.parametrize("name", STORES)
def test_offsets_and_ends_of_queues_are_those_of_the_broker(golden_store: Get, name: str) -> None:
    """Java's own end of each queue, after it opened a copy of the store."""
    store = golden_store(name)
    ends = {queue: end for queue, (_, end) in store.meta.get("queues", {}).items()}
    if not ends:  # DLedger: Java printed only the entries
        ends = {f"{entry['topic']}@{entry['queue_id']}": entry["queue_offset"] + entry["batch_num"] for entry in store.lines("queues")}
    rows = rows_of(opened(store), "consumer_offsets")
    assert all(row["store"] == store.root.as_uri() for row in rows)
    committed = {(row["group"], row["topic"], row["queue_id"]): row["committed"] for row in rows if row["committed"] is not None}
    assert committed == stored_offsets(store)
    for row in rows:
        if row["topic"].startswith("%LMQ%") or row["committed"] is None:  # Java printed no light queues
            continue
        end = ends.get(f"{row['topic']}@{row['queue_id']}")
        assert (row["max"], row["lag"]) == (end, None if end is None else end - row["committed"])


@pytest.mark.parametrize("name", STORES)
def test_what_remains_for_a_group_is_counted_from_queues_and_records(golden_store: Get, name: str) -> None:
    store = opened(golden_store(name))
    read = store.messages(columns="physical_offset,store_timestamp", mode="DROPMALFORMED").to_table()
    times = {row["physical_offset"]: row["store_timestamp"] for row in read.to_pylist()}
    lowest = store.stores[0].first_record
    kept: dict[tuple[str, int], list[tuple[int, int, int]]] = {}
    for row in rows_of(store, "queue_entries"):
        if row["physical_offset"] >= lowest:
            kept.setdefault((row["topic"], row["queue_id"]), []).append((row["queue_offset"], row["messages"], row["physical_offset"]))
    for row in rows_of(store, "consumer_offsets"):
        entries = sorted(kept.get((row["topic"], row["queue_id"]), ()))
        if row["committed"] is None or row["max"] is None or not entries:
            continue
        first = entries[0][0]
        assert row["min"] == first
        assert row["expired"] == max(0, first - row["committed"])
        unread = next((offset for number, count, offset in entries if number + count > row["committed"]), None)
        assert row["oldest_unread"] == (None if unread is None else times.get(unread))


@pytest.mark.parametrize("name", STORES)
def test_the_lag_by_tag_is_counted_from_the_records(golden_store: Get, name: str) -> None:
    """Java's decoding of each record that the group has not consumed."""
    store = golden_store(name)
    waiting: Counter[tuple[str, str, int, int | None]] = Counter()
    of_queues: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for record in store.lines("truth"):
        if record["decoded"] and record["topic"] not in ("SCHEDULE_TOPIC_XXXX",):
            place = record["queue_offset"], hash_code((record["properties"] or {}).get("TAGS", ""))
            of_queues.setdefault((record["topic"], record["queue_id"]), []).append(place)
    for row in rows_of(opened(store), "consumer_offsets"):
        for number, code in of_queues.get((row["topic"], row["queue_id"]), ()) if row["max"] is not None else ():
            if row["committed"] <= number < row["max"]:
                waiting[row["group"], row["topic"], row["queue_id"], code] += 1
    rows = [row for row in rows_of(opened(store), "lag_by_tag") if not row["topic"].startswith("%LMQ%")]
    assert {(row["group"], row["topic"], row["queue_id"], row["tags_code"]): row["messages"] for row in rows} == waiting
    assert all(hash_code(row["tag"]) == row["tags_code"] if row["tag"] else row["tags_code"] == 0 for row in rows)
    offsets = {record["physical_offset"]: record for record in store.lines("truth")}
    for row in rows:
        first = offsets[row["first_physical_offset"]]
        assert (first["topic"], first["queue_id"]) == (row["topic"], row["queue_id"])
        assert row["tag"] == (first["properties"] or {}).get("TAGS")


# Stores of our own


def with_offsets(files: Files, content: Mapping[str, Any], name: str = "consumerOffset.json") -> Files:
    return files | {f"store/config/{name}": fastjson(content).encode()}


def orders(count: int = 10) -> Files:
    tags = ("paid", "AaBB", "BBBB", "")
    messages = numbered(
        message(number, topic="orders", queue_id=0, properties=pack_properties({"TAGS": tags[number % 4]})) for number in range(count)
    )
    log = log_of(messages)
    return files_of(log) | dispatched(log.placed)


def test_a_group_behind_the_log_and_one_after_its_end() -> None:
    """The first segment is gone: of ten messages, the queue still names all."""
    files = orders(40)
    first = min(name for name in files if "/commitlog/" in name)
    memory = in_memory(with_offsets({name: files[name] for name in files if name != first}, {"offsetTable": {
        "orders@behind": {0: 2}, "orders@within": {0: 30}, "orders@ready": {0: 40}, "orders@ahead": {0: 50}, "gone@behind": {0: 1},
    }}))  # fmt: skip
    store = nr.open(f"{memory.url}/store")
    left = store.messages(columns="queue_offset,store_timestamp").to_table().to_pylist()
    begin, times = left[0]["queue_offset"], {row["queue_offset"]: row["store_timestamp"] for row in left}
    names = ("group", "min", "lag", "expired", "oldest_unread")
    assert [tuple(row[name] for name in names) for row in rows_of(store, "consumer_offsets")] == [
        ("ahead", begin, -10, 0, None),
        ("behind", None, None, None, None),
        ("behind", begin, 38, begin - 2, times[begin]),
        ("ready", begin, 0, 0, None),
        ("within", begin, 10, 0, times[30]),
    ]
    assert begin > 2
    alone = store.table("consumer_offsets", columns="lag").to_table().column("lag").to_pylist()
    assert alone == [-10, None, 38, 0, 10]


def test_kinds_of_offsets() -> None:
    memory = in_memory(
        with_offsets(
            orders() | {"store/consumequeue/%LMQ%light/0/" + "0" * 20: struct.pack(">qiq", 0, 100, 0) * 3},
            {
                "offsetTable": {"orders@g": {0: 4, 1: 9}, "orders@all@broadcast": {0: 12}, "gone@g": {0: 5}},
                "lmqOffsetTable": {"%LMQ%light@%LMQ%device": 1},
                "pullOffsetTable": {"orders@g": {0: 6, 2: 1}, "orders@all": {0: 3}, "orders@new": {0: 2}},
            },
            "lmqConsumerOffset.json",
        )
    )
    names = ("group", "topic", "queue_id", "is_broadcast", "committed", "max", "lag", "pulled")
    store = nr.open(f"{memory.url}/store")
    assert [tuple(row[name] for name in names) for row in rows_of(store, "consumer_offsets")] == [
        ("%LMQ%device", "%LMQ%light", 0, False, 1, 3, 2, None),
        ("all", "orders", 0, True, 12, 10, -2, 3),
        ("g", "gone", 0, False, 5, None, None, None),
        ("g", "orders", 0, False, 4, 10, 6, 6),
        ("g", "orders", 1, False, 9, None, None, None),
        ("g", "orders", 2, False, None, None, None, 1),
        ("new", "orders", 0, False, None, 10, None, 2),
    ]
    assert store.groups().to_table() == store.table("consumer_offsets").to_table()
    tags = [(row["group"], row["tags_code"], row["tag"], row["messages"]) for row in rows_of(store, "lag_by_tag")]
    # Tags with equal hashes are one row, named after the first.
    assert tags == [
        ("%LMQ%device", 0, None, 2),
        ("g", 2031744, "AaBB", 3),
        ("g", hash_code("paid"), "paid", 2),
        ("g", 0, None, 1),
    ]


@pytest.mark.parametrize("committed", [0, 1, 3, 4, 6, 8])
def test_of_a_batch_that_is_consumed_in_part_the_rest_waits(committed: int) -> None:
    batch = message(0, topic="orders", queue_id=0, sys_flag=INNER_BATCH, body=pack_inner([InnerMessage()] * 4))
    log = log_of(numbered([batch, batch]))
    memory = in_memory(with_offsets(files_of(log) | dispatched(log.placed), {"offsetTable": {"orders@g": {0: committed}}}))
    rows = rows_of(nr.open(f"{memory.url}/store"), "lag_by_tag")
    assert sum(row["messages"] for row in rows) == 8 - committed


def test_many_tags_are_counted_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("native_reader.sides.lag._MOST_CODES", 2)
    monkeypatch.setattr("native_reader.sides.lag._MOST_NAMED", 1)
    memory = in_memory(with_offsets(orders(12), {"offsetTable": {"orders@g": {0: 0}}}))
    rows = rows_of(nr.open(f"{memory.url}/store"), "lag_by_tag")
    assert [(row["tags_code"], row["tag"], row["messages"]) for row in rows] == [
        (2031744, "AaBB", 6),
        (hash_code("paid"), None, 3),
        (None, None, 3),
    ]


def test_tags_of_a_long_queue_are_counted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = in_memory(with_offsets(orders(40), {"offsetTable": {"orders@g": {0: 0}}}))
    store = nr.open(f"{memory.url}/store")
    whole = rows_of(store, "lag_by_tag")
    assert [row["messages"] for row in whole] == [20, 10, 10]
    monkeypatch.setattr("native_reader.sides.queues._PIECE", 40)
    monkeypatch.setattr("native_reader.sums._ROWS_WAITING", 5)
    assert rows_of(store, "lag_by_tag") == whole


def test_messages_of_more_tags_than_can_be_counted_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with tags that are order ids: the rarest so far are counted with those of unknown tags."""
    messages = numbered(message(number, topic="orders", properties=pack_properties({"TAGS": f"order {number}"})) for number in range(60))
    log = log_of(messages)
    memory = in_memory(with_offsets(files_of(log) | dispatched(log.placed), {"offsetTable": {"orders@g": {0: 7}}}))
    for name, value in (("sides.queues._PIECE", 40), ("sums._ROWS_WAITING", 1), ("sides.lag._MOST_COUNTED", 8)):
        monkeypatch.setattr(f"native_reader.{name}", value)
    rows = rows_of(nr.open(f"{memory.url}/store"), "lag_by_tag")
    assert sum(row["messages"] for row in rows) == 53
    assert len(rows) < 12
    assert (rows[-1]["tags_code"], rows[-1]["first_physical_offset"] > log.placed[6].offset) == (None, True)


def test_a_broker_reads_one_file_and_the_others_are_older() -> None:
    files = with_offsets(orders(), {"offsetTable": {"orders@g": {0: 1}, "orders@old": {0: 2}}})
    files = with_offsets(files, {"offsetTable": {"orders@g": {0: 7}}, "lmqOffsetTable": {}}, "lmqConsumerOffset.json")
    memory = in_memory(files)
    rows = rows_of(nr.open(f"{memory.url}/store"), "consumer_offsets")
    assert [(row["group"], row["committed"], row["file"].rpartition("/")[2]) for row in rows] == [
        ("g", 7, "lmqConsumerOffset.json"),
        ("old", 2, "consumerOffset.json"),
    ]


def test_of_two_files_the_one_written_last_counts() -> None:
    """A broker whose enableLmq was switched off leaves lmqConsumerOffset.json behind."""
    tables: list[dict[str, Any]] = [{"offsetTable": {"orders@g": {0: 1}}}, {"offsetTable": {"orders@g": {0: 7}}}]
    for times, committed in (((5, 4), 1), ((4, 5), 7), ((4, 4), 7), ((4, None), 1), ((None, 4), 7), (("x", True), 7)):
        versions = [{"counter": 1} | ({} if time is None else {"timestamp": time}) for time in times]
        contents = [table | {"dataVersion": version} for table, version in zip(tables, versions, strict=True)]
        files = with_offsets(orders(), contents[0])
        memory = in_memory(with_offsets(files, contents[1], "lmqConsumerOffset.json"))
        (row,) = rows_of(nr.open(f"{memory.url}/store"), "consumer_offsets")
        assert row["committed"] == committed, times


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        ({"orders": {0: 1}}, (None, "orders", 0, 1)),
        ({"orders@g": [1]}, ("g", "orders", None, None)),
        ({"orders@g": {"x": 1}}, ("g", "orders", None, 1)),
        ({"orders@g": {-1: 1}}, ("g", "orders", None, 1)),
        ({"orders@g": {2**31: 1}}, ("g", "orders", None, 1)),
        ({"orders@g": {0: -1}}, ("g", "orders", 0, None)),
        ({"orders@g": {0: 2**63}}, ("g", "orders", 0, None)),
        ({"orders@g": {0: True}}, ("g", "orders", 0, None)),
        ({"orders@g": {0: "many"}}, ("g", "orders", 0, None)),
        ({"../../orders@g": {0: 1}}, ("g", "../../orders", 0, 1)),
        ({"..@g": {0: 1}}, ("g", "..", 0, 1)),
        ({"@": {0: 1}}, ("", "", 0, 1)),
        ({"\udc80\0@g": {0: 1}}, ("g", "\ufffd\0", 0, 1)),
        ({"x" * 5000 + "@g": {0: 1}}, ("g", "x" * 5000, 0, 1)),
    ],
)
def test_an_impossible_entry_is_a_row_with_nulls(tmp_path: Path, offsets: Mapping[str, Any], expected: tuple[Any, ...]) -> None:
    """No entry is dropped, and no name leads out of the directory of the queues."""
    text = json.dumps({"offsetTable": offsets}).encode()
    root = on_disk(tmp_path, orders() | {"store/config/consumerOffset.json": text})
    (row,) = rows_of(nr.open(root / "store"), "consumer_offsets")
    assert (row["group"], row["topic"], row["queue_id"], row["committed"]) == expected
    if row["topic"] != "orders":
        assert row["max"] is None


def test_damaged_offsets_are_an_error_only_for_who_asks(tmp_path: Path) -> None:
    root = on_disk(tmp_path, orders() | {"store/config/consumerOffset.json": b'{"offsetTable":{"orders@g":{0:'}) / "store"
    store = nr.open(root)
    assert store.messages(topic="orders").count_rows() == 10
    assert len(store.table("segments").to_table()) > 0
    for table in ("consumer_offsets", "lag_by_tag"):
        with pytest.raises(nr.StoreDamaged, match=r"consumerOffset\.json: is not JSON at byte 30: expected value"):
            store.table(table).to_table()


@pytest.mark.parametrize("table", ["consumer_offsets", "lag_by_tag"])
def test_a_queue_that_cannot_be_read_is_not_an_empty_one(table: str) -> None:
    memory = in_memory(with_offsets(orders(), {"offsetTable": {"orders@g": {0: 1}}}))

    def fault(call: str, uri: str, offset: int) -> None:
        if call == "read" and "/consumequeue/" in uri:
            raise OSError(errno.EIO, "Input/output error")

    faulty = FaultyStorage(memory.url, fault=fault)
    with pytest.raises(nr.StoreError, match=r"could not read .*/consumequeue/orders/0/.* at byte \d+: Input/output error"):
        nr.open(f"{faulty.url}/store").table(table).to_table()


def test_a_store_without_these_files_has_no_offsets() -> None:
    memory = in_memory(orders())
    store = nr.open(f"{memory.url}/store")
    assert rows_of(store, "consumer_offsets") == rows_of(store, "lag_by_tag") == []


@sampled(100)
@given(queued_stores(), st.data())
def test_ends_and_tags_follow_from_the_entries(files: Files, data: st.DataObject) -> None:
    """Counted with `struct` from the bytes of the queue files."""
    ends: dict[tuple[str, int], int] = {}
    entries: dict[tuple[str, int], list[tuple[int, int, int | None]]] = {}
    for path, content in files.items():
        _, kind, *rest = path.split("/")
        if kind not in ("consumequeue", "batchconsumequeue") or len(rest) < 3:  # an empty directory
            continue
        queue = "/".join(rest[:-2]), int(rest[-2])
        width = 20 if kind == "consumequeue" else 46
        for place in range(len(content) // width):
            offset, size, code = struct.unpack_from(">qiq", content, place * width)
            number, count = int(rest[-1]) // width + place, 1
            if width == 46:
                number, count = struct.unpack_from(">qh", content, place * width + 28)
            if size in (0, 2**31 - 1):
                continue
            ends[queue] = max(ends.get(queue, 0), number + count)
            known = code if width == 20 and queue[0] != "SCHEDULE_TOPIC_XXXX" else None
            entries.setdefault(queue, []).extend((number + each, offset, known) for each in range(count))
    committed = {queue: data.draw(st.integers(0, end + 1)) for queue, end in ends.items()}
    table: dict[str, dict[int, int]] = {}
    for (topic, queue_id), offset in committed.items():
        table.setdefault(f"{topic}@g", {})[queue_id] = offset
    memory = in_memory(with_offsets(files, {"offsetTable": table}))
    store = nr.open(f"{memory.url}/store")
    rows = rows_of(store, "consumer_offsets")
    assert {(row["topic"], row["queue_id"]): (row["committed"], row["max"]) for row in rows} == {
        queue: (committed[queue], end) for queue, end in ends.items()
    }
    lowest = store.stores[0].min_offset
    waiting = Counter(
        (*queue, code)
        for queue, each in entries.items()
        for number, offset, code in each
        if number >= committed[queue] and offset >= lowest
    )
    tags = rows_of(store, "lag_by_tag")
    assert {(row["topic"], row["queue_id"], row["tags_code"]): row["messages"] for row in tags} == waiting


def test_the_lag_of_lite_topics_is_that_of_their_records(golden_store: Get) -> None:
    """A consumer read 20 messages of three of them."""
    store = opened(golden_store("v55-lite-rocks"))
    sent = Counter(store.messages(where="lite_topic IS NOT NULL", columns="topic,lite_topic").to_table()["lite_topic"].to_pylist())
    rows = [row for row in rows_of(store, "consumer_offsets") if row["lite_topic"] is not None]
    assert sorted(row["lag"] for row in rows) == [6, 6, 9]
    for row in rows:
        assert row["topic"] == f"%LMQ%${row['parent_topic']}${row['lite_topic']}"
        assert (row["max"], row["committed"]) == (sent[row["lite_topic"]], sent[row["lite_topic"]] - row["lag"])
    queues = {row["lite_topic"]: row["max_offset"] for row in rows_of(store, "queues") if row["lite_topic"] is not None}
    assert queues == sent
    assert len(queues) == 14
