"""Where the log begins and ends, against what queues, index, checkpoint and names say was there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from native_reader.broker.progress import checkpoint_of
from native_reader.layout.queue_entry import is_light
from native_reader.sides.queues import IF_DELETED, QueueReader
from native_reader.storage.store import PLAIN, StoreFiles, is_live
from native_reader.storage.strays import offset_in
from native_reader.text import names_of
from native_reader.verify.removed import QueueBegin, ran_too_short
from native_reader.witness.contradiction import FAR_ENTRIES, FIRST_GONE, PAST_END, Contradiction, contradiction
from native_reader.witness.entries import Lookup, Sample, Seen

_MOST = 5


def before_the_begin(store: StoreFiles, end: int, samples: Sequence[Sample], reserved_hours: int) -> Iterator[Contradiction]:
    """A first segment that is missing although it cannot have expired. `verify.removed` has the rule."""
    age = ran_too_short(store, map(_begin_of, filter(lambda sample: sample.queue.files, samples)), end, reserved_hours)
    if age is None:
        return
    older = [sample for sample in samples if any(entry.offset < store.begins for entry in sample.entries) and _counts(sample)]
    messages = sum(sample.bounds.expired for sample in older if sample.bounds is not None)
    names = names_of(sorted({sample.queue.topic for sample in older}), _MOST)
    yield contradiction(
        FIRST_GONE, "first gone", messages, offset=store.begins, messages=messages, names=names, minutes=age // 60_000, hours=reserved_hours
    )


def _begin_of(sample: Sample) -> QueueBegin:
    files = sample.queue.files
    offsets = [entry.offset for entry in sample.entries if entry.file == files[0].uri] or [-1]
    return QueueBegin(files[0].base, offsets[0], offsets[-1] if len(files) > 1 else -1)


def _counts(sample: Sample) -> bool:
    return not is_light(sample.queue.topic)


def after_the_end(store: StoreFiles, end: int, samples: Sequence[Sample]) -> Iterator[Contradiction]:
    """Queues that name records after the end of the log, and a checkpoint that is later than the last record."""
    if is_live(store.uri):
        return
    if goes_on_unread(store, end):
        return
    past = [sample for sample in samples if sample.newest > end and _counts(sample) and not sample.queue.batch]
    lost = {sample: _after(sample, end) for sample in past if not _was_discarded(store, sample)}
    names = names_of(sorted({sample.queue.topic for sample in lost}), _MOST)
    # In a lost end, each message has an entry in some queue, so the first one is near the end of what is left.
    if lost and min(offset for _, offset in lost.values()) - end > max((segment.size for segment in store.segments), default=0):
        yield contradiction(FAR_ENTRIES, "far entries", len(lost), queues=len(lost), names=names, offset=end)
    elif lost:
        messages = sum(count for count, _ in lost.values())
        yield contradiction(PAST_END, "entries past", messages, messages=messages, queues=len(lost), names=names, offset=end)
    elif all(segment.framing == PLAIN for segment in store.segments) and (by := _checkpoint_past(store, end)) is not None:
        yield contradiction(PAST_END, "checkpoint past", 0, checkpoint=by, offset=end)


def goes_on_unread(store: StoreFiles, end: int) -> bool:
    """Whether a file that is not read has what follows the end."""
    return any(offset_in(name) >= end for name in store.strays)


def _was_discarded(store: StoreFiles, sample: Sample) -> bool:
    """Whether the record of its last entry is after the end of the log: a broker cut the log before it."""
    last = sample.entries[-1:]
    seen = Lookup(store, 2**63 - 1).seen(last)
    return any(each in (Seen.AGREES, Seen.OTHER_TAG) for each in seen.values())


def _after(sample: Sample, end: int) -> tuple[int, int]:
    """How many entries of a queue name records at or after the end, and the offset of the first of them."""
    try:
        with QueueReader(sample.queue, IF_DELETED) as reader:
            stop = reader.bound()
            place = reader.first_at(end, 0, stop)
            if place >= stop:
                return 0, end
            (first,) = reader.slots(reader.number_at(place), reader.number_at(place) + 1)
            return max(0, sample.end - reader.number_at(place)), int(first["offset"])
    except OSError:
        return 0, end


def _checkpoint_past(store: StoreFiles, end: int) -> int | None:
    """The offset of the checkpoint that is after the end, if there is one."""
    checkpoint = checkpoint_of(store.uri)
    past = max(checkpoint.flushed, checkpoint.confirmed, checkpoint.dispatched)
    return past if past > end else None
