"""The RocksDB databases of a store: where they are, and what is in them.

consumequeue, consumequeue_rocksdb   consume queues (5.2.0+, storeType=defaultRocksDB; the second since 5.5.0)
config/topics, …                     settings, consumer offsets (5.1.4+; `metadata` since 5.4.0, `rdb` since 5.3.2)
rocksdbstore                         transactions, timers, an index (5.4.0+, each by an option of its own; otherwise empty)
kvStore                              messages that pop consumers hold (5.3.2+, popConsumerKVServiceInit)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from native_reader.errors import UnreadableError
from native_reader.layout.store_database import HOLDS, STORE_DATABASE
from native_reader.storage.rocksdb import ExtraMissing, has_entries, is_database, open_database
from native_reader.storage.store import StoreFiles

_OF_CONFIG = {
    "topics": "holds topics",
    "subscriptionGroups": "holds groups",
    "consumerOffsets": "holds offsets",
    "metadata": "holds config",
    "rdb": "holds config",
}


class FoundDatabase(NamedTuple):
    """One database. `holds`: what is in it, each a kind of sentence; None if it cannot be opened, for the reason in `found`.

    `is_extra_missing`: that reason is that the library for it is not installed.
    """

    uri: str
    holds: tuple[str, ...] | None
    found: str | None = None
    is_extra_missing: bool = False


def has_settings(config: str) -> bool:
    """Whether a configuration directory has a database."""
    return any(is_database(f"{config}/{name}") for name in _OF_CONFIG)


def databases_of(store: StoreFiles) -> Iterator[FoundDatabase]:
    """The databases of a store."""
    places = dict.fromkeys(store.databases, "holds queues")
    if store.config is not None:
        places |= {f"{store.config}/{name}": holds for name, holds in _OF_CONFIG.items()}
    places |= {f"{store.uri}/{STORE_DATABASE}": "", f"{store.uri}/kvStore": "holds pop"}
    for uri, holds in places.items():
        if is_database(uri):
            if not has_entries(uri):
                yield FoundDatabase(uri, ("holds nothing",))
                continue
            try:
                with open_database(uri) as database:
                    families = [f"holds {family}" for family in HOLDS if next(database.items(family=family), None) is not None]
                yield FoundDatabase(uri, (holds,) if holds else tuple(families) or ("holds nothing",))
            except UnreadableError as error:
                yield FoundDatabase(uri, None, str(error), isinstance(error, ExtraMissing))
