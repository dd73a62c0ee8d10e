"""`compacted`: one row for each message that a broker keeps of a compacted topic (5.0+, `cleanup.policy=COMPACTION`).

`compaction/compactionLog/TOPIC/QUEUE` is a log of one queue: copies of records, with offsets of that log. From time to time a broker
rewrites it with only the newest message of each key. So some files are missing and others end in zeros: this is not damage.
When the commitlog has expired, this is the only copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from native_reader.arrow import repeat
from native_reader.columns.projection import Projection
from native_reader.columns.spec import KEYS_TYPE, PROPERTIES_TYPE, TIMESTAMP, ColumnSpec
from native_reader.plan.split import SPLIT_COSTS, Split, SplitLog
from native_reader.sides.queues import numbers_of, topics_in
from native_reader.storage.discovery import COMPACTED
from native_reader.storage.protocol import StoredFile, storage_of
from native_reader.storage.store import Segment, StoreFiles, is_segment_name
from native_reader.tables.messages import MessagesPart
from native_reader.tables.table import Table, TableRequest

_OF_MESSAGES = {
    "topic": ColumnSpec(pa.string(), "the topic"),
    "queue_id": ColumnSpec(pa.int32(), "the queue"),
    "queue_offset": ColumnSpec(pa.int64(), "the offset in that queue, as in the commitlog"),
    "tags": ColumnSpec(pa.string(), "the tags"),
    "keys": ColumnSpec(KEYS_TYPE, "the keys; the broker keeps the newest message of the first one"),
    "msg_id": ColumnSpec(pa.string(), "the id"),
    "body": ColumnSpec(pa.binary(), "the body, decompressed"),
    "properties": ColumnSpec(PROPERTIES_TYPE, "the properties"),
    "born_timestamp": ColumnSpec(TIMESTAMP, "when the producer created the message"),
    "store_timestamp": ColumnSpec(TIMESTAMP, "when it was stored in the commitlog"),
}
COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    **_OF_MESSAGES,
    "file": ColumnSpec(pa.string(), "URI of the file in `compaction/compactionLog`"),
    "compacted_offset": ColumnSpec(pa.int64(), "the offset in the log of that queue, not in the commitlog"),
}
_PIECE = 1 << 20


class CompactedFile(NamedTuple):
    """One file of the log of a queue."""

    store: str
    segment: Segment

    @property
    def work(self) -> int:
        """The approximate number of bytes to read."""
        return self.segment.size + SPLIT_COSTS


def _parts(request: TableRequest) -> list[CompactedFile]:
    return [CompactedFile(store.uri, segment) for store in request.stores for segment in _segments_of(store)]


def _segments_of(store: StoreFiles) -> Iterator[Segment]:
    for topic in topics_in((f"{store.uri}/{COMPACTED}",)):
        for number in numbers_of(topic, strict=True):
            directory = f"{topic.uri}/{number}"
            for entry in storage_of(directory).list(directory):
                if entry.is_file and entry.size and is_segment_name(entry.name):
                    yield Segment(int(entry.name), entry.size, f"{directory}/{entry.name}", entry.identity)


def _batches(part: CompactedFile, projection: Projection) -> Iterator[pa.RecordBatch]:
    segment = part.segment
    with storage_of(segment.uri).open_known(segment.uri, segment.identity) as file:
        end = _written_end(file, segment.size)
    reading = MessagesPart(Split(SplitLog(part.store), segment, 0, segment.size, end))
    for batch in reading.reading(projection, *(name for name in _OF_MESSAGES if name in projection.columns), "physical_offset"):
        columns = {name: batch.column(name) for name in _OF_MESSAGES if name in projection.columns}
        whole = {"store": repeat(part.store, len(batch)), "file": repeat(segment.uri, len(batch))}
        yield COMPACTED_MESSAGES.batch({**whole, **columns, "compacted_offset": batch.column("physical_offset")})


def _written_end(file: StoredFile, size: int) -> int:
    """Where the zeros at the end of a file begin. Also a file that is not the newest can end in zeros, after what was kept."""
    end = min(size, file.written_end())
    while end > 0:
        begin = max(0, end - _PIECE)
        (content,) = file.read_ranges([(begin, end - begin)])
        if kept := len(content.rstrip(b"\0")):
            return begin + kept
        end = begin
    return 0


COMPACTED_MESSAGES = Table("compacted", COLUMNS, _parts, batches=_batches)
