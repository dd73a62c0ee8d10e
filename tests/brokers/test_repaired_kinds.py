"""Repaired stores with kinds of topics of their own: a real broker goes on over their placeholders.

Its timers, what comes back from pop consumers, batch queues, compaction, and entries with addresses in other files.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import clusters
import pytest
from ports import free_port
from rocketmq import Broker, Java, brokers, name_server, running
from served import Row, Survivors, judged
from support.golden import unpack
from support.own_stores import STORES
from support.store_damages import patch

import native_reader as nr
from native_reader.layout.kinds import TIMER_TOPIC

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]
REVIVE_TOPIC = "rmq_sys_REVIVE_LOG_DefaultCluster"
SETTINGS: dict[str, Any] = {"mappedFileSizeConsumeQueue": 2000, "brokerName": "broker-a"}
_COLUMNS = ("topic", "queue_id", "queue_offset", "physical_offset", "record_size", "tags", "keys", "msg_id")
_FAILS = re.compile(r"Unknown e|Error occurred in|ERROR.*(PopRevive|Compaction|ConsumeQueue|CommitLog)|NOTIFYME|\[BUG\]")


def rows_of(store: Path) -> list[Row]:
    lenient = {"mode": "DROPMALFORMED", "fail_on_data_loss": False}
    return nr.open(store).messages(columns=_COLUMNS, **lenient).to_table().to_pylist()


def lose(store: Path, row: Row) -> None:
    size = (store / "commitlog" / f"{0:020d}").stat().st_size
    patch(store / "commitlog" / f"{row['physical_offset'] // size * size:020d}", row["physical_offset"] % size, bytes(row["record_size"]))


@contextmanager
def started(java: Java, home: Path, store: Path, port: int, **settings: Any) -> Iterator[Broker]:
    with name_server(java, home) as address:
        broker = Broker(java, home, address, SETTINGS | settings | {"storePathRootDir": store}, port=port)
        with brokers(broker):
            broker.start()
            yield broker


def _errors(home: Path) -> list[str]:
    """What the logs of a broker say is wrong with its store."""
    logs = [path.read_text(errors="replace") for path in home.rglob("*.log")]
    return [line for text in logs for line in text.splitlines() if _FAILS.search(line)]


@pytest.fixture(scope="module")
def served(rocketmq: Callable[[str], Java], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, list[Row]]:
    """A store with pending timers and the log of a pop consumer, the port of its broker, and what that answered."""
    with running(rocketmq("5.5.0"), tmp_path_factory.mktemp("services"), **SETTINGS) as broker:
        answers = broker.traffic("services")
        broker.stop()
    return broker.store, broker.port, answers


@pytest.mark.parametrize("has_wheel", [True, False])
def test_timers_and_pop_go_on_where_their_records_were_lost(
    rocketmq: Callable[[str], Java], served: tuple[Path, int, list[Row]], tmp_path: Path, has_wheel: bool
) -> None:
    """Without a timer wheel, the broker reads its timer topic from the beginning. With it, some lost records are already in the wheel."""
    source, port, _ = served
    store = tmp_path / "store"
    shutil.copytree(source, store)
    if not has_wheel:
        shutil.rmtree(store / "timerlog")
        (store / "timerwheel").unlink()
        (store / "config" / "timercheck").unlink()
    timers, revived = ([row for row in rows_of(store) if row["topic"] == topic] for topic in (TIMER_TOPIC, REVIVE_TOPIC))
    for row in (timers[0], timers[4], *timers[-4:-2], *revived[:2], *revived[-2:]):
        lose(store, row)
    done = nr.open(store).repair(tmp_path / "new")
    assert done.plan.placeholders == 8
    assert "a timed message whose time had not come is never delivered" in (page := (tmp_path / "new" / "repair.md").read_text())
    assert "a message that a pop consumer took and did not acknowledge may not come again" in page
    with started(rocketmq("5.5.0"), tmp_path / "home", tmp_path / "new", port) as broker:
        more = broker.traffic("services", seed=2)
        broker.stop()
    assert [line["popped"] for line in more if "popped" in line] == [6]
    kept = {row["msg_id"] for row in timers[-2:]}
    soon = {line["msg_id"] for line in more if line.get("kind") == "timer"}
    delivered = {row["msg_id"] for row in rows_of(tmp_path / "new") if row["topic"] == "Timed"}
    assert kept <= delivered
    assert len(soon & delivered) == 4
    assert _errors(tmp_path / "home") == []


def _batches(store: Path) -> list[Row]:
    """The first message of each record of the topic with batch queues, in log order."""
    return list({row["physical_offset"]: row for row in reversed(rows_of(store)) if row["topic"] == "Inner"}.values())[::-1]


def _of_third(store: Path) -> None:
    lose(store, _batches(store)[2])


def _of_a_queue_without_files(store: Path) -> None:
    lose(store, _batches(store)[1])
    shutil.rmtree(store / "batchconsumequeue" / "Inner" / "1")


def _all_files(store: Path) -> None:
    shutil.rmtree(store / "batchconsumequeue")


@pytest.mark.parametrize("makes_again", [False, True])
@pytest.mark.parametrize("damage", [_of_third, _of_a_queue_without_files, _all_files])
def test_batch_queues(rocketmq: Callable[[str], Java], tmp_path: Path, damage: Callable[[Path], None], makes_again: bool) -> None:
    """Each message of a batch has its queue offset as before, also if the broker makes the queues again; new ones get the next."""
    own = unpack("5.5.0-features", tmp_path, STORES)
    before = {(row["queue_id"], row["queue_offset"]): row["keys"] for row in rows_of(own.root) if row["topic"] == "Inner"}
    damage(own.root)
    kept = {(row["queue_id"], row["queue_offset"]): row["keys"] for row in rows_of(own.root) if row["topic"] == "Inner"}
    assert kept.items() <= before.items()
    settings = json.loads((own.folder / "settings.json").read_text())
    (tmp_path / "broker.conf").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    new = tmp_path / "new"
    nr.open(own.root, broker_conf=str(tmp_path / "broker.conf")).repair(new)
    if makes_again:
        shutil.rmtree(new / "batchconsumequeue")
        shutil.rmtree(new / "consumequeue")
        (new / "abort").touch()
        (new / "checkpoint").write_bytes(bytes(4096))
    home = tmp_path / "home"
    with started(rocketmq("5.5.0"), home, new, free_port(), **settings) as broker:
        assert _pulled(broker) == kept
        assert broker.traffic("batches")
        assert broker.stop() == 143
        broker.start()
        found = _pulled(broker)
    assert found.items() >= kept.items()
    assert sorted(found.keys() - kept.keys()) == [(0, number) for number in range(7, 14)] + [(1, number) for number in range(8, 16)]
    assert _errors(home) == []


def _pulled(broker: Broker) -> dict[tuple[int, int], list[str]]:
    """The keys of what a client gets of the topic, by queue and queue offset, one message and many at a time."""
    lines = [line for line in broker.traffic("answers") if line.get("topic") == "Inner"]
    assert not any(line["lost"] for line in lines)
    found = [
        {(line["queue_id"], line["queue_offset"]): [line["keys"]] for line in lines if line["how"] == how} for how in ("singly", "together")
    ]
    assert found[0] == found[1]
    return found[0]


def test_compaction_topics(rocketmq: Callable[[str], Java], tmp_path: Path) -> None:
    """A broker serves them from a log of their own, which is copied: it has the same messages before and after losses in the commitlog."""
    own = unpack("5.5.0-compaction", tmp_path, STORES)
    settings = json.loads((own.folder / "settings.json").read_text())
    shutil.copytree(own.root, tmp_path / "whole")
    served = []
    for name in ("whole", "new"):
        if name == "new":
            compacted = [row for row in rows_of(own.root) if row["topic"] == "Newest"]
            for row in (*compacted[100:110], *compacted[-6:-2]):
                lose(own.root, row)
            assert nr.open(own.root).repair(tmp_path / "new").plan.placeholders == 14
        with started(rocketmq("5.5.0"), tmp_path / f"home of {name}", tmp_path / name, free_port(), **settings) as broker:
            served.append([line for line in broker.traffic("answers") if "how" in line])
        assert _errors(tmp_path / f"home of {name}") == []
    assert len(served[0]) > 100
    assert served[0] == served[1]


def test_queues_with_extended_entries(rocketmq: Callable[[str], Java], tmp_path: Path) -> None:
    """With enableConsumeQueueExt, entries have addresses in other files. Both stay; what is made again has hashes of tags."""
    settings = {"enableConsumeQueueExt": "true", "mappedFileSizeCommitLog": 64 << 10, "maxMessageSize": 16 << 10}
    with running(rocketmq("5.5.0"), tmp_path / "old", **SETTINGS, **settings) as broker:
        broker.traffic("plain", 400)
        broker.stop()
    store = broker.store
    assert any((store / "consumequeue_ext").rglob("0*"))
    rows = [row for row in rows_of(store) if row["topic"] == "Plain"]
    for row in (*rows[100:110], *rows[200:203]):
        lose(store, row)
    shutil.rmtree(store / "consumequeue" / "Plain" / "1")
    survivors = Survivors.of(store)
    nr.open(store).repair(tmp_path / "new")
    with started(rocketmq("5.5.0"), tmp_path / "home", tmp_path / "new", broker.port, **settings) as again:
        lines = again.traffic("consume")
    for how, tag in (("pull", None), ("all", None), ("tag", "Tag1")):
        found = judged(lines, how, survivors.all if how == "pull" else survivors.of_topic("Plain", tag))
        assert {name: found[name] for name in ("missing", "twice", "foreign", "changed")} == dict.fromkeys(
            ("missing", "twice", "foreign", "changed"), 0
        )
    assert _errors(tmp_path / "home") == []


@pytest.mark.parametrize("choices", [{}, {"crc": "fix"}])
def test_checksums_of_records(rocketmq: Callable[[str], Java], tmp_path: Path, choices: dict[str, Any]) -> None:
    """A broker that verifies them, and reads all of the log when it starts, stops at a record without a right one."""
    own = unpack("5.5.0-property-crc", tmp_path, STORES)
    settings = json.loads((own.folder / "settings.json").read_text())
    assert settings["forceVerifyPropCRC"] == "true"
    log = own.root / "commitlog" / f"{0:020d}"
    rows = [row for row in rows_of(own.root) if row["topic"] == "Plain"]
    for row in (*rows[10:13], *rows[30:31]):
        lose(own.root, row)
    body = rows[40]["physical_offset"] + 95
    patch(log, body, bytes([log.read_bytes()[body] ^ 1]))
    survivors = Survivors.of(own.root, verify_crc=not choices)
    new = tmp_path / "new"
    assert nr.open(own.root).repair(new, **choices).plan.placeholders == (4 if choices else 5)
    (new / "abort").touch()
    (new / "checkpoint").write_bytes(bytes(4096))
    with started(rocketmq("5.5.0"), tmp_path / "home", new, free_port(), **settings) as broker:
        lines = broker.traffic("answers")
        more = [line for line in broker.traffic("more", 3) if line.get("kind") == "more"]
    wanted = {(row["topic"], row["queue_id"], row["queue_offset"], row["physical_offset"]) for row in survivors.of_topic("Plain")}
    found = {
        (line["topic"], line["queue_id"], line["queue_offset"], line["physical_offset"])
        for line in lines
        if line.get("how") == "together" and line["topic"] == "Plain" and not line["lost"]
    }
    assert found == wanted
    ends = {queue: max(row["queue_offset"] for row in rows if row["queue_id"] == queue) + 1 for queue in range(4)}
    assert min(line["queue_offset"] - ends[line["queue_id"]] for line in more) == 0
    assert [line for line in _errors(tmp_path / "home") if "CRC" in line or "BUG" in line] == []


@pytest.mark.timeout(600)
def test_why_stores_of_controller_mode_are_refused(rocketmq: Callable[[str], Java], tmp_path: Path) -> None:
    """A repaired master with its old epochs starts, and its slave follows it: both keep other bytes, and neither notices."""
    settings = {"mappedFileSizeCommitLog": 64 << 10, "maxMessageSize": 16 << 10, "mappedFileSizeConsumeQueue": 2000}
    with clusters.controlled(rocketmq("5.5.0"), tmp_path, "old", "new", **settings) as (old, new):
        old.start()
        old.traffic("plain", 200)
        new.launch()
        clusters.await_the_same_log(new, old)
        time.sleep(3)
        new.stop()
        time.sleep(4)  # the master removes it from those in sync
        old.stop()
        damaged = shutil.move(old.store, tmp_path / "damaged")
        lost = [row for row in rows_of(damaged) if row["topic"] == "Plain"][50:55]
        for row in lost:
            lose(damaged, row)
        nr.open(damaged).repair(old.store, single=True)
        shutil.copy(damaged / "epochFileCheckpoint", old.store)
        old.start()
        old.traffic("plain", 20, seed=2)
        new.launch()
        clusters.await_the_same_log(new, old)
    first = [(broker.store / "commitlog" / f"{0:020d}").read_bytes() for broker in (old, new)]
    for row in lost:
        places = [content[row["physical_offset"] : row["physical_offset"] + row["record_size"]] for content in first]
        assert [b"RMQSTORE_LOST" in each for each in places] == [True, False]
