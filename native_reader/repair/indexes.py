"""The index of the new store, made again from the keys of its log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from native_reader import kernel
from native_reader.layout.arrays import is_within
from native_reader.plan.beside import Sides
from native_reader.records.walk import CHUNK, ReadWalk
from native_reader.repair.kept_keys import KeptKeys, Keys, indexed, joined
from native_reader.repair.log_shape import Hole
from native_reader.sides.index import LEAST_ROOM, index_files, room_of
from native_reader.storage.broker_conf import FileSizes
from native_reader.storage.store import Segment, StoreFiles
from native_reader.storage.window import Window
from native_reader.verify.records import RecordReader
from native_reader.verify.sides import QueueNumbering
from native_reader.writing.index import IndexFiles, Linking, NumpyLinking

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
    pieces = (_keys_of(each, 0, min(each.size, end - each.base), with_tags=with_tags) for each in segments if each.base < end)
    return _write(chain.from_iterable(pieces), folder, shape)


def write_index_of(kept: KeptKeys, segments: Iterable[Segment], holes: Sequence[Hole], *, end: int, folder: str, shape: IndexShape) -> int:
    """The same index, of the keys that the plan read. Only what fills the holes is read."""
    return _write(_merged(kept, _keys_in(holes, segments, end, with_tags=kept.with_tags), holes), folder, shape)


def _write(pieces: Iterable[Keys], folder: str, shape: IndexShape) -> int:
    index = IndexFiles(folder, shape.slots, shape.entries, _linking)
    for keys in pieces:
        index.put(*keys)
    index.close()
    return index.full_timestamp


def _linking(slots: int) -> Linking:
    return kernel.chains(slots) or NumpyLinking(slots)


def _merged(kept: KeptKeys, made: Keys, holes: Sequence[Hole]) -> Iterator[Keys]:
    """The keys outside of holes, and those made in them, in log order."""
    bounds, first = np.array([(hole.start, hole.stop) for hole in holes], np.int64).reshape(-1, 2), 0
    for keys in kept.pieces():
        stop = int(np.searchsorted(made.offset, keys.offset[-1]))
        has_lost = (np.diff(np.searchsorted(keys.offset, bounds)) > 0).any()
        outside = keys.where(~is_within(keys.offset, bounds)) if has_lost else keys
        if first == stop:
            yield outside
        else:
            both = joined([outside, made.where(np.arange(first, stop))])
            yield both.where(np.argsort(both.offset, kind="stable"))
        first = stop
    yield made.where(np.arange(first, len(made.offset)))


def _keys_in(holes: Sequence[Hole], segments: Iterable[Segment], end: int, *, with_tags: bool) -> Keys:
    """The keys of what fills the holes: as many as are lost, or none if tags are not indexed."""
    found = [Keys(*(np.empty(0, np.int64),) * 3)]
    for segment in segments:
        for hole in holes if with_tags else ():
            if segment.base <= hole.start < segment.end:
                found += _keys_of(segment, hole.start - segment.base, min(hole.stop, end) - segment.base, with_tags=True)
    return joined(found)


def _keys_of(segment: Segment, start: int, stop: int, *, with_tags: bool) -> Iterator[Keys]:
    """The keys of the records at positions `[start, stop)` of a segment."""
    nowhere = Sides(segment.directory, (), None, None, 0, 0, is_live=False, stopped=True, discarded=False, slots=None, tolerance=0)
    reader = RecordReader(QueueNumbering(nowhere))
    with Window(segment, min(CHUNK, segment.size)) as window:
        for records, _ in ReadWalk(window, start, segment.size, stop, max_record_bytes=segment.size, hands_over=False):
            if len(records) and reader.add(window.u8, records) >= _MOST_HELD:
                yield _taken(reader, with_tags=with_tags)
        yield _taken(reader, with_tags=with_tags)


def _taken(reader: RecordReader, *, with_tags: bool) -> Keys:
    facts, keys, _ = reader.taken()
    rows, hashes = indexed(keys.row, keys.value, facts.tag_key, facts.tag != 0, facts.rolls_back, with_tags=with_tags)
    reader.forget()
    return Keys(hashes, facts.offset[rows], facts.time[rows])
