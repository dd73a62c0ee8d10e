"""The files of the new store: copied, made, changed and flushed. Nothing of the source is opened for writing."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import BinaryIO, Self

from native_reader.storage.filled import made_contents, uri_like
from native_reader.storage.local import local_path
from native_reader.storage.protocol import storage_of

_AT_ONCE = 64 << 20
_PIECE = 4 << 20
_NOT_SUPPORTED = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)
"""`copy_file_range` between two file systems of different kinds, or with an old kernel."""
_HAS_COPY = hasattr(os, "copy_file_range")
"""A Python that was built for a glibc older than 2.27 has no such function."""
_CLONE = 0x40049409
"""FICLONE of Linux."""
_NO_MORE_DATA = errno.ENXIO
_ZEROS = bytes(1 << 20)


def copy(source: str, target: str) -> None:
    """Copy a file with its times. File systems that can share blocks do; holes stay holes. The copy is never a link."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(source, "rb", buffering=0) as old, open(target, "xb", buffering=0) as new:
        size = os.fstat(old.fileno()).st_size
        for start, stop in _data(old.fileno(), size):
            _copy_range(old.fileno(), new.fileno(), start, stop)
        os.ftruncate(new.fileno(), size)
    shutil.copystat(source, target)


def copy_part(source: str, target: str, start: int, stop: int) -> None:
    """Give positions `[start, stop)` of a file the bytes of another one. What is a hole in both stays one."""
    with open(source, "rb", buffering=0) as old, changed(target, os.path.getsize(target)) as new:
        size, at = os.fstat(old.fileno()).st_size, start
        for begin, end in (*_data(old.fileno(), min(stop, size), start), (stop, stop)):
            for first, last in list(_data(new, begin, at)):
                put_zeros(new, first, last)
            _copy_range(old.fileno(), new, begin, end)
            at = end


def data_bytes(path: str) -> int:
    """How many bytes of a file are not in holes."""
    with open(path, "rb", buffering=0) as file:
        return sum(stop - start for start, stop in _data(file.fileno(), os.fstat(file.fileno()).st_size))


def _data(file: int, size: int, start: int = 0) -> Iterator[tuple[int, int]]:
    """The parts of a file up to `size` that are not holes."""
    while start < size:
        try:
            begin = os.lseek(file, start, os.SEEK_DATA)
            stop = min(os.lseek(file, begin, os.SEEK_HOLE), size)
        except OSError as error:
            if error.errno == _NO_MORE_DATA:
                return
            begin, stop = start, size
        if begin < stop:
            yield begin, stop
        start = max(begin, stop)


def _copy_range(old: int, new: int, start: int, stop: int) -> None:
    while start < stop:
        count = min(stop - start, _AT_ONCE)
        try:
            done = os.copy_file_range(old, new, count, start, start) if _HAS_COPY else -1
        except OSError as error:
            if error.errno not in _NOT_SUPPORTED:
                raise
            done = -1
        if done < 0:
            done = os.pwrite(new, os.pread(old, min(count, _PIECE), start), start)
        if not done:  # cut since then: the check of the new store finds it
            return
        start += done


@contextmanager
def changed(path: str, size: int) -> Iterator[int]:
    """A file of that size to write to, made if it is not there. Its time stays: a broker deletes segments by their age."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    time = os.stat(path) if os.path.exists(path) else None
    if time is not None and time.st_nlink > 1:
        _unshare(path)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.ftruncate(file, size)
        yield file
    finally:
        os.close(file)
    if time is not None:
        os.utime(path, ns=(time.st_atime_ns, time.st_mtime_ns))


def link(source: str, target: str) -> None:
    """Give a file one more name, unless it is there."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.lexists(target):
        if os.path.samefile(source, target):
            return
        os.unlink(target)
    os.link(os.path.realpath(source), target)


def _unshare(path: str) -> None:
    """Replace a link by a copy: the file belongs to the damaged store."""
    copied = f"{path}.copy"
    unlink(copied)
    copy(path, copied)
    os.replace(copied, path)


def resize(path: str, size: int) -> None:
    """Give a file that size; what is new of it is zeros."""
    with changed(path, size):
        pass


def content_at(path: str, at: int, size: int) -> bytes:
    """Some bytes of a file."""
    with open(path, "rb", buffering=0) as file:
        return os.pread(file.fileno(), size, at)


def put(file: int, at: int, content: bytes | memoryview) -> None:
    """Write all of it."""
    while content:
        done = os.pwrite(file, content, at)
        content, at = content[done:], at + done


def put_zeros(file: int, start: int, stop: int) -> None:
    """Write zeros to positions `[start, stop)`."""
    for at in range(start, stop, len(_ZEROS)):
        put(file, at, memoryview(_ZEROS)[: stop - at])


def write_made(uri: str, path: str) -> None:
    """Write a file that is not written yet, with the time of the one that it is like."""
    with storage_of(uri).open(uri) as made, changed(path, made.size()) as file:
        for at, content in made_contents(uri, len(_ZEROS)):
            put(file, at, content)
    if (like := uri_like(uri)) is not None:
        copy_time(local_path(like), path)


def set_time(path: str, milliseconds: int) -> None:
    """Give a file the time at which its last record was stored."""
    os.utime(path, ns=(milliseconds * 1_000_000,) * 2)


def time_of(path: str) -> int:
    """When a file was written, in milliseconds since 1970; 0 if it is not there."""
    try:
        return os.stat(path).st_mtime_ns // 1_000_000
    except OSError:
        return 0


