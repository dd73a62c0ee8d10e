"""Which records in a range of the log a predicate may match, and which it cannot, according to the consume queues.

An entry *claims* the bytes of its record. Bytes that no queue claims can be anything: records of deleted topics, records of
queues that were created again, or records not dispatched yet. Brokers 4.0 to 4.2 never dispatch prepared messages.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from native_reader import kernel
from native_reader.layout.kinds import DELAY_TOPIC, kind_of_topic
from native_reader.layout.origins import is_sent_back
from native_reader.layout.queue_entry import is_hash
from native_reader.layout.record import Mask, Numbers
from native_reader.predicate.outcomes import TRUE, Facts, Hashed, Known, Null, OneOf, Within, exactly, may_be_true, mentions, outcomes
from native_reader.predicate.tree import Predicate
from native_reader.sides.entries import Entries
from native_reader.sides.queues import Directories, Queue, QueueReader, Topic

OF_ENTRIES = ("queue_id", "queue_offset", "physical_offset", "record_size", "tags")
"""Columns that differ between the entries of one topic."""
ORIGINS = ("origin_topic", "origin_msg_id")
"""Columns that are null outside retry and DLQ topics."""
LISTED = frozenset(("topic", "queue_id", "physical_offset", "record_size", "inner_index", "store", "segment"))
"""Columns that the entries of ordinary queues determine.

Not the queue offset: a slave 5.5.0 puts messages of a topic that was created again at the end of the old queue.
"""
_SIZE_BITS = 31
_PACKED = 1 << 31
_ALWAYS_POSSIBLE = ("prepared", "rollback")
_OF_USERS = ("committed", "batch", "normal")


class QueueClaims(NamedTuple):
    """The entries of one queue."""

    queue: Queue
    entries: Entries


def facts_of_topic(name: str) -> dict[str, Known]:
    """Known facts about the rows of a topic. Queues do not have transaction flags, so the kinds that these decide stay possible."""
    kind = kind_of_topic(name)
    facts: dict[str, Known] = {"topic": exactly(name), "kind": OneOf((*_ALWAYS_POSSIBLE, *(_OF_USERS if kind is None else (kind,))))}
    return facts if is_sent_back(name) else facts | dict.fromkeys(ORIGINS, Null())


def may_exclude(predicate: Predicate, topic: Topic, facts: Facts) -> bool:
    """Whether the predicate can exclude entries of that topic."""
    return mentions(predicate, *OF_ENTRIES) or not may_be_true(predicate, {**facts, **facts_of_topic(topic.name)})


def may_want(predicate: Predicate, topic: Topic, facts: Facts) -> bool:
    """Whether the predicate may match entries of that topic."""
    return bool(may_be_true(predicate, {**facts, **facts_of_topic(topic.name)}))


def claims_within(
    directories: Directories,
    topics: Sequence[Topic],
    predicate: Predicate,
    facts: Facts,
    span: tuple[int, int, int],
    *,
    trust_tags: bool = True,
    with_batches: Collection[str] = (),
) -> tuple[list[QueueClaims], list[QueueClaims]]:
    """The claims of these topics' queues: those that the predicate may match, and those that it cannot.

    `span` is (low, high, end): records that start in `[low, high)` and end at or before `end`.
    `with_batches`: topics with inner batches, whose messages have their own tags.
    """
    low, high, end = span
    wanted: list[QueueClaims] = []
    unwanted: list[QueueClaims] = []
    for topic in topics:
        possible = may_want(predicate, topic, facts)
        for queue in directories.queues(topic):
            with QueueReader(queue) as reader:
                entries = reader.within(low, high, end)
            if not len(entries):
                continue
            if not possible:
                unwanted.append(QueueClaims(queue, entries))
                continue
            chosen = wanted_among(queue, entries, predicate, facts, trust_tags and queue.topic not in with_batches)
            wanted += [QueueClaims(queue, entries.where(chosen))] if chosen.any() else []
            unwanted += [QueueClaims(queue, entries.where(~chosen))] if not chosen.all() else []
    return wanted, unwanted


def wanted_among(queue: Queue, entries: Entries, predicate: Predicate, facts: Facts, trust_tags: bool = True) -> Mask:
    """Which entries of a queue the predicate may match."""
    if _is_certain(queue, predicate, facts):
        return np.ones(len(entries), np.bool_)
    chosen = may_be_true(predicate, {**facts, **_facts_of(queue, entries, trust_tags)})
    return np.broadcast_to(np.asarray(chosen, np.bool_), len(entries)).copy()


def certain_among(queue: Queue, entries: Entries, predicate: Predicate, facts: Facts) -> Mask:
    """Which entries of a queue the predicate certainly matches."""
    if _is_certain(queue, predicate, facts):
        return np.ones(len(entries), np.bool_)
    certain = outcomes(predicate, {**facts, **_facts_of(queue, entries, trust_tags=False)}) == TRUE
    return np.broadcast_to(np.asarray(certain, np.bool_), len(entries)).copy()


def _is_certain(queue: Queue, predicate: Predicate, facts: Facts) -> bool:
    """Whether the predicate certainly matches all entries of a queue, which need no look then."""
    return bool(np.all(outcomes(predicate, {**facts, **facts_of_topic(queue.topic), "queue_id": exactly(queue.queue_id)}) == TRUE))


def is_listed(columns: Collection[str] | None, predicate: Predicate) -> bool:
    """Whether entries have all columns that a read returns or has conditions on."""
    return columns is not None and {*columns, *(column.name for column in predicate.columns())} <= LISTED


def _facts_of(queue: Queue, entries: Entries, trust_tags: bool) -> dict[str, Known]:
    """Known facts about the rows of a queue's entries."""
    # The tags code is a time in the delay topic and means nothing for an inner batch. The newest entry may be half written.
    known = is_hash(entries.codes) if trust_tags and queue.topic != DELAY_TOPIC and not queue.batch else np.zeros(len(entries), np.bool_)
    known &= entries.offsets != entries.newest
    return {
        **facts_of_topic(queue.topic),
        "queue_id": exactly(queue.queue_id),
        "queue_offset": _numbers_of(entries) if queue.batch else exactly(entries.numbers),
        "physical_offset": exactly(entries.offsets),
        "record_size": exactly(entries.sizes),
        "tags": Hashed(entries.codes, known),
    }


