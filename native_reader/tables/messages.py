"""What the tables made from messages share: pruned reads that can be pickled, and properties as columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.arrow import array, numpy_of
from native_reader.columns.makers import timestamps
from native_reader.columns.projection import DROPMALFORMED, Projection
from native_reader.layout.record import Numbers
from native_reader.plan.plan import EVERY_ROW, Plan, Wanted
from native_reader.plan.planner import plan_read
from native_reader.plan.split import Split
from native_reader.predicate.tree import Predicate
from native_reader.scan.read import Reading
from native_reader.storage.store import StoreFiles
from native_reader.tables.table import TableRequest

NO_TIME = np.iinfo(np.int64).min
"""A null as a number: no time and no offset of a message has this value."""

LARGEST = 4 << 20
"""Brokers and clients split such bodies at a few KB. A much larger one is something else, and its values could fill the memory."""
_AT_ONCE = 1 << 20
_INTEGER = r"\A-?[0-9]{1,18}\z"
"""Fits an i8, whatever the digits."""


class MessagesPart(NamedTuple):
    """One split of a read."""

    split: Split
    wanted: Wanted = EVERY_ROW

    @property
    def work(self) -> int:
        """The approximate number of bytes to read."""
        return self.split.work

    def reading(self, projection: Projection, *columns: str) -> Reading:
        """These columns of its messages. Damage is skipped: the tables `damage` and `segments` list it."""
        lenient = replace(projection, columns=columns, mode=DROPMALFORMED, fail_on_data_loss=False, column_name_of_corrupt_record=None)
        return Reading(self.split, lenient, self.wanted)


def pieces(request: TableRequest, predicate: Predicate) -> list[MessagesPart]:
    """The splits of all stores that may hold matching messages."""
    return pieces_of(plan_read(request.stores, predicate, request.planning, seen=request.seen))


def pieces_by_store(request: TableRequest, predicate: Predicate) -> dict[str, list[MessagesPart]]:
    """The same by store, in log order."""
    by_store: dict[str, list[MessagesPart]] = {}
    for piece in pieces(request, predicate):
        by_store.setdefault(piece.split.store, []).append(piece)
    return by_store


def pieces_of_store(request: TableRequest, store: StoreFiles, predicate: Predicate) -> list[MessagesPart]:
    """The splits of one store, for a predicate that is only for this store."""
    ranges = {store.uri: (store.min_offset, request.ends[store.uri].offset)}
    return pieces_of(plan_read([store], predicate, request.planning, ranges, request.seen))


def pieces_of(plan: Plan) -> list[MessagesPart]:
    """The splits of a plan."""
    return [MessagesPart(split, plan.wanted) for split in plan.splits]


def in_pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Pieces with few bytes of bodies each, for bodies that hold many short values. A body above LARGEST counts as nothing."""
    sizes = numpy_of(pc.binary_length(batch.column("body")).fill_null(0)).astype(np.int64)
    which = np.cumsum(np.where(sizes > LARGEST, 0, sizes)) // _AT_ONCE
    borders = [0, *(np.flatnonzero(np.diff(which)) + 1).tolist(), len(batch)]
    for start, stop in pairwise(borders):
        yield batch.slice(start, stop - start)


def property_in(properties: pa.MapArray, name: str) -> pa.StringArray:
    """One property of each row; null where it is absent."""
    starts = numpy_of(properties.offsets)
    found = np.flatnonzero(numpy_of(pc.equal(properties.keys, name)))
    # An array that is a slice keeps the keys before it.
    found = found[(found >= starts[0]) & (found < starts[-1])]
    places = np.zeros(len(properties), np.int64)
    is_absent = np.ones(len(properties), np.bool_)
    rows = np.searchsorted(starts, found, side="right") - 1
    places[rows], is_absent[rows] = found, False
    return properties.items.take(array(places, mask=is_absent))


def integers(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Texts as integers; null where a text is not an integer of that type."""
    is_integer = pc.match_substring_regex(texts, _INTEGER)
    numbers = pc.if_else(is_integer, texts, None).cast(pa.int64())
    if kind == pa.int64():
        return numbers
    limit = 1 << (kind.bit_width - 1)
    fits = pc.and_(pc.greater_equal(numbers, -limit), pc.less(numbers, limit))
    return pc.if_else(fits, numbers, None).cast(kind)


def timestamps_of(milliseconds: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Milliseconds since 1970 as timestamps; null outside the years 1 to 9999."""
    return timestamps(np.array(numpy_of(milliseconds.fill_null(NO_TIME))))


def microseconds(times: pa.Array | pa.ChunkedArray) -> Numbers:
    """Timestamps as numbers; NO_TIME where they are null."""
    numbers: Numbers = numpy_of(times.cast(pa.int64()).fill_null(NO_TIME))
    return numbers
