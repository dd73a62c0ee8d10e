"""Reads one split into Arrow: a pure function of the split, the projection and the bytes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from native_reader.columns.batches import BatchBuilder, corrupt_rows
from native_reader.columns.chunk import Chunk, Columns
from native_reader.columns.filter import Filter
from native_reader.columns.having import having
from native_reader.columns.projection import FAILFAST, PERMISSIVE, Projection
from native_reader.columns.rows import Rows, anomaly_of, number_of_messages, unwrapped, wrong
from native_reader.columns.schema import properties_of
from native_reader.columns.strings import PaddedBuffer
from native_reader.errors import DataLoss, StoreDamaged, warn
from native_reader.layout.record import Index, Mask, Records
from native_reader.log.certain import certain_at_or_after
from native_reader.plan.beside import Sides
from native_reader.plan.claims import is_listed
from native_reader.plan.plan import EVERY_ROW, Wanted
from native_reader.plan.split import Split
from native_reader.plan.summarized import facts_of_segment, knows
from native_reader.plan.ways import ALONE, SUMMARY, TRUST, ByQueues, BySummary, SeenBefore
from native_reader.predicate.needles import needles_of
from native_reader.predicate.outcomes import without_certain
from native_reader.records.damages import (
    CHECKSUM,
    NO_DAMAGE,
    PROPERTIES,
    Account,
    Damage,
    Damages,
    Report,
    SegmentReport,
    counts_of,
)
from native_reader.records.sync import sync
from native_reader.records.walk import CHUNK, FIRST_CHUNK, ReadWalk
from native_reader.scan.listed import ListedRead, ListedTrustedRead, ListedUnclaimedRead, listed_rows
from native_reader.scan.narrowed import FIRST_GROUP, NarrowedRead, SeenRead, SummaryRead
from native_reader.scan.pruned import TrustedRead, UnclaimedRead
from native_reader.scan.summary_rows import SummaryRows
from native_reader.scan.tiered import OwnRows
from native_reader.sentences import Said, say, told
from native_reader.sides.queues import Directories
from native_reader.storage.filled import own_uri
from native_reader.storage.store import is_live
from native_reader.storage.window import Memory, ReadRate, Window
from native_reader.summary.pieces import Unfit
from native_reader.tuning import TUNING

if TYPE_CHECKING:
    from native_reader.verify.contradicted import Contradicted
    from native_reader.verify.sides import QueueNumbering

_LOGGED = 10
"""How many ranges of one split are logged one by one."""
_STILL_THERE = (CHECKSUM, PROPERTIES, "unreadable", "too large")
"""Reasons of damage that a valid record can have too."""
_PIECES = 1024
_log = logging.getLogger("native_reader")


@dataclass(slots=True)
class Shared:
    """What the splits of one read share, so that none repeats what another did."""

    certain: dict[str, int] = field(default_factory=dict)
    """By segment URI: a position where a record certainly starts."""
    memory: Memory = field(default_factory=Memory)
    """Of windows."""
    directories: Directories = field(default_factory=Directories)
    has_begun: bool = False
    """Whether a split was read already. The first begins with a small piece, as the reader may want only a few rows."""
    queues: dict[Sides, QueueNumbering] = field(default_factory=dict)
    """What records are compared with."""


class Reading:
    """The rows of a split that match the predicate. Iterate it once for its batches; `report` then accounts for every byte.

    If you stop early, the report covers what was read until then. `shared`: for all splits of one read.
    """

    def __init__(
        self,
        split: Split,
        projection: Projection,
        wanted: Wanted = EVERY_ROW,
        shared: Shared | None = None,
    ) -> None:
        self._split, self._projection = split, projection
        facts = {**facts_of_segment(split.store, split.segment), **split.log.facts}
        wanted = wanted._replace(rows=without_certain(wanted.rows, facts))
        self._shared = Shared() if shared is None else shared
        self._columns = Columns(
            projection.columns,
            split.log.root,
            split.segment.name,
            properties_of(projection.columns, wanted.rows),
            marks_failed=projection.mode == PERMISSIVE,
            is_tiered=split.log.tier is not None,
        )
        self._schema = projection.schema
        self._made = BatchBuilder(self._columns, self._schema, projection.max_decompressed_bytes)
        self._of_records = Filter(wanted.rows, of_records=True)
        self._of_messages = Filter(wanted.rows, of_records=False, max_decompressed_bytes=projection.max_decompressed_bytes)
        self._only_counts = projection.unpacks_batches and not projection.columns and self._of_messages.is_empty
        self._wanted = wanted
        self._needles = needles_of(wanted.rows)
        self._contradicted = self._compared_with(split.log.sides) if projection.has_damage_rows and split.log.sides is not None else None
        self._own: OwnRows | None = None
        self._walk: ReadWalk | NarrowedRead | None = None
        self._window: Window | None = None
        self._damage: list[Damages] = []
        self._ranges = self._failed = self._failed_bytes = 0
        self._rows = self._told = 0
        self._stopped = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            known = self._known_rows()
            if known is None or known.rest:
                yield from self._read()
            if known is not None and not (isinstance(self._walk, NarrowedRead) and self._walk.why):
                yield from self._made_of(known)
        except DataLoss as error:
            if self._projection.fail_on_data_loss and not (self._projection.ignore_missing_files and error.is_file_gone):
                raise
            warn(_log, say("read continues", why=told(error)), is_loss=True)
        if not self._projection.has_damage_rows:
            _tell_of_more(self._split.segment.uri, self._ranges)

    def _read(self) -> Iterator[pa.RecordBatch]:
        split, projection = self._split, self._projection
        pace = None if projection.max_read_rate is None else ReadRate(projection.max_read_rate)
        room = min(CHUNK, len(split) + projection.max_record_bytes)
        lenient = projection.mode != FAILFAST
        # A running broker needs its page cache, so the read must not displace it.
        with Window(
            split.segment, room, pace=pace, leave_no_trace=is_live(split.log.root), past_unreadable=lenient, memory=self._shared.memory
        ) as window:
            self._window = window
            begin = split.start if split.access == TRUST else self._begin(window)
            if begin is None:
                return
            if split.log.tier is not None:
                self._own = OwnRows(split.log.tier, split.segment.base + begin)
            self._walk = self._walk_from(window, begin, max_record_bytes=projection.max_record_bytes, skip_damage=lenient)
            for records, damages in self._walk:
                if self._stopped:
                    return
                self._advance(window)
                self._note_damage(damages)
                if projection.viewed:
                    window.lend()
                rows = Rows(PaddedBuffer(window.u8, window.arrow), records)
                rows = rows if self._own is None else self._own.of(rows)
                batches = self._batches(rows) if len(rows) else ()
                yield from self._with_damage(window, batches, damages if projection.has_damage_rows else NO_DAMAGE)
            self._check_end()
        if isinstance(self._walk, ListedRead):
            yield from self._made_of(listed_rows(self._walk.listed, self._split, self._schema))

    def _walk_from(self, window: Window, begin: int, **limits: Any) -> ReadWalk | NarrowedRead:
        """The records, in the way of the split."""
        split, first = self._split, CHUNK if self._shared.has_begun else FIRST_GROUP
        self._shared.has_begun = True
        match split.way:
            case ByQueues(access=access) as way:
                listed = way.listed and is_listed(self._projection.returned, self._wanted.rows)
                read: type[TrustedRead | UnclaimedRead]
                if access == TRUST:
                    read = ListedTrustedRead if listed else TrustedRead
                else:
                    read = ListedUnclaimedRead if listed else UnclaimedRead
                return read(way, self._shared.directories, window, split, begin, self._wanted.places, first=first, **limits)
            case SeenBefore() as way:
                return SeenRead(way, window, split, begin, self._wanted.places, first=first, **limits)
            case BySummary() as way:  # it covers the keys of its segment, too
                return SummaryRead(way, window, split, begin, self._wanted.rows, first=first, **limits)
        window.will_read(begin, min(split.stop, split.end))
        first = CHUNK if split.follows else FIRST_CHUNK
        return ReadWalk(window, begin, split.stop, split.end, hands_over=not split.alone, first=first, **limits)

    def _known_rows(self) -> SummaryRows | None:
        """The rows as the summary has them, if the plan is to make them from it; None if records must be read."""
        way = self._split.way
        if not isinstance(way, BySummary) or way.access != ALONE:
            return None
        try:
            if knows(self._projection.returned, self._wanted.rows):
                return SummaryRows(self._split, way, self._projection.columns, self._wanted.rows)
        except Unfit:
            pass  # it changed since the plan: found again, and told, where the records are read by it
        self._split = replace(self._split, way=replace(way, access=SUMMARY))
        return None

    def _made_of(self, known: Iterable[tuple[int, pa.RecordBatch | None]]) -> Iterator[pa.RecordBatch]:
        for count, batch in known:
            if self._stopped:
                return
            self._rows += count
            if batch is not None:
                yield batch

    def _check_end(self) -> None:
        """The log ended after a valid record when the read was planned. If damage ends there now, these are not the same bytes."""
        split, segment = self._split, self._split.segment
        end = segment.base + split.end
        last = self._damage[-1][-1] if self._damage and split.end < segment.size and split.log.end_follows_record else None
        if last is not None and last.end == end and last.reason not in _STILL_THERE:
            raise DataLoss(say("log shrank", uri=segment.uri, start=last.start, end=end))

    def _advance(self, window: Window) -> None:
        """Tell the bytes that were read since the last call."""
        if self._projection.advanced is not None:
            self._projection.advanced(window.bytes_read - self._told)
            self._told = window.bytes_read

    def _begin(self, window: Window) -> int | None:
        """Where the first record of the split starts; None if none does."""
        split, uri = self._split, self._split.segment.uri
        stop = min(split.stop, split.end)
        if split.start == split.border:
            return split.start
        if split.follows:  # the previous split fails if it does not arrive here
            return sync(window, split.start, stop)
        known = self._shared.certain.get(uri, 0)
        low = max(split.border, known if known <= split.start else 0)
        near: dict[str, Any] = {"queue": split.log.queue, "low": low, "max_record_bytes": self._projection.max_record_bytes}
        begin = certain_at_or_after(window, split.start, stop, **near)
        self._shared.certain[uri] = low if begin is None else begin
        return begin

    @property
    def split(self) -> Split:
        """What is read."""
        return self._split

    def stop(self) -> None:
        """Stop after the current chunk. Safe from any thread."""
        self._stopped = True

    def _with_damage(self, window: Window, batches: Iterable[tuple[Rows, pa.RecordBatch]], damages: Damages) -> Iterator[pa.RecordBatch]:
        """Insert the rows of damage at their places among the messages."""
        for rows, batch in batches:
            if not len(damages):
                yield batch
                continue
            offsets = rows.records.heads["physical_offset"].astype(np.int64)
            count = int(np.searchsorted(damages.starts, offsets[-1]))
            yield from self._inserted(window, batch, damages[:count], np.searchsorted(offsets, damages.starts[:count]))
            damages = damages[count:]
        for begin in range(0, len(damages), TUNING.many_damages):
            yield self._corrupt(window, damages[begin : begin + TUNING.many_damages])

    def _inserted(self, window: Window, batch: pa.RecordBatch, damages: Damages, places: Index) -> Iterator[pa.RecordBatch]:
        """A batch with rows of damage, each before the message at its place."""
        if len(damages) >= TUNING.many_damages:
            order = np.insert(np.arange(len(batch)), places, np.arange(len(batch), len(batch) + len(damages)))
            copied = replace(self._projection, body_views=False).schema
            parts = [each.cast(copied) for each in (batch, self._corrupt(window, damages))]  # pyarrow takes no rows of views
            yield pa.Table.from_batches(parts).take(order).combine_chunks().cast(self._schema).to_batches()[0]
            return
        begin = 0
        for each, stop in zip(damages, places.tolist(), strict=True):
            if stop > begin:
                yield batch.slice(begin, stop - begin)
            yield self._corrupt(window, [each])
            begin = stop
        yield batch.slice(begin)

    def _corrupt(self, window: Window, damages: Sequence[Damage]) -> pa.RecordBatch:
        self._rows += len(damages)
        return corrupt_rows(self._columns, self._schema, window, damages)

    def _note_damage(self, damages: Damages) -> None:
        if not len(damages):
            return
        if not self._projection.has_damage_rows:
            _tell(damages[: max(0, _LOGGED - self._ranges)])
        self._ranges += len(damages)
        self._damage.append(damages)
        if len(self._damage) > _PIECES:
            self._damage = [Damages.joined(self._damage)]

    def _batches(self, rows: Rows) -> Iterator[tuple[Rows, pa.RecordBatch]]:
        # Checks see what the other conditions leave. These are faster than a search of bodies, and slower than one of properties.
        needles, is_checked = self._needles, self._projection.verify_crc or self._contradicted is not None
        searches_later = needles is not None and (is_checked or bool(needles.bodies))
        if needles is not None and not searches_later:
            rows = having(rows, needles)
        for chunk in self._of_records.survivors(self._columns.chunk(rows)) if len(rows) else ():
            rows = self._verified(chunk.rows) if self._projection.verify_crc else chunk.rows
            rows = rows if self._contradicted is None else self._compared(rows, self._contradicted)
            if needles is not None and searches_later and len(rows):
                rows = having(rows, needles)
            if not len(rows):
                continue
            if self._only_counts:
                self._rows += number_of_messages(rows, self._projection.max_decompressed_bytes)
                continue
            for piece in unwrapped(rows, self._projection.max_decompressed_bytes) if self._projection.unpacks_batches else (rows,):
                if self._stopped:
                    return
                messages = chunk if piece is chunk.rows else self._columns.chunk(piece)
                for survivors in self._of_messages.survivors(messages):
                    yield from self._batches_of(survivors)

    def _batches_of(self, chunk: Chunk) -> Iterator[tuple[Rows, pa.RecordBatch]]:
        self._rows += len(chunk)
        if self._columns.names:
            for piece, batch in self._made.of(chunk):
                yield piece.rows, batch

    def _verified(self, rows: Rows) -> Rows:
        """Rows with a correct checksum; PERMISSIVE keeps the others and marks them."""
        failed = wrong(rows.source, rows.records)
        if not failed.any():
            return rows
        first = int(np.argmax(failed))
        if self._projection.mode == FAILFAST:
            anomaly = anomaly_of(rows.source, rows.records, first)
            raise self._crc_error(rows.records, first, Said(anomaly))
        self._count_failed(rows, failed)
        if self._projection.mode == PERMISSIVE:
            return replace(rows, faults={CHECKSUM: rows.records.starts[failed]})
        return rows.where(~failed)

    def _compared_with(self, sides: Sides) -> Contradicted:
        # Most reads compare nothing, and these modules take long to import.
        from native_reader.verify.contradicted import Contradicted
        from native_reader.verify.sides import QueueNumbering

        queues, segment = self._shared.queues.setdefault(sides, QueueNumbering(sides)), self._split.segment
        return Contradicted(sides, queues, segment.base + segment.frame + self._split.start, segment.base + self._split.end)

    def _compared(self, rows: Rows, contradicted: Contradicted) -> Rows:
        """The same rows; those that an entry contradicts are marked, unless their checksum is wrong."""
        failed = np.isin(rows.records.starts, rows.faults.get(CHECKSUM, ()))
        for anomaly, offsets in (contradicted.among(rows.source.u8, rows.records) if len(rows) else {}).items():
            marked = rows.faults.get(PROPERTIES, np.empty(0, np.intp))
            is_new = np.isin(rows.records.heads["physical_offset"], offsets) & ~failed & ~np.isin(rows.records.starts, marked)
            self._count_contradicted(rows.records[is_new], anomaly)
            rows = replace(rows, faults={**rows.faults, PROPERTIES: np.concatenate((marked, rows.records.starts[is_new]))})
        return rows

    def _count_contradicted(self, records: Records, anomaly: str) -> None:
        frame = self._split.segment.frame
        starts = records.heads["physical_offset"].astype(np.int64) - frame
        ends = starts + records.sizes + frame
        self._failed += len(records)
        self._failed_bytes += int((ends - starts).sum())
        self._note_damage(Damages.of_records(self._split.segment.uri, starts, ends, anomaly))

    def _count_failed(self, rows: Rows, failed: Mask) -> None:
        frame, damage = self._split.segment.frame, list[Damage]()
        for row in np.flatnonzero(failed).tolist():  # rare
            start = int(rows.records.heads["physical_offset"][row]) - frame
            size = int(rows.records.sizes[row]) + frame
            damage.append(Damage(self._split.segment.uri, start, start + size, anomaly_of(rows.source, rows.records, row)))
            self._failed_bytes += size
        self._failed += len(damage)
        self._note_damage(Damages.of(damage))

    def _crc_error(self, records: Records, row: int, found: Said) -> StoreDamaged:
        offset = int(records.heads["physical_offset"][row])
        return StoreDamaged(say("checksum in the way", uri=self._split.segment.uri, offset=offset, text=found))

    @property
    def report(self) -> Report:
        """The account of the bytes that were looked at."""
        split, segment, walk = self._split, self._split.segment, self._walk
        counts = counts_of(Account() if walk is None else walk.account)
        account = SegmentReport(segment.uri, segment.base, segment.size, *counts)
        stale = min(split.log.stale, account.unwritten_bytes) if 0 < split.end < segment.size else 0
        account = replace(account, unwritten_bytes=account.unwritten_bytes - stale, stale_bytes=stale)
        failed = self._failed_bytes
        account += SegmentReport(segment.uri, segment.base, segment.size, -self._failed, -failed, damage_bytes=failed)
        read = 0 if self._window is None else self._window.bytes_read
        scanned = (f"{segment.uri}: {walk.why}",) if isinstance(walk, NarrowedRead) and walk.why is not None else ()
        return Report((account,), Damages.joined(self._damage), self._rows, read, scanned)


def tell_again(report: Report) -> None:
    """Warn of what an earlier run skipped, as when it was read."""
    for segment, found in groupby(report.damage, lambda each: each.segment):
        if own_uri(segment) is None:  # not written yet: what it is made of was told of
            continue
        damages = list(found)
        _tell(damages[:_LOGGED])
        _tell_of_more(segment, len(damages))


def _tell(damages: Iterable[Damage]) -> None:
    for each in damages:
        _warn(say("skipped", segment=each.segment, bytes=each.end - each.start, offset=each.start, what=each.said))


def _tell_of_more(segment: str, ranges: int) -> None:
    if ranges > _LOGGED:
        _warn(say("skipped more", segment=segment, ranges=ranges - _LOGGED))


def _warn(loss: Said) -> None:
    warn(_log, loss, is_loss=True)
