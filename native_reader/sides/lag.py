"""How far a consumer group is behind in a queue: the end of the queue, and the messages after its offset by tag."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np

from native_reader.broker.rocksdb import Database, is_database, open_database
from native_reader.layout.kinds import DELAY_TOPIC
from native_reader.layout.properties import TAGS, parse, without_crc_trailer
from native_reader.layout.queue_entry import java_hash
from native_reader.records.sync import layout_at
from native_reader.sides import database_queues
from native_reader.sides.bounds import bounds_of
from native_reader.sides.queues import Entries, Numbers, Queue, QueueReader, queue_named
from native_reader.storage.store import Segment
from native_reader.storage.window import Window

_MOST_NAMED, _MOST_CODES, _MOST_COUNTED = 1000, 100_000, 4_000_000
_AT_ONCE = 1 << 18
_LARGEST_HASH = 2**31 - 1
_NONE = np.empty(0, np.int64)
_Columns = tuple[Numbers, Numbers, Numbers]
"""Codes, numbers of messages, and offsets of first messages."""


class QueueEnds:
    """The queues of one store, in files or in RocksDB. Databases are opened when they are first needed, and stay open.

    A broker that was changed to RocksDB, or back, leaves the other queues behind. They end earlier, so the highest end counts.
    """

    def __init__(self, directories: Sequence[str]) -> None:
        self._directories = directories
        self._opened: list[Database] | None = None
        self._stack = ExitStack()

    def next_offset(self, topic: str, queue_id: int) -> int | None:
        """The queue offset after the last entry; None if there is no such queue."""
        _, end = self._in_files(topic, queue_id)
        ends = self._ends_in_databases(topic, queue_id)
        return max(ends if end is None else [end, *ends], default=None)

    def entries_from(self, topic: str, queue_id: int, number: int) -> Iterator[tuple[Queue | None, Entries]]:
        """The entries from that queue offset on, in pieces; with the queue, if it is in files."""
        queue, end = self._in_files(topic, queue_id)
        if queue is not None and max(self._ends_in_databases(topic, queue_id), default=-1) <= (-1 if end is None else end):
            with QueueReader(queue, strict=True) as reader:
                yield from ((queue, entries) for entries in reader.entries_from(number))
            return
        for database in self._databases():
            yield from ((None, entries) for entries in database_queues.entries_from(database, topic, queue_id, number))

    def _in_files(self, topic: str, queue_id: int) -> tuple[Queue | None, int | None]:
        """The queue, if it has files, and its end."""
        queue = queue_named(self._directories, topic, queue_id)
        bounds = None if queue is None else bounds_of(queue, 0)
        return queue, None if bounds is None or bounds.max_offset < 0 else bounds.max_offset

    def _ends_in_databases(self, topic: str, queue_id: int) -> list[int]:
        ends = (database_queues.next_offset(database, topic, queue_id) for database in self._databases())
        return [end for end in ends if end is not None]

    def _databases(self) -> list[Database]:
        if self._opened is None:
            self._opened = [self._stack.enter_context(open_database(each)) for each in self._directories if is_database(each)]
        return self._opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()


class Tagged(NamedTuple):
    """The waiting messages with one tags code. `code`: None if the entries do not have the hash of a tag.

    `first`: the physical offset of the first record.
    """

    code: int | None
    messages: int
    first: int


def waiting_by_tag(topic: str, committed: int, pieces: Iterable[tuple[Queue | None, Entries]], min_offset: int) -> list[Tagged]:
    """The messages from queue offset `committed` on, by tag, most first; without those below `min_offset` of the log.

    After the most frequent 100,000 tags, the others are counted with those of unknown tags.
    """
    known, unknown, first_unknown = _Sums(), 0, -1
    for queue, piece in pieces:
        entries = piece.where((piece.offsets >= min_offset) & (piece.counts > 0))
        messages = np.maximum(0, np.minimum(entries.counts, entries.numbers + entries.counts - committed))
        # The entries of batches have no tags, those of the delay topic a time, and others may have an address.
        hashed = (entries.codes >= -_LARGEST_HASH - 1) & (entries.codes <= _LARGEST_HASH)
        if topic == DELAY_TOPIC or (queue is not None and queue.batch):
            hashed[:] = False
        if not hashed.all():
            unknown += int(messages[~hashed].sum())
            first_unknown = int(entries.offsets[~hashed][0]) if first_unknown < 0 else first_unknown
        known.add(entries.codes[hashed], messages[hashed], entries.offsets[hashed])
    (codes, counts, firsts), (rest, first_rest) = known.most(_MOST_CODES)
    tagged = [Tagged(*each) for each in zip(codes.tolist(), counts.tolist(), firsts.tolist(), strict=True)]
    if rest:
        unknown += rest
        first_unknown = first_rest if first_unknown < 0 else min(first_unknown, first_rest)
    return tagged + ([Tagged(None, unknown, first_unknown)] if unknown else [])


class _Sums:
    """The messages of each code, and the offset of the first one. Codes are added in pieces, in the order of the queue.

    With more than `_MOST_COUNTED` codes, the rarest so far are left out, so a code that comes again is counted from there on.
    """

    def __init__(self) -> None:
        self._sums: _Columns = (_NONE, _NONE, _NONE)
        self._waiting: list[_Columns] = []
        self._count = 0
        self._rest, self._first_rest = 0, -1

    def add(self, codes: Numbers, counts: Numbers, firsts: Numbers) -> None:
        """Messages that come after the earlier ones."""
        self._waiting.append((codes, counts, firsts))
        self._count += len(codes)
        # As many as there are sums, so that a code is not sorted again with each piece.
        if self._count >= max(_AT_ONCE, len(self._sums[0])):
            self._join()

    def most(self, count: int) -> tuple[_Columns, tuple[int, int]]:
        """The codes with the most messages; and the number of all other messages, and the offset of their first one."""
        self._join()
        self._keep(count)
        return self._sums, (self._rest, self._first_rest)

    def _join(self) -> None:
        codes, counts, firsts = (np.concatenate(each) for each in zip(self._sums, *self._waiting, strict=True))
        unique, places, inverse = np.unique(codes, return_index=True, return_inverse=True)
        sums = np.zeros(len(unique), np.int64)
        np.add.at(sums, inverse, counts)
        self._sums, self._waiting, self._count = (unique, sums, firsts[places]), [], 0
        if len(unique) > _MOST_COUNTED:
            self._keep(_MOST_COUNTED // 2)

    def _keep(self, count: int) -> None:
        """Keep the codes with the most messages, those first."""
        codes, counts, firsts = self._sums
        order = np.lexsort((firsts, -counts))
        kept, rest = order[:count], order[count:]
        if len(rest):
            first = int(firsts[rest].min())
            self._rest += int(counts[rest].sum())
            self._first_rest = first if self._first_rest < 0 else min(self._first_rest, first)
        self._sums = codes[kept], counts[kept], firsts[kept]


def tag_texts(segments: Sequence[Segment], tagged: Sequence[Tagged], max_record_bytes: int) -> list[str | None]:
    """The tag of each code, from its first record; None if that has no tag with this hash or cannot be read."""
    return [_tag_of(segments, each, max_record_bytes) if number < _MOST_NAMED else None for number, each in enumerate(tagged)]


def _tag_of(segments: Sequence[Segment], tagged: Tagged, max_record_bytes: int) -> str | None:
    text = None if tagged.code is None else _tag_at(segments, tagged.first, max_record_bytes)
    return text if text is not None and java_hash(text) == tagged.code else None


def _tag_at(segments: Sequence[Segment], offset: int, max_record_bytes: int) -> str | None:
    which = bisect_right(segments, offset, key=lambda segment: segment.base) - 1
    if which < 0 or not 0 <= offset - segments[which].base - segments[which].frame < segments[which].size:
        return None
    segment = segments[which]
    try:
        with Window(segment, 0) as window:
            layout = layout_at(window, offset - segment.base - segment.frame)
            if layout is None or layout.size > max_record_bytes:
                return None
            return parse(without_crc_trailer(window.peek(layout.properties_at, layout.properties_size))).get(TAGS)
    except OSError:  # deleted meanwhile or unreadable
        return None
