"""Find stores at the paths a user gives: a store, a commitlog directory, one segment, a parent of stores, a glob, or several."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from native_reader.errors import OptionError, PathError, StoreError, UnreadableError, option_name
from native_reader.storage.broker_conf import Parts
from native_reader.storage.local import local_uri, text_of
from native_reader.storage.misses import no_log_directory, no_store, not_there
from native_reader.storage.mixed import one_log
from native_reader.storage.once import each_once
from native_reader.storage.protocol import Entry, scheme_of, storage_of
from native_reader.storage.store import DLEDGER, Segment, StoreFiles, is_segment_name, segments_in
from native_reader.storage.strays import KEPT, is_stray, only_strays, strays_in

_QUEUES = ("consumequeue", "consumequeue_ext", "batchconsumequeue", "compactionLog", "compactionCq")
"""Each holds files `<topic>/<queue>/<20 digits>`."""
_LEVELS_UP = 5
_WILD = re.compile(r"[*?\[]")


class _Place(NamedTuple):
    uri: str
    entry: Entry


class _Log(NamedTuple):
    """The segments and strays in one directory of a log."""

    uri: str
    segments: list[Segment]
    strays: list[str]


def find_stores(paths: Sequence[str], parts: Parts) -> list[StoreFiles]:
    """The stores at those paths, each once; `parts` other than `root` are allowed for a single store only."""
    paths = paths or ([parts.root] if parts.root else [])
    if parts == Parts(root=parts.root):
        return each_once([store for path in paths for store in _stores_of(path)], _store)
    if parts.commit_log or parts.dledger:
        roots = [place.uri for path in paths for place in _expanded(path, must_exist=path != parts.root)]
        _refuse_several(len(roots))
        return [_with_parts(_with_logs(roots[0] if roots else None, parts), parts)]
    stores = each_once([store for path in paths for store in _stores_of(path)], _store)
    _refuse_several(len(stores))
    if not stores:
        raise OptionError(f"parts of a store were named, but neither its path nor {option_name('store_path_commit_log')}")
    return [_with_parts(stores[0], parts)]


def uri_of(path: Any) -> str:
    """The absolute URI of a path, without a trailing slash."""
    text = text_of(path)
    if not text:
        raise OptionError("the path is empty. '.' is the directory one is in")
    return local_uri(text) if scheme_of(text) in (None, "file") else text.rstrip("/")


# Parts outside the store's root


def _refuse_several(count: int) -> None:
    if count > 1:
        names = [option_name(f"store_path_{part}") for part in ("commit_log", "consume_queue", "index")]
        raise OptionError(f"{names[0]}, {names[1]} and {names[2]} name parts of one store, not of {count}")


def _with_logs(root: str | None, parts: Parts) -> StoreFiles:
    """The store whose log is in the directories that `parts` names."""
    logs = [uri_of(path) for path in parts.commit_log]
    # A broker with several log directories may not have created all of them yet.
    there = [place for log in logs if len(logs) == 1 or _entry(log) is not None for place in _expanded(log)]
    if logs and not there:
        raise PathError(f"none of the log's directories exists: {', '.join(logs)}")
    home = _home_of(root or (logs[0] if logs else uri_of(parts.dledger)))
    entries = _list_if_possible(home)
    if not logs:
        there = [_Place(f"{home}/{entry.name}", entry) for entry in entries if entry.is_directory and entry.name == "commitlog"]
    found = [_log_at(place) for place in there]
    found += [_log_at(place, DLEDGER) for place in _expanded(parts.dledger)] if parts.dledger else _dledger_of(home, entries) or []
    return _store_of(home, found)


def _with_parts(store: StoreFiles, parts: Parts) -> StoreFiles:
    return replace(
        store,
        consume_queue=uri_of(parts.consume_queue) if parts.consume_queue else store.consume_queue,
        index=uri_of(parts.index) if parts.index else store.index,
    )


def _log_at(place: _Place, framing: str | None = None) -> _Log:
    """The log in a directory that the user named as a log directory."""
    uri, entry = place
    entries = storage_of(uri).list(uri) if entry.is_directory else []
    found = _log_in(uri, entries, framing)
    if not found.segments and (not entry.is_directory or any(each.name == "commitlog" for each in entries)):
        raise PathError(no_log_directory(uri, entry, entries))
    return found


# From a path to its stores


def _stores_of(path: str) -> list[StoreFiles]:
    places = _expanded(path)
    # A link such as `latest` may point elsewhere tomorrow, so prefer real names among the stores of one path.
    stores = each_once(list(_stores_among(places)), _store, real_first=True)
    if stores:
        return stores
    if len(places) > 1:
        raise PathError(f"{path}: none of the {len(places)} files and directories that match is a store, or part of one")
    raise PathError(_no_store(places[0]))


def _expanded(path: Any, must_exist: bool = True) -> list[_Place]:
    """The places that match a path with `*`, `?` or `[...]`; the path itself if it exists or has no wildcard."""
    uri = uri_of(path)
    entry = _entry(uri)
    if entry is not None:
        return [_Place(uri, entry)]
    if not _WILD.search(storage_of(uri).unquoted(uri)):
        if must_exist:
            raise PathError(_not_there(uri))
        return [_Place(uri, Entry("", 0, 0, False, False))]
    found = _matches(uri)
    if not found:
        raise PathError(f"{uri}: no file or directory matches")
    return found


def _matches(uri: str) -> list[_Place]:
    storage = storage_of(uri)
    scheme, _, rest = uri.partition("://")
    first, *parts = rest.split("/")
    found: list[tuple[str, Entry | None]] = [(f"{scheme}://{first}", None)]
    for part in parts:
        name = storage.unquoted(part)
        if _WILD.search(name):
            entries = [(base, each) for base, _ in found for each in _list_if_possible(base) if _fits(each.name, name)]
            found = [(f"{base}/{storage.quoted(each.name)}", each) for base, each in entries]
        else:
            found = [(f"{base}/{part}", None) for base, _ in found]
    return [_Place(each, known) for each, entry in found if (known := entry or _entry(each)) is not None]


def _fits(name: str, pattern: str) -> bool:
    """Match as a shell does: hidden files need a pattern that starts with a dot. A name that contains `[` also matches itself."""
    return name == pattern or (fnmatch.fnmatchcase(name, pattern) and (name[0] != "." or pattern[0] == "."))


def _stores_among(places: Sequence[_Place]) -> Iterator[StoreFiles]:
    """The stores at those places; places without a store, or part of one, are skipped."""
    files: dict[str, list[Entry]] = {}
    for uri, entry in places:
        if entry.is_file and (is_segment_name(entry.name) or (len(places) > 1 and is_stray(entry.name))):
            files.setdefault(uri.rpartition("/")[0], []).append(entry)
    for log, entries in files.items():
        if not _is_beside_the_log(log):
            yield _store_of_log(log, entries)
    for uri, entry in places:
        if entry.is_directory:
            yield from _stores_below(uri, storage_of(uri).list(uri))


def _stores_below(uri: str, entries: Sequence[Entry]) -> Iterator[StoreFiles]:
    """The store whose root or log is this directory; otherwise the stores directly inside it."""
    if store := _store_at(uri, entries):
        yield store
        return
    for entry in entries:
        child = f"{uri}/{storage_of(uri).quoted(entry.name)}"
        if entry.is_directory and (store := _store_with_root(child, _list_if_possible(child))):
            yield store


def _store_at(uri: str, entries: Sequence[Entry]) -> StoreFiles | None:
    """The store with this root or commitlog directory."""
    if _is_beside_the_log(uri):
        return None
    if any(entry.is_file and is_segment_name(entry.name) for entry in entries):
        return _store_of_log(uri, entries)
    if store := _store_with_root(uri, entries):
        return store
    return _store_of_log(uri, entries) if uri.endswith("/commitlog") else None


def _store_of_log(log: str, entries: Sequence[Entry]) -> StoreFiles:
    return _store_of(_home_of(log), [_log_in(log, entries, DLEDGER if _is_dledger(log) else None)])


def _log_in(directory: str, entries: Sequence[Entry], framing: str | None = None) -> _Log:
    return _Log(directory, segments_in(directory, entries, framing), strays_in(entries))


def _store_with_root(uri: str, entries: Sequence[Entry]) -> StoreFiles | None:
    """The store with this root."""
    if _is_beside_the_log(uri):
        return None
    logs = [f"{uri}/{entry.name}" for entry in entries if entry.is_directory and entry.name == "commitlog"]
    dledger = _dledger_of(uri, entries)
    if not logs and dledger is None:
        return None
    return _store_of(uri, [*(_log_in(log, storage_of(uri).list(log)) for log in logs), *(dledger or ())])


def _dledger_of(root: str, entries: Iterable[Entry]) -> list[_Log] | None:
    """The log of the only DLedger node with segments, below a store's root; None if no node has a log directory."""
    storage = storage_of(root)
    nodes = [entry.name for entry in entries if entry.is_directory and entry.name.startswith("dledger-")]
    places = {node: log for node in nodes if (found := _entry(log := f"{root}/{storage.quoted(node)}/data")) and found.is_directory}
    logs = {node: _log_in(log, storage.list(log), DLEDGER) for node, log in places.items()}
    used = {node: log for node, log in logs.items() if log.segments}
    if len(used) > 1:
        one = next(iter(used.values())).uri
        raise PathError(f"{root} holds the logs of several DLedger nodes: {', '.join(used)}. Load one of them: {one}")
    return list(used.values() or logs.values()) if logs else None


