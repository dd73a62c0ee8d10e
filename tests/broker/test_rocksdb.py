"""RocksDB databases of brokers: read through the extra, and never changed."""

from __future__ import annotations

import hashlib
import os
import re
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rocksdict
from support.golden import Golden, opened
from support.plain_decoder import Row
from support.stores import files_of, in_memory, log_of, on_disk

import native_reader as nr
from native_reader.sides.bounds import bounds_of
from native_reader.sides.copies import next_offset_of
from native_reader.sides.queues import QueueReader, queue_named
from native_reader.storage.rocksdb import is_database, open_database
from native_reader.storage.rocksdb_queues import queues_uri

Get = Callable[[str], Golden]
TABLES = ("consumer_offsets", "lag_by_tag", "config")
OF_LOG = ("store", "min", "expired", "oldest_unread")
"""Columns of `consumer_offsets` that say something of the log."""
OF_QUEUES = ("queues", "queue_entries", "topics", "delay")
GOLDEN, OWN = "v5-rocksdb-cq", "5.5.0-rocksdb-queues"


def state_of(root: Path) -> dict[str, tuple[Any, ...]]:
    """The bytes, times and names of everything below a directory."""
    state = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        state[str(path)] = status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, content
    return state


def test_reading_changes_nothing(golden_store: Get, own_store: Get, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also not in the directory for logs that OPTIONS names. Temporary files are removed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for store in (golden_store(GOLDEN), own_store(OWN)):
        options = "".join(path.read_text() for path in store.root.rglob("OPTIONS-*"))
        directories = [logs for logs in re.findall(r"(?m)^\s*db_log_dir=(.+)$", options) if not Path(logs).exists()]
        before = state_of(store.folder)
        for table in (*TABLES, *OF_QUEUES):
            opened(store).table(table).to_table()
        assert state_of(store.folder) == before
        assert not any(Path(logs).exists() for logs in directories)
    assert list(tmp_path.iterdir()) == []


def test_entries_by_key(own_store: Get) -> None:
    uri = (own_store(OWN).root / "config" / "topics").as_uri()
    with open_database(uri) as database:
        names = [key.decode() for key, _ in database.items()]
        versions = list(database.items(family="kvDataVersion"))
        assert list(database.items(family="unknown")) == []
        assert [key.decode() for key, _ in database.items(b"Default")] == ["DefaultCluster", "DefaultCluster_REPLY_TOPIC"]
        assert next(database.items(start=b"Plain"))[0] == b"Plain"
    assert len(names) == 17
    assert names == sorted(names)
    assert versions == [(b"kvDataVersionKey", b'{"counter":2,"stateVersion":0,"timestamp":1795245695736}')]


def test_entries_are_those_that_java_reads(golden_store: Get) -> None:
    store = golden_store(GOLDEN)
    expected: dict[str, list[tuple[str, str, str]]] = {}
    for row in store.lines("rocksdb_rows"):
        expected.setdefault(row["db"], []).append((row["cf"], row["key"], row["value"]))
    families = ("default", "offset", "forbidden", "kvDataVersion")
    for name, rows in expected.items():
        with open_database((store.root / name).as_uri()) as database:
            found = [(family, key.hex(), value.hex()) for family in families for key, value in database.items(family=family)]
        assert sorted(found) == sorted(rows)
    assert {"consumequeue", "config/topics", "config/subscriptionGroups", "config/consumerOffsets"} <= expected.keys()


def test_queues_are_those_that_java_reads(golden_store: Get) -> None:
    store = golden_store(GOLDEN)
    of_queues: dict[tuple[str, int], list[Row]] = {}
    for row in sorted(store.lines("queues_rocksdb_raw"), key=lambda row: row["queue_offset"]):
        of_queues.setdefault((row["topic"], row["queue_id"]), []).append(row)
    directory = queues_uri((store.root / "consumequeue").as_uri())
    for (topic, queue_id), rows in of_queues.items():
        queue = queue_named([directory], topic, queue_id)
        assert queue is not None
        end = next_offset_of(queue)
        assert end == rows[-1]["queue_offset"] + 1
        # Java lets a broker open a copy, which finds the records of a deleted topic again.
        assert end == store.meta["queues"][f"{topic}@{queue_id}"][1] or topic.startswith("Recreated")
        for first in {0, len(rows) // 2, len(rows)}:
            start = rows[first]["queue_offset"] if first < len(rows) else rows[-1]["queue_offset"] + 1
            with QueueReader(queue) as reader:
                found = [
                    row
                    for piece in reader.entries_from(start)
                    for row in zip(*(each.tolist() for each in (piece.numbers, piece.offsets, piece.sizes, piece.codes)), strict=True)
                ]
            assert found == [(row["queue_offset"], row["physical_offset"], row["size"], row["tags_code"]) for row in rows[first:]]
    assert queue_named([directory], "no such topic", 0) is None


def test_the_tables_of_queues_are_those_that_java_reads(golden_store: Get) -> None:
    store = golden_store(GOLDEN)
    expected = sorted(store.lines("queues_rocksdb_raw"), key=lambda row: (row["topic"], row["queue_id"], row["queue_offset"]))
    names = ["topic", "queue_id", "queue_offset", "physical_offset", "size", "tags_code"]
    entries = opened(store).table("queue_entries").to_table()
    assert entries.select(names).to_pylist() == [{name: row[name] for name in names} for row in expected]
    assert set(entries["validity"].to_pylist()) == {"valid"}
    assert set(entries["file"].to_pylist()) == {(store.root / "consumequeue").as_uri()}
    times = {row["physical_offset"]: row["store_timestamp"] for row in opened(store).messages().to_table().to_pylist()}
    assert entries["store_timestamp"].to_pylist() == [times[row["physical_offset"]] for row in expected]
    bounds: dict[tuple[str, int], list[Row]] = {}
    for row in expected:
        bounds.setdefault((row["topic"], row["queue_id"]), []).append(row)
    assert {
        (row["topic"], row["queue_id"]): (row["min_offset"], row["max_offset"], row["entries"], row["first_physical_offset"], row["found"])
        for row in opened(store).table("queues").to_table().to_pylist()
    } == {
        key: (rows[0]["queue_offset"], rows[-1]["queue_offset"] + 1, len(rows), rows[0]["physical_offset"], None)
        for key, rows in bounds.items()
    }


@pytest.mark.parametrize("name", [GOLDEN, OWN])
def test_topics_counted_from_a_database_are_those_of_the_log(golden_store: Get, own_store: Get, name: str) -> None:
    """Deleted messages, such as those of a topic that was created again, are in the log only."""
    store = opened((own_store if name == OWN else golden_store)(name))
    listed, scanned = (
        {row["topic"]: row for row in store.table("topics", access=access).to_table().to_pylist()} for access in ("auto", "scan")
    )
    unlisted = (listed.pop(None, None) or {"bytes": 0})["bytes"]
    names = ("records", "messages", "bytes", "first_store_timestamp", "last_store_timestamp")
    assert len(listed) > 3
    missing = sum(row["bytes"] - listed.get(topic, {"bytes": 0})["bytes"] for topic, row in scanned.items())
    assert missing == unlisted
    for topic, row in listed.items():
        if row["bytes"] == scanned[topic]["bytes"]:
            assert [row[each] for each in names] == [scanned[topic][each] for each in names]
    assert sum(row["records"] for row in listed.values()) > 150


def database_at(where: Path, entries: dict[int, int], last: int | None = None) -> None:
    """A database with queue 0 of T0: the physical offsets of entries by their numbers. `last`: what the broker notes as the last one."""
    where.mkdir(parents=True, exist_ok=True)
    families = {"default": rocksdict.Options(raw_mode=True), "offset": rocksdict.Options(raw_mode=True)}
    options = rocksdict.Options(raw_mode=True)
    options.create_missing_column_families(True)
    database = rocksdict.Rdict(os.fspath(where), options, families)
    topic, queue = struct.pack(">i", 2) + b"\x01T0\x01", struct.pack(">i", 0)
    for number, offset in entries.items():
        database[topic + queue + b"\x01" + struct.pack(">q", number)] = struct.pack(">qiqq", offset, 10, 0, 1_700_000_000_000)
    last = max(entries, default=0) if last is None else last
    database.get_column_family("offset")[topic + b"max\x01" + queue] = struct.pack(">qq", entries.get(last, 0), last if entries else -1)
    database.close()


@pytest.mark.parametrize("first", [*range(8), 20, 97, 98, 99, 100])
@pytest.mark.parametrize("begins", [0, 3])
def test_entries_of_expired_records_are_not_counted(tmp_path: Path, first: int, begins: int) -> None:
    """A broker deletes entries long after their records, so a queue can begin at any of them, or after the last one."""
    database_at(tmp_path / "consumequeue", {number: 10 * number for number in range(begins, 100)})
    queue = queue_named([queues_uri(f"{tmp_path.as_uri()}/consumequeue")], "T0", 0)
    assert queue is not None
    bounds = bounds_of(queue, 10 * first - 5)
    assert bounds is not None
    begin = max(first, begins)
    assert (bounds.min_offset, bounds.max_offset, bounds.entries, bounds.expired) == (begin, 100, 100 - begin, begin - begins)
    assert bounds.found is None


def test_a_queue_ends_with_its_last_entry(tmp_path: Path) -> None:
    database_at(tmp_path / "consumequeue", {0: 0, 1: 10})
    database = rocksdict.Rdict(
        os.fspath(tmp_path / "consumequeue"), rocksdict.Options(raw_mode=True), {"offset": rocksdict.Options(raw_mode=True)}
    )
    database.delete(struct.pack(">i", 2) + b"\x01T0\x01" + struct.pack(">i", 0) + b"\x01" + struct.pack(">q", 1))
    database.close()
    queue = queue_named([queues_uri(f"{tmp_path.as_uri()}/consumequeue")], "T0", 0)
    assert queue is not None
    bounds = bounds_of(queue, 0)
    assert bounds is not None
    assert (bounds.max_offset, bounds.found) == (1, None)  # the entry is what counts, not the broker's note of it


@pytest.mark.parametrize(("after", "ends"), [(15, 2), (25, 5)])
def test_entries_of_an_earlier_topic_after_the_end_are_not_of_the_queue(tmp_path: Path, after: int, ends: int) -> None:
    """5.5.0 put the five records of a topic into RocksDB, and the two of the topic that was made after it over the first of them."""
    database_at(tmp_path / "consumequeue", {0: 20, 1: 21, 2: after, 3: after + 1, 4: after + 2}, last=1)
    queue = queue_named([queues_uri(f"{tmp_path.as_uri()}/consumequeue")], "T0", 0)
    assert queue is not None
    bounds = bounds_of(queue, 0)
    assert bounds is not None
    assert (bounds.max_offset, bounds.entries, bounds.found) == (ends, ends, None)
    with QueueReader(queue) as reader:
        assert len(reader.within(0, 100)) == ends


def test_queues_in_files_beside_a_database(golden_store: Get, tmp_path: Path) -> None:
    """A broker that was changed to RocksDB leaves the files of its queues behind: they are older, and are not counted again."""
    source = golden_store(GOLDEN)
    row = max(opened(source).table("queues").to_table().to_pylist(), key=lambda row: row["entries"])
    files = {path.relative_to(source.root).as_posix(): path.read_bytes() for path in source.root.rglob("*") if path.is_file()}
    files[f"consumequeue/{row['topic']}/{row['queue_id']}/{0:020}"] = struct.pack(">qiq", 0, 100, 0)
    files[f"consumequeue/Older/0/{0:020}"] = struct.pack(">qiq", 0, 100, 0)
    root = on_disk(tmp_path, files)
    names = [name for name in nr.open(root).table("queues").schema.names if name not in ("store", "state")]
    there = {(each["topic"], each["queue_id"]): each for each in nr.open(root).table("queues").to_table().to_pylist()}
    assert [there[row["topic"], row["queue_id"]][name] for name in names] == [row[name] for name in names]
    assert there["Older", 0]["files"] == 1
    topics = [{each["topic"]: each["records"] for each in nr.open(at).table("topics").to_table().to_pylist()} for at in (root, source.root)]
    assert topics[0].pop("Older") == 1
    assert topics[0] == topics[1]


def test_queues_from_before_rocksdb_are_older(golden_store: Get, tmp_path: Path) -> None:
    """A broker that was changed to RocksDB leaves the files of its queues behind."""
    source = golden_store(GOLDEN)
    row = max(opened(source).table("consumer_offsets").to_table().to_pylist(), key=lambda row: row["max"] or 0)
    assert row["max"] > 1
    folders = [source.root / "config" / "consumerOffsets", source.root / "consumequeue"]
    files = {f"store/{path.relative_to(source.root)}": path.read_bytes() for folder in folders for path in folder.iterdir()}
    files[f"store/consumequeue/{row['topic']}/{row['queue_id']}/{0:020}"] = struct.pack(">qiq", 0, 100, 0)
    root = on_disk(tmp_path, files | files_of(log_of(3))) / "store"
    for table in ("consumer_offsets", "lag_by_tag"):
        there = nr.open(root).table(table).to_table().to_pylist()
        without = opened(source).table(table).to_table().to_pylist()
        names = [name for name in nr.open(root).table(table).schema.names if name not in (*OF_LOG, "file", "tag")]
        assert [[each[name] for name in names] for each in there] == [[each[name] for name in names] for each in without]


def test_without_the_extra_the_error_names_it(own_store: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything else of the store is still readable."""
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    store = nr.open(own_store(OWN).root)
    with pytest.raises(nr.StoreError) as raised:
        store.table("config").to_table()
    uri = (own_store(OWN).root / "config" / "topics").as_uri()
    said = f"{uri} is a RocksDB database. To read it, install the extra: pip install 'rmqstore-spark[rocksdb]' "
    assert str(raised.value).startswith(said)
    assert store.messages().count_rows() == 200
    assert len(store.table("checkpoint").to_table()) == 1


@pytest.mark.parametrize("table", ["queues", "queue_entries"])
def test_without_the_extra_queues_are_not_listed(
    own_store: Get, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, table: str
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    root = own_store(OWN).root
    assert nr.open(root).table(table).to_table().num_rows == 0
    record = caplog.records[0]
    assert record.getMessage().startswith(f"{root.as_uri()}/consumequeue is a RocksDB database. To read it, install the extra: ")
    assert record.getMessage().endswith("The queues in it are not listed. The log has all messages: topics with access=scan counts them")


@pytest.mark.parametrize("damage", ["truncated", "missing", "flipped", "empty"])
def test_a_damaged_database_is_an_error(own_store: Get, tmp_path: Path, damage: str) -> None:
    source = own_store(OWN).root / "config" / "topics"
    files = {f"config/topics/{path.name}": path.read_bytes() for path in source.iterdir()}
    for name in [name for name in files if name.endswith(".sst")]:
        content = files.pop(name)
        if damage != "missing":
            flipped = content[:50] + bytes([content[50] ^ 8]) + content[51:]
            files[name] = {"truncated": content[:50], "flipped": flipped, "empty": b""}[damage]
    root = on_disk(tmp_path, files | files_of(log_of(3), "commitlog"))
    with pytest.raises(nr.StoreError, match=r"the RocksDB database .* cannot be read: .* It may be an incomplete copy") as raised:
        nr.open(root).table("config").to_table()
    assert f"{root.as_uri()}/config/topics" in str(raised.value)
    assert tempfile.gettempdir() + "/rmqstore-" not in str(raised.value)


def test_a_database_in_another_storage_is_copied(golden_store: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    source = golden_store(GOLDEN)
    folders = [source.root / "config" / "consumerOffsets", source.root / "consumequeue"]
    files = {f"store/{path.relative_to(source.root)}": path.read_bytes() for folder in folders for path in folder.iterdir()}
    memory = in_memory(files | files_of(log_of(3)))
    there = nr.open(f"{memory.url}/store").table("consumer_offsets").to_table().drop([*OF_LOG, "file"])
    assert there == opened(source).table("consumer_offsets").to_table().drop([*OF_LOG, "file"])
    monkeypatch.setattr("native_reader.storage.rocksdb._MOST_COPIED", 1000)
    with pytest.raises(nr.StoreError, match="which can be read only from a local disk"):
        nr.open(f"{memory.url}/store").table("consumer_offsets").to_table()


@pytest.mark.parametrize("table", TABLES)
def test_more_entries_than_are_held_in_memory_are_an_error(golden_store: Get, monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    """Entries of queues are read in pieces, so they have no such limit."""
    monkeypatch.setattr("native_reader.storage.rocksdb._MOST_HELD", 100)
    source = golden_store(GOLDEN)
    said = r"^the RocksDB database file:.*/config/\w+ has more than 100 bytes of entries, .*mqadmin rocksDBConfigToJson prints them$"
    with pytest.raises(nr.UnreadableError, match=said):
        opened(source).table(table).to_table()
    with open_database((source.root / "consumequeue").as_uri()) as database:
        assert sum(len(value) for _, value in database.items()) > 1000
    assert opened(source).messages().count_rows() > 400


def test_without_a_temporary_directory_the_error_says_what_to_do(own_store: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/no/such/directory")
    with pytest.raises(nr.StoreError, match=r"could not fill a temporary directory: .* set TMPDIR to another directory"):
        nr.open(own_store(OWN).root).table("config").to_table()


def test_what_is_a_database(own_store: Get) -> None:
    root = own_store(OWN).root.as_uri()
    found = [is_database(each) for each in (f"{root}/config/topics", f"{root}/consumequeue", f"{root}/config", None, f"{root}/lock")]
    assert found == [True, True, False, False, False]


# configManagerVersion=v2

DELETED = {"record-of-deleted-topic", "queue-of-unknown-topic"}


@pytest.mark.parametrize("name", ["5.4.0-rocksdb-settings", "5.5.0-rocksdb-settings"])
def test_settings_and_offsets_of_real_brokers_in_one_database(own_store: Get, name: str) -> None:
    root = own_store(name).root
    assert not list(root.glob("config/topics.json*")) + list(root.glob("config/consumerOffset.json*"))
    store = nr.open(root)
    assert set(store.table("config").to_table()["file"].to_pylist()) == {f"{root.as_uri()}/config/rdb"}
    assert {"Plain", "Ready"} <= {row["topic"] for row in store.table("topics").to_table().to_pylist()}
    assert not DELETED & {row["code"] for row in store.verify().to_table().to_pylist()}
    rows = store.table("consumer_offsets").to_table().to_pylist()
    assert {(row["group"], row["topic"], row["queue_id"]): row["committed"] for row in rows} == {
        ("CG_done", "Plain", 0): 10,
        ("CG_lags", "Plain", 0): 3,
        ("CG_new", "Plain", 0): 0,
    }


def binary(table: int, *parts: bytes) -> bytes:
    return b"\x01" + table.to_bytes(2, "big") + b"\x02" + b"".join(parts)


def sized(name: str) -> bytes:
    return struct.pack(">H", len(name.encode())) + name.encode()


def test_the_binary_configuration(tmp_path: Path) -> None:
    """ConsumerOffsetManagerV2, TopicConfigManagerV2 and SubscriptionGroupManagerV2 of 5.3.3. The JSON file is older."""
    root = on_disk(tmp_path, files_of(log_of(3)) | {"store/config/consumerOffset.json": b'{"offsetTable":{"T0@g":{0:1},"old@g":{0:1}}}'})
    where = root / "store" / "config" / "rdb"
    database = rocksdict.Rdict(os.fspath(where), rocksdict.Options(raw_mode=True))
    for group, topic, queue, table, offset in (("g", "T0", 0, 1, 5), ("g", "T0", 0, 2, 7), ("é@broadcast", "T1", 3, 1, 2)):
        key = binary(table, sized(group), b"\x01", sized(topic), b"\x01", struct.pack(">i", queue))
        database[key] = struct.pack(">q", offset)
    database[binary(3, sized("T0"))] = b'\x01{"perm":6}'
    database[binary(4, sized("g"))] = b'\x01{"retryMaxTimes":16}'
    database[b"\x01\x00\x01\x01data-version"] = bytes(24)
    database.close()
    store = nr.open(root / "store")
    rows = store.table("consumer_offsets").to_table().to_pylist()
    assert [(row["group"], row["topic"], row["queue_id"], row["committed"], row["pulled"], row["is_broadcast"]) for row in rows] == [
        ("g", "T0", 0, 5, 7, False),
        ("é", "T1", 3, 2, None, True),
    ]
    settings = store.table("config").to_table().to_pylist()
    assert [(row["kind"], row["name"], row["setting"], row["value"]) for row in settings] == [
        ("topic", "T0", "perm", "6"),
        ("group", "g", "retryMaxTimes", "16"),
    ]
