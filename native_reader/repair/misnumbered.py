"""Records with a wrong queue offset, which no checksum covers: those before and after them in their queue say so, or its entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from native_reader.layout.record import Numbers
from native_reader.repair.survey import Run, Survivors


def misnumbered(queues: Iterable[Survivors]) -> Numbers:
    """The log offsets of single records that are out of place in their queue. Without them, its queue offsets rise."""
    return np.array(sorted(offset for queue in queues for offset in _out_of_place(queue)), np.int64)


def _out_of_place(queue: Survivors) -> Iterator[int]:
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
