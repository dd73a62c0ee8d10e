"""Which records the log has of each queue: all of a small log, and those that were looked at of a large one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import array
from native_reader.columns.projection import PERMISSIVE, Projection
from native_reader.plan.plan import StoreRead
from native_reader.scan.read import Reading
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import StoreFiles
from native_reader.witness.entries import Sample
from native_reader.witness.segments import SegmentLook

READ_WHOLE = 64 << 20
"""A log up to this size is read whole: that takes less than a second."""
_NOT_QUEUED = array(["prepared", "rollback"])
Place = tuple[str, int]
"""A topic and a queue."""


@dataclass(frozen=True, slots=True)
class Logged:
    """What the log has of each queue.

    A broker makes the entries in the order of the log. So up to the last record with an entry, each has one.
    """

    offsets: Mapping[Place, Sequence[int]]
    """Where the records are that have an entry in a whole store."""
    ends: Mapping[Place, int] = field(default_factory=dict)
    """The queue offset after the last record, also of those that have no entry yet."""
    is_whole: bool = False
    """Whether the whole log was read."""
    is_dispatched: bool = False
    """Whether no record is after the last one with an entry."""

    def knows_ends(self) -> bool:
        """Whether a queue cannot have more records than its entries and `ends` tell."""
        return self.is_whole or self.is_dispatched


def logged_in(
    store: StoreFiles, end: int, looks: Sequence[SegmentLook], samples: Sequence[Sample], max_read_rate: int | None,
    *, reads_log: bool,
) -> Logged:  # fmt: skip
    """What a log that ends at `end` has of each queue. `reads_log`: whether a small one is read whole."""
    newest = max((sample.newest for sample in samples), default=0)
    size = sum(segment.size for segment in store.segments)
    if reads_log and store.segments and size <= READ_WHOLE and not storage_of(store.segments[0].uri).is_slow:
        return _all(store, end, newest, max_read_rate)
    found: dict[Place, list[int]] = {}
    for look in looks:
        for _, record in look.records if look.is_in_place else ():
            if record.is_queued and record.physical_offset < min(newest, end):
                found.setdefault(record.queue, []).append(record.physical_offset)
    return Logged(found, is_dispatched=newest >= end)


def _all(store: StoreFiles, end: int, newest: int, max_read_rate: int | None) -> Logged:
    """Read it. Damage is rows, and not logged, because of `corrupt_reason`: others tell of it."""
    columns = "topic", "queue_id", "queue_offset", "kind", "physical_offset", "corrupt_reason"
    wanted = Projection(columns, PERMISSIVE, max_read_rate=max_read_rate, fail_on_data_loss=False, ignore_missing_files=True)
    offsets: dict[Place, list[int]] = {}
    ends: dict[Place, int] = {}
    read = StoreRead(store, end)
    for segment in (segment for segment in store.segments if segment.base < end):
        for batch in Reading(read.whole(segment), wanted):
            queued = batch.filter(pc.and_(pc.invert(pc.is_in(batch.column("kind"), _NOT_QUEUED)), batch.column("topic").is_valid()))
            found = pa.Table.from_batches([queued]).group_by(["topic", "queue_id"])
            for row in found.aggregate([("physical_offset", "list"), ("queue_offset", "max")]).to_pylist():
                place = row["topic"], row["queue_id"]
                offsets.setdefault(place, []).extend(each for each in row["physical_offset_list"] if each < newest)
                ends[place] = max(ends.get(place, 0), row["queue_offset_max"] + 1)
    return Logged(offsets, ends, is_whole=True)