def _numbers_of(entries: Entries) -> Within:
    """The possible queue offsets of batch queue entries: any offset if an entry does not lead to the next one.

    The last entry has no next one, so only its first queue offset is certain.
    """
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    low, high = entries.numbers.copy(), entries.numbers + entries.counts - 1
    broken = np.flatnonzero(high[:-1] + 1 != low[1:])
    high[-1:] = most
    for which in (broken, broken + 1):  # either of the two may be wrong
        low[which], high[which] = least, most
    return Within(low, high)


class Tiles(NamedTuple):
    """Claimed bytes in order: physical offsets, sizes, and which of them the predicate cannot match."""

    offsets: Numbers
    sizes: Numbers
    unwanted: Mask


class Left(NamedTuple):
    """What claims leave to read, as ascending positions: unclaimed bytes, and wanted records with their frames.

    `named`: the offsets of the wanted records, and `largest` the largest size of one; `last`: where the last claim ends.
    """

    starts: Numbers
    ends: Numbers
    named: Numbers
    last: int
    largest: int


def left_of(wanted: Sequence[QueueClaims], unwanted: Sequence[QueueClaims], low: int, begin: int, frame: int) -> Left:
    """What these claims leave to read from position `begin` on. `low`: the offset of a segment's first record, after its frame."""
    compiled = kernel.unclaimed_extents(_lists_of(wanted), _lists_of(unwanted), low, begin, frame)
    return numpy_left_of(wanted, unwanted, low, begin, frame) if compiled is None else Left(*compiled)


