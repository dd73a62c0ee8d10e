"""Plans: which bytes a read will look at and by which access path, cut into splits, all decided before the read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from native_reader.errors import DataLoss, OptionError
from native_reader.layout.record import ENTRY_HEAD
from native_reader.plan.beside import Sides
from native_reader.plan.estimate import AccessPath
from native_reader.plan.keys import KeyLookup
from native_reader.plan.lost import CheckedEnd, Lost, Missing, gap_in
from native_reader.plan.planning import Planning
from native_reader.plan.split import SPLIT_COSTS, Split, SplitLog
from native_reader.plan.summarized import NOT_SUMMARIZED, Covered, Summarized
from native_reader.plan.tier_log import TierLog
from native_reader.plan.times import Times
from native_reader.plan.ways import ALONE, AUTO, SCAN, SCANNED, SEEN, SUMMARY, ByQueues, BySummary, Places, SeenBefore, Way
from native_reader.predicate.outcomes import Facts, Within, borders_of, exactly, may_be_true, mentions
from native_reader.predicate.tree import EVERYTHING, Column, Compare, Or, Predicate, all_of
from native_reader.sentences import Said, say
from native_reader.storage.store import Segment, StoreFiles
from native_reader.tuning import TUNING

_MOST_FIRST = 64
_MOST_SPLITS = 1_000_000
_SMALL_SPLIT = 64 << 10
_MOST_SMALL_SPLITS = 10_000


class Wanted(NamedTuple):
    """What a read wants: the condition that its rows fulfil, and the same extended with the offsets where such rows may be."""

    rows: Predicate = EVERYTHING
    places: Predicate = EVERYTHING


EVERY_ROW = Wanted()


@dataclass(frozen=True, slots=True)
class Plan:
    """What a read will do: its splits in offset order, store by store, and what it skips and why."""

    splits: tuple[Split, ...]
    ends: tuple[tuple[str, int], ...]
    wanted: Wanted
    skipped: tuple[tuple[Segment, str], ...] = ()
    unwritten: tuple[Segment, ...] = ()
    gaps: tuple[Missing, ...] = ()
    """Offsets that no file holds, if the read allows them."""
    partition_bytes: int = 128 << 20
    """The most bytes to read in one task."""
    ways: tuple[tuple[str, AccessPath], ...] = ()
    """How each store will be read, and why."""
    lookups: tuple[tuple[str, KeyLookup], ...] = ()
    """The index lookup of each store for the predicate's keys."""
    summaries: tuple[tuple[str, Summarized], ...] = ()
    """What the summary covers of each store."""
    stale: tuple[tuple[str, int], ...] = ()
    """The bytes of old records after the end of each log, left by a broker that truncated it."""
    lost: tuple[Lost, ...] = ()
    """What is missing after the end of each log, if the read allows it."""

    @property
    def missing(self) -> tuple[Missing, ...]:
        """Offsets that the logs should hold but do not: between their files, and after their ends."""
        after = (lost.missing for lost in self.lost)
        return (*(gap for gap in self.gaps if gap.start < gap.stop), *(missing for missing in after if missing is not None))

    @property
    def bytes_to_scan(self) -> int:
        """The bytes in splits that are scanned without queues."""
        return sum(split.written for split in self.splits if split.access == SCAN)

    @property
    def bytes_to_prune(self) -> int:
        """The bytes in splits that use queues to skip records."""
        return sum(split.written for split in self.splits if split.access != SCAN)

    @property
    def bytes_skipped(self) -> int:
        """The bytes in segments, or parts of segments, that cannot match."""
        read: dict[Segment, int] = {}
        for split in self.splits:
            read[split.segment] = read.get(split.segment, 0) + len(split)
        return sum(segment.size for segment, _ in self.skipped) + sum(segment.size - size for segment, size in read.items())

    def packed(self) -> list[tuple[Split, ...]]:
        """The splits as tasks. Small neighbours share a task, because a task costs more than a small split."""
        tasks: list[list[Split]] = []
        room = 0
        for split in self.splits:
            if not tasks or split.work > room:
                tasks.append([])
                room = self.partition_bytes
            tasks[-1].append(split)
            room -= split.work
        return [tuple(task) for task in tasks]


