"""`queue_entries`: one row for each written entry of a consume queue, as it is on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.arrow import array
from native_reader.columns.makers import timestamps
from native_reader.columns.projection import Projection
from native_reader.columns.spec import TIMESTAMP, ColumnSpec
from native_reader.layout.queue_entry import BATCH_ENTRY, FILLER_SIZE, QUEUE_ENTRY, is_written
from native_reader.layout.record import Mask
from native_reader.sides.bounds import BATCH, LIGHT, SIMPLE, type_of, written_units
from native_reader.sides.queues import IF_DELETED, Queue, QueueFile, QueueReader, queues_of, topics_in
from native_reader.storage.protocol import map_files
from native_reader.storage.rocksdb_queues import database_of, times_of
from native_reader.tables.damage import OF_OFFSETS, VALID, LogRange, labels, ranges_of, repeated
from native_reader.tables.queues import warn_of_rocksdb
from native_reader.tables.table import Table, TableRequest

FILLER, INVALID, ORDER = "filler", "invalid", "order"
VALIDITIES = {
    FILLER: "fills the places before the first entry of a queue that does not begin at 0",
    INVALID: "no record has this offset and size",
    **OF_OFFSETS,
    ORDER: "the offset is not higher than that of the entry before it in the same file: one of the two is wrong",
    VALID: "none of these",
}
"""In order of precedence."""

COLUMNS = {
    "store": ColumnSpec(pa.string(), "URI of the store's root"),
    "topic": ColumnSpec(pa.string(), "the topic; of a light queue (LMQ), the name of the queue"),
    "queue_id": ColumnSpec(pa.int32(), "the number of the queue"),
    "type": ColumnSpec(pa.string(), f"`{SIMPLE}`, `{BATCH}` or `{LIGHT}`"),
    "queue_offset": ColumnSpec(
        pa.int64(), "the place in the queue; of a batch entry, the queue offset of its first message. The record's own may differ in LMQ"
    ),
    "messages": ColumnSpec(pa.int32(), "the number of messages of a batch entry; otherwise 1"),
    "physical_offset": ColumnSpec(pa.int64(), "the offset of the record in the log"),
    "size": ColumnSpec(pa.int32(), "the size of the record"),
    "tags_code": ColumnSpec(
        pa.int64(),
        "Java's hash of the tags, 0 without tags; in `SCHEDULE_TOPIC_XXXX` the time of delivery in milliseconds; "
        "below -2147483648 an address in `consumequeue_ext`",
    ),
    "store_timestamp": ColumnSpec(TIMESTAMP, "when the record was stored; only batch entries and those in RocksDB have it"),
    "validity": ColumnSpec(pa.string(), "one of the values below. The record itself is not read"),
    "file": ColumnSpec(pa.string(), "URI of the file; in RocksDB, of the database"),
    "position": ColumnSpec(pa.int64(), "the position of the entry in the file; null in RocksDB"),
}
_BATCH = 1 << 16
_Makers = dict[str, Callable[[], object]]


class EntryFile(NamedTuple):
    """One file of a queue."""

    topic: str
    queue_id: int
    type: str
    file: QueueFile


class EntryFiles(NamedTuple):
    """Some files of a store's queues. `log`: the offsets of its log; None if the validity is not wanted, or there is no log."""

    store: str
    log: LogRange | None
    files: tuple[EntryFile, ...]

    @property
    def work(self) -> int:
        """The approximate number of bytes to read."""
        return sum(file.file.units * _dtype(file).itemsize for file in self.files)


class _FileEntries(NamedTuple):
    """Written entries of one file: their positions, which are out of order, and when their records were stored, where it is known."""

    file: EntryFile
    positions: NDArray[np.int64]
    entries: NDArray[np.void]
    unordered: Mask
    times: NDArray[np.int64] | None


def _parts(request: TableRequest) -> list[EntryFiles]:
    warn_of_rocksdb(request.stores)
    ranges = ranges_of(request) if request.wants("validity") else {}
    parts: list[EntryFiles] = []
    for store in request.stores:
        topics = topics_in(store.queues, light=True)
        queues = [queue for of_topic in map_files(lambda topic: queues_of(topic, strict=True), topics) for queue in of_topic]
        files = [EntryFile(queue.topic, queue.queue_id, type_of(queue), file) for queue in queues for file in queue.files]
        packed = _packed(files, request.planning.max_partition_bytes)
        parts += [EntryFiles(store.uri, ranges.get(store.uri), each) for each in packed]
    return parts


def _packed(files: Iterable[EntryFile], most: int) -> Iterator[tuple[EntryFile, ...]]:
    """The files in groups of about `most` bytes: a part for each of many small files costs more than the files."""
    group: list[EntryFile] = []
    room = most
    for each in files:
        size = each.file.units * _dtype(each).itemsize
        if group and size > room:
            yield tuple(group)
            group, room = [], most
        group.append(each)
        room -= size
    if group:
        yield tuple(group)