def _store_of(home: str, logs: Iterable[_Log]) -> StoreFiles:
    """The store with those logs. Raises PathError if there are only strays: a compressed log must not look empty."""
    logs = list(logs)
    found = _store(home, [segment for log in logs for segment in log.segments])
    if not any(log.strays for log in logs):
        return found
    there = {segment.name for segment in found.segments}
    strays = [(log.uri, [name for name in log.strays if name[:20] not in there]) for log in logs if log.strays]
    if not there:
        raise PathError(only_strays(*strays[0]))
    return replace(found, strays=tuple(name for _, names in strays for name in names)[:KEPT])


def _store(home: str, segments: Iterable[Segment]) -> StoreFiles:
    found = {segment.uri: segment for segment in segments}
    names = {entry.name for entry in _list_if_possible(home) if entry.is_directory}
    queues, index, config, batches = (
        f"{home}/{name}" if name in names else None for name in ("consumequeue", "index", "config", "batchconsumequeue")
    )
    return StoreFiles(home, one_log(list(found.values())), queues, index, config, batches)


# What a directory is, by its name


def _home_of(log: str) -> str:
    """The root of the store of a commitlog directory: its parent in the usual layout, otherwise the directory itself."""
    if _is_dledger(log):
        return log.rsplit("/", 2)[0]
    parent, _, name = log.rpartition("/")
    return parent if name == "commitlog" else log


