"""What `diagnose` says about a store, by kind, in English. `rmqstore/chinese/` has the same in Chinese."""

from __future__ import annotations

from native_reader.broker.config_files import PROBLEMS
from native_reader.broker.databases import CONTENTS
from native_reader.errors import option_name
from native_reader.plan.lost import BACK, MISSING, NOT_THERE, STORES, WHAT, WHY
from native_reader.records.damages import SENTENCES
from native_reader.scan.read import SKIPPED
from native_reader.sides.bounds import FOUND
from native_reader.sides.index import WHY_NOT

SIGNS = {
    "dispatched_offset": "the checkpoint has a dispatched offset",
    "consumequeue_rocksdb": "consume queues are in consumequeue_rocksdb",
    "metadata": "the configuration is in one database, config/metadata",
    "rocksdbstore": "the directory rocksdbstore exists",
    "kvStore": "the directory kvStore exists",
    "confirmed_offset": "the checkpoint has a confirmed offset",
    "master_flushed_offset": "the checkpoint has a flushed offset",
    "rdb": "the configuration is in RocksDB",
    "topics": "the configuration is in RocksDB",
    "transactionMetrics": "the file transactionMetrics exists",
    "timercheck": "the file timercheck exists",
    "consumerOrderInfo.json": "the file consumerOrderInfo.json exists",
    "lmqConsumerOffset.json": "the file lmqConsumerOffset.json exists",
    "CURRENT": "the consume queues are in RocksDB",
    "batchconsumequeue": "there are batch queues",
}
"""What shows a version, by the column or file that shows it."""
LABELS = {
    "label store": "store",
    "label version": "version",
    "label commitlog": "commitlog",
    "label queues": "queues",
    "label index": "index",
    "label config": "config",
    "label rocksdb": "rocksdb",
    "label state": "state",
    "label finding": "finding",
    "label note": "note",
}
FACTS = {
    "at least": "RocketMQ {version} or later: {because}",
    "no sign": "unknown: nothing shows a version of RocketMQ after 4.9.2",
    "no segments": "no segments",
    "none": "none",
    "at": "{place}: {what}",
    "period": "{what}, {first} to {last}",
    "size of log": "{segments:,} {segments:segment|segments}, {size}",
    "queues of topics": "{queues:,} {queues:queue|queues} of {topics:,} {topics:topic|topics}",
    "and light": "{what}, and {light:,} {light:light queue|light queues}",
    "and older": "{what}; {older}",
    "older": "they name {records:,} {records:record|records} older than the log, which expired or were removed: {names}",
    "size of index": "{files:,} {files:file|files}, {keys:,} {keys:key|keys}",
    "in rocksdb": "{place} (RocksDB)",
    "not read": "not read",
    "in use": f"a broker on this host has the store open. Reading is safe; {option_name('max_read_rate')} limits the load",
    "at rest": "no broker on this host has it open",
}
ODDITIES = {
    "not examined": "{part} could not be examined: {reason}",
    "unfinished": "this is the folder of a repair that was not finished. Delete it, and repair the damaged store again",
    "strays": "packed or renamed segments are not read: {names}",
    "gap": "no file contains offsets {start:,} to {stop:,} ({bytes:,} bytes)",
    "found packed": "{gap}. {back}",
    "stale": "{bytes:,} bytes of old records follow the end of the log: a broker discarded them",
    "no queues": "there are no consume queues: a broker makes them again from the log when it starts",
    "ahead": ("{queues:,} {queues:queue|queues} with entries for records after the end of the log, which were lost or discarded: {names}"),
    "behind": "{queues:,} {queues:queue|queues} without entries for their newest records; a broker adds them when it starts: {names}",
    "orphaned": (
        "{queues:,} {queues:queue|queues} of topics without settings: they were deleted, "
        "or this is a follower that never got the settings: {names}"
    ),
    "index size unknown": (
        f"{{files:,}} {{files:index file|index files}} cannot be searched: set {option_name('max_hash_slot_num')} "
        "as in the broker's configuration"
    ),
    "index cut": "{file} has {size:,} bytes: it was cut, or not copied whole",
    "no config": "there is no directory config: a broker that starts here has no topics, groups or consumer offsets",
    "no topics": "{config} has no topics.json: a broker that starts here has no topics",
    "no extra": "what is in RocksDB is not read. To read it, install the extra: pip install 'rmqstore-spark[rocksdb]'",
    "late databases": "a running broker writes queues and index to its databases late: their newest entries are not on the disk yet",
    "crashed": "the file abort exists: the broker crashed, or ran while the store was copied",
    "checkpoint ahead": "the checkpoint is {by} later than the last record: look for missing segments at the end",
}
"""Kinds of findings and notes."""
ENGLISH = {
    "commas": "{first}, {second}",
    "semicolons": "{first}; {second}",
    **SIGNS,
    **LABELS,
    **FACTS,
    **ODDITIES,
    **FOUND,
    **WHY_NOT,
    **CONTENTS,
    **PROBLEMS,
    **SENTENCES,
    **SKIPPED,
    MISSING: NOT_THERE[MISSING],
    **STORES,
    **WHAT,
    **WHY,
    **BACK,
}
"""Also what the engine's warnings about losses say."""
