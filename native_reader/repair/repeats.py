"""Queue entries of lost messages that name the next message that survived: consumers get it again, and no placeholder.

They are written after the proof: its checks expect that each entry names a record with its own queue offset. In the log, the
placeholders stay, so that a broker that makes the queues again gives the same queue offsets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.kinds import SYSTEM_KINDS, kind_of_topic
from native_reader.layout.queue_entry import QUEUE_ENTRY
from native_reader.repair import disk
from native_reader.repair.old_queues import WIDTH
from native_reader.repair.plan import NewQueue, RepairPlan
from native_reader.repair.write import QUEUES, put_entries


def repeat_in_holes(plan: RepairPlan, folder: str) -> None:
    """Change the entries of all placeholders that have a survivor after them in their queue."""
    for queue in plan.queues():
        place = disk.path_in(folder, QUEUES, queue.topic, str(queue.queue_id))
        entries = _repeats_of(queue, place, plan.units)
        if len(entries):
            put_entries(place, entries, plan.units)
            disk.flush(place)


def _repeats_of(queue: NewQueue, place: str, units: int) -> NDArray[np.void]:
    """The entries that differ, with their slots. The broker's own queues have none: it discards the placeholders there."""
    firsts = np.array([run.first for run in queue.old.runs], np.int64)
    lost = queue.lost[np.argsort(queue.lost["slot"], kind="stable")]
    after = np.searchsorted(firsts, lost["slot"])
    repeats, after = lost[after < len(firsts)], after[after < len(firsts)]
    if kind_of_topic(queue.topic) in SYSTEM_KINDS or not len(repeats):
        return lost[:0]
    runs, numbers = np.unique(after, return_inverse=True)
    entries = np.array([_entry_at(place, slot, units) for slot in firsts[runs].tolist()], QUEUE_ENTRY)
    repeats["entry"] = entries[numbers]
    return repeats


def _entry_at(place: str, slot: int, units: int) -> tuple[int, int, int]:
    """The entry of a survivor in the new store."""
    content = disk.content_at(disk.path_in(place, f"{slot // units * units * WIDTH:020d}"), slot % units * WIDTH, WIDTH)
    entry: tuple[int, int, int] = np.frombuffer(content, QUEUE_ENTRY)[0].item()
    return entry
