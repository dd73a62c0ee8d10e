"""Looks at each file of a store once, and compares what they say of each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from native_reader.sides.copies import QueueCopies
from native_reader.sides.queues import Queue, queues_of, topics_in
from native_reader.storage.protocol import map_files
from native_reader.storage.store import StoreFiles
from native_reader.witness.contradiction import Contradiction, worst_first
from native_reader.witness.ends import after_the_end, before_the_begin
from native_reader.witness.entries import Sample, sample_of
from native_reader.witness.files import Files
from native_reader.witness.logged import logged_in
from native_reader.witness.names import beside_the_segments
from native_reader.witness.segments import look_at_segments
from native_reader.witness.settings import Settings


@dataclass(frozen=True, slots=True)
class Witnesses:
    """What the quick look found. `bytes_read`: of the log."""

    contradictions: tuple[Contradiction, ...]
    bytes_read: int


def look_at(store: StoreFiles, end: int, reserved_hours: int, max_read_rate: int | None = None) -> Witnesses:
    """Look at a witness for each file of a store whose log ends at `end`."""
    looks = look_at_segments(store.segments, end)
    samples = look_at_queues(store)
    files = Files(store, end, looks, samples)
    settings = Settings(store, samples, logged_in(store, end, looks, samples, max_read_rate))
    found = [
        *files.contradictions(),
        *beside_the_segments(store),
        *before_the_begin(store, looks, samples, reserved_hours),
        *after_the_end(store, end, looks, samples),
        *settings.contradictions(),
    ]
    return Witnesses(tuple(worst_first(found)), files.bytes_read)


def look_at_queues(store: StoreFiles) -> list[Sample]:
    """A few entries of each file of each queue. Of queues with two copies, that which the broker uses."""
    copies = QueueCopies(store.queues)
    queues: list[Queue] = []
    for topic in topics_in(store.queues, light=True):
        queues += (queue for queue in queues_of(topic) if not copies.is_left_behind(topic, queue.queue_id))
    return _mapped(queues)


def _mapped(queues: Sequence[Queue]) -> list[Sample]:
    if not queues:
        return []
    topics = [_Placed(next((file.uri for file in queue.files), ""), queue) for queue in queues]
    named = [each for each in topics if each.uri]
    return map_files(lambda each: sample_of(each.queue), named) + [Sample(each.queue) for each in topics if not each.uri]


class _Placed(NamedTuple):
    """A queue and the URI of a file of it."""

    uri: str
    queue: Queue
