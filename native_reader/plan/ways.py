"""The ways to read a split: which of its records are looked at, what names them, and the places that an earlier pass saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from native_reader.layout.record import Numbers
from native_reader.plan.lost import CheckedEnd

AUTO, SCAN, TRUST = "auto", "scan", "trust"
ACCESSES = (AUTO, SCAN, TRUST)
"""`auto`: use the queues, and search the bytes that no queue claims; `scan`: ignore the queues; `trust`: read only what they name."""
SEEN, SUMMARY, ALONE = "seen", "summary", "summary alone"
"""What else a split can have as access. Planning chooses these for whole segments, never a user."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """All of its records."""

    access: ClassVar[str] = SCAN
    share: ClassVar[float] = 1.0


@dataclass(frozen=True, slots=True)
class ByQueues:
    """The records that consume queues name and, with AUTO, those that no queue claims. `queues`: their directories.

    `share`, here and below: the approximate share of the bytes that will be read. `listed`: rows are made from entries that have
    all that they need, without a look at the records.
    """

    queues: tuple[str, ...]
    share: float
    access: str = AUTO
    listed: bool = False


@dataclass(frozen=True, slots=True)
class SeenBefore:
    """The records that an earlier pass saw, as `plan.places` packs them: only a pass can show that no others are wanted."""

    access: ClassVar[str] = SEEN
    records: bytes
    share: float


@dataclass(frozen=True, slots=True)
class BySummary:
    """The records that a part of a summary names. With ALONE, rows are made from the part if it has all their columns.

    `part`: the URI of its file of groups. `places`: the positions of the records, then their sizes, if the plan looked for them.
    """

    part: str
    share: float
    places: tuple[int, ...] | None = None
    access: str = SUMMARY


Way = Scanned | ByQueues | SeenBefore | BySummary
SCANNED = Scanned()


class Places(NamedTuple):
    """Every record of one log that a read may want, in log order: its physical offset and its size.

    `end`: where the log ended for the pass.
    """

    end: CheckedEnd
    offsets: Numbers
    sizes: Numbers

    def within(self, start: int, stop: int) -> tuple[bytes, int]:
        """The records that begin in `[start, stop)`, as a split has them; and the sum of their sizes."""
        first, last = np.searchsorted(self.offsets, (start, stop)).tolist()
        offsets, sizes = self.offsets[first:last], self.sizes[first:last]
        return np.stack((offsets, sizes), axis=1).astype(np.int64).tobytes(), int(sizes.sum())


PlacesOfStores = Mapping[str, Places]
"""By store URI."""
NOT_SEEN: PlacesOfStores = {}


def records_in(packed: bytes) -> tuple[Numbers, Numbers]:
    """The offsets and sizes that `Places.within` packed."""
    pairs: Numbers = np.frombuffer(packed, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
