"""Rules out the records without the bytes that a condition needs, before anything of them is decoded."""

from __future__ import annotations

import numpy as np

from native_reader import kernel
from native_reader.columns.rows import Rows
from native_reader.layout.record import COMPRESSED, INNER_BATCH, Index, Mask
from native_reader.predicate.needles import Needles

_MOST_SEARCHES = 3
"""With more texts, their columns are compared as fast as all bytes are searched."""


def having(rows: Rows, needles: Needles) -> Rows:
    """These rows, which are whole records, without those that cannot match. Compressed ones may have anything."""
    chosen = kernel.having(rows.source.u8, rows.records, needles)
    found = _searched(rows, needles) if chosen is None else chosen
    return rows if found is None or len(found) == len(rows) else rows.where(found)


def _searched(rows: Rows, needles: Needles) -> Index | None:
    """The same without the kernel, by a search of all bytes of the records; None for too many searches."""
    texts = sorted(needles.properties | needles.bodies)
    if len(texts) > _MOST_SEARCHES:
        return None
    heads, starts, ends = rows.records.heads, rows.records.starts, rows.records.starts + rows.records.sizes
    unknown = COMPRESSED if needles.bodies else COMPRESSED | INNER_BATCH
    found: Mask = (heads["sys_flag"] & unknown) == unknown
    if needles.offsets:
        found |= np.isin(heads["physical_offset"].astype(np.int64), list(needles.offsets))
    content = rows.source.u8[int(starts[0]) : int(ends[-1])].tobytes()
    for text in texts:
        _mark(content, text, starts - starts[0], ends - starts[0], found)
    return np.flatnonzero(found)


def _mark(content: bytes, text: bytes, starts: Index, ends: Index, found: Mask) -> None:
    """Mark the records that have this text. After each, the search goes on at the next one."""
    at = content.find(text)
    while at >= 0:
        row = int(np.searchsorted(starts, at, side="right")) - 1
        is_inside = at + len(text) <= int(ends[row])
        found[row] |= is_inside
        if is_inside and row + 1 == len(starts):
            return
        at = content.find(text, int(starts[row + 1]) if is_inside else at + 1)
