"""How far a consumer group is behind in a queue: the end of the queue, and the messages after its offset by tag."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from native_reader.broker.tier import Tier
from native_reader.layout.kinds import DELAY_TOPIC
from native_reader.layout.properties import TAGS, parse, without_crc_trailer
from native_reader.layout.queue_entry import java_hash
from native_reader.records.sync import RecordLayout, head_at, layout_at
from native_reader.sides.bounds import Bounds, bounds_of
from native_reader.sides.entries import Entries
from native_reader.sides.queues import IF_DELETED, Queue, QueueReader, queue_named
from native_reader.storage.store import StoreFiles
from native_reader.storage.window import Window
from native_reader.sums import Tally

_MOST_NAMED, _MOST_CODES = 1000, 100_000
_MOST_COUNTED = 4_000_000
"""Codes. With more, the rarest so far are left out, so a code that comes again is counted from there on."""
_LARGEST_HASH = 2**31 - 1

Got = TypeVar("Got")


class QueueEnds:
    """The queues of one store, whose log begins at offset `lowest`. Of copies, in files and in RocksDB, the one that ends last counts.

    `tier`: what has messages that are no longer in the log.
    """

    def __init__(self, directories: Sequence[str], lowest: int, tier: Tier | None = None) -> None:
        self._directories, self._lowest, self._tier = directories, lowest, tier
        self._known: dict[tuple[str, int], tuple[Queue, Bounds] | None] = {}

    def next_offset(self, topic: str, queue_id: int) -> int | None:
        """The queue offset after the last entry; None if there is no such queue."""
        found = self._found(topic, queue_id)
        return None if found is None else found[1].max_offset

    def unread(self, topic: str, queue_id: int, committed: int) -> Unread | None:
        """What remains for a group; None if there is no such queue."""
        found = self._found(topic, queue_id)
        if found is None:
            return None
        queue, bounds = found
        begin, first = max(committed, bounds.min_offset), None
        if begin < bounds.max_offset:
            with QueueReader(queue, IF_DELETED) as reader:
                entry = reader.entry_from(begin)
            first = int(entry.offsets[0]) if len(entry) and self._lowest <= entry.offsets[0] else None
        tiered = 0 if self._tier is None else self._tier.holds(topic, queue_id, committed, bounds.min_offset)
        return Unread(bounds.min_offset, max(0, bounds.min_offset - committed - tiered), tiered, first)

    def entries_from(self, topic: str, queue_id: int, number: int) -> Iterator[tuple[Queue, Entries]]:
        """The entries from that queue offset on, in pieces, with the queue."""
        found = self._found(topic, queue_id)
        if found is not None:
            with QueueReader(found[0], IF_DELETED) as reader:
                yield from ((found[0], entries) for entries in reader.entries_from(number))

    def _found(self, topic: str, queue_id: int) -> tuple[Queue, Bounds] | None:
        """A queue, and where it begins and ends. Several groups read the same one."""
        if (topic, queue_id) not in self._known:
            queues = [queue_named([directory], topic, queue_id) for directory in self._directories]
            copies = [(queue, bounds) for queue in queues if queue is not None and (bounds := bounds_of(queue, self._lowest)) is not None]
            self._known[topic, queue_id] = max(copies, key=lambda copy: copy[1].max_offset, default=None)
        return self._known[topic, queue_id]


class Unread(NamedTuple):
    """What a group has not read. `expired`: messages of it whose records are no longer in the log; `tiered`: those that tiered storage
    has instead; `first`: the offset in the log of the first one that is there, None if there is none or its entry cannot be read.
    """

    min_offset: int
    expired: int
    tiered: int
    first: int | None


class Tagged(NamedTuple):
    """The waiting messages with one tags code. `code`: None if the entries do not have the hash of a tag.

    `first`: the physical offset of the first record.
    """

    code: int | None
    messages: int
    first: int


def waiting_by_tag(topic: str, committed: int, pieces: Iterable[tuple[Queue, Entries]], min_offset: int) -> list[Tagged]:
    """The messages from queue offset `committed` on, by tag, most first; without those below `min_offset` of the log.

    After the most frequent 100,000 tags, the others are counted with those of unknown tags.
    """
    known = Tally(("code",), ("messages",), first=("first",), limit=_MOST_COUNTED)
    unknown, first_unknown = 0, -1
    for queue, piece in pieces:
        entries = piece.where((piece.offsets >= min_offset) & (piece.counts > 0))
        messages = np.maximum(0, np.minimum(entries.counts, entries.numbers + entries.counts - committed))
        # The entries of batches have no tags, those of the delay topic a time, and others may have an address.
        hashed = (entries.codes >= -_LARGEST_HASH - 1) & (entries.codes <= _LARGEST_HASH)
        if topic == DELAY_TOPIC or queue.batch:
            hashed[:] = False
        if not hashed.all():
            unknown += int(messages[~hashed].sum())
            first_unknown = int(entries.offsets[~hashed][0]) if first_unknown < 0 else first_unknown
        known.add(pa.table({"code": entries.codes[hashed], "messages": messages[hashed], "first": entries.offsets[hashed]}))
    top = known.top(_MOST_CODES)
    tagged = [Tagged(**row) for row in top.rows]  # type: ignore[arg-type]
    if rest := top.others["messages"]:
        unknown += rest
        first_unknown = top.others["first"] if first_unknown < 0 else min(first_unknown, top.others["first"])
    return tagged + ([Tagged(None, unknown, first_unknown)] if unknown else [])


def tag_texts(store: StoreFiles, tagged: Sequence[Tagged], max_record_bytes: int) -> list[str | None]:
    """The tag of each code, from its first record; None if that has no tag with this hash or cannot be read."""

    def tag_in(window: Window, layout: RecordLayout, _: int) -> str | None:
        if layout.size > max_record_bytes:
            return None
        return parse(without_crc_trailer(window.peek(layout.properties_at, layout.properties_size))).get(TAGS)

    texts = _of_records(store, {each.first for each in tagged[:_MOST_NAMED] if each.code is not None}, tag_in)
    found = [texts.get(each.first) if each.code is not None else None for each in tagged]
    return [text if text is not None and java_hash(text) == each.code else None for text, each in zip(found, tagged, strict=True)]


def store_times(store: StoreFiles, offsets: Collection[int]) -> dict[int, int]:
    """The store times of the records at these offsets of the log, in milliseconds; not of those that cannot be read."""
    return _of_records(store, offsets, lambda window, _, position: int(head_at(window, position)["store_timestamp"]))


def _of_records(store: StoreFiles, offsets: Collection[int], get: Callable[[Window, RecordLayout, int], Got | None]) -> dict[int, Got]:
    """What `get` returns for the record at each offset, in the order of the log: to go back, a packed segment is unpacked again."""
    found: dict[int, Got] = {}
    for segment, of_segment in groupby(sorted(offsets), store.segment_at):
        if segment is None:
            continue
        try:
            with Window(segment, 0) as window:
                for offset in of_segment:
                    position = offset - segment.base - segment.frame
                    layout = layout_at(window, position) if 0 <= position < segment.size else None
                    value = None if layout is None else get(window, layout, position)
                    if value is not None:
                        found[offset] = value
        except OSError:  # deleted meanwhile or unreadable
            continue
    return found
