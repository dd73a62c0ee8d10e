"""Find stores at the paths a user gives: a store, a commitlog directory, one segment, a parent of stores, a glob, or several.

Paths become places (`paths`), the entries of a directory show the logs in it, and logs become stores.

A store that links or mounts show under several names is read once. The location of a file counts: a copy is a different store, and so is
a backup made of hard links.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice, pairwise
from typing import NamedTuple

from native_reader.errors import OptionError, PathError, StoreError, option_name, warn
from native_reader.sentences import commas, say
from native_reader.storage.broker_conf import StorePaths
from native_reader.storage.misses import MOST_NAMED, further_below, no_log_directory, no_store
from native_reader.storage.packed import SCHEME as PACKED
from native_reader.storage.packed import is_readable, unpacked_size
from native_reader.storage.paths import KnownPlaces, Place, uri_of
from native_reader.storage.protocol import DirEntry, map_stores, storage_of
from native_reader.storage.rocksdb import CURRENT, is_database
from native_reader.storage.store import DLEDGER, QUEUE_DATABASES, Segment, StoreFiles, framing_of, is_segment_name, one_log, segments_in
from native_reader.storage.strays import KEPT, is_stray, offset_in, only_strays, strays_in
from native_reader.text import names_of

_QUEUES = ("consumequeue", "consumequeue_ext", "batchconsumequeue", "compactionLog", "compactionCq")
"""Each holds files `<topic>/<queue>/<20 digits>`."""
COMPACTED = "compaction/compactionLog"
"""The logs of compacted topics, below a store's root."""
_log = logging.getLogger("native_reader")
_LEVELS_UP = 5
_LEVELS_DOWN, _LOOKED_AT, _LOOKED_AT_SLOWLY = 4, 2000, 50
"""Where a directory without a store is searched for stores to name: so deep, and at so many directories."""
_USUAL_SIZE = 1 << 30
"""Of a segment, unless `mappedFileSizeCommitLog` is set."""
_LOGS, _QUEUE_DIRECTORY, _INDEX = (option_name(f"store_path_{part}") for part in ("commit_log", "consume_queue", "index"))


class _LogDirectory(NamedTuple):
    """The segments and strays in one directory of a log."""

    uri: str
    segments: list[Segment]
    strays: list[str]


def find_stores(paths: Sequence[str], parts: StorePaths) -> list[StoreFiles]:
    """The stores at those paths, each once; `parts` other than `root` are allowed for a single store only."""
    paths = paths or ([parts.root] if parts.root else [])
    places = KnownPlaces()
    if parts.commit_log or parts.dledger:
        stores = [_store_with_named_logs(places, paths, parts)]
    else:
        stores = each_once([store for path in paths for store in _stores_of(path, places.matching(path))])
    if parts.consume_queue or parts.index:
        _refuse_several(len(stores))
        if not stores:
            raise OptionError(say("parts without path", queues=_QUEUE_DIRECTORY, index=_INDEX, logs=_LOGS))
    queues, index = (uri_of(path) if path else None for path in (parts.consume_queue, parts.index))
    if queues:
        databases = (queues,) if is_database(queues) else ()
        stores = [replace(store, consume_queue=queues, databases=databases) for store in stores]
    return [replace(store, index=index) for store in stores] if index else stores


def _refuse_several(count: int) -> None:
    if count > 1:
        raise OptionError(say("parts of one store", logs=_LOGS, queues=_QUEUE_DIRECTORY, index=_INDEX, count=count))


# Logs outside the store's root


def _store_with_named_logs(places: KnownPlaces, paths: Sequence[str], parts: StorePaths) -> StoreFiles:
    """The store whose log is in the directories that `parts` names."""
    roots = [place.uri for path in paths for place in places.matching(path, must_exist=path != parts.root)]
    _refuse_several(len(roots))
    logs = [uri_of(path) for path in parts.commit_log]
    # A broker with several log directories may not have created all of them yet.
    named = [place for log in logs if len(logs) == 1 or places.at(log).entry is not None for place in places.matching(log)]
    if logs and not named:
        raise PathError(say("miss logs", logs=", ".join(logs)))
    home = places.at(_home_of(roots[0] if roots else logs[0] if logs else uri_of(parts.dledger)))
    plain = [_named_log(place) for place in (named if logs else _plain_logs(home))]
    dledger = [_named_log(place, DLEDGER) for place in places.matching(parts.dledger)] if parts.dledger else _dledger_logs(home)
    return _store_of(home, [*plain, *dledger])


