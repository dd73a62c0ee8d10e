"""The local file system. The only module of the engine that imports `os` or opens a file."""

from __future__ import annotations

import errno
import os
import re
import stat
from urllib.parse import quote, unquote_to_bytes

from native_reader.errors import UnreadableError
from native_reader.storage.protocol import Buffer, Entry, Storage, StoredFile, register

_MOST_HOLES = 64


def local_uri(path: str) -> str:
    """The absolute `file://` URI of a path, or of a `file:` URI with any number of slashes."""
    if path.startswith("file:"):
        path = os.fsdecode(unquote_to_bytes(re.sub("^file:/*", "/", path)))
    return "file://" + quote(os.fsencode(os.path.abspath(os.path.expanduser(path))))


def local_path(uri: str) -> str:
    """The path that a `file://` URI names."""
    return os.fsdecode(unquote_to_bytes(uri.removeprefix("file://")))


class LocalFile(StoredFile):
    """A file descriptor and `preadv`: no map, so a file truncated underneath cannot kill the process."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        # O_NONBLOCK: a FIFO in place of a file must not block the open.
        self._descriptor = os.open(local_path(uri), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            self.close()
            raise UnreadableError(f"{uri} is not a regular file")

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def identity(self) -> int:
        return os.fstat(self._descriptor).st_ino

    def read_into(self, offset: int, buffer: Buffer) -> int:
        view, filled = memoryview(buffer), 0
        while filled < len(view):
            try:
                got = os.preadv(self._descriptor, [view[filled:]], offset + filled)
            except OSError as error:
                where = f"{self.uri} at byte {offset + filled:,}"
                raise UnreadableError(error.errno, f"{where} cannot be read: {os.strerror(error.errno or errno.EIO)}") from error
            if got == 0:
                break
            filled += got
        return filled

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class LocalStorage(Storage):
    """Files of this machine."""

    def list(self, uri: str) -> list[Entry]:
        entries = []
        with os.scandir(local_path(uri)) as found:
            for each in found:
                try:
                    entries.append(_entry(each.name, each.stat()))
                except FileNotFoundError:  # expired since, or a link to nothing
                    continue
                except OSError as error:
                    if error.errno != errno.ELOOP:
                        raise
        return sorted(entries)

    def entry(self, uri: str) -> Entry | None:
        path = local_path(uri)
        try:
            return _entry(os.path.basename(path), os.stat(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
                return None
            raise

    def open(self, uri: str) -> StoredFile:
        return LocalFile(uri)

    def written_end(self, uri: str, size: int) -> int:
        """Where the last hole of a sparse file begins. Brokers size their files ahead, so the unwritten rest is a hole."""
        descriptor = os.open(local_path(uri), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            end = 0
            for _ in range(_MOST_HOLES):
                try:
                    end = os.lseek(descriptor, os.lseek(descriptor, end, os.SEEK_DATA), os.SEEK_HOLE)
                except OSError as error:
                    return min(end, size) if error.errno == errno.ENXIO else size
            return size
        finally:
            os.close(descriptor)


def _entry(name: str, status: os.stat_result) -> Entry:
    return Entry(name, status.st_size, status.st_ino, stat.S_ISREG(status.st_mode), stat.S_ISDIR(status.st_mode))


register("file", lambda _: LocalStorage())
