"""Tasks: a read in parts for other processes. Each is sent by itself, so it holds all that its part needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from native_reader.columns.projection import Projection
from native_reader.plan.plan import Plan, Wanted
from native_reader.plan.split import Split
from native_reader.plan.ways import SCAN
from native_reader.predicate.tree import Predicate
from native_reader.scan.ahead import side_by_side
from native_reader.scan.read import Reading, Shared


class Task(NamedTuple):
    """Some splits of a plan, picklable. `places`: where wanted rows may be, if one of them uses it."""

    splits: tuple[Split, ...]
    places: Predicate | None = None

    def batches(self, projection: Projection, predicate: Predicate, ahead: int) -> Iterator[pa.RecordBatch]:
        """The rows. `ahead`: bytes of batches that are made while the caller uses one."""
        shared, wanted = Shared(), Wanted(predicate, predicate if self.places is None else self.places)
        readings = (Reading(split, projection, wanted, shared) for split in self.splits)
        yield from side_by_side(readings, 1, most=ahead)


def tasks_of(plan: Plan) -> list[Task]:
    """The tasks of a plan."""
    return [Task(task, plan.wanted.places if any(split.access != SCAN for split in task) else None) for task in plan.packed()]
