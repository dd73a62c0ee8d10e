"""Packed segments, which are unpacked while they are read: `packed+file:///x/commitlog/00000000000000000000.gz`.

Bytes come in order, and the last ones are kept: enough for a reader that goes forward and looks back a little. A read before them
begins again at the start of the file, so reads here and there are slow. The size of what is in the file is not known before its end.
"""

from __future__ import annotations

import errno
import io
import lzma
from collections import deque
from typing import IO, cast

import pyarrow as pa

from native_reader.storage.protocol import Buffer, DirEntry, Disk, Storage, StoredFile, register, storage_of
from native_reader.storage.strays import DIGITS

SCHEME = "packed+"
"""Before the scheme of the packed file's URI."""
_XZ = "xz"
_FORMATS = {".gz": "gzip", ".zst": "zstd", ".xz": _XZ, ".lz4": "lz4", ".bz2": "bz2"}
_TO_OUTPUT = {".gz": "gunzip -c", ".zst": "zstd -dc", ".xz": "xz -dc", ".lz4": "lz4 -dc", ".bz2": "bzip2 -dc"}
_PIECE = 1 << 20
_KEPT = 16 << 20
"""More than the window of a reader, which loads the rest of its last record again."""
_UNKNOWN = 2**62
_ENDS: dict[tuple[str, int], tuple[int, int]] = {}
"""Of files that were unpacked whole, by URI and identity: the size, and the end of what is written. A log has one, at its end."""


def is_readable(name: str) -> bool:
    """Whether a file of that name is a packed segment that can be read as it is."""
    return _format_of(name) is not None


def rest_command(name: str) -> str | None:
    """The command that writes what can still be unpacked of a stray; None if it may be whole.

    A packed segment that can be read as it is is no stray. So a stray of such a name is cut or damaged where it begins, or empty.
    """
    if not is_readable(name):
        return None
    return f"{_TO_OUTPUT[name[DIGITS:]]} {name} > {name[:DIGITS]}"


def _format_of(name: str) -> str | None:
    form = _FORMATS.get(name[DIGITS:]) if name[:DIGITS].isdecimal() else None
    return form if form is None or form == _XZ or pa.Codec.is_available(form) else None


class PackedStorage(Storage):
    """The storage of such URIs. `origin`: `packed+` and that of the file's storage."""

    def __init__(self, origin: str) -> None:
        self._inner = storage_of(origin.removeprefix(SCHEME))
        self.call_costs, self.range_costs = self._inner.call_costs, self._inner.range_costs

    def _list(self, uri: str) -> list[DirEntry]:
        return self._inner.list(uri.removeprefix(SCHEME))

    def _entry(self, uri: str) -> DirEntry | None:
        return self._inner.entry(uri.removeprefix(SCHEME))

    def _open(self, uri: str) -> StoredFile:
        return PackedFile(uri, self._inner.open(uri.removeprefix(SCHEME)))

    def open_known(self, uri: str, identity: int) -> StoredFile:
        return PackedFile(uri, self._inner.open_known(uri.removeprefix(SCHEME), identity))

    def disk(self, uri: str) -> Disk | None:
        return self._inner.disk(uri.removeprefix(SCHEME))

    def location(self, uri: str) -> object:
        return self._inner.location(uri.removeprefix(SCHEME))

    def links(self, uri: str) -> int:
        return self._inner.links(uri.removeprefix(SCHEME))

    def quoted(self, name: str) -> str:
        return self._inner.quoted(name)

    def unquoted(self, part: str) -> str:
        return self._inner.unquoted(part)


class PackedFile(StoredFile):
    """What is in a packed file."""

    def __init__(self, uri: str, inner: StoredFile) -> None:
        super().__init__(uri)
        self._inner, self._format = inner, _format_of(uri.rpartition("/")[2])
        self._size = _UNKNOWN
        self._damaged: OSError | None = None
        self._rewind()

    def _rewind(self) -> None:
        packed = io.BufferedReader(_Forward(self._inner), _PIECE)
        if self._format == _XZ:
            self._unpacked: IO[bytes] = lzma.LZMAFile(packed)  # noqa: SIM115  it has no file of its own to close
        else:
            self._unpacked = cast(IO[bytes], pa.CompressedInputStream(pa.PythonFile(packed, "r"), self._format))
        self._pieces: deque[bytes] = deque()
        self._begin = self._end = self._written = 0

    def written_end(self, below: int | None = None) -> int:
        """Unpacks the whole file, once: zeros cannot be looked for from its end."""
        try:
            _, written = self.ends()
        except OSError:
            return super().written_end(below)
        return written if below is None else min(below, written)

    def ends(self) -> tuple[int, int]:
        """The size, and the end of what is written. Raises OSError where the file is damaged."""
        key = self.uri, self.identity()
        if key not in _ENDS:
            while self._unpack():
                pass
            _ENDS[key] = self._end, self._written
        return _ENDS[key]

    def size(self) -> int:
        return self._size

    def identity(self) -> int:
        return self._inner.identity()

    def written(self) -> int:
        return self._inner.written()

    def _read(self, offset: int, view: memoryview) -> int:
        if offset < self._begin:
            self._rewind()
        while offset >= self._end:
            if not self._unpack():
                return 0
        begin = self._begin
        for piece in self._pieces:
            if offset < begin + len(piece):
                part = memoryview(piece)[offset - begin :][: len(view)]
                view[: len(part)] = part
                return len(part)
            begin += len(piece)
        raise AssertionError(offset)

    def _unpack(self) -> bool:
        """Unpack one more piece; False at the end. After damage, nothing more can be unpacked: each further try fails at once."""
        if self._damaged is not None:
            raise self._damaged
        try:
            piece = bytes(self._unpacked.read(_PIECE))
        except (OSError, EOFError, lzma.LZMAError, pa.ArrowInvalid) as error:
            self._damaged = OSError(errno.EIO, f"what follows byte {self._end:,} cannot be unpacked: {error}")
            raise self._damaged from None
        if not piece:
            self._size = self._end
            return False
        self._pieces.append(piece)
        if kept := len(piece.rstrip(b"\0")):
            self._written = self._end + kept
        self._end += len(piece)
        while self._end - self._begin - len(self._pieces[0]) > _KEPT:
            self._begin += len(self._pieces.popleft())
        return True

    def close(self) -> None:
        self._inner.close()


class _Forward(io.RawIOBase):
    """A stored file as Python's libraries read files, from its start on."""

    def __init__(self, file: StoredFile) -> None:
        self._file, self._offset = file, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:  # type: ignore[override]
        got = self._file.read_into(self._offset, buffer)
        self._offset += got
        return got


def unpacked_size(uri: str) -> int:
    """The size of what is in a packed file, which is unpacked for that; raises OSError where it is damaged."""
    with storage_of(uri).open(uri) as file:
        assert isinstance(file, PackedFile)
        return file.ends()[0]


register(SCHEME, PackedStorage)
