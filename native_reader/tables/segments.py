"""`segments`: one row for each commitlog file, including missing ones."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from native_reader.columns.projection import PERMISSIVE, Projection
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.log.recovery import oldest_begins, walked_to
from native_reader.plan.lost import Missing
from native_reader.plan.split import Split
from native_reader.records.damages import CHECKSUM, Damages
from native_reader.scan.read import Reading
from native_reader.storage.window import Window
from native_reader.tables.table import Table, TableRequest, missing_in

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "segment": ColumnSpec(pa.string(), "URI of the commitlog file; null where it is missing"),
    "first_offset": ColumnSpec(pa.int64(), "the offset of its first byte, which is also its name"),
    "size": ColumnSpec(pa.int64(), "bytes of the file"),
    "state": ColumnSpec(pa.string(), "`full`, `last` (the log ends in it), `ahead` (allocated, nothing written yet), `missing`"),
    "records": ColumnSpec(pa.int64(), "the number of whole records"),
    "record_bytes": ColumnSpec(pa.int64(), "bytes of whole records"),
    "blank_bytes": ColumnSpec(pa.int64(), "bytes of the blank that closes it"),
    "damage_bytes": ColumnSpec(pa.int64(), "damaged bytes"),
    "unwritten_bytes": ColumnSpec(pa.int64(), "bytes at or after the end of the log"),
    "stale_bytes": ColumnSpec(pa.int64(), "bytes of old records after the end of the log, which a broker discarded"),
    "unread_bytes": ColumnSpec(pa.int64(), "bytes that could not be read because the file was deleted"),
    "damages": ColumnSpec(pa.int64(), "the number of damaged ranges"),
    "wrong_checksums": ColumnSpec(pa.int64(), "the number of whole records with a wrong checksum"),
    "first_store_timestamp": ColumnSpec(TIMESTAMP, "when its first record was stored"),
    "last_store_timestamp": ColumnSpec(TIMESTAMP, "when its last record was stored"),
    "broker_end": ColumnSpec(
        pa.int64(), "where the recovery of a broker up to 5.3.1 would stop and truncate the log; the lowest value counts"
    ),
}


FROM_FILES = frozenset(("store", "segment", "first_offset", "size", "state"))
"""The columns that need no pass over the records."""


class Whole(NamedTuple):
    """A segment as one split. `recovered`: a starting broker would check it; `last`: it is the last segment."""

    split: Split
    recovered: bool
    last: bool

    @property
    def work(self) -> int:
        """The approximate number of bytes to read."""
        return self.split.work


def _parts(request: TableRequest) -> list[Whole | Missing]:
    parts: list[Whole | Missing] = []
    for log in request.reads:
        segments, begins = log.store.segments, oldest_begins(log.store)
        parts += [Whole(log.whole(segment), segment.base >= begins, segment is segments[-1]) for segment in segments]
    return [*parts, *missing_in(request)]


def _rows(part: Whole | Missing, projection: Projection) -> list[dict[str, object]]:
    if isinstance(part, Missing):
        return [{"store": part.store, "first_offset": part.start, "size": part.stop - part.start, "state": "missing"}]
    split, segment = part.split, part.split.segment
    row: dict[str, object] = {
        "store": split.store,
        "segment": segment.uri,
        "first_offset": segment.base,
        "size": segment.size,
        "state": "ahead" if split.end == 0 else "last" if split.end < segment.size else "full",
    }
    if FROM_FILES.issuperset(projection.columns):
        return [row]
    # The messages of an inner batch have the time of its record.
    wanted = replace(projection, columns=("store_timestamp", "corrupt_reason"), mode=PERMISSIVE, unpacks_batches=False)
    reading = Reading(split, replace(wanted, verify_crc=True, fail_on_data_loss=False))
    times = [time for batch in reading for time in _ends_of(batch)]
    report = reading.report
    (account,), damage = report.segments, Damages.of(report.damage)
    failed = damage.where(damage.are(CHECKSUM))
    failed_bytes = int((failed.ends - failed.starts).sum())
    row |= {
        "records": account.records + len(failed),
        "record_bytes": account.record_bytes + failed_bytes,
        "damage_bytes": account.damage_bytes - failed_bytes,
        "damages": len(damage) - len(failed),
        "wrong_checksums": len(failed),
        "first_store_timestamp": times[0] if times else None,
        "last_store_timestamp": times[-1] if times else None,
        "broker_end": _broker_end(part, damage) if part.recovered and "broker_end" in projection.columns else None,
    }
    return [row | {name: getattr(account, name) for name in ("blank_bytes", "unwritten_bytes", "stale_bytes", "unread_bytes")}]


def _ends_of(batch: pa.RecordBatch) -> list[pa.Scalar]:
    """The first and the last store time of a batch."""
    times = batch.column("store_timestamp").drop_null()
    return [times[0].as_py(), times[-1].as_py()] if len(times) else []


def _broker_end(part: Whole, damage: Damages) -> int | None:
    stop = recovery_end(part.split, damage)
    return part.split.segment.end if stop is None and part.last else stop


def recovery_end(split: Split, damage: Damages) -> int | None:
    """The offset at which a broker's recovery would stop in a whole segment with that damage; None if it goes on with the next."""
    stop, goes_on = walk_end(split, damage)
    return None if goes_on else stop


def walk_end(split: Split, damage: Damages, *, checksums: bool = True) -> tuple[int, bool]:
    """The offset at which a broker leaves a whole segment with that damage, and whether it goes on with the next.

    It accepts all bytes before the first damage, so it is simulated only from there. `checksums`: whether it checks those of bodies.
    """
    segment, damage = split.segment, damage if checksums else damage.where(~damage.are(CHECKSUM))
    starts = [int(damage.starts.min()) - segment.base] if len(damage) else []
    first = min(starts + ([split.end] if split.end < segment.size else []), default=None)
    if first is None:
        return segment.end, True
    with Window(segment, 0, past_unreadable=True) as window:
        stop, goes_on = walked_to(window, first, checksums=checksums)
    return segment.base + stop, goes_on


SEGMENTS = Table("segments", COLUMNS, _parts, _rows)