@dataclass(frozen=True)
class StoreRead:
    """What planning knows about one store: where its log ends, and what its queues, index and store times say."""

    store: StoreFiles
    end: int
    start: int | None = None
    """Where the read starts, a record boundary; None: where the log starts."""
    stale: int = 0
    """The bytes of old records after `end`."""
    path: AccessPath = field(default_factory=AccessPath)
    lookup: KeyLookup | None = None
    times: Times = field(default_factory=Times)
    lost: Lost | None = None
    end_follows_record: bool = True
    places: Places | None = None
    """The only records to read, if an earlier pass saw them."""
    sides: Sides | None = None
    """What to compare the records with."""
    summarized: Summarized = NOT_SUMMARIZED
    starts: tuple[int, ...] = ()
    """Offsets at which records certainly start, ascending."""
    tier: TierLog | None = None
    """Of the log of a queue in a tier: that queue."""

    def gaps(self) -> list[tuple[int, int]]:
        """The ranges of offsets from `start` to `end` that no file covers."""
        reached = [self.store.begins if self.start is None else self.start, *(segment.end for segment in self.store.segments)]
        begins = [*(segment.base for segment in self.store.segments), self.end]
        return [(one, other) for one, other in zip(reached, begins, strict=True) if one < min(other, self.end)]

    def missing(self) -> list[Missing]:
        """These ranges, with what is known of each."""
        return [gap_in(self.store, start, min(stop, self.end)) for start, stop in self.gaps()]

    def whole(self, segment: Segment) -> Split:
        """A segment as one split, from `start` on."""
        start, end = max(0, (self.start or 0) - segment.base), max(0, min(self.end - segment.base, segment.size))
        # By queues, a packed segment would be unpacked again and again.
        way = SCANNED if segment.is_packed and self.path.access == AUTO else self._way
        return Split(self.log, segment, start, segment.size, end, way, border=start)

    @cached_property
    def log(self) -> SplitLog:
        """What all its splits have in common."""
        return SplitLog(self.store.uri, self.store.consume_queue, self.stale, self.end_follows_record, self.sides, self.tier)

    @cached_property
    def _way(self) -> Way:
        path = self.path
        return SCANNED if path.access == SCAN else ByQueues(self.store.queues, path.share, path.access, path.listed)


def whole_reads(stores: Sequence[StoreFiles], ends: Mapping[str, CheckedEnd]) -> list[StoreRead]:
    """A read of each log from its start to its end."""
    checked = ((store, ends[store.uri]) for store in stores)
    return [
        StoreRead(store, at.offset, stale=at.stale, lost=at.lost, end_follows_record=at.follows_record, starts=at.starts)
        for store, at in checked
    ]


