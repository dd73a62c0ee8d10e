"""The store of a DLedger peer as a plain one: the records without the headers of their entries, one after another.

Only the place of each record changes, and what names it: queues, the index and the log of timers. Bytes of the log that are lost keep
their length, so that queue entries which name lost messages still show where these were.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from native_reader.broker.epochs import EPOCHS
from native_reader.layout.arrays import is_among
from native_reader.layout.index_entry import INDEX_ENTRY, slots_at
from native_reader.layout.queue_entry import BATCH_ENTRY, QUEUE_ENTRY, STORED_OFFSET
from native_reader.layout.record import ENTRY_HEAD, SMALLEST_RECORD, Numbers
from native_reader.records.damages import Damages
from native_reader.records.entries import unused_from
from native_reader.repair import disk
from native_reader.repair.log_shape import BLANK, Moved, appended, segment_size
from native_reader.repair.records import ReadSettings
from native_reader.repair.refusals import refusal
from native_reader.sides.index import index_files
from native_reader.storage.moved import Entries, EntriesOf, MovedStorage, Places
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import DLEDGER, StoreFiles

IDS = "offset-msg-ids.csv"
"""The file with the old and the new place of each message."""
TIMERS = "timerlog"
_TIMER = Entries(52, 28)
"""`TimerLog`: units of 52 bytes, with the place of a timed message at 28."""
_MOST_LOST = 1000
NOT_COPIED = "dledger-", "brokerIdentity", EPOCHS
"""The beginnings of names of what a plain store does not have."""
_DIGITS = np.frombuffer(b"0123456789ABCDEF", np.uint8)
_ID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Plain:
    """A DLedger store as a plain one.

    Attributes:
        old: The store as it is.
        files: The plain one. Its log, queues and index can be read as long as `storage` exists.
        places: Where the records come to be.
        damage: What of the old log is damaged; `end`: where it ends.
    """

    old: StoreFiles
    files: StoreFiles
    storage: MovedStorage
    places: Places
    damage: Damages
    end: int

    @property
    def directories(self) -> set[str]:
        """Where the old log is; that of DLedger with its own index and checkpoint."""
        return {each.directory.rpartition("/")[0] if each.framing == DLEDGER else each.directory for each in self.old.segments}


def plain_of(files: StoreFiles, settings: ReadSettings) -> Plain:
    """Read where the records of the log are, and give each its new place."""
    framed = {each.base: each for each in files.segments if each.framing == DLEDGER}
    size, begin = segment_size(files), min(framed)
    old, sizes, damage, log_end = _records(files, settings, begin)
    damage = damage.where(np.array([unused_from(files, each.start, each.end).stop < each.end for each in damage], np.bool_))
    lost = np.array(list(_lost(files, old, sizes, begin, size)), np.int64).reshape(-1, 2)
    order = np.argsort(np.concatenate([old, lost[:, 0]]), kind="stable")
    all_sizes = np.concatenate([sizes, lost[:, 1]])[order]
    places = Places(np.concatenate([old, lost[:, 0]])[order], all_sizes, appended(all_sizes, size, begin), order < len(old), begin)
    storage = MovedStorage(places, framed)
    end = int(places.new[-1] + all_sizes[-1])
    segments = [each for each in files.segments if each.framing != DLEDGER]
    segments += [storage.add_segment(base, size) for base in range(begin, end, size)]

    def folder(uri: str | None, entries_of: EntriesOf) -> str | None:
        return None if uri is None else storage.add_folder(uri, entries_of)

    plain = replace(
        files,
        segments=tuple(segments),
        consume_queue=folder(files.consume_queue, lambda _: Entries(QUEUE_ENTRY.itemsize, 0)),
        batch_queue=folder(files.batch_queue, lambda _: Entries(BATCH_ENTRY.itemsize, 0)),
        index=folder(files.index, entries_of_index(files, settings)),
    )
    return Plain(files, plain, storage, places, damage, log_end)


def entries_of_index(files: StoreFiles, settings: ReadSettings) -> EntriesOf:
    """Where the entries of each file of the index are."""
    slots = {each.uri: each.slots for each in index_files(files.index, None if settings.sizes is None else settings.sizes.index_slots)}

    def of_file(uri: str) -> Entries | None:
        count = slots.get(uri)
        return None if count is None else Entries(INDEX_ENTRY.itemsize, 4, slots_at(count), (16, 24))

    return of_file


def _records(files: StoreFiles, settings: ReadSettings, begin: int) -> tuple[Numbers, Numbers, Damages, int]:
    """The places and sizes of all whole records of DLedger's entries, also of those whose body is damaged; damage; the end of the log."""
    settings = settings.doing("reading")._replace(choices=settings.choices._replace(crc="fix"))
    scan = settings.scan(files, ("physical_offset", "record_size"))
    run = scan.run(settings.jobs, settings.progress)
    places, sizes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for batch in run:
        place, size = (batch.column(number).to_numpy(zero_copy_only=False).astype(np.int64) for number in (0, 1))
        is_own = np.append(True, place[1:] != place[:-1])[: len(place)] & (place >= begin)  # an inner batch has a row for each message
        places.append(place[is_own])
        sizes.append(size[is_own])
    if not sum(map(len, places)):
        raise refusal("no record", store=files.uri)
    return np.concatenate(places), np.concatenate(sizes), Damages.of(run.report.damage), dict(scan.plan().ends)[files.uri]


