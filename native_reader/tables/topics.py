"""`topics`: one row for each topic that the configuration, the consume queues or the log has, with what it takes of the log."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from native_reader.columns.makers import timestamps
from native_reader.columns.projection import PERMISSIVE, Projection
from native_reader.columns.spec import PROPERTIES_TYPE, TIMESTAMP, ColumnSpec
from native_reader.errors import DataLoss, warn
from native_reader.layout.kinds import kind_of_topic
from native_reader.plan.plan import make_plan
from native_reader.plan.split import Split
from native_reader.plan.ways import SCAN
from native_reader.predicate.tree import EVERYTHING
from native_reader.records.sync import head_at
from native_reader.scan.read import Reading
from native_reader.sentences import say, told
from native_reader.sides.listed import Count, count_listed
from native_reader.sides.queues import numbers_of, topics_in
from native_reader.storage.store import StoreFiles
from native_reader.storage.window import Window
from native_reader.sums import Tally, measures
from native_reader.tables.queues import configured_topics, warn_of_rocksdb
from native_reader.tables.table import Table, TableRequest

QUEUES, LOG = "queues", "log"

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "topic": ColumnSpec(pa.string(), "the topic; null in a row for the bytes that no queue lists, with the blanks after them"),
    "kind": ColumnSpec(pa.string(), "the kind of its messages, if the topic determines it"),
    "is_configured": ColumnSpec(pa.bool_(), "whether the configuration has the topic; null if it cannot be read"),
    "read_queues": ColumnSpec(pa.int32(), "the number of queues that consumers read, as configured"),
    "write_queues": ColumnSpec(pa.int32(), "the number of queues that producers write, as configured"),
    "perm": ColumnSpec(pa.int32(), "the sum of 4 (consumers can read) and 2 (producers can write), as configured"),
    "attributes": ColumnSpec(PROPERTIES_TYPE, "the attributes, as configured: `queue.type`, `cleanup.policy`, `message.type` and others"),
    "queues": ColumnSpec(pa.int64(), "the number of its queues on disk"),
    "records": ColumnSpec(pa.int64(), "the number of its records in the log"),
    "messages": ColumnSpec(pa.int64(), "the number of messages in these records: more if some are inner batches"),
    "bytes": ColumnSpec(pa.int64(), "bytes of these records"),
    "share": ColumnSpec(pa.float64(), "these bytes, divided by the bytes of all segments"),
    "first_store_timestamp": ColumnSpec(TIMESTAMP, "when its first record was stored"),
    "last_store_timestamp": ColumnSpec(TIMESTAMP, "when its last record was stored"),
    "counted_from": ColumnSpec(pa.string(), f"`{QUEUES}`, or with `access=scan` `{LOG}`"),
    "is_complete": ColumnSpec(
        pa.bool_(), "whether these counts are complete: the queues list every byte of the log, or the log has no damage"
    ),
}
_READ = ("topic", "record_size", "store_timestamp", "inner_index")

_log = logging.getLogger("native_reader")


class TopicsOf(NamedTuple):
    """The topics of a store whose log ends at `end`. `splits`: the parts of the log, if it is to be read."""

    store: StoreFiles
    end: int
    splits: tuple[Split, ...] | None

    @property
    def work(self) -> int:
        """The bytes of the log that are read, or that the queues list."""
        return max(0, self.end - self.store.min_offset) if self.splits is None else sum(split.work for split in self.splits)


@dataclass(slots=True)
class _Row:
    """What is known about one topic."""

    queues: int = 0
    records: int = 0
    messages: int = 0
    bytes: int = 0
    first: datetime | None = None
    last: datetime | None = None


def _parts(request: TableRequest) -> list[TopicsOf]:
    is_scan = request.planning.access == SCAN
    if not is_scan:
        warn_of_rocksdb(request.stores)
    return [
        TopicsOf(read.store, read.end, make_plan([read], EVERYTHING, request.planning).splits if is_scan else None)
        for read in request.reads
    ]


def _rows(part: TopicsOf, projection: Projection) -> list[dict[str, object]]:
    store = part.store
    counts, is_complete, unlisted = _from_queues(part, projection) if part.splits is None else _from_log(part, part.splits, projection)
    configured = configured_topics(store)
    configs = configured or {}
    size = sum(segment.size for segment in store.segments)
    rows: list[dict[str, object]] = []
    for name in sorted({*counts, *configs}):
        config, count = configs.get(name), counts.get(name, _Row())
        row = _counted(part, count.bytes, size) | {"topic": name, "kind": kind_of_topic(name)}
        row["is_configured"] = None if configured is None else config is not None
        if config is not None:
            row |= {"read_queues": config.read_queues, "write_queues": config.write_queues, "perm": config.perm}
            row["attributes"] = list(config.attributes.items())
        row |= {each: getattr(count, each) for each in ("queues", "records", "messages")}
        rows.append(row | {"first_store_timestamp": count.first, "last_store_timestamp": count.last, "is_complete": is_complete})
    return [*rows, _counted(part, unlisted, size) | {"is_complete": False}] if unlisted else rows


def _counted(part: TopicsOf, size: int, whole: int) -> dict[str, object]:
    counted_from = QUEUES if part.splits is None else LOG
    return {"store": part.store.uri, "bytes": size, "share": size / whole if whole else None, "counted_from": counted_from}


def _from_queues(part: TopicsOf, projection: Projection) -> tuple[dict[str, _Row], bool, int]:
    """What the queues list of each topic, whether that is all of the log, and the bytes that are in no queue."""
    store = part.store
    listed = count_listed(store, part.end, projection.advanced)
    times = _times_at(store, listed.topics.values())
    rows = {
        name: _Row(count.queues, count.records, count.messages, count.bytes, times.get(count.first), times.get(count.last))
        for name, count in listed.topics.items()
    }
    return rows, listed.is_complete, listed.unlisted


def _times_at(store: StoreFiles, counts: Iterable[Count]) -> dict[int, datetime]:
    """The store times of the first and the last record of each topic, by offset."""
    wanted = sorted({offset for count in counts if count.records for offset in (count.first, count.last)})
    found: list[int] = []
    times: list[int] = []
    for segment in store.segments:
        here = wanted[bisect_left(wanted, segment.base) : bisect_left(wanted, segment.end)]
        if not here:
            continue
        try:
            with Window(segment, 0, past_unreadable=True) as window:
                for offset in here:
                    head = head_at(window, offset - segment.base - segment.frame)
                    if int(head["physical_offset"]) == offset:
                        found.append(offset)
                        times.append(int(head["store_timestamp"]))
        except DataLoss as error:  # a broker deletes its oldest segments
            warn(_log, say("read continues", why=told(error)), is_loss=True)
    return dict(zip(found, timestamps(np.array(times, np.int64)).to_pylist(), strict=True))


def _from_log(part: TopicsOf, splits: Iterable[Split], projection: Projection) -> tuple[dict[str, _Row], bool, int]:
    """What the log has of each topic, from the heads of all records."""
    topics = Tally(("topic",), ("bytes", "messages", "records"), first=("first",), last=("last",), limit=None)
    is_complete = True
    counts_messages = "messages" in projection.columns
    wanted = replace(projection, columns=_READ, mode=PERMISSIVE, fail_on_data_loss=False, unpacks_batches=counts_messages)
    for split in splits:
        reading = Reading(split, wanted)
        for batch in reading:
            times = batch["store_timestamp"]
            topics.add(pa.table({"topic": batch["topic"], **measures(batch), "first": times, "last": times}))
        is_complete = is_complete and not reading.report.damage
    found = topics.table()
    rows = {} if found is None else {row.pop("topic"): _Row(**row) for row in found.to_pylist()}
    for topic in topics_in(part.store.queues):
        rows.setdefault(topic.name, _Row()).queues += len(numbers_of(topic))
    return rows, is_complete, 0


TOPICS = Table("topics", COLUMNS, _parts, _rows, options=("access",))
