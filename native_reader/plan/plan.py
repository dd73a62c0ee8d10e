"""Plans: which bytes a read will look at and by which access path, cut into splits, all decided before the read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from native_reader.errors import DataLoss, option_name
from native_reader.layout.record import ENTRY_HEAD
from native_reader.plan.estimate import AUTO, SCAN, Estimate
from native_reader.plan.keys import NOT_WORTH_ASKING, Located
from native_reader.plan.split import SPLIT_COSTS, Split
from native_reader.plan.times import Times
from native_reader.predicate.outcomes import Facts, Within, exactly, may_be_true, mentions
from native_reader.predicate.tree import EVERYTHING, Column, Compare, In, Or, Predicate, all_of, leaves
from native_reader.storage.store import Segment, StoreFiles

_MOST_FIRST = 64
_FOLLOWS: Final[dict[str, Any]] = {"follows": True, "queue": ""}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a read will do: its splits in offset order, store by store, and what it skips and why."""

    splits: tuple[Split, ...]
    ends: tuple[tuple[str, int], ...]
    predicate: Predicate
    skipped: tuple[tuple[Segment, str], ...] = ()
    unwritten: tuple[Segment, ...] = ()
    gaps: tuple[tuple[str, int, int], ...] = ()
    """Ranges `(store, start, stop)` that no file holds, if the read allows that."""
    partition_bytes: int = 128 << 20
    """The most bytes to read in one task."""
    ways: tuple[tuple[str, Estimate], ...] = field(default=())
    """How each store will be read, and why."""
    pruning: Predicate = EVERYTHING
    """The predicate, extended with the offsets where its rows may be."""
    lookups: tuple[tuple[str, Located], ...] = field(default=())
    """The index lookup of each store for the predicate's keys."""
    stale: tuple[tuple[str, int], ...] = field(default=())
    """The bytes of old records after the end of each log, left by a broker that truncated it."""

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


def plan(
    stores: Sequence[StoreFiles],
    ends: Mapping[str, int],
    predicate: Predicate,
    *,
    max_partition_bytes: int,
    min_partitions: int = 1,
    fail_on_data_loss: bool = True,
    times: Mapping[str, Times] | None = None,
    estimates: Mapping[str, Estimate] | None = None,
    lookups: Mapping[str, Located] | None = None,
    starts: Mapping[str, int] | None = None,
    stale: Mapping[str, int] | None = None,
) -> Plan:
    """Cut the logs of those stores, which end at `ends`, into splits, without the parts that cannot match.

    A pure function that reads no files. `starts`: where the read starts in each log, a record boundary. `stale`: the bytes
    of old records after the end of each log.
    """
    whole: list[Split] = []
    skipped: list[tuple[Segment, str]] = []
    unwritten: list[Segment] = []
    gaps: list[tuple[str, int, int]] = []
    ways = tuple((store.uri, (estimates or {}).get(store.uri, Estimate())) for store in stores)
    lookups = lookups or {}
    pruning = pruning_of(predicate, lookups)
    for store, (uri, way) in zip(stores, ways, strict=True):
        known, queues = (times or {}).get(uri, Times()), () if way.access == SCAN else store.queues
        spans = spans_of(pruning, {"store": exactly(uri)}, store.min_offset, store.segments[-1].end + ENTRY_HEAD) if store.segments else []
        first = lookups[uri].hits if uri in lookups else ()
        holes = store.gaps() if starts is None else _uncovered(store, starts[uri], ends[uri])
        gaps += ((uri, *gap) for gap in holes if gap[0] < ends[uri] and (starts or _within(spans, *gap)))
        for segment in store.segments:
            start = max(0, (starts or {}).get(uri, 0) - segment.base)
            end = min(ends[uri] - segment.base, segment.size)
            split = Split(uri, segment, start, segment.size, end, way.access, queues, way.share, border=start)
            if 0 < end < segment.size:
                split = replace(split, stale=(stale or {}).get(uri, 0))
            if split.end <= split.start:
                unwritten.append(segment)
            elif why := _why_not(predicate, split, known, way):
                skipped.append((segment, why))
            else:
                parts = known.parts(split, predicate)
                pieces = [piece for part in parts for piece in _narrowed(part, spans, first, store.consume_queue)]
                whole += pieces
                why = "store time" if not parts else "physical offset" if mentions(predicate, "physical_offset") else "key"
                skipped += [] if pieces else [(segment, why)]
    if gaps and fail_on_data_loss:
        raise _loss(gaps)
    most = (
        max_partition_bytes
        if min_partitions == 1
        else max(1, min(max_partition_bytes, sum(split.written for split in whole) // min_partitions))
    )
    splits = [piece for split in whole for piece in _cut(split, most, 1.0 if min_partitions > 1 else split.share)]
    found = {uri: set(each.hits) for uri, each in lookups.items()}
    splits.sort(
        key=lambda split: len(split) > 1 or split.start + split.segment.base + split.segment.frame not in found.get(split.store, ())
    )
    return Plan(
        tuple(splits),
        tuple(ends.items()),
        predicate,
        tuple(skipped),
        tuple(unwritten),
        tuple(gaps),
        most,
        ways,
        pruning,
        tuple(lookups.items()),
        tuple((stale or {}).items()),
    )


def _uncovered(store: StoreFiles, start: int, stop: int) -> list[tuple[int, int]]:
    """The offsets in that range that no file holds."""
    reached = [start, *(segment.end for segment in store.segments)]
    begins = [*(segment.base for segment in store.segments), stop]
    return [(one, other) for one, other in zip(reached, begins, strict=True) if one < other]


def pruning_of(predicate: Predicate, lookups: Mapping[str, Located]) -> Predicate:
    """One predicate for all stores, because each store has its own index."""
    if not lookups:
        return predicate
    return Or(tuple(all_of((Compare(Column("store"), "=", uri), each.predicate)) for uri, each in lookups.items()))


def spans_of(predicate: Predicate, facts: Facts, low: int, high: int) -> list[tuple[int, int]]:
    """The ranges within `[low, high)` in which a matching row may start, with neighbours merged."""
    borders: set[int] = set()
    for leaf in leaves(predicate):
        match leaf:
            case Compare(Column("physical_offset"), _, int(value)):
                borders |= {value, value + 1}
            case In(Column("physical_offset"), values):
                borders.update(border for value in values if isinstance(value, int) for border in (value, value + 1))
    cuts = np.array([low, *sorted(border for border in borders if low < border < high), high], np.int64)
    chosen = np.broadcast_to(may_be_true(predicate, {**facts, "physical_offset": Within(cuts[:-1], cuts[1:] - 1)}), len(cuts) - 1)
    spans: list[tuple[int, int]] = []
    for start, stop in zip(cuts[:-1][chosen].tolist(), cuts[1:][chosen].tolist(), strict=True):
        spans[-1:] = [(spans[-1][0], stop)] if spans and spans[-1][1] == start else [*spans[-1:], (start, stop)]
    return spans


def _within(spans: Sequence[tuple[int, int]], low: int, high: int) -> list[tuple[int, int]]:
    """The parts of those ordered spans that are inside `[low, high)`."""
    first = bisect_right(spans, low, key=lambda span: span[1])
    behind = bisect_left(spans, high, key=lambda span: span[0])
    return [(max(low, start), min(high, stop)) for start, stop in spans[first:behind]]


def _narrowed(split: Split, spans: Sequence[tuple[int, int]], first: Sequence[int], queue: str | None) -> list[Split]:
    """The parts of a split that may match. Offsets in `first` get their own splits, if there are few."""
    base = split.segment.base + split.segment.frame  # a record's own offset is after its frame
    spans = _within(spans, base + split.start, base + split.stop)
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
            queue=queue or "",
        )
        for start, stop in near
        if start - base < split.end
    ]


