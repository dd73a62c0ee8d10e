"""Files in memory, for tests that need many small stores."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from native_reader.storage.protocol import DirEntry, Storage, StoredFile, mount, register


class MemoryFile(StoredFile):
    """A file whose bytes are in memory."""

    def __init__(self, uri: str, content: bytes | bytearray) -> None:
        super().__init__(uri)
        self._content = memoryview(content)

    def size(self) -> int:
        return len(self._content)

    def identity(self) -> int:
        return _identity(self._content)

    def _read(self, offset: int, view: memoryview) -> int:
        got = self._content[offset : offset + len(view)]
        view[: len(got)] = got
        return len(got)

    def close(self) -> None:
        self._content.release()


class MemoryStorage(Storage):
    """`{"store/commitlog/00000000000000000000": b"..."}`, available at its `url` as long as the object exists.

    A name that ends in `/` is an empty directory. The mapping is not copied, so a test can change the files.
    """

    call_costs = range_costs = 1

    def __init__(self, files: Mapping[str, bytes | bytearray]) -> None:
        self.files = files
        self.url = mount("memory", self)

    def _list(self, uri: str) -> list[DirEntry]:
        inside = self._name(uri)
        if inside in self.files:
            raise NotADirectoryError(f"{uri} is a file")
        prefix = f"{inside}/" if inside else ""
        names = {name[len(prefix) :].partition("/")[0] for name in self.files if name.startswith(prefix)} - {""}
        if not names and not (prefix in self.files or not prefix):
            raise FileNotFoundError(f"{uri}: no such directory")
        entries = (self._entry(f"{uri}/{name}") for name in names)
        return [entry for entry in entries if entry is not None]

    def _entry(self, uri: str) -> DirEntry | None:
        name = self._name(uri)
        base = name.rpartition("/")[2]
        if name in self.files:
            content = self.files[name]
            return DirEntry(base, len(content), _identity(content), True, False)
        if not name or any(file.startswith(f"{name}/") for file in self.files):
            return DirEntry(base, 0, 0, False, True)
        return None

    def _open(self, uri: str) -> StoredFile:
        name = self._name(uri)
        if name not in self.files:
            raise FileNotFoundError(f"{uri}: no such file")
        return MemoryFile(uri, self.files[name])

    def _name(self, uri: str) -> str:
        return uri.removeprefix(self.url).strip("/")


def _identity(content: bytes | bytearray | memoryview) -> int:
    return zlib.crc32(content[:64])


register("memory", None)
