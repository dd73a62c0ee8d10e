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
from native_reader.repair.plan import NewQueue, RepairPlan
from native_reader.repair.write import QUEUES, put_entries


def repeat_in_holes(plan: RepairPlan, folder: str) -> None:
    """Change the entries of all placeholders that have a survivor after them in their queue."""
    for queue in plan.queues():
        entries = repeats_of(queue)
        if len(entries):
            place = disk.path_in(folder, QUEUES, queue.topic, str(queue.queue_id))
            put_entries(place, entries, plan.units)
            disk.flush(place)


def repeats_of(queue: NewQueue) -> NDArray[np.void]:
    """The entries that differ, with their slots. The broker's own queues have none: it discards the placeholders there."""
    firsts = np.array([run.first for run in queue.old.runs], np.int64)
    lost = queue.lost[np.argsort(queue.lost["slot"], kind="stable")]
    after = np.searchsorted(firsts, lost["slot"])
    repeats, after = lost[after < len(firsts)], after[after < len(firsts)]
    if kind_of_topic(queue.topic) in SYSTEM_KINDS or not len(repeats):
        return lost[:0]
    runs, numbers = np.unique(after, return_inverse=True)
    entries = np.array([_entry_of(queue, slot) for slot in firsts[runs].tolist()], QUEUE_ENTRY)
    repeats["entry"] = entries[numbers]
    return repeats


def _entry_of(queue: NewQueue, slot: int) -> tuple[int, int, int]:
    """The entry of a survivor in the new store: written for it, or copied."""
    written = queue.wanted["entry"][queue.wanted["slot"] == slot]
    old = queue.old.old
    entry: tuple[int, int, int] = (written[-1] if len(written) or old is None else old.read(slot, slot + 1)[0]).item()
    return entry
