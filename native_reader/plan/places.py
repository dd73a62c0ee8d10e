"""Places: where a pass over a log saw the records that later reads may want. Such a read needs no pass of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from native_reader.layout.record import Numbers
from native_reader.plan.lost import CheckedEnd


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
