"""Which paths are used if a store and a broker's configuration file are both given: a copy has its parts below it, not where they were."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cache

from native_reader.errors import PathError, warn
from native_reader.sentences import Said, say
from native_reader.storage.broker_conf import StorePaths
from native_reader.storage.discovery import find_stores
from native_reader.storage.paths import uri_of
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import StoreFiles

_LOG, _QUEUES, _INDEX = "storePathCommitLog", "storePathConsumeQueue", "storePathIndex"
_log = logging.getLogger("native_reader")


def paths_that_count(conf: str, paths: Sequence[str], given: StorePaths, configured: StorePaths) -> StorePaths:
    """The configured paths without those of another place: the named store has its own part, or they do not exist here.

    `given`: the parts that the user named. If the file is that of the named store, its paths count where they exist.
    """
    own = _named(paths, given)
    if own is None:
        return configured
    is_its = (configured.root is not None and _location(configured.root) == _location(own.uri)) or _has_log_of(own, configured)
    logs = (*configured.commit_log, *filter(None, [configured.dledger]))
    unused: dict[str, str | None] = {}
    if logs and not given.commit_log and own.segments and not (is_its and any(map(_exists, logs))):
        unused[_LOG] = own.uri
    for setting, path, below, is_given in (
        (_QUEUES, configured.consume_queue, own.consume_queue, given.consume_queue),
        (_INDEX, configured.index, own.index, given.index),
    ):
        if path is not None and not is_given and not (_exists(path) and (is_its or below is None)):
            unused[setting] = below
    _say(conf, unused, own.uri)
    return StorePaths(
        configured.root,
        () if _LOG in unused else configured.commit_log,
        None if _LOG in unused else configured.dledger,
        None if _QUEUES in unused else configured.consume_queue,
        None if _INDEX in unused else configured.index,
    )


def _say(conf: str, unused: Mapping[str, str | None], store: str) -> None:
    """Say which settings do not count. `unused`: each with what the store has instead, if anything."""
    if own := [setting for setting, below in unused.items() if below]:
        _say_once(say("own paths", conf=conf, settings=", ".join(own), store=store))
    if missing := [setting for setting, below in unused.items() if below is None]:
        _say_once(say("paths missing", conf=conf, settings=", ".join(missing)))


def _named(paths: Sequence[str], given: StorePaths) -> StoreFiles | None:
    """The only store at these paths; None if there is no log or there are several stores."""
    try:
        stores = find_stores(paths, StorePaths(commit_log=given.commit_log)) if paths else []
    except PathError:  # its log is elsewhere
        return None
    return stores[0] if len(stores) == 1 else None


def _has_log_of(own: StoreFiles, configured: StorePaths) -> bool:
    """Whether the configuration names the log directory of this store as one of its own."""
    mine = {_location(segment.uri.rpartition("/")[0]) for segment in own.segments}
    return any(_location(log) in mine for log in configured.commit_log)


def _location(path: str) -> object:
    uri = uri_of(path)
    return storage_of(uri).location(uri)


def _exists(path: str) -> bool:
    uri = uri_of(path)
    try:
        return storage_of(uri).entry(uri) is not None
    except OSError:  # it may not be looked at, so it is there
        return True


@cache
def _say_once(said: Said) -> None:
    """Once in a process: a store is opened again and again."""
    warn(_log, said)
