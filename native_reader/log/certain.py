"""Certain starts: positions near a given place at which a record really starts.

A body can contain the bytes of a whole record with the right offset, so the result of a search is a guess. A start is certain
if the record has a matching consume queue entry, or if a walk from another certain start reaches it. The start of a segment
is certain.

A broker copies a record into the file without marking its end. Another process can see the head before the properties, with every
checksum right. Data that is written later is proof: a successor, or the consume queue entry, which a broker (all versions) writes only
for a complete record. Bytes that were read before the proof may be incomplete, so read the record again: a plan looks for the proof,
and reads come later.
"""

from __future__ import annotations

import numpy as np

from native_reader.layout.record import Index
from native_reader.records.sync import head_at, layout_at, places_of, sync
from native_reader.records.walk import EndWalk
from native_reader.sides.queues import QueueReader, is_name, queue_at
from native_reader.storage.window import Window
from native_reader.tuning import TUNING

_WIDER, _WIDEST = 16, 64 << 20
"""If no record in the range has a consume queue entry, the range grows by this factor, up to this size."""
_CHECKED = 4
"""About this many records of a range are looked up in their queues."""


def certain_at_or_after(window: Window, position: int, stop: int, *, queue: str | None, low: int, max_record_bytes: int) -> int | None:
    """The start of the first record in `[position, stop)`, or of damage in its place; None if there is neither.

    `low`: a certain start at or before `position`. `queue`: the directory of the consume queues, if there is one.
    """
    candidate = sync(window, position, stop)
    if candidate is not None and has_queue_entry(window, queue, candidate):
        return candidate
    begin = certain_before(window, queue, low, position, max_record_bytes)
    walk = EndWalk(window, begin, position, max_record_bytes).finish()
    return walk.reached if walk.reached < stop else None


def certain_before(window: Window, queue: str | None, low: int, position: int, max_record_bytes: int) -> int:
    """A certain start not far before `position`; if there is none, `low`, which must be certain."""
    look = TUNING.certain_look
    while queue is not None and (begin := position - look) > low and look <= _WIDEST:
        if (start := _confirmed_within(window, queue, begin, position, max_record_bytes)) is not None:
            return start
        look *= _WIDER
    return low


def _confirmed_within(window: Window, queue: str, begin: int, stop: int, max_record_bytes: int) -> int | None:
    """The start of a record in that range with a matching consume queue entry. Looks up only a few records."""
    first = sync(window, begin, stop)
    if first is None:
        return None
    starts: list[Index] = [places_of(window, records)[0] for records in EndWalk(window, first, stop, max_record_bytes)]
    every = np.concatenate(starts) if starts else np.empty(0, np.intp)
    checked = every[:: -max(1, len(every) // _CHECKED)].tolist()
    return next((position for position in checked if has_queue_entry(window, queue, position)), None)


def has_queue_entry(window: Window, consume_queue: str | None, position: int) -> bool:
    """Whether a valid record starts at that position of the file and its consume queue entry has the same offset and size.

    The window does not change.
    """
    layout = layout_at(window, position) if consume_queue is not None else None
    if layout is None or consume_queue is None:
        return False
    head, frame = head_at(window, position), window.segment.frame
    topic, number = window.peek(layout.topic_at, layout.topic_size).decode("utf-8", "replace"), int(head["queue_offset"])
    if not is_name(topic):
        return False
    with QueueReader(queue_at(consume_queue, topic, int(head["queue_id"]))) as reader:
        (entry,) = reader.slots(number, number + 1)
    return (int(entry["offset"]), int(entry["size"])) == (int(head["physical_offset"]), layout.size - frame)