def _lost(files: StoreFiles, old: Numbers, sizes: Numbers, begin: int, size: int) -> Iterator[tuple[int, int]]:
    """Where records may have been that are lost, and in how many bytes: between whole entries, file by file."""
    starts, stops = np.append(begin, old + sizes)[:-1], old - ENTRY_HEAD
    between = np.flatnonzero(stops > starts)
    for start, stop in zip(starts[between].tolist(), stops[between].tolist(), strict=True):
        if stop - start > _MOST_LOST * size:
            raise refusal("segments", count=(stop - start) // size, most=_MOST_LOST)
        for base in range(start // size * size, stop, size):
            at, end = max(start, base), min(stop, base + size)
            at = unused_from(files, at, end).stop
            left = end - at - ENTRY_HEAD - (BLANK if end == base + size else 0)
            if left >= SMALLEST_RECORD:
                yield at + ENTRY_HEAD, left


def write_timers(plain: Plain, folder: str) -> None:
    """Write the log of timers with the new places."""
    own = f"{plain.old.uri}/{TIMERS}"
    if (entry := storage_of(own).entry(own)) is None or not entry.is_directory:
        return
    uri = plain.storage.add_folder(own, lambda _: _TIMER)
    for each in storage_of(uri).list(uri):
        if each.is_file:
            disk.write_made(f"{uri}/{each.name}", disk.path_in(folder, TIMERS, each.name))


def write_ids(plain: Plain, new: StoreFiles, path: str, placeholders: Numbers, *, moved: Moved | None, settings: ReadSettings) -> None:
    """Write the old and the new place of each message, and the ids that brokers make of both."""
    names = ("old_physical_offset", "new_physical_offset", "old_offset_msg_id", "new_offset_msg_id")
    kinds = (pa.int64(), pa.int64(), pa.string(), pa.string())
    schema = pa.schema(list(zip(names, kinds, strict=True)))
    with csv.CSVWriter(path, schema, write_options=csv.WriteOptions(quoting_style="none")) as writer:
        for batch in settings.scan(new, ("physical_offset", "offset_msg_id")).to_batches(settings.jobs):
            places = batch.column(0).to_numpy(zero_copy_only=False).astype(np.int64)
            rows = np.flatnonzero(~is_among(places, placeholders)) if len(placeholders) else np.arange(len(places))
            places, ids = places[rows], batch.column(1).cast(pa.string()).take(pa.array(rows))
            old = plain.places.old_of(places if moved is None else moved.old_of(places))
            writer.write_batch(pa.record_batch([pa.array(old), pa.array(places), _with_place(ids, old), ids], schema=schema))


def _with_place(ids: pa.StringArray, places: Numbers) -> pa.StringArray:
    """The ids with these places, which are their last 16 digits."""
    content = np.ascontiguousarray(places.astype(STORED_OFFSET)).view(np.uint8).reshape(-1, 8)
    digits = np.stack([_DIGITS[content >> 4], _DIGITS[content & 15]], axis=2).reshape(-1, _ID_DIGITS)
    ends = pa.array(np.ascontiguousarray(digits).view(f"S{_ID_DIGITS}").reshape(-1), pa.string())
    return pc.binary_join_element_wise(pc.utf8_slice_codeunits(ids, 0, -_ID_DIGITS), ends, "")
