"""The one small protocol through which all bytes come, and how a URI finds its storage."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

from native_reader.errors import PathError

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

    @abstractmethod
    def size(self) -> int:
        """Its size now."""

    @abstractmethod
    def identity(self) -> int:
        """What tells it from another file of the same name."""

    @abstractmethod
    def read_into(self, offset: int, buffer: Buffer) -> int:
        """Fill the buffer from that offset; fewer bytes than asked for only at the end of the file."""

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each `(offset, length)`, cut short at the end of the file."""
        found = []
        for offset, length in ranges:
            buffer = bytearray(length)
            found.append(bytes(memoryview(buffer)[: self.read_into(offset, buffer)]))
        return found

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Storage(ABC):
    """A place that holds files under absolute URIs. Nothing is ever written."""

    @abstractmethod
    def list(self, uri: str) -> list[Entry]:
        """What a directory holds, by name; FileNotFoundError or NotADirectoryError where there is none."""

    @abstractmethod
    def entry(self, uri: str) -> Entry | None:
        """What stands at that URI, None where nothing does."""

    @abstractmethod
    def open(self, uri: str) -> StoredFile:
        """Open a file for reading."""

    def written_end(self, uri: str, size: int) -> int:
        """A bound behind which the file holds nothing but zeros: a hint, `size` where nobody knows."""
        return size


_SCHEMES: dict[str, Callable[[str], Storage]] = {}
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://")


def register(scheme: str, factory: Callable[[str], Storage]) -> None:
    """Let URIs of that scheme be read through what the factory makes of them."""
    _SCHEMES[scheme] = factory


def scheme_of(path: str) -> str | None:
    """The scheme of a URI, None for a plain path."""
    found = _SCHEME.match(path)
    return found[1] if found else None


def storage_of(uri: str) -> Storage:
    """The storage that a URI lies in."""
    scheme = scheme_of(uri)
    if scheme not in _SCHEMES:
        known = ", ".join(f"{each}://" for each in sorted(_SCHEMES))
        raise PathError(f"{uri}: no storage for '{scheme}://' is known here. Known: {known}")
    return _SCHEMES[scheme](uri)
