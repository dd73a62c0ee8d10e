"""The protocol for all reads, and the lookup of a storage by URI.

A storage implements the abstract methods. The methods that call them guarantee the same for every storage: an error names the
file and the byte, and a read is short only at the end of the file.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Self

from native_reader.errors import PathError, StoreError, UnreadableError

Buffer = bytearray | memoryview


class Entry(NamedTuple):
    """One name in a directory, as a plan stores it. FIFOs, sockets and devices are neither file nor directory."""

    name: str
    size: int
    identity: int
    is_file: bool
    is_directory: bool


class StoredFile(ABC):
    """An open file; it stays readable after its name is deleted."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

    @abstractmethod
    def size(self) -> int:
        """The current size."""

    @abstractmethod
    def identity(self) -> int:
        """A number that distinguishes it from other files of the same name."""

    @abstractmethod
    def _read(self, offset: int, view: memoryview) -> int:
        """Read one byte or more into `view`, which is not empty; return 0 only at the end of the file."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    def written_end(self, below: int | None = None) -> int:
        """An offset after which the file holds only zeros, up to `below` or its end. A hint: that bound itself if unknown."""
        return self.size() if below is None else min(below, self.size())

    def next_data(self, offset: int) -> int:
        """The first offset at or after `offset` that is not in a hole. A hint: `offset` itself if unknown."""
        return offset

    def leave_no_trace(self) -> None:
        """From now on, keep the machine's page cache as it was before each read, if possible."""
        return

    def read_into(self, offset: int, buffer: Buffer) -> int:
        """Fill the buffer from that offset; reads fewer bytes only at the end of the file."""
        view, filled = memoryview(buffer), 0
        while filled < len(view):
            try:
                got = self._read(offset + filled, view[filled:])
            except OSError as error:
                raise _unreadable(error, f"{self.uri} at byte {offset + filled:,} cannot be read") from error
            if got == 0:
                break
            filled += got
        return filled

    def read_many(self, offsets: Sequence[int], lengths: Sequence[int], view: memoryview) -> int:
        """Fill the view with many ranges, one after the other; stops at the first one that the end of the file cuts short."""
        filled = 0
        for offset, length in zip(offsets, lengths, strict=True):
            got = self.read_into(offset, view[filled : filled + length])
            filled += got
            if got < length:
                break
        return filled

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each `(offset, length)`, cut short at the end of the file."""
        found = []
        for offset, length in ranges:
            buffer = bytearray(length)
            found.append(bytes(memoryview(buffer)[: self.read_into(offset, buffer)]))
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Storage(ABC):
    """Read-only access to files by absolute URI."""

    call_costs = 4 << 20
    """The bytes that can be scanned in the time of one call. The higher, the more large reads beat small ones."""

    @abstractmethod
    def _list(self, uri: str) -> list[Entry]: ...

    @abstractmethod
    def _entry(self, uri: str) -> Entry | None: ...

    @abstractmethod
    def _open(self, uri: str) -> StoredFile: ...

    def list(self, uri: str) -> list[Entry]:
        """The entries of a directory, sorted by name; raises FileNotFoundError or NotADirectoryError."""
        with _named(f"{uri} cannot be listed"):
            return sorted(self._list(uri))

    def entry(self, uri: str) -> Entry | None:
        """The entry at that URI; None if there is none."""
        with _named(f"{uri} cannot be looked at"):
            return self._entry(uri)

    def open(self, uri: str) -> StoredFile:
        """Open a file for reading; raises FileNotFoundError or NotADirectoryError."""
        with _named(f"{uri} cannot be opened"):
            return self._open(uri)

    def is_locked(self, uri: str) -> bool:
        """Whether another process of this host holds a lock on that file; False if unknown."""
        return False

    def location(self, uri: str) -> Hashable:
        """A key that is equal for all names that links or mounts give to a directory, or to a file in one directory."""
        return uri

    def links(self, uri: str) -> int:
        """The number of symbolic links on the path."""
        return 0

    def quoted(self, name: str) -> str:
        """A file name, quoted for a URI."""
        return name

    def unquoted(self, part: str) -> str:
        """The file name that a part of a URI stands for."""
        return part


_SCHEMES: dict[str, Callable[[str], Storage]] = {}
_HIDDEN: set[str] = set()
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://")


def register(scheme: str, factory: Callable[[str], Storage], *, hidden: bool = False) -> None:
    """Use the factory for URIs of that scheme; error messages do not list a `hidden` one."""
    _SCHEMES[scheme] = factory
    if hidden:
        _HIDDEN.add(scheme)


def scheme_of(path: str) -> str | None:
    """The scheme of a URI; None for a plain path."""
    found = _SCHEME.match(path)
    return found[1] if found else None


def storage_of(uri: str) -> Storage:
    """The storage for a URI."""
    scheme = scheme_of(uri)
    if scheme not in _SCHEMES:
        known = ", ".join(f"{each}://" for each in sorted(_SCHEMES) if each not in _HIDDEN)
        raise PathError(f"{uri}: '{scheme}://' cannot be read here. What can: a path of this machine, {known}")
    return _SCHEMES[scheme](uri)


@contextmanager
def _named(what: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise _unreadable(error, what) from error


def _unreadable(error: OSError, what: str) -> OSError:
    """An error that names what could not be read; a StoreError names it already."""
    if isinstance(error, StoreError):
        return error
    text = f"{what}: {error.strerror or error}"
    return UnreadableError(text) if error.errno is None else UnreadableError(error.errno, text)
