"""Reads a split through consume queues: skips what other queues claim and walks everything else.

So the result does not depend on the wanted queues. Records of a deleted or new topic, or from a hole in its queues, are in
bytes that no other queue claims. Each walk must end exactly at the next claim. If it does not, or if a claim is false, the
whole split is scanned. `trust` uses the wanted queues instead, and reads only what they name. If an earlier pass over the log
saw all that may be wanted (`plan.places`), only that is read.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from native_reader.broker.settings import Topics
from native_reader.columns.rows import Rows
from native_reader.columns.strings import PaddedBuffer
from native_reader.errors import UnreadableError
from native_reader.layout.arrays import is_among
from native_reader.layout.record import Numbers, Records
from native_reader.plan.claims import QueueClaims, claims_within, left_of, may_want, tiles_of
from native_reader.plan.estimate import TRUST, costs_of, is_too_small
from native_reader.plan.places import SEEN, records_in
from native_reader.plan.split import Split
from native_reader.plan.summarized import ALONE, SUMMARY, records_wanted
from native_reader.predicate.outcomes import Known, Within, exactly, mentions
from native_reader.predicate.tree import Predicate
from native_reader.records.damages import NO_DAMAGE, Damages
from native_reader.records.extents import Extents, records_of
from native_reader.records.report import Account
from native_reader.records.trouble import too_large_error
from native_reader.records.walk import CHUNK, Piece, ReadWalk
from native_reader.scan.claimed import contradicted, has_true_one, true_claims
from native_reader.sides.directories import Directories
from native_reader.sides.queues import Topic
from native_reader.storage.protocol import storage_of
from native_reader.storage.window import Window
from native_reader.summary.unfit import Unfit
from native_reader.tuning import TUNING

_FIRST_GROUP = 64 << 10
_LEADS_ELSEWHERE = "no consume queue covers the log, and its records do not end where the next covered record begins"


class ScanInstead(Exception):
    """A scan of the split costs less, or is needed."""


class Contradiction(ScanInstead):
    """The queues contradict the log."""


class Pruned:
    """Iterates like a `ReadWalk` over the split, without records that cannot match; counts the bytes that it looked at."""

    def __init__(
        self,
        window: Window,
        split: Split,
        begin: int,
        predicate: Predicate,
        directories: Directories,
        *,
        max_record_bytes: int,
        skip_damage: bool = False,
    ) -> None:
        self._window, self._split, self._predicate, self._directories = window, split, predicate, directories
        self._max_record_bytes, self._skip_damage = max_record_bytes, skip_damage
        self._frame = window.segment.frame
        self._extents = Account()
        self._walks: list[ReadWalk] = []
        self._begin = begin
        self._returned: list[Numbers] = []
        """The physical offsets of the records returned so far."""
        self._damage: list[Damages] = []
        self._named = np.empty(0, np.int64)
        """The physical offsets of records that wanted queues name."""
        self.why: str | None = None
        """Why the split was scanned instead."""
        self._facts: dict[str, Known] = {
            "store": exactly(split.store),
            "segment": exactly(split.segment.name),
            "physical_offset": Within(split.segment.base, split.segment.end),
        }

    def __iter__(self) -> Iterator[Piece]:
        try:
            ways = {TRUST: self._trusted, SEEN: self._seen, SUMMARY: self._summarized, ALONE: self._summarized}
            yield from ways.get(self._split.access, self._unclaimed)()
        except ScanInstead as reason:
            yield from self._scanned(str(reason))

    @property
    def account(self) -> Account:
        """The bytes of all extents, and of the walks over extents that were too long."""
        return sum((walk.account for walk in self._walks), self._extents)

    # Everything that no other queue claims

    def _unclaimed(self) -> Iterator[Piece]:
        split = self._split
        begin, stop = self._begin, min(split.stop, split.end)
        topics = self._directories.topics(split.queues)
        written = max(0, self._window.written_end(stop) - begin)  # a hole costs nothing to read
        if is_too_small(split.segment.uri, written, len(topics)):
            raise ScanInstead(f"looking up {len(topics):,} topics costs more than reading {written:,} bytes")
        wanted, unwanted = self._true_claims(topics, begin, stop, written)
        extents, last = self._left(wanted, unwanted)
        self._check_costs(written, len(topics), sum(len(each.entries) for each in (*wanted, *unwanted)), extents, begin + written - last)
        for group in extents.groups(_FIRST_GROUP, CHUNK, TUNING.large_extent):
            base = split.segment.base + self._frame
            if group.bytes > TUNING.large_extent and len(group) == 1 and not is_among(group.starts + base, self._named).any():
                yield from self._walked(int(group.starts[0]), int(group.ends[0]), [*wanted, *unwanted], unwanted, arrives=True)
            else:
                records = self._together(group)
                self._check(records, unwanted)
                yield Piece(records, NO_DAMAGE)
        yield from self._walked(last, split.stop, [*wanted, *unwanted], unwanted)

    def _left(self, wanted: list[QueueClaims], unwanted: list[QueueClaims]) -> tuple[Extents, int]:
        """What to read (records in wanted queues, and unclaimed bytes), and where the last claim ends."""
        left = left_of(wanted, unwanted, self._split.segment.base + self._frame, self._begin, self._frame)
        if left.largest > self._max_record_bytes:
            raise Contradiction("a record is larger than max_record_bytes")
        self._named = left.named
        return Extents(left.starts, left.ends), left.last

    def _check_costs(self, written: int, topics: int, records: int, extents: Extents, rest: int) -> None:
        """Raise if a scan of these bytes and records costs less than to fetch the extents, and `rest` bytes after them."""
        uri = self._split.segment.uri
        ranges, fetched = extents.fetched(storage_of(uri).range_costs)
        if costs_of(uri, written, records, topics, ranges=ranges, fetched=fetched + max(0, rest)).favor_scan:
            raise ScanInstead("most of it must be read")

    def _true_claims(self, topics: list[Topic], begin: int, stop: int, written: int) -> tuple[list[QueueClaims], list[QueueClaims]]:
        """The claims that the predicate may match, and those that it cannot, without queue files that failed the check."""
        base = self._split.segment.base
        span = base + self._frame + begin, base + self._frame + stop, base + self._split.end
        possible = [topic for topic in topics if may_want(self._predicate, topic, self._facts)]
        wanted, others = claims_within(self._directories, possible, self._predicate, self._facts, span, with_batches=self._with_batches())
        if wanted:  # before the entries of all other queues are read
            starts, sizes, _ = tiles_of(wanted, [], base)
            records = written * len(sizes) // max(1, int(sizes.sum()))
            self._check_costs(written, len(topics), records, Extents(starts, starts + sizes + self._frame), 0)
        excluded = [topic for topic in topics if topic not in possible]
        others += claims_within(self._directories, excluded, self._predicate, self._facts, span)[1]
        unwanted, has_checksums = true_claims(self._window, others)
        if has_checksums:
            wanted, others = claims_within(self._directories, topics, self._predicate, self._facts, span, trust_tags=False)
            unwanted, _ = true_claims(self._window, others)
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
            raise Contradiction("some bytes could not be read") from None
        if not good.all():
            first = self._split.segment.base + int(extents.starts[np.argmin(good)])
            raise Contradiction(f"from offset {first:,}, {_LEADS_ELSEWHERE}")
        if len(records) and int(records.sizes.max()) > self._max_record_bytes:
            raise Contradiction("a record is larger than max_record_bytes")
        self._extents += Account(len(records), extents.bytes)
        return records

    def _walked(
        self, start: int, stop: int, claims: list[QueueClaims], unwanted: list[QueueClaims], *, arrives: bool = False
    ) -> Iterator[Piece]:
        """Walk a long extent, or the bytes after the last claim. The claim that ends at its start must be true."""
        offset = self._split.segment.base + start
        if start > self._begin and not has_true_one(self._window, claims, offset):
            raise Contradiction(f"no consume queue entry matches the record that ends at offset {offset:,}")
        walk = self._walk(start, stop, hands_over=not arrives and not self._split.alone)
        self._walks.append(walk)
        for piece in walk:
            self._check(piece.records, unwanted)
            self._damage.append(piece.damages)
            yield piece
        if arrives and walk.reached != stop:
            raise Contradiction(f"from offset {offset:,}, {_LEADS_ELSEWHERE}")

    def _walk(self, start: int, stop: int, *, hands_over: bool) -> ReadWalk:
        most, skip = self._max_record_bytes, self._skip_damage
        self._window.will_read(start, min(stop, self._split.end))
        return ReadWalk(self._window, start, stop, self._split.end, max_record_bytes=most, skip_damage=skip, hands_over=hands_over)

    def _check(self, records: Records, unwanted: list[QueueClaims]) -> None:
        """Raise if an unwanted queue contradicts one of these records."""
        offsets = records.heads["physical_offset"].astype(np.int64)
        rows = Rows(PaddedBuffer(self._window.u8, self._window.arrow), records).where(~is_among(offsets, self._named))
        if contradicted(self._window, unwanted, rows, self._split.store):
            raise Contradiction("the consume queue entry of a record has another offset")
        self._returned.append(offsets)

    # Only what the wanted queues name

    def _trusted(self) -> Iterator[Piece]:
        split = self._split
        base = split.segment.base + self._frame
        topics = [topic for topic in self._directories.topics(split.queues) if may_want(self._predicate, topic, self._facts)]
        span = base + split.start, base + min(split.stop, split.end), split.segment.base + split.end
        wanted, _ = claims_within(self._directories, topics, self._predicate, self._facts, span, with_batches=self._with_batches())
        offsets, sizes, _ = tiles_of(wanted, [], base)
        large = sizes > self._max_record_bytes
        if large.any() and not self._skip_damage:
            first = int(np.argmax(large))
            raise too_large_error(self._window, int(offsets[first]) - base, int(sizes[first]), self._max_record_bytes)
        starts = offsets[~large] - base
        for group in Extents(starts, starts + sizes[~large] + self._frame).groups(_FIRST_GROUP, CHUNK, CHUNK):
            records, _ = records_of(self._window, group, single=True)
            self._extents += Account(len(records), int(records.sizes.sum()) + self._frame * len(records))
            if len(records):
                yield Piece(records, NO_DAMAGE)

    # Only what an earlier pass saw

    def _seen(self) -> Iterator[Piece]:
        offsets, sizes = records_in(self._split.records)
        yield from self._at(offsets - self._split.segment.base - self._frame, sizes, "a record is not where an earlier pass saw it")

    def _summarized(self) -> Iterator[Piece]:
        try:
            unknown = self._split.access == ALONE
            positions, sizes = records_wanted(self._split.summary, self._split.store, self._split.segment, self._predicate, unknown=unknown)
        except Unfit as reason:
            raise Contradiction(f"the summary is not used: {reason}") from None
        yield from self._at(positions, sizes, "a record is not where the summary has it")

    def _at(self, positions: Numbers, sizes: Numbers, wrong: str) -> Iterator[Piece]:
        """The records at those positions."""
        for group in Extents(positions, positions + sizes + self._frame).groups(_FIRST_GROUP, CHUNK, CHUNK):
            try:
                records = self._together(group)
            except Contradiction:
                raise Contradiction(wrong) from None
            self._returned.append(records.heads["physical_offset"].astype(np.int64))
            yield Piece(records, NO_DAMAGE)

    # Fallback: scan the whole split

    def _scanned(self, why: str) -> Iterator[Piece]:
        split, self.why = self._split, why
        walk = self._walk(self._begin, split.stop, hands_over=not split.alone)
        self._walks, self._extents = [walk], Account()
        returned = np.concatenate(self._returned) if self._returned else np.empty(0, np.int64)
        reported = Damages.joined(self._damage)
        for records, damages in walk:
            is_new = ~np.isin(records.heads["physical_offset"].astype(np.int64), returned)
            # `reported` is in order, so those that overlap a new damage are neighbours.
            before = np.searchsorted(reported.ends, damages.starts, side="right")
            until = np.searchsorted(reported.starts, damages.ends)
            yield Piece(records if is_new.all() else records[is_new], damages.where(before >= until))
