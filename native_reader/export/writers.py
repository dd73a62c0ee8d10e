"""Writes the rows of one task to files, one for each partition, with bounded memory and few open files."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from native_reader.errors import OptionError
from native_reader.export.formats import FORMATS, Writer, suffix_of
from native_reader.export.names import folder_name, is_cut
from native_reader.export.partitions import Key, Partitioning
from native_reader.export.target import Target
from native_reader.tuning import TUNING

_BATCH_COSTS = 8 << 10
"""The approximate memory of a batch beyond its values."""


@dataclass(frozen=True, slots=True)
class Shape:
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


class _Open:
    """A file that is being written."""

    def __init__(self, target: Target, shape: Shape, temporary: str) -> None:
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

    def __init__(self, target: Target, shape: Shape, task: str) -> None:
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
                raise OptionError(
                    f"partition_by={','.join(self._shape.partitioning.names)} makes more than {TUNING.export_partitions:,} partitions "
                    "in one task. Choose columns with fewer values"
                )
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
        self._files.append(ExportedFile(self._name(key, piece), file.temporary, file.rows, self._target.flush(file.temporary)))

    def _name(self, key: Key, piece: int) -> str:
        folders = []
        for column, value in zip(self._shape.partitioning.names, key, strict=True):
            folders.append(folder_name(column, value))
            if is_cut(folders[-1]):
                self.cut[folders[-1]] = str(value)
        more = f"-{piece}" if piece else ""
        return "/".join([*folders, f"{self._task}{more}{suffix_of(self._shape.to, self._shape.compression)}"])
