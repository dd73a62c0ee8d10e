"""Stores of brokers that were changed to queues and settings in RocksDB: what is in files is older, or is written too."""

from __future__ import annotations

import json
import shutil
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.golden import Golden

import native_reader as nr
from native_reader.testing.config import fastjson
from native_reader.testing.java import hash_code

Get = Callable[[str], Golden]
SEPARATE, BOTH = "v55-all-rocks", "v55-double-rocks"
GONE = "Gone_s706"


def entries_of(store: nr.Store) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """The entries of each queue, in order."""
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in store.table("queue_entries").to_table().to_pylist():
        found.setdefault((row["topic"], row["queue_id"]), []).append(row)
    return found


def queue_file(rows: list[dict[str, Any]]) -> bytes:
    units = (struct.pack(">qiq", row["physical_offset"], row["size"], row["tags_code"]) for row in rows)
    return b"".join(units).ljust(20 * 400, b"\0")


@pytest.fixture
def moved(golden_store: Get, tmp_path: Path) -> Path:
    """A store whose broker wrote files first. Then it was changed; after that, some messages of old and all of new topics came.

    The files also have the queues of the topic that was deleted later.
    """
    source = golden_store(SEPARATE)
    root = tmp_path / "store"
    shutil.copytree(source.root, root)
    topics: dict[str, Any] = {GONE: {"topicName": GONE, "perm": 6}}
    offsets: dict[str, Any] = {}
    for (topic, queue), rows in entries_of(nr.open(source.root)).items():
        if topic.startswith(("Tx", "Pay")):  # after the change
            continue
        topics[topic] = {"topicName": topic, "perm": 6, "readQueueNums": 4, "writeQueueNums": 4}
        write_queue(root, topic, queue, queue_file(rows[: len(rows) // 2]))
    for row in nr.open(source.root).groups().to_table().to_pylist():
        offsets.setdefault(f"{row['topic']}@{row['group']}", {})[row["queue_id"]] = row["committed"] // 2
    gone = nr.open(source.root).messages(topic=GONE, columns="queue_id,physical_offset,record_size,tags").to_table().to_pylist()
    for queue in {row["queue_id"] for row in gone}:
        rows = [
            {"physical_offset": row["physical_offset"], "size": row["record_size"], "tags_code": hash_code(row["tags"] or "")}
            for row in gone
        ]
        write_queue(root, GONE, queue, queue_file([rows[number] for number, row in enumerate(gone) if row["queue_id"] == queue]))
    (root / "config/topics.json").write_text(fastjson({"topicConfigTable": topics, "dataVersion": {"counter": 3, "timestamp": 1}}))
    (root / "config/consumerOffset.json").write_text(fastjson({"offsetTable": offsets}))
    return root


def write_queue(root: Path, topic: str, queue: int, content: bytes) -> None:
    folder = root / "consumequeue" / topic.replace("%", "%") / str(queue)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{0:020}").write_bytes(content)


def test_what_the_broker_maintains_counts(golden_store: Get, moved: Path) -> None:
    source, store = nr.open(golden_store(SEPARATE).root), nr.open(moved)
    for table in ("config", "consumer_offsets", "lag_by_tag", "topics", "queues"):
        # What is in no queue is less here: the files still list the deleted topic.
        names = [name for name in store.table(table).schema.names if name not in ("store", "file", "state", "is_complete")]
        rows = [
            Counter(
                json.dumps(row, default=str) for row in each.table(table, columns=names).to_table().to_pylist() if row.get("topic", row)
            )
            for each in (source, store)
        ]
        # The queues of the deleted topic are still in the files, and only there.
        extra = rows[1] - rows[0]
        assert rows[0] <= rows[1], table
        assert all(GONE in row for row in extra), table
        assert bool(extra) == (table in ("topics", "queues")), table


def test_only_the_deleted_topic_is_called_deleted(moved: Path) -> None:
    (each,) = nr.open(moved).stores
    from native_reader.sides.deleted import DeletedTopics

    topics = nr.open(moved).messages(columns="topic").to_table()["topic"].to_pylist()
    assert DeletedTopics(each.queues, each.config).among(topics) == [GONE]


def test_the_check_has_no_errors(moved: Path) -> None:
    codes = Counter(nr.open(moved).verify().to_table()["code"].to_pylist())
    assert codes.pop("queue-left-behind") > 10
    assert set(codes) <= {"record-of-deleted-topic", "queue-of-unknown-topic", "key-not-covered"}


@pytest.mark.parametrize("access", ["auto", "trust"])
def test_each_topic_has_all_its_rows(moved: Path, access: str) -> None:
    scanned = Counter(nr.open(moved).messages(columns="topic", access="scan").to_table()["topic"].to_pylist())
    for topic, count in scanned.items():
        if topic != GONE:
            assert nr.open(moved).messages(topic=topic, access=access).count_rows() == count, topic


def test_a_broker_that_writes_both_has_both_checked(golden_store: Get, tmp_path: Path) -> None:
    source = golden_store(BOTH)
    assert nr.open(source.root).verify().to_table()["code"].to_pylist() == ["record-of-deleted-topic"]
    shutil.copytree(source.root, tmp_path / "store")
    (file,) = (tmp_path / "store/consumequeue").glob("Log_*/0/" + "0" * 20)
    content = bytearray(file.read_bytes())
    content[20 * 3 + 19] ^= 1  # a tags code
    file.write_bytes(content)
    found = nr.open(tmp_path / "store").verify().to_table().to_pylist()
    assert [(row["code"], row["count"]) for row in found] == [("queue-copies-differ", 1), ("record-of-deleted-topic", 8)]
    assert "entry 3 is not the same in its other copy" in found[0]["message"]


def test_files_that_a_broker_maintains_again(golden_store: Get, tmp_path: Path) -> None:
    """It was changed back to files: the database ends earlier."""
    source = golden_store(SEPARATE)
    root = tmp_path / "store"
    shutil.copytree(source.root, root)
    found = entries_of(nr.open(source.root))
    for (topic, queue), rows in found.items():
        last = rows[-1]
        write_queue(
            root, topic, queue, queue_file([*rows, last | {"physical_offset": last["physical_offset"] + last["size"], "size": 200}])
        )
    queues = nr.open(root).queues().to_table().to_pylist()
    assert {row["files"] for row in queues} == {1}
    assert {(row["topic"], row["queue_id"]): row["max_offset"] for row in queues} == {
        queue: rows[-1]["queue_offset"] + 2 for queue, rows in found.items()
    }
