"""How a store of tests/stores is made: by one broker and its clients, or by a store class alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocketmq import QUICK, SMALL_FILES, Broker, Java, running

KEPT = (
    "commitlog*", "dledger-*", "consumequeue", "consumequeue_rocksdb", "batchconsumequeue", "compaction", "index", "config", "rocksdbstore",
    "kvStore", "checkpoint", "abort", "lock", "epochFileCheckpoint",
)  # fmt: skip
SEED = 11
Answers = list[dict[str, Any]]


@dataclass(frozen=True)
class Recipe:
    """The version, the writer, the traffic, how the broker ends, and whether RocketMQ's own store class can load the files."""

    version: str
    traffic: tuple[tuple[object, ...], ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    client: str | None = None
    killed: bool = False
    loads: bool = True
    writer: Callable[[Recipe, Path, Path], Answers] | None = None
    restarts: tuple[tuple[Mapping[str, object], tuple[tuple[object, ...], ...]], ...] = ()
    """After its first traffic, the broker stops and starts again with more settings, for more traffic."""

    @property
    def all_settings(self) -> dict[str, object]:
        return QUICK | SMALL_FILES | dict(self.settings)

    def write(self, home: Path, target: Path) -> Answers:
        """Write the store in `home`, keep it in `target`, and return what the clients got."""
        writer = self.writer or by_broker
        return writer(self, home, target)


def by_broker(recipe: Recipe, home: Path, target: Path) -> Answers:
    """Run a broker, its traffic one after another, and stop or kill it."""
    settings, sent = dict(recipe.settings), Answers()
    for start, (more_settings, traffic) in enumerate([({}, recipe.traffic), *recipe.restarts]):
        settings |= more_settings
        with running(Java(recipe.version), home, **settings) as broker:
            client = Java(recipe.client) if recipe.client else broker.java
            for what, *more in traffic:
                told = (what, broker.name_server, broker.address, SEED + start, *more)
                sent += answers(client.run("Traffic", *told, home=home))
            if recipe.killed:
                broker.kill()
            else:
                broker.stop()
    keep(broker.store, target)
    return sent


def by_store_class(recipe: Recipe, home: Path, target: Path) -> Answers:
    """Write the store without a broker or clients."""
    batched = {
        "topicName": "Batched", "attributes": {"queue.type": "BatchCQ"}, "order": False, "perm": 6, "readQueueNums": 1,
        "writeQueueNums": 1, "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0,
    }  # fmt: skip
    (home / "store" / "config").mkdir(parents=True)
    (home / "store" / "config" / "topics.json").write_text(json.dumps({"topicConfigTable": {"Batched": batched}}))
    (home / "conf").write_text("".join(f"{name}={value}\n" for name, value in recipe.all_settings.items()))
    Java(recipe.version).run("Rare", home / "store", home / "conf", home=home)
    keep(home / "store", target)
    return []


def answers(lines: Iterable[dict[str, Any]]) -> Answers:
    """The answers of brokers to clients, without a program's lines about itself."""
    return [line for line in lines if "kind" in line or "group" in line]


def sent(broker: Broker, what: str, *arguments: object, seed: int = SEED) -> Answers:
    """Run one traffic program, and return the broker's answers."""
    return answers(broker.traffic(what, *arguments, seed=seed))


def keep(store: Path, target: Path) -> None:
    """Copy the files that a reader may read."""
    target.mkdir(parents=True)
    for pattern in KEPT:
        for path in store.glob(pattern):
            (shutil.copytree if path.is_dir() else shutil.copy)(path, target / path.name)
