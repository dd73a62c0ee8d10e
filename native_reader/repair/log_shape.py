"""The segments of the new log, the bytes in them that no whole record has, and where the records of an extract come to be.

The log of an extract does not begin at offset 0: an entry with that offset stands for a message from before the first one of its queue.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import gcd
from typing import NamedTuple

import numpy as np

from native_reader.layout.record import Numbers
from native_reader.repair.refusals import refusal
from native_reader.repair.survey import Survey, Uncovered
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import Segment, StoreFiles
from native_reader.writing.records import blank

BLANK = 8
_MOST_MADE = 1000


@dataclass(frozen=True, slots=True)
class Hole:
    """Bytes `[start, stop)` of one segment without a whole record.

    `closes`: it reaches the end of its segment, so that a blank follows the records that fill it. `is_tail`: the log ends in it,
    and only what queues or groups name is filled. `time`: the store time of what fills it.
    """

    start: int
    stop: int
    time: int
    closes: bool = False
    is_tail: bool = False


@dataclass(frozen=True, slots=True)
class LogShape:
    """The new log: all its segments have one size. `sources`: the file of the old log by first offset, where there is one."""

    size: int
    begin: int
    stop: int
    """The end of its last segment."""
    sources: dict[int, Segment]
    holes: Sequence[Hole]
    has_junk: bool
    """Whether bytes after the last record are neither records nor zeros, or old records that are not to stay."""
    clears: bool = False
    """Whether they are such old records: nothing of them is lost."""

    @property
    def bases(self) -> range:
        """The first offset of each segment."""
        return range(self.begin, self.stop, self.size)

    @property
    def made(self) -> list[int]:
        """The segments that the old log does not have, or not whole."""
        return [base for base in self.bases if base not in self.sources or self.sources[base].size < self.size]


def shape_of(files: StoreFiles, survey: Survey, log_end: int, named_end: int | None, *, clears: bool) -> LogShape:
    """The shape of the new log. `log_end`: where the old one ends.

    `named_end`: the end of the last record that queues name; None if a broker discarded what follows the log. `clears`: that
    does not stay.
    """
    size = segment_size(files)
    stop = max(-(-max(log_end, named_end or 0) // size) * size, files.segments[-1].base + size)
    sources = {each.base: each for each in files.segments}
    shape = LogShape(size, files.min_offset, stop, sources, (), has_junk=log_end > survey.end, clears=clears)
    if len(missing := [base for base in shape.bases if base not in shape.sources]) > _MOST_MADE:
        raise refusal("segments", count=len(missing), most=_MOST_MADE)
    holes = [hole for each in survey.uncovered for hole in _holes_of(each, shape)]
    after = [] if named_end is None and not clears else list(_holes_of(Uncovered(survey.end, stop, survey.last_time), shape))
    tail = _tail_of(after, max(survey.end, named_end or 0))
    shape = replace(shape, holes=[*holes, *tail], has_junk=bool(tail) and (clears or log_end > tail[0].start))
    return _without_segments_after(tail[-1], shape) if shape.has_junk else shape


def _without_segments_after(tail: Hole, shape: LogShape) -> LogShape:
    """The shape without the segments after the log's last one: what they hold is junk, and a broker makes them when it needs them."""
    stop = tail.start // shape.size * shape.size + shape.size
    return replace(shape, stop=stop, sources={base: source for base, source in shape.sources.items() if base < stop})


def _tail_of(holes: list[Hole], end: int) -> list[Hole]:
    """The bytes after the last whole record. `end`: of the last one that queues name; segments after it are not written to."""
    needed = next((number for number, hole in enumerate(holes) if hole.stop >= end), len(holes) - 1)
    tail = holes[: needed + 1]
    if tail:
        tail[-1] = Hole(tail[-1].start, max(tail[-1].start, tail[-1].stop - BLANK), tail[-1].time, is_tail=True)
    return tail


