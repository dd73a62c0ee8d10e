"""Reads one split into Arrow: a pure function of the split, the projection and the bytes."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from native_reader.columns import checksums
from native_reader.columns.chunk import Columns
from native_reader.columns.corrupt import CORRUPT_COLUMNS, corrupt_rows
from native_reader.columns.filter import Filter
from native_reader.columns.rows import Rows, unwrapped
from native_reader.columns.schema import schema_of
from native_reader.columns.strings import Source
from native_reader.errors import DataLoss, StoreDamaged, option_name
from native_reader.layout.record import Index, Mask, Records
from native_reader.log.certain import certain_at_or_after
from native_reader.log.witness import is_live
from native_reader.plan.estimate import SCAN, TRUST
from native_reader.plan.split import Split
from native_reader.predicate.tree import EVERYTHING, Predicate
from native_reader.records.damages import CHECKSUM, Damage, Damages
from native_reader.records.report import Report, SegmentReport
from native_reader.records.sync import sync
from native_reader.records.walk import CHUNK, Walk
from native_reader.scan.pruned import Pruned
from native_reader.storage.pace import Pace
from native_reader.storage.window import Window

FAILFAST, DROPMALFORMED, PERMISSIVE = "FAILFAST", "DROPMALFORMED", "PERMISSIVE"
MODES = (FAILFAST, DROPMALFORMED, PERMISSIVE)
_BODY = "body"
_TOLD = 10
"""How many ranges of one split are logged one by one."""
_MANY = 64
"""From this many ranges on, they are merged into the batch in one step, which copies the messages."""
_PIECES = 1024
_log = logging.getLogger("native_reader")

Known = dict[str, int]
"""By segment URI: a position where a record certainly starts."""


@dataclass(frozen=True, slots=True)
class Projection:
    """What to return for each row, and the limits of the read."""

    columns: tuple[str, ...]
    mode: str = FAILFAST
    verify_crc: bool = False
    max_record_bytes: int = 64 << 20
    max_decompressed_bytes: int = 64 << 20
    max_read_rate: int | None = None
    refuses_loss: bool = True
    ignores_missing: bool = False
    corrupt_name: str | None = None

    @property
    def schema(self) -> pa.Schema:
        """The schema of its batches."""
        return schema_of(self.columns, self.corrupt_name)

    @property
    def tells_damage(self) -> bool:
        """Whether damage is returned as rows."""
        return self.mode == PERMISSIVE and any(name in self.columns for name in CORRUPT_COLUMNS)


class Reading:
    """Iterate it once for its batches; `report` then accounts for every byte of the split.

    If you stop early, the report covers what was read until then.
    """

    def __init__(
        self, split: Split, projection: Projection, predicate: Predicate, pruning: Predicate | None = None, known: Known | None = None
    ) -> None:
        self._split, self._projection = split, projection
        self._known = {} if known is None else known
        place: dict[str, Any] = {"store": split.store, "segment": split.segment.name}
        self._columns = Columns(projection.columns, **place, tells_trouble=projection.mode == PERMISSIVE)
        self._schema = projection.schema
        self._of_records = Filter(predicate, of_records=True, **place)
        self._of_messages = Filter(predicate, of_records=False, max_decompressed_bytes=projection.max_decompressed_bytes, **place)
        self._pruning = predicate if pruning is None else pruning
        self._walk: Walk | Pruned | None = None
        self._window: Window | None = None
        self._damage: list[Damages] = []
        self._ranges = self._failed = self._failed_bytes = 0
        self._untold = deque[Damages]()
        self._rows = 0
        self._stopped = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._read()
        except DataLoss as error:
            if self._projection.refuses_loss and not (self._projection.ignores_missing and error.is_file_gone):
                raise
            _log.warning("%s. Read on without it", error)
        if (untold := self._ranges - _TOLD) > 0 and not self._projection.tells_damage:
            _log.warning("%s: %s more ranges were left out", self._split.segment.uri, f"{untold:,}")

    def _read(self) -> Iterator[pa.RecordBatch]:
        split, projection = self._split, self._projection
        pace = None if projection.max_read_rate is None else Pace(projection.max_read_rate)
        room = min(CHUNK, len(split) + projection.max_record_bytes)
        lenient = projection.mode != FAILFAST
        # A running broker needs its page cache, so the read must not displace it.
        with Window(split.segment, room, pace=pace, leave_no_trace=is_live(split.store), past_unreadable=lenient) as window:
            self._window = window
            limits: dict[str, Any] = {"max_record_bytes": projection.max_record_bytes, "skip_damage": lenient}
            begin = split.start if split.access == TRUST else self._begin(window)
            if begin is None:
                return
            if split.access == SCAN:
                self._walk = Walk(window, begin, split.stop, split.end, leaves=not split.alone, **limits)
            else:
                self._walk = Pruned(window, split, begin, self._pruning, **limits)
            try:
                yield from self._found(window)
            except DataLoss:
                yield from self._corrupt_rows(window)
                raise
            yield from self._corrupt_rows(window)

    def _found(self, window: Window) -> Iterator[pa.RecordBatch]:
        """What the walk comes over, but for damage after the last message."""
        assert self._walk is not None
        for found in self._walk:
            if self._stopped:
                return
            if isinstance(found, Damages):
                self._tell(found)
                if self._projection.tells_damage:
                    self._wait(found)
            else:
                yield from self._between(window, self._batches(Rows(Source(window.u8, window.arrow), found)))

    def _wait(self, damages: Damages) -> None:
        """Keep damage until the messages before it are told; a scan after all finds some that is before what waits."""
        if self._untold and int(damages.starts[0]) < int(self._untold[-1].starts[-1]):
            damages = Damages.joined([*self._untold, damages])
            damages = damages.where(np.argsort(damages.starts, kind="stable"))
            self._untold.clear()
        self._untold.append(damages)

    def _begin(self, window: Window) -> int | None:
        """Where the first record of the split starts; None if none does."""
        split, uri = self._split, self._split.segment.uri
        stop = min(split.stop, split.end)
        if split.start == split.border:
            return split.start
        if split.follows:  # the previous split fails if it does not arrive here
            return sync(window, split.start, stop)
        known = self._known.get(uri, 0)
        low = max(split.border, known if known <= split.start else 0)
        near: dict[str, Any] = {"queue": split.queue or None, "low": low, "max_record_bytes": self._projection.max_record_bytes}
        begin = certain_at_or_after(window, split.start, stop, **near)
        self._known[uri] = low if begin is None else begin
        return begin

    def stop(self) -> None:
        """Stop after the current chunk. Safe from any thread."""
        self._stopped = True

    def _between(self, window: Window, batches: Iterator[tuple[Rows, pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
        """Insert the rows of damage, which the walk reported earlier, at their places among the messages."""
        for rows, batch in batches:
            begin = 0
            if self._untold:
                places = rows.records.heads["physical_offset"].astype(np.int64)
                while self._untold and int(self._untold[0].starts[0]) < int(places[-1]):
                    damages = self._untold.popleft()
                    which = np.maximum(np.searchsorted(places, damages.starts), begin)  # none before what was told already
                    if which[-1] == len(places):
                        self._untold.appendleft(damages[int(np.argmax(which == len(places))) :])
                        damages, which = damages[: int(np.argmax(which == len(places)))], which[which < len(places)]
                    if len(damages) >= _MANY:
                        stop = int(which[-1])
                        yield self._mixed(batch.slice(begin, stop - begin), self._corrupt(window, damages), which - begin)
                        begin = stop
                        continue
                    for each, stop in zip(damages, which.tolist(), strict=True):
                        if stop > begin:
                            yield batch.slice(begin, stop - begin)
                        yield self._corrupt(window, [each])
                        begin = stop
            yield batch.slice(begin) if begin else batch

    def _corrupt_rows(self, window: Window) -> Iterator[pa.RecordBatch]:
        while self._untold:
            damages = self._untold.popleft()
            for begin in range(0, len(damages), _MANY):
                yield self._corrupt(window, damages[begin : begin + _MANY])

    def _corrupt(self, window: Window, damages: Sequence[Damage]) -> pa.RecordBatch:
        self._rows += len(damages)
        return corrupt_rows(self._columns.names, self._schema, window, damages, self._split.store)

    def _tell(self, damages: Damages) -> None:
        if not self._projection.tells_damage:
            for damage in damages[: max(0, _TOLD - self._ranges)]:
                size = damage.end - damage.start
                _log.warning("%s: left out %s bytes at offset %s: %s", damage.segment, f"{size:,}", f"{damage.start:,}", damage.found)
        self._ranges += len(damages)
        self._damage.append(damages)
        if len(self._damage) > _PIECES:
            self._damage = [Damages.joined(self._damage)]

    def _mixed(self, batch: pa.RecordBatch, corrupt: pa.RecordBatch, before: Index) -> pa.RecordBatch:
        """Insert rows of damage among the messages, each before one of them."""
        order = np.insert(np.arange(len(batch)), before, np.arange(len(batch), len(batch) + len(corrupt)))
        return pa.Table.from_batches([batch, corrupt], self._schema).take(order).combine_chunks().to_batches()[0]

    def _batches(self, rows: Rows) -> Iterator[tuple[Rows, pa.RecordBatch]]:
        rows = self._of_records.survivors(rows)
        if self._projection.verify_crc and len(rows):
            rows = self._verified(rows)
        for piece in unwrapped(rows, self._projection.max_decompressed_bytes):
            if self._stopped:
                return
            yield from self._batches_of_messages(self._of_messages.survivors(piece))

    def _batches_of_messages(self, rows: Rows) -> Iterator[tuple[Rows, pa.RecordBatch]]:
        self._rows += len(rows)
        if len(rows) and self._columns.names:
            for piece in rows.with_bodies(self._projection.max_decompressed_bytes) if _BODY in self._columns.names else (rows,):
                yield piece, pa.RecordBatch.from_arrays(self._columns.arrays(piece), schema=self._schema)

    def _verified(self, rows: Rows) -> Rows:
        """Rows with a correct checksum; PERMISSIVE keeps the others and marks them."""
        failed = checksums.wrong(rows.source, rows.records)
        if not failed.any():
            return rows
        first = int(np.argmax(failed))
        if self._projection.mode == FAILFAST:
            raise self._crc_error(rows.records, first, checksums.sentence(rows.source, rows.records, first))
        self._count_failed(rows, failed)
        if self._projection.mode == PERMISSIVE:
            return replace(rows, failed=rows.records.starts[failed])
        return rows.where(~failed)

    def _count_failed(self, rows: Rows, failed: Mask) -> None:
        frame, told = self._split.segment.frame, list[Damage]()
        for row in np.flatnonzero(failed).tolist():  # rare
            start = int(rows.records.heads["physical_offset"][row]) - frame
            size = int(rows.records.sizes[row]) + frame
            told.append(Damage(self._split.segment.uri, start, start + size, CHECKSUM, checksums.sentence(rows.source, rows.records, row)))
            self._failed_bytes += size
        self._failed += len(told)
        self._tell(Damages.of(told))

    def _crc_error(self, records: Records, row: int, found: str) -> StoreDamaged:
        offset = int(records.heads["physical_offset"][row])
        return StoreDamaged(
            f"{self._split.segment.uri} at offset {offset:,}: {found}: a fault of disk or memory, or a write that never finished. "
            f"{option_name('verify_crc', False)} reads on without checking, mode DROPMALFORMED without the record"
        )

    @property
    def report(self) -> Report:
        """The account of the bytes that were looked at."""
        segment, walk = self._split.segment, self._walk
        counts = () if walk is None else (walk.records, walk.record_bytes, walk.blank_bytes, walk.damage_bytes, walk.unwritten_bytes)
        account = SegmentReport(segment.uri, segment.base, segment.size, *counts)
        stale = min(self._split.stale, account.unwritten_bytes)
        account = replace(account, unwritten_bytes=account.unwritten_bytes - stale, stale_bytes=stale)
        failed = self._failed_bytes
        account += SegmentReport(segment.uri, segment.base, segment.size, -self._failed, -failed, damage_bytes=failed)
        read = 0 if self._window is None else self._window.bytes_read
        scanned = (f"{segment.uri}: {walk.why}",) if isinstance(walk, Pruned) and walk.why is not None else ()
        return Report((account,), Damages.joined(self._damage), self._rows, read, scanned)


def read(
    split: Split,
    projection: Projection,
    predicate: Predicate = EVERYTHING,
    pruning: Predicate | None = None,
    known: Known | None = None,
) -> Reading:
    """The rows of a split that match the predicate, and a report on its bytes.

    `pruning`: the predicate extended with the offsets where its rows may be. `known`: shared by the splits of one read, so that
    no split repeats the walk of another.
    """
    return Reading(split, projection, predicate, pruning, known)