def _named_log(place: Place, framing: str | None = None) -> _LogDirectory:
    """The log in a directory that the user named as a log directory."""
    if f"/{COMPACTED}/" in place.uri and place.uri.rpartition("/")[2].isdecimal():
        raise PathError(say("miss compacted", uri=place.uri))
    entries = place.entries if place.is_directory else []
    log = _log_in(place.uri, entries, framing)
    if not log.segments and (not place.is_directory or any(entry.name == "commitlog" for entry in entries)):
        raise no_log_directory(place.uri, place.entry, entries)
    return log


# From a path to its stores


def _stores_of(path: str, places: Sequence[Place]) -> list[StoreFiles]:
    # A link such as `latest` may point elsewhere tomorrow, so prefer real names among the stores of one path.
    stores = each_once([*_stores_of_files(places), *_stores_of_directories(places)], real_first=True)
    if stores:
        if len(places) == 1 and (deeper := _one_level_deeper(places[0], stores)):
            _log_deeper(places[0].storage.unquoted(places[0].uri), deeper)
        return stores
    if len(places) > 1:
        raise PathError(say("miss among matches", path=path, count=len(places)))
    (place,) = places
    if below := list(islice(_stores_further_below(place), MOST_NAMED + 1)):
        raise further_below(place.storage.unquoted(place.uri), below)
    log = place.uri if place.is_directory else place.uri.rpartition("/")[0]
    raise no_store(place.uri, place.entry, place.listing, _is_beside_the_log(log), next(_stores_above(place), None))


def _stores_of_files(places: Sequence[Place]) -> Iterator[StoreFiles]:
    """The stores of the segments that are named one by one."""
    files: dict[str, list[DirEntry]] = {}
    for place in places:
        entry = place.entry
        if entry is None or not entry.is_file:
            continue
        if is_segment_name(entry.name) or is_readable(entry.name) or (len(places) > 1 and is_stray(entry.name)):
            files.setdefault(place.uri.rpartition("/")[0], []).append(entry)
    for directory, entries in files.items():
        if not _is_beside_the_log(directory):
            yield _store_of_log(places[0].places.at(directory), entries)


def _stores_of_directories(places: Sequence[Place]) -> Iterator[StoreFiles]:
    """The store whose root or log a directory is; otherwise the stores whose roots are inside it."""
    for stores in map_stores(_stores_of_directory, places, [place.uri for place in places]):
        yield from stores


def _stores_of_directory(place: Place) -> list[StoreFiles]:
    if not place.is_directory:
        return []
    if store := _store_at(place, place.entries):
        return [store]
    children = [child for child in _directories_in(place) if not _is_beside_the_log(child.uri)]
    if place.storage.tree(place.uri) is None:
        found = map_stores(_store_in, children, [child.uri for child in children])
        return [store for store in found if store is not None]
    last, stores = " ", list[StoreFiles]()
    for child in children:
        if not child.uri.startswith(last) and (inside := _store_in(child)):
            last = f"{child.uri}/"
            stores.append(inside)
    return stores


def _store_in(root: Place) -> StoreFiles | None:
    """The store with that root."""
    logs = _logs_below(root)
    return _store_of(root.places.keep(root), logs) if logs else None


def _directories_in(place: Place) -> Iterator[Place]:
    """The directories in a directory; those at any depth in an archive, where listing them costs nothing."""
    below = place.storage.tree(place.uri)
    if below is None:
        return (place.below(entry) for entry in place.entries if entry.is_directory)
    return (place.places.near(place, uri) for uri in below)


def _store_at(place: Place, entries: Sequence[DirEntry]) -> StoreFiles | None:
    """The store with this root or commitlog directory."""
    if _is_beside_the_log(place.uri):
        return None
    if any(entry.is_file and is_segment_name(entry.name) for entry in entries):
        return _store_of_log(place, entries)
    if logs := _logs_below(place):
        return _store_of(place, logs)
    return _store_of_log(place, entries) if place.uri.endswith("/commitlog") else None