def _dtype(file: EntryFile) -> np.dtype[np.void]:
    return BATCH_ENTRY if file.type == BATCH else QUEUE_ENTRY


def _batches(part: EntryFiles, projection: Projection) -> Iterator[pa.RecordBatch]:
    pieces: list[_FileEntries] = []
    room = _BATCH
    for file in part.files:
        for piece in _pieces(file):
            pieces.append(piece)
            room -= len(piece.entries)
            if projection.advanced is not None:
                projection.advanced(piece.entries.nbytes)
            if room <= 0:
                yield _batch(part, pieces, projection)
                pieces, room = [], _BATCH
    if pieces:
        yield _batch(part, pieces, projection)


def _pieces(file: EntryFile) -> Iterator[_FileEntries]:
    """The written entries of a file, without the zeros between and after them."""
    with QueueReader(Queue(file.topic, file.queue_id, file.type == BATCH, (file.file,)), IF_DELETED) as reader:
        try:
            stored = reader.file(0)
        except FileNotFoundError:  # expired meanwhile
            return
        before = -1
        for place, units in reader.pieces(0, 0, written_units(stored, reader.width, file.file.units)):
            position = place * reader.width
            is_used = units.view(np.uint8).reshape(len(units), -1).any(axis=1)
            which = np.flatnonzero(is_used)
            if not len(which):
                continue
            entries = units.take(which)
            offsets = entries["offset"].astype(np.int64)
            named = np.flatnonzero(is_written(entries))
            unordered = np.zeros(len(entries), np.bool_)
            unordered[named] = np.diff(offsets[named], prepend=before) <= 0
            before = int(offsets[named[-1]]) if len(named) else before
            times = entries["store_timestamp"].astype(np.int64) if file.type == BATCH else times_of(stored, position, which)
            yield _FileEntries(file, position + which * reader.width, entries, unordered, times)


def _batch(part: EntryFiles, pieces: list[_FileEntries], projection: Projection) -> pa.RecordBatch:
    """The rows of those pieces."""
    counts = [len(piece.entries) for piece in pieces]
    files = [piece.file for piece in pieces]
    offsets, sizes, codes = (
        np.concatenate([piece.entries[name].astype(kind) for piece in pieces])
        for name, kind in (("offset", np.int64), ("size", np.int32), ("tags_code", np.int64))
    )
    makers: _Makers = {
        "store": lambda: repeated([part.store], [len(offsets)]),
        "topic": lambda: repeated([file.topic for file in files], counts),
        "queue_id": lambda: np.repeat(np.array([file.queue_id for file in files], np.int32), counts),
        "type": lambda: repeated([file.type for file in files], counts),
        "queue_offset": lambda: np.concatenate([_numbers(piece) for piece in pieces]),
        "messages": lambda: np.concatenate([_of_batch(piece, "count", 1) for piece in pieces]).astype(np.int32),
        "physical_offset": lambda: offsets,
        "size": lambda: sizes,
        "tags_code": lambda: codes,
        "store_timestamp": lambda: _times(pieces),
        "validity": lambda: _validity(part, pieces, offsets, sizes),
        "file": lambda: repeated([database_of(file.file.uri) or file.file.uri for file in files], counts),
        "position": lambda: pa.concat_arrays([_positions(piece) for piece in pieces]),
    }
    return QUEUE_ENTRIES.batch_of(makers, projection)


def _times(pieces: list[_FileEntries]) -> pa.Array:
    absent = np.concatenate([np.full(len(piece.entries), piece.times is None) for piece in pieces])
    return timestamps(
        np.concatenate([np.zeros(len(piece.entries), np.int64) if piece.times is None else piece.times for piece in pieces]), absent
    )


def _positions(piece: _FileEntries) -> pa.Array:
    is_file = database_of(piece.file.file.uri) is None
    return array(piece.positions) if is_file else pa.nulls(len(piece.positions), pa.int64())


def _validity(part: EntryFiles, pieces: list[_FileEntries], offsets: NDArray[np.int64], sizes: NDArray[np.int32]) -> pa.Array:
    masks: list[tuple[Mask, str]] = [(sizes == FILLER_SIZE, FILLER), ((sizes <= 0) | (offsets < 0), INVALID)]
    if part.log is not None:
        masks += part.log.outside(offsets)
    masks.append((np.concatenate([piece.unordered for piece in pieces]), ORDER))
    return labels(masks, len(offsets))


def _numbers(piece: _FileEntries) -> NDArray[np.int64]:
    if piece.file.type == BATCH:
        return piece.entries["base"].astype(np.int64)
    return piece.file.file.base + piece.positions // QUEUE_ENTRY.itemsize


def _of_batch(piece: _FileEntries, field: str, otherwise: int) -> NDArray[np.int64]:
    """A field that only batch entries have."""
    return piece.entries[field].astype(np.int64) if piece.file.type == BATCH else np.full(len(piece.entries), otherwise, np.int64)


QUEUE_ENTRIES = Table("queue_entries", COLUMNS, _parts, batches=_batches)
