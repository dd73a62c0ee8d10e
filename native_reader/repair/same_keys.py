"""Messages that another store has in another queue or at another queue offset, as where a producer sent one again to another broker.

An entry of a queue names a lost record: its place, its size and the hash of its tag. Entries of the index have the hashes of its unique key
and of its keys at that place, and the second in which it was stored. A message of another store is that one if all of this is true of it,
and of no other message there. It keeps its body and properties, and gets the place, queue and queue offset that the entry has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from native_reader.layout.index_entry import TAG_PREFIX, key_hash
from native_reader.layout.queue_entry import java_hash
from native_reader.layout.record import Numbers
from native_reader.lost.hashes import java_hashes, key_hashes
from native_reader.repair.same_queues import COLUMNS, SameQueues
from native_reader.sides.index import entries_in, index_files, read_head, room_of
from native_reader.storage.protocol import storage_of
from native_reader.storage.store import StoreFiles

KEY_COLUMNS = (*COLUMNS, "keys", "store_timestamp")
"""What is read of the other store."""
_NEAR = 600_000
"""Milliseconds between the times at which two brokers stored a message that was sent to both. The index has whole seconds."""
_AT_ONCE = 1 << 16
_HASH_BITS = 32
_TWICE = -2


class SameKeys:
    """The messages that are still lost after a look at queues, as far as the index has their keys."""

    def __init__(self, files: StoreFiles, same: SameQueues) -> None:
        self._same = same
        offset, self._hash, self._time = _indexed(files, np.unique(same.lost.offset))
        order = np.argsort(offset, kind="stable")
        offset, self._hash, self._time = (each[order] for each in (offset, self._hash, self._time))
        self._first, self._stop = (np.searchsorted(offset, same.lost.offset, side) for side in ("left", "right"))
        counts = self._stop - self._first
        rows = np.repeat(np.arange(len(counts)), counts)
        entries = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(self._first, counts)
        self._topics = same.topics.to_pylist()
        codes = (same.topics_of(same.lost.key)[rows] << _HASH_BITS) + self._hash[entries]
        order = np.argsort(codes, kind="stable")
        self._codes, self._rows = codes[order], rows[order]

    def __bool__(self) -> bool:
        """Whether any lost message can be found."""
        return len(self._codes) > 0

    def found_in(self, tables: Iterable[pa.Table]) -> tuple[Numbers, Numbers]:
        """Which lost messages the other store has, by number, and where in its log."""
        found = dict[int, int]()
        for table in tables:
            for row, message in self._pairs(table):
                if self._is_same(row, message):
                    found[row] = _TWICE if row in found else message["physical_offset"]
        chosen = sorted((row, offset) for row, offset in found.items() if offset != _TWICE)
        rows, offsets = np.array(chosen, np.int64).reshape(-1, 2).T
        return rows, offsets

    def _pairs(self, table: pa.Table) -> Iterator[tuple[int, dict[str, Any]]]:
        """Lost messages, and those of the other store whose unique key has a hash that the index has there. They are few."""
        table = table.filter(pc.and_(pc.is_valid(table["uniq_key"]), pc.is_in(table["topic"].cast(pa.string()), self._same.topics)))
        codes = np.full(len(table), -1)
        topics = table["topic"].cast(pa.string()).combine_chunks()
        hashes, sizes = _hashes_of(table["uniq_key"])
        for number, topic in enumerate(self._topics):
            mine = np.flatnonzero(pc.equal(topics, topic).to_numpy(zero_copy_only=False))
            codes[mine] = (number << _HASH_BITS) + key_hashes(topic, hashes[mine], sizes[mine])
        low, high = (np.searchsorted(self._codes, codes, side) for side in ("left", "right"))
        for at in np.flatnonzero(low < high).tolist():
            (message,) = table.slice(at, 1).to_pylist()
            for row in np.unique(self._rows[low[at] : high[at]]).tolist():
                yield row, message

    def _is_same(self, row: int, message: dict[str, Any]) -> bool:
        """Whether a message is the lost one, by all that is known of it."""
        entry, entries = self._same.lost, slice(self._first[row], self._stop[row])
        topic, tag = message["topic"], message["tags"]
        asked = {key_hash(topic, each) for each in (message["uniq_key"], *(message["keys"] or ()))}
        known = set(self._hash[entries].tolist())
        others = {key_hash(topic, f"{TAG_PREFIX}{tag}")}  # 5.5.0 has tags in the index, too
        time = int(message["store_timestamp"].timestamp() * 1000)
        return (
            message["record_size"] == entry.size[row]
            and (0 if tag is None else java_hash(tag)) == entry.code[row]
            and asked <= known <= asked | others
            and bool((np.abs(self._time[entries] - time) <= _NEAR).all())
        )


def _indexed(files: StoreFiles, offsets: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """The entries of the index that name these places: offset, hash and time in milliseconds."""
    found = [np.empty((3, 0), np.int64)]
    for file in index_files(files.index) if len(offsets) else ():
        with suppress(OSError), storage_of(file.uri).open(file.uri) as stored:
            begin, stop = read_head(stored).begin_time, max(room_of(file), 1)
            for _, piece in entries_in(stored, file.slots, 1, stop, _AT_ONCE) if file.slots is not None else ():
                offset, hashed, seconds = (piece[name].astype(np.int64) for name in ("offset", "hash", "seconds"))
                found.append(np.stack([offset, hashed, begin + seconds * 1000])[:, np.isin(offset, offsets)])
    offset, hashed, time = np.concatenate(found, axis=1)
    return offset, hashed, time


def _hashes_of(keys: pa.ChunkedArray) -> tuple[Numbers, Numbers]:
    """The hash of each key alone, and its length in Java."""
    texts = keys.cast(pa.string()).combine_chunks()
    lengths = pc.utf8_length(texts).to_numpy(zero_copy_only=False).astype(np.int64)
    for row in np.flatnonzero(~pc.string_is_ascii(texts).to_numpy(zero_copy_only=False)).tolist():
        lengths[row] = len(texts[row].as_py().encode("utf-16-le", "surrogatepass")) // 2
    return java_hashes(texts), lengths