def _stores_further_below(place: Place) -> Iterator[str]:
    """The stores deeper in a directory than its own directories. Looks at a limited number of directories, the upper ones first."""
    if not place.is_directory or _is_beside_the_log(place.uri):
        return
    left = _LOOKED_AT_SLOWLY if place.storage.is_slow else _LOOKED_AT
    level, seen = [place], {place.storage.location(place.uri)}
    for depth in range(_LEVELS_DOWN):
        found = (above.below(entry) for above in level for entry in above.listing if entry.is_directory and entry.name[0] != ".")
        by_location = {each.storage.location(each.uri): each for each in islice(found, left)}  # links can lead in circles
        level = [each for location, each in by_location.items() if location not in seen and not _is_beside_the_log(each.uri)]
        seen |= by_location.keys()
        left -= len(by_location)
        if depth == 0:  # they are no stores: they were looked at before
            continue
        stores = {each.uri for each in level if _is_store(each)}
        yield from sorted(map(place.storage.unquoted, stores))
        level = [each for each in level if each.uri not in stores]


def _one_level_deeper(place: Place, stores: Sequence[StoreFiles]) -> tuple[str, ...]:
    """Stores in those directories beside the stores of a parent that are none: backups often have one, such as HOST/store."""
    roots = {store.uri for store in stores}
    if not all(root.startswith(f"{place.uri}/") for root in roots) or place.storage.is_slow or place.storage.tree(place.uri) is not None:
        return ()
    beside = (place.below(entry) for entry in place.listing if entry.is_directory and entry.name[0] != ".")
    others = (each for each in beside if not (each.uri in roots or _is_beside_the_log(each.uri) or _is_store(each)))
    inside = (each.below(entry) for each in others for entry in each.listing if entry.is_directory)
    return tuple(sorted(each.uri for each in islice(inside, _LOOKED_AT) if _is_store(each)))


def _is_store(place: Place) -> bool:
    try:
        return _store_at(place, place.listing) is not None
    except StoreError:
        return False


def _stores_above(place: Place) -> Iterator[tuple[str, int]]:
    """The stores whose root or log is a parent of this place, and their number of segments."""
    uri = place.uri
    for _ in range(_LEVELS_UP):
        uri = uri.rpartition("/")[0]
        if uri.count("/") < 3:
            return
        above = place.places.at(uri)
        try:
            store = _store_at(above, above.listing)
        except StoreError:
            continue
        if store is not None:
            yield uri, len(store.segments)


# From directories to logs


def _log_in(directory: str, entries: Sequence[DirEntry], framing: str | None = None) -> _LogDirectory:
    return _LogDirectory(directory, segments_in(directory, entries, framing), strays_in(entries))


def _logs_below(root: Place) -> list[_LogDirectory]:
    """The plain log and the DLedger log directly below a store's root."""
    return [*(_log_in(log.uri, log.entries) for log in _plain_logs(root)), *_dledger_logs(root)]


def _plain_logs(root: Place) -> list[Place]:
    logs = [root.below(entry) for entry in root.listing if entry.is_directory and entry.name == "commitlog"]
    return [root.places.keep(log) for log in logs]


def _dledger_logs(root: Place) -> list[_LogDirectory]:
    """The log of the only DLedger node with segments, below a store's root; all logs if none has segments."""
    nodes = {entry.name: root.below(entry) for entry in root.listing if entry.is_directory and entry.name.startswith("dledger-")}
    places = {name: root.places.keep(root.places.near(root, f"{node.uri}/data")) for name, node in nodes.items()}
    logs = {name: _log_in(place.uri, place.entries, DLEDGER) for name, place in places.items() if place.is_directory}
    used = {node: log for node, log in logs.items() if log.segments}
    if len(used) > 1:
        one = next(iter(used.values())).uri
        raise PathError(say("miss one node", uri=root.uri, nodes=commas(used), one=one))
    return list(used.values() or logs.values())


# From logs to a store


