"""`queues`: one row for each consume queue, with its bounds and whether it lists all its records."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import array
from native_reader.broker.settings import TopicConfig, topic_configs
from native_reader.columns.projection import PERMISSIVE, Projection
from native_reader.columns.spec import ColumnSpec
from native_reader.errors import DataLoss, StoreDamaged, UnreadableError, warn
from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.layout.queue_entry import BATCH_ENTRY, QUEUE_ENTRY, lite_topic_of
from native_reader.plan.plan import StoreRead
from native_reader.scan.read import Reading
from native_reader.sentences import Said, say, told
from native_reader.sides.bounds import BATCH, LIGHT, SIMPLE, Bounds, bounds_of, type_of
from native_reader.sides.copies import QueueCopies
from native_reader.sides.queues import Queue, Topic, queues_of, topics_in
from native_reader.storage.protocol import map_files
from native_reader.storage.rocksdb_queues import is_in_database, why_unreadable
from native_reader.storage.store import StoreFiles
from native_reader.tables.table import DETAILS, Table, TableRequest, batches_of, words_of

DISPATCHED, BEHIND, AHEAD, ORPHANED = "dispatched", "behind", "ahead", "orphaned"
STATES = {
    ORPHANED: "the topic is not in the configuration: it was deleted",
    AHEAD: "it names records at or after the end of the log, which were lost or discarded",
    BEHIND: "the log has records of this queue that no entry names, after all records that any queue names",
    DISPATCHED: "none of these",
}
"""In order of precedence."""

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "topic": ColumnSpec(pa.string(), "the topic; of a light queue (LMQ), the name of the queue"),
    "queue_id": ColumnSpec(pa.int32(), "the number of the queue"),
    "type": ColumnSpec(pa.string(), f"`{SIMPLE}`, `{BATCH}` (its entries name inner batches), or `{LIGHT}`"),
    "min_offset": ColumnSpec(pa.int64(), "the queue offset of its first message that has not expired; `max_offset` if there is none"),
    "max_offset": ColumnSpec(pa.int64(), "the next queue offset"),
    "entries": ColumnSpec(pa.int64(), "the entries from the first to the last of these messages; one entry can name an inner batch"),
    "gaps": ColumnSpec(pa.int64(), "the entries between them that no file contains; not counted in RocksDB"),
    "expired": ColumnSpec(pa.int64(), "the entries before them, whose records are no longer in the log"),
    "first_physical_offset": ColumnSpec(pa.int64(), "the offset in the log of the first record; null if there is none"),
    "last_physical_offset": ColumnSpec(pa.int64(), "the offset in the log of the last record; null if there is none"),
    "state": ColumnSpec(pa.string(), "one of the states below; null if unknown"),
    "files": ColumnSpec(pa.int64(), "the number of its files; 0 in RocksDB"),
    "bytes": ColumnSpec(pa.int64(), "bytes of its files, including those not written yet; 0 in RocksDB"),
    "parent_topic": ColumnSpec(pa.string(), "of the queue of a lite topic (5.5.0): the topic that its messages were sent to"),
    "lite_topic": ColumnSpec(pa.string(), "of such a queue: the lite topic"),
    "found": ColumnSpec(pa.string(), "what is wrong with its files; null if nothing was found. The entries between the ends are not read"),
    "details": DETAILS,
}
_WORK = 64 << 10
_MOST_UNDISPATCHED = 1 << 30
"""A longer rest of the log is not read for the states: by far the most queues are then behind."""
_NOT_LISTED = Said("queues in it")
_IN_NO_QUEUE = array(["prepared", "rollback"])
"""Prepared and rolled back messages of brokers 4.0 to 4.2."""

_log = logging.getLogger("native_reader")


class StoreQueues(NamedTuple):
    """The queues of a store, by topic. `end`: where its log ends; None if the states are not wanted."""

    store: StoreFiles
    topics: tuple[Topic, ...]
    end: int | None

    @property
    def work(self) -> int:
        """A share for each topic: how many queues they have is not known yet."""
        return _WORK * len(self.topics)


class FoundQueue(NamedTuple):
    """One queue as it was found. `bounds`: None if it cannot be read, for the reason in `found`."""

    topic: str
    queue_id: int
    type: str
    files: int
    bytes: int
    bounds: Bounds | None
    found: Said | None


def _parts(request: TableRequest) -> list[StoreQueues]:
    warn_of_rocksdb(request.stores)
    parts: list[StoreQueues] = []
    for store in [store for store in request.stores if store.queues]:
        end = request.ends[store.uri].offset if request.wants("state") else None
        parts.append(StoreQueues(store, tuple(topics_in(store.queues, light=True)), end))
    return parts


def _batches(part: StoreQueues, projection: Projection) -> Iterator[pa.RecordBatch]:
    store, queues = part.store, list_queues(part, projection.advanced)
    states: Sequence[str | None] = [None] * len(queues) if part.end is None else states_of(store, queues, part.end, projection)
    yield from batches_of((_row(store, *each) for each in zip(queues, states, strict=True)), QUEUES.schema)


def list_queues(part: StoreQueues, advanced: Callable[[int], None] | None = None) -> list[FoundQueue]:
    """All queues of a store, light ones too, with their bounds."""
    lowest, copies = part.store.first_record, QueueCopies(part.store.queues)
    of_topics = map_files(
        lambda topic: _of_topic(topic, lowest, copies), part.topics, None if advanced is None else partial(advanced, _WORK)
    )
    return [each for of_topic in of_topics for each in of_topic]


def warn_of_rocksdb(stores: Iterable[StoreFiles]) -> None:
    """Log which queues of these stores are in a RocksDB database that cannot be opened.

    Called when a read is planned: warnings of Spark's tasks are hard to find.
    """
    for why in (why_unreadable(directory) for store in stores for directory in store.databases):
        if why is not None:
            warn(_log, say("sentences", first=why, second=_NOT_LISTED))


def configured_topics(store: StoreFiles) -> Mapping[str, TopicConfig] | None:
    """The topics in the configuration; None, with a warning, if it cannot be read."""
    try:
        return topic_configs(store.config)
    except (StoreDamaged, UnreadableError) as error:
        warn(_log, told(error), is_loss=isinstance(error, DataLoss))
        return None


def _of_topic(topic: Topic, lowest: int, copies: QueueCopies) -> list[FoundQueue]:
    try:
        queues = [queue for queue in queues_of(topic, strict=True) if not copies.is_left_behind(topic, queue.queue_id)]
    except OSError as error:
        warn(_log, told(error), is_loss=isinstance(error, DataLoss))
        return []
    return [listed for queue in queues if (listed := _listed(queue, lowest)) is not None]


def _listed(queue: Queue, lowest: int) -> FoundQueue | None:
    """None if the queue was deleted meanwhile."""
    try:
        bounds = bounds_of(queue, lowest)
        if bounds is None:
            return None
        found = bounds.found
    except OSError as error:
        bounds, found = None, told(error)
    return found_queue(queue, bounds, found)


def found_queue(queue: Queue, bounds: Bounds | None, found: Said | None) -> FoundQueue:
    """A queue with its bounds, and what is wrong with its files."""
    width = (BATCH_ENTRY if queue.batch else QUEUE_ENTRY).itemsize
    files = [file for file in queue.files if not is_in_database(file.uri)]
    size = sum(file.units for file in files) * width
    return FoundQueue(queue.topic, queue.queue_id, type_of(queue), len(files), size, bounds, found)


def states_of(store: StoreFiles, queues: Sequence[FoundQueue], end: int, projection: Projection) -> list[str | None]:
    """The state of each queue."""
    newest = [queue.bounds.newest for queue in queues if queue.bounds is not None and queue.bounds.newest is not None]
    dispatched = max((place.offset + place.size for place in newest if place.is_written and place.offset < end), default=0)
    configured = configured_topics(store) or {}
    waiting = _undispatched(store, max(dispatched, store.min_offset), end, projection)
    return [_state(queue, configured, waiting, end) for queue in queues]


def _state(queue: FoundQueue, configured: Collection[str], waiting: Set[tuple[str, int]] | None, end: int) -> str | None:
    if queue.bounds is None:
        return None
    is_light, last = queue.type == LIGHT, queue.bounds.newest
    if configured and not is_light and queue.topic not in configured and kind_of_topic(queue.topic) not in SYSTEM_KINDS:
        return ORPHANED
    if last is not None and last.is_written and last.offset >= end:
        return AHEAD
    if waiting is None or (waiting and is_light):  # only the properties of a record name its light queues
        return None
    return BEHIND if (queue.topic, queue.queue_id) in waiting else DISPATCHED


def _undispatched(store: StoreFiles, start: int, end: int, projection: Projection) -> set[tuple[str, int]] | None:
    """The queues of the records in `[start, end)` of the log, where no queue has an entry; None if that is too long to read."""
    if end - start > _MOST_UNDISPATCHED:
        warn(_log, say("queues unknown", store=store.uri, bytes=end - start))
        return None
    found: set[tuple[str, int]] = set()
    read, columns = StoreRead(store, end, start), ("topic", "queue_id", "kind")
    wanted = replace(projection, columns=columns, mode=PERMISSIVE, fail_on_data_loss=False, unpacks_batches=False)
    for segment in store.segments:
        if segment.end <= start or segment.base >= end:
            continue
        for batch in Reading(read.whole(segment), wanted):
            queued = batch.filter(pc.invert(pc.is_in(batch.column("kind"), _IN_NO_QUEUE)))
            queues = pa.Table.from_batches([queued]).group_by(["topic", "queue_id"]).aggregate([("kind", "count")])
            found.update(zip(queues["topic"].to_pylist(), queues["queue_id"].to_pylist(), strict=True))
    return found


def _row(store: StoreFiles, queue: FoundQueue, state: str | None) -> dict[str, object]:
    row: dict[str, object] = {"store": store.uri, "state": state}
    row |= {name: getattr(queue, name) for name in ("topic", "queue_id", "type", "files", "bytes")}
    row |= words_of(queue.found)
    row["parent_topic"], row["lite_topic"] = lite_topic_of(queue.topic)
    if (bounds := queue.bounds) is None:
        return row
    row |= {name: getattr(bounds, name) for name in ("min_offset", "max_offset", "entries", "gaps", "expired")}
    first, last = (None if place is None or not place.is_written else place.offset for place in (bounds.first, bounds.last))
    return row | {"first_physical_offset": first, "last_physical_offset": last}


QUEUES = Table("queues", COLUMNS, _parts, batches=_batches)


class OlderRecords:
    """Records that queues name from before the log. Those of light queues are in ordinary ones, too."""

    def __init__(self) -> None:
        self._by_topic = Counter[str]()

    def add(self, topic: str, kind: str, bounds: Bounds | None) -> None:
        """Add a queue of that type, if its bounds are known."""
        if bounds is not None and bounds.expired and kind != LIGHT:
            self._by_topic[topic] += bounds.expired

    def by_topic(self) -> dict[str, int]:
        """How many there are of each topic, the most first."""
        return dict(sorted(self._by_topic.items(), key=lambda each: (-each[1], each[0])))
