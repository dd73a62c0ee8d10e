"""Tar archives, read in place: `tar+file:///x/backup.tar/store` is the directory `store` in the archive `file:///x/backup.tar`.

The archive may be in any other storage. Its headers are read once in a process, and again when it changes.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Hashable, Iterator
from contextlib import ExitStack
from hashlib import blake2b
from threading import Lock
from time import monotonic
from typing import NamedTuple

from native_reader.errors import DataLoss, PathError, StoreDamaged, UnreadableError, shown
from native_reader.sentences import say
from native_reader.storage.protocol import DirEntry, Storage, StoredFile, register, storage_of
from native_reader.storage.tar_file import open_member
from native_reader.storage.tar_headers import BLOCK, DIRECTORY, FILE, Headers, Member
from native_reader.storage.tar_names import Names, path_of

TAR = "tar+"
"""Before the scheme of a URI: a part of the path is an archive."""
_ARCHIVE = re.compile(r"\.tar(?=/|$)", re.IGNORECASE)
_CONFIRMED_FOR = 2.0
"""On a slow storage, an archive that was the same this many seconds ago is still the same, for listings."""
_KEPT = 64
"""The names in this many archives are kept."""
_INODE = (1 << 64) - 1
_MARK_BITS, _BLOCK_BITS = 28, 36
_LARGEST = BLOCK << _BLOCK_BITS
_PARTS = re.compile(r"[0-9]{17}|[0-9]{20}|commitlog|dledger-.*|config|consumequeue|batchconsumequeue|index")
"""Names in a store. Such a link must not lead out of the archive: what it stands for would be missing without notice."""


def is_archive(name: str) -> bool:
    """Whether a file of that name is taken for an archive."""
    return _ARCHIVE.search(name) is not None


def entered(uri: str) -> str:
    """The URI by which a path in an archive is read; the URI itself if no part of the path is an archive."""
    return uri if uri.startswith(TAR) or next(_archives_on(uri), None) is None else TAR + uri


def _archives_on(uri: str) -> Iterator[str]:
    """The archives on a path: files whose names end in `.tar`."""
    for archive in _names_of_archives(uri):
        entry = storage_of(archive).entry(archive)
        if entry is not None and entry.is_file:
            yield archive


def _names_of_archives(uri: str) -> Iterator[str]:
    for match in _ARCHIVE.finditer(uri):
        archive = uri[: match.end()]
        if archive.count("/") > 2:  # not the name of a bucket
            yield archive


class _ArchiveStamp(NamedTuple):
    """What distinguishes an archive from another one of its name, also from one that was written over it."""

    identity: int
    size: int
    written: int

    @staticmethod
    def of(file: StoredFile) -> _ArchiveStamp:
        """The stamp of an open archive."""
        return _ArchiveStamp(file.identity(), file.size(), file.written())


class _Listing(NamedTuple):
    """What an archive holds; `stamp`: that of the archive at that time; `until`: how long that counts for listings."""

    stamp: _ArchiveStamp
    names: Names
    until: float


class TarStorage(Storage):
    """The files in all archives of another storage."""

    def __init__(self, origin: str) -> None:
        self._origin = origin.removeprefix(TAR)
        self.call_costs, self.range_costs = self._inner.call_costs, self._inner.range_costs
        self._lock = Lock()
        self._known: dict[str, _Listing] = {}

    @property
    def _inner(self) -> Storage:
        return storage_of(self._origin)

    def _list(self, uri: str) -> list[DirEntry]:
        archive, path = self._split(uri)
        known = self._look(archive)
        names = known.names.in_directory(path)
        if names is None:
            if known.names.entry(path) is None:
                raise _missing(uri)
            raise NotADirectoryError(errno.ENOTDIR, "Not a directory", uri)
        entries = (self._dir_entry(known, name, f"{path}/{name}" if path else name, uri) for name in names)
        return [entry for entry in entries if entry is not None]

    def _entry(self, uri: str) -> DirEntry | None:
        try:
            archive, path = self._split(uri)
            return self._dir_entry(self._look(archive), (path or archive).rpartition("/")[2], path, uri.rpartition("/")[0])
        except PathError:
            raise
        except FileNotFoundError:
            return None

    def _dir_entry(self, known: _Listing, name: str, path: str, directory: str) -> DirEntry | None:
        entry = known.names.entry(path)
        if entry is not None:
            identity = _identity(known.stamp, entry.start) if entry.kind == FILE else 0
            return DirEntry(name, entry.size, identity, entry.kind == FILE, entry.kind == DIRECTORY)
        target = known.names.target(path)
        if target is not None and _PARTS.fullmatch(name):
            raise StoreDamaged(say("link in archive", directory=directory, name=self.quoted(name), target=shown(target)))
        return None

    def _open(self, uri: str) -> StoredFile:
        return self._opened(uri, None)

    def open_known(self, uri: str, identity: int) -> StoredFile:
        """Like `open`. If the names in the archive are not known yet, the identity says where the file is."""
        return self._opened(uri, identity)

    def _opened(self, uri: str, identity: int | None) -> StoredFile:
        archive, path = self._split(uri)
        with ExitStack() as stack:
            file = stack.enter_context(self._inner.open(archive))
            stamp, headers = _ArchiveStamp.of(file), Headers(file)
            start, member = None, None
            if identity is not None and not self._knows(archive, stamp):
                start = _start_in(identity, stamp)
                member = None if start is None else self._member_named(headers, start, path)
            if start is None or member is None:
                entry = self._known_of(archive, file, stamp).names.entry(path)
                if entry is None:
                    raise _missing(uri)
                if entry.kind != FILE:
                    raise UnreadableError(say("not a file", uri=uri))
                start, member = entry.start, self._member_named(headers, entry.start, entry.name)
            if member is None:
                self._known.pop(archive, None)
                raise DataLoss(say("archive changed", archive=archive))
            opened = open_member(uri, file, member, headers, _identity(stamp, start))
            stack.pop_all()
            return opened

    def _member_named(self, headers: Headers, start: int, path: str) -> Member | None:
        """The file at that place of the archive; None if it is not there, or has another name."""
        try:
            member = headers.member_at(start)
        except StoreDamaged:
            return None
        is_it = member is not None and member.kind == FILE and path_of(member.name, lossless=self._is_lossless) == path
        return member if is_it else None

    def _look(self, archive: str) -> _Listing:
        """What that archive holds now."""
        known = self._known.get(archive)
        if known is not None and monotonic() < known.until:
            return known
        with self._inner.open(archive) as file:
            return self._known_of(archive, file, _ArchiveStamp.of(file))

    def _knows(self, archive: str, stamp: _ArchiveStamp) -> bool:
        known = self._known.get(archive)
        return known is not None and known.stamp == stamp

    def _known_of(self, archive: str, file: StoredFile, stamp: _ArchiveStamp) -> _Listing:
        with self._lock:
            known = self._known.get(archive)
            if known is None or known.stamp != stamp:
                if stamp.size > _LARGEST:
                    raise UnreadableError(say("archive too large", archive=archive, size=stamp.size, largest=_LARGEST))
                names = Names(Headers(file, is_slow=self.is_slow), lossless=self._is_lossless)
                if len(self._known) >= _KEPT:
                    del self._known[next(iter(self._known))]
                known = _Listing(stamp, names, 0.0)
            if self.is_slow:
                known = known._replace(until=monotonic() + _CONFIRMED_FOR)
            self._known[archive] = known
            return known

    def _split(self, uri: str) -> tuple[str, str]:
        """The URI of the archive, and the path in it; FileNotFoundError if there is no archive."""
        inner = uri.removeprefix(TAR)
        archive = next((archive for archive in _names_of_archives(inner) if archive in self._known), None)
        if archive is None:
            archive = next(_archives_on(inner), None)
        if archive is None:
            raise _missing(uri)
        parts = inner[len(archive) :].strip("/").split("/")
        return archive, "/".join(map(self.unquoted, parts))

    @property
    def _is_lossless(self) -> bool:
        """Whether a URI can have names that are not UTF-8."""
        return self.quoted("\udcff") != "\udcff"

    def tree(self, uri: str) -> list[str]:
        archive, path = self._split(uri)
        below = f"{path}/" if path else ""
        paths = (directory for directory in self._look(archive).names.directories() if directory.startswith(below) and directory != path)
        return [f"{TAR}{archive}/{'/'.join(map(self.quoted, path.split('/')))}" for path in paths]

    def location(self, uri: str) -> Hashable:
        try:
            archive, path = self._split(uri)
            resolved = self._look(archive).names.resolved(path)
        except OSError:  # deleted meanwhile
            return uri
        return self._inner.location(archive), path if resolved is None else resolved

    def links(self, uri: str) -> int:
        try:
            archive, path = self._split(uri)
            return self._inner.links(archive) + self._look(archive).names.links(path)
        except OSError:  # deleted meanwhile
            return 0

    def quoted(self, name: str) -> str:
        return self._inner.quoted(name)

    def unquoted(self, part: str) -> str:
        return self._inner.unquoted(part)


def _missing(uri: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "No such file or directory", uri)


def _identity(stamp: _ArchiveStamp, start: int) -> int:
    """The identity of a file: that of the archive, with the inode replaced by a mark of it and the place of the file's header.

    So a process that did not read all headers finds the file by its identity.
    """
    return stamp.identity & ~_INODE | _mark(stamp) << _BLOCK_BITS | start // BLOCK


def _start_in(identity: int, stamp: _ArchiveStamp) -> int | None:
    """Where the header of a file with that identity begins; None if the archive is another one now."""
    start = (identity & (1 << _BLOCK_BITS) - 1) * BLOCK
    return start if (identity ^ _identity(stamp, start)) & _INODE == 0 else None


def _mark(stamp: _ArchiveStamp) -> int:
    digest = blake2b(f"{stamp.identity & _INODE} {stamp.size} {stamp.written}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - _MARK_BITS)


register(TAR, TarStorage)
