"""Plans: which bytes a read will look at and on which way, cut into splits, decided before any of them is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from native_reader.access.estimate import SCAN, Estimate
from native_reader.access.outcomes import Facts, Known, Within, exactly, may_be_true
from native_reader.access.predicate import Predicate
from native_reader.errors import DataLoss
from native_reader.layout.record import ENTRY_HEAD
from native_reader.storage.store import DLEDGER, Segment, StoreFiles

_SPLIT_COSTS = 256 << 10
"""The bytes that could be read in the time that a split takes, whatever it reads."""


@dataclass(frozen=True, slots=True)
class Split:
    """Bytes `[start, stop)` of a segment; it owns the records that start there.

    Made without reading the log, so `start` may fall anywhere. `end`: where the log ends in this file. `queues`: the
    directories of consume queues to ask, where `access` is not `scan`; `share`: how much of it will then be read, about.
    """

    store: str
    segment: Segment
    start: int
    stop: int
    end: int
    access: str = SCAN
    queues: tuple[str, ...] = ()
    share: float = 1.0

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def written(self) -> int:
        """How many of its bytes lie below the end of the log."""
        return min(self.stop, self.end) - self.start

    @property
    def work(self) -> int:
        """The bytes that it will read, about."""
        return self.written if self.access == SCAN else int(self.written * self.share) + _SPLIT_COSTS

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled flat, with the store's name once: a plan has a split for each task."""
        segment = self.segment
        known = segment.base, segment.size, segment.identity, segment.framing
        way = (self.access, *(_inside(uri, self.store) for uri in self.queues), self.share) if self.access != SCAN else ()
        return _split, (self.store, _inside(segment.uri, self.store), known, (self.start, self.stop, self.end), way)


def _inside(uri: str, store: str) -> str:
    return uri.removeprefix(f"{store}/")


def _split(store: str, place: str, known: tuple[int, int, int, str], cut: tuple[int, int, int], way: tuple[str | float, ...]) -> Split:
    def whole(inside: str) -> str:
        return inside if "://" in inside else f"{store}/{inside}"

    base, size, identity, framing = known
    segment = Segment(base, size, whole(place), identity, framing)
    if not way:
        return Split(store, segment, *cut)
    access, *queues, share = way
    return Split(store, segment, *cut, str(access), tuple(map(whole, map(str, queues))), float(share))


@dataclass(frozen=True, slots=True)
class Plan:
    """What a read will do: its splits in order of offset, store by store, and what it leaves out and why."""

    splits: tuple[Split, ...]
    ends: tuple[tuple[str, int], ...]
    predicate: Predicate
    skipped: tuple[tuple[Segment, str], ...] = ()
    unwritten: tuple[Segment, ...] = ()
    gaps: tuple[tuple[str, int, int], ...] = ()
    """Offsets `(store, start, stop)` that lie in no file, where they are no error."""
    partition_bytes: int = 128 << 20
    """The most bytes that belong together in one task."""
    ways: tuple[tuple[str, Estimate], ...] = field(default=())
    """How each store will be read, and why."""

    @property
    def bytes_to_scan(self) -> int:
        """The bytes that its splits cover, but for those that queues may rule out."""
        return sum(split.written for split in self.splits if split.access == SCAN)

    @property
    def bytes_to_prune(self) -> int:
        """The bytes of which queues say what need not be read."""
        return sum(split.written for split in self.splits if split.access != SCAN)

    @property
    def bytes_skipped(self) -> int:
        """The bytes of segments, or parts of segments, that hold nothing wanted."""
        read: dict[Segment, int] = {}
        for split in self.splits:
            read[split.segment] = read.get(split.segment, 0) + len(split)
        return sum(segment.size for segment, _ in self.skipped) + sum(segment.size - size for segment, size in read.items())

    def packed(self) -> list[tuple[Split, ...]]:
        """The splits in tasks: neighbours go together while they are small, for a task costs more than a small split."""
        tasks: list[list[Split]] = []
        room = 0
        for split in self.splits:
            if not tasks or split.work > room:
                tasks.append([])
                room = self.partition_bytes
            tasks[-1].append(split)
            room -= split.work
        return [tuple(task) for task in tasks]


