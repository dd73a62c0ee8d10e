"""Files in which some ranges come from other files: a log whose lost bytes another store of the same log has.

Such a storage lives as long as the object, in one process. Nothing is written.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from native_reader.storage.protocol import DirEntry, Storage, StoredFile, mount, register, storage_of

SCHEME = "filled"


class Range(NamedTuple):
    """Positions `[start, stop)` of a file, which are those from `at` on of the file `uri`."""

    start: int
    stop: int
    uri: str
    at: int


class FilledFile(StoredFile):
    """A file with ranges of others. `ranges`: in order, none overlaps another."""

    def __init__(self, uri: str, own: str, ranges: Sequence[Range]) -> None:
        super().__init__(uri)
        self._own, self._ranges = storage_of(own).open(own), ranges
        self._others: dict[str, StoredFile] = {}

    def size(self) -> int:
        return max(self._own.size(), max((each.stop for each in self._ranges), default=0))

    def identity(self) -> int:
        return self._own.identity()

    def written(self) -> int:
        return self._own.written()

    def next_data(self, offset: int) -> int:
        """As a hint, a range is data."""
        after = bisect_right(self._ranges, offset, key=lambda each: each.stop)
        begin = max(offset, self._ranges[after].start) if after < len(self._ranges) else self.size()
        return min(self._own.next_data(offset), begin)

    def _read(self, offset: int, view: memoryview) -> int:
        after = bisect_right(self._ranges, offset, key=lambda each: each.stop)
        found = self._ranges[after] if after < len(self._ranges) else None
        if found is not None and found.start <= offset:
            return self._other(found.uri).read_into(found.at + offset - found.start, view[: found.stop - offset])
        return self._own.read_into(offset, view if found is None else view[: found.start - offset])

    def _other(self, uri: str) -> StoredFile:
        if uri not in self._others:
            self._others[uri] = storage_of(uri).open(uri)
        return self._others[uri]

    def close(self) -> None:
        for each in (self._own, *self._others.values()):
            each.close()
        self._others = {}


class FilledStorage(Storage):
    """Files by name, each with the URI of its own bytes and its ranges."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[str, Sequence[Range]]] = {}
        self._url = mount(SCHEME, self)

    def add(self, own: str, ranges: Sequence[Range]) -> str:
        """The URI of the file at `own` with these ranges."""
        uri = f"{self._url}/{len(self._files)}/{own.rpartition('/')[2]}"
        self._files[uri] = own, ranges
        return uri

    def own(self, uri: str) -> str:
        """The file with the own bytes."""
        return self._files[uri][0]

    def contents(self, uri: str, most: int) -> Iterator[tuple[int, bytes]]:
        """The bytes of its ranges, at most so many at once: position and content."""
        for each in self._files[uri][1]:
            with storage_of(each.uri).open(each.uri) as file:
                for at in range(each.start, each.stop, most):
                    (content,) = file.read_ranges([(each.at + at - each.start, min(most, each.stop - at))])
                    yield at, content

    def _list(self, uri: str) -> list[DirEntry]:
        raise NotADirectoryError(uri)

    def _entry(self, uri: str) -> DirEntry | None:
        if uri not in self._files:
            return None
        with self._open(uri) as file:
            return DirEntry(uri.rpartition("/")[2], file.size(), file.identity(), True, False)

    def _open(self, uri: str) -> StoredFile:
        if uri not in self._files:
            raise FileNotFoundError(uri)
        return FilledFile(uri, *self._files[uri])


register(SCHEME, None)


def own_uri(uri: str) -> str:
    """The file with a file's own bytes: that file itself, unless it is filled."""
    storage = storage_of(uri) if uri.startswith(f"{SCHEME}://") else None
    return storage.own(uri) if isinstance(storage, FilledStorage) else uri


def filled_contents(uri: str, most: int) -> Iterator[tuple[int, bytes]]:
    """The bytes that come from other files: position and content. None, unless the file is filled."""
    storage = storage_of(uri) if uri.startswith(f"{SCHEME}://") else None
    if isinstance(storage, FilledStorage):
        yield from storage.contents(uri, most)
