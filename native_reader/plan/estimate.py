"""Chooses how to read a store for a predicate: through its consume queues or not, from an estimate of what either costs.

Reads little: topic names, and for the wanted topics the ends of their queues and a few entries. The result never changes
which rows are returned, with one exception: `trust` skips records that the wanted queues do not name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from math import exp
from typing import Any, NamedTuple

import numpy as np

from native_reader.layout.record import Numbers
from native_reader.plan.claims import ORIGINS, is_listed, may_exclude, may_want, wanted_among
from native_reader.plan.ways import AUTO, SCAN, TRUST
from native_reader.predicate.needles import needles_of
from native_reader.predicate.outcomes import Facts, NoneOf, exactly, may_be_true, mentions
from native_reader.predicate.tree import EVERYTHING, Predicate
from native_reader.sentences import Said, say
from native_reader.sides.queues import Queue, QueueReader, Topic, queues_of, topics_in
from native_reader.storage.protocol import storage_of
from native_reader.storage.rocksdb_queues import why_unreadable
from native_reader.storage.store import Segment, StoreFiles
from native_reader.tuning import TUNING

_NARROWED_BY_QUEUES = ("topic", "kind", *ORIGINS, "queue_id", "queue_offset", "record_size", "tags")
"""A condition on one of these columns makes queues useful. A physical offset needs none."""

SEARCHED = Said("search costs less")
OF_ENTRIES = Said("of all entries")
_MOST_TOPICS = 64
_SAMPLES, _SAMPLED = 4, 32
_READ_WHOLE = 4096
_CLAIMS_SHARE = 0.02
"""The entries of all other queues, as a rough share of the log."""
_SIDE_BY_SIDE = 16
_END = 2**63 - 1
_RECORD, _ENTRY = 100, 240
"""What a scan spends on a record besides its bytes, and what the entry of any queue costs; in bytes as `Costs` has them."""
_CALLS_PER_TOPIC = 4 * 45
"""Reads: a few queues, with two binary searches each."""


class Costs(NamedTuple):
    """What a part of a log costs by scan and by queue. The unit is what a scan spends on one byte, with the page cache warm."""

    scan: int
    queues: int

    @property
    def share(self) -> float:
        """The costs by queue as a share of those of a scan."""
        return self.queues / max(1, self.scan)

    @property
    def favor_scan(self) -> bool:
        """Whether queues save too little, or nothing."""
        return self.share > TUNING.most_share


def costs_of(uri: str, size: int, records: float, topics: int, *, ranges: float, fetched: float) -> Costs:
    """The costs of a part of a log with that many bytes and records, the queues of all topics included.

    `ranges`: how many ranges are left to fetch, if gaps up to `range_costs` of the storage are fetched with them. `fetched`: their bytes.
    """
    storage = storage_of(uri)
    by_queue = topics * storage.call_costs * _CALLS_PER_TOPIC + records * _ENTRY + ranges * storage.range_costs
    return Costs(int(size + records * _RECORD), int(fetched + TUNING.queue_costs * by_queue))


def costs_of_positions(uri: str, size: int, records: float, wanted: float, fetched: float) -> Costs:
    """The same for `wanted` records of `fetched` bytes in all, whose positions are known without queues."""
    ranges, fetched = _scattered(uri, size, wanted, fetched)
    by_position = ranges * storage_of(uri).range_costs + wanted * _RECORD
    return Costs(int(size + records * _RECORD), int(fetched + TUNING.queue_costs * by_position))


def _scattered(uri: str, size: int, records: float, wanted: float) -> tuple[float, float]:
    """The ranges to fetch for that many records of `wanted` bytes in all, at random places of `size` bytes; and the bytes of all ranges."""
    if records < 1:
        return 0.0, 0.0
    gap = max(1.0, (size - wanted) / records)
    reach = storage_of(uri).range_costs / gap
    apart = exp(-reach)
    return records * apart, wanted + records * gap * (1 - apart * (1 + reach))


@dataclass(frozen=True, slots=True)
class AccessPath:
    """How one store will be read, and why; with the approximate number of wanted entries and bytes."""

    access: str = SCAN
    why: Said | None = None
    share: float = 1.0
    queues: int = 0
    entries: int = 0
    wanted: int = 0
    bytes: int = 0
    life: tuple[int, int] | None = None
    """The offset range of the records in the wanted queues."""
    touched: frozenset[int] | None = None
    """The first offsets of the segments that the wanted entries point to, if known."""
    topics: int = 0
    """The number of topics that have queues, if these are used."""
    costs: Costs | None = None
    """What was estimated; None if there was nothing to choose."""
    listed: bool = False
    """Whether rows are made from entries, as `ByQueues` has it."""

    def touches(self, base: int, end: int) -> bool:
        """Whether a read that trusts the queues must look at that segment."""
        if self.access != TRUST or self.life is None:
            return True
        return base in self.touched if self.touched is not None else self.life[0] < end and base < self.life[1]


@dataclass(frozen=True, slots=True)
class _Sample:
    """The result of sampling one queue."""

    entries: int
    share: float
    size: float
    first: int
    last: int
    offsets: Numbers | None


def is_too_small(uri: str, size: int, topics: int) -> bool:
    """Whether this part of a segment is read faster than the queues of this many topics are searched for it."""
    return costs_of(uri, size, 0, topics, ranges=0, fetched=0).favor_scan


def choose_access(store: StoreFiles, predicate: Predicate, access: str, end: int, columns: Collection[str] | None = None) -> AccessPath:
    """How to read a store whose log ends at `end`. `columns`: those that rows need; None if each record must be read."""
    if access == SCAN:
        return AccessPath(why=Said("as scan"))
    listed = access == TRUST and is_listed(columns, predicate)
    is_narrowed = mentions(predicate, *_NARROWED_BY_QUEUES)
    if not is_narrowed and not listed:
        return AccessPath(why=Said("no conditions" if predicate == EVERYTHING else "no narrow condition"))
    topics = topics_in(store.queues)
    if not topics:
        return AccessPath(why=_why_none(store))
    if not is_narrowed:
        return AccessPath(AUTO, OF_ENTRIES, _CLAIMS_SHARE, topics=len(topics), listed=True)
    path = _by_topics(store, predicate, access, end, topics)
    return replace(path, listed=listed) if path.access == TRUST else path


def _by_topics(store: StoreFiles, predicate: Predicate, access: str, end: int, topics: Sequence[Topic]) -> AccessPath:
    """How to read a store for a predicate that queues may narrow. `topics`: those with queues."""
    facts = {"store": exactly(store.uri)}
    if access == AUTO and _is_searched(store, predicate, {**facts, "topic": NoneOf(tuple(topic.name for topic in topics))}):
        return AccessPath(why=SEARCHED)
    wanted = [topic for topic in topics if may_want(predicate, topic, facts)]
    if access == AUTO and not any(may_exclude(predicate, topic, facts) for topic in topics):
        return AccessPath(why=Said("any topic"))
    if not wanted:
        none: dict[str, Any] = {"life": (0, 0), "touched": frozenset(), "topics": len(topics)}
        return AccessPath(access, Said("no queue matches"), _CLAIMS_SHARE, **none)
    if len(wanted) > _MOST_TOPICS:
        return AccessPath(access, say("many topics", topics=len(wanted)), topics=len(topics))
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as threads:
        queues = list(chain.from_iterable(threads.map(queues_of, wanted)))
        samples = [sample for sample in threads.map(lambda queue: _sampled(queue, predicate, facts), queues) if sample is not None]
    segments = [segment for segment in store.segments if segment.base < end]
    return replace(_chosen(samples, segments, end, access, len(topics)), queues=len(queues), topics=len(topics))


def _is_searched(store: StoreFiles, predicate: Predicate, elsewhere: Facts) -> bool:
    """Whether all of the log is searched for bytes, because rows may be in topics without queues, too. Only where reading is cheap."""
    is_cheap = TUNING.queue_costs > 0 and not storage_of(store.uri).is_slow
    return is_cheap and needles_of(predicate) is not None and bool(may_be_true(predicate, elsewhere))


def _chosen(samples: Sequence[_Sample], segments: Sequence[Segment], end: int, access: str, topics: int) -> AccessPath:
    entries = sum(sample.entries for sample in samples)
    rows = sum(sample.entries * sample.share for sample in samples)
    size = int(sum(sample.entries * sample.share * sample.size for sample in samples))
    life = (min(sample.first for sample in samples), max(sample.last for sample in samples) + 1) if samples else (0, 0)
    costs = _estimated(segments, end, topics, samples) if access == AUTO else None
    largest = max((segment.size for segment in segments), default=0)
    # If each part is too small, so it says itself: how much may match is not the reason.
    if costs is not None and costs.favor_scan and not is_too_small(segments[0].uri, largest, topics):
        return AccessPath(why=say("much may match", share=f"{size / max(1, sum(segment.size for segment in segments)):.0%}"), costs=costs)
    touched = None
    if segments and all(sample.offsets is not None for sample in samples):
        bases = np.array([segment.base for segment in segments], np.int64)
        offsets = np.concatenate([sample.offsets for sample in samples if sample.offsets is not None] or [np.empty(0, np.int64)])
        touched = frozenset(bases[np.unique(np.searchsorted(bases, offsets[offsets >= bases[0]], side="right") - 1)].tolist())
    share = min(1.0, size / max(1, sum(segment.size for segment in segments)) + (_CLAIMS_SHARE if access == AUTO else 0.0))
    return AccessPath(access, share=share, entries=entries, wanted=round(rows), bytes=size, life=life, touched=touched, costs=costs)


def _estimated(segments: Sequence[Segment], end: int, topics: int, samples: Sequence[_Sample]) -> Costs | None:
    """The costs of a whole log. Records of other topics are taken to be as large as those in the wanted queues."""
    written = sum(min(segment.size, end - segment.base) for segment in segments)
    entries = sum(sample.entries for sample in samples)
    if not written or not entries:
        return None
    records = written / max(1.0, sum(sample.entries * sample.size for sample in samples) / entries)
    rows = sum(sample.entries * sample.share for sample in samples)
    wanted = sum(sample.entries * sample.share * sample.size for sample in samples)
    ranges, fetched = _scattered(segments[0].uri, written, rows, wanted)
    return costs_of(segments[0].uri, written, records, topics * len(segments), ranges=ranges, fetched=fetched)


def _sampled(queue: Queue, predicate: Predicate, facts: Facts) -> _Sample | None:
    with QueueReader(queue) as reader:
        count = reader.first_at(_END, 0, reader.units)
        if count <= _READ_WHOLE:
            pieces = [reader.read(0, count)]
        else:
            begins = np.linspace(0, count - _SAMPLED, _SAMPLES, dtype=np.int64).tolist()
            pieces = [reader.read(begin, begin + _SAMPLED) for begin in begins]
    pieces = [entries for entries in pieces if len(entries)]
    if not pieces:
        return None
    pieces[-1] = replace(pieces[-1], newest=int(pieces[-1].offsets[-1]))
    sampled = sum(map(len, pieces))
    wanted = [wanted_among(queue, entries, predicate, facts) for entries in pieces]
    return _Sample(
        count,
        sum(int(each.sum()) for each in wanted) / sampled,
        float(np.concatenate([entries.sizes for entries in pieces]).mean()),
        int(pieces[0].offsets[0]),
        int(pieces[-1].offsets[-1]),
        np.concatenate([entries.offsets[each] for entries, each in zip(pieces, wanted, strict=True)]) if count <= _READ_WHOLE else None,
    )


def _why_none(store: StoreFiles) -> Said:
    """Why there are no readable queues."""
    why = next((why for database in store.databases if (why := why_unreadable(database)) is not None), None)
    return Said("no consume queues") if why is None else say("queues unreadable", why=why)
