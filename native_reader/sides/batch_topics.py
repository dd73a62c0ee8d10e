"""Finds topics that hold inner batches. No index names the messages in a batch, and ordinary queues do not describe them.

A broker keeps batches in batch queues. Its slaves may use ordinary queues for such a topic; there, entry n is the nth
record, whatever the queue offset of that record is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from native_reader.broker.settings import Topics
from native_reader.layout.record import INNER_BATCH
from native_reader.log.boundary import segment_before
from native_reader.records.sync import head_at
from native_reader.sides.queues import Queue, QueueReader, Topic, queues_of
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import StoreFiles
from native_reader.storage.window import Window


def topics_with_batches(store: StoreFiles, names: Sequence[str], configured: Topics, end: int, *, by_records: bool) -> Iterator[str]:
    """The topics among `names` that hold inner batches, or may do so, in a store whose log ends at `end`.

    `by_records`: for topics that are not in the configuration, also check the newest record of each queue.
    """
    declared = configured.of_batches()
    for name in names:
        is_unknown = by_records and not configured.has(name)
        if name in declared or has_queues(store.batch_queue, name) or (is_unknown and _ends_in_batches(store, name, end)):
            yield name


def has_queues(directory: str | None, topic: str) -> bool:
    """Whether the topic has queues in that directory."""
    storage = None if directory is None else storage_of(directory)
    return storage is not None and storage.entry(f"{directory}/{storage.quoted(topic)}") is not None


def _ends_in_batches(store: StoreFiles, topic: str, end: int) -> bool:
    if store.consume_queue is None:
        return False
    uri = f"{store.consume_queue}/{storage_of(store.consume_queue).quoted(topic)}"
    return any(_may_hold_batches(store, queue, end) for queue in queues_of(Topic(topic, uri, False)))


def _may_hold_batches(store: StoreFiles, queue: Queue, end: int) -> bool:
    """Whether the newest record of an ordinary queue is a batch or contradicts its entry. Also true if it cannot be read."""
    with QueueReader(queue) as reader:
        newest = reader.last_below(end)
    if not len(newest):
        return False
    number, offset = int(newest.numbers[0]), int(newest.offsets[0])
    segment = segment_before(store.segments, offset + 1)
    if segment is None or offset >= segment.end:
        return False
    try:
        with Window(segment, 0) as window:
            head = head_at(window, offset - segment.base - segment.frame)
    except OSError:
        return True
    return bool(head["sys_flag"] & INNER_BATCH) or (int(head["physical_offset"]), int(head["queue_offset"])) != (offset, number)
