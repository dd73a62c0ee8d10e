"""Plans: which bytes a read will look at, cut into splits, decided before any of them is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from native_reader.access.predicate import Predicate
from native_reader.errors import DataLoss
from native_reader.storage.store import Segment, StoreFiles


@dataclass(frozen=True, slots=True)
class Split:
    """Bytes `[start, stop)` of a segment; it owns the records that start there.

    Made without reading the log, so `start` may fall anywhere. `end`: where the log ends in this file.
    """

    store: str
    segment: Segment
    start: int
    stop: int
    end: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def written(self) -> int:
        """How many of its bytes lie below the end of the log."""
        return min(self.stop, self.end) - self.start

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled flat, with the store's name once: a plan has a split for each task."""
        segment = self.segment
        place = segment.uri.removeprefix(f"{self.store}/")
        known = segment.base, segment.size, segment.identity, segment.framing
        return _split, (self.store, place, known, (self.start, self.stop, self.end))


def _split(store: str, place: str, known: tuple[int, int, int, str], cut: tuple[int, int, int]) -> Split:
    base, size, identity, framing = known
    return Split(store, Segment(base, size, place if "://" in place else f"{store}/{place}", identity, framing), *cut)


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

    @property
    def bytes_to_scan(self) -> int:
        """The bytes that its splits cover."""
        return sum(split.written for split in self.splits)

    def packed(self) -> list[tuple[Split, ...]]:
        """The splits in tasks: neighbours go together while they are small, for a task costs more than a small split."""
        tasks: list[list[Split]] = []
        room = 0
        for split in self.splits:
            if not tasks or split.written > room:
                tasks.append([])
                room = self.partition_bytes
            tasks[-1].append(split)
            room -= split.written
        return [tuple(task) for task in tasks]


def plan(
    stores: Sequence[StoreFiles],
    ends: Mapping[str, int],
    predicate: Predicate,
    *,
    max_partition_bytes: int,
    min_partitions: int = 1,
    offsets: tuple[int, int] | None = None,
    fail_on_data_loss: bool = True,
) -> Plan:
    """Cut the logs of those stores, which end at `ends`, into splits. `offsets`: only segments that touch the range count.

    A pure function of what it is handed: it reads nothing.
    """
    written: list[tuple[str, Segment, int]] = []
    skipped: list[tuple[Segment, str]] = []
    unwritten: list[Segment] = []
    gaps: list[tuple[str, int, int]] = []
    first, behind = offsets or (0, 2**63)
    for store in stores:
        end = ends[store.uri]
        gaps += ((store.uri, *gap) for gap in store.gaps() if gap[1] > first and gap[0] < min(behind, end))
        for segment in store.segments:
            if segment.end <= first or segment.base >= behind:
                skipped.append((segment, "physical offset"))
            elif segment.base >= end:
                unwritten.append(segment)
            else:
                written.append((store.uri, segment, min(end - segment.base, segment.size)))
    if gaps and fail_on_data_loss:
        raise _loss(gaps)
    most = max(1, min(max_partition_bytes, sum(size for *_, size in written) // min_partitions))
    splits = tuple(split for each in written for split in _cut(*each, most))
    return Plan(splits, tuple(ends.items()), predicate, tuple(skipped), tuple(unwritten), tuple(gaps), most)


def _cut(store: str, segment: Segment, end: int, most: int) -> list[Split]:
    """Even pieces of at most `most` bytes of what is written; the last one reaches to the end of the file."""
    pieces = max(1, -(-end // most))
    cuts = [end * piece // pieces for piece in range(pieces)]
    return [Split(store, segment, start, stop, end) for start, stop in zip(cuts, [*cuts[1:], segment.size], strict=True)]


def _loss(gaps: Sequence[tuple[str, int, int]]) -> DataLoss:
    store, start, stop = gaps[0]
    more = f" {len(gaps) - 1} more ranges are missing." if len(gaps) > 1 else ""
    return DataLoss(
        f"{store}: offsets {start:,} to {stop:,} ({stop - start:,} bytes) lie in no file: a segment is missing, or was cut short.{more} "
        "fail_on_data_loss=False reads what is there"
    )
