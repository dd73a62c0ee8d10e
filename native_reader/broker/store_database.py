"""What a broker 5.4.0+ keeps of transactions and timers in RocksDB (`layout.store_database`), if it is set to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from native_reader.layout.progress import TimerCheck
from native_reader.layout.record import Numbers
from native_reader.layout.store_database import (
    LAST_OFFSET,
    SCANNED,
    STORE_DATABASE,
    TIMELINE,
    TIMERS,
    TRANSACTIONS,
    number_in,
    undecided_in,
)
from native_reader.storage.rocksdb import Database, has_entries, is_database, open_database


class UndecidedHalves(NamedTuple):
    """The half messages that a broker has not decided: their offsets, ascending, and how often it asked the producer of each.

    `indexed`: the broker knew all half messages up to that offset; -1 for none.
    """

    offsets: Numbers
    checks: Numbers
    indexed: int


NONE_UNDECIDED = UndecidedHalves(np.empty(0, np.int64), np.empty(0, np.int64), -1)


def has_store_database(store: str) -> bool:
    """Whether the store at that URI has this database and something was ever written to it."""
    uri = f"{store}/{STORE_DATABASE}"
    return is_database(uri) and has_entries(uri)


def undecided_halves(store: str) -> UndecidedHalves | None:
    """The half messages that are undecided in the store at that URI; None if a copy of it lacks the database.

    Raises UnreadableError if it cannot be read.
    """
    if not has_store_database(store):
        return None
    with open_database(f"{store}/{STORE_DATABASE}") as database:
        rows = sorted(row for each in database.few_items(family=TRANSACTIONS) if (row := undecided_in(*each)) is not None)
        indexed = _number(database, TRANSACTIONS, LAST_OFFSET)
    offsets, checks = np.array(rows, np.int64).reshape(-1, 2).T
    return UndecidedHalves(offsets, checks, -1 if indexed is None else indexed)


def timer_in_database(store: str) -> TimerCheck | None:
    """How far a timer in RocksDB is; None if the store at that URI has none. Raises UnreadableError if it cannot be read."""
    if not has_store_database(store):
        return None
    with open_database(f"{store}/{STORE_DATABASE}") as database:
        time, scanned = (_number(database, TIMERS, name) for name in (TIMELINE, SCANNED))
    return None if time is None else TimerCheck(time, 0, scanned or 0, 0)


def _number(database: Database, family: str, name: bytes) -> int | None:
    return next((number_in(value) for key, value in database.items(name, family=family) if key == name), None)
