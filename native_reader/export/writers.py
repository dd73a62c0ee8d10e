"""Writes the rows of one task to files, one for each partition, with bounded memory and few open files; and names their folders."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa

from native_reader.errors import OptionError
from native_reader.export.formats import FORMATS, Writer, suffix_of
from native_reader.export.partitions import Key, Partitioning
from native_reader.export.target import Target
from native_reader.sentences import say
from native_reader.tuning import TUNING

_BATCH_COSTS = 8 << 10
"""The approximate memory of a batch beyond its values."""


@dataclass(frozen=True, slots=True)
class FileShape:
    """How the files of an export look. `schema`: of the files, without partition columns."""

    to: str
    compression: str
    text_bodies: bool
    partitioning: Partitioning
    schema: pa.Schema


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of an export: its final name below the folder, and until it is renamed its temporary one."""

    name: str
    temporary: str
    rows: int
    bytes: int
    checksum: int


class _Open:
    """A file that is being written."""

    def __init__(self, target: Target, shape: FileShape, temporary: str) -> None:
        self.temporary, self.rows = temporary, 0
        self._sink = target.create(temporary)
        self._writer: Writer = FORMATS[shape.to].writer(self._sink, shape.schema, shape.compression, shape.text_bodies)

    def write(self, batches: Sequence[pa.RecordBatch]) -> None:
        self.rows += sum(map(len, batches))
        self._writer.write(batches)

    def close(self) -> None:
        self._writer.close()
        self._sink.close()


class TaskFiles:
    """The files of one task. Call `write` for each batch, then `close` for the files, which still have temporary names."""

    def __init__(self, target: Target, shape: FileShape, task: str) -> None:
        self._target, self._shape, self._task = target, shape, task
        self._waiting: dict[Key, list[pa.RecordBatch]] = {}
        self._sizes: dict[Key, int] = {}
        self._open: OrderedDict[Key, _Open] = OrderedDict()  # least recently used first
        self._pieces: dict[Key, int] = {}
        """The complete files of each partition."""
        self._keys: set[Key] = set()
        self._files: list[ExportedFile] = []
        self._made = 0
        self.buffered = 0
        """Bytes of rows in memory."""
        self.cut: dict[str, str] = {}
        """The values of folders whose names are cut."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows. They are written when too many wait, those of the largest partition first."""
        for key, rows in self._shape.partitioning.split(batch):
            self._keys.add(key)
            if len(self._keys) > TUNING.export_partitions:
                raise OptionError(say("many partitions", names=",".join(self._shape.partitioning.names), most=TUNING.export_partitions))
            self._add(key, rows.select(self._shape.schema.names))
        if self.buffered > TUNING.export_buffer:
            for key in sorted(self._sizes, key=self._sizes.__getitem__, reverse=True):
                if self.buffered <= TUNING.export_buffer // 2:
                    break
                self._spill(key)

    def close(self) -> list[ExportedFile]:
        """Write the rest. Each file is then complete on the disk."""
        for key in list(self._waiting):
            self._spill(key)
            self._close(key)
        for key in list(self._open):
            self._close(key)
        return self._files

    def abandon(self) -> None:
        """Close the files of a task that failed, and delete them."""
        self._waiting.clear()
        for file in self._open.values():
            with suppress(OSError, pa.ArrowException):  # the disk may be full
                file.close()
        with suppress(OSError):  # what is left is deleted when the export continues
            for name in (*(file.temporary for file in self._open.values()), *(file.temporary for file in self._files)):
                self._target.discard(name)

    def _add(self, key: Key, rows: pa.RecordBatch) -> None:
        size = rows.nbytes + _BATCH_COSTS
        self._waiting.setdefault(key, []).append(rows)
        self._sizes[key] = self._sizes.get(key, 0) + size
        self.buffered += size

    def _spill(self, key: Key) -> None:
        batches = self._waiting.pop(key)
        self.buffered -= self._sizes.pop(key)
        if key and len(batches) > 1:  # a partition gets a few rows of each batch
            batches = pa.Table.from_batches(batches).combine_chunks().to_batches()
        file = self._open.get(key)
        if file is None:
            file = self._open[key] = _Open(self._target, self._shape, f"{self._task}-{self._made:06}")
            self._made += 1
        self._open.move_to_end(key)
        file.write(batches)
        if len(self._open) > TUNING.export_open_files:
            self._close(next(iter(self._open)))

    def _close(self, key: Key) -> None:
        file = self._open.pop(key)
        file.close()
        piece = self._pieces.get(key, 0)
        self._pieces[key] = piece + 1
        self._files.append(ExportedFile(self._name(key, piece), file.temporary, file.rows, *self._target.flush(file.temporary)))

    def _name(self, key: Key, piece: int) -> str:
        folders = []
        for column, value in zip(self._shape.partitioning.names, key, strict=True):
            folders.append(folder_name(column, value))
            if is_cut(folders[-1]):
                self.cut[folders[-1]] = str(value)
        more = f"-{piece}" if piece else ""
        return "/".join([*folders, f"{self._task}{more}{suffix_of(self._shape.to, self._shape.compression)}"])


NULL = "__HIVE_DEFAULT_PARTITION__"
EMPTY = "__EMPTY__"
LONGEST = 255
"""The most bytes of a name that common file systems accept."""
_CUT = "~"
_HASH_DIGITS = 32
_KEPT = re.compile(r"[A-Za-z0-9_.\-]")


def folder_name(column: str, value: str | int | None) -> str:
    """The name of the folder for that value. If it would be too long, it is cut and ends in a hash."""
    if value is None:
        return f"{column}={NULL}"
    text = str(value)
    escaped = [*map(_escaped, text)] if text else [EMPTY]
    if text in (NULL, EMPTY):
        escaped[0] = "%5F"
    name = f"{column}={''.join(escaped)}"
    if len(name.encode()) <= LONGEST:
        return name
    room = LONGEST - len(f"{column}={_CUT}") - _HASH_DIGITS
    kept = ""
    for each in escaped:
        room -= len(each.encode())
        if room < 0:
            break
        kept += each
    return f"{column}={kept}{_CUT}{hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS]}"


def value_of(name: str, cut: Mapping[str, str]) -> tuple[str, str | None]:
    """The column and the value, as text, of a folder. `cut`: the values of names that are cut."""
    column, _, text = name.partition("=")
    if text == NULL:
        return column, None
    if name in cut:
        return column, cut[name]
    return column, "" if text == EMPTY else unquote(text, errors="strict")


def is_cut(name: str) -> bool:
    """Whether the name does not contain its whole value."""
    return _CUT in name


def _escaped(character: str) -> str:
    # Characters of other scripts stay readable. Of these, only the unprintable ones are escaped: they can disguise a name.
    if _KEPT.match(character) or (ord(character) >= 0x80 and character.isprintable()):
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode())
