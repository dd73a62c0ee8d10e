"""Remove duplicates of stores that links or mounts show under several names.

The location of a file counts: a copy is a different store, and so is a backup made of hard links.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import cache

from native_reader.storage.mixed import one_log
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import Segment, StoreFiles

_log = logging.getLogger("native_reader")


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
