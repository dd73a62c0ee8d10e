"""Looks at each file of a store once, and compares what they say of each other."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from native_reader.sides.copies import QueueCopies
from native_reader.sides.queues import Topic, numbers_of, queue_in, topics_in
from native_reader.storage.protocol import map_files, storage_of
from native_reader.storage.store import StoreFiles
from native_reader.witness.contradiction import Contradiction, worst_first
from native_reader.witness.ends import after_the_end, before_the_begin
from native_reader.witness.entries import Sample, sample_of
from native_reader.witness.files import Files
from native_reader.witness.logged import logged_in
from native_reader.witness.names import beside_the_segments
from native_reader.witness.segments import look_at_segments
from native_reader.witness.settings import Settings

_log = logging.getLogger("native_reader")


@dataclass(frozen=True, slots=True)
class Witnesses:
    """What the quick look found. `bytes_read`: of the log."""

    contradictions: tuple[Contradiction, ...] = ()
    bytes_read: int = 0
    samples: tuple[Sample, ...] | None = None
    """What was looked at of each queue; None if none was."""


def look_at(
    store: StoreFiles, end: int, reserved_hours: int, max_read_rate: int | None = None, samples: Sequence[Sample] | None = None,
    *, reads_log: bool = True,
) -> Witnesses:  # fmt: skip
    """Look at a witness for each file of a store whose log ends at `end`.

    `samples`: of its queues, if they were looked at before. `reads_log`: whether a small log is read whole.
    """
    looks = look_at_segments(store.segments, end)
    samples = look_at_queues(store) if samples is None else samples
    files = Files(store, end, looks, samples)
    settings = Settings(store, samples, logged_in(store, end, looks, samples, max_read_rate, reads_log=reads_log))
    found = [
        *files.contradictions(),
        *beside_the_segments(store),
        *before_the_begin(store, end, samples, reserved_hours),
        *after_the_end(store, end, samples),
        *settings.contradictions(),
    ]
    return Witnesses(tuple(worst_first(found)), files.bytes_read, tuple(samples))


def look_at_queues(store: StoreFiles) -> list[Sample]:
    """A few entries of each file of each queue. Of queues with two copies, that which the broker uses."""
    copies, lowest = QueueCopies(store.queues), store.first_record
    found = map_files(lambda topic: list(_of_topic(topic, copies, lowest)), topics_in(store.queues, light=True))
    return [sample for of_topic in found for sample in of_topic]


def _of_topic(topic: Topic, copies: QueueCopies, lowest: int) -> Iterator[Sample]:
    try:
        for number in numbers_of(topic, strict=True):
            if copies.is_left_behind(topic, number):
                continue
            uri = f"{topic.uri}/{number}"
            listed = storage_of(uri).list(uri)
            sample = sample_of(queue_in(topic, number, listed), listed, lowest)
            if sample is not None:
                yield sample
    except (FileNotFoundError, NotADirectoryError):  # deleted meanwhile
        return
    except OSError as error:
        _log.warning("%s", error)
