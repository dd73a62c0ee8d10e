"""Checks the claims of consume queues before a pruned read skips the bytes they name.

Checking every claim would be a scan. Instead, the first and the last claim of each queue file in the range are checked: a file
that was swapped, renamed or copied has no true claim. A single wrong claim between them leaves its own record unclaimed. That
record is then walked, and the contradiction is detected (`contradicted`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from native_reader.columns.chunk import Columns
from native_reader.columns.rows import Rows
from native_reader.layout.begin import topic_field
from native_reader.layout.properties import CRC_NAME, CRC_SIZE
from native_reader.layout.record import COMMITTED, INNER_BATCH, MAGIC_V1, MAGIC_V2, TRANSACTION, Numbers, head_size
from native_reader.plan.claims import QueueClaims
from native_reader.records.sync import head_at
from native_reader.sides.entries import Entries
from native_reader.storage.window import Window


def true_claims(window: Window, claims: Sequence[QueueClaims]) -> tuple[list[QueueClaims], bool]:
    """The claims of queue files whose first and last claim are true; and whether the properties end in checksums.

    Such a checksum can be attached to a tag (5.x with property checksums, batches from clients up to 4.9). The queue then has
    the hash of both.
    """
    kept: list[QueueClaims] = []
    has_checksums = False
    for each in (QueueClaims(queue, entries) for queue, all_entries in claims for entries in all_entries.by_file()):
        ends = {0, len(each.entries) - 1}
        if not all(is_true(window, each, which) for which in ends):
            continue
        kept.append(each)
        for which in ends:
            _, offset, size = each.entries.place(which)
            end = offset + size - window.segment.base
            has_checksums = has_checksums or window.peek(end - CRC_SIZE, len(CRC_NAME)) == CRC_NAME
    return kept, has_checksums


def is_true(window: Window, claims: QueueClaims, which: int) -> bool:
    """Whether this record of the queue is there, with this number and size. Reads its head and topic, not its body.

    False for an inner batch in an ordinary queue, as slaves have them: the entry does not describe the messages in it.
    """
    queue, entries = claims
    number, offset, size = entries.place(which)
    position = offset - window.segment.base
    head = head_at(window, position - window.segment.frame)
    stated = int(head["size"]), int(head["physical_offset"]), int(head["queue_id"]), int(head["queue_offset"])
    if int(head["magic"]) not in (MAGIC_V1, MAGIC_V2) or stated != (size, position + window.segment.base, queue.queue_id, number):
        return False
    if int(head["sys_flag"]) & INNER_BATCH and not queue.batch:
        return False
    body_size, topic = int(head["body_size"]), topic_field(queue.topic.encode(), int(head["magic"]))
    topic_at = position + head_size(int(head["sys_flag"])) + body_size
    return topic is not None and 0 <= body_size < size and window.peek(topic_at, len(topic)) == topic


def has_true_one(window: Window, claims: Sequence[QueueClaims], end: int) -> bool:
    """Whether any of the claims that end at that offset is true."""
    for claim in claims:
        before = claim.entries.last_below(end)
        if before >= 0 and sum(claim.entries.place(before)[1:]) == end and is_true(window, claim, before):
            return True
    return False


def contradicted(window: Window, claims: Sequence[QueueClaims], rows: Rows, store: str) -> bool:
    """Whether a queue falsely claims another place for one of these records, which no queue claimed.

    If that claim is true, the record is from an earlier topic of the same name, which was deleted and created again.
    """
    flags = rows.records.heads["sys_flag"] & TRANSACTION
    rows = rows.where((flags == 0) | (flags == COMMITTED))  # the others (prepared, rolled back) are never dispatched
    if not len(rows) or not claims:
        return False
    topics = Columns((), store, window.segment.name).chunk(rows).topic().dictionary_encode()
    names, codes = topics.dictionary.to_pylist(), topics.indices.to_numpy()
    queue_ids = rows.records.heads["queue_id"]
    for claim in claims:
        if claim.queue.topic in names:
            heads = rows.records.heads[(codes == names.index(claim.queue.topic)) & (queue_ids == claim.queue.queue_id)]
            misplaced = _misplaced(claim.entries, heads["queue_offset"].astype(np.int64), heads["physical_offset"].astype(np.int64))
            if any(not is_true(window, claim, which) for which in misplaced.tolist()):  # rarely any
                return True
    return False


def _misplaced(entries: Entries, numbers: Numbers, offsets: Numbers) -> Numbers:
    """Entries with the number of one of these records but another offset, although the record fits at that place in the queue."""
    place = np.searchsorted(entries.numbers, numbers)
    inside = np.flatnonzero(place < len(entries))
    place, numbers, offsets = place[inside], numbers[inside], offsets[inside]
    same = entries.numbers[place] == numbers
    before = np.where(place > 0, entries.offsets[place - 1], -1)
    after = np.where(place + 1 < len(entries), entries.offsets[np.minimum(place + 1, len(entries) - 1)], 2**63 - 1)
    misplaced: Numbers = np.unique(place[same & (before < offsets) & (offsets < after)])
    return misplaced
