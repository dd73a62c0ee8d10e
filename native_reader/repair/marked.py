"""The whole records of a log, many at once: their numbers and the hash of each tag, as the check of a store has them.

No column is made of them, apart from the delay levels of the few delayed ones: that costs several times as much.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.columns.rows import Rows
from native_reader.layout.kinds import DELAY_TOPIC
from native_reader.layout.queue_entry import is_light
from native_reader.layout.record import INNER_BATCH, PREPARED, ROLLBACK, TRANSACTION, Mask, Numbers
from native_reader.plan.beside import Sides
from native_reader.repair.batch_queues import stated_counts
from native_reader.repair.doubts import KEYS, WHY, doubts_in
from native_reader.repair.kept_keys import KeptKeys, indexed
from native_reader.repair.records import ReadSettings, Records, held_back
from native_reader.scan.read import Reading
from native_reader.scan.run import Run
from native_reader.storage.broker_conf import FileSizes
from native_reader.storage.store import StoreFiles
from native_reader.verify.contradicted import Contradicted
from native_reader.verify.marks import Marks, new_marker
from native_reader.verify.sides import QueueNumbering

_KEYS_COLUMN = "keys"
_AT_ONCE = 1 << 17
"""Records that are compared with queues at once: each time looks into every queue."""
_AHEAD = 8 << 20
"""Bytes of what was read in one part, and not compared yet."""


class Numbering:
    """Queues get numbers as they occur, in whichever thread reads them."""

    def __init__(self) -> None:
        self.queues: list[tuple[str, int]] = []
        self._numbers: dict[tuple[str, int], int] = {}
        self._lock = Lock()

    def number(self, topic: bytes, queue_id: int) -> int:
        """The number of a queue."""
        key = topic.decode("utf-8", "replace"), queue_id
        with self._lock:
            if key not in self._numbers:
                self._numbers[key] = len(self.queues)
                self.queues.append(key)
            return self._numbers[key]


class MarkedLog:
    """Reads the whole records of a store that a repair keeps."""

    def __init__(self, files: StoreFiles, settings: ReadSettings, kept: KeptKeys | None = None) -> None:
        options, self._numbering, self._kept = settings.options(("delay_level",)), Numbering(), kept
        self.scan = settings.scan(files, ("delay_level",))
        delays = np.array((0, *(settings.sizes or FileSizes()).delays), np.int64)
        plan = self.scan.plan()
        is_stale = bool(dict(plan.stale).get(files.uri))
        with_tags = None if kept is None else kept.with_tags
        reading = partial(
            _MarkedSplit, self._numbering, delays, with_tags, _index_of(files, dict(plan.ends)[files.uri], discarded=is_stale)
        )
        # To compare what is read takes as long as to read it, in one thread more. Of a rate, each reader has its share.
        readers = settings.jobs if settings.max_read_rate is not None else max(settings.jobs - 1, 1)
        self.run = Run(plan, options.projection(), readers, progress=settings.progress, reading=reading, ahead=_AHEAD)

    @property
    def queues(self) -> list[tuple[str, int]]:
        """Topic and queue id by number."""
        return self._numbering.queues

    def number(self, topic: str, queue_id: int) -> int:
        """The number of a queue."""
        return self._numbering.number(topic.encode(), queue_id)

    def batches(self) -> Iterator[Records]:
        """All records, in log order."""
        if self._kept is not None:
            self._kept.clear()
        pieces, held = list[Records](), 0
        for batch in self.run:
            columns = [batch.column(name).to_numpy(zero_copy_only=False) for name in Records._fields]
            pieces.append(Records._make(columns))
            if self._kept is not None:
                keys = batch.column(_KEYS_COLUMN)
                self._kept.put(pieces[-1].offset, pieces[-1].time, keys.value_lengths().to_numpy(), keys.flatten().to_numpy())
            held += len(batch)
            if held >= _AT_ONCE:
                yield _joined(pieces)
                pieces, held = [], 0
        if held:
            yield _joined(pieces)


def _joined(pieces: list[Records]) -> Records:
    return Records._make(np.concatenate(columns) for columns in zip(*pieces, strict=True))


def _index_of(files: StoreFiles, end: int, *, discarded: bool) -> Sides:
    """What records are compared with while they are read: the index. Their queues are compared later, in the order of the log."""
    flags = {"is_live": False, "stopped": True, "discarded": discarded}
    return Sides(files.uri, (), files.index, None, files.first_record, end, **flags, slots=None, tolerance=0)


class _MarkedSplit(Reading):
    """The records of a split. A batch has the fields of `Records`. `with_tags`: whether keys have those of tags; None for no keys."""

    def __init__(self, numbering: Numbering, delays: Numbers, with_tags: bool | None, index: Sides, *arguments: Any) -> None:
        super().__init__(*arguments)
        split, segment = self._split, self._split.segment
        self._index = Contradicted(index, QueueNumbering(index), segment.base + split.start, segment.base + split.end)
        self._with_tags = with_tags
        self._numbering, self._delays, self._marker = numbering, delays, new_marker()
        self._numbers, self._is_delay = list[int](), list[bool]()
        """Of each place of the marker: the number of its queue, and whether it is one of delayed messages."""

    def _batches(self, rows: Rows) -> Iterator[tuple[Rows, pa.RecordBatch]]:
        whole = self._verified(rows) if self._projection.verify_crc else rows
        if len(whole):
            self._rows += len(whole)
            self._marker.add(whole.source.u8, whole.records)
            marks = Marks._make(self._marker.taken())
            records = self._records(whole, marks)
            columns = {name: pa.array(column) for name, column in records._asdict().items()}
            if self._with_tags is not None:
                columns[_KEYS_COLUMN] = _lists(marks, len(records.offset), with_tags=self._with_tags)
            yield whole, pa.record_batch(columns)

    def _records(self, rows: Rows, marks: Marks) -> Records:
        for topic, queue_id in marks.places:
            self._numbers.append(self._numbering.number(topic, queue_id))
            self._is_delay.append(topic == DELAY_TOPIC.encode())
        counts = stated_counts(marks.messages, marks.flags & INNER_BATCH != 0)
        state = marks.flags & TRANSACTION
        queue = np.array(self._numbers, np.int64)[marks.place]
        queue = np.where((state == PREPARED) | (state == ROLLBACK), held_back(queue), queue)
        code, by_time = self._codes(rows, marks)
        doubts, none = self._doubts(rows, marks), np.zeros(len(rows), np.bool_)
        own = Records(marks.offset, marks.size.astype(np.int64), marks.time, queue, marks.queue_offset, code, by_time, doubts, counts, none)
        return _joined([own, self._lights(own, marks)]) if len(marks.light) else own

    def _lights(self, own: Records, marks: Marks) -> Records:
        """The places of these records in light queues."""
        names = [(name, name.decode("utf-8", "replace")) for name in marks.light_queues]
        numbers = np.array([self._numbering.number(name, 0) if is_light(text) else -1 for name, text in names], np.int64)[marks.light]
        which = (numbers >= 0) & (marks.light_number >= 0) & (own.queue[marks.light_row] >= 0)
        found = own.where(marks.light_row[which])
        one, light = np.ones(len(found.offset), np.int64), np.ones(len(found.offset), np.bool_)
        return found._replace(queue=numbers[which], slot=marks.light_number[which], messages=one, is_light=light)

    def _doubts(self, rows: Rows, marks: Marks) -> NDArray[np.int8]:
        found = doubts_in(rows, marks.doubts)
        for offsets in self._index.among(rows.source.u8, rows.records).values():
            found[np.isin(rows.records.heads["physical_offset"], offsets) & (found == 0)] = WHY.index(KEYS)
        return found

    def _codes(self, rows: Rows, marks: Marks) -> tuple[Numbers, Mask]:
        """The tags code that each entry should have, and which ones are times."""
        code: Numbers = marks.tag.astype(np.int64)
        by_time: NDArray[np.bool_] = np.zeros(len(rows), np.bool_)
        delayed = np.flatnonzero(marks.delayed & np.array(self._is_delay, np.bool_)[marks.place])
        if len(delayed):
            chunk = self._columns.chunk(rows.where(delayed))
            (column,) = pa.Table.from_batches([batch for _, batch in self._made.of(chunk)]).columns
            levels = column.fill_null(0).to_numpy().astype(np.int64)
            by_time[delayed] = levels > 0
            due = marks.time[delayed] + 1000 * self._delays[np.clip(levels, 0, len(self._delays) - 1)]
            code[delayed] = np.where(levels > 0, due, code[delayed])
        return code, by_time


def _lists(marks: Marks, count: int, *, with_tags: bool) -> pa.ListArray:
    """The hashes of the keys of each record that brokers index. `count`: of the rows, with those that have none."""
    rolls_back = marks.flags & TRANSACTION == ROLLBACK
    rows, hashes = indexed(marks.key_row, marks.key, marks.tag_key, marks.tag != 0, rolls_back, with_tags=with_tags)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
    return pa.ListArray.from_arrays(bounds.astype(np.int32), hashes.astype(np.int32))
