"""Which file of the log and of the queues contradicts the others: it has a wrong name, or it is of another broker or queue.

A file is not judged by one witness. A segment is of another broker if it is in its place and no queue confirms it, although queues
have entries for it. A queue file is of another queue if its entries contradict segments that others confirm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from native_reader.layout.one_record import Record
from native_reader.layout.record import host_text
from native_reader.sentences import say
from native_reader.storage.store import Segment, StoreFiles
from native_reader.witness.contradiction import (
    FOREIGN_QUEUES,
    FOREIGN_SEGMENTS,
    MISNAMED,
    NO_RECORD,
    OTHER_TAGS,
    Contradiction,
    contradiction,
)
from native_reader.witness.entries import Entry, Lookup, Sample, Seen, entries_of_records, entry_into
from native_reader.witness.segments import SegmentLook

_MOST_SEARCHED, _QUEUES_SEARCHED = 256, 3
"""Segments for which no entry is known are searched in the longest queues; of a log with more of them, only so many."""
_MOST_FOREIGN = 0.5
"""If more of the segments contradict the queues, the queues are of another broker."""
_JUMP_MS = 60_000
"""Times of a log go back by less: a host corrects its clock."""


@dataclass(slots=True)
class Evidence:
    """What queues say of one segment."""

    agree: int = 0
    against: int = 0
    files: set[str] = field(default_factory=set)
    """The queue files that contradict it."""


class Files:
    """Judges the segments and queue files of one store."""

    def __init__(self, store: StoreFiles, end: int, looks: Sequence[SegmentLook], samples: Sequence[Sample]) -> None:
        self._end, self._looks, self._samples = end, looks, samples
        self._lookup, self._segment_at = Lookup(store, end), store.segment_finder()
        self._queues = {(each.queue.topic, each.queue.queue_id): each.queue for each in samples if not each.queue.batch}
        self.seen = self._lookup.seen(entry for sample in samples for entry in sample.entries)
        self._own = entries_of_records(self._records(), self._queues)
        self._evidence = self._gathered()
        self.misnamed = {look.segment.base: look.distance for look in looks if _has_wrong_name(look)}
        self.foreign = {look.segment.base for look in looks if self._is_foreign(look)}
        judged = sum(1 for each in self._evidence.values() if each.agree or each.against)
        self.queues_are_foreign = len(self.foreign) > max(1, _MOST_FOREIGN * judged)

    @property
    def bytes_read(self) -> int:
        """Of the log, for all looks."""
        return self._lookup.bytes_read + sum(look.bytes_read for look in self._looks)

    @property
    def doubted(self) -> set[int]:
        """The first offsets of the segments that have a wrong name or are of another broker."""
        return self.foreign | self.misnamed.keys()

    def contradictions(self) -> Iterator[Contradiction]:
        """What contradicts, by file."""
        yield from self._wrong_names()
        yield from self._foreign_segments()
        yield from self._empty_segments()
        yield from self._wrong_queue_files()

    # What queues say of a segment

    def _records(self) -> Iterator[Record]:
        """The records that were seen, with a queue entry each: those after the end, and of inner batches, can lack one."""
        for look in self._looks:
            yield from (each for each in look.ends if each.is_queued and each.physical_offset < self._end)

    def _gathered(self) -> Mapping[int, Evidence]:
        found = {look.segment.base: Evidence() for look in self._looks}
        for entry, seen in self.seen.items():
            self._count(found, entry, seen)
        for record, own in self._own.items():
            segment = self._segment_at(record.physical_offset)
            if segment is not None and own is not None and (own.offset, own.size) == (record.physical_offset, record.size):
                found[segment.base].agree += 1
        unknown = [look.segment for look in self._looks if not (found[look.segment.base].agree or found[look.segment.base].against)]
        for entry, seen in self._lookup.seen(self._entries_into(unknown[:_MOST_SEARCHED])).items():
            self._count(found, entry, seen)
        return found

    def _count(self, found: Mapping[int, Evidence], entry: Entry, seen: Seen) -> None:
        segment = self._segment_at(entry.offset)
        if segment is None or seen is Seen.OUTSIDE:
            return
        evidence = found[segment.base]
        if seen in (Seen.AGREES, Seen.OTHER_TAG):
            evidence.agree += 1
        else:
            evidence.against += 1
            evidence.files.add(entry.file)

    def _entries_into(self, segments: Iterable[Segment]) -> Iterator[Entry]:
        longest = sorted(self._queues.values(), key=lambda queue: -sum(file.units for file in queue.files))[:_QUEUES_SEARCHED]
        for segment in segments:
            yield from (entry for queue in longest if (entry := entry_into(queue, segment)) is not None)

    # Segments

    def _is_foreign(self, look: SegmentLook) -> bool:
        """Whether a segment is in its place, and its records are not those that queues name."""
        evidence = self._evidence[look.segment.base]
        return look.is_in_place and not evidence.agree and evidence.against > 0 and self._own_entries_contradict(look)

    def _own_entries_contradict(self, look: SegmentLook) -> bool:
        """Whether no entry names a record that was seen in the segment. Those of deleted topics, and not dispatched ones, have none."""
        own = (self._own.get(record) for record in look.ends)
        return all(entry is None or entry.offset != record.physical_offset for entry, record in zip(own, look.ends, strict=True))

    def _wrong_names(self) -> Iterator[Contradiction]:
        in_place = {look.segment.base for look in self._looks if look.is_in_place}
        for look in self._looks:
            distance = self.misnamed.get(look.segment.base)
            if distance is None:
                continue
            right = look.segment.base + distance
            kind = "wrong name taken" if right in in_place else "wrong name"
            yield contradiction(MISNAMED, kind, file=look.segment.uri, name=f"{right:020}")

    def _foreign_segments(self) -> Iterator[Contradiction]:
        if self.queues_are_foreign:
            yield contradiction(FOREIGN_QUEUES, "all queues foreign", len(self.foreign), segments=len(self.foreign))
            return
        hosts = Counter(look.first.store_host for look in self._looks if look.first is not None and look.segment.base not in self.foreign)
        usual = hosts.most_common(1)[0][0] if hosts else None
        for before, look, after in _with_neighbours(self._looks):
            if look.segment.base not in self.foreign:
                continue
            said = contradiction(
                FOREIGN_SEGMENTS, "foreign segment", file=look.segment.uri, entries=self._evidence[look.segment.base].against
            )
            if look.first is not None and usual not in (None, look.first.store_host):
                own, others = (host_text(host) for host in (look.first.store_host, usual or b""))
                said = contradiction(FOREIGN_SEGMENTS, "foreign by host", what=said.said, host=own, others=others)
            if _times_jump(before, look, after):
                said = contradiction(FOREIGN_SEGMENTS, "foreign by times", what=said.said)
            yield said

    def _empty_segments(self) -> Iterator[Contradiction]:
        """Segments before the end of the log without a record where one must be."""
        for look in self._looks:
            is_read = look.problem is None and not look.segment.is_packed
            if is_read and not look.records and look.segment.base < self._end and not look.is_blank:
                yield contradiction(NO_RECORD, "no records", file=look.segment.uri)

    # Queue files

    def _wrong_queue_files(self) -> Iterator[Contradiction]:
        if self.queues_are_foreign:
            return
        odd = {entry.file for entry, seen in self.seen.items() if seen is not Seen.AGREES}  # most stores have none
        by_file: dict[str, list[tuple[Entry, Seen]]] = {}
        for entry, seen in self.seen.items() if odd else ():
            if entry.file not in odd:
                continue
            segment = self._segment_at(entry.offset)
            if segment is not None and segment.base not in self.foreign and segment.base not in self.misnamed:
                by_file.setdefault(entry.file, []).append((entry, seen))
        for file, found in by_file.items():
            wrong = [(entry, seen) for entry, seen in found if seen in (Seen.OTHER, Seen.NONE)]
            if wrong:
                yield self._wrong_queue_file(file, found, wrong)
            elif tags := [entry for entry, seen in found if seen is Seen.OTHER_TAG]:
                yield contradiction(OTHER_TAGS, "other tag", file=file, number=tags[0].number, offset=tags[0].offset)

    def _wrong_queue_file(self, file: str, found: Sequence[tuple[Entry, Seen]], wrong: Sequence[tuple[Entry, Seen]]) -> Contradiction:
        others = [entry for entry, seen in wrong if seen is Seen.OTHER]
        if not others:
            return contradiction(NO_RECORD, "no record", file=file, number=wrong[0][0].number, offset=wrong[0][0].offset)
        entry, record = others[0], self._lookup.others[others[0]]
        topic, queue = record.queue
        kind = "foreign queue file" if len(wrong) == len(found) else "wrong entries"
        place = {"number": entry.number, "offset": entry.offset}
        said = say(f"witness {kind}", file=file, topic=topic, queue=queue, other=record.queue_offset, **place)
        return Contradiction(FOREIGN_QUEUES, said)


def _has_wrong_name(look: SegmentLook) -> bool:
    """Whether all its records are at one distance from where they say: that at the begin of the file, or several."""
    begins = bool(look.records) and (look.records[0][0] == 0 or len(look.records) > 1)
    return begins and not look.is_in_place and (look.distance or 0) != 0 and look.segment.base + (look.distance or 0) >= 0


def _with_neighbours(looks: Sequence[SegmentLook]) -> Iterator[tuple[SegmentLook | None, SegmentLook, SegmentLook | None]]:
    edged = [None, *looks, None]
    for (before, look), (_, after) in zip(pairwise(edged), pairwise(edged[1:]), strict=False):
        if look is not None:
            yield before, look, after


def _times_jump(before: SegmentLook | None, look: SegmentLook, after: SegmentLook | None) -> bool:
    """Whether the store times go back at its begin or at its end."""
    first, last = look.first, look.last
    begins = before is not None and before.last is not None and first is not None and first.store_time < before.last.store_time - _JUMP_MS
    ends = after is not None and after.first is not None and last is not None and after.first.store_time < last.store_time - _JUMP_MS
    return begins or ends
