"""The files of any pyarrow file system, with few large calls: object storage, and what fsspec offers."""

from __future__ import annotations

import errno
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Lock
from time import monotonic, sleep
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from native_reader.errors import DataLoss, OptionError, StoreError
from native_reader.sentences import say
from native_reader.storage.local import in_forked_processes
from native_reader.storage.pieces import FetchError, Pieces
from native_reader.storage.protocol import DirEntry, Storage, StoredFile, unreadable

_THREADS = 32
"""Calls for parts of files at a time, in one process and origin."""
_LEAST = 4 << 10
"""A call for fewer bytes fetches this many, if the file has them. With less room for an answer, Arrow cannot read the errors of S3,
and does not try again."""
_LARGE = 1 << 20
"""After this many bytes, another call is cheap."""
_CONFIRMED_FOR = 0.25
"""A file that was the same this many seconds ago is still the same, for small reads."""
KNOWN_FOR = 15.0
"""What object storage said is not asked again for this many seconds: what a directory holds, and the object at a path."""
_KEPT_OF_EACH, _KEPT_OF_ALL, _MOST_KEPT = 256 << 10, 32 << 20, 4096
"""How many bytes of closed objects are kept, of each and of all, and of how many objects."""
_NO_ROOM = "Failed to flush response stream"
_TRIES = 4
_PAUSE = 0.2
_SLASHES = re.compile("/{2,}")
_BESIDE = re.compile("/(?:batchconsumequeue|consumequeue|index)/")
_SEGMENT = re.compile(r"(?:[0-9]{20}[^/]*|\.tar)$")
_SECOND = 10**9


class Stamp(NamedTuple):
    """What distinguishes a file from what replaces it. `time`: when it was written, in seconds since 1970; 0 if unknown.

    Several services know the time in seconds only, in a listing or of a file.
    """

    size: int
    time: int = 0
    tag: bytes = b""

    @property
    def identity(self) -> int:
        """The number for `DirEntry`, which a listing can give too."""
        return self.time << 64 | self.size


class _Object:
    """A file as it was when it was opened, and its bytes. For one open file at a time."""

    def __init__(self, uri: str, path: str, storage: ArrowStorage, like: _Object | None = None) -> None:
        """`like`: one that is open, too."""
        self.uri, self.path, self._storage = uri, path, storage
        self.confirmed: float = monotonic() if like is None else like.confirmed
        """When it was last seen to be the same file."""
        self.source: Any
        self.stamp: Stamp
        self.source, self.stamp = storage.opened(path) if like is None else (like.source, like.stamp)
        self.pieces = Pieces(self._fetch, self.stamp.size, storage.threads)

    def _fetch(self, start: int, stop: int) -> bytes:
        """Those bytes, all of them and of the file that was opened. Called in several threads."""
        low = max(0, min(start, stop - _LEAST))
        content = self._answer(low, stop)
        if stop - low >= _LARGE or monotonic() - self.confirmed > _CONFIRMED_FOR or len(content) < stop - low:
            self._confirm()
        if len(content) < stop - low:
            raise OSError(f"{len(content):,} of {stop - low:,} bytes came")
        return content[start - low :] if low < start else content

    def _answer(self, start: int, stop: int) -> bytes:
        tries = 0
        while True:
            try:
                content: bytes = self.source.read_at(stop - start, start)
                return content
            except Exception as error:  # a file system of fsspec may raise anything
                tries += 1
                self._confirm()  # the reason, if the file is gone or access is denied
                if _NO_ROOM not in str(error) or tries == _TRIES:
                    raise self._storage.explained(error) from None
            sleep(_PAUSE * 2**tries)

    def _confirm(self) -> None:
        """Raise DataLoss unless the file is the one that was opened. Nothing else tells: a call after a change has other bytes."""
        now = monotonic()
        try:
            stamp = self._storage.stamp(self.path)
        except FileNotFoundError:
            gone = DataLoss(say("deleted in read", uri=self.uri))
            gone.is_file_gone = True
            raise gone from None
        except Exception as error:
            raise self._storage.explained(error) from None
        if stamp != self.stamp:
            raise DataLoss(say("replaced in read", uri=self.uri))
        self.confirmed = now


