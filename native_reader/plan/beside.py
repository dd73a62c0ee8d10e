"""What is beside the log of a store: its queues, index and other files, which are compared with the records."""

from __future__ import annotations

from dataclasses import dataclass, replace

from native_reader.plan.planning import Planning
from native_reader.sides.queues import topics_in
from native_reader.storage.protocol import storage_of
from native_reader.storage.rocksdb_queues import database_of, why_unreadable
from native_reader.storage.store import StoreFiles, is_live

_LONGEST_TOLERANCE = 2**50


@dataclass(frozen=True, slots=True)
class Sides:
    """The files beside the log of one store. Small, because every part carries it."""

    uri: str
    directories: tuple[str, ...]
    """Of the queues; empty if they cannot be checked."""
    index: str | None
    config: str | None
    begin: int
    end: int
    """The log has offsets `[begin, end)`."""
    is_live: bool
    stopped: bool
    """Whether the broker stopped cleanly, so that everything must be dispatched."""
    discarded: bool
    """Whether a broker discarded records at the end: their entries remain."""
    slots: int | None
    tolerance: int
    """How far store times may step back, in milliseconds."""


def sides_of(store: StoreFiles, end: int, stale: int, planning: Planning) -> Sides:
    """What is beside the log of a store that ends there. `stale`: the bytes of old records after it."""
    live = is_live(store.uri)
    crashed = storage_of(store.uri).entry(f"{store.uri}/abort") is not None
    return Sides(
        store.uri,
        tuple(directory for directory in store.queues if _is_checked(store, directory)),
        store.index,
        store.config,
        store.first_record,
        end,
        live,
        not live and not crashed,
        stale > 0,
        planning.max_hash_slot_num,
        min(planning.time_skew_tolerance // 1000, _LONGEST_TOLERANCE),
    )


def compared_sides(store: StoreFiles, end: int, stale: int, planning: Planning) -> Sides | None:
    """The same, to compare records with while they are read; None beside a running broker, whose queues are behind the log."""
    # The configuration only tells what queues lack, and a read of it logs warnings.
    return None if is_live(store.uri) else replace(sides_of(store, end, stale, planning), config=None)


def _is_checked(store: StoreFiles, directory: str) -> bool:
    """Whether a directory of queues can be checked: not a database that cannot be opened, nor one as a directory of files."""
    database = database_of(directory)
    if database is not None:
        return why_unreadable(database) is None
    return directory not in store.databases or bool(topics_in((directory,), light=True))
