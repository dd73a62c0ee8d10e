"""Whether entries of index files are true: whether a record with the key that they hash stands where they point."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from native_reader.access.index import Hits
from native_reader.access.queues import Numbers
from native_reader.layout.index_entry import TAG_PREFIX, key_hash
from native_reader.layout.record import SMALLEST_RECORD, Index, Records
from native_reader.scan.columns import Columns
from native_reader.scan.extents import Extents, records_of
from native_reader.scan.rows import Rows
from native_reader.scan.strings import Source
from native_reader.scan.sync import frame_of
from native_reader.storage.store import Segment, StoreFiles
from native_reader.storage.window import Window

_AT_ONCE = 4 << 20


def sizes_of_true(store: StoreFiles, hits: Hits, max_record_bytes: int) -> Numbers:
    """Of each hit how many bytes its record takes, frame included; 0 where it is not true, 1 where the log has no file."""
    sizes = np.zeros(len(hits.offsets), np.int64)
    bases = np.array([segment.base for segment in store.segments], np.int64)
    which = np.searchsorted(bases, hits.offsets, side="right") - 1
    for number in np.unique(which).tolist():
        mine = np.flatnonzero(which == number)
        if number < 0 or (hits.offsets[mine] >= store.segments[number].end).all():
            sizes[mine] = 1
            continue
        try:
            found = dict(_found(store.segments[number], np.unique(hits.offsets[mine]), max_record_bytes))
        except OSError:  # tells whoever reads it
            found = {}
        for hit in mine.tolist():  # few: a key has few records
            size, hashes = found.get(int(hits.offsets[hit]), (0, frozenset()))
            sizes[hit] = size if int(hits.hashes[hit]) in hashes else 0
    return sizes


def _found(segment: Segment, offsets: Numbers, max_record_bytes: int) -> Iterator[tuple[int, tuple[int, frozenset[int]]]]:
    """Of the offsets at which a record stands: its size, and the hashes of all keys it has."""
    frame = frame_of(segment)
    with Window(segment, 0) as window:
        starts: Index = (offsets - segment.base - frame).astype(np.intp)
        starts = starts[(starts >= 0) & (starts + frame + SMALLEST_RECORD <= segment.size)]
        if not len(starts):
            return
        window.gather((starts + frame).tolist(), [4] * len(starts))
        sizes = window.u8[: 4 * len(starts)].view(">i4").astype(np.intp)
        possible = (sizes >= SMALLEST_RECORD) & (sizes <= max_record_bytes) & (starts + frame + sizes <= segment.size)
        # Of two that overlap one at most is a record; neither is believed.
        ends = starts + frame + np.where(possible, sizes, 0)
        possible[1:] &= starts[1:] >= np.maximum.accumulate(ends)[:-1]
        for group in Extents(starts, ends).where(possible).groups(_AT_ONCE, _AT_ONCE, _AT_ONCE):
            records, _ = records_of(window, group, single=True)
            yield from _keys_of(window, records, segment, frame)


def _keys_of(window: Window, records: Records, segment: Segment, frame: int) -> Iterator[tuple[int, tuple[int, frozenset[int]]]]:
    rows = Rows(Source(window.u8, window.arrow), records)
    columns = Columns(["topic", "keys", "uniq_key", "tags"], "", segment.name).arrays(rows)
    offsets = records.heads["physical_offset"].tolist()
    for offset, size, topic, keys, unique, tag in zip(
        offsets, records.sizes.tolist(), *(each.to_pylist() for each in columns), strict=True
    ):
        all_keys = {*(keys or ()), *(() if unique is None else (unique,)), *(() if tag is None else (f"{TAG_PREFIX}{tag}",))}
        yield offset, (size + frame, frozenset(key_hash(topic, key) for key in all_keys))
