"""The RocksDB databases of brokers 5.x (`storeType=defaultRocksDB`): configuration, consumer offsets, consume queues.

The extra `rocksdb` reads them. A database is never opened in place: rocksdict then writes a file into its directory, and RocksDB
writes a log file where the OPTIONS file of the store says. So links to the data files, without OPTIONS, are made in a
temporary directory, and that is opened read-only. Entries that a running broker still has in memory are not in the files.

After damage in a write-ahead log, RocksDB ignores the rest of it, as brokers do (`PointInTimeRecovery`): the newest changes are then
missing without an error. So the logs are checked here, and each read warns of such damage.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from native_reader.errors import UnreadableError, warn
from native_reader.sentences import Said, say
from native_reader.storage.local import linked
from native_reader.storage.protocol import DirEntry, storage_of
from native_reader.storage.wal import damage_in

CURRENT = "CURRENT"
"""The file by which a database is known. It names the manifest."""
_DATA_FILE = re.compile(r"CURRENT|MANIFEST-[0-9]+|[0-9]+\.(?:sst|log)")
_LOG = re.compile(r"([0-9]+)\.log")
_log = logging.getLogger("native_reader")
_LONGER_THAN_ANY = 16
"""As a suffix of 0xFF: after each key of a family whose keys go on for fewer bytes after the prefix."""
_MOST_COPIED = 256 << 20
_MOST_HELD = 128 << 20
"""For entries that are held in memory, where they take several times this size."""


class ExtraMissing(UnreadableError):
    """The library that reads databases is not installed."""


class Database:
    """An open database."""

    def __init__(self, uri: str, path: str, database: Any, families: list[str]) -> None:
        self.uri, self._path = uri, path
        self._families = {name: database if name == "default" else database.get_column_family(name) for name in families}

    def items(self, prefix: bytes = b"", *, start: bytes = b"", family: str = "default") -> Iterator[tuple[bytes, bytes]]:
        """The entries whose keys begin with `prefix`, by key, from `start` on; none without that column family."""
        if family not in self._families:
            return
        with _named(self.uri, self._path):
            entries = self._families[family].iter()
            entries.seek(max(start, prefix))
            while entries.valid() and (key := entries.key()).startswith(prefix):
                yield key, entries.value()
                entries.next()
            entries.status()

    def first_key(self, prefix: bytes, start: bytes = b"") -> bytes | None:
        """The first key with that prefix, from `start` on; None if there is none."""
        with _named(self.uri, self._path):
            entries = self._families["default"].iter()
            entries.seek(max(start, prefix))
            return self._key_of(entries, prefix)

    def last_key(self, prefix: bytes) -> bytes | None:
        """The last key with that prefix; None if there is none."""
        with _named(self.uri, self._path):
            entries = self._families["default"].iter()
            entries.seek_for_prev(prefix + b"\xff" * _LONGER_THAN_ANY)
            return self._key_of(entries, prefix)

    def value(self, key: bytes) -> bytes | None:
        """The value of exactly that key."""
        with _named(self.uri, self._path):
            value: bytes | None = self._families["default"].get(key)
            return value

    def has(self, key: bytes) -> bool:
        """Whether there is an entry with exactly that key."""
        with _named(self.uri, self._path):
            return key in self._families["default"]

    def between(self, start: bytes, stop: bytes) -> list[tuple[bytes, bytes]]:
        """The entries with keys from `start` on and below `stop`: for ranges that hold few."""
        found: list[tuple[bytes, bytes]] = []
        with _named(self.uri, self._path):
            entries = self._families["default"].iter()
            entries.seek(start)
            while entries.valid() and (key := entries.key()) < stop:
                found.append((key, entries.value()))
                entries.next()
            entries.status()
        return found

    @staticmethod
    def _key_of(entries: Any, prefix: bytes) -> bytes | None:
        entries.status()
        key = entries.key() if entries.valid() else None
        return key if key is not None and key.startswith(prefix) else None

    def few_items(self, prefix: bytes = b"", *, family: str = "default") -> Iterator[tuple[bytes, bytes]]:
        """As `items`, for callers that hold all entries: raises an error if they are too large."""
        size = 0
        for key, value in self.items(prefix, family=family):
            size += len(key) + len(value)
            if size > _MOST_HELD:
                raise UnreadableError(say("database too large", uri=self.uri, most=_MOST_HELD))
            yield key, value


def is_database(directory: str | None) -> bool:
    """Whether a directory holds a RocksDB database."""
    if directory is None:
        return False
    try:
        entry = storage_of(directory).entry(f"{directory}/{CURRENT}")
    except OSError:
        return False
    return entry is not None and entry.is_file


def size_of_database(uri: str) -> int:
    """The bytes of its data files."""
    return sum(entry.size for entry in data_files(uri))


def has_entries(uri: str) -> bool:
    """Whether anything was ever written to the database in that directory. A new one has only a manifest and an empty log."""
    return any(entry.size and not entry.name.startswith(("CURRENT", "MANIFEST")) for entry in data_files(uri))


def data_files(uri: str) -> list[DirEntry]:
    """The files that hold its entries, and those that say which these are."""
    return [entry for entry in storage_of(uri).list(uri) if entry.is_file and _DATA_FILE.fullmatch(entry.name)]


def early_end(uri: str) -> Said | None:
    """Where the database in that directory is damaged so that RocksDB ignores its newest changes; None if nothing shows it."""
    try:
        return _early_end(uri, data_files(uri))
    except OSError:  # it cannot be opened either, which is said there
        return None


def _early_end(uri: str, files: Sequence[DirEntry]) -> Said | None:
    """The first damage in its logs. Where a broker was killed, a log ends with half a record or zeros, which is none.

    A write-ahead log whose entries are in tables is not read any more. So damage in one that is not the newest counts only if RocksDB
    refuses to open the database when it must not ignore damage.
    """
    logs = sorted((entry for entry in files if _LOG.fullmatch(entry.name)), key=lambda entry: int(entry.name.partition(".")[0]))
    for place, entry in enumerate(logs):
        offset = damage_in(f"{uri}/{entry.name}") if entry.size else None
        if offset is not None and (entry == logs[-1] or _is_refused(uri, files)):
            unread = entry.size - offset + sum(each.size for each in logs[place + 1 :])
            return say("database ends early", uri=uri, file=entry.name, offset=offset, bytes=unread)
    return None


def _is_refused(uri: str, files: Sequence[DirEntry]) -> bool:
    try:
        with _opened(uri, files, is_strict=True):
            return False
    except UnreadableError:
        return True


@contextmanager
def open_database(uri: str) -> Iterator[Database]:
    """Open the database in that directory, which does not change. Warns if its newest changes are not read."""
    if (early := early_end(uri)) is not None:
        warn(_log, early, is_loss=True)
    with _opened(uri, data_files(uri)) as database:
        yield database


def why_unopened(uri: str) -> UnreadableError | None:
    """Why the database in that directory cannot be opened; None if it can be."""
    try:
        with _opened(uri, data_files(uri)):
            return None
    except UnreadableError as error:
        return error


@contextmanager
def _opened(uri: str, files: Sequence[DirEntry], is_strict: bool = False) -> Iterator[Database]:
    try:
        import rocksdict  # the extra `rocksdb`; large, so only when it is needed
    except ImportError as error:
        raise ExtraMissing(say("no rocksdb library", uri=uri, error=str(error))) from None
    size = sum(entry.size for entry in files)
    if not uri.startswith("file://") and size > _MOST_COPIED:
        raise UnreadableError(say("database remote", uri=uri, size=size))

    def options() -> Any:
        made = rocksdict.Options(raw_mode=True)
        made.create_if_missing(False)
        if is_strict:
            made.set_wal_recovery_mode(rocksdict.DBRecoveryMode.tolerate_corrupted_tail_records())
        return made

    # RocksDB opens all files at once, and keeps them open: the links are not needed after that.
    with linked({entry.name: f"{uri}/{entry.name}" for entry in files}) as path, _named(uri, path):
        families = rocksdict.Rdict.list_cf(path, options())
        others = {name: options() for name in families if name != "default"}
        database = rocksdict.Rdict(path, options(), others, rocksdict.AccessType.read_only())
    try:
        yield Database(uri, path, database, families)
    finally:
        database.close()


@contextmanager
def _named(uri: str, path: str) -> Iterator[None]:
    """RocksDB's errors, of no class of their own, as ours; with the names of the store's files, not of their links in `path`."""
    try:
        yield
    except (GeneratorExit, OSError):
        raise
    except Exception as error:
        text = " ".join(str(error).replace(path, uri).split()).rstrip(".")
        raise UnreadableError(say("database unreadable", uri=uri, text=text)) from error