class ArrowFile(StoredFile):
    """An open file. It cannot be read any more after it was deleted or replaced: that is a DataLoss."""

    def __init__(self, uri: str, path: str, storage: ArrowStorage) -> None:
        super().__init__(uri)
        self._path, self._storage = path, storage
        self._object = storage.object_at(uri, path)
        self._stamp, self._pieces, self._is_open = self._object.stamp, self._object.pieces, True

    def size(self) -> int:
        return self._stamp.size

    def identity(self) -> int:
        return self._stamp.identity

    def written_end(self, below: int | None = None) -> int:
        """From where on an earlier read saw only zeros, in the same object: a broker allocates a segment of 1 GiB at once."""
        return min(super().written_end(below), self._storage.zeros_from(self._path, self._stamp))

    def will_read(self, start: int, stop: int) -> None:
        self._pieces.expect(start, stop)

    def _read(self, offset: int, view: memoryview) -> int:
        length = max(0, min(len(view), self._stamp.size - offset))
        if length:
            try:
                self._pieces.read(offset, view[:length])
            except FetchError as error:
                raise _cause(error) from None
            if offset + length == self._storage.zeros_from(self._path, self._stamp) and not view[length - 1]:
                self._storage.note_zeros(self._path, self._stamp, offset + len(view[:length].tobytes().rstrip(b"\0")))
        return length

    def read_many(self, offsets: Sequence[int], lengths: Sequence[int], view: memoryview) -> int:
        inside = self._inside(offsets, lengths)
        whole = [got == length for got, length in zip(inside, lengths, strict=True)]
        count = whole.index(False) + 1 if False in whole else len(whole)  # the first one that is cut short is the last
        try:
            self._pieces.read_many(offsets[:count], inside[:count], view)
        except FetchError as error:
            raise unreadable(_cause(error), "could not read", uri=self.uri, offset=error.start) from None
        return sum(inside[:count])

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        if len(ranges) == 1:  # near others, as a rule: kept with its page
            return super().read_ranges(ranges)
        offsets = [offset for offset, _ in ranges]
        lengths = self._inside(offsets, [length for _, length in ranges])
        content, filled, pieces = bytearray(sum(lengths)), 0, list[bytes]()
        self.read_many(offsets, lengths, memoryview(content))
        for length in lengths:
            pieces.append(bytes(content[filled : filled + length]))
            filled += length
        return pieces

    def _inside(self, offsets: Sequence[int], lengths: Sequence[int]) -> list[int]:
        """How much of each range the file has."""
        size = self._stamp.size
        return [max(0, min(length, size - offset)) for offset, length in zip(offsets, lengths, strict=True)]

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._storage.closed(self._object)


def _cause(error: FetchError) -> OSError:
    assert isinstance(error.__cause__, OSError)
    return error.__cause__