def _is_dledger(uri: str) -> bool:
    _, node, name = f"//{uri}".rsplit("/", 2)
    return name == "data" and node.startswith("dledger-")


def _is_beside_the_log(uri: str) -> bool:
    """Whether files named by 20 digits in that directory are not segments: queues, the timer, DLedger's index, compacted copies."""
    _, above, parent, name = f"///{uri}".rsplit("/", 3)
    if name in (*_QUEUES, "timerlog") or (name == "index" and parent.startswith("dledger-")):
        return True
    return parent in _QUEUES or (above in _QUEUES and name.isdecimal())


def _entry(uri: str) -> Entry | None:
    return storage_of(uri).entry(uri)


def _list_if_possible(uri: str) -> list[Entry]:
    """The entries of a directory that the user did not name; empty if it cannot be read or is not a directory."""
    try:
        return storage_of(uri).list(uri)
    except (FileNotFoundError, NotADirectoryError, UnreadableError):
        return []


# Error texts for a path without a store


def _not_there(uri: str) -> str:
    parent, _, missing = uri.rpartition("/")
    while parent.count("/") > 2 and _entry(parent) is None:
        parent, _, missing = parent.rpartition("/")
    return not_there(uri, parent, missing, [entry.name for entry in _list_if_possible(parent)])


def _no_store(place: _Place) -> str:
    uri, entry = place
    log = uri if entry.is_directory else uri.rpartition("/")[0]
    return no_store(uri, entry, _list_if_possible(uri), _is_beside_the_log(log), next(_stores_above(uri), None))


def _stores_above(uri: str) -> Iterator[tuple[str, int]]:
    for _ in range(_LEVELS_UP):
        uri = uri.rpartition("/")[0]
        if uri.count("/") < 3:
            return
        try:
            store = _store_at(uri, _list_if_possible(uri))
        except StoreError:
            continue
        if store is not None:
            yield uri, len(store.segments)
