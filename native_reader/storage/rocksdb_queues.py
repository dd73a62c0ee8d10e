"""Consume queues in RocksDB (`layout.queue_database`) as files: each queue is one file, with the entries of an ordinary queue file.

`rocksdb+file:///x/consumequeue/CURRENT` is the directory of the queues in the database in `file:///x/consumequeue`, and
`rocksdb+file:///x/consumequeue/CURRENT/orders/0/00000000000000000000` the file of queue 0 of `orders`. So whatever reads queues reads
these too, and checks them in the same way. An entry that the database does not have is zeros: not written.

To open a database takes long. So it stays open for a second after its last use. When its files have changed, it is opened again.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property
from multiprocessing import current_process
from threading import Lock, Thread
from time import monotonic, sleep
from typing import NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.queue_database import (
    DATABASE_ENTRY,
    OFFSETS,
    QueueEnd,
    end_in,
    entries_prefix,
    entry_key,
    is_entry,
    numbers_in,
    queue_of_max,
)
from native_reader.layout.queue_entry import QUEUE_ENTRY
from native_reader.sentences import Said, told
from native_reader.storage.protocol import DirEntry, Storage, StoredFile, register, storage_of
from native_reader.storage.rocksdb import CURRENT, Database, data_files, open_database, why_unopened

SCHEME = "rocksdb+"
"""Before the scheme of the database's URI."""
_CURRENT = f"/{CURRENT}"
"""Here the file is a directory."""
_WIDTH = QUEUE_ENTRY.itemsize
_LARGEST = 2**62 // _WIDTH
_AT_ONCE = 32 << 10
_KEPT = 4
"""Databases that are open at once in a process."""
_LINGERS = 1.0
"""How many seconds a database stays open without being used."""


def queues_uri(database: str) -> str:
    """The directory of the queues in the database in that directory."""
    return f"{SCHEME}{database}{_CURRENT}"


def database_of(uri: str) -> str | None:
    """The directory of the database of such a URI; None for others."""
    return uri.removeprefix(SCHEME).partition(_CURRENT)[0] if is_in_database(uri) else None


def is_in_database(uri: str) -> bool:
    """Whether this is the URI of queues in a database, or of one of them."""
    return uri.startswith(SCHEME)


def why_unreadable(database: str) -> Said | None:
    """Why the database in that directory cannot be opened; None if it can be."""
    error = why_unopened(database)
    return None if error is None else told(error)


class _Span(NamedTuple):
    """The queue offsets of one queue: of its first entry, and after its last one."""

    first: int
    stop: int


class _OpenQueues:
    """An open database, as long as anything uses it. `stamp`: its files when it was opened."""

    def __init__(self, uri: str, stamp: tuple[DirEntry, ...]) -> None:
        self.stamp, self.used = stamp, monotonic()
        self.identity = hash(stamp) & (2**63 - 1)
        stack = ExitStack()
        self.database: Database = stack.enter_context(open_database(uri))
        finalize(self, stack.close).atexit = False

    @cached_property
    def queues(self) -> Mapping[str, Mapping[int, QueueEnd]]:
        """The end of each queue, by topic and queue, as the broker wrote it; 0 if that is invalid."""
        found: dict[str, dict[int, QueueEnd]] = {}
        for key, value in self.database.items(family=OFFSETS):
            queue = queue_of_max(key)
            if queue is not None and "/" not in queue[0]:
                found.setdefault(queue[0], {})[queue[1]] = end_in(value) or QueueEnd(0, -1)
        return found

    def span(self, topic: str, queue_id: int) -> _Span:
        """The entries of a queue. One without entries has one that is not written, so that its number is known."""
        prefix, end = entries_prefix(topic, queue_id), self.queues[topic][queue_id]
        named = end.stop if end.stop < _LARGEST else 0
        first, last = self.database.first_key(prefix), self.database.last_key(prefix)
        if first is None or last is None:
            return _Span(named, named + 1)
        least, most = numbers_in([first, last]).tolist()
        if not 0 <= least <= most < _LARGEST:
            return _Span(named, named + 1)
        return _Span(least, named if least < named <= most and self._is_of_earlier_topic(last, end) else max(named, most + 1))

    def _is_of_earlier_topic(self, last: bytes, end: QueueEnd) -> bool:
        """Whether an entry after the end of its queue has an older record than the last entry.

        When a broker puts an existing log into RocksDB, the records of a topic that was created again come after those of the earlier
        topic, and replace their entries by number: of a longer earlier queue, the last entries remain.
        """
        value = self.database.value(last) or b""
        return len(value) == DATABASE_ENTRY.itemsize and int(np.frombuffer(value, DATABASE_ENTRY)["offset"][0]) < end.offset


