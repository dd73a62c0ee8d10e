"""Looks at each file of a store once, and compares what they say of each other."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from native_reader.broker.unread import Unread
from native_reader.errors import DataLoss, warn
from native_reader.scan.progress import Meter, Watch
from native_reader.sentences import told, words_of
from native_reader.sides.copies import QueueCopies
from native_reader.sides.queues import Queue, Topic, numbers_of, queue_in, topics_in
from native_reader.storage.protocol import map_files, storage_of
from native_reader.storage.store import REFUSED, StoreFiles
from native_reader.witness.contradiction import Contradiction, worst_first
from native_reader.witness.ends import after_the_end, before_the_begin
from native_reader.witness.entries import Sample, sample_of
from native_reader.witness.files import Files
from native_reader.witness.index import wrong_index_files
from native_reader.witness.logged import logged_in
from native_reader.witness.names import beside_the_segments
from native_reader.witness.segments import look_at_segments
from native_reader.witness.settings import Settings

_WORK = 12 << 10
"""What a segment or topic counts as in the progress: about what is read of it."""
_log = logging.getLogger("native_reader")


@dataclass(frozen=True, slots=True)
class Witnesses:
    """What the quick look found. `bytes_read`: of the log."""

    contradictions: tuple[Contradiction, ...] = ()
    bytes_read: int = 0
    samples: tuple[Sample, ...] | None = None
    """What was looked at of each queue; None if none was."""
    unread: tuple[Unread, ...] = ()
    """Segments of which nothing is known."""
    foreign: frozenset[int] = frozenset()
    """Where the segments of another broker begin."""
    begun: Mapping[int, int] = field(default_factory=dict)
    """When the first record of a segment was stored, by the offset of the segment, as far as that was seen."""


def look_at(
    store: StoreFiles, end: int, reserved_hours: int, max_read_rate: int | None = None, samples: Sequence[Sample] | None = None,
    *, reads_log: bool = True, progress: Watch = False,
) -> Witnesses:  # fmt: skip
    """Look at a witness for each file of a store whose log ends at `end`.

    `samples`: of its queues, if they were looked at before. `reads_log`: whether a small log is read whole.
    """
    with Meter(progress, _WORK * len(store.segments)) as meter:
        looks = look_at_segments(store.segments, end, lambda: meter.add_here(_WORK, 1))
    samples = look_at_queues(store) if samples is None else samples
    files = Files(store, end, looks, samples)
    settings = Settings(store, samples, logged_in(store, end, looks, samples, max_read_rate, reads_log=reads_log))
    found = [
        *files.contradictions(),
        *wrong_index_files(store, end, files.doubted),
        *beside_the_segments(store),
        *before_the_begin(store, end, samples, reserved_hours),
        *after_the_end(store, end, samples),
        *settings.contradictions(),
    ]
    unread = tuple(each.unread for each in looks if each.unread is not None)
    foreign = frozenset() if files.queues_are_foreign else frozenset(files.foreign)
    begun = {look.segment.base: look.records[0][1].store_time for look in looks if look.records and look.records[0][0] == 0}
    return Witnesses(tuple(worst_first(found)), files.bytes_read, tuple(samples), unread, foreign, begun)


def look_at_queues(store: StoreFiles, progress: Watch = False) -> list[Sample]:
    """A few entries of each file of each queue. Of queues with two copies, that which the broker uses."""
    copies, lowest, topics = QueueCopies(store.queues), store.first_record, topics_in(store.queues, light=True)
    with Meter(progress, _WORK * len(topics)) as meter:
        found = map_files(lambda topic: list(_of_topic(topic, copies, lowest)), topics, lambda: meter.add_here(_WORK, 1))
    return [sample for of_topic in found for sample in of_topic]


def _of_topic(topic: Topic, copies: QueueCopies, lowest: int) -> Iterator[Sample]:
    try:
        for number in numbers_of(topic, strict=True):
            if copies.is_left_behind(topic, number):
                continue
            if (sample := _sample(topic, number, lowest)) is not None:
                yield sample
    except OSError as error:
        if error.errno in REFUSED:
            yield Sample(Queue(topic.name, 0, topic.batch, ()), problem=words_of(error), refused=(topic.uri,))
        elif not isinstance(error, FileNotFoundError | NotADirectoryError):  # deleted meanwhile
            warn(_log, told(error), is_loss=isinstance(error, DataLoss))


def _sample(topic: Topic, number: int, lowest: int) -> Sample | None:
    uri = f"{topic.uri}/{number}"
    try:
        listed = storage_of(uri).list(uri)
    except (FileNotFoundError, NotADirectoryError):  # deleted meanwhile
        return None
    except OSError as error:
        refused = (uri,) if error.errno in REFUSED else ()
        return Sample(Queue(topic.name, number, topic.batch, ()), problem=words_of(error), refused=refused)
    return sample_of(queue_in(topic, number, listed), listed, lowest)
