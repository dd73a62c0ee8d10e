"""Records with a wrong topic, queue or queue offset, which no checksum covers: their neighbours say so, or the entry that names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from native_reader.layout.queue_entry import is_written
from native_reader.layout.record import Numbers
from native_reader.repair.old_queues import OldQueue
from native_reader.repair.survey import Run, Survivors

_AT_ONCE = 1 << 16


def mislabelled(queues: Mapping[tuple[str, int], Survivors], old: Mapping[tuple[str, int], OldQueue]) -> Numbers:
    """The log offsets of these records. Without them, the queue offsets of each queue rise."""
    out_of_place = {offset for queue in queues.values() for offset in _out_of_place(queue)}
    return np.array(sorted(out_of_place.union(_of_other_queues(queues, old))), np.int64)


def _out_of_place(queue: Survivors) -> Iterator[int]:
    """Single records that are out of place in their queue."""
    runs = (None, *queue.runs, None)
    for before, run, after in zip(runs, queue.runs, runs[2:], strict=False):
        if before is not None and before.stop == run.first + 1 and queue.old is not None:  # two records have the same slot
            named = int(queue.old.read(run.first, run.first + 1)["offset"][0])
            if named in (before.last, run.begin):
                yield run.begin if named == before.last else before.last
        elif run.stop - run.first == 1 and _contradicts(run, before, after, queue):
            yield run.begin


def _contradicts(run: Run, before: Run | None, after: Run | None, queue: Survivors) -> bool:
    """Whether a record has a queue offset that is not between its neighbours'. At the ends of a queue, only its entry tells."""
    if before is not None and after is not None:
        return before.stop <= after.first and not before.stop <= run.first < after.first
    own = before.stop if before is not None else after.first - 1 if after is not None else run.first
    if queue.old is None or own < 0 or own == run.first:
        return False
    return int(queue.old.read(own, own + 1)["offset"][0]) == run.begin


def _of_other_queues(queues: Mapping[tuple[str, int], Survivors], old: Mapping[tuple[str, int], OldQueue]) -> Iterator[int]:
    """Records of queues without files that another queue names, in their own slot: their topic or queue is not what was written."""
    runs = [run for queue in queues.values() if queue.old is None for run in queue.runs]
    slots = {run.begin: run.first for run in runs} | {run.last: run.stop - 1 for run in runs}
    places = np.array([*slots], np.int64)
    for key, queue_files in old.items() if slots else ():
        for first, offsets in _named_without_record(queue_files, queues[key].runs if key in queues else []):
            for which in np.flatnonzero(np.isin(offsets, places)).tolist():
                if slots[offset := int(offsets[which])] == first + which:
                    yield offset


def _named_without_record(queue: OldQueue, runs: list[Run]) -> Iterator[tuple[int, Numbers]]:
    """The log offsets that a queue has in the slots of no survivor, piece by piece, and the first slot of each."""
    for first, stop in zip([0, *(run.stop for run in runs)], [*(run.first for run in runs), queue.stop], strict=True):
        for begin in range(max(first, queue.begin), min(stop, queue.stop), _AT_ONCE):
            entries = queue.read(begin, min(begin + _AT_ONCE, stop, queue.stop))
            yield begin, np.where(is_written(entries), entries["offset"], -1).astype(np.int64)
