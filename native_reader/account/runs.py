"""Messages of one part of a store that are in the same state, as runs of consecutive queue offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.account.states import Mark
from native_reader.arrow import array, scalar
from native_reader.layout.record import Index, Mask, Numbers
from native_reader.records.damages import Damages

Place = tuple[str, int]
"""Topic and queue id."""
NUMBERS = ("mark", "first", "stop", "messages", "bytes", "first_offset", "last_offset", "first_time", "last_time", "tag")
"""`[first, stop)` are queue offsets, and -1 where there are none; times are in milliseconds, and -1 if unknown."""
SCHEMA = pa.schema([("topic", pa.string()), ("queue_id", pa.int32()), ("file", pa.string()), *((name, pa.int64()) for name in NUMBERS)])
NO_TAG = 2**62
"""No hash of tags is so large."""
_MOST = 1 << 20
"""Runs that are held. If a corrupt log has more, those of one queue and state become one."""


class Named(NamedTuple):
    """Messages by queue offset: how many offsets each has, where it is in the log, its size, and the hash of its tag if it is wanted."""

    numbers: Numbers
    counts: Numbers
    offsets: Numbers
    sizes: Numbers | NDArray[np.int32]
    tags: Numbers | None = None

    def where(self, which: Mask | Index) -> Named:
        """Only these messages."""
        tags = None if self.tags is None else self.tags[which]
        return Named(self.numbers[which], self.counts[which], self.offsets[which], self.sizes[which], tags)


class Runs:
    """Collects the runs of one part."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._single: list[tuple[object, ...]] = []
        self._rows = 0
        self.damage: list[Damages] = []
        """What is not a record, and the records with a wrong checksum."""

    def records(self, marks: NDArray[np.int8], place: NDArray[np.int32], names: Sequence[Place], found: Named, times: Numbers) -> None:
        """Add whole records. `place`: which of `names` each has."""
        if len(marks):
            self._add(marks, place, names, found, times)

    def entries(self, mark: Mark, place: Place, found: Named) -> None:
        """Add entries of one queue whose records are not there."""
        if count := len(found.numbers):
            self._add(np.full(count, int(mark)), np.zeros(count, np.int32), [place], found, np.full(count, -1, np.int64))

    def one(
        self, mark: Mark, place: Place | None = None, *, numbers: tuple[int, int] = (-1, -1), messages: int = 0, size: int = 0,
        offsets: tuple[int, int] = (-1, -1), file: str | None = None,
    ) -> None:  # fmt: skip
        """Add one run. `offsets`: of its first and its last byte in the log."""
        topic, queue_id = (None, None) if place is None else place
        self._single.append((topic, queue_id, file, int(mark), *numbers, messages, size, *offsets, -1, -1, NO_TAG))

    def mark_all(self, mark: Mark) -> None:
        """Give this mark to all records that were added so far, unless they have a higher one.

        If the file is of another broker, the entries that name something in it name what is lost.
        """
        at = SCHEMA.get_field_index("mark")
        for place, batch in enumerate(self._batches):
            known = batch.column(at)
            marks = pc.if_else(pc.less(known, scalar(int(mark))), scalar(int(mark), pa.int64()), known)
            if mark == Mark.FOREIGN:
                names_lost = pc.is_in(known, array([int(Mark.WRONG_ENTRY), int(Mark.OTHER_QUEUE)], pa.int64()))
                marks = pc.if_else(names_lost, scalar(int(Mark.ENTRY), pa.int64()), marks)
            self._batches[place] = batch.set_column(at, SCHEMA.field(at), marks)

    def bytes_of(self, mark: Mark) -> int:
        """The sum of the sizes of the messages with that mark, without those that were added one by one."""
        sums = (pc.sum(batch.filter(pc.equal(batch["mark"], scalar(int(mark))))["bytes"]).as_py() for batch in self._batches)
        return sum(filter(None, sums))

    def add(self, batch: pa.RecordBatch) -> None:
        """Add runs of another part."""
        self._batches.append(batch)

    def batch(self) -> pa.RecordBatch | None:
        """All runs; None if there are none."""
        if self._single:
            columns = [array(column, field.type) for column, field in zip(zip(*self._single, strict=True), SCHEMA, strict=True)]
            self._batches.append(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))
            self._single = []
        if not self._batches:
            return None
        return pa.Table.from_batches(self._batches, SCHEMA).combine_chunks().to_batches()[0]

    def _add(
        self, marks: Numbers | NDArray[np.int8], place: NDArray[np.int32], names: Sequence[Place], found: Named, times: Numbers
    ) -> None:
        """Sort by queue, and make a run of what follows each other."""
        # numpy sorts numbers of 16 bits ten times as fast as wider ones. In a log, the offsets of each queue ascend already.
        order = np.argsort(place.astype(np.int16) if len(names) < 1 << 15 else place, kind="stable")
        marks, place = marks[order], place[order]
        numbers, counts, offsets, sizes = (each[order] for each in found[:4])
        times, stops = times[order], numbers + counts
        begins = place[1:] != place[:-1]
        begins |= marks[1:] != marks[:-1]
        if found.tags is not None:
            tags = found.tags[order]
            begins |= tags[1:] != tags[:-1]
        if self._rows < _MOST:
            begins |= numbers[1:] != stops[:-1]
        firsts = np.flatnonzero(np.append(True, begins))
        lasts = np.append(firsts[1:], len(marks)) - 1
        messages = np.add.reduceat(counts, firsts)
        is_one = stops[lasts] - numbers[firsts] == messages
        self._rows += len(firsts)
        values = {
            "mark": marks[firsts],
            "first": np.where(is_one, numbers[firsts], -1),
            "stop": np.where(is_one, stops[lasts], -1),
            "messages": messages,
            "bytes": np.add.reduceat(sizes, firsts, dtype=np.int64),
            "first_offset": np.minimum.reduceat(offsets, firsts),
            "last_offset": np.maximum.reduceat(offsets, firsts),
            "first_time": np.minimum.reduceat(times, firsts),
            "last_time": np.maximum.reduceat(times, firsts),
            "tag": np.full(len(firsts), NO_TAG) if found.tags is None else tags[firsts],
        }
        used = np.unique(place[firsts])
        whose = np.searchsorted(used, place[firsts])
        topics = array([names[each][0] for each in used.tolist()], pa.string()).take(array(whose))
        queues = array([names[each][1] for each in used.tolist()], pa.int32()).take(array(whose))
        arrays = [
            topics,
            queues,
            pa.nulls(len(firsts), pa.string()),
            *(array(values[name].astype(np.int64, copy=False)) for name in NUMBERS),
        ]
        self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA))
