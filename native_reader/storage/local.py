"""The local file system: reads stores on this machine's disks. A library that needs a path gets links or copies in a temporary folder."""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import re
import stat
import struct
import sys
import tempfile
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from native_reader import kernel
from native_reader.errors import OptionError, UnreadableError, option_name, shown
from native_reader.sentences import Said, say, told, words_of
from native_reader.storage.linux import Look, absent, looks
from native_reader.storage.protocol import DirEntry, Disk, Storage, StoredFile, register, storage_of

if sys.platform == "darwin":  # struct flock: start, length, pid, type, whence
    _FLOCK, _TYPE, _ANY_LOCK = struct.Struct("@qqihh"), 3, (0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET)
else:  # type, whence, start, length, pid
    _FLOCK, _TYPE, _ANY_LOCK = struct.Struct("@hhqqi4x"), 0, (fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)

_LONGEST = 4096
"""PATH_MAX of Linux, in bytes; also the limit for patterns."""
_MOST = 100_000
_PIECE = 1 << 20
_MOST_COUNTED = 2_000_000
"""Files that are looked at to know how much a directory takes."""
_BLOCK = 512
"""The unit of `st_blocks`."""
_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)
"""Nothing exists under the name: deleted meanwhile, never created, too long, or a broken or circular link."""
_ENCODING = sys.getfilesystemencoding()
_IF_CACHED = getattr(os, "RWF_NOWAIT", 0)
"""Linux only: a read fails if it would have to wait for a disk. Elsewhere, reads wait."""
_BY_EFFECTIVE_USER = os.access in os.supports_effective_ids
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]+").fullmatch
"""Whether a name is the same in a URI."""

LocalPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]
"""What Python accepts as a path."""


def text_of(path: Any, name: str = "") -> str:
    """A path as text, from `str`, `bytes` or a path-like object; `name`: the option it comes from, for errors."""
    given = f"{option_name(name)}={shown(path)}" if name else shown(path)
    try:
        text = os.fsdecode(path)
        size = len(os.fsencode(text))
    except UnicodeError:
        raise OptionError(say("character in path", given=given)) from None
    except Exception:  # a path-like object may raise anything
        raise OptionError(say("not a path" if name else "not a path or list", given=given)) from None
    if size > _LONGEST:
        raise OptionError(say("path too long", given=given, size=size, most=_LONGEST))
    return str.__str__(text)


def texts_of(paths: Any) -> list[str]:
    """One path or several, as text."""
    if isinstance(paths, str | bytes | os.PathLike) or not isinstance(paths, Iterable):
        return [text_of(paths)]
    try:
        several = list(islice(paths, _MOST + 1))
    except Exception:
        raise OptionError(say("no list of paths", paths=shown(paths))) from None
    if len(several) > _MOST:
        raise OptionError(say("many paths", most=_MOST))
    return [text_of(path) for path in several]


def local_uri(path: str) -> str:
    """The absolute `file://` URI of a path, or of a `file:` URI with any number of slashes; no trailing slash."""
    if path.startswith("file:"):
        path = os.fsdecode(unquote_to_bytes(re.sub("^file:/*", "/", path)))
    path = os.path.abspath(os.path.expanduser(path)).strip("/")
    return "file://" + (f"/{quote(os.fsencode(path))}" if path else "")


def states_below(uri: str) -> Iterator[tuple[str, int, int]]:
    """Each file below a directory: its path, its size, and when it was written, in nanoseconds."""
    for where, _, names in os.walk(local_path(uri)):
        for path in (os.path.join(where, name) for name in names):
            if os.path.isfile(path):
                found = os.stat(path)
                yield path, found.st_size, found.st_mtime_ns


def local_path(uri: str) -> str:
    """The path of a `file://` URI."""
    path = uri.removeprefix("file://")
    return (path if path.isascii() and "%" not in path else os.fsdecode(unquote_to_bytes(path))) or "/"


