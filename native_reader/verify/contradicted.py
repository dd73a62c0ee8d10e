"""Whole records that their entries contradict: another tag than the queue has, or no key that the index has for them.

Zeros that begin and end in the properties of a record leave its lengths and its body right. A check finds the same.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.record import Bytes, Numbers, Records
from native_reader.plan.beside import Sides
from native_reader.records.damages import OTHER_KEYS, OTHER_TAG
from native_reader.sentences import Said
from native_reader.verify.entries import EntryCheck
from native_reader.verify.findings import Findings
from native_reader.verify.keys import KeyCheck
from native_reader.verify.records import RecordReader
from native_reader.verify.sides import QueueNumbering

_FURTHEST = 16 << 20
"""Entries of this many bytes are read on from the records before; after more, they are searched."""
_NO_DAMAGE = np.empty((0, 2), np.int64)


class _Contradictions(Findings):
    """Where the records are, by anomaly. All else that a check finds is left to it."""

    def __init__(self) -> None:
        super().__init__()
        self.offsets: dict[str, list[NDArray[np.int64]]] = {OTHER_TAG: [], OTHER_KEYS: []}

    def add(
        self, code: str, file: str, found: Said, offset: int | None = None, *, topic: str | None = None, queue_id: int | None = None,
        count: int = 1, last: int | None = None,
    ) -> None:  # fmt: skip
        """See `Findings.add`."""

    def add_rows(
        self, code: str, file: str, offsets: NDArray[np.int64], describe: Callable[[int], Said],
        *, topic: str | None = None, queue_id: int | None = None, contradicts: str | None = None,
    ) -> None:  # fmt: skip
        """See `Findings.add_rows`."""
        if contradicts is not None and len(offsets):
            self.offsets[contradicts].append(offsets.astype(np.int64))

    def taken(self) -> dict[str, Numbers]:
        """What was found since the last call."""
        found = {anomaly: np.concatenate(offsets) for anomaly, offsets in self.offsets.items() if offsets}
        for offsets in self.offsets.values():
            offsets.clear()
        return found


class Contradicted:
    """Compares the records of a range of the log, piece by piece, with the entries that name them."""

    def __init__(self, sides: Sides, queues: QueueNumbering, low: int, high: int) -> None:
        self._found, self._reader = _Contradictions(), RecordReader(queues)
        self._entries = EntryCheck(sides, queues, self._found, self._reader.places)
        self._keys = KeyCheck(sides, self._found, low, high)
        self._has_queues, self._reached = bool(sides.directories), low
        # Index entries of discarded records remain, and can name the offset of a later one.
        self._has_index = self._keys.is_used and not sides.discarded

    def among(self, u8: Bytes, records: Records) -> dict[str, Numbers]:
        """By anomaly, the offsets of the contradicted ones among these records, which ascend."""
        self._reader.add(u8, records)
        facts, keys, light = self._reader.taken()
        first, high = int(facts.offset[0]), int(facts.offset[-1]) + 1
        low = self._reached if 0 <= first - self._reached <= _FURTHEST else first
        if self._has_queues:
            self._entries.check(facts, light, low, high, _NO_DAMAGE)
        if self._has_index:
            self._keys.check(facts, keys, low, high, _NO_DAMAGE)
        self._reached = high
        self._reader.forget()
        return self._found.taken()
