"""When a topic counts as deleted, and when the store does not prove it."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from support.golden import Golden, opened
from support.own_stores import NAMES
from support.queued_stores import dispatched, numbered
from support.stores import files_of, in_memory, log_of, message, on_disk
from support.verified import TOPICS, healthy

import native_reader as nr
from native_reader.sides.deleted import DeletedTopics
from native_reader.testing.records import Message

SYSTEM = "RMQ_SYS_TRACE_TOPIC"


def deleted(files: dict[str, bytes]) -> list[str]:
    """The topics of the log that were deleted."""
    memory = in_memory(files)
    store = nr.open(f"{memory.url}/store")
    (each,) = store.stores
    topics = store.messages(columns="topic").to_table()["topic"].to_pylist()
    return DeletedTopics(each.queues, each.config).among(topics)


def without(files: dict[str, bytes], topic: str, *, queues: bool = True, config: bool = True) -> dict[str, bytes]:
    """The files after a broker deleted that topic."""
    table = json.loads(files[TOPICS])["topicConfigTable"]
    if config:
        del table[topic]
    kept = {path: content for path, content in files.items() if not (queues and f"/consumequeue/{topic}/" in path)}
    return kept | {TOPICS: json.dumps({"topicConfigTable": table}).encode()}


def test_a_topic_without_queues_and_configuration_was_deleted() -> None:
    files = dict(healthy()[1])
    assert deleted(files) == []
    assert deleted(without(files, "T1")) == ["T1"]


def test_one_of_both_is_enough_to_exist() -> None:
    files = dict(healthy()[1])
    assert deleted(without(files, "T1", queues=False)) == []
    assert deleted(without(files, "T1", config=False)) == []


def test_without_a_configuration_the_queues_decide() -> None:
    files = without(dict(healthy()[1]), "T1")
    assert deleted({path: content for path, content in files.items() if "/config/" not in path}) == ["T1"]


def test_a_store_without_queues_or_with_a_broken_configuration_proves_nothing() -> None:
    files = without(dict(healthy()[1]), "T1")
    assert deleted({path: content for path, content in files.items() if "/consumequeue/" not in path}) == []
    assert deleted(files | {TOPICS: b"{ broken"}) == []


def test_queues_in_a_database_that_cannot_be_opened_prove_nothing() -> None:
    assert deleted(without(dict(healthy()[1]), "T1") | {"store/consumequeue/CURRENT": b"MANIFEST-000001\n"}) == []


def test_system_topics_are_not_deleted() -> None:
    messages: list[Message] = numbered([message(each, topic=SYSTEM if each % 2 else "T") for each in range(10)])
    log = log_of(messages)
    assert deleted(files_of(log) | dispatched(log.placed, deleted=[SYSTEM])) == []


def test_an_empty_directory_of_a_topic_is_left_by_4x(tmp_path: Path) -> None:
    root = on_disk(tmp_path, without(dict(healthy()[1]), "T1")) / "store"
    (root / "consumequeue" / "T1").mkdir()
    (each,) = nr.open(root).stores
    found = pickle.loads(pickle.dumps(DeletedTopics(each.queues, each.config)))
    assert found.among(["T1", "T0", None]) == ["T1"]


@pytest.mark.parametrize("name", NAMES)
def test_in_the_stores_of_brokers_only_gone_is_deleted(own_store: Callable[[str], Golden], name: str) -> None:
    store = opened(own_store(name))
    (each,) = store.stores
    scan = store.messages(columns="topic", mode="DROPMALFORMED", fail_on_data_loss=False)
    found = DeletedTopics(each.queues, each.config).among(scan.to_table()["topic"].to_pylist())
    assert set(found) <= {"Gone"}, found
