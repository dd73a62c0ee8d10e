"""Files in which some ranges come from other files: a log whose lost bytes another store has.

Such a storage lives as long as the object, in one process. Nothing is written.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.properties import CRC_SIZE
from native_reader.layout.record import put_physical_offsets, put_queue_places
from native_reader.storage.protocol import DirEntry, Storage, StoredFile, mount, register, storage_of
from native_reader.writing.records import crc_field

SCHEME = "filled"
RANGE = np.dtype(
    [
        ("start", "i8"),
        ("stop", "i8"),
        ("file", "i8"),
        ("at", "i8"),
        ("offset", "i8"),
        ("queue_id", "i8"),
        ("slot", "i8"),
        ("checksum", "i8"),
    ]
)
"""Positions `[start, stop)`, which are those from `at` on of another file.

`offset`: if the range is one record from elsewhere in another log, its physical offset in this one; else -1.
`queue_id`, `slot`: its queue and queue offset in this one, if they are others; else -1.
`checksum`: that of the whole record (enabledAppendPropCRC), with what changes; -1 if it has none.
"""
_HEAD = 36
"""Up to the end of the physical offset."""


class Ranges(NamedTuple):
    """Those of one file, in order. `files`: the URIs of the others, by number."""

    files: Sequence[str]
    rows: NDArray[np.void]

    def after(self, position: int) -> int:
        """The number of the first range that ends after a position."""
        return int(np.searchsorted(self.rows["stop"], position, "right"))


class FilledFile(StoredFile):
    """A file with ranges of others. `own`: the file with all other bytes; None if they are zeros. `end`: bytes after the last range."""

    def __init__(self, uri: str, own: str | None, ranges: Ranges, size: int, end: bytes = b"") -> None:
        super().__init__(uri)
        self._own, self._ranges, self._size = None if own is None else storage_of(own).open(own), ranges, size
        self._others: dict[int, StoredFile] = {}
        self._end = end

    def size(self) -> int:
        return self._size if self._own is None else max(self._own.size(), self._size)

    def identity(self) -> int:
        return 0 if self._own is None else self._own.identity()

    def written(self) -> int:
        return self.size() if self._own is None else self._own.written()

    def next_data(self, offset: int) -> int:
        """As a hint, a range is data."""
        after, rows = self._ranges.after(offset), self._ranges.rows
        begin = max(offset, int(rows["start"][after])) if after < len(rows) else self.size()
        return begin if self._own is None else min(self._own.next_data(offset), begin)

    def _read(self, offset: int, view: memoryview) -> int:
        after, rows = self._ranges.after(offset), self._ranges.rows
        last = rows[after].item() if after < len(rows) else (self.size(), 0, 0, 0, -1, -1, -1, -1)
        start, stop, file, at, moved, queue_id, slot, checksum = last
        if start > offset:
            return self._read_own(offset, view[: start - offset])
        count = self._other(file).read_into(at + offset - start, view[: stop - offset])
        begin = offset - start
        if moved >= 0 and begin < _HEAD:
            head = np.zeros(_HEAD, np.uint8)
            head[begin : begin + count] = view[: min(count, _HEAD - begin)]
            put_physical_offsets(head, np.zeros(1, np.int64), np.array([moved]))
            if queue_id >= 0:
                put_queue_places(head, np.zeros(1, np.int64), np.array([queue_id]), np.array([slot]))
            view[: min(count, _HEAD - begin)] = head[begin : begin + count].data
        if checksum >= 0 and offset + count > (tail := stop - CRC_SIZE):
            first = max(tail, offset)
            view[first - offset : count] = crc_field(checksum)[first - tail : offset + count - tail]
        return count

    def _read_own(self, offset: int, view: memoryview) -> int:
        if self._own is not None:
            return self._own.read_into(offset, view)
        view[:] = bytes(len(view))
        if self._end and offset < (stop := (last := int(self._ranges.rows["stop"][-1])) + len(self._end)) and offset >= last:
            count = min(len(view), stop - offset)
            view[:count] = self._end[offset - last : offset - last + count]
        return len(view)

    def _other(self, number: int) -> StoredFile:
        if number not in self._others:
            uri = self._ranges.files[number]
            self._others[number] = storage_of(uri).open(uri)
        return self._others[number]

    def close(self) -> None:
        for each in (*(() if self._own is None else (self._own,)), *self._others.values()):
            each.close()
        self._others = {}


class MadeStorage(Storage):
    """Files that are not written yet."""

    @abstractmethod
    def own(self, uri: str) -> str | None:
        """The file with the own bytes of that one; None if it has none."""

    def like(self, uri: str) -> str | None:
        """A file whose time it has; None if it has no file's."""
        return self.own(uri)

    @abstractmethod
    def contents(self, uri: str, most: int) -> Iterator[tuple[int, bytes]]:
        """The bytes that are not its own, at most so many at once: position and content."""


class FilledStorage(MadeStorage):
    """Files by name, each with the URI of its own bytes, if it has any, its ranges and its least size."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[str | None, Ranges, int, bytes]] = {}
        self._url = mount(SCHEME, self)

    def add(self, own: str | None, name: str, ranges: Ranges, size: int, end: bytes = b"") -> str:
        """The URI of the file at `own` with these ranges, and of at least that size. `end`: bytes after the last range."""
        uri = f"{self._url}/{len(self._files)}/{name}"
        self._files[uri] = own, ranges, size, end
        return uri

    def own(self, uri: str) -> str | None:
        return self._files[uri][0]

    def contents(self, uri: str, most: int) -> Iterator[tuple[int, bytes]]:
        rows, end = self._files[uri][1].rows, self._files[uri][3]
        is_first = np.append(True, rows["start"][1:] != rows["stop"][:-1])
        starts, stops = rows["start"][is_first], rows["stop"][np.append(is_first[1:], True)]
        with self._open(uri) as file:
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
                for at in range(start, stop, most):
                    (content,) = file.read_ranges([(at, min(most, stop - at))])
                    yield at, content
        if end:
            yield int(rows["stop"][-1]), end

    def _list(self, uri: str) -> list[DirEntry]:
        return [entry for name in self._files if name.rpartition("/")[0] == uri and (entry := self._entry(name)) is not None]

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


def own_uri(uri: str) -> str | None:
    """The file with a file's own bytes: that file itself, if it is written; None if it has no own bytes."""
    storage = storage_of(uri)
    return storage.own(uri) if isinstance(storage, MadeStorage) else uri


def uri_like(uri: str) -> str | None:
    """The file whose time it has: that file itself, if it is written; None if it has no file's."""
    storage = storage_of(uri)
    return storage.like(uri) if isinstance(storage, MadeStorage) else uri


def made_contents(uri: str, most: int) -> Iterator[tuple[int, bytes]]:
    """The bytes that are not its own: position and content. None, if the file is written."""
    storage = storage_of(uri)
    if isinstance(storage, MadeStorage):
        yield from storage.contents(uri, most)
