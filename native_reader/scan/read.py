"""One split to Arrow: a pure function of the split, what is wanted, and the bytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from native_reader.access.plan import Split
from native_reader.access.predicate import EVERYTHING, Predicate
from native_reader.errors import StoreDamaged
from native_reader.layout.properties import crc_trailer
from native_reader.layout.record import Records
from native_reader.scan.columns import Columns
from native_reader.scan.filter import Filter
from native_reader.scan.report import Damage, Report, SegmentReport
from native_reader.scan.rows import Rows, unwrapped
from native_reader.scan.strings import Source
from native_reader.scan.walk import CHUNK, Walk
from native_reader.scan.witness import is_live
from native_reader.schema import schema_of
from native_reader.storage.pace import Pace
from native_reader.storage.window import Window

_BODY = "body"


@dataclass(frozen=True, slots=True)
class Projection:
    """What is wanted of each row, and how far a read may go for it."""

    columns: tuple[str, ...]
    verify_crc: bool = False
    max_record_bytes: int = 64 << 20
    max_decompressed_bytes: int = 64 << 20
    max_read_rate: int | None = None


class Reading:
    """Iterate it once for its batches; `report` then accounts for every byte of the split.

    Left early, the report tells what was read until then.
    """

    def __init__(self, split: Split, projection: Projection, predicate: Predicate) -> None:
        self._split, self._projection = split, projection
        place: dict[str, Any] = {"store": split.store, "segment": split.segment.name}
        self._columns = Columns(projection.columns, **place)
        self._schema = schema_of(projection.columns)
        self._of_records = Filter(predicate, of_records=True, **place)
        self._of_messages = Filter(predicate, of_records=False, max_decompressed_bytes=projection.max_decompressed_bytes, **place)
        self._walk: Walk | None = None
        self._damage: list[Damage] = []
        self._rows = 0
        self._stopped = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        split, projection = self._split, self._projection
        pace = None if projection.max_read_rate is None else Pace(projection.max_read_rate)
        room = min(CHUNK, len(split) + projection.max_record_bytes)
        # Where a broker runs its page cache is what makes it quick.
        with Window(split.segment, room, pace=pace, leave_no_trace=is_live(split.store)) as window:
            self._walk = Walk(window, split.start, split.stop, split.end, max_record_bytes=projection.max_record_bytes)
            for found in self._walk:
                if self._stopped:
                    return
                if isinstance(found, Damage):
                    self._damage.append(found)
                else:
                    yield from self._batches(Rows(Source(window.u8, window.arrow), found))

    def stop(self) -> None:
        """Go no further than the chunk at hand; from any thread."""
        self._stopped = True

    def _batches(self, rows: Rows) -> Iterator[pa.RecordBatch]:
        rows = self._of_records.survivors(rows)
        if self._projection.verify_crc:
            self._verify(rows.source, rows.records)
        rows = self._of_messages.survivors(unwrapped(rows, self._projection.max_decompressed_bytes))
        self._rows += len(rows)
        if len(rows) and self._columns.names:
            for piece in rows.with_bodies(self._projection.max_decompressed_bytes) if _BODY in self._columns.names else (rows,):
                yield self._batch(piece)

    def _batch(self, rows: Rows) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(self._columns.arrays(rows), schema=self._schema)

    def _verify(self, source: Source, records: Records) -> None:
        """Every checksum against what it covers. `zlib.crc32` has no form for many: one call a record."""
        content = source.u8.data
        for row, (start, body_at, body_size) in enumerate(zip(records.starts, records.body_at, records.body_size, strict=True)):
            said = int(records.heads["body_crc"][row])
            if body_size and (found := zlib.crc32(content[body_at : body_at + body_size]) & 0x7FFFFFFF) != said:
                raise self._crc_error(records, row, "the stored body", said, found)
            end = start + records.sizes[row]
            said_of_all = crc_trailer(content[records.properties_at[row] : end].tobytes()[-20:])
            if said_of_all is not None and (found := zlib.crc32(content[start : end - 20]) & 0x7FFFFFFF) != said_of_all:
                raise self._crc_error(records, row, "the record", said_of_all, found)

    def _crc_error(self, records: Records, row: int, what: str, said: int, found: int) -> StoreDamaged:
        offset = int(records.heads["physical_offset"][row])
        return StoreDamaged(
            f"{self._split.segment.uri} at offset {offset:,}: the checksum of {what} is 0x{found:08X}, its record says 0x{said:08X}: "
            "a fault of disk or memory, or a write that never finished. verify_crc=False reads on without checking"
        )

    @property
    def report(self) -> Report:
        """What became of the bytes that were looked at."""
        segment, walk = self._split.segment, self._walk
        counts = () if walk is None else (walk.records, walk.record_bytes, walk.blank_bytes, walk.damage_bytes, walk.unwritten_bytes)
        account = SegmentReport(segment.uri, segment.base, segment.size, *counts)
        return Report((account,), tuple(self._damage), self._rows)


def read(split: Split, projection: Projection, predicate: Predicate = EVERYTHING) -> Reading:
    """The rows of a split that meet the predicate, and an account of its bytes."""
    return Reading(split, projection, predicate)