class ArrowStorage(Storage):
    """Files below `origin`, which is `inside` in that file system."""

    must_close = True
    """Whether an open file holds something that must be closed."""

    def __init__(self, origin: str, filesystem: Any = None, inside: str = "") -> None:
        self._origin, self._given, self._inside = origin, filesystem, inside
        self._lock, self._made = Lock(), (-1, filesystem)
        self._zeros: dict[str, tuple[Stamp, int]] = {}
        self._closed: OrderedDict[str, _Object] = OrderedDict()
        """Closed objects by path, the last one that was closed at the end: an index file or a queue is opened again and again."""
        self._open_ones: WeakValueDictionary[str, _Object] = WeakValueDictionary()
        self._closed_by, self._kept, self._asked_anew = -1, 0, 0.0

    def _make(self) -> Any:
        return self._given

    @property
    def filesystem(self) -> Any:
        """The file system, made at first use, and anew in a forked process: connections and threads stay in the old one."""
        forks, filesystem = self._made
        if forks != _Forks.count:
            with self._lock:
                if self._made[0] != _Forks.count:
                    self._made = _Forks.count, self._make()
                return self._made[1]
        return filesystem

    @property
    def threads(self) -> ThreadPoolExecutor:
        """The threads for parts of files."""
        return _Forks.threads

    def opened(self, path: str) -> tuple[Any, Stamp]:
        """An open file and its stamp; raises FileNotFoundError."""
        stamp = self.stamp(path)
        return self.filesystem.open_input_file(path), stamp

    def object_at(self, uri: str, path: str) -> _Object:
        """The file at that path. One that was seen a moment ago is not asked about again, and its bytes are not fetched again."""
        with self._lock:
            self._forget_of_other_process()
            known, other = self._closed.pop(path, None), self._open_ones.get(path)
            self._kept -= 0 if known is None else known.pieces.kept
        if known is not None and self._still_counts(known):
            found = known
        elif other is not None and self._still_counts(other):
            found = _Object(uri, path, self, other)
        else:
            found = _Object(uri, path, self)
            if known is not None and known.stamp == found.stamp:
                known.confirmed = found.confirmed
                found = known
        if not self.must_close:
            self._open_ones[path] = found
        return found

    def _still_counts(self, known: _Object) -> bool:
        """Whether a file was seen a moment ago, and nobody has asked to look again since.

        Of a segment or an archive, it is asked each time: the read was planned for this very object.
        """
        is_fresh = monotonic() - known.confirmed < KNOWN_FOR and known.confirmed >= self._asked_anew
        return is_fresh and (_BESIDE.search(known.path) is not None or _SEGMENT.search(known.path) is None)

    def closed(self, file: _Object) -> None:
        """A file was closed. It is kept for a while, if a tag distinguishes it from what may replace it."""
        if self.must_close or not file.stamp.tag:
            pending = file.pieces.close()
            if self.must_close:
                wait(pending)
                file.source.close()
            return
        file.pieces.rest(_KEPT_OF_EACH)
        with self._lock:
            self._forget_of_other_process()
            before = self._closed.pop(file.path, None)
            self._kept += file.pieces.kept - (0 if before is None else before.pieces.kept)
            self._closed[file.path] = file
            while self._kept > _KEPT_OF_ALL or len(self._closed) > _MOST_KEPT:
                self._kept -= self._closed.popitem(last=False)[1].pieces.kept

    def _forget_of_other_process(self) -> None:
        """After a fork, the connections of open objects stay in the old process."""
        if self._closed_by != _Forks.count:
            self._closed_by, self._kept = _Forks.count, 0
            self._closed.clear()
            self._open_ones.clear()

    def look_again(self) -> None:
        self._asked_anew = monotonic()

    def stamp(self, path: str) -> Stamp:
        """The stamp of the file that is there now; raises FileNotFoundError."""
        info = self.filesystem.get_file_info(path)
        if not info.is_file:
            raise FileNotFoundError(errno.ENOENT, "No such file", path)
        return _stamp_of(info)

    def zeros_from(self, path: str, stamp: Stamp) -> int:
        """An offset from which on that file was seen to hold only zeros; its size if nothing is known."""
        known, offset = self._zeros.get(path, (stamp, stamp.size))
        return offset if known == stamp else stamp.size

    def note_zeros(self, path: str, stamp: Stamp, offset: int) -> None:
        """From that offset on, the file holds only zeros. Kept only if a tag distinguishes it from what may replace it."""
        if stamp.tag:
            self._zeros[path] = stamp, offset

    def explained(self, error: Exception) -> OSError:
        """The error in words for users. It holds no secret."""
        return error if isinstance(error, OSError) else OSError(f"{type(error).__name__}: {error}")

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, NotADirectoryError, StoreError):
            raise
        except Exception as error:  # a file system of fsspec may raise anything
            raise self.explained(error) from None

    def _list(self, uri: str) -> list[DirEntry]:
        from pyarrow.fs import FileSelector

        path = self._path(uri)
        with self._explaining():
            try:
                infos = self.filesystem.get_file_info(FileSelector(path))
            except (FileNotFoundError, NotADirectoryError):
                if self.filesystem.get_file_info(path).is_file:
                    raise NotADirectoryError(errno.ENOTDIR, "Not a directory", uri) from None
                raise FileNotFoundError(errno.ENOENT, "No such directory", uri) from None
        return [_entry_of(info) for info in infos]

    def _entries(self, path: str) -> list[DirEntry]:
        """The entries of a directory; empty if it does not exist."""
        from pyarrow.fs import FileSelector

        with self._explaining():
            return [_entry_of(info) for info in self.filesystem.get_file_info(FileSelector(path, allow_not_found=True))]

    def _all_below(self, path: str) -> dict[str, list[DirEntry]]:
        """The entries of all directories below a path, by directory; empty if it does not exist."""
        from pyarrow.fs import FileSelector

        found: dict[str, list[DirEntry]] = {}
        with self._explaining():
            for info in self.filesystem.get_file_info(FileSelector(path, allow_not_found=True, recursive=True)):
                found.setdefault(info.path.rpartition("/")[0], []).append(_entry_of(info))
                if not info.is_file:
                    found.setdefault(info.path, [])
        return found

    def _entry(self, uri: str) -> DirEntry | None:
        path = self._path(uri)
        with self._explaining():
            info = self.filesystem.get_file_info(path)
        return None if info.type.name == "NotFound" else _entry_of(info, path.rpartition("/")[2])

    def _open(self, uri: str) -> StoredFile:
        with self._explaining():
            return ArrowFile(uri, self._path(uri), self)

    def _path(self, uri: str) -> str:
        """The path in the file system."""
        path = self._inside + uri.removeprefix(self._origin)
        return _SLASHES.sub("/", path).rstrip("/") or path[:1]


