"""Writes the stores of tests/stores again, with real brokers: python tests/brokers/make_stores.py [NAME ...].

A store has the files of its broker that our readers may read. Its archive unpacks to `NAME/store` and next to it
    truth.jsonl.gz     RocketMQ's decoding of each record
    inner.jsonl.gz     and of each message in inner batches
    sent.json          what clients got
    settings.json      the broker's settings
and, if a broker could start on it again,
    loaded.json        where its log then begins and ends
    queues.jsonl.gz    the entries of each queue, and their messages
    keys.jsonl.gz      what its index finds
"""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import clusters  # noqa: E402  the tests' own modules, found by the line above
import cut_logs  # noqa: E402
import proxy  # noqa: E402
from javas_truth import judged, loaded  # noqa: E402
from recipe import Recipe, by_store_class  # noqa: E402
from rocketmq import Java  # noqa: E402

STORES = HERE.parent / "stores"
CRC = {"enabledAppendPropCRC": "true", "forceVerifyPropCRC": "true"}
SMALL_LOG = {"mappedFileSizeCommitLog": 64 << 10, "maxMessageSize": 16 << 10}
POOLED = {"transientStorePoolEnable": "true", "transientStorePoolSize": 3}
DLEDGER = {
    "enableDLegerCommitLog": "true", "dLegerGroup": "broker-a", "dLegerSelfId": "n0", "dLegerPeers": "n0-127.0.0.1:{free}",
    "sendMessageThreadPoolNums": 4, "timerWheelEnable": "false", "enableLmq": "false", "enableMultiDispatch": "false",
}  # fmt: skip
COMPACTION = {
    "enableCompaction": "true", "compactionMappedFileSize": 65536, "compactionCqMappedFileSize": 4600, "compactionScheduleInternal": 5000,
}  # fmt: skip
# A broker deletes expired files at certain hours, or on command. These stores use the command.
EXPIRING = {
    "fileReservedTime": 0, "deleteWhen": "30", "destroyMapedFileIntervalForcibly": 1000, "redeleteHangedFileInterval": 1000,
    "mappedFileSizeConsumeQueue": 2000,
}  # fmt: skip

NEW_TRANSACTIONS = {"transRocksDBEnable": "true", "transWriteOriginTransHalfEnable": "false"}
INDEX = {"indexRocksDBEnable": "true", "indexFileWriteEnable": "false", "indexFileReadEnable": "false"}
NEW_TIMERS = {"timerRocksDBEnable": "true"}
# Without the second option, a broker 5.5.0 ends when it starts: "rocksdbCQ is not ready for LMQ".
BOTH_QUEUES = {"rocksdbCQDoubleWriteEnable": "true", "combineCQUseRocksdbForLmq": "true"}
OF_ITS_OWN = {"useSeparateStorePathForRocksdbCQ": "true"}
NEW_QUEUES = {"storeType": "defaultRocksDB", "useSingleRocksDBForAllConfigs": "true", "rocksdbCQDoubleWriteEnable": "false"} | OF_ITS_OWN
NEW_POP = {"popConsumerKVServiceInit": "true", "popConsumerKVServiceEnable": "true"}

