"""Reads the records of a split whose positions are known: from an earlier pass over the log, or from a summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from native_reader.layout.record import Numbers
from native_reader.plan.places import records_in
from native_reader.plan.summarized import records_wanted
from native_reader.plan.ways import BySummary, SeenBefore
from native_reader.records.damages import NO_DAMAGE
from native_reader.records.extents import Extents
from native_reader.records.walk import CHUNK, Piece
from native_reader.scan.narrowed import Contradiction, NarrowedRead
from native_reader.summary.unfit import Unfit


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
                raise Contradiction(f"the summary is not used: {reason}") from None
        yield from self._at(positions, sizes, "a record is not where the summary has it")
