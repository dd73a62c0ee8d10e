"""`transactions`: the fate of each transaction, against a plain reading of Java's records and of written ones."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from support import golden, own_stores
from support.golden import Golden
from support.plain_decoder import Row
from support.queued_stores import dispatched
from support.stores import Files, files_of, in_memory, log_of
from support.tune import Tune

import native_reader as nr
from native_reader.testing.records import COMMIT, PREPARED, ROLLBACK, Message, pack_properties

ROCKSDB_HALF, ROCKSDB_OP = "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC", "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC"
HALF, OP, GIVEN_UP = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC"
TRANSACTION = 0xC
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)


def rows_of(store: nr.Store) -> list[Row]:
    rows = store.table("transactions").to_table().to_pylist()
    return sorted(rows, key=lambda row: row["first_physical_offset"])


def fates_of(files: Files) -> dict[str | None, str]:
    memory = in_memory(files)
    return {row["uniq_key"]: row["fate"] for row in rows_of(nr.open(f"{memory.url}/store"))}


def undecided_in(store: Golden) -> dict[int, int]:
    """The rows of the broker's database: offset of the half message, and how often it asked."""
    rows = store.rows_in("rocksdbstore", "trans").items()
    return {int.from_bytes(key[:8], "big"): int.from_bytes(value[:4], "big") for key, value in rows if key[8:9] == b"@"}


def expected_of(records: Iterable[Row], store: str, undecided: Mapping[int, int] = MappingProxyType({})) -> list[Row]:
    """The table, from records one by one: dicts and no columns. `undecided`: of transactions in RocksDB."""
    transactions: dict[str, dict[str, Any]] = {}
    by_place: dict[tuple[int, int], str] = {}
    by_offset: dict[int, str] = {}
    for record in records:
        properties, topic, offset = record.get("properties") or {}, record.get("topic"), record["physical_offset"]
        key, state = properties.get("UNIQ_KEY", f"#{offset}"), record["sys_flag"] & TRANSACTION
        decision = (offset, record.get("store_timestamp"))
        if state == PREPARED or (topic in (HALF, ROCKSDB_HALF) and state == 0):
            group = transactions.setdefault(key, {"first": record, "halves": 0, "checks": 0})
            group |= {"last": record, "halves": group["halves"] + 1, "old": state == PREPARED}
            by_offset[offset] = key
            if topic == ROCKSDB_HALF:
                group |= {"checks": undecided.get(offset, 0), "given_up": offset not in undecided}
            elif state == 0:
                by_place[record["queue_id"], record["queue_offset"]] = key
        elif state == COMMIT:
            transactions.get(by_offset.get(record["prepared_transaction_offset"], ""), {}).setdefault("committed", decision)
        elif state == ROLLBACK:
            transactions.get(key, {}).setdefault("rolled_back", decision)
        elif topic == OP and properties.get("TAGS") == "d":
            for number in filter(None, record["body"].decode().split(",")):
                transactions.get(by_place.get((record["queue_id"], int(number)), ""), {}).setdefault("rolled_back", decision)
        elif topic == ROCKSDB_OP:
            transactions.get(by_offset.get(int(properties["TRANS_OFFSET"]), ""), {}).setdefault("rolled_back", decision)
        elif topic == GIVEN_UP:
            transactions.get(key, {}).setdefault("discarded", decision)
        if (topic in (HALF, GIVEN_UP) or state == PREPARED) and key in transactions:
            times = int(properties.get("TRANSACTION_CHECK_TIMES", "0"))
            transactions[key]["checks"] = max(transactions[key]["checks"], times)
    return [_row(key, each, store) for key, each in transactions.items()]


def _row(key: str, transaction: dict[str, Any], store: str) -> Row:
    first, last = transaction["first"], transaction["last"]
    fate = next((each for each in ("committed", "rolled_back", "discarded") if each in transaction), "undecided")
    decided, decided_at = transaction.get(fate, (None, None))
    fate = "discarded" if fate == "undecided" and transaction.get("given_up") else fate
    properties = first["properties"] or {}
    topic, queue = (first["topic"], first["queue_id"]) if transaction["old"] else _target(properties)
    return {
        "store": store,
        "uniq_key": None if key.startswith("#") else key,
        "fate": fate,
        "topic": topic,
        "queue_id": queue,
        "producer_group": properties.get("PGROUP"),
        "born_host": first["born_host"],
        "born_timestamp": time(first["born_timestamp"]),
        "first_store_timestamp": time(first["store_timestamp"]),
        "last_store_timestamp": time(last["store_timestamp"]),
        "decided_timestamp": None if decided_at is None else time(decided_at),
        "halves": transaction["halves"],
        "checks": transaction["checks"],
        "first_physical_offset": first["physical_offset"],
        "last_physical_offset": last["physical_offset"],
        "decided_physical_offset": decided,
    }