def _store_of_log(log: Place, entries: Sequence[DirEntry]) -> StoreFiles:
    home = _home_of(log.uri)
    logs = [_log_in(log.uri, entries, DLEDGER if _is_dledger(log.uri) else None)]
    return _store_of(log if home == log.uri else log.places.at(home), logs)


def _store_of(home: Place, logs: Sequence[_LogDirectory]) -> StoreFiles:
    """The store with those logs. Raises PathError if there are only strays: a renamed log must not look empty."""
    plain = [segment for log in logs for segment in log.segments]
    if not any(log.strays for log in logs):
        return _store(home, plain)
    known = {segment.base for segment in plain}
    strays = [(log.uri, [name for name in log.strays if offset_in(name) not in known]) for log in logs if log.strays]
    packed = _packed_in(strays, plain)
    if not (plain or packed):
        raise PathError(only_strays(*strays[0]))
    if packed:
        _log_packed(home.uri, len(packed))
    store, read = _store(home, [*plain, *packed]), {segment.base for segment in packed}
    left = sorted(name for _, missing in strays for name in missing if offset_in(name) not in read)
    return replace(store, strays=tuple(left[:KEPT]), packed_from=_leading(left, store.segments[0]))


def _packed_in(strays: Sequence[tuple[str, Sequence[str]]], plain: Sequence[Segment]) -> list[Segment]:
    """The strays that can be read as they are, one of each offset.

    A segment is as large as others, or ends where the next one begins. The last one is unpacked to know its size.
    """
    found: dict[int, str] = {}
    for directory, names in strays:
        for name in filter(is_readable, names):
            found.setdefault(offset_in(name), f"{PACKED}{directory}/{storage_of(directory).quoted(name)}")
    bases = sorted({*found, *(segment.base for segment in plain)})
    sizes = [segment.size for segment in plain] or [other - one for one, other in pairwise(bases)]
    usual = max(set(sizes), key=sizes.count) if sizes else _USUAL_SIZE
    segments = []
    for base, uri in sorted(found.items()):
        entry = storage_of(uri).entry(uri)
        if entry is None:  # deleted meanwhile
            continue
        try:
            with storage_of(uri).open(uri) as file:
                if file.read_ranges([(0, 1)]) == [b""]:  # a copy of it, or its packing, ended before it began
                    continue
        except OSError:  # it is something else, or damaged at its beginning
            continue
        after = next((other for other in bases if other > base), None)
        size = _unpacked(uri, usual) if after is None else min(usual, after - base)
        segments.append(Segment(base, size, uri, entry.identity, framing_of([uri])))
    return segments


def _unpacked(uri: str, usual: int) -> int:
    """The size of a packed segment; of a damaged one, the usual size."""
    try:
        return unpacked_size(uri)
    except OSError:
        return usual


@cache
def _log_packed(uri: str, count: int) -> None:
    """Once in a process."""
    warn(_log, say("packed read", uri=uri, segments=count))


@cache
def _log_deeper(uri: str, deeper: tuple[str, ...]) -> None:
    """Once in a process."""
    names = names_of(list(deeper), MOST_NAMED)
    warn(_log, say("stores deeper", uri=uri, names=names))


def _leading(strays: Iterable[str], first: Segment) -> int | None:
    """Where those begin that lead up to the first segment without a hole, if they are as large as it is; None if none does."""
    offsets, begin = {offset_in(name) for name in strays}, first.base
    while begin - first.size in offsets:
        begin -= first.size
    return begin if begin < first.base else None


def _store(home: Place, segments: Iterable[Segment]) -> StoreFiles:
    unique = {segment.uri: segment for segment in segments}
    names = {entry.name for entry in home.listing if entry.is_directory}
    queues, index, config, batches = (
        f"{home.uri}/{name}" if name in names else None for name in ("consumequeue", "index", "config", "batchconsumequeue")
    )
    databases = tuple(f"{home.uri}/{name}" for name in QUEUE_DATABASES if name in names and _has_database(home, name))
    return StoreFiles(home.uri, one_log(list(unique.values())), queues, index, config, batches, databases)


def _has_database(home: Place, name: str) -> bool:
    """Whether a directory in a store's root holds a RocksDB database."""
    current = home.places.keep(home.places.near(home, f"{home.uri}/{name}/{CURRENT}"))
    try:
        return current.is_file
    except OSError:
        return False


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


