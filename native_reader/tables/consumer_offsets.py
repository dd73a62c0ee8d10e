"""`consumer_offsets`: how far each consumer group has read each queue. `lag_by_tag`: what it has not read, by tag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from native_reader.broker.consumer_offsets import GroupOffset, offsets_in
from native_reader.broker.tier import tier_of
from native_reader.columns.makers import timestamps
from native_reader.columns.projection import Projection
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.layout.queue_entry import lite_topic_of
from native_reader.sides.lag import QueueEnds, Unread, store_times, tag_texts, waiting_by_tag
from native_reader.storage.store import StoreFiles
from native_reader.tables.table import Table, TableRequest, batches_of

_AT_ONCE = 1000
_WORK = 16 << 10

_NAMES = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "group": ColumnSpec(pa.string(), "the consumer group"),
    "topic": ColumnSpec(pa.string(), "the topic; of a light queue (LMQ), its name"),
    "queue_id": ColumnSpec(pa.int32(), "the queue"),
}
OFFSETS_COLUMNS = _NAMES | {
    "committed": ColumnSpec(pa.int64(), "queue offset of the next message to consume"),
    "max": ColumnSpec(pa.int64(), "queue offset of the next message that the queue will get; null if the queue has no files"),
    "lag": ColumnSpec(pa.int64(), "`max - committed`; negative if the queue has lost its newest entries"),
    "min": ColumnSpec(pa.int64(), "queue offset of the first message in the queue that has not expired; null if the queue has no files"),
    "expired": ColumnSpec(pa.int64(), "how many messages of the lag have expired: the group never gets them"),
    "tiered": ColumnSpec(pa.int64(), "how many messages of the lag are in tiered storage, and no longer in the log"),
    "oldest_unread": ColumnSpec(TIMESTAMP, "when the first message was stored that the group has not read and that is still in the log"),
    "pulled": ColumnSpec(pa.int64(), "queue offset of the next message to deliver (5.0 and later)"),
    "is_broadcast": ColumnSpec(pa.bool_(), "whether each consumer of the group gets every message; `committed` is that of the slowest"),
    "file": ColumnSpec(pa.string(), "URI of the file or database with this offset"),
    "parent_topic": ColumnSpec(pa.string(), "of the queue of a lite topic (5.5.0): the topic that its messages were sent to"),
    "lite_topic": ColumnSpec(pa.string(), "of such a queue: the lite topic"),
}
_OF_UNREAD = {"min", "expired", "tiered", "oldest_unread"}
"""Each needs a few reads of its own."""
TAGS_COLUMNS = _NAMES | {
    "tags_code": ColumnSpec(pa.int32(), "the hash of the tag, from the queue; 0 without a tag; null if the queue does not have it"),
    "tag": ColumnSpec(pa.string(), "the tag of the first such message; null without a tag, or if it cannot be read"),
    "messages": ColumnSpec(pa.int64(), "the number of messages after the group's offset"),
    "first_physical_offset": ColumnSpec(pa.int64(), "offset of the first one in the log"),
    "parent_topic": ColumnSpec(pa.string(), "of the queue of a lite topic (5.5.0): the topic that its messages were sent to"),
    "lite_topic": ColumnSpec(pa.string(), "of such a queue: the lite topic"),
}


class _Offsets(NamedTuple):
    """Some of the offsets in a store."""

    store: StoreFiles
    offsets: tuple[GroupOffset, ...]

    @property
    def work(self) -> int:
        """A share for each queue."""
        return _WORK * len(self.offsets)


def _parts(request: TableRequest) -> list[_Offsets]:
    """Without the segments, if the log is not looked at: a store can have thousands."""
    if request.columns is None or _OF_UNREAD & set(request.columns):
        return _parts_with_logs(request)
    return list(_offsets_of(*(replace(store, segments=()) for store in request.stores)))


def _parts_with_logs(request: TableRequest) -> list[_Offsets]:
    return list(_offsets_of(*request.stores))


def _offsets_of(*stores: StoreFiles) -> Iterator[_Offsets]:
    for store in stores:
        offsets = sorted(offsets_in(store.config), key=_order)
        for first in range(0, len(offsets), _AT_ONCE):
            yield _Offsets(store, tuple(offsets[first : first + _AT_ONCE]))


def _order(each: GroupOffset) -> tuple[str, bool, str, int]:
    return each.group or "", each.is_broadcast, each.topic, -1 if each.queue_id is None else each.queue_id


def _offset_rows(part: _Offsets, projection: Projection) -> list[dict[str, object]]:
    is_unread = bool(_OF_UNREAD & set(projection.columns))
    tier = tier_of(part.store.uri, part.store.config) if is_unread else None
    rows, unread, queues = [], [], QueueEnds(part.store.queues, part.store.first_record, tier)
    for each in _measured(part, projection):
        end = None if each.queue_id is None else queues.next_offset(each.topic, each.queue_id)
        lag = None if end is None or each.committed is None else end - each.committed
        if is_unread and each.queue_id is not None and each.committed is not None:
            unread.append(queues.unread(each.topic, each.queue_id, each.committed))
        else:
            unread.append(None)
        rows.append(
            _names(part.store, each)
            | {"committed": each.committed, "max": end, "lag": lag, "pulled": each.pulled}
            | {"is_broadcast": each.is_broadcast, "file": each.file}
        )
    times = store_times(part.store, {found.first for found in unread if found is not None and found.first is not None})
    return [row | _of_unread(found, times) for row, found in zip(rows, unread, strict=True)]


def _of_unread(found: Unread | None, times: Mapping[int, int]) -> dict[str, object]:
    if found is None:
        return {}
    time = None if found.first is None else times.get(found.first)
    (oldest,) = timestamps(np.array([0 if time is None else time]), np.array([time is None])).to_pylist()
    return {"min": found.min_offset, "expired": found.expired, "tiered": found.tiered, "oldest_unread": oldest}


def _tag_batches(part: _Offsets, projection: Projection) -> Iterator[pa.RecordBatch]:
    yield from batches_of(_tag_rows(part, projection), LAG_BY_TAG.schema)


def _tag_rows(part: _Offsets, projection: Projection) -> Iterator[dict[str, object]]:
    store = part.store
    queues = QueueEnds(store.queues, store.first_record)
    for each in _measured(part, projection):
        if each.queue_id is None or each.committed is None:
            continue
        entries = queues.entries_from(each.topic, each.queue_id, each.committed)
        tagged = waiting_by_tag(each.topic, each.committed, entries, store.min_offset)
        for one, tag in zip(tagged, tag_texts(store, tagged, projection.max_record_bytes), strict=True):
            counts = {"tags_code": one.code, "tag": tag, "messages": one.messages, "first_physical_offset": one.first}
            yield _names(store, each) | counts


def _measured(part: _Offsets, projection: Projection) -> Iterator[GroupOffset]:
    """The offsets of a part, for its progress."""
    for offset in part.offsets:
        yield offset
        if projection.advanced is not None:
            projection.advanced(_WORK)


def _names(store: StoreFiles, offset: GroupOffset) -> dict[str, object]:
    parent, lite = lite_topic_of(offset.topic)
    names: dict[str, object] = {"store": store.uri, "group": offset.group, "topic": offset.topic, "queue_id": offset.queue_id}
    return names | {"parent_topic": parent, "lite_topic": lite}


CONSUMER_OFFSETS = Table("consumer_offsets", OFFSETS_COLUMNS, _parts, _offset_rows)
LAG_BY_TAG = Table("lag_by_tag", TAGS_COLUMNS, _parts_with_logs, batches=_tag_batches)
