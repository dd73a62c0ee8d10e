"""A split read through consume queues: what other queues claim is passed, everything else is walked.

So nothing depends on what the wanted queues hold. A topic that was deleted, or is young, or has holes in its queues, lies
where no other queue claims the bytes. Each walk must arrive exactly at the next claim; where one does not, or a claim
turns out to be false, the split is scanned whole. `trust` asks the wanted queues instead, and fetches what they name.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from native_reader.columns.rows import Rows
from native_reader.columns.strings import Source
from native_reader.errors import UnreadableError
from native_reader.layout.record import Mask, Records
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
"""A larger extent is walked by itself."""
_MOST_SHARE = 0.45
"""Where more than that is left to read after pruning, one pass over all of it is quicker: docs/performance.md."""
_CALLS_PER_TOPIC = 4 * 45
"""A few queues, two binary searches in each."""
_LEADS_ELSEWHERE = "which no queue claims, records do not lead to the next claim"


class Contradiction(Exception):
    """What the queues say cannot be true."""


class Pruned:
    """Iterates what a `Walk` over the split does, but for records that cannot be wanted; accounts for what it looked at."""

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
        """Why it was scanned after all."""
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

    # The account: of extents, and of walks over what was too long for one

    @property
    def records(self) -> int:
        """As of a `Walk`, like all that follow."""
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
        if extents.bytes + max(0, stop - last) > _MOST_SHARE * (stop - begin):
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
        """What to read, records that are wanted by name and what nobody claims; and where all claims end."""
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
        """What queues claim that may be wanted, and that cannot be; of the latter none that are caught lying."""
        base = self._split.segment.base
        span = base + self._frame + begin, base + self._frame + stop, base + self._split.end
        wanted, found = claims_within(topics, self._predicate, self._facts, span, with_batches=self._with_batches())
        unwanted, checksums = true_ones(self._window, found)
        if checksums:
            wanted, found = claims_within(topics, self._predicate, self._facts, span, trust_tags=False)
            unwanted, _ = true_ones(self._window, found)
        return wanted, unwanted

    def _with_batches(self) -> frozenset[str]:
        """The topics of which tags codes tell nothing: on slaves they may have ordinary queues."""
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
        """A long extent, or what lies behind the last claim. It begins where a claim ends, and that one must be true."""
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

    # What the wanted queues name, and nothing else

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

    # All of it after all

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
                # Those that were told are in order, and so are those that start before the end of another.
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
    """Which of the places are among the known ones, which are in order."""
    if not len(known):
        return np.zeros(len(places), np.bool_)
    found: Mask = known[np.minimum(np.searchsorted(known, places), len(known) - 1)] == places
    return found
