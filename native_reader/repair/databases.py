"""Databases of RocksDB in a repair: all but that of the queues are copied as they are, and it, too, if its entries are right.

Records keep their places, and each placeholder has the place and the size of the record that was there. So the entries of a database
that is whole lead to all of them. If it lacks entries, the new store has the file `abort`: a broker then puts the records into the queues
again, from the segment on to which they reach. If that is not enough, the database is left out, and it does so for all records
(`CommitLog.recoverAbnormally`, `RocksDBConsumeQueueStore.isMappedFileMatchedRecover`, 5.4.0, 5.5.0). With an ordinary start, it would leave
out the first record after those that are in the queues.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from native_reader.broker.databases import databases_of, has_settings, is_new
from native_reader.errors import UnreadableError
from native_reader.layout.queue_database import DISPATCHED, OFFSETS, dispatched_in
from native_reader.layout.store_database import STORE_DATABASE
from native_reader.repair.refusals import refusal
from native_reader.sentences import verbatim
from native_reader.sides.copies import QueueCopies
from native_reader.sides.queues import Queue, queues_of, topics_in
from native_reader.storage.rocksdb import early_end, is_database, open_database
from native_reader.storage.rocksdb_queues import queues_uri
from native_reader.storage.store import QUEUE_DATABASES, StoreFiles

_NOTHING = ("holds nothing",)
_WITH_QUEUES = ("topics", "metadata")
"""Databases of settings that brokers have with storeType=defaultRocksDB, and not with queues in files."""


class QueueDatabase(NamedTuple):
    """The database of a store with queues. `beside`: the directory of their files, if they are served from there.

    `is_whole`: it can be opened, and its newest changes are read. `dispatched`: it has the entries of records before that offset.
    """

    uri: str
    beside: str | None
    is_whole: bool
    dispatched: int = 0

    @property
    def is_second(self) -> bool:
        """Whether a broker serves queues from files, and writes them to the database, too."""
        return self.beside is not None


def refuse_databases(files: StoreFiles, topics: Sequence[str]) -> None:
    """Raise an error about a database that a repair, or an extract of topics, would have to write."""
    for each in databases_of(files):
        if each.holds == _NOTHING:
            continue
        name = each.uri.removeprefix(f"{files.uri}/")
        if each.is_extra_missing:
            raise refusal("rocksdb unread", store=files.uri, name=name)
        if each.holds is None and each.uri not in files.databases:
            kind = "rocksdb store damaged" if name == STORE_DATABASE else "rocksdb damaged"
            raise refusal(kind, store=files.uri, name=name, why=verbatim(each.found or ""))
        if topics and (each.uri in files.databases or f"{each.uri}/".startswith(f"{files.config}/")):
            raise refusal("rocksdb extract", store=files.uri, name=name)
    if len(used := [uri for uri in files.databases if not is_new(uri)]) > 1:
        raise refusal("rocksdb twice", store=files.uri, names=" and ".join(uri.removeprefix(f"{files.uri}/") for uri in used))


def queue_database(files: StoreFiles) -> QueueDatabase | None:
    """The database of a store with queues, if anything was ever written to it; one that is missing, if the settings show that."""
    uri = next((each for each in files.databases if not is_new(each)), None)
    beside = _files_in_use(files, uri)
    if uri is None:
        is_missing = beside is None and _has_queues_in_databases(files)
        return QueueDatabase(files.consume_queue or f"{files.uri}/{QUEUE_DATABASES[0]}", None, is_whole=False) if is_missing else None
    try:
        with open_database(uri) as database:
            found = dict(database.items(DISPATCHED, family=OFFSETS)).get(DISPATCHED)
    except UnreadableError:
        return QueueDatabase(uri, beside, is_whole=False)
    return QueueDatabase(uri, beside, early_end(uri) is None, 0 if found is None else dispatched_in(found))


def _has_queues_in_databases(files: StoreFiles) -> bool:
    """Whether the settings are where only a broker with queues in RocksDB has them (storeType=defaultRocksDB)."""
    return files.config is not None and any(is_database(f"{files.config}/{name}") for name in _WITH_QUEUES)


def _files_in_use(files: StoreFiles, uri: str | None) -> str | None:
    """The directory with files of queues from which a broker serves.

    The database can be a copy that it writes beside them (rocksdbCQDoubleWriteEnable), or an old one that it no longer uses.
    """
    directory = files.consume_queue or uri
    in_files = [] if directory is None else [queue for queue in queues_in((directory,)) if queue.files]
    if directory is None or uri is None or not in_files:
        return directory if in_files else None
    copies = QueueCopies((directory, queues_uri(uri)))
    ahead = [copies.compare(queue.topic, queue.queue_id) for queue in in_files]
    if _has_queues_in_databases(files):
        is_used = min(ahead) >= 0 and max(ahead) > 0
    else:
        is_used = files.config is None or not has_settings(files.config) or min(ahead) >= 0
    return directory if is_used else None


def has_index(files: StoreFiles) -> bool:
    """Whether an index is in a database."""
    return any("holds default" in (each.holds or ()) for each in databases_of(files))


def queues_in(directories: Sequence[str]) -> Iterator[Queue]:
    """All queues in some directories."""
    return (queue for topic in topics_in(directories, light=True) for queue in queues_of(topic))
