"""The index of the new store, made again from the keys of its log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from native_reader.layout.record import Numbers
from native_reader.plan.beside import Sides
from native_reader.records.walk import CHUNK, ReadWalk
from native_reader.sides.index import LEAST_ROOM, index_files, room_of
from native_reader.storage.broker_conf import FileSizes
from native_reader.storage.store import Segment, StoreFiles
from native_reader.storage.window import Window
from native_reader.verify.records import RecordReader
from native_reader.verify.sides import QueueNumbering
from native_reader.writing.index import IndexFiles

_MOST_HELD = 1 << 18
"""Records and keys that are in memory at once."""


class IndexShape(NamedTuple):
    """How large the files of an index are; `entries` with entry 0, which is unused."""

    slots: int
    entries: int


def index_shape(files: StoreFiles, sizes: FileSizes | None) -> IndexShape | None:
    """The shape of index files: as configured, else as the old ones; None if nothing tells their number of slots."""
    if sizes is not None:
        return IndexShape(sizes.index_slots, sizes.index_entries)
    shapes = {IndexShape(each.slots, room_of(each)) for each in index_files(files.index) if each.slots is not None}
    return max(shapes) if shapes and max(shapes).entries >= LEAST_ROOM else None


def write_index(segments: Iterable[Segment], end: int, folder: str, shape: IndexShape, *, with_tags: bool) -> int:
    """Index all keys of the records before `end`; with tags as brokers since 5.5.0 do. Returns the time of the last full file."""
    index = IndexFiles(folder, shape.slots, shape.entries)
    for segment in segments:
        if segment.base < end:
            for hashes, offsets, times in _keys_of(segment, end, with_tags=with_tags):
                index.put(hashes, offsets, times)
    index.close()
    return index.full_timestamp


def _keys_of(segment: Segment, end: int, *, with_tags: bool) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """The hashes of all keys in a segment, with the offset and the store time of their records."""
    nowhere = Sides(segment.directory, (), None, None, 0, 0, is_live=False, stopped=True, discarded=False, slots=None, tolerance=0)
    reader = RecordReader(QueueNumbering(nowhere))
    stop = min(segment.size, end - segment.base)
    with Window(segment, min(CHUNK, segment.size)) as window:
        for records, _ in ReadWalk(window, 0, segment.size, stop, max_record_bytes=segment.size, hands_over=False):
            if len(records) and reader.add(window.u8, records) >= _MOST_HELD:
                yield _taken(reader, with_tags=with_tags)
        yield _taken(reader, with_tags=with_tags)


def _taken(reader: RecordReader, *, with_tags: bool) -> tuple[Numbers, Numbers, Numbers]:
    facts, keys, _ = reader.taken()
    rows, hashes = keys.row, keys.value
    if with_tags:
        tagged = np.flatnonzero(facts.tag != 0)
        rows, hashes = np.concatenate([rows, tagged]), np.concatenate([hashes, facts.tag_key[tagged]])
        order = np.argsort(rows, kind="stable")
        rows, hashes = rows[order], hashes[order]
    if facts.rolls_back.any():
        kept = ~facts.rolls_back[rows]
        rows, hashes = rows[kept], hashes[kept]
    reader.forget()
    return hashes, facts.offset[rows], facts.time[rows]
