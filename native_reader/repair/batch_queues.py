"""Batch queues: topics of queue type BatchCQ (5.0 and later), one of whose records can hold many messages.

Each entry says its queue offset and its number of messages, and entries follow each other without gaps in the file: a place in the
file says nothing. So the files are written again as a whole, from the survivors and the placeholders, unless they are right. A
placeholder says how many messages are lost: brokers and clients go on after all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.properties import INNER_BASE, INNER_NUM
from native_reader.layout.queue_entry import BATCH_ENTRY, is_written
from native_reader.layout.record import Mask, Numbers
from native_reader.repair.old_queues import OldBatchQueue, OldQueue
from native_reader.repair.records import Records
from native_reader.writing.records import pack_properties

MOST_MESSAGES = 2**15 - 1
"""In one entry."""
_NOT_COMPACTED = -1
SAYS_COUNT = len(pack_properties({INNER_BASE: str(2**63 - 1), INNER_NUM: str(MOST_MESSAGES)}))
"""The most bytes that a placeholder needs to say its queue offset and its number of messages."""


def entries_of(records: Records, codes: Numbers) -> NDArray[np.void]:
    """The entries of records. `codes`: their tags codes."""
    return entries_at(records.offset, records.size, codes, records.time, records.slot, records.messages)


def entries_at(*columns: NDArray[np.integer] | int) -> NDArray[np.void]:
    """Entries of these columns: offsets, sizes, tags codes, store times, slots, and numbers of messages."""
    found = np.zeros(np.size(columns[0]), BATCH_ENTRY)
    for name, column in zip(("offset", "size", "tags_code", "store_timestamp", "base", "count"), columns, strict=True):
        found[name] = column
    found["compacted"] = _NOT_COMPACTED
    return found


def lost_records(
    slots: Numbers, entries: NDArray[np.void], old: OldQueue | None, kept: Numbers
) -> tuple[Numbers, NDArray[np.void], Numbers]:
    """The records that held lost messages: slot, entry and number of messages of each. Where no entry tells, as few records as can be.

    `kept`: the first slots of what survived.
    """
    begins = is_written(entries)
    stated = old.counts(slots) if isinstance(old, OldBatchQueue) else np.ones(len(slots), np.int64)
    limits = np.sort(np.concatenate([slots[begins], kept, slots[np.append(np.diff(slots) != 1, True)] + 1]))
    rows, counts, reached = list[int](), list[int](), -1
    for row, slot in enumerate(slots.tolist()):
        if slot >= reached:
            following = limits[np.searchsorted(limits, slot, "right") :]
            most = int(stated[row]) if begins[row] else min(MOST_MESSAGES, int(following[0]) - slot)
            reached = slot + most
            rows.append(row)
            counts.append(most)
    return slots[rows], entries[rows], np.array(counts, np.int64)


def count_said(slot: int, count: int) -> bytes:
    """The properties of a placeholder for that many messages."""
    return pack_properties({INNER_BASE: str(slot), INNER_NUM: str(count)})


def in_order(entries: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
    """All entries of a queue, in the order of their queue offsets."""
    found = np.concatenate([np.empty(0, BATCH_ENTRY), *entries])
    return found[np.argsort(found["base"], kind="stable")].astype(BATCH_ENTRY)  # numpy joins numbers to native ones


def stated_counts(messages: NDArray[np.integer], is_batch: Mask) -> Numbers:
    """How many queue offsets records take. `messages`: what they hold, -1 if unknown; brokers count such a record as one message."""
    is_stated = is_batch & (messages > 0) & (messages <= MOST_MESSAGES)
    return np.where(is_stated, messages, 1).astype(np.int64)
