"""One pass over a plan: its splits one by one, several in parallel, or as tasks for other processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from native_reader.columns.projection import Projection
from native_reader.errors import OptionError
from native_reader.plan.lost import Missing
from native_reader.plan.plan import Plan, Wanted, cut
from native_reader.plan.split import Split
from native_reader.plan.ways import SCAN
from native_reader.predicate.tree import Predicate
from native_reader.records.damages import Report, SegmentReport
from native_reader.scan.ahead import side_by_side
from native_reader.scan.progress import Meter, PartMeter, Watch
from native_reader.scan.read import Reading, Shared
from native_reader.sentences import Said
from native_reader.tuning import TUNING


class Run:
    """One read of a scan: iterate it once for its batches, in log order. `report` accounts for what was read until then.

    Iterating raises what `Scan.to_batches` raises, and `OptionError` the second time.

    Examples:
        >>> run = store.messages(columns="topic").run()
        >>> sum(batch.num_rows for batch in run)
        255
        >>> run.report.rows, len(run.report.damage)
        (255, 0)
    """

    def __init__(
        self,
        plan: Plan,
        projection: Projection,
        jobs: int = 1,
        at_end: Callable[[int], None] | None = None,
        progress: Watch = False,
        *,
        reading: Callable[..., Reading] = Reading,
        ahead: int | None = None,
    ) -> None:
        """`ahead`: how many bytes of batches may wait in each part. With it, a thread reads also for one job."""
        self._plan, self._projection, self._jobs, self._made, self._ahead = plan, projection, jobs, reading, ahead
        self._meter = Meter(progress, sum(split.work for split in plan.splits))
        self._at_end, self._begun = at_end, False
        self._shared = Shared()
        self._measured: dict[Reading, PartMeter] = {}
        unread = {*(split.segment for split in plan.splits), *(segment for segment, _ in plan.skipped)}
        accounts = [SegmentReport(segment.uri, segment.base, segment.size) for segment in unread]
        accounts += [SegmentReport(segment.uri, segment.base, segment.size, unwritten_bytes=segment.size) for segment in plan.unwritten]
        self._reports = [Report(tuple(accounts))]

    @property
    def report(self) -> Report:
        """The account of every byte of every segment of the plan.

        Examples:
            >>> run = store.messages(columns="topic").run()
            >>> batches = list(run)
            >>> all(segment.unread_bytes == 0 for segment in run.report.segments)
            True
        """
        return Report.merged(self._reports)

    @property
    def lost(self) -> tuple[Missing, ...]:
        """Offsets that the logs should hold but do not, as the plan found: between their files, and after their ends. No damage."""
        return self._plan.missing

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._begun:
            raise OptionError(Said("run iterated"))
        self._begun = True
        return self._batches()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        readings = map(self._reading, self._parts())
        with self._meter:
            if self._jobs == 1 and self._ahead is None:
                for reading in readings:
                    try:
                        yield from reading
                    finally:
                        self._note(reading)
            else:
                yield from side_by_side(readings, self._jobs, self._note, self._meter.look, most=self._ahead)
            if self._at_end is not None:
                self._at_end(sum(report.rows for report in self._reports))

    def _parts(self) -> Iterator[Split]:
        """The splits, cut for several jobs; not if the user allows no cuts inside a segment (a large max_partition_bytes)."""
        for split in self._plan.splits:
            is_cut = self._jobs > 1 and split.segment.size > self._plan.partition_bytes
            yield from cut(split, TUNING.part_of_a_job, split.share) if is_cut else (split,)

    def _reading(self, split: Split) -> Reading:
        part = self._meter.part(split.work)
        projection = replace(self._projection, advanced=part.advance)
        reading = self._made(split, projection, self._plan.wanted, self._shared)
        self._measured[reading] = part
        return reading

    def _note(self, reading: Reading) -> None:
        report = reading.report
        self._reports.append(report)
        self._measured.pop(reading).end(report.rows)


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
