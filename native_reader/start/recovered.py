"""What a starting broker would make of the log and its queues: where it would cut the log, and what consumers would get afterwards.

How much is read for that depends on the store: of a small one everything, else what a broker would check. Only of a log that was read
whole is known what consumers get; of others, where it is cut, and what a broker without queues does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.arrow import array
from native_reader.columns.projection import PERMISSIVE, Projection
from native_reader.log.recovery import size_at
from native_reader.plan.plan import StoreRead
from native_reader.records.damages import CHECKSUM, Damages
from native_reader.scan.read import Reading
from native_reader.sides.bounds import bounds_of
from native_reader.sides.queues import Queue, queues_of, topics_in
from native_reader.start.lines import Line
from native_reader.start.reasons import Cause, cause
from native_reader.storage.protocol import storage_of
from native_reader.storage.rocksdb_queues import is_in_database
from native_reader.storage.store import Segment, StoreFiles
from native_reader.storage.window import Window
from native_reader.tables.segments import walk_end
from native_reader.text import size_of
from native_reader.witness.entries import Sample
from native_reader.witness.logged import READ_WHOLE

_MOST_READ, _MOST_READ_SLOWLY = 16 << 30, 64 << 20
"""More of a log than this is not read to find out where a broker would cut it."""
_NO_ARRAY = 2**31 - 2
"""Java's machine has no array of that size or more."""
_LARGE_RECORD = 64 << 20
"""A broker takes no message of that size: maxMessageSize is 4 MiB by default."""


