"""Which versions of RocketMQ can have written a store: some files, and fields of files, exist only since one of them."""

from __future__ import annotations

from native_reader.broker.progress import checkpoint_of
from native_reader.storage.paths import list_if_possible
from native_reader.storage.store import StoreFiles

SIGNS = (
    ("5.5.0", "checkpoint", "dispatched_offset"),
    ("5.5.0", "store", "consumequeue_rocksdb"),
    ("5.4.0", "config", "metadata"),
    ("5.4.0", "store", "rocksdbstore"),
    ("5.3.2", "store", "kvStore"),
    ("5.1.1", "checkpoint", "confirmed_offset"),
    ("5.0.0", "checkpoint", "master_flushed_offset"),
    ("5.3.2", "config", "rdb"),
    ("5.1.4", "config", "topics"),
    ("5.2.0", "config", "transactionMetrics"),
    ("5.0.0", "config", "timercheck"),
    ("5.0.0", "config", "consumerOrderInfo.json"),
    ("4.9.3", "config", "lmqConsumerOffset.json"),
    ("5.2.0", "consumequeue", "CURRENT"),
    ("5.0.0", "store", "batchconsumequeue"),
)
"""What shows that a broker is of that version or later: where, and the field or file name, which is also the kind of its sentence."""


def version_key(version: str) -> tuple[int, ...]:
    """What versions are compared by."""
    return tuple(map(int, version.split(".")))


def oldest_version(files: StoreFiles) -> tuple[str | None, tuple[str, ...]]:
    """The oldest version that can have written the store, and the signs of it; None if nothing shows one."""
    places = {"store": files.uri, "config": files.config, "consumequeue": files.consume_queue}
    names = {place: {entry.name for entry in list_if_possible(uri)} for place, uri in places.items() if uri is not None}
    checkpoint = checkpoint_of(files.uri)
    offsets = {
        "master_flushed_offset": checkpoint.flushed,
        "confirmed_offset": checkpoint.confirmed,
        "dispatched_offset": checkpoint.dispatched,
    }
    names["checkpoint"] = {name for name, offset in offsets.items() if offset}
    seen = [(version, name) for version, place, name in SIGNS if name in names.get(place, ())]
    oldest = max((version for version, _ in seen), key=version_key, default=None)
    return oldest, tuple(name for version, name in seen if version == oldest)