def _target(properties: dict[str, str]) -> tuple[str | None, int | None]:
    queue = properties.get("REAL_QID")
    return properties.get("REAL_TOPIC"), None if queue is None else int(queue)


FATES = {  # what the producers of these stores decided, counted from what they sent
    "v4-kinds": {"committed": 4, "rolled_back": 4, "discarded": 2, "undecided": 7},
    "v5-kinds": {"committed": 4, "rolled_back": 4, "discarded": 9},
    "v55-trans-rocks": {"committed": 15, "rolled_back": 14, "discarded": 11, "undecided": 5},
}


@pytest.mark.parametrize("name", golden.STORES)
def test_the_fates_follow_from_javas_records(golden_store: Callable[[str], Golden], tune: Tune, name: str) -> None:
    store = golden_store(name)
    found, expected = golden.opened(store), expected_of(store.expected_rows, store.root.as_uri(), undecided_in(store))
    assert rows_of(found) == expected
    assert {fate: [row["fate"] for row in expected].count(fate) for fate in FATES.get(name, ())} == FATES.get(name, {})
    tune(grouped_at_once=3000, small_range=0, small_part=0, most_share=2)  # in shares, and with the queues
    assert rows_of(found) == expected


@pytest.mark.parametrize("name", own_stores.NAMES)
def test_the_fates_in_our_own_stores(own_store: Callable[[str], Golden], name: str) -> None:
    store = own_store(name)
    assert rows_of(golden.opened(store)) == expected_of(store.expected_rows, store.root.as_uri(), undecided_in(store))


def half(key: str | None, number: int = 0, **fields: Any) -> Message:
    pairs = {"REAL_TOPIC": "orders", "REAL_QID": "2", "TRAN_MSG": "true", "PGROUP": "PG"} | ({"UNIQ_KEY": key} if key else {})
    values: dict[str, Any] = {"topic": HALF, "properties": pack_properties(pairs), "body": b"half", "queue_offset": number}
    return Message(**values | fields)


def op(body: bytes, number: int = 0, **fields: Any) -> Message:
    values: dict[str, Any] = {"topic": OP, "properties": pack_properties({"TAGS": "d"}), "body": body, "queue_offset": number}
    return Message(**values | fields)


def commit(key: str | None, prepared: int, number: int = 0) -> Message:
    properties = pack_properties({"UNIQ_KEY": key} if key else {})
    message = Message(topic="orders", queue_id=2, queue_offset=number, properties=properties)
    return replace(message, sys_flag=COMMIT, prepared_transaction_offset=prepared)


def test_bodies_of_op_messages_that_are_odd_decide_nothing() -> None:
    bodies = [b"", b",", b"x", b"-1", b"1.0", b"99999999999999999999", b"7", b"\xff\xfe,0x0", b" 0", "０".encode()]
    messages = [half("A"), *(op(body, number) for number, body in enumerate(bodies)), op(b"0", len(bodies), properties=b"")]
    assert fates_of(files_of(log_of(messages))) == {"A": "undecided"}
    compressed = op(b"0", 11, sys_flag=1)
    assert fates_of(files_of(log_of([*messages, compressed]))) == {"A": "undecided"}
    assert fates_of(files_of(log_of([*messages, op(b",x,0000,", 11)]))) == {"A": "rolled_back"}


def test_an_op_before_its_half_or_in_another_queue_decides_nothing() -> None:
    assert fates_of(files_of(log_of([op(b"0"), half("A")]))) == {"A": "undecided"}
    assert fates_of(files_of(log_of([half("A"), op(b"0", queue_id=1)]))) == {"A": "undecided"}


def test_queue_offsets_of_a_half_topic_that_was_made_again() -> None:
    """An op means the last half message before it with that queue offset."""
    messages = [half("A"), half("B", 1), op(b"1"), half("C"), half("D", 1), op(b"0", 1)]
    assert fates_of(files_of(log_of(messages))) == {"A": "undecided", "B": "rolled_back", "C": "rolled_back", "D": "undecided"}


