"""A wrapper around a storage that counts calls, delays them and makes some fail. For tests and for measuring plans."""

from __future__ import annotations

import errno
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable

from native_reader.storage.protocol import DirEntry, Storage, StoredFile, mount, register, storage_of

Fault = Callable[[str, str, int], None]
"""Called with (call, uri, offset) before each call; an exception from it is raised by the call."""


class FaultyFile(StoredFile):
    """An open file with counted, delayed and failing reads."""

    def __init__(self, storage: FaultyStorage, uri: str, inner: StoredFile) -> None:
        super().__init__(uri)
        self._storage, self._inner = storage, inner

    def size(self) -> int:
        return self._inner.size()

    def identity(self) -> int:
        return self._inner.identity()

    def written(self) -> int:
        return self._inner.written()

    def written_end(self, below: int | None = None) -> int:
        return self._inner.written_end(below)

    def next_data(self, offset: int) -> int:
        return self._inner.next_data(offset)

    def will_read(self, start: int, stop: int) -> None:
        self._inner.will_read(start, stop)

    def _read(self, offset: int, view: memoryview) -> int:
        self._storage.before_call("read", self.uri, offset)
        if any(start < offset + len(view) and offset < stop for start, stop in self._storage.unreadable):
            raise OSError(errno.EIO, "Input/output error")
        got = self._inner.read_into(offset, view)
        self._storage.count_bytes(self.uri, got)
        return got

    def close(self) -> None:
        self._inner.close()


class FaultyStorage(Storage):
    """The files below `root`, available at `url`; counts every call in `calls` and every byte in `bytes_of`, by file."""

    def __init__(self, root: str, delay: float = 0.0, fault: Fault | None = None) -> None:
        self._root, self._inner, self._delay, self.fault = root.rstrip("/"), storage_of(root), delay, fault
        self._lock = threading.Lock()
        self.unreadable: list[tuple[int, int]] = []
        """Ranges `[start, stop)` of positions that cannot be read, in every file."""
        self.calls: Counter[str] = Counter()
        self.bytes_of: Counter[str] = Counter()
        self.url = mount("faulty", self)

    def before_call(self, call: str, uri: str, offset: int = 0) -> None:
        """Count a call, wait for the delay, then raise the fault, if any."""
        with self._lock:
            self.calls[call] += 1
        if self._delay:
            time.sleep(self._delay)
        if self.fault is not None:
            self.fault(call, uri, offset)

    def count_bytes(self, uri: str, count: int) -> None:
        """Count the bytes of a read."""
        with self._lock:
            self.bytes_of[uri] += count

    @property
    def bytes_read(self) -> int:
        """The bytes of all reads."""
        return self.bytes_of.total()

    def _list(self, uri: str) -> list[DirEntry]:
        self.before_call("list", uri)
        return self._inner.list(self._inside(uri))

    def _entry(self, uri: str) -> DirEntry | None:
        self.before_call("entry", uri)
        return self._inner.entry(self._inside(uri))

    def _open(self, uri: str) -> StoredFile:
        self.before_call("open", uri)
        return FaultyFile(self, uri, self._inner.open(self._inside(uri)))

    def location(self, uri: str) -> Hashable:
        return self._inner.location(self._inside(uri))

    def links(self, uri: str) -> int:
        return self._inner.links(self._inside(uri))

    def quoted(self, name: str) -> str:
        return self._inner.quoted(name)

    def unquoted(self, part: str) -> str:
        return self._inner.unquoted(part)

    def _inside(self, uri: str) -> str:
        return self._root + uri.removeprefix(self.url)


register("faulty", None)