@dataclass(frozen=True, slots=True)
class Times:
    """Of each segment, by its first offset: the least and the largest store time of its records, as far as that is known."""

    bounds: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    inside: Mapping[int, tuple[tuple[int, int, int, int], ...]] = field(default_factory=dict)
    """Parts of some segments: positions `start, stop`, and the bounds of their store times."""

    def facts(self, segment: Segment) -> dict[str, Known]:
        """What is known of its records."""
        found = self.bounds.get(segment.base)
        return {} if found is None else {"store_timestamp": Within(*found, nullable=True)}

    def parts(self, split: Split, predicate: Predicate) -> list[Split]:
        """The parts of a whole segment in which a wanted row may lie, neighbours together."""
        found: list[Split] = []
        for start, stop, low, high in self.inside.get(split.segment.base, ()):
            if may_be_true(predicate, {"store_timestamp": Within(low, high, nullable=True)}):
                touches = bool(found) and found[-1].stop == start
                found[-1:] = [replace(found[-1], stop=stop)] if touches else [*found[-1:], replace(split, start=start, stop=stop)]
        return found if self.inside.get(split.segment.base) else [split]


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
) -> Plan:
    """Cut the logs of those stores, which end at `ends`, into splits; what cannot hold a wanted row is left out.

    A pure function of what it is handed: it reads nothing.
    """
    whole: list[Split] = []
    skipped: list[tuple[Segment, str]] = []
    unwritten: list[Segment] = []
    gaps: list[tuple[str, int, int]] = []
    ways = tuple((store.uri, (estimates or {}).get(store.uri, Estimate())) for store in stores)
    for store, (uri, way) in zip(stores, ways, strict=True):
        known, queues = (times or {}).get(uri, Times()), () if way.access == SCAN else store.queues
        gaps += ((uri, *gap) for gap in store.gaps() if gap[0] < ends[uri] and _may_hold(predicate, {"store": exactly(uri)}, *gap))
        for segment in store.segments:
            split = Split(uri, segment, 0, segment.size, min(ends[uri] - segment.base, segment.size), way.access, queues, way.share)
            if split.end <= 0:
                unwritten.append(segment)
            elif why := _why_not(predicate, split, known, way):
                skipped.append((segment, why))
            else:
                parts = known.parts(split, predicate)
                whole += parts
                skipped += [] if parts else [(segment, "store time")]
    if gaps and fail_on_data_loss:
        raise _loss(gaps)
    most = max(1, min(max_partition_bytes, sum(split.written for split in whole) // min_partitions))
    splits: list[Split] = []
    for split in whole:
        cut = [piece for piece in _cut(split, most, 1.0 if min_partitions > 1 else split.share) if _may_hold_split(predicate, piece)]
        splits += cut
        skipped += [] if cut else [(split.segment, "physical offset")]
    return Plan(tuple(splits), tuple(ends.items()), predicate, tuple(skipped), tuple(unwritten), tuple(gaps), most, ways)


def _may_hold_split(predicate: Predicate, split: Split) -> bool:
    """Whether a wanted record can start there. Its own offset lies behind its frame."""
    frame = ENTRY_HEAD if split.segment.framing == DLEDGER else 0
    start, stop = split.segment.base + split.start + frame, split.segment.base + split.stop + frame
    return _may_hold(predicate, {"store": exactly(split.store)}, start, stop)


def _may_hold(predicate: Predicate, facts: Facts, start: int, stop: int) -> bool:
    return bool(may_be_true(predicate, {**facts, "physical_offset": Within(start, stop - 1)}))


def _why_not(predicate: Predicate, split: Split, times: Times, way: Estimate) -> str | None:
    """Why a segment can hold no wanted row; None where it can."""
    store, segment = exactly(split.store), split.segment
    if not _may_hold_split(predicate, split):
        return "physical offset" if may_be_true(predicate, {"store": store}) else "store"
    facts = {"store": store, "segment": exactly(segment.name)}
    if not may_be_true(predicate, facts):
        return "segment"
    if not may_be_true(predicate, {**facts, **times.facts(segment)}):
        return "store time"
    return None if way.touches(segment.base, segment.end) else "queue"


def _cut(split: Split, most: int, share: float) -> list[Split]:
    """Even pieces of which at most `most` bytes will be read; the last one reaches to the end of the file."""
    pieces = max(1, -(-int(split.written * share) // most))
    cuts = [split.start + split.written * piece // pieces for piece in range(pieces)]
    return [replace(split, start=start, stop=stop) for start, stop in zip(cuts, [*cuts[1:], split.stop], strict=True)]


def _loss(gaps: Sequence[tuple[str, int, int]]) -> DataLoss:
    store, start, stop = gaps[0]
    more = f" {len(gaps) - 1} more ranges are missing." if len(gaps) > 1 else ""
    return DataLoss(
        f"{store}: offsets {start:,} to {stop:,} ({stop - start:,} bytes) lie in no file: a segment is missing, or was cut short.{more} "
        "fail_on_data_loss=False reads what is there"
    )