def tiles_of(wanted: Sequence[QueueClaims], unwanted: Sequence[QueueClaims], low: int) -> Tiles:
    """The claimed bytes, all at or after `low`. Equal claims count once, as wanted if any is; overlapping claims are all dropped."""
    compiled = kernel.merged_claims(_lists_of(wanted), _lists_of(unwanted), low)
    return numpy_tiles_of(wanted, unwanted, low) if compiled is None else Tiles(*compiled)


def _lists_of(claims: Sequence[QueueClaims]) -> kernel.Lists:
    return [claim.entries.as_claims() for claim in claims]


def numpy_left_of(wanted: Sequence[QueueClaims], unwanted: Sequence[QueueClaims], low: int, begin: int, frame: int) -> Left:
    """As `left_of`."""
    tiles = numpy_tiles_of(wanted, unwanted, low)
    starts = tiles.offsets - low
    ends = starts + tiles.sizes + frame
    borders = np.concatenate(([begin], ends))
    gaps = np.flatnonzero(starts > borders[:-1])
    names = np.flatnonzero(~tiles.unwanted)
    all_starts = np.concatenate((borders[gaps], starts[names]))
    order = np.argsort(all_starts, kind="stable")
    all_ends = np.concatenate((starts[gaps], ends[names]))
    return Left(all_starts[order], all_ends[order], tiles.offsets[names], int(borders[-1]), int(tiles.sizes[names].max(initial=0)))


def numpy_tiles_of(wanted: Sequence[QueueClaims], unwanted: Sequence[QueueClaims], low: int) -> Tiles:
    """As `tiles_of`."""
    claims = [*wanted, *unwanted]
    if not claims:
        return Tiles(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))
    offsets = np.concatenate([claim.entries.offsets for claim in claims])
    sizes = np.concatenate([claim.entries.sizes for claim in claims])
    marks = np.zeros(len(offsets), np.bool_)
    marks[sum(len(each.entries) for each in wanted) :] = True
    if int(offsets.max()) - low < _PACKED:  # sorting single integers is ten times as fast as sorting triples
        offsets, sizes, marks = _sorted(offsets, sizes, marks, low)
    else:
        order = np.lexsort((marks, sizes, offsets))
        offsets, sizes, marks = offsets[order], sizes[order], marks[order]
    kept = np.ones(len(offsets), np.bool_)
    kept[1:] = (offsets[1:] != offsets[:-1]) | (sizes[1:] != sizes[:-1])
    if not kept.all():
        offsets, sizes, marks = offsets[kept], sizes[kept], marks[kept]
    ends = offsets + sizes
    if (ends[:-1] > offsets[1:]).any():
        # We cannot tell which overlapping claim is false, so drop both.
        kept = np.ones(len(offsets), np.bool_)
        kept[1:] &= np.maximum.accumulate(ends)[:-1] <= offsets[1:]
        kept[:-1] &= ends[:-1] <= offsets[1:]
        offsets, sizes, marks = offsets[kept], sizes[kept], marks[kept]
    return Tiles(offsets, sizes, marks)


def _sorted(offsets: Numbers, sizes: Numbers, marks: Mask, low: int) -> tuple[Numbers, Numbers, Mask]:
    """Sort by offset, size and mark, packed into one integer each. In place, because fresh memory costs more than the sort."""
    packed = offsets
    packed -= low
    packed <<= _SIZE_BITS
    packed |= sizes
    unsigned = packed.view(np.uint64)
    unsigned <<= np.uint64(1)
    unsigned |= marks
    unsigned.sort(kind="stable")  # a merge sort: each queue is in order already
    marks = (packed & 1).astype(np.bool_)
    unsigned >>= np.uint64(1)
    np.bitwise_and(packed, (1 << _SIZE_BITS) - 1, out=sizes)
    packed >>= _SIZE_BITS
    packed += low
    return packed, sizes, marks
