"""Rows that must be grouped by a key, in bounded memory: all at once if they fit, else one share of the keys after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.columns.strings import content_of, offsets_of
from native_reader.tuning import TUNING

KEY = "key"
NO_KEY = "\x02"
"""No property holds this character, so a key that begins with it is made of something else."""
_MOST_BITS = 24
"""Keys that still do not fit are equal, or were chosen to have equal hashes."""
_FACTOR = 0x9E3779B97F4A7C15


def shares(read: Callable[[], Iterator[pa.RecordBatch]]) -> Iterator[pa.Table]:
    """All rows of `read()`, in its order, in tables that each hold all rows of their keys.

    A share is chosen by the lowest bits of a key's hash. If it does not fit, it is halved, and the other half is read later.
    """
    waiting = [(0, 0)]
    while waiting:
        bits, chosen = waiting.pop()
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in read():
            held.append(_share(batch, bits, chosen))
            size += held[-1].nbytes
            while size > TUNING.grouped_at_once and bits < _MOST_BITS:
                waiting.append((bits + 1, chosen | 1 << bits))
                bits += 1
                held = [_share(each, bits, chosen) for each in held]
                size = sum(each.nbytes for each in held)
        held = [each for each in held if len(each)]
        if held:
            yield pa.Table.from_batches(held)


def groups_of(keys: pa.ChunkedArray) -> NDArray[np.int64]:
    """The number of each row's group: equal for equal keys, ascending by first row. Compares the keys, not their hashes."""
    encoded = keys.cast(pa.large_string()).combine_chunks().dictionary_encode()
    numbers: NDArray[np.int64] = encoded.indices.to_numpy().astype(np.int64)
    return numbers


def _share(batch: pa.RecordBatch, bits: int, chosen: int) -> pa.RecordBatch:
    if not bits:
        return batch
    return batch.filter(pa.array(hashes(batch.column(KEY)) & np.uint64((1 << bits) - 1) == chosen))


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
