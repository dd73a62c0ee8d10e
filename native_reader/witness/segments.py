"""The first and the last records of each segment: where they are, and where they say that they are.

Each record has its own physical offset. Where all records that were looked at are at one distance from it, the file has a wrong name:
that of its bytes is its name and this distance. Nothing else is needed to see that, neither queues nor other files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from native_reader.broker.unread import FAILED, FORBIDDEN, Unread, why_unknown
from native_reader.layout.begin import number, read_pair
from native_reader.layout.one_record import MAGIC_BEGIN, Record, body_ends_at, record_in, record_without_body
from native_reader.layout.record import BLANK_HEAD, MAGIC_BLANK, MAGIC_ENTRY_BLANK, PADDING, SMALLEST_RECORD, magics
from native_reader.storage.protocol import StoredFile, map_files, storage_of
from native_reader.storage.store import Segment

_BEGIN, _END = 4 << 10, 8 << 10
_LONGER_ENDS = 256 << 10, 4 << 20
"""Where the last records are large, that much of the end is read instead."""
_LONGEST_REST = 34 << 10
"""What can follow a body: a topic and properties."""
_FEW = 1000
"""Of so many segments all records at their ends are looked at, of more only the last one."""
_MAGIC_AT = 4
Find = Callable[[bytes, int], Iterator[tuple[int, Record]]]


class SegmentLook(NamedTuple):
    """What was seen of a segment: records at its begin and at its end, with their positions in the file."""

    segment: Segment
    records: tuple[tuple[int, Record], ...] = ()
    bytes_read: int = 0
    problem: str | None = None
    """Why it could not be read."""
    unread: Unread | None = None
    """The same, if nothing is known of it then."""
    is_blank: bool = False
    """Whether it begins with the filler that closes a segment: none of its records was small enough for it."""

    @property
    def distance(self) -> int | None:
        """How far all its records are before where they say that they are; None if they disagree, or there is none."""
        frame = self.segment.frame
        distances = {record.physical_offset - self.segment.base - position - frame for position, record in self.records}
        return distances.pop() if len(distances) == 1 else None

    @property
    def is_in_place(self) -> bool:
        """Whether a record is where it says that it is."""
        base, frame = self.segment.base, self.segment.frame
        return any(record.physical_offset == base + position + frame for position, record in self.records)

    @property
    def ends(self) -> tuple[Record, ...]:
        """The first and the last record."""
        return tuple(dict.fromkeys(record for _, record in (*self.records[:1], *self.records[-1:])))

    @property
    def first(self) -> Record | None:
        """The first record."""
        return self.records[0][1] if self.records else None

    @property
    def last(self) -> Record | None:
        """The last record."""
        return self.records[-1][1] if self.records else None


def look_at_segments(segments: Sequence[Segment], end: int, advanced: Callable[[], None] | None = None) -> list[SegmentLook]:
    """Look at each segment, those in archives only if they are few. `end`: where the log ends: what is after it does not count."""
    find = _records_in if len(segments) <= _FEW else _last_in
    return map_files(lambda segment: _look(segment, end, find), segments, advanced)


def _look(segment: Segment, end: int, find: Find) -> SegmentLook:
    if segment.is_packed:  # its name is checked when it is unpacked
        return SegmentLook(segment)
    try:
        with storage_of(segment.uri).open(segment.uri) as file:
            return _look_into(segment, file, end, find)
    except OSError as error:
        why = why_unknown(segment.uri, error)
        what = None if why is None else Unread(FORBIDDEN if why.kind == "forbidden" else FAILED, segment.uri, why, bytes=segment.size)
        return SegmentLook(segment, problem=error.strerror or str(error), unread=what)


def _look_into(segment: Segment, file: StoredFile, end: int, find: Find) -> SegmentLook:
    # The log can end in it, or before it if its records are not where they say.
    stop = file.written_end(end - segment.base if segment.base < end < segment.end else segment.size)
    begin, last = file.read_ranges([(0, min(_BEGIN, stop)), (max(0, stop - _END), min(_END, stop))])
    read = len(begin) + len(last)
    found = _first_in(file, begin, segment)
    ends = list(find(last, max(0, stop - _END)))
    for longer in _LONGER_ENDS:
        if ends or longer // 4 > stop:
            break
        length = min(longer, stop)
        (last,) = file.read_ranges([(stop - length, length)])
        read += length
        if last == bytes(length):  # nothing was written there
            break
        ends = list(find(last, stop - length))
    records = dict([*found, *((position - segment.frame, record) for position, record in ends)])
    pair = read_pair(begin) if len(begin) >= BLANK_HEAD else (0, 0)
    return SegmentLook(segment, tuple(sorted(records.items())), read, is_blank=MAGIC_BLANK in pair or pair[0] == MAGIC_ENTRY_BLANK)


def _first_in(file: StoredFile, begin: bytes, segment: Segment) -> Iterator[tuple[int, Record]]:
    """The record at the begin of a segment; after damage, the first ones that can be found."""
    frame = segment.frame
    record = record_in(begin, frame) or record_at(file, frame, len(begin) - frame)
    if record is not None:
        yield 0, record
        return
    for position, each in _records_in(begin, 0):
        yield position - frame, each


def record_at(file: StoredFile, position: int, known: int = 0) -> Record | None:
    """The record at that position of a file, of any size."""
    (begin,) = file.read_ranges([(position, max(known, 128))])
    end = body_ends_at(begin)
    if end is None:
        return None
    size = number(begin[:4])
    (rest,) = file.read_ranges([(position + end, min(size - end, _LONGEST_REST))])
    return record_without_body(begin, rest, size)


def _records_in(content: bytes, position: int) -> Iterator[tuple[int, Record]]:
    """The whole records in some bytes of a file, and their positions there. Those inside a body of another one are left out."""
    if len(content) < SMALLEST_RECORD:
        return
    u8 = np.zeros(len(content) + PADDING, np.uint8)
    u8[: len(content)] = np.frombuffer(content, np.uint8)
    reached = 0
    for start in magics(u8, len(content)).tolist():
        if start >= reached and (record := record_in(content, start)) is not None:
            reached = start + record.size
            yield position + start, record


def _last_in(content: bytes, position: int) -> Iterator[tuple[int, Record]]:
    """As `_records_in`, only the last one."""
    place = len(content)
    while (place := content.rfind(MAGIC_BEGIN, 0, place)) >= _MAGIC_AT:
        if (record := record_in(content, place - _MAGIC_AT)) is not None:
            yield position + place - _MAGIC_AT, record
            return
