"""Rows that must be grouped by a key, in bounded memory: all at once if they fit, else one share of the keys after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.arrow import array, numpy_of
from native_reader.columns.strings import content_of, offsets_of
from native_reader.errors import UnreadableError
from native_reader.layout.record import Mask
from native_reader.sentences import say
from native_reader.tuning import TUNING

KEY = "key"
NO_KEY = "\x02"
"""No property holds this character, so a key that begins with it is made of something else."""
_MOST_BITS = 24
"""Keys that still do not fit are equal, or were chosen to have equal hashes."""
_FACTOR = 0x9E3779B97F4A7C15


class _Share(NamedTuple):
    """The keys whose hashes have these lowest bits; all keys if `bits` is 0."""

    bits: int = 0
    lowest: int = 0

    def has(self, hashed: NDArray[np.uint64]) -> Mask:
        """Which hashes are in the share."""
        return np.asarray(hashed & np.uint64((1 << self.bits) - 1) == np.uint64(self.lowest), np.bool_)

    def halves(self) -> tuple[_Share, _Share]:
        return _Share(self.bits + 1, self.lowest), _Share(self.bits + 1, self.lowest | 1 << self.bits)


def shares(read: Callable[[], Iterator[pa.RecordBatch]]) -> Iterator[pa.Table]:
    """All rows of `read()`, in its order, in tables that each hold all rows of their keys. `read` is called for each table.

    The rows have the column `physical_offset`, for the error if the rows of one key are too large.
    """
    done: list[_Share] = []
    while not done or done[-1].bits:
        share, held = _filled(read(), done)
        if held:
            yield pa.Table.from_batches(held)
        done.append(share)


def _filled(batches: Iterator[pa.RecordBatch], done: Sequence[_Share]) -> tuple[_Share, list[pa.RecordBatch]]:
    """The largest share that fits, and its rows without those of shares that are done.

    A share that does not fit is halved. The half with more rows is kept: so after a key with very many rows, the others fit.
    """
    share, held, size = _Share(), list[pa.RecordBatch](), 0
    for batch in batches:
        rows = _within(batch, share, done)
        if len(rows):
            held.append(rows)
            size += rows.nbytes
        while size > TUNING.grouped_at_once and share.bits < _MOST_BITS:
            share = _heavier_half(share, held)
            held = [rows for each in held if len(rows := _within(each, share))]
            size = sum(each.nbytes for each in held)
        if size > TUNING.grouped_of_one_key:
            raise _one_key(held)
    return share, held


def _heavier_half(share: _Share, held: Sequence[pa.RecordBatch]) -> _Share:
    one, other = share.halves()
    in_one = sum(int(np.count_nonzero(one.has(hashes(each.column(KEY))))) for each in held)
    return one if 2 * in_one >= sum(map(len, held)) else other


def _within(batch: pa.RecordBatch, share: _Share, done: Sequence[_Share] = ()) -> pa.RecordBatch:
    """The rows of a share, without those of other shares."""
    if not share.bits and not done:
        return batch
    hashed = hashes(batch.column(KEY))
    kept = share.has(hashed)
    for each in done:
        kept &= ~each.has(hashed)
    return batch if kept.all() else _without_unused(batch.filter(array(kept)))


def _without_unused(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows. A dictionary that keeps the texts of other rows would not become smaller with its share."""
    columns = [
        column.dictionary_decode().dictionary_encode() if pa.types.is_dictionary(column.type) else column for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _one_key(held: Sequence[pa.RecordBatch]) -> UnreadableError:
    offset = int(held[0].column("physical_offset")[0].as_py())
    return UnreadableError(say("one key too large", offset=offset, most=TUNING.grouped_of_one_key))


def groups_of(keys: pa.ChunkedArray) -> NDArray[np.int64]:
    """The number of each row's group: equal for equal keys, ascending by first row. Compares the keys, not their hashes."""
    encoded = keys.cast(pa.large_string()).combine_chunks().dictionary_encode()
    numbers: NDArray[np.int64] = numpy_of(encoded.indices).astype(np.int64)
    return numbers


def hashes(texts: pa.StringArray) -> NDArray[np.uint64]:
    """A hash of 24 bits of each text, a polynomial of its bytes. `texts` is not a slice."""
    ends = offsets_of(texts).astype(np.int64)
    sizes = np.diff(ends)
    places = np.arange(ends[-1]) - np.repeat(ends[:-1], sizes)
    powers = np.multiply.accumulate(np.full(max(1, int(sizes.max(initial=0))), _FACTOR, np.uint64))
    terms = np.append((content_of(texts).astype(np.uint64) + np.uint64(1)) * powers[places], np.uint64(0))
    sums = np.where(sizes > 0, np.add.reduceat(terms, ends[:-1]), np.uint64(0)) if len(sizes) else np.empty(0, np.uint64)
    mixed: NDArray[np.uint64] = (sums ^ (sums >> np.uint64(32))) * np.uint64(_FACTOR)
    return mixed >> np.uint64(40)
