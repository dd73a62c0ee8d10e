"""The protocol for all reads, and the lookup of a storage by URI.

A storage implements the abstract methods. The methods that call them guarantee the same for every storage: an error names the
file and the byte, and a read is short only at the end of the file.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from native_reader.errors import PathError, StoreError, UnreadableError
from native_reader.sentences import Said, commas, say, words_of

Buffer = bytearray | memoryview
_SLOW = 1 << 20
_MOST_LISTED = 100
"""Directories that `occupied` lists one by one: each can be a call over a network."""


class DirEntry(NamedTuple):
    """One name in a directory, as a plan stores it. FIFOs, sockets and devices are neither file nor directory."""

    name: str
    size: int
    identity: int
    is_file: bool
    is_directory: bool


class Disk(NamedTuple):
    """A disk in bytes. Used and free are less than the size if a part is reserved. `identity` distinguishes it from others."""

    identity: int
    size: int
    used: int
    free: int


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

    def written(self) -> int:
        """When it was written last, in nanoseconds since 1970; 0 if unknown. A broker's writes do not change it: it maps its files."""
        return 0

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

    def will_read(self, start: int, stop: int) -> None:
        """A hint: these bytes are read next, in order. A slow storage then fetches them ahead."""
        return

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
                raise unreadable(error, "could not read", uri=self.uri, offset=offset + filled) from error
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
        pieces = []
        for offset, length in ranges:
            buffer = bytearray(length)
            pieces.append(bytes(memoryview(buffer)[: self.read_into(offset, buffer)]))
        return pieces

    def read_array(self, offset: int, kind: np.dtype[Any] | str, count: int) -> NDArray[Any]:
        """Up to `count` elements from that offset on; only those that the file has completely."""
        elements = np.empty(count, kind)  # not by way of bytes, which would be filled with zeros first, and copied
        return elements[: self.read_into(offset, elements.view(np.uint8).data) // elements.itemsize]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Storage(ABC):
    """Read-only access to files by absolute URI."""

    call_costs = 4 << 20
    """The bytes that can be scanned in the time of one call. The higher, the more large reads beat small ones."""

    range_costs = 64 << 10
    """The same for one of many ranges that are fetched together, besides its bytes. Smaller gaps between two are better read."""

    @property
    def is_slow(self) -> bool:
        """Whether a call takes so long that several at a time, or fewer, are worth the effort."""
        return self.call_costs >= _SLOW

    @abstractmethod
    def _list(self, uri: str) -> list[DirEntry]: ...

    def _directories(self, uri: str) -> list[str]:
        return [entry.name for entry in self._list(uri) if entry.is_directory]

    def _sizes(self, uri: str) -> list[tuple[str, int]]:
        return [(entry.name, entry.size) for entry in self._list(uri) if entry.is_file]

    @abstractmethod
    def _entry(self, uri: str) -> DirEntry | None: ...

    @abstractmethod
    def _open(self, uri: str) -> StoredFile: ...

    def directories(self, uri: str) -> list[str]:
        """The names of the directories in a directory, sorted; raises the same errors as `list`."""
        with _Named("could not list", uri):
            return sorted(self._directories(uri))

    def list(self, uri: str) -> list[DirEntry]:
        """The entries of a directory, sorted by name; raises FileNotFoundError or NotADirectoryError."""
        with _Named("could not list", uri):
            return sorted(self._list(uri))

    def sizes(self, uri: str) -> Sequence[tuple[str, int]]:
        """The names and sizes of the files in a directory, sorted by name; raises the same errors as `list`."""
        with _Named("could not list", uri):
            return sorted(self._sizes(uri))

    def entry(self, uri: str) -> DirEntry | None:
        """The entry at that URI; None if there is none."""
        with _Named("no status", uri):
            return self._entry(uri)

    def open(self, uri: str) -> StoredFile:
        """Open a file for reading; raises FileNotFoundError or NotADirectoryError."""
        with _Named("could not open", uri):
            return self._open(uri)

    def open_known(self, uri: str, identity: int) -> StoredFile:
        """Like `open`, for a file that had this identity; it may have another one now. A storage may find it faster by it."""
        return self.open(uri)

    def look_again(self) -> None:
        """From now on, say what is there now: what was asked before may have changed. A slow storage remembers it for a while."""
        return

    def tree(self, uri: str) -> Sequence[str] | None:
        """The URIs of all directories below a directory, sorted; None if they are not known without more calls."""
        return None

    def disk(self, uri: str) -> Disk | None:
        """The disk with that file or directory; None if unknown."""
        return None

    def occupied(self, uri: str, but: Collection[str] = ()) -> int | None:
        """The bytes that a directory takes with all below it, but for those directories; 0 if it is missing, None if unknown.

        Allocated blocks where they are known, otherwise the sizes of files. Unknown if that takes very many calls.
        """
        is_known, calls, total, waiting = self.tree(uri) is not None, 0, 0, [uri]
        while waiting:
            directory, calls = waiting.pop(), calls + 1
            if calls > _MOST_LISTED and not is_known:
                return None
            try:
                entries = self.list(directory)
            except FileNotFoundError:
                continue
            except OSError:
                return None
            total += sum(entry.size for entry in entries if entry.is_file)
            below = (f"{directory}/{self.quoted(entry.name)}" for entry in entries if entry.is_directory)
            waiting += [each for each in below if each not in but]
        return total

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


_FACTORIES: dict[str, Callable[[str], Storage] | None] = {}
_STORAGES: dict[str, Storage] = {}
_MOUNTED: WeakValueDictionary[str, Storage] = WeakValueDictionary()
_NUMBERS = count(1)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://")


def register(scheme: str, factory: Callable[[str], Storage] | None) -> None:
    """Use `factory(origin)` for URIs of that scheme; it runs once per process and origin (`scheme://host`).

    All threads, and processes forked later, use the storage that it returns.
    None: the scheme has only mounted storages, and error messages do not list it.
    `tar+` as a scheme is for all those that begin with it.
    """
    _FACTORIES[scheme] = factory


def mount(scheme: str, storage: Storage) -> str:
    """A new URL at which that storage is available as long as the object exists."""
    url = f"{scheme}://{next(_NUMBERS)}"
    _MOUNTED[url] = storage
    return url


def attach(origin: str, storage: Storage) -> None:
    """From now on, this process uses that storage for all URIs of that origin."""
    _STORAGES[origin] = storage


def attached(origin: str) -> Storage | None:
    """The storage that this process uses for that origin; None if it has none yet."""
    return _STORAGES.get(origin)


def origin_of(uri: str) -> str:
    """The part of a URI that decides its storage: `scheme://host`."""
    return "/".join(uri.split("/", 3)[:3])


def scheme_of(path: str) -> str | None:
    """The scheme of a URI; None for a plain path."""
    match = _SCHEME.match(path)
    return match[1] if match else None


def storage_of(uri: str) -> Storage:
    """The storage for a URI."""
    origin = origin_of(uri)
    return _STORAGES.get(origin) or _MOUNTED.get(origin) or _created(uri, origin)


def _created(uri: str, origin: str) -> Storage:
    scheme = scheme_of(uri)
    outer = f"{scheme}".partition("+")[0] + "+"
    if scheme not in _FACTORIES and outer not in _FACTORIES:
        known = commas(f"{factory}://" for factory in sorted(_FACTORIES) if _FACTORIES[factory] is not None and not factory.endswith("+"))
        other = Said("miss other systems")
        raise PathError(say("miss scheme", uri=uri, scheme=str(scheme), known=known, other=other))
    factory = _FACTORIES[scheme if scheme in _FACTORIES else outer]
    if factory is None:
        raise PathError(f"{uri}: this test storage no longer exists, or belongs to another process")
    return _STORAGES.setdefault(origin, factory(origin))


class _Named:
    """Names the file in errors of the storage. Not a generator, because it is entered for each file of a store."""

    __slots__ = ("_problem", "_uri")

    def __init__(self, problem: str, uri: str) -> None:
        self._problem, self._uri = problem, uri

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError | NotADirectoryError):
            raise unreadable(error, self._problem, uri=self._uri) from error