def _part(split: Split, start: int, stop: int, *, alone: bool, follows: bool, queue: str) -> Split:
    if (start, stop) == (split.start, split.stop):
        return split
    found = follows or start == split.border
    part = replace(split, start=start, stop=stop, alone=alone, follows=follows, queue="" if found else queue)
    return replace(part, access=SCAN, queues=(), share=1.0) if part.access == AUTO and part.written <= NOT_WORTH_ASKING else part


def _why_not(predicate: Predicate, split: Split, times: Times, way: Estimate) -> str | None:
    """Why a segment cannot match; None if it can."""
    store, segment = exactly(split.store), split.segment
    if not may_be_true(predicate, {"store": store}):
        return "store"
    facts = {"store": store, "segment": exactly(segment.name)}
    if not may_be_true(predicate, facts):
        return "segment"
    if not may_be_true(predicate, {**facts, **times.facts(segment)}):
        return "store time"
    return None if way.touches(segment.base, segment.end) else "queue"


def _cut(split: Split, most: int, share: float) -> list[Split]:
    """Even pieces with at most `most` bytes to read each; the last one extends to the end of the split."""
    pieces = max(1, -(-int(split.written * share) // most))
    cuts = [split.start + split.written * piece // pieces for piece in range(pieces)]
    stops = [*cuts[1:], split.stop]
    return [
        replace(split, start=start, stop=stop, alone=split.alone and stop == split.stop, **({} if start == split.start else _FOLLOWS))
        for start, stop in zip(cuts, stops, strict=True)
    ]


def _loss(gaps: Sequence[tuple[str, int, int]]) -> DataLoss:
    store, start, stop = gaps[0]
    more = f" {len(gaps) - 1} more ranges are missing." if len(gaps) > 1 else ""
    return DataLoss(
        f"{store}: offsets {start:,} to {stop:,} ({stop - start:,} bytes) lie in no file: a segment is missing, or was cut short.{more} "
        f"{option_name('fail_on_data_loss', False)} reads what is there"
    )