RECIPES = {
    "4.9.7-kinds": Recipe("4.9.7", (("kinds",),)),
    "4.9.7-light": Recipe("4.9.7", (("light",),)),
    "4.9.7-killed-pooled": Recipe("4.9.7", (("plain", 500),), POOLED | SMALL_LOG, killed=True),
    "5.5.0-kinds": Recipe("5.5.0", (("kinds",),)),
    "5.5.0-features": Recipe("5.5.0", (("features",), ("light",))),
    "5.5.0-rare": Recipe("5.5.0", settings={"mappedFileSizeCommitLog": 9 << 10, "maxMessageSize": 4 << 10}, writer=by_store_class),
    "5.5.0-dledger": Recipe("5.5.0", (("plain", 150),), DLEDGER, loads=False),
    "5.5.0-compaction": Recipe("5.5.0", (("compaction",), ("plain", 20)), COMPACTION),
    "5.5.0-expired": Recipe("5.5.0", (("expired",),), SMALL_LOG | EXPIRING),
    "5.5.0-property-crc": Recipe("5.5.0", (("plain", 60), ("kinds",)), CRC),
    "5.5.0-old-client": Recipe("5.5.0", (("kinds",),), CRC, client="4.9.7"),
    "5.5.0-killed": Recipe("5.5.0", (("plain", 800),), SMALL_LOG, killed=True),
    "5.5.0-multipath": Recipe("5.5.0", (("plain", 600),), SMALL_LOG | {"storePathCommitLog": "{store}/commitlog_b,{store}/commitlog_a"}),
    "5.5.0-rocksdb-queues": Recipe(
        "5.5.0", (("plain", 200),), {"storeType": "defaultRocksDB", "enableLmq": "false", "enableMultiDispatch": "false"}, loads=False
    ),
    "5.5.0-rocksdb-index": Recipe("5.5.0", (("plain", 90),), restarts=((INDEX, (("kinds",),)),), loads=False),
    "5.4.0-rocksdb": Recipe("5.4.0", (("kinds",), ("features",)), NEW_TRANSACTIONS | INDEX | NEW_TIMERS, loads=False),
    "5.5.0-rocksdb-all": Recipe(
        "5.5.0",
        (("kinds",), ("features",), ("held",)),
        NEW_TRANSACTIONS | INDEX | NEW_TIMERS | NEW_QUEUES | NEW_POP | {"transactionCheckMax": 1000},
        loads=False,
    ),
    "5.5.0-rocksdb-transactions": Recipe(
        "5.5.0", (("transactions",),), {"transRocksDBEnable": "true"}, restarts=((NEW_TRANSACTIONS, (("transactions",),)),), loads=False
    ),
    "5.5.0-rocksdb-timers": Recipe("5.5.0", (("timed",),), NEW_TIMERS, loads=False),
    "5.4.0-rocksdb-transactions": Recipe("5.4.0", (("transactions",),), NEW_TRANSACTIONS, loads=False),
    "5.4.0-rocksdb-timers": Recipe("5.4.0", (("timed",),), NEW_TIMERS, loads=False),
    "5.4.0-rocksdb-index": Recipe("5.4.0", (("plain", 60),), INDEX, loads=False),
    "5.4.0-rocksdb-settings": Recipe("5.4.0", (("plain", 40), ("groups",)), {"configManagerVersion": "v2"}, loads=False),
    "5.4.0-rocksdb-queues": Recipe("5.4.0", (("plain", 60),), {"storeType": "defaultRocksDB"}, loads=False),
    "5.4.0-pop": Recipe("5.4.0", (("plain", 20), ("held",)), NEW_POP),
    "5.5.0-rocksdb-settings": Recipe("5.5.0", (("plain", 40), ("groups",)), {"configManagerVersion": "v2"}, loads=False),
    "5.5.0-rocksdb-separate": Recipe("5.5.0", (("plain", 40), ("light",)), {"storeType": "defaultRocksDB"} | OF_ITS_OWN, loads=False),
    "5.5.0-rocksdb-both": Recipe("5.5.0", (("plain", 60), ("light",)), BOTH_QUEUES, loads=False),
    "5.5.0-rocksdb-moved": Recipe(
        "5.5.0",
        (("kinds",),),
        loads=False,
        restarts=((BOTH_QUEUES | OF_ITS_OWN, (("plain", 40),)), (NEW_QUEUES, (("plain", 60), ("light",)))),
    ),
    "5.5.0-pop": Recipe("5.5.0", (("plain", 20), ("held",)), restarts=((NEW_POP, (("held",),)),)),
    "5.5.0-slave": Recipe("5.5.0", (("copied",),), loads=False, writer=clusters.slave),
    "5.5.0-failover": Recipe("5.5.0", settings=SMALL_LOG, writer=clusters.failover),
    "5.5.0-lost-page": Recipe("5.5.0", settings=SMALL_LOG, writer=cut_logs.lost_page),
    "5.5.0-grpc": Recipe("5.5.0", writer=proxy.grpc),
}


def made(name: str, folder: Path) -> Path:
    """Write that store into `folder/NAME`."""
    recipe, home, target = RECIPES[name], folder / "home", folder / name
    sent = recipe.write(home, target / "store")
    java = Java(recipe.version)
    judged(java, target)
    if recipe.loads:
        loaded(java, target, recipe.all_settings)
    shutil.rmtree(target / "java")
    (target / "sent.json").write_text(json.dumps(sent))
    (target / "settings.json").write_text(json.dumps(recipe.all_settings))
    shutil.rmtree(home)
    return target


def packed(store: Path) -> Path:
    """Pack it into one archive, reproducibly."""
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
