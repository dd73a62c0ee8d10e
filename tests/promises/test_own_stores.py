"""The engine against Java, on this repository's stores of real brokers (`tests/brokers/make_stores.py`)."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any
from unittest.mock import ANY

import pytest
from support.against_java import NOT_IN_JAVA, OUR_TIMES, SCHEMA
from support.compare import rows_of
from support.effort import at_effort, mostly_long, thinned
from support.golden import EXPLAINED, Explanation, Golden, differences, opened
from support.own_stores import NAMES, NOT_LOADED, STORES, TRUNCATED
from support.plain_decoder import walk
from support.tune import Tune

import native_reader as nr
from native_reader.testing.java import index_hash

LOADED = [name for name in NAMES if name not in NOT_LOADED]
INDEX_HAS_HOLES = (*TRUNCATED, *(name for name in NAMES if "killed" in name))  # a killed broker does not index all of it again


GLUED = Explanation(
    "5.5.0 glues its checksum to the last value of an old client's batch: Java shows it there, we hide it everywhere",
    ("tags", "keys", "properties", "uniq_key", "msg_id"),
    lambda java, ours: _unglued(java) == ours != java,
)


def _unglued(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unglued(each) for name, each in value.items()}
    return re.sub(r"__CRC32#\x01[0-9]{10}$", "", value) if isinstance(value, str) else value


@pytest.fixture(params=NAMES)
def store(request: pytest.FixtureRequest, own_store: Callable[[str], Golden]) -> Golden:
    return own_store(request.param)


def test_there_are_stores_of_both_lines() -> None:
    assert {name[:5] for name in NAMES} == {"4.9.7", "5.4.0", "5.5.0"}
    assert sum(path.stat().st_size for path in STORES.iterdir()) < 4 << 20


def test_every_column_of_every_message_is_as_in_java(store: Golden) -> None:
    rows = rows_of(opened(store).messages(columns="*").to_table())
    assert len(rows) == opened(store).messages().count_rows() == len(store.expected_rows) > 0
    columns = [column for column in SCHEMA if column not in NOT_IN_JAVA]
    used: Counter[str] = Counter()
    assert differences(store.expected_rows, rows, columns, (*EXPLAINED, OUR_TIMES, GLUED), used) == []
    assert (used[GLUED.why] > 0) == (store.name == "5.5.0-old-client")
    plain = walk(store.segments, store.framing).rows
    if store.name in TRUNCATED:  # the plain decoder also reads the old records after the end
        plain = plain[: len(rows)]
    assert [(row["physical_offset"], row["kind"]) for row in plain] == [(row["physical_offset"], row["kind"]) for row in rows]


@pytest.mark.parametrize("name", LOADED)
def test_a_broker_reads_from_its_queues_what_we_read_from_the_log(own_store: Callable[[str], Golden], name: str) -> None:
    store = own_store(name)
    messages_at = dispatched(store)
    queues = {(line["topic"], line["queue_id"]): line for line in store.lines("queues")}
    in_queues: set[tuple[str, int, int]] = set()
    for (topic, queue), line in queues.items():
        light = topic.startswith("%LMQ%")
        entries = list(zip(*[iter(line["entries"])] * 5, strict=True))
        leftover = [
            entry for entry in entries if name in TRUNCATED and entry[1] not in messages_at
        ]  # of a lost record, inside the last real one
        entries = [entry for entry in entries if entry not in leftover]
        assert len(leftover) <= 1
        for number, physical, size, _, messages in entries:
            first, own = messages_at[physical][0], len(messages_at[physical])
            assert (first["topic"], first["queue_id"], first["queue_offset"]) == (("Parent", 0, ANY) if light else (topic, queue, number))
            assert (first["record_size"], own) == (size, messages)
        in_queues |= set() if light else {(topic, queue, entry[1]) for entry in entries}
        # What a broker reads through those entries. It reads a compacted topic from its other log.
        if topic != "Newest" and not leftover:
            assert line["offsets"] == [entry[1] for entry in entries]
            assert line["queue_offsets"] == [messages_at[place][0]["queue_offset"] for place in line["offsets"]]
    assert len(in_queues) > 10
    firsts = [messages[0] for messages in messages_at.values()]
    lost = [row for row in firsts if (row["topic"], row["queue_id"], row["physical_offset"]) not in in_queues]
    # Deleted topics, old transactions that were only prepared, and what a killed broker had not dispatched yet.
    last = max(physical for _, _, physical in in_queues)
    for row in lost:
        deleted = row["topic"] == "Gone" or (row["topic"], row["tags"]) == ("Again", "Old")
        assert deleted or row["kind"] in ("prepared", "rollback") or ("killed" in name and row["physical_offset"] > last), row
    assert len(lost) < 12


@pytest.mark.parametrize("name", LOADED)
def test_a_broker_finds_by_key_what_we_find_and_keys_of_the_same_hash(own_store: Callable[[str], Golden], name: str) -> None:
    store = own_store(name)
    by_key: dict[tuple[str, str], set[int]] = defaultdict(set)
    by_hash: dict[int, set[int]] = defaultdict(set)
    # An inner batch is indexed by its record's id, which the client got. Its messages have their own ids and keys.
    batches = {line["physical_offset"]: line["check_uniq_key"] for line in store.lines("truth") if line["sys_flag_on_disk"] & 0x80}
    for place, messages in dispatched(store).items():
        keys = {key for row in messages for key in (*(row["keys"] or ()), row["uniq_key"]) if key is not None}
        keys = {batches[place]} if place in batches else keys
        for key in keys if messages[0]["kind"] not in ("prepared", "rollback") else ():
            by_key[messages[0]["topic"], key].add(place)
            by_hash[index_hash(messages[0]["topic"], key)].add(place)
    asked = {(line["topic"], line["key"]): set(line["offsets"]) for line in store.lines("keys")}
    assert len(asked) > 10
    for (topic, key), found in asked.items():
        assert found <= by_hash[index_hash(topic, key)], key
        if name not in INDEX_HAS_HOLES:
            assert found >= by_key[topic, key], key
    if name.endswith("-kinds"):
        assert len(asked["Odd", "AaAa"]) == 3 > len(by_key["Odd", "AaAa"]) == 1


@pytest.mark.gate
@pytest.mark.sweep
@pytest.mark.parametrize("name", mostly_long(LOADED, "4.9.7-light", "5.5.0-kinds", "5.5.0-multipath", "5.5.0-rare"))
def test_a_lookup_by_key_gives_the_rows_of_a_scan_and_trust_those_of_a_broker(
    own_store: Callable[[str], Golden], name: str, tune: Tune
) -> None:
    tune(calls_per_lookup=0)  # else the log of a small store is read, without a look at the index
    store = own_store(name)
    batches = {line["physical_offset"] for line in store.lines("truth") if line["sys_flag_on_disk"] & 0x80}
    places = ["physical_offset", "inner_index", "kind"]
    by_key, end = 0, json.loads((store.folder / "loaded.json").read_text())["end"]
    for line in store.lines("keys")[:: at_effort(4, 1)]:
        key = line["key"].replace("\\", "\\\\").replace("'", "\\'")
        options = {"topic": line["topic"], "where": f"array_contains(keys, '{key}') OR msg_id = '{key}'", "columns": places}
        scanned, auto, trust = (opened(store).messages(**options, access=access) for access in ("scan", "auto", "trust"))
        rows = scanned.to_table().to_pylist()
        found = auto.to_table().sort_by("physical_offset").to_pylist()  # what an index names comes first
        assert found == rows, key
        by_key += sum(lookup.is_sufficient for _, lookup in auto.plan().lookups)
        # A broker's index also finds other keys of the same hash, only the own id of a batch, and duplicate entries twice.
        rows, trusted = ([row for row in found if row["physical_offset"] < end] for found in (rows, trust.to_table().to_pylist()))
        found = [row for row in rows if row["physical_offset"] in line["offsets"]]
        assert trusted == (found if trust.plan().lookups[0][1].files else rows), key
        if name not in INDEX_HAS_HOLES:
            assert all(row["physical_offset"] in {*line["offsets"], *batches} or row["kind"] in ("prepared", "rollback") for row in rows), (
                key
            )
    assert by_key > 0 or name.endswith(("killed", "killed-pooled", "light", "rocksdb-queues")) or "rare" in name or name in TRUNCATED


def dispatched(store: Golden) -> dict[int, list[dict[str, Any]]]:
    """The messages of each record, by its offset, between the start and end of the log for a broker that started on it."""
    said = json.loads((store.folder / "loaded.json").read_text())
    columns = "topic,queue_id,queue_offset,physical_offset,record_size,kind,tags,keys,uniq_key"
    messages: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in opened(store).messages(columns=columns).to_table().to_pylist():
        if said["first"] <= row["physical_offset"] < said["end"]:
            messages[row["physical_offset"]].append(row)
    return messages


def test_a_starting_broker_finds_the_end_of_the_log_where_we_do(store: Golden) -> None:
    ends = [end for end in opened(store).table("segments").to_table()["broker_end"].to_pylist() if end is not None]
    if store.name in NOT_LOADED:
        rows = opened(store).messages(columns="physical_offset,record_size").to_table().to_pylist()
        assert min(ends) == rows[-1]["physical_offset"] + rows[-1]["record_size"]
    elif store.name == "5.5.0-old-client":
        # With forceVerifyPropCRC a broker does not find its checksum if an old client's batch has it glued on. It truncates the rest.
        assert min(ends) > json.loads((store.folder / "loaded.json").read_text())["end"]
    else:
        assert min(ends) == json.loads((store.folder / "loaded.json").read_text())["end"]


def test_groups_have_the_offsets_that_clients_committed(own_store: Callable[[str], Golden]) -> None:
    for name in ("4.9.7-kinds", "5.5.0-kinds"):
        store = own_store(name)
        sent = json.loads((store.folder / "sent.json").read_text())
        text = (store.root / "config/lmqConsumerOffset.json").read_text()
        kept = json.loads(re.sub("([{,]\\s*)([0-9]+):", r'\1"\2":', text))["offsetTable"]
        groups = {line["group"]: line["consumed"] for line in sent if "group" in line}
        assert groups.keys() == {"CG_done", "CG_lags", "CG_new"}
        assert {group: kept[f"Plain@{group}"]["0"] for group in groups} == groups


def test_every_id_that_clients_got_is_there(store: Golden) -> None:
    rows = opened(store).messages(columns="uniq_key,offset_msg_id,topic,real_topic").to_table().to_pylist()
    ours = {(row["uniq_key"], row["real_topic"] or row["topic"]) for row in rows}
    places = {row["offset_msg_id"] for row in rows}
    sent = [line for line in json.loads((store.folder / "sent.json").read_text()) if "kind" in line]
    # For an inner batch, a client gets the record's id. Its messages have their own.
    ids = {(unique, line["topic"]) for line in sent if line["kind"] != "inner" for unique in line["msg_id"].split(",")}
    lost = ids - ours
    if store.name == "5.5.0-expired":  # the broker itself deleted most of 430
        assert {topic for _, topic in lost} == {"Old"}
        assert len(ids - lost) > 50
    elif store.name in TRUNCATED:
        assert {topic for _, topic in lost} == {"Plain"}
        assert 30 < len(lost) < len(ids - lost)
    elif "killed-pooled" not in store.name:  # if a pool dies with its broker, its unwritten records are lost
        assert not lost
        assert {place for line in sent for place in (line["offset_msg_id"] or "").split(",") if place} <= places
    assert len(ids) > 5 or store.name == "5.5.0-rare"  # which no client wrote


def test_records_that_only_5_x_writes(own_store: Callable[[str], Golden]) -> None:
    rows = nr.open(own_store("5.5.0-features").root).messages(columns="*").to_table().to_pylist()
    kinds = Counter(row["kind"] for row in rows)
    assert kinds["batch"] == 2 + 3 + 4 + 5
    assert [row["inner_index"] for row in rows if row["kind"] == "batch"] == [*range(2), *range(3), *range(4), *range(5)]
    assert sum(row["topic"] == "Timed" for row in rows) == 4  # the due ones; one is an hour away, one was cancelled
    assert {row["real_topic"] for row in rows if row["kind"] == "timer"} == {
        "Timed",
        "rmq_sys_REVIVE_LOG_DefaultCluster",
    }  # pop waits by timers
    assert kinds["pop"] > 6
    wide = [row for row in rows if row["magic"] == -626843477]
    assert [(row["kind"], row["tags"], row["reconsume_times"]) for row in wide] == [("retry", "once", 1)] * 3
    assert all(len(row["topic"]) > 127 for row in wide)
    packed = [len(row["body"]) / row["body_size"] for row in rows if row["topic"] == "Packed"]
    assert len(packed) == 9
    assert min(packed[1:3] + packed[4:6] + packed[7:]) > 1.3
    assert [row["sys_flag"] & 0x701 for row in rows if row["topic"] == "Packed"] == [0x101] * 3 + [0x201] * 3 + [0x301] * 3


def test_records_that_only_a_store_class_can_write(own_store: Callable[[str], Golden]) -> None:
    rows = nr.open(own_store("5.5.0-rare").root).messages(columns="*").to_table().to_pylist()
    hosts = {(row["born_host"][:8], row["store_host"]) for row in rows if row["topic"] == "Hosts"}
    assert hosts == {(born, stored) for born in ("10.1.2.3", "2001:db8") for stored in ("192.168.7.9:10911", "fd00:0:0:0:0:0:10:911:10911")}
    assert {len(row["topic"]) for row in rows if row["kind"] == "retry"} == {126, 127, 128, 129, 255}
    old = {(row["kind"], row["sys_flag"]) for row in rows if row["topic"] == "OldTx"}
    assert old == {("prepared", 4), ("committed", 8), ("rollback", 12)}
    zipped = [row["body"] for row in rows if row["topic"] == "Zip"]
    assert zipped == [b"compressed " * 60, None, b"compressed " * 60] * 3


def test_a_store_whose_first_segments_its_broker_deleted(own_store: Callable[[str], Golden]) -> None:
    store = own_store("5.5.0-expired")
    said = json.loads((store.folder / "loaded.json").read_text())
    offsets = nr.open(store.root).messages(columns="physical_offset").to_table()["physical_offset"].to_pylist()
    assert offsets[0] == said["first"] > 0
    assert sorted(path.name for path in (store.root / "commitlog").iterdir())[0] == f"{said['first']:020}"


@pytest.mark.gate
@pytest.mark.parametrize("name", thinned(LOADED, 5))
def test_a_trusted_queue_gives_the_messages_that_a_broker_gives(own_store: Callable[[str], Golden], tune: Tune, name: str) -> None:
    """Message by message, as RocketMQ's own store class reads them from the same files."""
    tune(queue_costs=0)
    store = own_store(name)
    asked = 0
    for line in store.lines("queues"):
        if line["topic"].startswith("%LMQ%") or line["topic"] == "Newest":
            continue
        where = {"topic": line["topic"], "queue_id": line["queue_id"], "columns": "physical_offset,queue_offset"}
        trusted = opened(store).messages(**where, access="trust").to_table()
        found = list(dict.fromkeys(trusted["physical_offset"].to_pylist()))
        if name == "5.5.0-old-client":  # whose end the broker truncated
            found = found[: len(line["offsets"])]
        assert found == line["offsets"]
        assert trusted["queue_offset"].to_pylist() == sorted(trusted["queue_offset"].to_pylist())
        asked += len(found)
        everything = opened(store).messages(**where).to_table()
        assert set(trusted["physical_offset"].to_pylist()) <= set(everything["physical_offset"].to_pylist())
    assert asked >= 20