def each_once(stores: Sequence[StoreFiles], *, real_first: bool = False) -> list[StoreFiles]:
    """Each store once, under its first name, or with `real_first` under the name with the fewest links."""
    if len(stores) < 2:
        return list(stores)
    alike: dict[Hashable, list[StoreFiles]] = {}
    for store in sorted(stores, key=lambda store: storage_of(store.uri).links(store.uri)) if real_first else stores:
        alike.setdefault(storage_of(store.uri).location(store.uri), []).append(store)
    files = _Files()
    whole = [group[0] if len(group) == 1 else _one_of(group, files) for group in alike.values()]
    for group in alike.values():
        for uri in {store.uri for store in group} - {group[0].uri}:
            _log_duplicate(uri, group[0].uri)
    return _without_shared(whole, files)


def _one_of(group: Sequence[StoreFiles], files: _Files) -> StoreFiles:
    strays = dict.fromkeys(name for store in group for name in store.strays)
    return replace(group[0], segments=one_log(files.unique(group)), strays=tuple(strays))


def _without_shared(stores: Sequence[StoreFiles], files: _Files) -> list[StoreFiles]:
    """No segment in two stores: drop a store that is part of another. If two overlap, the later one loses the shared segments."""
    numbers = [[files.number(segment) for segment in store.segments] for store in stores]
    if len(set().union(*numbers)) == sum(map(len, numbers)):
        return list(stores)
    kept: list[StoreFiles] = []
    taken: set[int] = set()
    for which, (store, own) in enumerate(zip(stores, numbers, strict=True)):
        whole = _whole_of(which, stores, numbers)
        if whole is not None:
            _log_duplicate(store.uri, whole.uri)
            continue
        left = tuple(segment for segment, number in zip(store.segments, own, strict=True) if number not in taken)
        if len(left) < len(own):
            _log_shared(store.uri, len(own) - len(left))
        kept.append(store if len(left) == len(own) else replace(store, segments=left))
        taken.update(own)
    return kept


def _whole_of(which: int, stores: Sequence[StoreFiles], numbers: Sequence[Sequence[int]]) -> StoreFiles | None:
    """Another store that has all files of this one. If both have the same files, the one with queues wins, then the first."""
    own, rank = set(numbers[which]), (not stores[which].queues, which)
    for other, theirs in enumerate(map(set, numbers)):
        if own and (own < theirs or (own == theirs and (not stores[other].queues, other) < rank)):
            return stores[other]
    return None


class _Files:
    """A number for each file, the same for all its names. Queries the file system only for files that look alike."""

    def __init__(self) -> None:
        self._alike: dict[tuple[int, int, int], list[tuple[Segment, int]]] = {}
        self._count = 0
        self._location = cache(lambda uri: storage_of(uri).location(uri))

    def number(self, segment: Segment) -> int:
        """The number of a segment's file."""
        alike = self._alike.setdefault((segment.base, segment.size, segment.identity), [])
        for known, number in alike:
            if self._is_same(known, segment):
                return number
        self._count += 1
        alike.append((segment, self._count))
        return self._count

    def unique(self, stores: Iterable[StoreFiles]) -> list[Segment]:
        """The segments of those stores, each file once, under its first name."""
        unique: dict[int, Segment] = {}
        for store in stores:
            for segment in store.segments:
                unique.setdefault(self.number(segment), segment)
        return list(unique.values())

    def _is_same(self, one: Segment, other: Segment) -> bool:
        if one.uri == other.uri:
            return True
        directories = (segment.directory for segment in (one, other))
        if one.name == other.name and len(set(map(self._location, directories))) == 1:
            return True
        return bool(self._location(one.uri) == self._location(other.uri))


@cache
def _log_duplicate(uri: str, other: str) -> None:
    """Log once, and only at INFO: the rows are right, and the user may have made the link deliberately."""
    _log.info("%s is another name for %s, or for a part of it. It is read once, as %s", uri, other, other)


@cache
def _log_shared(uri: str, count: int) -> None:
    _log.info("%s: %d of its segments also belong to other stores. They are read only there", uri, count)
