"""Where the pass over the log saw the messages of other tables, so that these tables need no pass of their own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.arrow import array, numpy_of
from native_reader.layout.kinds import (
    DELAY_TOPIC,
    HALF_TOPIC,
    MAX_TIME_TOPIC,
    OP_TOPIC,
    ROCKSDB_HALF_TOPIC,
    ROCKSDB_OP_TOPIC,
    TIMER_TOPIC,
)
from native_reader.layout.record import Numbers
from native_reader.plan.lost import CheckedEnd
from native_reader.plan.ways import Places

COLUMNS = ("topic", "kind", "physical_offset", "record_size")
"""What it needs of each message."""
_TOPICS = {
    "delay": (DELAY_TOPIC,),
    "timers": (TIMER_TOPIC,),
    "transactions": (HALF_TOPIC, ROCKSDB_HALF_TOPIC, OP_TOPIC, ROCKSDB_OP_TOPIC, MAX_TIME_TOPIC),
    "dlq": (),
}
"""By table: the topics that it is made from."""
_KINDS = {"transactions": ("committed", "prepared", "rollback"), "dlq": ("dlq",)}
"""By table: the kinds of messages in other topics that it needs, too."""
MOST_PLACES = 2_000_000
"""Records of one table that are remembered, with 16 bytes each."""


class Seen:
    """The places of the records of each table. `end`: where the log ends."""

    def __init__(self, end: CheckedEnd | None = None) -> None:
        self._end = CheckedEnd(0) if end is None else end
        self._pairs: dict[str, list[Numbers]] = {name: [] for name in _TOPICS}
        """Offset and size of each record."""
        self._counts = dict.fromkeys(_TOPICS, 0)

    def add(self, rows: pa.Table, is_record: NDArray[np.bool_]) -> None:
        """Add messages with COLUMNS. `is_record`: which of them are the first of their record."""
        pairs = np.stack([numpy_of(rows[name]).astype(np.int64) for name in ("physical_offset", "record_size")], axis=1)
        for name, topics in _TOPICS.items():
            is_wanted = numpy_of(pc.is_in(rows["topic"], array(topics, pa.string()))) & is_record
            if name in _KINDS:
                is_wanted |= numpy_of(pc.is_in(rows["kind"], array(_KINDS[name]))) & is_record
            count = int(np.count_nonzero(is_wanted))
            self._counts[name] += count
            if self._counts[name] > MOST_PLACES:
                self._pairs[name].clear()
            elif count:
                self._pairs[name].append(pairs[is_wanted])

    @property
    def nothing(self) -> Places:
        """No record, but where the log ends."""
        return Places(self._end, np.empty(0, np.int64), np.empty(0, np.int64))

    def has(self, table: str) -> bool:
        """Whether there is a message for that table."""
        return self._counts[table] > 0

    def places(self, table: str) -> Places | None:
        """The records for that table; None if there were too many to remember."""
        if self._counts[table] > MOST_PLACES:
            return None
        pairs = np.concatenate([np.empty((0, 2), np.int64), *self._pairs[table]])
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]  # with a summary, batches come before others
        return Places(self._end, pairs[:, 0].copy(), pairs[:, 1].copy())
