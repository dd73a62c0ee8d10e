"""The one small protocol through which all bytes come, and how a URI finds its storage.

What a storage implements begins with an underscore; around it stands what all of them promise: a failure names the
file and the byte, and only a file's end cuts a read short.
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
    """One name in a directory, as a plan remembers it. FIFOs, sockets and devices are neither file nor directory."""

    name: str
    size: int
    identity: int
    is_file: bool
    is_directory: bool


class StoredFile(ABC):
    """An open file: reads go on although its name has gone."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

    @abstractmethod
    def size(self) -> int:
        """Its size now."""

    @abstractmethod
    def identity(self) -> int:
        """What tells it from another file of the same name."""

    @abstractmethod
    def _read(self, offset: int, view: memoryview) -> int:
        """Fill some of `view`, which is not empty, from that offset; 0 only at the end of the file."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    def written_end(self, below: int | None = None) -> int:
        """A bound from which on it holds nothing but zeros, up to `below` or its end: a hint, that place where nobody knows."""
        return self.size() if below is None else min(below, self.size())

    def next_data(self, offset: int) -> int:
        """The first offset, there or after it, that is not in a hole: a hint, the offset itself where nobody knows."""
        return offset

    def leave_no_trace(self) -> None:
        """Take care from now on that reading it leaves in this machine's memory what was there before, where that can be done."""
        return

    def read_into(self, offset: int, buffer: Buffer) -> int:
        """Fill the buffer from that offset; fewer bytes than asked for only at the end of the file."""
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
        """Fill the view with many ranges, one behind the other; stops at the first that the end of the file cuts short."""
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
    """A place that holds files under absolute URIs. Nothing is ever written."""

    call_costs = 4 << 20
    """The bytes that could be scanned in the time of one call: what makes few large reads better than many small ones."""

    @abstractmethod
    def _list(self, uri: str) -> list[Entry]: ...

    @abstractmethod
    def _entry(self, uri: str) -> Entry | None: ...

    @abstractmethod
    def _open(self, uri: str) -> StoredFile: ...

    def list(self, uri: str) -> list[Entry]:
        """What a directory holds, by name; FileNotFoundError or NotADirectoryError where there is none."""
        with _named(f"{uri} cannot be listed"):
            return sorted(self._list(uri))

    def entry(self, uri: str) -> Entry | None:
        """What stands at that URI, None where nothing does."""
        with _named(f"{uri} cannot be looked at"):
            return self._entry(uri)

    def open(self, uri: str) -> StoredFile:
        """Open a file for reading; FileNotFoundError or NotADirectoryError where there is none."""
        with _named(f"{uri} cannot be opened"):
            return self._open(uri)

    def is_locked(self, uri: str) -> bool:
        """Whether another process of this host holds a lock on that file; where nobody can know, False."""
        return False

    def location(self, uri: str) -> Hashable:
        """The same for all names of one directory, or of one file in one directory, that links or mounts make."""
        return uri

    def links(self, uri: str) -> int:
        """How many links the way to it goes through."""
        return 0

    def quoted(self, name: str) -> str:
        """A name in a directory, as it stands in a URI."""
        return name

    def unquoted(self, part: str) -> str:
        """A part of a URI as a name in a directory."""
        return part


_SCHEMES: dict[str, Callable[[str], Storage]] = {}
_HIDDEN: set[str] = set()
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://")


def register(scheme: str, factory: Callable[[str], Storage], *, hidden: bool = False) -> None:
    """Let URIs of that scheme be read through what the factory makes of them; errors do not name a `hidden` one."""
    _SCHEMES[scheme] = factory
    if hidden:
        _HIDDEN.add(scheme)


def scheme_of(path: str) -> str | None:
    """The scheme of a URI, None for a plain path."""
    found = _SCHEME.match(path)
    return found[1] if found else None


def storage_of(uri: str) -> Storage:
    """The storage that a URI lies in."""
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
    """An error that names what could not be read; one of ours does already."""
    if isinstance(error, StoreError):
        return error
    text = f"{what}: {error.strerror or error}"
    return UnreadableError(text) if error.errno is None else UnreadableError(error.errno, text)
