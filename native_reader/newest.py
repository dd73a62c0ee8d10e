"""The newest messages of a store, found from the end of its log backwards."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from typing import Any

import pyarrow as pa

from native_reader.lazy import Read, Scan, read_batches
from native_reader.options import MessageOptions
from native_reader.plan.ends import find_ends
from native_reader.plan.lost import CheckedEnd
from native_reader.storage.store import StoreFiles

_FIRST_LOOK = 64 << 10
_GROWTH = 8
"""Each look backwards is at most this many times as long as the one before: about twice what its rows are expected in."""


def newest(
    store: StoreFiles, options: MessageOptions, count: int, end: int | None = None, read: Read = read_batches
) -> list[pa.RecordBatch]:
    """The last `count` messages before `end`, or before the end of the log. `read`: how each scan of a part of the log is read."""
    if not count:
        return []
    ends = find_ends((store,), options.planning()) if end is None else {store.uri: CheckedEnd(end, follows_record=False)}
    bounds, (last_end,) = options.values, ends.values()
    first = max(store.min_offset, bounds["starting_physical_offset"] or 0)
    high = last_end.offset if bounds["ending_physical_offset"] is None else min(last_end.offset, bounds["ending_physical_offset"])
    kept, looked = deque[Any](), _FIRST_LOOK
    while count > 0 and high > first:
        low = max(first, high - looked)
        window = replace(options, starting_physical_offset=low, ending_physical_offset=high)
        with closing(read(Scan((store,), window, ends=ends))) as batches:
            some = last(batches, count)
        kept.extendleft(reversed(some))
        rows = sum(map(len, some))
        count -= rows
        high, looked = low, looked * min(_GROWTH, 1 + 2 * count // max(1, rows))
    return list(kept)


def last(batches: Iterable[pa.RecordBatch], count: int) -> list[pa.RecordBatch]:
    """The last rows of these batches. Holds no more than these and one batch."""
    kept, rows = deque[Any](), 0
    for batch in batches:
        kept.append(batch)
        rows += len(batch)
        while rows - len(kept[0]) >= count:
            rows -= len(kept.popleft())
    if rows > count:
        kept[0] = kept[0].slice(rows - count)
    return list(kept)