class LocalFile(StoredFile):
    """A file descriptor read with `preadv`. No memory map, so truncating the file cannot kill the process."""

    _descriptor = -1

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        # O_NONBLOCK: opening a FIFO must not block.
        self._descriptor = os.open(_existing(uri), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            self.close()
            raise UnreadableError(say("not a file", uri=uri))
        self._leaves_no_trace = False

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def identity(self) -> int:
        look = looks(self._descriptor, itself=True)(b"")
        return os.fstat(self._descriptor).st_ino if look is None else look[2]

    def written(self) -> int:
        return os.fstat(self._descriptor).st_mtime_ns

    def _read(self, offset: int, view: memoryview) -> int:
        if not self._leaves_no_trace:
            return os.preadv(self._descriptor, [view], offset)
        brought = absent(self._descriptor, offset, min(len(view), self.size() - offset))
        got = os.preadv(self._descriptor, [view], offset)
        for begin, length in brought:
            os.posix_fadvise(self._descriptor, begin, length, os.POSIX_FADV_DONTNEED)
        return got

    def read_many(self, offsets: Sequence[int], lengths: Sequence[int], view: memoryview) -> int:
        if self._leaves_no_trace:
            return super().read_many(offsets, lengths, view)
        done = kernel.gather(self._descriptor, offsets, lengths, view)
        if done is None:
            done = self._gather(offsets, lengths, view)
        filled = sum(lengths[:done])
        if done < len(offsets):  # reports the error and its place
            filled += super().read_many(offsets[done:], lengths[done:], view[filled:])
        return filled

    def _gather(self, offsets: Sequence[int], lengths: Sequence[int], view: memoryview) -> int:
        """As `kernel.gather`."""
        done = self._read_ranges(offsets, lengths, view, _IF_CACHED)
        if done < len(offsets) and _IF_CACHED:
            self._will_read_many(offsets[done:], lengths[done:])
            done += self._read_ranges(offsets[done:], lengths[done:], view[sum(lengths[:done]) :], 0)
        return done

    def _read_ranges(self, offsets: Sequence[int], lengths: Sequence[int], view: memoryview, flags: int) -> int:
        """Fill the view until a range is cut short or cannot be read. Returns the number of ranges before it."""
        preadv, descriptor, filled, count = os.preadv, self._descriptor, 0, 0
        try:
            for offset, length in zip(offsets, lengths, strict=True):
                if preadv(descriptor, (view[filled : filled + length],), offset, flags) != length:
                    break
                filled += length
                count += 1
        except OSError:
            pass
        return count

    def _will_read_many(self, offsets: Sequence[int], lengths: Sequence[int]) -> None:
        """Let a disk fetch these ranges side by side, because a read waits for each alone."""
        for offset, length in zip(offsets, lengths, strict=True):
            if length:  # to the system, 0 is all of the rest
                os.posix_fadvise(self._descriptor, offset, length, os.POSIX_FADV_WILLNEED)

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        if self._leaves_no_trace:
            return super().read_ranges(ranges)
        return [self._range(*each) for each in ranges]

    def _range(self, offset: int, length: int) -> bytes:
        try:
            content = os.pread(self._descriptor, length, offset)
        except OSError:
            content = b""
        # At the end of the file, and after an error: the slower way says where it is.
        return content if len(content) == length else super().read_ranges([(offset, length)])[0]

    def leave_no_trace(self) -> None:
        """Linux only: drop pages after reading if they were not in the page cache before. Pages that the broker uses stay."""
        if hasattr(os, "posix_fadvise") and sys.platform == "linux":
            # No read-ahead: we could not distinguish its pages from those that were cached before.
            os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_RANDOM)
            self._leaves_no_trace = True

    def written_end(self, below: int | None = None) -> int:
        """The start of the last hole before `below`. Brokers allocate files ahead, so the unwritten rest is a hole."""
        low, high = 0, super().written_end(below)
        end, probes = high, 0
        while low < high:
            # Usually a file is data and then one hole: the first two probes tell.
            middle = low if probes < 2 else (low + high) // 2
            probes += 1
            data = self.next_data(middle)
            if data >= end or data < middle:  # less: the file was cut meanwhile
                high = middle
            else:
                low = max(middle + 1, self._next_hole(data))
        return min(low, end)

    def next_data(self, offset: int) -> int:
        try:
            return os.lseek(self._descriptor, offset, os.SEEK_DATA)
        except OSError as error:
            # Other errors: the file system does not support SEEK_DATA.
            return max(offset, self.size()) if error.errno == errno.ENXIO else offset

    def _next_hole(self, offset: int) -> int:
        try:
            return os.lseek(self._descriptor, offset, os.SEEK_HOLE)
        except OSError:
            return self.size()

    def close(self) -> None:
        # Forgotten first: an interrupt between the two would close the number again, which may be another file's by then.
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()  # for owners that keep a file open between reads and are never closed