def test_many_ops_for_few_half_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first op of each half message decides, in whatever pieces they are read. The others are not held."""
    messages = [half("A"), half("B", 1), op(b"1"), op(b"1,1,1", 1), half("C"), half("D", 1), op(b"0", 2), op(b"0,0,1", 3), op(b"1,0", 4)]
    log = log_of(messages)
    memory = in_memory(files_of(log))
    for at_once in (1 << 20, 1):
        monkeypatch.setattr("native_reader.tables.messages._AT_ONCE", at_once)
        monkeypatch.setattr("native_reader.tables.transactions._AT_ONCE", at_once)
        decided = {row["uniq_key"]: row["decided_physical_offset"] for row in rows_of(nr.open(f"{memory.url}/store"))}
        assert decided == {"A": None, "B": log.placed[2].offset, "C": log.placed[6].offset, "D": log.placed[7].offset}


def test_a_committed_message_must_have_the_key_of_its_half() -> None:
    assert fates_of(files_of(log_of([half("A"), commit("A", 0)]))) == {"A": "committed"}
    assert fates_of(files_of(log_of([half("A"), commit("B", 0)]))) == {"A": "undecided"}
    assert fates_of(files_of(log_of([half("A"), commit("A", 1)]))) == {"A": "undecided"}


def test_messages_without_a_key_are_told_apart_by_offset() -> None:
    log = log_of([half(None), half(None, 1)])
    second = log.placed[1].offset
    log.append(commit(None, second))
    log.append(op(b"0"))
    memory = in_memory(files_of(log))
    rows = rows_of(nr.open(f"{memory.url}/store"))
    assert [(row["uniq_key"], row["fate"], row["first_physical_offset"]) for row in rows] == [
        (None, "rolled_back", 0),
        (None, "committed", second),
    ]


def test_a_half_that_expired_is_known_by_its_key() -> None:
    """The committed message names the first half, which the log no longer has; a later copy of it is there."""
    again = half("A", 5)
    log = log_of([again, commit("A", 100), commit("B", 100, 1)], start=4096)
    assert fates_of(files_of(log)) == {"A": "committed"}


def test_transactions_of_brokers_up_to_4_2() -> None:
    def old(key: str, flag: int, prepared: int = 0, **fields: Any) -> Message:
        properties = pack_properties({"UNIQ_KEY": key, "PGROUP": "PG"})
        return Message(topic="orders", properties=properties, sys_flag=flag, prepared_transaction_offset=prepared, **fields)

    log = log_of([Message(topic="orders", body=b"other"), old("A", PREPARED), old("B", PREPARED), old("C", PREPARED)])
    places = {key: placed.offset for key, placed in zip("ABC", log.placed[1:], strict=True)}
    log.append(old("A", COMMIT, places["A"], queue_offset=1))
    log.append(old("B", ROLLBACK, places["B"]))
    expected = {"A": "committed", "B": "rolled_back", "C": "undecided"}
    assert fates_of(files_of(log)) == expected
    assert fates_of(files_of(log) | dispatched(log.placed)) == expected


def test_after_damage_an_op_may_mean_a_commit_that_was_lost() -> None:
    log = log_of([half("A"), half("B", 1), Message(topic="T", body=b"x" * 300), half("C", 2), op(b"0,1,2"), commit("B", 0)])
    files = files_of(log)
    assert fates_of(files) == {"A": "rolled_back", "B": "rolled_back", "C": "rolled_back"}
    (name,) = files
    lost = log.placed[2]
    torn = files[name][: lost.offset] + b"\x11" * lost.size + files[name][lost.offset + lost.size :]
    assert fates_of({name: torn}) == {"A": "finished", "B": "finished", "C": "rolled_back"}


def test_a_commit_that_was_lost_where_queues_name_no_half_message(tune: Tune) -> None:
    """The pass over the half messages skips the topic's records: only the one for what decides them comes across the damage."""
    tune(small_range=0, small_part=0, most_share=2)
    others = [Message(topic="orders", queue_id=2, queue_offset=number, body=bytes(200)) for number in (0, 1, 3)]
    log = log_of([half("A"), *others[:2], commit("A", 0, 2), others[2], op(b"0")])
    files = files_of(log)
    (name,) = files
    lost = log.placed[3]
    torn = files[name][: lost.offset] + b"\x11" * lost.size + files[name][lost.offset + lost.size :]
    assert fates_of(files | dispatched(log.placed)) == {"A": "committed"}
    assert fates_of({name: torn} | dispatched(log.placed)) == {"A": "finished"}


def test_a_store_without_transactions_and_an_empty_one() -> None:
    assert fates_of(files_of()) == {}
    assert fates_of(files_of(log_of([op(b"0"), commit("A", 0)]))) == {}
    assert fates_of({"store/commitlog/": b""} | files_of(log_of(1))) == {}


def test_bad_numbers_in_properties_are_null() -> None:
    pairs = {"UNIQ_KEY": "A", "REAL_TOPIC": "orders", "REAL_QID": "9999999999", "TRANSACTION_CHECK_TIMES": "many"}
    memory = in_memory(files_of(log_of([half("A", properties=pack_properties(pairs))])))
    (row,) = rows_of(nr.open(f"{memory.url}/store"))
    assert (row["queue_id"], row["checks"], row["producer_group"], row["fate"]) == (None, 0, None, "undecided")


