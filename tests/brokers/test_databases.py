"""The databases of a broker that runs: all of them are read, and nothing in the store changes."""

from __future__ import annotations

import signal
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from make_stores import INDEX, NEW_POP, NEW_QUEUES, NEW_TIMERS, NEW_TRANSACTIONS
from rocketmq import Broker
from support.command_line import run

import native_reader as nr
from native_reader.tables import TABLE_NAMES


def state_of(root: Path) -> dict[str, tuple[object, ...]]:
    """Each file and directory: size, times, links, and a digest of the bytes. Not when it was read last."""
    state: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        found = path.stat()
        content = sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        state[str(path)] = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_nlink, content)
    return state


@pytest.mark.long
def test_databases_of_a_running_broker_are_read_and_stay_as_they_are(broker: Callable[..., Broker]) -> None:
    running = broker("5.5.0", **NEW_TRANSACTIONS, **INDEX, **NEW_TIMERS, **NEW_QUEUES, **NEW_POP)
    sent = [line for what in ("transactions", "held") for line in running.traffic_once(what) if "kind" in line]
    assert running.process is not None
    running.process.send_signal(signal.SIGSTOP)  # it keeps its files and locks, and changes nothing itself
    try:
        before = state_of(running.store)
        store = nr.open(running.store)
        tables = {name: store.table(name).to_table() for name in TABLE_NAMES if name != "messages"}
        found = store.messages(topic="Held", where="array_contains(keys, 'held3')", columns="queue_id").to_table()
        topics = run("stat", running.store, "--by", "topic", "--json").rows
        named = {each["directory"].rpartition("/store/")[2]: each["holds"] for each in store.diagnose().facts["rocksdb"]["databases"]}
        assert state_of(running.store) == before
    finally:
        running.process.send_signal(signal.SIGCONT)
    # Of queues, index and transactions, it has perhaps nothing on the disk yet.
    assert named.keys() == {"consumequeue_rocksdb", "config/metadata", "rocksdbstore", "kvStore"}
    assert (named["config/metadata"], named["kvStore"]) == ("topics, groups and consumer offsets", "messages that pop consumers hold")
    assert found["queue_id"].to_pylist() == [1]
    assert {row["topic"] for row in tables["topics"].to_pylist() if row["is_configured"]} >= {"Held", "Paid"}
    assert {row["topic"] for row in topics if row["is_deleted"]} == set()
    assert tables["transactions"].num_rows == 9
    assert tables["pop"].num_rows == 8
    assert len([line for line in sent if line["kind"] == "held"]) == 8
    assert {row["severity"] for row in tables["findings"].to_pylist()} <= {"note"}
    assert running.traffic("plain", 10)  # it goes on