def make_plan(reads: Sequence[StoreRead], predicate: Predicate, planning: Planning) -> Plan:
    """Cut logs into splits, without the parts that cannot match. A pure function that reads no files."""
    lookups = {read.store.uri: read.lookup for read in reads if read.lookup is not None}
    parts = _Parts(Wanted(predicate, places_of(predicate, lookups)))
    for read in reads:
        parts.add(read)
    if parts.gaps and planning.fail_on_data_loss:
        raise _loss(parts.gaps)
    most, is_spread = planning.max_partition_bytes, planning.min_partitions > 1
    _check_number(sum(_pieces(split, most, split.share) for split in parts.splits), most)
    if is_spread:
        most = max(1, min(most, sum(split.written for split in parts.splits) // planning.min_partitions))
    splits = [piece for split in parts.splits for piece in cut(split, most, 1.0 if is_spread else split.share)]
    if not planning.in_order:
        hits = {uri: frozenset(lookup.hits) for uri, lookup in lookups.items()}
        splits.sort(key=lambda split: not _is_hit(split, hits))
    return Plan(
        splits=tuple(splits),
        ends=tuple((read.store.uri, read.end) for read in reads),
        wanted=parts.wanted,
        skipped=tuple(parts.skipped),
        unwritten=tuple(parts.unwritten),
        gaps=tuple(parts.gaps),
        partition_bytes=most,
        ways=tuple((read.store.uri, read.path) for read in reads),
        lookups=tuple(lookups.items()),
        summaries=tuple((read.store.uri, read.summarized) for read in reads if read.summarized != NOT_SUMMARIZED),
        stale=tuple((read.store.uri, read.stale) for read in reads if read.stale),
        lost=tuple(read.lost for read in reads if read.lost is not None),
    )


class _Parts:
    """The parts of all logs: what will be read, and what not and why."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self._inside = "physical offset" if mentions(wanted.rows, "physical_offset") else "key"
        self.splits: list[Split] = []
        self.skipped: list[tuple[Segment, str]] = []
        self.unwritten: list[Segment] = []
        self.gaps: list[Missing] = []

    def add(self, read: StoreRead) -> None:
        """Add the parts of one store."""
        store = read.store
        spans: list[tuple[int, int]] = []
        if store.segments:
            spans = spans_of(self.wanted.places, read.log.facts, store.begins, store.segments[-1].end + ENTRY_HEAD)
        self.gaps += (gap for gap in read.missing() if read.start is not None or _within(spans, gap.start, gap.stop))
        for segment in store.segments:
            split = read.whole(segment)
            if split.end <= split.start:
                self.unwritten.append(segment)
            elif (covered := read.summarized.segments.get(segment.base)) is not None:
                self._add_covered(split, covered)
            elif why := _why_not(self.wanted.rows, split, read.times, read.path):
                self.skipped.append((segment, why))
            elif read.places is not None:
                self._add_seen(split, read.places)
            else:
                self._add_parts(split, read, spans)

    def _add_parts(self, split: Split, read: StoreRead, spans: Sequence[tuple[int, int]]) -> None:
        parts = [split] if split.segment.is_packed else read.times.parts(split, self.wanted.rows)
        hits = () if read.lookup is None else read.lookup.hits
        pieces = [piece for part in parts for piece in _narrowed(part, spans, hits)]
        self.splits += [_nearer(piece, read.starts) for piece in pieces]
        if not pieces:
            self.skipped.append((split.segment, self._inside if parts else "store time"))

    def _add_covered(self, split: Split, covered: Covered) -> None:
        """Add a segment that a summary covers."""
        if covered.access in (SUMMARY, ALONE):
            self.splits.append(replace(split, way=BySummary(covered.uri, covered.bytes / split.written, covered.places, covered.access)))
        elif covered.access == SCAN:
            self.splits.append(replace(split, way=SCANNED))
        else:
            self.skipped.append((split.segment, "summary"))

    def _add_seen(self, split: Split, places: Places) -> None:
        """Add the records of a segment that an earlier pass saw."""
        base = split.segment.base + split.segment.frame
        records, size = places.within(base + split.start, base + split.end)
        if records:
            self.splits.append(replace(split, way=SeenBefore(records, size / split.written)))
        else:
            self.skipped.append((split.segment, "an earlier pass"))


def _is_hit(split: Split, hits: Mapping[str, frozenset[int]]) -> bool:
    """Whether a split is one record that an index names."""
    return len(split) == 1 and split.segment.base + split.segment.frame + split.start in hits.get(split.store, ())


def places_of(predicate: Predicate, lookups: Mapping[str, KeyLookup]) -> Predicate:
    """One predicate for all stores, because each store has its own index."""
    if not lookups:
        return predicate
    return Or(tuple(all_of((Compare(Column("store"), "=", uri), each.predicate)) for uri, each in lookups.items()))


def spans_of(predicate: Predicate, facts: Facts, low: int, high: int, column: str = "physical_offset") -> list[tuple[int, int]]:
    """The ranges within `[low, high)` in which a matching row may start, with neighbours merged. `column`: another kind of offset."""
    cuts = np.array([low, *(border for border in borders_of(predicate, column) if low < border < high), high], np.int64)
    chosen = np.broadcast_to(may_be_true(predicate, {**facts, column: Within(cuts[:-1], cuts[1:] - 1)}), len(cuts) - 1)
    edges = cuts[np.flatnonzero(np.diff(chosen.astype(np.int8), prepend=0, append=0))].tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _within(spans: Sequence[tuple[int, int]], low: int, high: int) -> list[tuple[int, int]]:
    """The parts of those ordered spans that are inside `[low, high)`."""
    first = bisect_right(spans, low, key=lambda span: span[1])
    end = bisect_left(spans, high, key=lambda span: span[0])
    return [(max(low, start), min(high, stop)) for start, stop in spans[first:end]]


def _narrowed(split: Split, spans: Sequence[tuple[int, int]], first: Sequence[int]) -> list[Split]:
    """The parts of a split that may match. Offsets in `first` get their own splits, if there are few."""
    base = split.segment.base + split.segment.frame  # a record's own offset is after its frame
    spans = _within(spans, base + split.start, base + split.stop)
    if not spans:
        return []
    if split.segment.is_packed:  # each part would unpack all before it
        spans, first = [(spans[0][0], spans[-1][1])], ()
    near: list[tuple[int, int]] = []
    for start, stop in spans:
        if near and start - near[-1][1] < SPLIT_COSTS and len(spans) > _MOST_FIRST:
            near[-1] = near[-1][0], stop
        else:
            near.append((start, stop))
    if 0 < len(first) <= _MOST_FIRST:
        cuts = sorted({cut for offset in first for cut in (offset, offset + 1)})
        near = [piece for span in near for piece in pairwise([span[0], *(cut for cut in cuts if span[0] < cut < span[1]), span[1]])]
    begins, stops, certain = {start for start, _ in near}, {stop for _, stop in near}, set(first)
    return [
        _part(
            split if start not in certain else replace(split, border=start - base),
            start - base,
            stop - base,
            alone=stop not in begins and stop < base + split.stop,
            follows=start in stops and start not in certain,
        )
        for start, stop in near
        if start - base < split.end
    ]


def _nearer(split: Split, starts: Sequence[int]) -> Split:
    """A split whose first record is searched from the nearest of these certain starts."""
    which = bisect_right(starts, split.segment.base + split.start)
    near = starts[which - 1] - split.segment.base if which else 0
    return replace(split, border=near) if near > split.border else split


def _part(split: Split, start: int, stop: int, *, alone: bool, follows: bool) -> Split:
    if (start, stop) == (split.start, split.stop):
        return split
    part = replace(split, start=start, stop=stop, alone=alone, follows=follows)
    return replace(part, way=SCANNED) if part.access == AUTO and part.written <= TUNING.small_part else part


def _why_not(predicate: Predicate, split: Split, times: Times, path: AccessPath) -> str | None:
    """Why a segment cannot match; None if it can."""
    segment, facts = split.segment, split.log.facts
    if not may_be_true(predicate, facts):
        return "store" if split.log.tier is None else "queue"
    facts |= {"segment": exactly(segment.name)}
    if not may_be_true(predicate, facts):
        return "segment"
    if not may_be_true(predicate, {**facts, **times.facts(segment)}):
        return "store time"
    return None if path.touches(segment.base, segment.end) else "queue"


def cut(split: Split, most: int, share: float) -> list[Split]:
    """Even pieces with at most `most` bytes to read each; the last one extends to the end of the split."""
    pieces = _pieces(split, most, share)
    if pieces == 1:
        return [split]
    cuts = [split.start + split.written * piece // pieces for piece in range(pieces)]
    stops = [*cuts[1:], split.stop]
    return [
        replace(split, start=start, stop=stop, alone=split.alone and stop == split.stop, follows=split.follows or start != split.start)
        for start, stop in zip(cuts, stops, strict=True)
    ]


def _pieces(split: Split, most: int, share: float) -> int:
    # If its records are known, it needs little memory as a whole; if it is packed, each piece would unpack all before it.
    if split.access in (SEEN, SUMMARY, ALONE) or split.segment.is_packed:
        return 1
    return max(1, -(-int(split.written * share) // most))


def _check_number(splits: int, most: int) -> None:
    """Refuse a plan that a scheduler or the memory does not bear. Ranges of a few bytes are for small stores."""
    limit = _MOST_SPLITS if most >= _SMALL_SPLIT else _MOST_SMALL_SPLITS
    if splits > limit:
        enough = max(_SMALL_SPLIT, 1 << (most * splits // _MOST_SPLITS).bit_length())
        raise OptionError(say("many splits", most=most, splits=splits, limit=limit, enough=enough))


def _loss(gaps: Sequence[Missing]) -> DataLoss:
    first = gaps[0]
    why = first.back or Said("no segment there")
    more = say("and more gaps", ranges=len(gaps) - 1) if len(gaps) > 1 else Said("nothing")
    return DataLoss(
        say("gap in log", store=first.store, start=first.start, stop=first.stop, bytes=first.stop - first.start, why=why, more=more)
    )