def test_more_topics_than_are_looked_up() -> None:
    """The condition on topics is dropped, and the rows stay the same."""
    log = log_of([], segment_size=1 << 20)
    for number in range(1200):
        pairs = {"UNIQ_KEY": f"A{number}", "REAL_TOPIC": f"orders-{number}", "REAL_QID": "0"}
        log.append(half(None, number, properties=pack_properties(pairs)))
    log.append(commit("A7", log.placed[7].offset))
    fates = fates_of(files_of(log))
    assert len(fates) == 1200
    assert {key for key, fate in fates.items() if fate == "committed"} == {"A7"}


def test_progress_counts_what_decides_as_the_second_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("native_reader.scan.progress._EVERY", 0)
    messages = [half(f"A{number}", number, body=bytes(40 << 10)) for number in range(40)]
    memory = in_memory(files_of(log_of([*messages, *(op(b"%d" % number, number) for number in range(40))], segment_size=4 << 20)))
    reports: list[nr.Progress] = []
    scan = nr.open(f"{memory.url}/store").table("transactions")
    assert scan.to_table(progress=reports.append)["fate"].to_pylist() == ["rolled_back"] * 40
    shares = [each.share for each in reports]
    assert shares == sorted(shares)
    assert any(0 < share < 0.5 for share in shares)
    assert any(0.5 < share < 1 for share in shares)
    assert shares[-1] == 1


@pytest.mark.parametrize(
    ("name", "unanswered", "each"),
    [
        ("5.4.0-rocksdb", "discarded", 3),
        ("5.4.0-rocksdb-transactions", "discarded", 3),
        ("5.5.0-rocksdb-transactions", "discarded", 6),
        ("5.5.0-rocksdb-all", "undecided", 3),
    ],
)
def test_transactions_of_this_repository_end_as_their_producer_told(
    own_store: Callable[[str], Golden], name: str, unanswered: str, each: int
) -> None:
    """Brokers asked three times at most, the last one a thousand times. The third one was changed to RocksDB half way."""
    store = own_store(name)
    told = {"COMMIT_MESSAGE": "committed", "ROLLBACK_MESSAGE": "rolled_back", "UNKNOW": unanswered}
    sent = {line["msg_id"]: told[line["kind"]] for line in json.loads((store.folder / "sent.json").read_text()) if line.get("kind") in told}
    assert {row["uniq_key"]: row["fate"] for row in rows_of(golden.opened(store))} == sent
    assert Counter(sent.values()) == {"committed": each, "rolled_back": each, unanswered: each}


def test_transactions_of_a_database_that_is_missing_or_cannot_be_opened(
    golden_store: Callable[[str], Golden], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """What messages decided stays decided."""
    store = golden_store("v55-trans-rocks")
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    known = {"committed": 15, "rolled_back": 14, "unknown": 16}
    assert Counter(row["fate"] for row in rows_of(golden.opened(store))) == known
    assert "rocksdbstore is a RocksDB database. To read it, install the extra" in caplog.text
    shutil.copytree(store.root, tmp_path / "store", ignore=shutil.ignore_patterns("rocksdbstore"))
    assert Counter(row["fate"] for row in rows_of(nr.open(tmp_path / "store"))) == known


def rocksdb_op(offset: object, **fields: Any) -> Message:
    properties = pack_properties({"TAGS": "d", "TRANS_OFFSET": str(offset)})
    return Message(topic=ROCKSDB_OP, body=b"\0", properties=properties, **fields)


@pytest.mark.parametrize("named", ["", "x", "-1", "9" * 30, "1", "0 "])
def test_an_op_of_rocksdb_that_names_no_half_message_decides_nothing(named: str) -> None:
    halves = [half("A", topic=ROCKSDB_HALF), half("B", 1)]
    assert fates_of(files_of(log_of([*halves, rocksdb_op(named)]))) == {"A": "unknown", "B": "undecided"}
    assert fates_of(files_of(log_of([*halves, rocksdb_op(0)]))) == {"A": "rolled_back", "B": "undecided"}


def test_ops_of_either_kind_name_only_halves_of_their_kind() -> None:
    """Both topics have a queue 0 and an offset 0."""
    halves = [half("A", topic=ROCKSDB_HALF), half("B")]
    places = [placed.offset for placed in log_of(halves).placed]
    assert fates_of(files_of(log_of([*halves, op(b"0"), rocksdb_op(places[1])]))) == {"A": "unknown", "B": "rolled_back"}