class _OwnedByOther(PermissionError):
    said: Said


def _forbidden(error: PermissionError, path: str) -> PermissionError:
    """The error with how to run as the owner of the file; the same if it is ours, or if the owner is unknown."""
    try:
        owner = os.stat(path).st_uid
        name = pwd.getpwuid(owner).pw_name
    except (OSError, KeyError):
        return PermissionError(error.errno, error.strerror)
    if owner == os.geteuid():
        return PermissionError(error.errno, error.strerror)
    said = say("owned by other", what=words_of(error), user=name)
    other = _OwnedByOther(error.errno, said.text())
    other.said = said
    return other


class LocalStorage(Storage):
    """Files of this machine."""

    call_costs = range_costs = 4 << 10

    def _list(self, uri: str) -> list[DirEntry]:
        directory = os.open(_existing(uri), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            look = looks(directory)
            entries = (_entry(name, look, directory) or _broken_link(name, directory) for name in os.listdir(directory))
            return [entry for entry in entries if entry is not None]
        finally:
            os.close(directory)

    def _directories(self, uri: str) -> list[str]:
        # Without a call for each: a broker may have ten thousand topics.
        directory = os.open(_existing(uri), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with os.scandir(directory) as entries:
                return [entry.name for entry in entries if _is_directory(entry)]
        finally:
            os.close(directory)

    def _sizes(self, uri: str) -> list[tuple[str, int]]:
        with os.scandir(_existing(uri)) as entries:
            return [(entry.name, size) for entry in entries if (size := _size_of(entry)) is not None]

    def _entry(self, uri: str) -> DirEntry | None:
        path = local_path(uri)
        entry = None if "\0" in path else _entry(path, looks())  # C would cut the path at the NUL
        return entry and entry._replace(name=os.path.basename(path))

    def _open(self, uri: str) -> StoredFile:
        try:
            return LocalFile(uri)
        except PermissionError as error:
            raise _forbidden(error, local_path(uri)) from None

    def is_locked(self, uri: str) -> bool:
        try:
            descriptor = os.open(local_path(uri), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            # F_GETLK tests for a lock without taking it.
            answer = fcntl.fcntl(descriptor, fcntl.F_GETLK, _FLOCK.pack(*_ANY_LOCK))
        except OSError:  # a file system without locks
            return False
        finally:
            os.close(descriptor)
        return bool(_FLOCK.unpack(answer)[_TYPE] != fcntl.F_UNLCK)

    def disk(self, uri: str) -> Disk | None:
        try:
            path = _existing(uri)
            found, identity = os.statvfs(path), os.stat(path).st_dev
        except OSError:
            return None
        unit = found.f_frsize
        return Disk(identity, found.f_blocks * unit, (found.f_blocks - found.f_bfree) * unit, found.f_bavail * unit)

    def occupied(self, uri: str, but: Collection[str] = ()) -> int | None:
        skipped, waiting = {local_path(each) for each in but}, [local_path(uri)]
        blocks = sizes = count = 0
        while waiting:
            directory = waiting.pop()
            try:
                blocks += os.stat(directory).st_blocks
                with os.scandir(directory) as entries:
                    for entry in entries:
                        count += 1
                        if entry.is_dir(follow_symlinks=False):
                            waiting += [] if entry.path in skipped else [entry.path]
                            continue
                        status = entry.stat(follow_symlinks=False)
                        blocks, sizes = blocks + status.st_blocks, sizes + status.st_size
            except (OSError, ValueError):  # deleted since it was listed, or not readable
                continue
            if count > _MOST_COUNTED:
                return None
        return blocks * _BLOCK or sizes  # some file systems do not know the blocks

    def location(self, uri: str) -> Hashable:
        path = os.path.realpath(local_path(uri))
        directory, name = (path, "") if os.path.isdir(path) else os.path.split(path)
        try:
            status = os.stat(directory)  # the same for a directory that is mounted at two places
        except OSError:  # deleted meanwhile
            return uri
        return status.st_dev, status.st_ino, name

    def links(self, uri: str) -> int:
        parts = local_path(uri).split("/")
        return sum(os.path.islink("/".join(parts[: end + 1])) for end in range(1, len(parts)))

    def quoted(self, name: str) -> str:
        return name if _PLAIN(name) else quote(os.fsencode(name), safe="")

    def unquoted(self, part: str) -> str:
        return os.fsdecode(unquote_to_bytes(part))


def _existing(uri: str) -> str:
    """The path of a URI; FileNotFoundError if no file can have that name."""
    path = local_path(uri)
    if "\0" in path:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), uri)
    return path


def _broken_link(name: str, directory: int) -> DirEntry | None:
    """The entry of a link that leads nowhere, such as to a disk that is not mounted; None if it is none."""
    try:
        status = os.lstat(name, dir_fd=directory)
    except OSError:  # deleted meanwhile
        return None
    return DirEntry(name, 0, status.st_ino, False, False) if stat.S_ISLNK(status.st_mode) else None


def _entry(name: str, look: Callable[[bytes], Look | None], directory: int | None = None) -> DirEntry | None:
    facts = look(name.encode(_ENCODING, "surrogateescape"))
    if facts is None:
        try:
            status = os.stat(name, dir_fd=directory)
        except OSError as error:
            if error.errno in _MISSING:
                return None
            raise
        facts = status.st_mode, status.st_size, status.st_ino
    mode, size, identity = facts
    return DirEntry(name, size, identity, stat.S_ISREG(mode), stat.S_ISDIR(mode))


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:  # a link that leads nowhere
        if error.errno in _MISSING:
            return False
        raise


def _size_of(entry: os.DirEntry[str]) -> int | None:
    """The size of a file; None if it is none, or was deleted meanwhile."""
    try:
        status = entry.stat()
    except OSError as error:
        if error.errno in _MISSING:
            return None
        raise
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def names_in(directory: str) -> list[str]:
    """All names in the directory at that URI, those of links that lead nowhere too; none if it cannot be listed."""
    try:
        return os.listdir(local_path(directory))
    except OSError:
        return []


def refused_below(uri: str) -> Iterator[str]:
    """The URIs of the files and directories at and below that one which this user may not open."""
    waiting = [local_path(uri)]
    while waiting:
        directory = waiting.pop()
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.is_file() and not os.access(entry.path, os.R_OK, effective_ids=_BY_EFFECTIVE_USER):
                        yield local_uri(entry.path)
        except PermissionError:
            yield local_uri(directory)
        except OSError:  # deleted meanwhile
            continue


def in_forked_processes(function: Callable[[], None]) -> None:
    """Call that function in each process that is forked from this one."""
    os.register_at_fork(after_in_child=function)


@contextmanager
def linked(uris: Mapping[str, str]) -> Iterator[str]:
    """A temporary directory with a link to each local file, and a copy of each other file, by name."""
    with ExitStack() as stack:
        try:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="rmqstore-"))
            for name, uri in uris.items():
                if uri.startswith("file://"):
                    os.symlink(_existing(uri), f"{directory}/{name}")
                else:
                    _copy(uri, f"{directory}/{name}")
        except OSError as error:
            raise UnreadableError(say("no temporary directory", why=told(error))) from error
        yield directory


def _copy(uri: str, path: str) -> None:
    with storage_of(uri).open(uri) as file, open(path, "wb") as copy:
        position = 0
        while piece := file.read_ranges([(position, _PIECE)])[0]:
            copy.write(piece)
            position += len(piece)


register("file", lambda _: LocalStorage())