class _Forks:
    """What a forked process must have of its own."""

    count = 0
    threads = ThreadPoolExecutor(_THREADS, "rmqstore-fetch")

    @classmethod
    def begin(cls) -> None:
        cls.count += 1
        cls.threads = ThreadPoolExecutor(_THREADS, "rmqstore-fetch")


in_forked_processes(_Forks.begin)


def _stamp_of(info: Any) -> Stamp:
    return Stamp(info.size or 0, (info.mtime_ns or 0) // _SECOND)


def _entry_of(info: Any, name: str | None = None) -> DirEntry:
    is_directory = info.type.name == "Directory"
    stamp = Stamp(0) if is_directory else _stamp_of(info)
    return DirEntry(info.base_name if name is None else name, stamp.size, stamp.identity, info.is_file, is_directory)


def storage_in(origin: str, filesystem: Any) -> ArrowStorage:
    """A storage for a file system that the user made: one of pyarrow, or of fsspec."""
    from pyarrow.fs import FileSystem, FSSpecHandler, PyFileSystem

    scheme, _, host = origin.partition("://")
    if isinstance(filesystem, PyFileSystem) and isinstance(filesystem.handler, FSSpecHandler):
        filesystem = filesystem.handler.fs
    if isinstance(filesystem, FileSystem):
        return ArrowStorage(origin, filesystem, "" if filesystem.type_name in ("hdfs", "local") else host.partition("@")[0])
    strip = getattr(filesystem, "_strip_protocol", None)
    if strip is None:
        raise OptionError(say("wrong fs", name=type(filesystem).__name__))
    own = [filesystem.protocol] if isinstance(filesystem.protocol, str) else filesystem.protocol
    inside = str(strip(f"{origin}/x")).removesuffix("x").rstrip("/") if scheme in own else host
    return ArrowStorage(origin, PyFileSystem(FSSpecHandler(filesystem)), inside)