def unreadable(error: OSError, problem: str, **where: int | str) -> OSError:
    """An error that names what could not be read; a StoreError names it already. `problem`: the kind of a sentence with `why`."""
    if isinstance(error, StoreError):
        return error
    said = say(problem, **where, why=words_of(error))
    return UnreadableError(said) if error.errno is None else UnreadableError(error.errno, said)


_SIDE_BY_SIDE = 64
Result = TypeVar("Result")


def map_files(function: Callable[[Any], Result], files: Sequence[Any], advanced: Callable[[], None] | None = None) -> list[Result]:
    """The result for each file, in order. `files`: anything with a `uri`, all in one storage.

    `advanced`: called after each result, in this thread.
    """
    if not files or not storage_of(files[0].uri).is_slow:  # threads cost more than such calls
        return list(_counted(map(function, files), advanced))
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as threads:
        return list(_counted(threads.map(function, files), advanced))


_STORES_AT_ONCE = 16


def map_stores(function: Callable[[Any], Result], items: Sequence[Any], uris: Sequence[str]) -> list[Result]:
    """The result for each store, or path of one, in order. `uris`: where they are. Over a network, several are asked at a time."""
    if len(items) < 2 or not all(storage_of(uri).is_slow for uri in uris):
        return list(map(function, items))
    threads = ThreadPoolExecutor(min(_STORES_AT_ONCE, len(items)))
    try:
        return list(threads.map(function, items))
    finally:
        threads.shutdown(cancel_futures=True)  # after an error, the others are not begun


def _counted(results: Iterator[Result], advanced: Callable[[], None] | None) -> Iterator[Result]:
    for result in results:
        if advanced is not None:
            advanced()
        yield result
