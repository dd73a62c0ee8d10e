"""What a starting broker would make of the log: where it would cut it, which messages that deletes, and how far the queues reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.columns.projection import PERMISSIVE, Projection
from native_reader.log.recovery import Line, has_abort, recovery_begins
from native_reader.plan.plan import StoreRead
from native_reader.records.damages import CHECKSUM, Damages
from native_reader.scan.read import Reading
from native_reader.sides.bounds import bounds_of
from native_reader.sides.queues import queues_of, topics_in
from native_reader.start.reasons import Cause, cause
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import Segment, StoreFiles
from native_reader.tables.segments import recovery_end
from native_reader.text import size_of
from native_reader.witness.entries import Sample
from native_reader.witness.logged import READ_WHOLE

_MOST_READ, _MOST_READ_SLOWLY = 16 << 30, 64 << 20
"""More of a log than this is not read to find out where a broker would cut it."""


class RecoveredLog:
    """The log of a store, of which only what a broker would check is read.

    `damage`: all that it has, if that is known. `checksums`: whether wrong checksums of bodies are among it.
    """

    def __init__(
        self,
        files: StoreFiles,
        end: int,
        damage: Damages | None,
        max_read_rate: int | None = None,
        *,
        checksums: bool = False,
        samples: Sequence[Sample] | None = None,
    ) -> None:
        self._samples = samples
        self._files, self._read, self._known, self._checksums = files, StoreRead(files, end), damage, checksums
        self._projection = Projection(
            ("physical_offset", "corrupt_reason"),
            PERMISSIVE,
            max_read_rate=max_read_rate,
            fail_on_data_loss=False,
            ignore_missing_files=True,
        )
        self._seen: dict[int, Damages] = {}
        self._ends: dict[int, int | None] = {}
        self._offsets: dict[int, NDArray[np.int64]] = {}
        self.unread_before = files.min_offset
        """Where the part begins that was read, or whose damage was known."""

    def reasons(self, line: Line) -> Iterator[Cause]:
        """What a broker of that line would do to the log and its queues."""
        files, end = self._files, self._read.end
        if end <= files.min_offset and self._queued.has_entries:
            yield cause("no log")
        if not files.segments:
            return
        begins = self._begins(line)
        if self._work(begins) > (_MOST_READ_SLOWLY if storage_of(files.segments[0].uri).is_slow else _MOST_READ):
            yield cause("not read", offset=begins, bytes=self._work(begins), size=size_of(self._work(begins)))
            return
        if self._known is None and not self._read_whole():
            self.unread_before = max(self.unread_before, begins)
        stop = next((at for segment in files.segments if segment.base >= begins and (at := self._end_in(segment)) is not None), end)
        if messages := self._messages(stop, end):
            yield cause("cut", offset=stop, messages=messages, bytes=end - stop, size=size_of(end - stop))
        yield from self._kept(stop)
        if not self._queued.has_entries:
            yield from self._queued_again(line, begins, stop)

    def _read_whole(self) -> bool:
        """Read all of a small log: what a broker does not check, consumers get nevertheless."""
        segments = self._files.segments
        if sum(segment.size for segment in segments) > READ_WHOLE or storage_of(segments[0].uri).is_slow:
            return False
        for segment in segments:
            self._end_in(segment)
        return True

    def holes(self) -> Iterator[Cause]:
        """Missing files: a broker starts without them, and its queues name what is not there."""
        if gaps := self._read.gaps():
            size = sum(stop - start for start, stop in gaps)
            yield cause("hole", ranges=len(gaps), bytes=size, size=size_of(size))

    @cached_property
    def _queued(self) -> Queued:
        newest = max((segment.base for segment in self._files.segments if segment.base < self._read.end), default=0)
        return queued_of(self._files, newest + 1, self._samples)

    def _begins(self, line: Line) -> int:
        return recovery_begins(self._files, line, self._queued.reached, in_rocksdb=self._queued.in_rocksdb)

    def _work(self, begins: int) -> int:
        return sum(segment.size for segment in self._files.segments if segment.base >= begins)

    def _end_in(self, segment: Segment) -> int | None:
        """Where recovery would end in that segment; None if it goes on with the next."""
        if segment.base not in self._ends:
            self._seen[segment.base] = self._damage_in(segment)
            self._ends[segment.base] = recovery_end(self._read.whole(segment), self._seen[segment.base])
        return self._ends[segment.base]

    def _damage_in(self, segment: Segment) -> Damages:
        if self._known is not None and self._checksums:
            return self._known.where((self._known.starts >= segment.base) & (self._known.starts < segment.end))
        return Damages.of(self._reading(segment, verify_crc=True).report.damage)

    def _messages(self, start: int, stop: int) -> int:
        """How many whole messages are at these offsets."""
        count = 0
        for segment in self._files.segments if start < stop else ():
            if segment.base < stop and start < segment.end:
                if segment.base not in self._offsets:
                    self._reading(segment, verify_crc=False)
                first, after = np.searchsorted(self._offsets[segment.base], (start, stop))
                count += int(after - first)
        return count

    def _reading(self, segment: Segment, *, verify_crc: bool) -> Reading:
        """A segment that was read; the offsets of its whole messages are kept, in 8 bytes each."""
        reading = Reading(self._read.whole(segment), replace(self._projection, verify_crc=verify_crc))
        offsets = [batch.column(0).filter(_are_served(batch.column(1))).to_numpy(zero_copy_only=False) for batch in reading]
        whole = np.concatenate([np.empty(0, np.int64), *offsets])
        if self._known is not None and self._checksums:
            whole = whole[~np.isin(whole, self._known.where(self._known.are(CHECKSUM)).starts)]
        self._offsets[segment.base] = whole
        return reading

    def _kept(self, stop: int) -> Iterator[Cause]:
        """Damage that recovery does not see, or accepts: it begins after it, or does not check that."""
        damage = self._damage()
        before = damage.where(damage.starts < stop)
        wrong = before.are(CHECKSUM)
        if count := int(np.count_nonzero(~wrong)):
            size = int((before.ends - before.starts)[~wrong].sum())
            yield cause("kept damage", ranges=count, bytes=size, size=size_of(size))
        if count := int(np.count_nonzero(wrong)):
            yield cause("wrong bodies", messages=count)

    def _damage(self) -> Damages:
        """What is known, and wrong checksums where a broker looks for them: not every pass over a log checks them."""
        seen = Damages.joined(self._seen.values())
        if self._known is None:
            return seen
        return Damages.joined([self._known, seen.where(seen.are(CHECKSUM) & ~np.isin(seen.starts, self._known.starts))])

    def _queued_again(self, line: Line, begins: int, stop: int) -> Iterator[Cause]:
        """Without queues, a broker makes them again: 5.5.0, and others after a crash, only from where their recovery begins."""
        first = self._files.min_offset if line.requeues_all and not has_abort(self._files) else begins
        if messages := self._messages(self._files.min_offset, first):
            yield cause("not queued", offset=first, messages=messages)
        elif stop > first:
            yield cause("queued again")


def _are_served(reasons: pa.Array) -> pa.Array:
    """Whether a broker takes each row for a whole message: it looks neither into properties nor into compressed bodies."""
    return pc.or_(reasons.is_null(), pc.is_in(reasons, pa.array(["properties", "body"])))


class Queued(NamedTuple):
    """Where the last record with a queue entry ends; -1 if there is no entry. A filler counts, as for a broker."""

    reached: int = -1
    in_rocksdb: bool = False

    @property
    def has_entries(self) -> bool:
        """Whether any queue names a record."""
        return self.reached >= 0


def queued_of(files: StoreFiles, enough: int, samples: Sequence[Sample] | None = None) -> Queued:
    """Look at the last entry of each queue, until one reaches `enough`: a higher one makes no difference then.

    `samples`: of the queues, if they were looked at before. Those of queues with two copies leave one out.
    """
    in_rocksdb = bool(files.databases) and files.consume_queue is None
    if samples is not None and not files.databases:
        ends = [each.bounds.newest for each in samples if each.bounds is not None and each.bounds.newest is not None]
        return Queued(max((each.offset + each.size for each in ends), default=-1), in_rocksdb)
    reached = -1
    for topic in topics_in(files.queues, light=True):
        for queue in queues_of(topic):
            bounds = bounds_of(queue, 0)
            newest = None if bounds is None else bounds.newest
            if newest is not None:
                reached = max(reached, newest.offset + newest.size)
            if reached >= enough:
                return Queued(reached, in_rocksdb)
    return Queued(reached, in_rocksdb)
