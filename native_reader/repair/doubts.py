"""Whole records that something else in the store contradicts: what it is, and what follows from it.

The lengths and the checksum of a record cover neither its flags nor its properties. Where a queue entry or the index repeats
them and differs, either side can be damaged:

    tag     the hash in the entry of its queue. The side whose hash other messages of the topic have is right
    keys    hashes in the index. An entry there is right if it is in its chain: its place is made of the hash
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader import kernel
from native_reader.columns.rows import Rows
from native_reader.columns.strings import PaddedBuffer
from native_reader.layout.index_entry import SLOT, slots_at
from native_reader.layout.queue_entry import is_written
from native_reader.layout.record import Bytes, Numbers
from native_reader.repair.old_queues import OldQueue
from native_reader.repair.records import record_at, size_at
from native_reader.sides.index import IndexFile, entries_in, index_files, read_head, room_of
from native_reader.storage.protocol import StoredFile, storage_of
from native_reader.storage.store import StoreFiles
from native_reader.verify.chains import NumpyChains
from native_reader.verify.marks import NOT_PACKED, ODD_PROPERTIES, Ints, Marks, new_marker
from native_reader.verify.marks import PACKED as PACKED_BODY

BODY, PACKED, TEXT, MAYBE_TEXT, KEYS, TAG, ZEROS, TRANSACTION = (
    *("body", "packed", "text", "maybe text", "keys", "tag", "zeros"),
    "transaction",
)
PLACE = "place"
"""Another record has the same place, and nothing shows which of the two is wrong."""
WHY = ("", BODY, PACKED, TEXT, MAYBE_TEXT, KEYS, TAG, ZEROS, TRANSACTION)
"""What contradicts a record; the first: nothing. A column of the survey has their numbers."""
ALWAYS_LOST = (BODY, PACKED, TRANSACTION)
"""A client stops at such a body, and loses the messages that follow in the same answer. A broker serves no open transaction."""
_AT_ONCE = 1 << 18
_INT = np.iinfo(np.int32)
_LARGEST = np.iinfo(np.int64).max


class Doubt(NamedTuple):
    """A record that is contradicted: why, whether it is kept, and its place in its queue."""

    why: str
    is_kept: bool
    topic: str
    queue_id: int
    queue_offset: int


TAGGED = np.dtype([("offset", "i8"), ("queue", "i8"), ("slot", "i8"), ("own", "i8"), ("named", "i8")])
"""Records whose entries have another hash of tags. `own`: that of the record; `named`: that of the entry."""


def doubts_in(rows: Rows, doubts: Ints) -> NDArray[np.int8]:
    """What the records of a chunk show by themselves: numbers of WHY. `doubts`: as a check of the store finds them; see `Marks`."""
    found = np.zeros(len(rows), np.int8)
    for row in np.flatnonzero(doubts & ODD_PROPERTIES).tolist():
        begin, size = int(rows.records.properties_at[row]), int(rows.records.properties_size[row])
        found[row] = WHY.index(_why_odd(rows.source.u8[begin : begin + size]))
    for doubt, why in ((PACKED_BODY, PACKED), (NOT_PACKED, BODY)):
        found[doubts & doubt != 0] = WHY.index(why)
    return found


def _why_odd(text: Bytes) -> str:
    """Why properties are not UTF-8. Text in another encoding has no control characters; damage mostly does."""
    if text[-1] == 0:  # a page of zeros that begins in properties goes on in the next record
        return ZEROS
    return TEXT if ((text < 0x20) & ~np.isin(text, (1, 2, 9, 10, 13))).any() else MAYBE_TEXT


def contradicted_by_index(files: StoreFiles, offsets: Sequence[int]) -> Numbers:
    """Which of these records, that entries of the index name by keys that they do not have, are damaged."""
    found, own = [np.empty(0, np.int64)], {offset: _hashes_of(files, offset) for offset in offsets}
    for file in index_files(files.index) if own else ():
        with suppress(OSError), storage_of(file.uri).open(file.uri) as stored:
            found += _sound_entries(stored, file, own)
    return np.unique(np.concatenate(found))


def _hashes_of(files: StoreFiles, offset: int) -> set[int]:
    """The hashes under which an index may have a whole record."""
    content, records = record_at(files, offset, size_at(files, offset))
    marker = new_marker()
    marker.add(PaddedBuffer.of(content).u8, records)
    marks = Marks._make(marker.taken())
    return {*marks.key.tolist(), *marks.tag_key.tolist()}


def _sound_entries(stored: StoredFile, file: IndexFile, own: Mapping[int, set[int]]) -> Iterator[Numbers]:
    """The offsets in the entries of a file that have none of their record's hashes, are in their chains, and precede those after them.

    Where a broker truncated the log, entries of discarded records precede those of the records that are there instead.
    """
    if file.slots is None:
        return
    chains = kernel.chains(file.slots) or NumpyChains(file.slots)
    stop = min(max(read_head(stored).next_entry, 1), max(room_of(file), 1))
    offsets = np.array(sorted(own), np.int64)
    found, wrong, lowest = list[tuple[Numbers, Numbers]](), [np.empty(0, np.int64)], list[int]()
    for number, piece in entries_in(stored, file.slots, 1, stop, _AT_ONCE):
        is_wrong, at, slots = chains.wrong(piece, number), piece["offset"].astype(np.int64), piece["hash"].astype(np.int64) % file.slots
        ascends = at <= np.minimum.accumulate(at[::-1])[::-1]
        mine = np.flatnonzero(np.isin(at, offsets) & ~is_wrong & ascends)
        is_other = [key not in own[offset] for offset, key in zip(at[mine].tolist(), piece["hash"][mine].tolist(), strict=True)]
        mine = mine[np.array(is_other, np.bool_)]
        found.append((at[mine], slots[mine]))
        wrong.append(slots[is_wrong])
        lowest.append(int(at.min()))
    wrong += _differing_slots(stored, file.slots, chains)
    for number, (places, slots) in enumerate(found):
        yield places[~np.isin(slots, np.concatenate(wrong)) & (places <= min(lowest[number + 1 :], default=_LARGEST))]


def _differing_slots(stored: StoredFile, slots: int, chains: kernel.Chains | NumpyChains) -> Iterator[Numbers]:
    """The slots that do not lead to the newest entry of their chain."""
    for begin in range(0, slots, _AT_ONCE):
        own = stored.read_array(slots_at(begin), SLOT, min(_AT_ONCE, slots - begin))
        yield begin + chains.differing(own, begin)


def damaged_tags(tagged: NDArray[np.void], queues: Mapping[int, OldQueue], topics: Iterable[str]) -> Numbers:
    """The offsets of the records whose tag is not what was written, or may not be; of the others, the entry is damaged.

    `queues`: those with entries, by number; `topics`: of all, by number.
    """
    names = list(topics)
    found = [np.empty(0, np.int64)]
    for topic in sorted({names[queue] for queue in np.unique(tagged["queue"]).tolist()}):
        mine = tagged[[names[queue] == topic for queue in tagged["queue"].tolist()]]
        known = _known_codes([queue for number, queue in queues.items() if names[number] == topic], mine)
        is_own, is_named = np.isin(mine["own"], known), np.isin(mine["named"], known)
        is_hash = (mine["named"] >= _INT.min) & (mine["named"] <= _INT.max)
        found.append(mine["offset"][is_hash & (is_named | ~is_own)])
    return np.sort(np.concatenate(found))


def _known_codes(queues: Iterable[OldQueue], but: NDArray[np.void]) -> Numbers:
    """The tags codes in all entries of queues, but those of these records."""
    found = [np.empty(0, np.int64)]
    for queue in queues:
        for begin in range(queue.begin, queue.stop, _AT_ONCE):
            entries = queue.read(begin, min(begin + _AT_ONCE, queue.stop))
            others = entries[is_written(entries) & ~np.isin(entries["offset"].astype(np.int64), but["offset"])]
            found.append(np.unique(others["tags_code"].astype(np.int64)))
    return np.unique(np.concatenate(found))
