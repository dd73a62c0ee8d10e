"""The files of the new store: copied, made, changed and flushed. Nothing of the source is opened for writing."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_AT_ONCE = 64 << 20
_PIECE = 4 << 20
_NOT_SUPPORTED = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)
"""`copy_file_range` between two file systems of different kinds, or with an old kernel."""
_NO_MORE_DATA = errno.ENXIO


def copy(source: str, target: str) -> None:
    """Copy a file with its times. File systems that can share blocks do; holes stay holes. The copy is never a link."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(source, "rb", buffering=0) as old, open(target, "xb", buffering=0) as new:
        size = os.fstat(old.fileno()).st_size
        for start, stop in _data(old.fileno(), size):
            _copy_range(old.fileno(), new.fileno(), start, stop)
        os.ftruncate(new.fileno(), size)
    shutil.copystat(source, target)


def _data(file: int, size: int) -> Iterator[tuple[int, int]]:
    """The parts of a file that are not holes."""
    start = 0
    while start < size:
        try:
            begin = os.lseek(file, start, os.SEEK_DATA)
            stop = os.lseek(file, begin, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == _NO_MORE_DATA:
                return
            begin, stop = start, size
        yield begin, stop
        start = stop


def _copy_range(old: int, new: int, start: int, stop: int) -> None:
    while start < stop:
        count = min(stop - start, _AT_ONCE)
        try:
            done = os.copy_file_range(old, new, count, start, start)
        except OSError as error:
            if error.errno not in _NOT_SUPPORTED:
                raise
            done = os.pwrite(new, os.pread(old, min(count, _PIECE), start), start)
        if not done:  # cut since then: the check of the new store finds it
            return
        start += done


@contextmanager
def changed(path: str, size: int) -> Iterator[int]:
    """A file of that size to write to, made if it is not there. Its time stays: a broker deletes segments by their age."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    time = os.stat(path) if os.path.exists(path) else None
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.ftruncate(file, size)
        yield file
    finally:
        os.close(file)
    if time is not None:
        os.utime(path, ns=(time.st_atime_ns, time.st_mtime_ns))


def resize(path: str, size: int) -> None:
    """Give a file that size; what is new of it is zeros."""
    with changed(path, size):
        pass


def put(file: int, at: int, content: bytes | memoryview) -> None:
    """Write all of it."""
    while content:
        done = os.pwrite(file, content, at)
        content, at = content[done:], at + done


def set_time(path: str, milliseconds: int) -> None:
    """Give a file the time at which its last record was stored."""
    os.utime(path, ns=(milliseconds * 1_000_000,) * 2)


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
    while not os.path.exists(path):
        path = os.path.dirname(os.path.abspath(path))
    return shutil.disk_usage(path).free


def flush(folder: str) -> None:
    """Flush all files below a folder, and their names, to the disk."""
    for where, _, names in os.walk(folder):
        for path in (*(os.path.join(where, name) for name in names), where):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            _flushed_and_closed(descriptor)


def publish(folder: str, target: str) -> None:
    """Move what is in a folder to the one around it, and remove it: the folder marks what is not finished."""
    for name in sorted(os.listdir(folder)):
        os.rename(os.path.join(folder, name), os.path.join(target, name))
    os.rmdir(folder)
    flush_folder(target)


def flush_folder(folder: str) -> None:
    """Flush the names in a folder."""
    _flushed_and_closed(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))


def _flushed_and_closed(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:  # some network file systems flush no folder
            raise
    finally:
        os.close(descriptor)


def path_in(folder: str, *names: str) -> str:
    """The path of something in a folder."""
    return os.path.join(folder, *names)


def names_in(folder: str) -> list[str]:
    """The names in a folder; none if there is no folder."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):  # if a file is there, making the folder is an error
        return []