def segment_size(files: StoreFiles) -> int:
    """The size of all segments: how far apart they begin."""
    segments = files.segments
    largest = max(each.size for each in segments)
    size = gcd(*(after.base - before.base for before, after in pairwise(segments))) or largest
    size = largest if size > largest and size % largest == 0 else size  # a segment is missing between any two
    for segment in segments:
        if segment.size > size:
            raise refusal("segment sizes", name=segment.uri, size=segment.size, expected=size)
        if segment.base % size:
            raise refusal("segment names", name=segment.uri, expected=size)
    return size


def _holes_of(uncovered: Uncovered, shape: LogShape) -> Iterator[Hole]:
    """The parts of uncovered bytes in each segment, without the blanks of the old log."""
    start = uncovered.start
    while start < uncovered.stop:
        end = start // shape.size * shape.size + shape.size
        stop = min(uncovered.stop, end)
        if stop < end or not _is_blank(shape, start, end):
            yield Hole(start, stop, uncovered.time, closes=stop == end)
        start = stop


def _is_blank(shape: LogShape, start: int, end: int) -> bool:
    """Whether the old log has a blank from there to the end of the segment."""
    segment = shape.sources.get(end - shape.size)
    if segment is None or segment.size < shape.size:
        return False
    with storage_of(segment.uri).open(segment.uri) as file:
        (content,) = file.read_ranges([(start - segment.base, BLANK)])
    return content == blank(end - start)


def was_blank(shape: LogShape, hole: Hole) -> bool:
    """Whether a hole was the unused end of a segment: its size or its magic is still there, or all of it is zeros.

    No record ends where its segment ends: at least 8 bytes of a blank follow the last one.
    """
    segment = shape.sources.get(hole.start // shape.size * shape.size)
    if segment is None or segment.size < shape.size:
        return False
    with storage_of(segment.uri).open(segment.uri) as file:
        (content,) = file.read_ranges([(hole.start - segment.base, hole.stop - hole.start)])
    head = blank(hole.stop - hole.start)
    return content[:4] == head[:4] or content[4:BLANK] == head[4:BLANK] or not any(content)


class Moved(NamedTuple):
    """Records and placeholders in log order: their old and new offsets.

    Attributes:
        number: Which placeholder of the plan each is; -1 for a record of the old log.
        sources: The segments of the old log.
        segment: The size of all segments.
    """

    old: Numbers
    sizes: Numbers
    new: Numbers
    number: Numbers
    sources: dict[int, Segment]
    segment: int

    def new_of(self, old: Numbers) -> Numbers:
        """The new offsets of records."""
        return self.new[np.searchsorted(self.old, old)]

    def old_of(self, new: Numbers) -> Numbers:
        """The old offsets of records."""
        return self.old[np.searchsorted(self.new, new)]

    @property
    def records(self) -> tuple[Numbers, Numbers]:
        """The old and the new offsets of the records of the old log."""
        return self.old[self.number < 0], self.new[self.number < 0]

    def source_of(self, piece: int) -> Segment:
        """The segment of the old log with a piece, or the one before it."""
        base = int(self.old[piece]) // self.segment * self.segment
        return self.sources[max((each for each in self.sources if each <= base), default=min(self.sources))]

    def in_segment(self, base: int) -> tuple[int, int]:
        """The first and the next number of the pieces in a segment of the new log."""
        first, stop = np.searchsorted(self.new, (base, base + self.segment)).tolist()
        return first, stop


def appended(sizes: Numbers, segment: int, base: int) -> Numbers:
    """Offsets of records that follow each other, as a broker appends them: a blank fits after the last one of each segment.

    `base`: of the first segment.
    """
    ends = np.cumsum(sizes)
    found = np.empty(len(sizes), np.int64)
    first = 0
    while first < len(sizes):
        before = int(ends[first] - sizes[first])
        stop = int(np.searchsorted(ends, before + segment - BLANK, "right"))
        found[first:stop] = base + ends[first:stop] - sizes[first:stop] - before
        first, base = stop, base + segment
    return found
