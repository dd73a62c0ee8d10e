"""Where the log begins and ends, against what queues, index, checkpoint and names say was there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from native_reader.broker.progress import checkpoint_of
from native_reader.layout.index_entry import INDEX_HEAD
from native_reader.layout.queue_entry import LIGHT_TOPIC
from native_reader.sides.index import index_files
from native_reader.sides.queues import IF_DELETED, QueueReader
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import PLAIN, StoreFiles, is_live
from native_reader.text import names_of
from native_reader.witness.contradiction import FIRST_GONE, PAST_END, Contradiction, contradiction
from native_reader.witness.entries import Lookup, Sample, Seen
from native_reader.witness.segments import SegmentLook

_HOUR_MS = 3_600_000
_MOST = 5


def before_the_begin(
    store: StoreFiles, looks: Sequence[SegmentLook], samples: Sequence[Sample], reserved_hours: int
) -> Iterator[Contradiction]:
    """A first segment that is missing although it cannot have expired.

    The segment before the log's begin ended when that one begins. A broker deletes it when it is older than `fileReservedTime`, and
    with it the queue and index files before the log. It also deletes it if the disk is almost full.
    """
    first = next((look.first for look in looks if look.first is not None), None)
    if first is None or store.begins == 0:
        return
    older = [sample for sample in samples if any(entry.offset < store.begins for entry in sample.entries)]
    last = max(*(look.last.store_time for look in looks if look.last is not None), checkpoint_of(store.uri).newest)
    age = last - first.store_time
    if not older or age >= reserved_hours * _HOUR_MS or (_was_cleaned(samples) and not _keeps_older_files(store, samples)):
        return
    messages = sum(sample.bounds.expired for sample in older if _counts(sample) and sample.bounds is not None)
    names = names_of(sorted({sample.queue.topic for sample in older if _counts(sample)}), _MOST)
    yield contradiction(
        FIRST_GONE, "first gone", messages, offset=store.begins, messages=messages, names=names, minutes=age // 60_000, hours=reserved_hours
    )


def _counts(sample: Sample) -> bool:
    return not sample.queue.topic.startswith(LIGHT_TOPIC)


def _was_cleaned(samples: Iterable[Sample]) -> bool:
    """Whether a broker deleted files of queues: then it deleted segments."""
    return any(sample.queue.files and sample.queue.files[0].base > 0 for sample in samples)


def _keeps_older_files(store: StoreFiles, samples: Iterable[Sample]) -> bool:
    """Whether a queue or index file names only records before the log: a broker deletes those with the segments."""
    for sample in samples:
        for file in sample.queue.files[:-1]:
            named = [entry.offset for entry in sample.entries if entry.file == file.uri]
            if named and max(named) < store.begins:
                return True
    for index in index_files(store.index, None):
        try:
            with storage_of(index.uri).open(index.uri) as stored:
                (head,) = stored.read_ranges([(0, INDEX_HEAD.size)])
        except OSError:
            continue
        if len(head) == INDEX_HEAD.size and 0 < INDEX_HEAD.unpack(head)[3] < store.begins:
            return True
    return False


def after_the_end(store: StoreFiles, end: int, looks: Sequence[SegmentLook], samples: Sequence[Sample]) -> Iterator[Contradiction]:
    """Queues that name records after the end of the log, and a checkpoint that is later than the last record."""
    if is_live(store.uri) or any(segment.framing != PLAIN for segment in store.segments):
        return
    past = [sample for sample in samples if sample.newest > end and _counts(sample) and not sample.queue.batch]
    lost = [sample for sample in past if not _was_discarded(store, sample)]
    if lost:
        messages = sum(_after(sample, end) for sample in lost)
        names = names_of(sorted({sample.queue.topic for sample in lost}), _MOST)
        yield contradiction(PAST_END, "entries past", messages, messages=messages, queues=len(lost), names=names, offset=end)
    elif (by := _checkpoint_past(store, end)) is not None:
        yield contradiction(PAST_END, "checkpoint past", 0, checkpoint=by, offset=end)


def _was_discarded(store: StoreFiles, sample: Sample) -> bool:
    """Whether the record of its last entry is after the end of the log: a broker cut the log before it."""
    last = sample.entries[-1:]
    seen = Lookup(store, 2**63 - 1).seen(last)
    return any(each in (Seen.AGREES, Seen.OTHER_TAG) for each in seen.values())


def _after(sample: Sample, end: int) -> int:
    """How many entries of a queue name records at or after the end."""
    try:
        with QueueReader(sample.queue, IF_DELETED) as reader:
            stop = reader.bound()
            place = reader.first_at(end, 0, stop)
            return max(0, sample.end - reader.number_at(place)) if place < stop else 0
    except OSError:
        return 0


def _checkpoint_past(store: StoreFiles, end: int) -> int | None:
    """The offset of the checkpoint that is after the end, if there is one."""
    checkpoint = checkpoint_of(store.uri)
    past = max(checkpoint.flushed, checkpoint.confirmed, checkpoint.dispatched)
    return past if past > end else None
