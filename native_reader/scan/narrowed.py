"""Reads only the records of a split that can match, at positions that queues, an index, a summary or an earlier pass name.

If what names them is wrong, the whole split is scanned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from native_reader.errors import UnreadableError
from native_reader.kernel import chained
from native_reader.layout.record import Numbers, Records
from native_reader.plan.split import Split
from native_reader.plan.summarized import records_wanted
from native_reader.plan.ways import BySummary, SeenBefore, records_in
from native_reader.predicate.tree import Predicate
from native_reader.records.damages import NO_DAMAGE, Account, Damages
from native_reader.records.extents import Extents, records_of
from native_reader.records.walk import CHUNK, Piece, ReadWalk
from native_reader.sentences import Said
from native_reader.storage.window import Window
from native_reader.summary.pieces import Unfit

FIRST_GROUP = 64 << 10
LEADS_ELSEWHERE = "no consume queue covers the log, and its records do not end where the next covered record begins"


class ScanInstead(Exception):
    """A scan of the split costs less, or is needed."""


class Contradiction(ScanInstead):
    """What names the records contradicts the log."""


class NarrowedRead(ABC):
    """Iterates like a `ReadWalk` over the split, without records that cannot match; counts the bytes that it looked at."""

    def __init__(
        self,
        window: Window,
        split: Split,
        begin: int,
        predicate: Predicate,
        *,
        first: int,
        max_record_bytes: int,
        skip_damage: bool = False,
    ) -> None:
        self._window, self._split, self._predicate = window, split, predicate
        self._max_record_bytes, self._skip_damage = max_record_bytes, skip_damage
        self._first = first
        """About how many bytes are read at once at the beginning."""
        self._frame = window.segment.frame
        self._extents = Account()
        self._walks: list[ReadWalk] = []
        self._begin = begin
        self._returned: list[Numbers] = []
        """The physical offsets of the records returned so far."""
        self._damage: list[Damages] = []
        self.why: str | None = None
        """Why the split was scanned instead."""

    @abstractmethod
    def _narrowed(self) -> Iterator[Piece]:
        """The records that may match. Raises ScanInstead."""

    def __iter__(self) -> Iterator[Piece]:
        try:
            yield from self._narrowed()
        except ScanInstead as reason:
            yield from self._scanned(str(reason))

    @property
    def account(self) -> Account:
        """The bytes of all extents, and of the walks over extents that were too long."""
        return sum((walk.account for walk in self._walks), self._extents)

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
            raise Contradiction(f"from offset {first:,}, {LEADS_ELSEWHERE}")
        if len(records) and int(records.sizes.max()) > self._max_record_bytes:
            raise Contradiction("a record is larger than max_record_bytes")
        self._extents += Account(len(records), extents.bytes)
        return chained(self._window, records)

    def _walk(self, start: int, stop: int, *, hands_over: bool) -> ReadWalk:
        most, skip = self._max_record_bytes, self._skip_damage
        self._window.will_read(start, min(stop, self._split.end))
        return ReadWalk(self._window, start, stop, self._split.end, max_record_bytes=most, skip_damage=skip, hands_over=hands_over)

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


class _PositionsRead(NarrowedRead):
    def _at(self, positions: Numbers, sizes: Numbers, wrong: str) -> Iterator[Piece]:
        """The records at those positions."""
        for group in Extents(positions, positions + sizes + self._frame).groups(self._first, CHUNK, CHUNK):
            try:
                records = self._together(group)
            except Contradiction:
                raise Contradiction(wrong) from None
            self._returned.append(records.heads["physical_offset"].astype(np.int64))
            yield Piece(records, NO_DAMAGE)


class SeenRead(_PositionsRead):
    """What an earlier pass saw."""

    def __init__(self, way: SeenBefore, *of_split: Any, **limits: Any) -> None:
        super().__init__(*of_split, **limits)
        self._way = way

    def _narrowed(self) -> Iterator[Piece]:
        offsets, sizes = records_in(self._way.records)
        yield from self._at(offsets - self._split.segment.base - self._frame, sizes, "a record is not where an earlier pass saw it")


class SummaryRead(_PositionsRead):
    """What a summary names; with ALONE, only the records that it does not know completely."""

    def __init__(self, way: BySummary, *of_split: Any, **limits: Any) -> None:
        super().__init__(*of_split, **limits)
        self._way = way

    def _narrowed(self) -> Iterator[Piece]:
        if self._way.places is not None:
            positions, sizes = np.array(self._way.places, np.int64).reshape(2, -1)
        else:
            try:
                positions, sizes = records_wanted(self._way, self._split.store, self._split.segment, self._predicate)
            except Unfit as reason:
                raise Contradiction(f"the summary is not used: {Said(f'unfit {reason.why}').text()}") from None
        yield from self._at(positions, sizes, "a record is not where the summary has it")
