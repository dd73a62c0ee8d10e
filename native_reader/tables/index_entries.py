"""`index_entries`: one row for each entry of the index files, as it is on disk; `index_files`: one row for each file."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.columns.makers import timestamps
from native_reader.columns.projection import Projection
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.errors import warn
from native_reader.layout.index_entry import INDEX_ENTRY
from native_reader.sentences import Said, say
from native_reader.sides.index import LEAST_ROOM, NO_SLOTS, Head, IndexFile, entries_in, head_of, index_files, read_head, room_of
from native_reader.storage.protocol import StoredFile, map_files, storage_of
from native_reader.tables.damage import OF_OFFSETS, VALID, LogRange, labels, ranges_of, repeated
from native_reader.tables.table import DETAILS, Table, TableRequest, batches_of, words_of

UNWRITTEN, CHAIN, ORDER = "unwritten", "chain", "order"
VALIDITIES = {
    UNWRITTEN: "zeros: the entry was lost or never written",
    CHAIN: "the hash is negative, or the chain does not continue with an older entry",
    **OF_OFFSETS,
    ORDER: "the offset is lower than that of the entry before it: one of the two is wrong",
    VALID: "none of these",
}
"""In order of precedence."""

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "file": ColumnSpec(pa.string(), "URI of the file"),
    "number": ColumnSpec(pa.int32(), "the number of the entry in the file, from 1"),
    "hash": ColumnSpec(pa.int32(), "Java's hash of `topic#key`, made non-negative"),
    "slot": ColumnSpec(pa.int32(), "the slot of that hash, where its chain begins"),
    "physical_offset": ColumnSpec(pa.int64(), "the offset of the record in the log"),
    "store_timestamp": ColumnSpec(
        TIMESTAMP, "when the record was stored, or up to a second before that; in entry 1, the time in the file's header"
    ),
    "previous": ColumnSpec(pa.int32(), "the number of the next older entry in its chain; 0 if it is the oldest"),
    "validity": ColumnSpec(pa.string(), "one of the values below. The record itself is not read"),
}
_AT_ONCE = 1 << 16
_LARGEST_TIME = 2**62
"""Keeps sums of times within 64 bits."""

_log = logging.getLogger("native_reader")


class IndexEntryRange(NamedTuple):
    """Entries `[first, stop)` of an index file. `log`: the offsets of the log; None if the validity is not wanted, or there is no log."""

    store: str
    file: IndexFile
    first: int
    stop: int
    log: LogRange | None

    @property
    def work(self) -> int:
        """The approximate number of bytes to read."""
        return (self.stop - self.first) * INDEX_ENTRY.itemsize


class _EntryRun(NamedTuple):
    """Consecutive entries, the number of the first one, and the offset of the entry before it."""

    first: int
    before: int
    entries: NDArray[np.void]


def _parts(request: TableRequest) -> list[IndexEntryRange]:
    files = []
    for store, file in indexes_of(request):
        if room_of(file) < LEAST_ROOM:
            warn(_log, say("entries not listed", uri=file.uri, why=NO_SLOTS))
        else:
            files.append((store, file))
    ranges = ranges_of(request) if files and request.wants("validity") else {}
    most = max(_AT_ONCE, request.planning.max_partition_bytes // INDEX_ENTRY.itemsize)
    return [
        IndexEntryRange(store, file, first, min(first + most, room_of(file)), ranges.get(store))
        for store, file in files
        for first in range(1, room_of(file), most)
    ]


def _batches(part: IndexEntryRange, projection: Projection) -> Iterator[pa.RecordBatch]:
    try:
        stored = storage_of(part.file.uri).open(part.file.uri)
    except FileNotFoundError:  # deleted meanwhile
        return
    with stored:
        if stored.size() < part.file.size:  # truncated meanwhile
            return
        slots, head, before = _slots_of(part), read_head(stored), _offset_before(stored, part)
        for first, entries in entries_in(stored, slots, part.first, min(part.stop, head.next_entry), _AT_ONCE):
            offsets = entries["offset"].astype(np.int64)
            yield _batch(part, head, _EntryRun(first, before, entries), projection)
            before = int(offsets[-1])
            if projection.advanced is not None:
                projection.advanced(entries.nbytes)


def _slots_of(part: IndexEntryRange) -> int:
    assert part.file.slots is not None  # else the file has no part
    return part.file.slots


def _offset_before(stored: StoredFile, part: IndexEntryRange) -> int:
    """The offset of the entry before the part."""
    if part.first == 1:
        return -1
    found = [int(entries["offset"][0]) for _, entries in entries_in(stored, _slots_of(part), part.first - 1, part.first)]
    return found[0] if found else -1


def _batch(part: IndexEntryRange, head: Head, piece: _EntryRun, projection: Projection) -> pa.RecordBatch:
    """The rows of those entries."""
    entries, count = piece.entries, len(piece.entries)
    numbers = np.arange(piece.first, piece.first + count, dtype=np.int64)
    makers: dict[str, Callable[[], object]] = {
        "store": lambda: repeated([part.store], [count]),
        "file": lambda: repeated([part.file.uri], [count]),
        "number": lambda: numbers.astype(np.int32),
        "hash": lambda: entries["hash"].astype(np.int32),
        "slot": lambda: (entries["hash"].astype(np.int64) % _slots_of(part)).astype(np.int32),
        "physical_offset": lambda: entries["offset"].astype(np.int64),
        "store_timestamp": lambda: _times(head, entries, numbers),
        "previous": lambda: entries["previous"].astype(np.int32),
        "validity": lambda: _validity(part, piece, numbers),
    }
    return INDEX_ENTRIES.batch_of(makers, projection)


def _times(head: Head, entries: NDArray[np.void], numbers: NDArray[np.int64]) -> pa.Array:
    seconds = entries["seconds"].astype(np.int64)
    # Until its first entry is written, a new file has the end time of the one before, and that entry's seconds count from it.
    seconds[numbers == 1] = 0
    begin = min(max(head.begin_time, -_LARGEST_TIME), _LARGEST_TIME)
    return timestamps(begin + seconds * 1000)


def _validity(part: IndexEntryRange, piece: _EntryRun, numbers: NDArray[np.int64]) -> pa.Array:
    hashes, previous, offsets = (piece.entries[name].astype(np.int64) for name in ("hash", "previous", "offset"))
    masks = [
        (piece.entries == np.zeros(1, INDEX_ENTRY), UNWRITTEN),
        ((hashes < 0) | (previous < 0) | (previous >= numbers), CHAIN),
        *(part.log.outside(offsets) if part.log is not None else ()),
        (np.diff(offsets, prepend=piece.before) < 0, ORDER),
    ]
    return labels(masks, len(numbers))


INDEX_ENTRIES = Table("index_entries", COLUMNS, _parts, batches=_batches, options=("max_hash_slot_num",))


_FILE_COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "file": ColumnSpec(pa.string(), "URI of the file; its name is the broker's local time when it was created"),
    "size": ColumnSpec(pa.int64(), "bytes of the file"),
    "slots": ColumnSpec(pa.int64(), "the number of slots of the hash table; null if unknown"),
    "used_slots": ColumnSpec(pa.int64(), "the number of slots in use; brokers up to 4.7.0 count the entries instead"),
    "entries": ColumnSpec(pa.int64(), "the number of entries"),
    "capacity": ColumnSpec(pa.int64(), "how many entries fit in the file; null if unknown"),
    "begin_timestamp": ColumnSpec(TIMESTAMP, "when the record of its first entry was stored"),
    "end_timestamp": ColumnSpec(TIMESTAMP, "when the record of its last entry was stored"),
    "first_physical_offset": ColumnSpec(pa.int64(), "the offset in the log of the first record"),
    "last_physical_offset": ColumnSpec(pa.int64(), "the offset in the log of the last record"),
    "found": ColumnSpec(pa.string(), "why a search cannot use the file; null if it can. The entries are not read"),
    "details": DETAILS,
}


def indexes_of(request: TableRequest) -> list[tuple[str, IndexFile]]:
    """Each index file, with the URI of its store."""
    slots = request.planning.max_hash_slot_num
    return [(store.uri, file) for store in request.stores for file in index_files(store.index, slots)]


def _file_parts(request: TableRequest) -> list[tuple[tuple[str, IndexFile], ...]]:
    files = indexes_of(request)
    return [tuple(files)] if files else []


def _file_batches(part: tuple[tuple[str, IndexFile], ...], projection: Projection) -> Iterator[pa.RecordBatch]:
    heads = map_files(head_of, [file for _, file in part])
    yield from batches_of((_file_row(store, file, *head) for (store, file), head in zip(part, heads, strict=True)), INDEX_FILES.schema)


def _file_row(store: str, file: IndexFile, head: Head | None, found: Said | None) -> dict[str, object]:
    row: dict[str, object] = {"store": store, "file": file.uri, "size": file.size, "slots": file.slots, **words_of(found)}
    row["capacity"] = None if file.slots is None else max(0, room_of(file) - 1)  # entry 0 is unused
    if head is None:
        return row
    begin, end = timestamps(np.array([head.begin_time, head.end_time]))
    row |= {"used_slots": head.used_slots, "entries": max(0, head.next_entry - 1)}
    row |= {"begin_timestamp": begin, "end_timestamp": end}
    return row | {"first_physical_offset": head.begin, "last_physical_offset": head.end}


INDEX_FILES = Table("index_files", _FILE_COLUMNS, _file_parts, batches=_file_batches, options=("max_hash_slot_num",))
