"""The files of tiered storage that are on a disk (posix provider): where they are, and those of each queue.

    <any folder>/<8 hex>_<cluster>/<broker>/<topic>/<queue>/COMMIT_LOG/<8 hex><20 digits>      records, one after another
                                                            CONSUME_QUEUE/<8 hex><20 digits>   20 bytes for each record

The digits are the place at which a file begins; the 8 hex before them change the order of names, and say nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from native_reader.broker.config_files import versions
from native_reader.errors import OptionError, option_name
from native_reader.sentences import say
from native_reader.storage.broker_conf import tiered_settings_if_any
from native_reader.storage.paths import list_if_possible, uri_of
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import Segment, StoreFiles, log_of_files
from native_reader.text import names_of

METADATA = "tieredStoreMetadata.json"
_CLUSTER = re.compile(r"[0-9a-f]{8}_.+")
_SEGMENT = re.compile(r"[0-9a-f]{8}([0-9]{20})")
_QUEUE = re.compile(r"0|[1-9][0-9]{0,9}")
_OTHERS = frozenset(("commitlog", "consumequeue", "batchconsumequeue", "index", "config", "compaction", "timerlog"))
_LOOKED_AT = 200
"""Folders in which those of a tier are looked for."""
_MOST_NAMED = 5


class TierFile(NamedTuple):
    """One file: its place, and the position in its queue or log at which it begins."""

    uri: str
    base: int
    size: int
    identity: int


class TierQueue(NamedTuple):
    """The files of one queue, in order. `uri`: their folder."""

    broker: str
    topic: str
    queue_id: int
    uri: str

    @property
    def name(self) -> tuple[str, int]:
        """Its topic and number."""
        return self.topic, self.queue_id

    @property
    def entries(self) -> list[TierFile]:
        """The files that name its records."""
        return _files_in(f"{self.uri}/CONSUME_QUEUE")

    @property
    def logs(self) -> list[TierFile]:
        """The files of its records."""
        return _files_in(f"{self.uri}/COMMIT_LOG")

    def as_store(self) -> StoreFiles:
        """Its records as the log of a store: the segments of a tier have no other place for them."""
        segments = [Segment(file.base, file.size, file.uri, file.identity) for file in self.logs]
        return StoreFiles(self.uri, log_of_files(segments))


def _files_in(folder: str) -> list[TierFile]:
    """The files that are not empty. A broker makes each of them empty."""
    files = [(entry, _SEGMENT.fullmatch(entry.name)) for entry in list_if_possible(folder) if entry.is_file and entry.size]
    found = (TierFile(f"{folder}/{entry.name}", int(name[1]), entry.size, entry.identity) for entry, name in files if name is not None)
    return sorted((file for file in found if file.base < 2**63), key=lambda file: file.base)


def queues_of_tier(store: StoreFiles, path: str | None) -> list[TierQueue]:
    """The queues in the tier of a store. `path`: the folder that the user names.

    Raises:
        OptionError: There is no tier on a disk, or there are several.
    """
    chosen = option_name("tiered_store_file_path")
    for folder in _clusters_in(uri_of(path)) if path else tier_folders(store.uri, store.tier or tier_path(store.uri, None)):
        queues = list(queues_below(folder))
        brokers = sorted({queue.broker for queue in queues})
        own = [broker for broker in brokers if broker in _brokers_of(store)] or brokers
        if len(own) > 1:
            names = names_of(own, _MOST_NAMED)
            raise OptionError(say("several tiers", folder=folder, names=names, option=chosen))
        if own:
            return [queue for queue in queues if queue.broker == own[0]]
    where = say("no tier folder", path=str(path)) if path else say("tier not found", store=store.uri)
    raise OptionError(say("no tier", where=where, option=chosen))


def _brokers_of(store: StoreFiles) -> set[str]:
    """The brokers that the metadata of a store names."""
    for _, content in versions(store.config, METADATA):
        table = content.get("commitLogFileSegmentTable") if isinstance(content, dict) else None
        if isinstance(table, dict) and table:
            return {name.rsplit("/", 2)[0] for name in table if isinstance(name, str)}
    return set()


def tier_folders(store: str, configured: str | None) -> Iterator[str]:
    """The folders of clusters that can be the tier of a store: below it, where its broker's configuration says, and beside it."""
    below, beside = _folders(store), _folders(store.rpartition("/")[0])
    yield from (cluster for folder in below for cluster in _clusters_in(folder))
    if configured:
        yield from _clusters_in(uri_of(configured))
    for cluster in (cluster for folder in beside for cluster in _clusters_in(folder)):
        topics = {queue.topic for queue in queues_below(cluster)}
        own = {entry.name for folder in ("consumequeue", "batchconsumequeue") for entry in list_if_possible(f"{store}/{folder}")}
        if topics <= own:  # else it can be that of another broker
            yield cluster


def _folders(above: str) -> list[str]:
    """The folders there that have no other use."""
    names = [name for name in directories_in(above) if name not in _OTHERS][:_LOOKED_AT]
    return [f"{above}/{storage_of(above).quoted(name)}" for name in names]


def _clusters_in(folder: str) -> list[str]:
    if _CLUSTER.fullmatch(folder.rpartition("/")[2]):
        return [folder]
    return [f"{folder}/{storage_of(folder).quoted(name)}" for name in directories_in(folder) if _CLUSTER.fullmatch(name)]


def queues_below(cluster: str) -> Iterator[TierQueue]:
    """The queues in the folder of a cluster. A name that is not UTF-8 cannot be that of a topic."""
    storage = storage_of(cluster)
    for broker in directories_in(cluster):
        for topic in directories_in(one := f"{cluster}/{storage.quoted(broker)}"):
            for queue in directories_in(two := f"{one}/{storage.quoted(topic)}") if topic.isprintable() else ():
                if _QUEUE.fullmatch(queue) and int(queue) < 2**31:
                    yield TierQueue(broker, topic, int(queue), f"{two}/{queue}")


def tier_path(store: str, conf: str | None) -> str | None:
    """The path of the tier in a broker's configuration file, or in that of the store; None if neither has one."""
    return next((path for uri in (conf, f"{store}/broker.conf") if (path := settings_in(uri))), None)


def settings_in(uri: str | None) -> str | None:
    """The path of the tier in a configuration file: empty if it has none, None if the broker has no tier."""
    return None if uri is None else tiered_settings_if_any(uri)


def directories_in(uri: str) -> list[str]:
    """The names of the folders there; none if they cannot be listed."""
    try:
        return storage_of(uri).directories(uri)
    except OSError:  # no permission, or deleted meanwhile
        return []
