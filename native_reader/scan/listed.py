"""Rows that are made from entries of queues (`trust`): these have all their columns, so the records that they name are not read.

Of each queue file in the range, the first and the last record are looked at: they must be as their entries say, and no inner batch. No
two entries may name the same bytes. What fails is read. A damaged record, or one that another message replaced, is not noticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from native_reader.arrow import array
from native_reader.broker.settings import Topics
from native_reader.layout.record import Index
from native_reader.plan.claims import QueueClaims, certain_among, claims_within, tiles_of
from native_reader.plan.split import Split
from native_reader.records.extents import Extents
from native_reader.scan.narrowed import Contradiction
from native_reader.scan.pruned import QueuesRead, TrustedRead, UnclaimedRead, is_true, true_claims
from native_reader.sides.queues import Topic

_ROWS = 1 << 16
_OF_ENTRIES = {"physical_offset": "offsets", "record_size": "sizes"}


class ListedRead(QueuesRead):
    """A read through queues that knows some of its rows. `_listed`: the claims of these; none if the split was scanned."""

    def __init__(self, *of_split: Any, **limits: Any) -> None:
        super().__init__(*of_split, **limits)
        self._listed: list[QueueClaims] = []

    @property
    def listed(self) -> list[QueueClaims]:
        """The claims to make rows of, when the rest was read."""
        return self._listed if self.why is None else []

    def _apart(self, wanted: Sequence[QueueClaims]) -> tuple[list[QueueClaims], list[QueueClaims]]:
        """Of the claims that may match, those that rows are made of, and those whose records are read."""
        with_batches = Topics(f"{self._split.store}/config").of_batches()
        listed: list[QueueClaims] = []
        read: list[QueueClaims] = []
        for queue, entries in wanted:
            if queue.batch or queue.topic in with_batches:
                read.append(QueueClaims(queue, entries))
                continue
            certain = certain_among(queue, entries, self._predicate, self._facts)
            read += [] if certain.all() else [QueueClaims(queue, entries.where(~certain))]
            for of_file in entries.where(certain).by_file() if certain.any() else ():
                each = QueueClaims(queue, of_file)
                is_right = is_true(self._window, each, 0) and is_true(self._window, each, len(of_file) - 1)
                (listed if is_right else read).append(each)
        return listed, read


class ListedTrustedRead(ListedRead, TrustedRead):
    """What the wanted queues name, and nothing else."""

    def _claims(self) -> list[QueueClaims]:
        wanted = super()._claims()
        listed, read = self._apart(wanted)
        tiles = tiles_of(read, listed, self._split.segment.base + self._frame)
        if int(tiles.unwanted.sum()) != sum(len(each.entries) for each in listed):  # two name the same bytes
            return wanted
        self._listed = listed
        return read


class ListedUnclaimedRead(ListedRead, UnclaimedRead):
    """All that may match: also what no queue names."""

    def _true_claims(self, topics: list[Topic], begin: int, stop: int, written: int) -> tuple[list[QueueClaims], list[QueueClaims]]:
        base = self._split.segment.base
        span = base + self._frame + begin, base + self._frame + stop, base + self._split.end
        wanted, others = claims_within(self._directories, topics, self._predicate, self._facts, span, trust_tags=False)
        unwanted, _ = true_claims(self._window, others)
        self._listed, read = self._apart(_without_copies(wanted))
        return read, [*unwanted, *self._listed]

    def _left(self, wanted: list[QueueClaims], unwanted: list[QueueClaims]) -> tuple[Extents, int]:
        extents, last = super()._left(wanted, unwanted)
        # Claims that overlap are dropped, and equal ones count once. Without such, the claims and what is left add up.
        claimed = sum(each.entries.bytes + len(each.entries) * self._frame for each in unwanted)
        if unwanted and claimed + extents.bytes != last - self._begin:
            raise Contradiction("two consume queue entries name the same bytes")
        return extents, last

    def _check_costs(self, written: int, topics: int, records: int, extents: Extents, rest: int) -> None:
        super()._check_costs(written, topics, 0, extents, rest)  # entries cost little where no record is read


def _without_copies(claims: Sequence[QueueClaims]) -> list[QueueClaims]:
    """The claims without those of queues of which another directory has more."""
    most: dict[tuple[str, int, bool], QueueClaims] = {}
    for each in claims:
        name = each.queue.topic, each.queue.queue_id, each.queue.batch
        if name not in most or len(each.entries) > len(most[name].entries):
            most[name] = each
    return list(most.values())


def listed_rows(claims: Sequence[QueueClaims], split: Split, schema: pa.Schema) -> Iterator[tuple[int, pa.RecordBatch | None]]:
    """How many rows, and a batch of them if columns are wanted: queue by queue. No batch is empty."""
    if not schema.names:
        yield sum(len(each.entries) for each in claims), None
        return
    together: list[QueueClaims] = []
    rows = 0
    for queue, entries in claims:
        for piece in entries.pieces(_ROWS):
            together.append(QueueClaims(queue, piece))
            rows += len(piece)
            if rows >= _ROWS:
                yield rows, _batch(together, split, schema)
                together, rows = [], 0
    if together:
        yield rows, _batch(together, split, schema)


def _batch(claims: Sequence[QueueClaims], split: Split, schema: pa.Schema) -> pa.RecordBatch:
    which = np.repeat(np.arange(len(claims)), [len(each.entries) for each in claims])
    return pa.RecordBatch.from_arrays([_column(field, claims, which, split) for field in schema], schema=schema)


def _column(field: pa.Field, claims: Sequence[QueueClaims], which: Index, split: Split) -> pa.Array:
    if field.name == "inner_index":
        return pa.nulls(len(which), field.type)
    if field.name in _OF_ENTRIES:
        return array(np.concatenate([getattr(each.entries, _OF_ENTRIES[field.name]) for each in claims]), field.type)
    of_queues: dict[str, list[Any]] = {
        "topic": [each.queue.topic for each in claims],
        "queue_id": [each.queue.queue_id for each in claims],
        "store": [split.log.root] * len(claims),
        "segment": [split.segment.name] * len(claims),
    }
    return array(of_queues[field.name], field.type).take(array(which))
