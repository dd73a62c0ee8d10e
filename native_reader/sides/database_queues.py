"""Consume queues in RocksDB (`layout.queue_database`), in the directory `consumequeue`.

A running broker has its newest entries only in memory.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from native_reader.broker.rocksdb import Database, is_database, open_database
from native_reader.errors import UnreadableError
from native_reader.layout.queue_database import (
    DATABASE_ENTRY,
    OFFSETS,
    entries_prefix,
    entry_key,
    is_entry,
    max_key,
    next_offset_in,
    numbers_in,
    queue_of_max,
)
from native_reader.layout.queue_entry import LIGHT_TOPIC, is_written, read_place
from native_reader.layout.record import Numbers
from native_reader.sides.bounds import Bounds, EntryPlace, bounds_of
from native_reader.sides.queues import Entries, Queue

_AT_ONCE = 32 << 10


class DatabaseQueues:
    """The queues in the databases of one store.

    A broker that was changed to RocksDB, or back, leaves the other queues behind. They end earlier.
    """

    def __init__(self, databases: Iterable[Database]) -> None:
        self._databases = {queue: database for database in databases for queue in queues_in(database)}

    def names(self, but: Container[tuple[str, int]] = (), *, light: bool = False) -> list[tuple[str, int]]:
        """The topic and the number of each queue, but for these. `light`: also light queues (LMQ)."""
        return sorted(
            database for database in self._databases if database not in but and (light or not database[0].startswith(LIGHT_TOPIC))
        )

    def is_newer(self, queue: Queue) -> bool:
        """Whether a database has this queue, and more of it than its files."""
        database = self._databases.get((queue.topic, queue.queue_id))
        if database is None:
            return False
        bounds = bounds_of(queue, 0)
        return bounds is None or bounds.max_offset <= (next_offset(database, queue.topic, queue.queue_id) or 0)

    def bounds(self, topic: str, queue_id: int, lowest: int) -> Bounds:
        """The bounds of a queue in a log that begins at offset `lowest`."""
        return _bounds(self._databases[topic, queue_id], topic, queue_id, lowest)

    def units(self, topic: str, queue_id: int) -> Iterator[tuple[Numbers, NDArray[np.void]]]:
        """The queue offsets and the entries of a queue, in pieces."""
        return _units_from(self._databases[topic, queue_id], topic, queue_id, 0)

    def entries_from(self, topic: str, queue_id: int, number: int) -> Iterator[Entries]:
        """The entries of a queue from that queue offset on, in pieces, ascending; none if no database has it."""
        database = self._databases.get((topic, queue_id))
        return iter(()) if database is None else entries_from(database, topic, queue_id, number)


@contextmanager
def queues_in_databases(directories: Iterable[str]) -> Iterator[DatabaseQueues]:
    """The queues in the databases among these directories. One that cannot be opened has none: `why_unreadable` says why."""
    with ExitStack() as stack:
        databases = []
        for directory in directories:
            if is_database(directory):
                try:
                    databases.append(stack.enter_context(open_database(directory)))
                except UnreadableError:
                    continue
        yield DatabaseQueues(databases)


def why_unreadable(directory: str) -> str | None:
    """Why the database in a directory cannot be opened; None if it can be, or if there is none."""
    try:
        if is_database(directory):
            with open_database(directory):
                pass
    except UnreadableError as error:
        return str(error)
    return None


def queues_in(database: Database) -> Iterator[tuple[str, int]]:
    """The topic and the number of each queue in a database."""
    for key, _ in database.items(family=OFFSETS):
        if (queue := queue_of_max(key)) is not None:
            yield queue


def next_offset(database: Database, topic: str, queue_id: int) -> int | None:
    """The queue offset after the last entry of a queue; None if the database does not have it."""
    key = max_key(topic, queue_id)
    return next((next_offset_in(value) for found, value in database.items(key, family=OFFSETS) if found == key), None)


def entries_from(database: Database, topic: str, queue_id: int, number: int) -> Iterator[Entries]:
    """The entries of a queue from that queue offset on, in pieces."""
    for numbers, units in _units_from(database, topic, queue_id, number):
        offsets, sizes, codes = (units[name].astype(np.int64) for name in ("offset", "size", "tags_code"))
        yield Entries(numbers, np.ones(len(numbers), np.int64), offsets, sizes, codes).where(is_written(units))


def _units_from(database: Database, topic: str, queue_id: int, number: int) -> Iterator[tuple[Numbers, NDArray[np.void]]]:
    prefix = entries_prefix(topic, queue_id)
    entries = database.items(prefix, start=entry_key(prefix, number))
    while piece := list(islice(entries, _AT_ONCE)):
        whole = [(key, value) for key, value in piece if is_entry(key, value, prefix)]
        if whole:
            yield numbers_in([key for key, _ in whole]), np.frombuffer(b"".join(value for _, value in whole), DATABASE_ENTRY)


def _bounds(database: Database, topic: str, queue_id: int, lowest: int) -> Bounds:
    most = next_offset(database, topic, queue_id) or 0
    oldest = _place_from(database, topic, queue_id, 0)
    newest = None if most == 0 else _place_from(database, topic, queue_id, most - 1)
    found = None if newest is not None or most == 0 else f"it has no entry {most - 1:,}, which should be its last"
    if oldest is None or oldest.number >= most:
        return Bounds(most, most, newest=newest, found=found)
    low, high = oldest.number, oldest.number if oldest.offset >= lowest else most
    while low < high:
        middle = (low + high) // 2
        place = _place_from(database, topic, queue_id, middle)
        if place is None or place.offset >= lowest:
            high = middle
        else:
            low = place.number + 1
    first = _place_from(database, topic, queue_id, low)
    if first is None or first.number >= most:
        return Bounds(most, most, expired=most - oldest.number, newest=newest, found=found)
    last = newest if newest is not None and newest.is_written else None
    return Bounds(first.number, most, most - first.number, 0, first.number - oldest.number, first, last, newest, found)


def _place_from(database: Database, topic: str, queue_id: int, number: int) -> EntryPlace | None:
    """The first entry at or after that queue offset."""
    prefix = entries_prefix(topic, queue_id)
    for key, value in database.items(prefix, start=entry_key(prefix, number)):
        if is_entry(key, value, prefix):
            return EntryPlace(int(numbers_in([key])[0]), 1, *read_place(value))
    return None