class RecoveredLog:
    """The log of a store, of which only what a broker would check is read.

    `damage`: all that it has, if that is known. `checksums`: whether wrong checksums of bodies are among it.
    """

    queued: Queued
    """How far the queues reach. Who makes it sets that."""

    def __init__(
        self,
        files: StoreFiles,
        end: int,
        damage: Damages | None,
        max_read_rate: int | None = None,
        *,
        checksums: bool = False,
    ) -> None:
        self.files, self._known, self._checksums = files, damage, checksums
        self._read = StoreRead(files, end)
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

    @property
    def is_small(self) -> bool:
        """Whether all of it is read: what a broker does not check, consumers get nevertheless."""
        segments = self.files.segments
        return bool(segments) and sum(segment.size for segment in segments) <= READ_WHOLE and not storage_of(segments[0].uri).is_slow

    @property
    def is_known(self) -> bool:
        """Whether all damage is known, or will be, because the log is small."""
        return self._known is not None or self.is_small

    @property
    def end(self) -> int:
        """Where its records end."""
        return self._read.end

    def begins(self, line: Line) -> int:
        """The first offset that a broker of that line checks."""
        return line.begins(self.files, self.queued.reached, in_rocksdb=self.queued.in_rocksdb)

    def cut(self, line: Line) -> int:
        """Where it stops: what is at that place or after it is cut off."""
        return self._stops(self.files.segments, self.begins(line))

    def again(self, line: Line, end: int, reached: int) -> tuple[int, int]:
        """Where the next broker of that line begins after a clean stop, and where it stops, if the one before left the log at `end`."""
        segments = tuple(segment for segment in self.files.segments if segment.base <= end)
        if not segments:
            return 0, end
        begins = line.stopped(replace(self.files, segments=segments), reached)
        return begins, min(end, self._stops(segments, begins))

    def _stops(self, segments: Sequence[Segment], begins: int) -> int:
        """Where a broker with these segments stops that checks from `begins` on.

        It takes a blank of any size for the end of its segment. After the last one, it stops at the blank, also if records follow it.
        """
        checked = [segment for segment in segments if segment.base >= begins]
        for segment in checked:
            if (at := self._end_in(segment)) is not None:
                return at
        blank = self.left_at(checked[-1], checksums=True) if checked else self.end
        return blank if checked and self.messages(blank, checked[-1].end) else self.end

    def reasons(self, line: Line) -> Iterator[Cause]:
        """What a broker of that line would do to the log."""
        files, end = self.files, self.end
        if end <= files.min_offset and self.queued.has_entries:
            yield cause("no log")
        if not files.segments:
            return
        if self.is_too_much(line):
            work = self._work(self.begins(line))
            yield cause("not read", offset=self.begins(line), bytes=work, size=size_of(work))
            return
        if self._known is None and not self._read_whole():
            self.unread_before = max(self.unread_before, self.begins(line))
        stop = self.cut(line)
        yield from self._reserves(line, stop)
        if messages := self.messages(stop, end):
            yield cause("cut", offset=stop, messages=messages, bytes=end - stop, size=size_of(end - stop))
        yield from self._kept(stop)

    def is_too_much(self, line: Line) -> bool:
        """Whether more of the log would have to be read than is done for an answer."""
        most = _MOST_READ_SLOWLY if storage_of(self.files.segments[0].uri).is_slow else _MOST_READ
        return self._work(self.begins(line)) > most

    def _read_whole(self) -> bool:
        if self.is_small:
            for segment in self.files.segments:
                self._end_in(segment)
        return self.is_small

    def _reserves(self, line: Line, stop: int) -> Iterator[Cause]:
        """Memory for a record of the size that is named where it stops: if that is too much for any array, nothing catches the error."""
        segment = self.files.segment_at(stop)
        if not line.reserves_first or segment is None or not segment.base <= stop < segment.end:
            return
        with Window(segment, 0, past_unreadable=True) as window:
            size = size_at(window, stop - segment.base)
        if size >= _NO_ARRAY:
            yield cause("no array", offset=stop)
        elif size > _LARGE_RECORD:
            yield cause("large array", offset=stop, bytes=size, size=size_of(size))

    def holes(self) -> Iterator[Cause]:
        """Missing files: a broker starts without them, and its queues name what is not there."""
        if gaps := self._read.gaps():
            size = sum(stop - start for start, stop in gaps)
            yield cause("hole", ranges=len(gaps), bytes=size, size=size_of(size))

    def _work(self, begins: int) -> int:
        return sum(segment.size for segment in self.files.segments if segment.base >= begins)

    def _end_in(self, segment: Segment) -> int | None:
        """Where recovery would end in that segment; None if it goes on with the next."""
        if segment.base not in self._ends:
            self._seen[segment.base] = self._damage_in(segment)
            checks = self.files.on_start.checks_bodies
            stop, goes_on = walk_end(self._read.whole(segment), self._seen[segment.base], checksums=checks)
            self._ends[segment.base] = None if goes_on else stop
        return self._ends[segment.base]

    def goes_on(self, end: int) -> bool:
        """Whether what follows the last record, which ends there, is a blank to the end of the last segment."""
        last = self.files.segments[-1]
        return last.base <= end < last.end and self._end_in(last) is None

    def wrong_bodies(self, segment: Segment) -> NDArray[np.int64]:
        """Where the records of a segment begin whose bodies have another checksum, as far as that is known."""
        if self._known is None:
            self._end_in(segment)
        damage = Damages.joined([each for each in (self._known, self._seen.get(segment.base)) if each is not None])
        return damage.where(damage.are(CHECKSUM)).starts

    def left_at(self, segment: Segment, *, checksums: bool) -> int:
        """Where a broker leaves that segment, be it for the next one or not. `checksums`: whether it checks bodies."""
        self._end_in(segment)
        checks = checksums and self.files.on_start.checks_bodies
        return walk_end(self._read.whole(segment), self._seen[segment.base], checksums=checks)[0]

    def _damage_in(self, segment: Segment) -> Damages:
        if self._known is not None and self._checksums:
            return self._known.where((self._known.starts >= segment.base) & (self._known.starts < segment.end))
        return Damages.of(self._reading(segment, verify_crc=True).report.damage)

    def messages(self, start: int, stop: int) -> int:
        """How many whole messages are at these offsets."""
        count = 0
        for segment in self.files.segments if start < stop else ():
            if segment.base < stop and start < segment.end:
                if segment.base not in self._offsets:
                    self._reading(segment, verify_crc=False)
                first, after = np.searchsorted(self._offsets[segment.base], (start, stop))
                count += int(after - first)
        return count

    def _reading(self, segment: Segment, *, verify_crc: bool) -> Reading:
        """A segment that was read; the offsets of its whole messages are kept, in 8 bytes each."""
        reading = Reading(self._read.whole(segment), replace(self._projection, verify_crc=verify_crc))
        offsets = [batch.column(0).filter(are_served(batch.column(1))).to_numpy(zero_copy_only=False) for batch in reading]
        whole = np.concatenate([np.empty(0, np.int64), *offsets])
        if self._known is not None and self._checksums:
            whole = whole[~np.isin(whole, self._known.where(self._known.are(CHECKSUM)).starts)]
        self._offsets[segment.base] = whole
        return reading

    def batches(self, segment: Segment, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The records of a segment in the order of the log, with damage as rows. An inner batch is one row."""
        if segment.base < self.end:
            yield from Reading(self._read.whole(segment), replace(self._projection, columns=tuple(columns), unpacks_batches=False))

    def kept(self, stop: int) -> Iterator[Cause]:
        """What a broker does not see of the damage before that offset, of a small log or one whose damage is known."""
        for segment in self.files.segments if self._known is None and self.is_small else ():
            self._seen[segment.base] = self._damage_in(segment)
        yield from self._kept(stop)

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


def are_served(reasons: pa.Array) -> pa.Array:
    """Whether a broker takes each row for a whole message: it looks neither into properties nor into compressed bodies."""
    return pc.or_(reasons.is_null(), pc.is_in(reasons, array(["properties", "body"])))


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

    `samples`: of the queues, if they were looked at before. Of queues with two copies, they have that which ends last.
    """
    if samples is not None:
        ends = [each.bounds.newest for each in samples if each.bounds is not None and each.bounds.newest is not None]
        return Queued(max((each.offset + each.size for each in ends), default=-1), are_in_databases(each.queue for each in samples))
    reached = -1
    looked_at = list[Queue]()
    for topic in topics_in(files.queues, light=True):
        for queue in queues_of(topic):
            looked_at.append(queue)
            bounds = bounds_of(queue, 0)
            newest = None if bounds is None else bounds.newest
            if newest is not None:
                reached = max(reached, newest.offset + newest.size)
            if reached >= enough:
                return Queued(reached, are_in_databases(looked_at))
    return Queued(reached, are_in_databases(looked_at))


def are_in_databases(queues: Iterable[Queue]) -> bool:
    """Whether all of these queues with entries are in databases of RocksDB."""
    uris = [queue.files[0].uri for queue in queues if queue.files]
    return bool(uris) and all(map(is_in_database, uris))
