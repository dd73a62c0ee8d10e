"""Reads a split through consume queues: skips what other queues claim and walks everything else.

So the result does not depend on the wanted queues. Records of a deleted or new topic, or from a hole in its queues, are in
bytes that no other queue claims. Each walk must end exactly at the next claim. If it does not, or if a claim is false, the
whole split is scanned. `trust` uses the wanted queues instead, and reads only what they name.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from native_reader.columns.rows import Rows
from native_reader.columns.strings import Source
from native_reader.errors import UnreadableError
from native_reader.layout.record import Mask, Records
from native_reader.plan import estimate
from native_reader.plan.claims import Claims, Tiles, claims_within, may_want, tiles_of
from native_reader.plan.estimate import TRUST
from native_reader.plan.queues import Numbers, Topic, topics_in
from native_reader.plan.split import Split
from native_reader.predicate.outcomes import Known, Within, exactly, mentions
from native_reader.predicate.tree import Predicate
from native_reader.records.damages import Damages
from native_reader.records.extents import Extents, records_of
from native_reader.records.trouble import too_large
from native_reader.records.walk import CHUNK, Walk
from native_reader.scan.claimed import contradicted, has_true_one, true_ones
from native_reader.storage.protocol import storage_of
from native_reader.storage.topics import Topics
from native_reader.storage.window import Window

_FIRST_GROUP = 64 << 10
_ALONE = 256 << 10
"""A larger extent is walked separately."""
_CALLS_PER_TOPIC = 4 * 45
"""A few queues, with two binary searches each."""
_LEADS_ELSEWHERE = "which no queue claims, records do not lead to the next claim"


class Contradiction(Exception):
    """The queues contradict the log."""


class Pruned:
    """Iterates like a `Walk` over the split, without records that cannot match; counts the bytes that it looked at."""

    def __init__(
        self, window: Window, split: Split, begin: int, predicate: Predicate, *, max_record_bytes: int, skip_damage: bool = False
    ) -> None:
        self._window, self._split, self._predicate = window, split, predicate
        self._max_record_bytes, self._skip_damage = max_record_bytes, skip_damage
        self._frame = window.segment.frame
        self._walks: list[Walk] = []
        self._records = self._record_bytes = 0
        self._begin = begin
        self._seen: list[Numbers] = []
        self._told: list[Damages] = []
        self._named = np.empty(0, np.int64)
        """The physical offsets of records that wanted queues name."""
        self.why: str | None = None
        """Why the split was scanned instead."""
        self._facts: dict[str, Known] = {
            "store": exactly(split.store),
            "segment": exactly(split.segment.name),
            "physical_offset": Within(split.segment.base, split.segment.end),
        }

    def __iter__(self) -> Iterator[Records | Damages]:
        try:
            yield from self._trusted() if self._split.access == TRUST else self._unclaimed()
        except Contradiction as found:
            yield from self._scanned(str(found))

    # Accounting: extents, and walks over extents that were too long

    @property
    def records(self) -> int:
        """As in `Walk`, like the properties below."""
        return self._records + sum(walk.records for walk in self._walks)

    @property
    def record_bytes(self) -> int:
        return self._record_bytes + sum(walk.record_bytes for walk in self._walks)

    @property
    def blank_bytes(self) -> int:
        return sum(walk.blank_bytes for walk in self._walks)

    @property
    def damage_bytes(self) -> int:
        return sum(walk.damage_bytes for walk in self._walks)

    @property
    def unwritten_bytes(self) -> int:
        return sum(walk.unwritten_bytes for walk in self._walks)

    # Everything that no other queue claims

    def _unclaimed(self) -> Iterator[Records | Damages]:
        split = self._split
        begin, stop = self._begin, min(split.stop, split.end)
        topics = topics_in(split.queues)
        costs = storage_of(split.segment.uri).call_costs * _CALLS_PER_TOPIC
        if len(topics) * costs > stop - begin:
            yield from self._scanned(f"{len(topics):,} topics to ask about {stop - begin:,} bytes")
            return
        wanted, unwanted = self._true_claims(topics, begin, stop)
        extents, last = self._left(tiles_of(wanted, unwanted, split.segment.base + self._frame))
        if extents.bytes + max(0, stop - last) > estimate.MOST_SHARE * (stop - begin):
            yield from self._scanned("most of it is left")
            return
        for group in extents.groups(_FIRST_GROUP, CHUNK, _ALONE):
            base = split.segment.base + self._frame
            if group.bytes > _ALONE and len(group) == 1 and not _among(group.starts + base, self._named).any():
                yield from self._walked(int(group.starts[0]), int(group.ends[0]), [*wanted, *unwanted], unwanted, arrives=True)
            else:
                yield from self._checked(self._together(group), unwanted)
        yield from self._walked(last, split.stop, [*wanted, *unwanted], unwanted)

    def _left(self, tiles: Tiles) -> tuple[Extents, int]:
        """What to read (records in wanted queues, and unclaimed bytes), and where the last claim ends."""
        if (tiles.sizes[~tiles.unwanted] > self._max_record_bytes).any():
            raise Contradiction("a record over max_record_bytes")
        starts = tiles.offsets - self._split.segment.base - self._frame
        ends = starts + tiles.sizes + self._frame
        borders = np.concatenate(([self._begin], ends))
        gaps = np.flatnonzero(starts > borders[:-1])
        names = np.flatnonzero(~tiles.unwanted)
        both = Extents(np.concatenate((borders[gaps], starts[names])), np.concatenate((starts[gaps], ends[names])))
        self._named = starts[names] + self._split.segment.base + self._frame
        return both.where(np.argsort(both.starts, kind="stable")), int(borders[-1])

    def _true_claims(self, topics: list[Topic], begin: int, stop: int) -> tuple[list[Claims], list[Claims]]:
        """The claims that the predicate may match, and those that it cannot, without queue files that failed the check."""
        base = self._split.segment.base
        span = base + self._frame + begin, base + self._frame + stop, base + self._split.end
        wanted, found = claims_within(topics, self._predicate, self._facts, span, with_batches=self._with_batches())
        unwanted, checksums = true_ones(self._window, found)
        if checksums:
            wanted, found = claims_within(topics, self._predicate, self._facts, span, trust_tags=False)
            unwanted, _ = true_ones(self._window, found)
        return wanted, unwanted

    def _with_batches(self) -> frozenset[str]:
        """Topics whose tags codes mean nothing: topics with inner batches may have ordinary queues on slaves."""
        return Topics(f"{self._split.store}/config").of_batches() if mentions(self._predicate, "tags") else frozenset()

    def _together(self, extents: Extents) -> Records:
        """The records of many small extents."""
        try:
            records, good = records_of(self._window, extents)
        except UnreadableError:
            if not self._skip_damage:
                raise
            raise Contradiction("bytes that cannot be read") from None
        if not good.all():
            first = self._split.segment.base + int(extents.starts[np.argmin(good)])
            raise Contradiction(f"from offset {first:,} on, {_LEADS_ELSEWHERE}")
        if len(records) and int(records.sizes.max()) > self._max_record_bytes:
            raise Contradiction("a record over max_record_bytes")
        self._records += len(records)
        self._record_bytes += extents.bytes
        return records

    def _walked(
        self, start: int, stop: int, claims: list[Claims], unwanted: list[Claims], *, arrives: bool = False
    ) -> Iterator[Records | Damages]:
        """Walk a long extent, or the bytes after the last claim. The claim that ends at its start must be true."""
        if start > self._begin and not has_true_one(self._window, claims, self._split.segment.base + start):
            raise Contradiction("a queue claims what is no record of its own")
        walk = Walk(
            self._window,
            start,
            stop,
            self._split.end,
            max_record_bytes=self._max_record_bytes,
            skip_damage=self._skip_damage,
            leaves=not arrives and not self._split.alone,
        )
        self._walks.append(walk)
        for found in walk:
            if isinstance(found, Damages):
                self._told.append(found)
                yield found
            else:
                yield from self._checked(found, unwanted)
        if arrives and walk.reached != stop:
            raise Contradiction(f"from offset {self._split.segment.base + start:,} on, {_LEADS_ELSEWHERE}")

    def _checked(self, records: Records, unwanted: list[Claims]) -> Iterator[Records]:
        if not len(records):
            return
        places = records.heads["physical_offset"].astype(np.int64)
        rows = Rows(Source(self._window.u8, self._window.arrow), records).where(~_among(places, self._named))
        if contradicted(self._window, unwanted, rows, self._split.store):
            raise Contradiction("a record lies where its queue does not say")
        self._seen.append(places)
        yield records

    # Only what the wanted queues name

    def _trusted(self) -> Iterator[Records]:
        split = self._split
        base = split.segment.base + self._frame
        topics = [topic for topic in topics_in(split.queues) if may_want(self._predicate, topic, self._facts)]
        span = base + split.start, base + min(split.stop, split.end), split.segment.base + split.end
        wanted, _ = claims_within(topics, self._predicate, self._facts, span, with_batches=self._with_batches())
        offsets, sizes, _ = tiles_of(wanted, [], base)
        large = sizes > self._max_record_bytes
        if large.any() and not self._skip_damage:
            first = int(np.argmax(large))
            raise too_large(self._window, int(offsets[first]) - base, int(sizes[first]), self._max_record_bytes)
        starts = offsets[~large] - base
        for group in Extents(starts, starts + sizes[~large] + self._frame).groups(_FIRST_GROUP, CHUNK, CHUNK):
            records, _ = records_of(self._window, group, single=True)
            self._records += len(records)
            self._record_bytes += int(records.sizes.sum()) + self._frame * len(records)
            if len(records):
                yield records

    # Fallback: scan the whole split

    def _scanned(self, why: str) -> Iterator[Records | Damages]:
        split, self.why = self._split, why
        walk = Walk(
            self._window,
            self._begin,
            split.stop,
            split.end,
            max_record_bytes=self._max_record_bytes,
            skip_damage=self._skip_damage,
            leaves=not split.alone,
        )
        self._walks, self._records, self._record_bytes = [walk], 0, 0
        seen = np.concatenate(self._seen) if self._seen else None
        told = Damages.joined(self._told)
        for found in walk:
            if isinstance(found, Damages):
                # `told` is in order, so the damages in it that overlap a new one are neighbours.
                before, until = np.searchsorted(told.ends, found.starts, side="right"), np.searchsorted(told.starts, found.ends)
                if (new := before >= until).any():
                    yield found.where(new)
            elif seen is None:
                yield found
            else:
                others = found[~np.isin(found.heads["physical_offset"].astype(np.int64), seen)]
                if len(others):
                    yield others


def _among(places: Numbers, known: Numbers) -> Mask:
    """Which places are in `known`, which is ordered."""
    if not len(known):
        return np.zeros(len(places), np.bool_)
    found: Mask = known[np.minimum(np.searchsorted(known, places), len(known) - 1)] == places
    return found
