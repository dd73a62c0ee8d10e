"""The RocksDB databases of a store: where they are, and what is in them.

consumequeue, consumequeue_rocksdb   consume queues (5.2.0+, storeType=defaultRocksDB; the second since 5.5.0)
config/topics, …                     settings, consumer offsets (5.1.4+; `metadata` since 5.4.0, `rdb` since 5.3.2)
rocksdbstore                         transactions, timers, an index (5.4.0+, each by an option of its own; otherwise empty)
kvStore                              messages that pop consumers hold (5.3.2+, popConsumerKVServiceInit)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from native_reader.errors import UnreadableError
from native_reader.layout.store_database import HOLDS, STORE_DATABASE
from native_reader.sentences import Said
from native_reader.storage.rocksdb import ExtraMissing, early_end, has_entries, is_database, open_database, why_unopened
from native_reader.storage.store import QUEUE_DATABASES, StoreFiles

_OF_CONFIG = {
    "topics": "holds topics",
    "subscriptionGroups": "holds groups",
    "consumerOffsets": "holds offsets",
    "metadata": "holds config",
    "rdb": "holds config",
}


class FoundDatabase(NamedTuple):
    """One database. `holds`: what is in it, each a kind of sentence; None if it cannot be opened, for the reason in `found`.

    `is_extra_missing`: that reason is that the library for it is not installed. `early`: its newest changes are not read, because of
    damage there.
    """

    uri: str
    holds: tuple[str, ...] | None
    found: str | None = None
    is_extra_missing: bool = False
    early: Said | None = None


def has_settings(config: str) -> bool:
    """Whether a configuration directory has a database."""
    return any(is_database(f"{config}/{name}") for name in _OF_CONFIG)


def databases_of(store: StoreFiles) -> Iterator[FoundDatabase]:
    """The databases of a store."""
    for uri, holds in _places(store.uri, store.config, store.databases).items():
        if is_new(uri):
            yield FoundDatabase(uri, ("holds nothing",))
            continue
        early = early_end(uri)
        try:
            with open_database(uri) as database:
                families = [f"holds {family}" for family in HOLDS if next(database.items(family=family), None) is not None]
            yield FoundDatabase(uri, (holds,) if holds else tuple(families) or ("holds nothing",), early=early)
        except UnreadableError as error:
            yield FoundDatabase(uri, None, str(error), isinstance(error, ExtraMissing), early)


def faulty_databases(uri: str, config: str | None) -> Iterator[FoundDatabase]:
    """The databases of the store at that URI that cannot be opened, or whose newest changes are not read."""
    for database in _places(uri, config, [f"{uri}/{name}" for name in QUEUE_DATABASES]):
        if is_new(database):
            continue
        error, early = why_unopened(database), early_end(database)
        if error is not None or early is not None:
            yield FoundDatabase(database, None, None if error is None else str(error), isinstance(error, ExtraMissing), early)


def is_new(uri: str) -> bool:
    """Whether nothing was ever written to a database. If its tables are gone, it has no entries either, but it cannot be opened."""
    return not has_entries(uri) and isinstance(why_unopened(uri), ExtraMissing | None)


def _places(uri: str, config: str | None, of_queues: Iterable[str]) -> dict[str, str]:
    """The databases of a store, and what each holds, if that does not depend on the broker's settings."""
    places = dict.fromkeys(of_queues, "holds queues")
    if config is not None:
        places |= {f"{config}/{name}": holds for name, holds in _OF_CONFIG.items()}
    places |= {f"{uri}/{STORE_DATABASE}": "", f"{uri}/kvStore": "holds pop"}
    return {uri: holds for uri, holds in places.items() if is_database(uri)}