def copy_time(source: str, target: str) -> None:
    """Give a file the time of another one."""
    time = os.stat(source)
    os.utime(target, ns=(time.st_atime_ns, time.st_mtime_ns))


def files_below(folder: str, but: Iterable[str] = ()) -> Iterator[tuple[str, int]]:
    """The files below a folder, without devices, by relative path, with their sizes; without the entries `but` of the folder itself."""
    left_out = set(but)
    for where, folders, names in os.walk(folder):
        if where == folder:
            folders[:] = [name for name in folders if name not in left_out]
        for name in names:
            path = os.path.join(where, name)
            relative = os.path.relpath(path, folder)
            if os.path.isfile(path) and relative not in left_out:
                yield relative, os.path.getsize(path)


def free_bytes(path: str) -> int:
    """How many bytes are free where a path is, or will be."""
    return shutil.disk_usage(_existing(path)).free


def is_beside(file: str, path: str) -> bool:
    """Whether a file is on the disk where a path is, or will be."""
    return os.stat(file).st_dev == os.stat(_existing(path)).st_dev


def shares_blocks(file: str, path: str) -> bool | None:
    """Whether a copy of a file shares its blocks where a path will be; None if that cannot be tried. What is made for it has no name."""
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        return None
    try:
        with open(file, "rb", buffering=0) as source, unnamed(path) as copy:
            fcntl.ioctl(copy.fileno(), _CLONE, source.fileno())
    except OSError as error:
        return False if error.errno in _NOT_SUPPORTED else None
    return True


def unnamed(path: str) -> BinaryIO:
    """A file without a name, on the disk where a path will be. It takes no room once it is closed."""
    return tempfile.TemporaryFile(buffering=0, dir=_existing(os.path.dirname(os.path.abspath(path))))


def _existing(path: str) -> str:
    """A path, or the last folder above it that exists."""
    while not os.path.exists(path):
        path = os.path.dirname(os.path.abspath(path))
    return path


def flush(folder: str) -> None:
    """Flush all files below a folder, and their names, to the disk."""
    for where, _, names in os.walk(folder):
        for path in (*(os.path.join(where, name) for name in names), where):
            flush_one(path)


def flush_one(path: str) -> None:
    """Flush a file, or the names in a folder."""
    _flushed_and_closed(os.open(path, os.O_RDONLY | os.O_CLOEXEC))


class Background:
    """Writes files in a thread, in order, and begins to flush each in another: a disk writes while the processor reads and compares."""

    def __init__(self) -> None:
        self._writing, self._flushing = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._flushed: list[Future[None]] = []

    def write(self, function: Callable[..., str | None], *arguments: object) -> Future[None]:
        """Call a function that writes. The result is there when that can be read. If it returns the path of a file, this is flushed."""

        def written() -> None:
            path = function(*arguments)
            if path is not None:
                self._flushed.append(self._flushing.submit(flush_one, path))

        return self._writing.submit(written)

    def remove(self, path: str) -> Future[None]:
        """Remove a file that was written, after it is flushed."""
        return self._flushing.submit(os.unlink, path)

    def flush(self, folder: str) -> None:
        """Begin to flush what is below a folder."""
        self._flushed.append(self._flushing.submit(flush, folder))

    def finish(self) -> None:
        """Wait until all is written and flushed. Raises what went wrong."""
        self._writing.shutdown()
        for flushed in self._flushed:
            flushed.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Write nothing more."""
        for threads in (self._writing, self._flushing):
            threads.shutdown(cancel_futures=True)


def remove(folder: str) -> None:
    """Remove a folder of our own, with all that is in it."""
    shutil.rmtree(folder)


def unlink(path: str) -> None:
    """Remove a file, if it is there."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def clear(folder: str, keeps: Callable[[str], bool]) -> None:
    """Remove all files below a folder of our own, but those whose relative path is to be kept."""
    for where, folders, names in os.walk(folder, topdown=False):
        for name in (*names, *folders):
            path = os.path.join(where, name)
            if os.path.isdir(path) and not os.path.islink(path):
                if not os.listdir(path):
                    os.rmdir(path)
            elif not keeps(os.path.relpath(path, folder)):
                os.unlink(path)


def publish(folder: str, target: str, but: str) -> None:
    """Give a finished folder its place, where nothing or an empty folder is: all of it at once. Then remove the file `but` of it."""
    os.rename(folder, target)
    unlink(os.path.join(target, but))
    flush_one(os.path.dirname(target))


def is_locked(folder: str) -> bool:
    """Whether a process that runs has locked a folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
    finally:
        os.close(descriptor)
    return False


def _flushed_and_closed(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:  # some network file systems flush no folder
            raise
    finally:
        os.close(descriptor)


def text_of(path: str) -> str:
    """What is in a text file."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def size_of(path: str) -> int:
    """How many bytes a file has."""
    return os.path.getsize(path)


def real_path(path: str) -> str:
    """The path without links."""
    return os.path.realpath(path)


def is_file(path: str) -> bool:
    """Whether a path is a file, or anything but a folder."""
    return os.path.lexists(path) and not os.path.isdir(path)


def is_mount(path: str) -> bool:
    """Whether a file system is mounted there: such a folder cannot be replaced."""
    return os.path.ismount(path)


def path_in(folder: str, *names: str) -> str:
    """The path of something in a folder."""
    return os.path.join(folder, *names)


def names_in(folder: str) -> list[str]:
    """The names in a folder; none if there is no folder."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):  # if a file is there, making the folder is an error
        return []