class RocksdbQueues(Storage):
    """The storage of such URIs. `origin`: `rocksdb+` and that of the database's storage."""

    def __init__(self, origin: str) -> None:
        self._inner = storage_of(origin.removeprefix(SCHEME))
        self.call_costs, self.range_costs = self._inner.call_costs, self._inner.range_costs
        self._lock = Lock()
        self._open_queues: dict[str, _OpenQueues] = {}
        self._inherited = self._open_queues
        self._closes_in: int | None = None
        """The process with a thread that closes databases."""

    def _list(self, uri: str) -> list[DirEntry]:
        database, parts = self._split(uri)
        opened = self._look(database, again=not parts)
        match parts:
            case []:
                return [_directory(topic) for topic in opened.queues]
            case [topic]:
                return [_directory(str(number)) for number in opened.queues[topic]]
            case [topic, number]:
                return [_file(opened, topic, int(number))]
        raise NotADirectoryError(errno.ENOTDIR, "Not a directory", uri)

    def _directories(self, uri: str) -> list[str]:
        _, parts = self._split(uri)
        return [] if len(parts) > 1 else [entry.name for entry in self._list(uri)]

    def _entry(self, uri: str) -> DirEntry | None:
        try:
            database, parts = self._split(uri)
            opened = self._look(database)
            if len(parts) > 2:
                found = _file(opened, parts[0], int(parts[1]))
                return found if parts[2:] == [found.name] else None
            return _directory(parts[-1] if parts else CURRENT)
        except FileNotFoundError:
            return None

    def _open(self, uri: str) -> StoredFile:
        database, parts = self._split(uri)
        opened = self._look(database)
        if len(parts) != 3 or _file(opened, parts[0], int(parts[1])).name != parts[2]:
            raise _missing(uri)
        return _QueueFile(uri, opened, parts[0], int(parts[1]))

    def _split(self, uri: str) -> tuple[str, list[str]]:
        """The directory of the database, and topic, queue and file; FileNotFoundError if it has no such queue."""
        database, _, path = uri.removeprefix(SCHEME).partition(_CURRENT)
        parts = [self.unquoted(part) for part in path.split("/") if part]
        if parts:
            numbers = self._look(database).queues.get(parts[0])
            if numbers is None or not all(part.isascii() and part.isdecimal() for part in parts[1:]):
                raise _missing(uri)
            if len(parts) > 1 and int(parts[1]) not in numbers:
                raise _missing(uri)
        return database, parts

    def _look(self, database: str, *, again: bool = False) -> _OpenQueues:
        """The open database. `again`: as it is now, not as it was when it was opened."""
        with self._lock:
            if self._closes_in != current_process().ident:
                # In a fork, RocksDB has no threads: the databases of its parent are neither used nor closed.
                self._inherited, self._open_queues, self._closes_in = self._open_queues, {}, current_process().ident
                Thread(target=self._close_unused, name="rocksdb queues", daemon=True).start()
            opened = self._open_queues.get(database)
            if opened is None or again:
                stamp = tuple(data_files(database))
                if opened is None or opened.stamp != stamp:
                    opened = _OpenQueues(database, stamp)
            self._open_queues.pop(database, None)
            if len(self._open_queues) >= _KEPT:
                del self._open_queues[next(iter(self._open_queues))]
            self._open_queues[database] = opened
            opened.used = monotonic()
            return opened

    def _close_unused(self) -> None:
        """Let go of databases that were not used for a while, until there is none."""
        while True:
            sleep(_LINGERS / 2)
            with self._lock:
                too_old = monotonic() - _LINGERS
                for database in [name for name, opened in self._open_queues.items() if opened.used < too_old]:
                    del self._open_queues[database]
                if not self._open_queues:
                    self._closes_in = None
                    return

    def quoted(self, name: str) -> str:
        return self._inner.quoted(name)

    def unquoted(self, part: str) -> str:
        return self._inner.unquoted(part)


