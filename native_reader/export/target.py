"""The folder that an export fills: how its files are written, found again and read back.

A file is written under a temporary name, flushed to the disk, and renamed. So a file with its final name is complete.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self

import pyarrow as pa

from native_reader.errors import ExportError, OptionError
from native_reader.sentences import Said, say, words_of
from native_reader.storage.local import LocalPath, local_path
from native_reader.storage.paths import uri_of
from native_reader.storage.store import StoreFiles

_WRITING = "_writing"
_FILE = "file://"
_BUFFER = 64 << 10
_PIECE = 1 << 20
_LARGEST = 64 << 20
"""The most characters of a text file that is read at once."""
_NOT_SUPPORTED = (errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""Some network file systems can lock or flush no folder. An export to them is still possible."""


class Content(NamedTuple):
    """The bytes of a file: how many, and their CRC-32."""

    bytes: int
    checksum: int


class Target:
    """A folder for one export. A `with` block locks it, because two exports at once would mix their files."""

    def __init__(self, path: LocalPath, stores: Iterable[StoreFiles]) -> None:
        uri = uri_of(path)
        if not uri.startswith(_FILE):
            raise OptionError(say("not local", uri=uri))
        self.path = local_path(uri)
        _refuse_unprintable(self.path)
        refuse_inside(self.path, stores)
        self._lock = -1

    def __enter__(self) -> Self:
        try:
            if not os.path.isdir(self.path):
                os.makedirs(self.path)
                with suppress(OSError):  # a folder that may not be read
                    flush_folder(os.path.dirname(self.path))
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            why = Said("is a file") if os.path.isfile(self.path) else words_of(error)
            raise ExportError(say("folder not made", path=self.path, why=why)) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise ExportError(say("folder in use", path=self.path)) from None
        except OSError as error:
            if error.errno not in _NOT_SUPPORTED:
                os.close(self._lock)
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._lock)

    def other_names(self) -> list[str]:
        """The names in the folder, without that of the temporary files."""
        return [name for name in os.listdir(self.path) if name != _WRITING]

    def names_in(self, folder: str) -> list[str]:
        """The names in a folder of this one; none if it is not there."""
        return os.listdir(self._at(folder)) if os.path.isdir(self._at(folder)) else []

    def size(self, name: str) -> int | None:
        """The size of a file; None if there is none."""
        try:
            return os.stat(self._at(name)).st_size
        except FileNotFoundError:
            return None

    def lines(self, name: str) -> Iterator[str]:
        """The lines of a text file of the export."""
        with open(self._at(name), encoding="utf-8") as file:
            yield from file

    def write_text(self, name: str, lines: Iterable[str]) -> None:
        """Write a small file, which appears complete or not at all."""
        temporary = name.replace("/", "-")
        self._make_folder(_WRITING)
        with open(self._temporary(temporary), "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        self._flush_folders([self._at(_WRITING)])  # also the names of temporary files that this one lists
        self._rename(temporary, name)
        self._flush_folders([os.path.dirname(self._at(name))])

    def create(self, temporary: str) -> Any:
        """A new file under a temporary name, for pyarrow's writers."""
        self._make_folder(_WRITING)
        return pa.output_stream(self._temporary(temporary), compression=None, buffer_size=_BUFFER)

    def flush(self, temporary: str) -> Content:
        """Flush a closed file to the disk. Returns what is in it."""
        with open(self._temporary(temporary), "rb", buffering=0) as file:
            os.fsync(file.fileno())
            return _content_of(file)

    def content(self, name: str) -> Content | None:
        """What is in a file with its final name; None if there is none."""
        try:
            with open(self._at(name), "rb", buffering=0) as file:
                return _content_of(file)
        except FileNotFoundError:
            return None

    def temporaries(self) -> list[str]:
        """The temporary names that exist."""
        if not os.path.lexists(self._at(_WRITING)):
            return []
        self._make_folder(_WRITING)
        return os.listdir(self._at(_WRITING))

    def _make_folder(self, name: str) -> None:
        """Make a folder inside this one, unless it is there. A link could lead out of it, to files of others."""
        folder = self._at(name)
        os.makedirs(folder, exist_ok=True)
        if os.path.realpath(folder) != os.path.join(os.path.realpath(self.path), *name.split("/")):
            raise ExportError(say("export link", folder=folder))

    def remove(self, name: str) -> None:
        """Delete a file, if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(self._at(name))

    def remove_folder(self, name: str) -> None:
        """Delete a folder with its files, if it is there."""
        if os.path.lexists(self._at(name)):
            self._make_folder(name)
            shutil.rmtree(self._at(name))

    def move(self, files: Iterable[tuple[str, str]]) -> None:
        """Give files other final names. Those that have them already, after a run that was stopped, stay."""
        folders = set()
        for name, wanted in files:
            if folder := wanted.rpartition("/")[0]:
                self._make_folder(folder)
            try:
                os.rename(self._at(name), self._at(wanted))
            except FileNotFoundError:
                if not os.path.lexists(self._at(wanted)):
                    raise ExportError(say("part gone", path=self._at(name))) from None
            folders.add(os.path.dirname(self._at(wanted)))
        self._flush_folders(folders)

    def discard(self, temporary: str) -> None:
        """Delete a temporary file."""
        os.unlink(self._temporary(temporary))

    def publish(self, files: Iterable[tuple[str, str]]) -> None:
        """Rename files from their temporary to their final names."""
        folders = set()
        for temporary, name in files:
            path = self._at(name)
            if os.path.lexists(path):  # `Orders` and `orders` are one folder on some file systems
                raise ExportError(say("partition exists", path=path))
            self._rename(temporary, name)
            folders.add(os.path.dirname(path))
        self._flush_folders(folders)

    def _rename(self, temporary: str, name: str) -> None:
        if folder := name.rpartition("/")[0]:
            self._make_folder(folder)
        os.rename(self._temporary(temporary), self._at(name))

    def _flush_folders(self, folders: Iterable[str]) -> None:
        """Flush the names in these folders, and those of the folders themselves."""
        wanted = set[str]()
        for each in folders:
            folder = each
            while folder not in wanted:
                wanted.add(folder)
                folder = self.path if folder == self.path else os.path.dirname(folder)
        for folder in wanted:
            flush_folder(folder)

    def _temporary(self, name: str) -> str:
        return os.path.join(self.path, _WRITING, name)

    def _at(self, name: str) -> str:
        return os.path.join(self.path, *name.split("/"))

    def remove_temporary_folder(self) -> None:
        """Remove the folder of temporary files, which is empty at the end."""
        if os.path.isdir(self._at(_WRITING)):
            os.rmdir(self._at(_WRITING))


def _content_of(file: io.RawIOBase) -> Content:
    size, checksum = 0, 0
    while piece := file.read(_PIECE):
        size, checksum = size + len(piece), zlib.crc32(piece, checksum)
    return Content(size, checksum)


def _refuse_unprintable(path: str) -> None:
    """The account of an export is UTF-8, and so are the names that pyarrow takes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise OptionError(say("folder not utf-8", path=path)) from None
    if "\0" in path:
        raise OptionError(say("no folder name", path=path))


def refuse_inside(path: str, stores: Iterable[StoreFiles]) -> None:
    """A store is never changed, so nothing may be written to its folders."""
    own = os.path.realpath(path)
    for store in stores:
        folders = {
            store.uri,
            *(segment.directory for segment in store.segments),
            *store.queue_directories,
            store.index,
            store.config,
        }
        for uri in folders:
            if uri is None or not uri.startswith(_FILE):
                continue
            folder = os.path.realpath(local_path(uri))
            if own == folder or own.startswith(folder.rstrip("/") + "/"):
                raise OptionError(say("inside the store", path=path, store=store.uri))


def text_of_file(path: str) -> str | None:
    """The text of a file; None if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(_LARGEST)
    except FileNotFoundError:
        return None
    except IsADirectoryError as error:
        raise OptionError(say("output of other kind", output=path, what=Said("output is a folder"))) from error
    except (OSError, UnicodeDecodeError) as error:
        why = words_of(error) if isinstance(error, OSError) else Said("not utf8")
        raise OptionError(say("cannot read file", path=path, why=why)) from error


def save_text(path: str, text: str, stores: Iterable[StoreFiles]) -> None:
    """Replace a small file: after a power failure, it has its old or its new text."""
    refuse_inside(path, stores)
    path = os.path.realpath(path)
    folder, name = os.path.split(path)
    part = os.path.join(folder, f".{name}.part")
    try:
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        flush_folder(folder)
    except FileNotFoundError as error:
        raise ExportError(say("output without folder", path=path, parent=folder)) from error
    except OSError as error:
        raise ExportError(say("file not written", path=path, why=words_of(error))) from error


def flush_folder(folder: str) -> None:
    """Flush the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
    finally:
        os.close(descriptor)


def open_exported(path: str, name: str) -> Any:
    """A file of a complete export."""
    return pa.OSFile(os.path.join(path, *name.split("/")), "rb")
