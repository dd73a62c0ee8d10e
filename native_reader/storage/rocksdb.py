"""The RocksDB databases of brokers 5.x (`storeType=defaultRocksDB`): configuration, consumer offsets, consume queues.

The extra `rocksdb` reads them. A database is never opened in place: rocksdict then writes a file into its directory, and RocksDB
writes a log file where the OPTIONS file of the store says. So links to the data files, without OPTIONS, are made in a
temporary directory, and that is opened read-only. Entries that a running broker still has in memory are not in the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from native_reader.errors import UnreadableError
from native_reader.storage.local import linked
from native_reader.storage.protocol import DirEntry, storage_of

CURRENT = "CURRENT"
"""The file by which a database is known. It names the manifest."""
_DATA_FILE = re.compile(r"CURRENT|MANIFEST-[0-9]+|[0-9]+\.(?:sst|log)")
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
                raise UnreadableError(
                    f"the RocksDB database {self.uri} has more than {_MOST_HELD:,} bytes of entries, which is the limit for settings and "
                    "consumer offsets. The messages can be read without them. RocketMQ's mqadmin rocksDBConfigToJson prints them"
                )
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


@contextmanager
def open_database(uri: str) -> Iterator[Database]:
    """Open the database in that directory, which does not change."""
    try:
        import rocksdict  # the extra `rocksdb`; large, so only when it is needed
    except ImportError as error:
        text = f"{uri} is a RocksDB database. To read it, install the extra: pip install 'rmqstore-spark[rocksdb]' ({error})"
        raise ExtraMissing(text) from None
    files = data_files(uri)
    size = sum(entry.size for entry in files)
    if not uri.startswith("file://") and size > _MOST_COPIED:
        raise UnreadableError(f"{uri} is a RocksDB database of {size:,} bytes, which can be read only from a local disk. Copy the store")

    def options() -> Any:
        made = rocksdict.Options(raw_mode=True)
        made.create_if_missing(False)
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
        raise UnreadableError(f"the RocksDB database {uri} cannot be read: {text}. It may be an incomplete copy") from error