class _QueueFile(StoredFile):
    """The entries of one queue."""

    def __init__(self, uri: str, opened: _OpenQueues, topic: str, queue_id: int) -> None:
        super().__init__(uri)
        self._opened, self._prefix = opened, entries_prefix(topic, queue_id)
        self._span = opened.span(topic, queue_id)

    def size(self) -> int:
        return (self._span.stop - self._span.first) * _WIDTH

    def identity(self) -> int:
        return self._opened.identity

    def next_data(self, offset: int) -> int:
        """The first offset at or after `offset` with an entry."""
        number = self._span.first + offset // _WIDTH
        key = self._opened.database.first_key(self._prefix, entry_key(self._prefix, min(number, 2**63 - 1)))
        if key is None:
            return max(offset, self.size())
        place = min(int(numbers_in([key])[0]), self._span.stop) - self._span.first
        return max(offset, place * _WIDTH)

    def _read(self, offset: int, view: memoryview) -> int:
        length = min(len(view), self.size() - offset)
        if length <= 0:
            return 0
        place = offset // _WIDTH
        count = min(-(-(offset + length) // _WIDTH) - place, _AT_ONCE)
        rows = self.rows(place, count)
        units = np.ascontiguousarray(rows.view(np.uint8).reshape(count, -1)[:, :_WIDTH])
        begin = offset - place * _WIDTH
        got = min(length, units.size - begin)
        view[:got] = units.reshape(-1)[begin : begin + got].data
        return got

    def rows(self, place: int, count: int) -> NDArray[np.void]:
        """The values of so many entries from that place on; zeros where there is none."""
        rows = np.zeros(count, DATABASE_ENTRY)
        first = self._span.first + place
        found = self._opened.database.between(entry_key(self._prefix, first), entry_key(self._prefix, first + count))
        whole = [(key, value) for key, value in found if is_entry(key, value, self._prefix)]
        rows[numbers_in([key for key, _ in whole]) - first] = np.frombuffer(b"".join(value for _, value in whole), DATABASE_ENTRY)
        return rows

    def close(self) -> None:
        """The database stays open for others."""


def times_of(file: StoredFile, position: int, which: NDArray[np.intp]) -> NDArray[np.int64] | None:
    """When the records of these entries after `position` of a queue were stored; None if it is a file, which does not say so."""
    if not isinstance(file, _QueueFile) or not len(which):
        return None
    times: NDArray[np.int64] = file.rows(position // _WIDTH, int(which[-1]) + 1)["store_timestamp"][which].astype(np.int64)
    return times


def _directory(name: str) -> DirEntry:
    return DirEntry(name, 0, 0, False, True)


def _file(opened: _OpenQueues, topic: str, queue_id: int) -> DirEntry:
    span = opened.span(topic, queue_id)
    return DirEntry(f"{span.first * _WIDTH:020}", (span.stop - span.first) * _WIDTH, opened.identity, True, False)


def _missing(uri: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "No such file or directory", uri)


register(SCHEME, RocksdbQueues)
