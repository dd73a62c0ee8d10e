"""Writes the stores of tests/stores anew, by real brokers, with Java's truth beside them: python tests/broker/make_stores.py [NAME ...].

A store is what its broker left, without what no reader of ours looks at; its archive unpacks to `NAME/store`, `truth.jsonl.gz`
(RocketMQ's decoding of each record), `inner.jsonl.gz` (of the messages in inner batches) and `sent.json` (what clients were told).
"""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from javas_truth import judged  # noqa: E402  the tests' own modules, found by the line above
from rocketmq import Broker, Java, running  # noqa: E402

STORES = HERE.parent / "stores"
KEPT = ("commitlog*", "consumequeue", "batchconsumequeue", "index", "config", "checkpoint", "abort", "lock")
CRC = {"enabledAppendPropCRC": "true", "forceVerifyPropCRC": "true"}
SMALL_LOG = {"mappedFileSizeCommitLog": 64 << 10, "maxMessageSize": 16 << 10}
POOLED = {"transientStorePoolEnable": "true", "transientStorePoolSize": 3}


@dataclass(frozen=True)
class Recipe:
    """Which broker, what is sent to it, and how it ends."""

    version: str
    traffic: tuple[tuple[object, ...], ...]
    settings: Mapping[str, object] = field(default_factory=dict)
    client: str | None = None
    killed: bool = False


RECIPES = {
    "4.9.7-kinds": Recipe("4.9.7", (("kinds",),)),
    "4.9.7-killed-pooled": Recipe("4.9.7", (("plain", 500),), POOLED | SMALL_LOG, killed=True),
    "5.5.0-kinds": Recipe("5.5.0", (("kinds",),)),
    "5.5.0-features": Recipe("5.5.0", (("features",),)),
    "5.5.0-property-crc": Recipe("5.5.0", (("plain", 60), ("kinds",)), CRC),
    "5.5.0-old-client": Recipe("5.5.0", (("kinds",),), CRC, client="4.9.7"),
    "5.5.0-killed": Recipe("5.5.0", (("plain", 800),), SMALL_LOG, killed=True),
    "5.5.0-multipath": Recipe("5.5.0", (("plain", 600),), SMALL_LOG | {"storePathCommitLog": "{store}/commitlog_b,{store}/commitlog_a"}),
    "5.5.0-rocksdb-queues": Recipe(
        "5.5.0", (("plain", 200),), {"storeType": "defaultRocksDB", "enableLmq": "false", "enableMultiDispatch": "false"}
    ),
}


def made(name: str, folder: Path) -> Path:
    """Let a broker write that store, into `folder/NAME`."""
    recipe, target = RECIPES[name], folder / name
    java = Java(recipe.version)
    with running(java, folder / "home", **recipe.settings) as broker:
        sent = [line for what, *arguments in recipe.traffic for line in traffic(broker, recipe, what, *arguments)]
        if recipe.killed:
            broker.kill()
        else:
            broker.stop()
        for pattern in KEPT:
            for path in broker.store.glob(pattern):
                copy = shutil.copytree if path.is_dir() else shutil.copy
                (target / "store").mkdir(parents=True, exist_ok=True)
                copy(path, target / "store" / path.name)
    judged(java, target)
    shutil.rmtree(target / "java")
    (target / "sent.json").write_text(json.dumps(sent))
    shutil.rmtree(folder / "home")
    return target


def traffic(broker: Broker, recipe: Recipe, what: object, *arguments: object) -> list[dict[str, object]]:
    client = Java(recipe.client) if recipe.client else broker.java
    told = client.run("Traffic", what, broker.name_server, broker.address, 11, *arguments, home=broker.home)
    return [line for line in told if "kind" in line]


def packed(store: Path) -> Path:
    """One archive of it, the same bytes for the same files."""
    archive = STORES / f"{store.name}.tar.xz"
    STORES.mkdir(exist_ok=True)
    with tarfile.open(archive, "w:xz", preset=9) as out:
        for path in sorted(store.rglob("*")):
            member = out.gettarinfo(path, path.relative_to(store.parent).as_posix())
            member.mtime, member.uid, member.gid, member.uname, member.gname, member.mode = (
                0,
                0,
                0,
                "",
                "",
                0o755 if path.is_dir() else 0o644,
            )
            if path.is_file():
                with path.open("rb") as content:
                    out.addfile(member, content)
            else:
                out.addfile(member)
    return archive


def main(names: list[str]) -> None:
    for name in names or RECIPES:
        with tempfile.TemporaryDirectory() as scratch:
            archive = packed(made(name, Path(scratch)))
        sys.stdout.write(f"{archive.name}: {archive.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
