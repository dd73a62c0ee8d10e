"""One pass over a plan: its splits one by one, or several in parallel."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator

import pyarrow as pa

from native_reader.errors import OptionError
from native_reader.plan.plan import Plan
from native_reader.plan.split import Split
from native_reader.records.report import Report, SegmentReport
from native_reader.scan.read import Known, Projection, Reading
from native_reader.tuning import TUNING

_GIVE_UP_CHECK = 0.1


class Ahead:
    """Iterate it for the batches of a reading; call `stop` if you end early. Holds at most `batches` + 1 batches."""

    def __init__(self, reading: Reading, batches: int) -> None:
        self.reading = reading
        self._stopped = threading.Event()
        self._queue: queue.Queue[pa.RecordBatch | BaseException | None] = queue.Queue(batches)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for batch in self.reading:
                self._put(batch)
                if self._stopped.is_set():
                    return
        except BaseException as error:  # raised again in `__iter__`
            self._put(error)
        else:
            self._put(None)

    def _put(self, item: pa.RecordBatch | BaseException | None) -> None:
        while not self._stopped.is_set():
            try:
                return self._queue.put(item, timeout=_GIVE_UP_CHECK)
            except queue.Full:
                continue
        return None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while (item := self._queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item

    def give_up(self) -> None:
        """Stop after the current chunk."""
        self._stopped.set()
        self.reading.stop()

    def stop(self) -> None:
        """Give up and wait for the thread; the report is final after that."""
        self.give_up()
        self._thread.join()


class Run:
    """Iterate it once for its batches, in log order; `report` accounts for what was read until then."""

    def __init__(self, plan: Plan, projection: Projection, jobs: int = 1, at_end: Callable[[int], None] | None = None) -> None:
        self._plan, self._projection, self._jobs = plan, projection, jobs
        self._at_end, self._begun = at_end, False
        self._known: Known = {}
        unread = {*(split.segment for split in plan.splits), *(segment for segment, _ in plan.skipped)}
        accounts = [SegmentReport(segment.uri, segment.base, segment.size) for segment in unread]
        accounts += [SegmentReport(segment.uri, segment.base, segment.size, unwritten_bytes=segment.size) for segment in plan.unwritten]
        self._reports = [Report(tuple(accounts))]

    @property
    def report(self) -> Report:
        """The account of every byte of every segment of the plan."""
        return Report.merged(self._reports)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._begun:
            raise OptionError("this run was already iterated, and can be iterated only once. Use scan.run() for a new one")
        self._begun = True
        return self._batches()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if self._jobs == 1 or len(self._plan.splits) < 2:
            for split in self._plan.splits:
                reading = self._reading(split)
                try:
                    yield from reading
                finally:
                    self._reports.append(reading.report)
        else:
            yield from self._side_by_side()
        if self._at_end is not None:
            self._at_end(sum(report.rows for report in self._reports))

    def _reading(self, split: Split) -> Reading:
        return Reading(split, self._projection, self._plan.predicate, self._plan.pruning, self._known)

    def _side_by_side(self) -> Iterator[pa.RecordBatch]:
        ahead = deque[Ahead]()
        waiting = iter(self._plan.splits)
        try:
            while True:
                while len(ahead) < self._jobs and (split := next(waiting, None)) is not None:
                    ahead.append(Ahead(self._reading(split), TUNING.batches_ahead))
                if not ahead:
                    break
                yield from ahead[0]
                self._reports.append(ahead.popleft().reading.report)
        finally:
            for each in ahead:
                each.give_up()
            for each in ahead:
                each.stop()
            self._reports += [each.reading.report for each in ahead]
