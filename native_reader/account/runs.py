"""Messages of one part of a store that are in the same state, as runs of consecutive queue offsets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from native_reader.account.states import Mark
from native_reader.layout.record import Index, Numbers

Place = tuple[str, int]
"""Topic and queue id."""
NUMBERS = ("mark", "first", "stop", "messages", "bytes", "first_offset", "last_offset", "first_time", "last_time", "tag")
"""`[first, stop)` are queue offsets, and -1 where there are none; times are in milliseconds, and -1 if unknown."""
SCHEMA = pa.schema([("topic", pa.string()), ("queue_id", pa.int32()), ("file", pa.string()), *((name, pa.int64()) for name in NUMBERS)])
NO_TAG = 2**62
"""No hash of tags is so large."""
_MOST = 1 << 20
"""Runs that are held. If a corrupt log has more, those of one queue and state become one."""


class Runs:
    """Collects the runs of one part."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._rows = 0

    def records(
        self, marks: NDArray[np.int8], place: Index, names: Sequence[Place], numbers: Numbers, counts: Numbers, sizes: Numbers,
        offsets: Numbers, times: Numbers,
    ) -> None:  # fmt: skip
        """Add whole records. `place`: which of `names` each has; `counts`: how many queue offsets."""
        if len(marks):
            nothing = np.full(len(marks), NO_TAG)
            self._add(marks.astype(np.int64), place, names, (numbers, counts, sizes, offsets, times, nothing))

    def entries(
        self, mark: Mark, place: Place, numbers: Numbers, counts: Numbers, offsets: Numbers, sizes: Numbers, tags: Numbers | None
    ) -> None:
        """Add entries of one queue whose records are not there."""
        if len(numbers):
            unknown = np.full(len(numbers), -1, np.int64)
            tags = np.full(len(numbers), NO_TAG) if tags is None else tags
            zeros = np.zeros(len(numbers), np.intp)
            self._add(np.full(len(numbers), int(mark)), zeros, [place], (numbers, counts, sizes, offsets, unknown, tags))

    def one(
        self, mark: Mark, place: Place | None = None, *, numbers: tuple[int, int] = (-1, -1), messages: int = 0, size: int = 0,
        offsets: tuple[int, int] = (-1, -1), file: str | None = None,
    ) -> None:  # fmt: skip
        """Add one run. `offsets`: of its first and its last byte in the log."""
        topic, queue_id = (None, None) if place is None else place
        row = dict(zip(NUMBERS, (int(mark), *numbers, messages, size, *offsets, -1, -1, NO_TAG), strict=True))
        self._batches.append(pa.RecordBatch.from_pylist([{"topic": topic, "queue_id": queue_id, "file": file, **row}], SCHEMA))

    def mark_all(self, mark: Mark) -> None:
        """Give this mark to all records that were added so far, unless they have a higher one."""
        at = SCHEMA.get_field_index("mark")
        for place, batch in enumerate(self._batches):
            known = batch.column(at)
            marks = pc.if_else(pc.less(known, int(mark)), pa.scalar(int(mark), pa.int64()), known)
            self._batches[place] = batch.set_column(at, SCHEMA.field(at), marks)

    def batch(self) -> pa.RecordBatch | None:
        """All runs; None if there are none."""
        if not self._batches:
            return None
        return pa.Table.from_batches(self._batches, SCHEMA).combine_chunks().to_batches()[0]

    def _add(self, marks: Numbers, place: Index, names: Sequence[Place], columns: tuple[Numbers, ...]) -> None:
        """Sort by queue, and make a run of what follows each other. `columns`: as `records` takes them, and tags."""
        # numpy sorts numbers of 16 bits ten times as fast as wider ones. In a log, the offsets of each queue ascend already.
        order = np.argsort(place.astype(np.int16) if len(names) < 1 << 15 else place, kind="stable")
        marks, place = marks[order], place[order]
        numbers, counts, sizes, offsets, times, tags = (each[order] for each in columns)
        begins = place[1:] != place[:-1]
        begins |= (marks[1:] != marks[:-1]) | (tags[1:] != tags[:-1])
        if self._rows < _MOST:
            begins |= numbers[1:] != (numbers + counts)[:-1]
        firsts = np.flatnonzero(np.append(True, begins))
        lasts = np.append(firsts[1:], len(marks)) - 1
        is_one = (numbers + counts)[lasts] - numbers[firsts] == np.add.reduceat(counts, firsts)
        self._rows += len(firsts)
        found = {
            "mark": marks[firsts],
            "first": np.where(is_one, numbers[firsts], -1),
            "stop": np.where(is_one, (numbers + counts)[lasts], -1),
            "messages": np.add.reduceat(counts, firsts),
            "bytes": np.add.reduceat(sizes.astype(np.int64), firsts),
            "first_offset": np.minimum.reduceat(offsets, firsts),
            "last_offset": np.maximum.reduceat(offsets, firsts),
            "first_time": np.minimum.reduceat(times, firsts),
            "last_time": np.maximum.reduceat(times, firsts),
            "tag": tags[firsts],
        }
        used = np.unique(place[firsts])
        whose = np.searchsorted(used, place[firsts])
        topics = pa.array([names[each][0] for each in used.tolist()], pa.string()).take(pa.array(whose))
        queues = pa.array([names[each][1] for each in used.tolist()], pa.int32()).take(pa.array(whose))
        arrays = [topics, queues, pa.nulls(len(firsts), pa.string()), *(pa.array(found[name], pa.int64()) for name in NUMBERS)]
        self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA))
