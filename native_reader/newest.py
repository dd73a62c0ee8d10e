"""The newest messages of a store, found from the end of its log backwards."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from typing import Any

import pyarrow as pa

from native_reader.api import Scan
from native_reader.options import MessageOptions
from native_reader.storage.store import StoreFiles

_FIRST_LOOK = 1 << 20
_GROWTH = 8
"""Each look backwards is this many times as long as the one before."""


def newest(
    read: Callable[[Scan], Generator[pa.RecordBatch]], store: StoreFiles, options: Mapping[str, Any], count: int, end: int | None = None
) -> list[pa.RecordBatch]:
    """The last `count` messages before `end`, or before the end of the log. `read`: how a scan is read."""
    if not count:
        return []
    checked = MessageOptions(**options)
    if end is None:
        end = dict(Scan((store,), checked).plan().ends)[store.uri]
    bounds = checked.values
    first = max(store.min_offset, bounds["starting_physical_offset"] or 0)
    high = end if bounds["ending_physical_offset"] is None else min(end, bounds["ending_physical_offset"])
    kept, looked = deque[Any](), _FIRST_LOOK
    while count > 0 and high > first:
        low = max(first, high - looked)
        window = MessageOptions(**{**options, "starting_physical_offset": low, "ending_physical_offset": high})
        with closing(read(Scan((store,), window))) as batches:
            some = last(batches, count)
        kept.extendleft(reversed(some))
        count -= sum(map(len, some))
        high, looked = low, looked * _GROWTH
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
