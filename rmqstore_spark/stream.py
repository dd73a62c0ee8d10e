"""The stream reader: follows the end of the log on the driver; each batch is read like any other range of the log.

Reasons in Spark 4.3: the driver's reader lives as long as the query, but a second one, built for each run, is sent to the
tasks. `initialOffset` is called twice, and again after a failed first batch; its result is never stored. Without a trigger,
`latestOffset` is called 90 times per second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxRows, SupportsTriggerAvailableNow

from native_reader.api import Scan
from native_reader.errors import DataLoss, StoreError
from native_reader.log.boundary import Boundary, Limits, boundary_after, boundary_before, segment_before, stands
from native_reader.log.follow import Following
from native_reader.log.resume import expired, goes_on, resumed, rewritten
from native_reader.plan.begin import begin_by_offset, begin_by_time
from native_reader.plan.plan import Plan
from native_reader.scan.read import FAILFAST
from native_reader.storage.store import StoreFiles
from rmqstore_spark.offsets import Batch, Offset, ends_to_json, from_json, to_json
from rmqstore_spark.options import spark_name
from rmqstore_spark.portions import Ends, portion
from rmqstore_spark.reader import announce, partitions_of, rows_of
from rmqstore_spark.request import EARLIEST, LATEST, Request
from rmqstore_spark.speech import in_sparks_words

_LOOK_EVERY = 0.2
"""Seconds. Bytes written at the old end of a log are seen at once."""
_AFRESH = "A new checkpointLocation starts afresh"

Found = TypeVar("Found")


class RefusedStream(DataSourceStreamReader):
    """Raises the error of an invalid request, at a point where Spark shows it unchanged."""

    def __init__(self, error: StoreError) -> None:
        self._error = error

    def initialOffset(self) -> dict[str, Any]:
        """Raises."""
        raise self._error

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Raises."""
        raise self._error

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Raises."""
        raise self._error

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Raises."""
        raise self._error


class StoreStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows the logs of all requested stores."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._projection, self._predicate, self._options = request.projection, request.predicate, request.options
        self._limits = Limits(self._projection.max_record_bytes, past_unreadable=self._projection.mode != FAILFAST)
        self._following: Following | None = None
        self._seen: tuple[float, Ends] | None = None
        self._target: Ends | None = None
        self._initial: dict[str, Any] | None = None
        self._idle: tuple[dict[str, Any], Ends] | None = None
        self._reported: tuple[Ends, dict[str, Any]] | None = None
        self._began = self._doubted = False
        self._told: set[str] = set()

    # Methods that Spark calls

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query begins. Always the same result, because Spark calls it more than once."""
        with in_sparks_words():
            if self._initial is None:
                begins = self._twice(lambda: {uri: self._begin(self._store(uri), end) for uri, end in self._ends().items()})
                self._initial = to_json({uri: Batch(begin.offset, begin) for uri, begin in begins.items()})
            self._began = True
            return self._initial

    def prepareForTriggerAvailableNow(self) -> None:
        """The query ends where the logs end now."""
        with in_sparks_words():
            self._target = dict(self._twice(self._look))

    def getDefaultReadLimit(self) -> ReadLimit:
        """The limit set by the options. Spark accepts only one, so bytes before records; `latestOffset` applies both."""
        asked = self._request.stream
        if asked.most_bytes is not None:
            return ReadMaxBytes(asked.most_bytes)
        return ReadAllAvailable() if asked.most_records is None else ReadMaxRows(asked.most_records)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The end of the batch that begins at `start`; `start` itself if there is nothing new."""
        with in_sparks_words():
            self._tell_beginning(start)
            return self._twice(lambda: self._end_of_batch(start, limit))

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """The ends of the logs for Spark's progress events. The difference to the end of a batch is the lag."""
        if self._seen is None:
            return None
        if self._reported is None or self._reported[0] != self._seen[1]:
            self._reported = self._seen[1], ends_to_json(self._seen[1])
        return self._reported[1]

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The tasks of a batch. Spark 4.3 may pass another start than the batch had, so the start stored in `end` counts."""
        if start == end:
            return []
        with in_sparks_words():
            batches = {uri: batch for uri, batch in from_json(end).items() if batch.start < batch.end.offset}
            return self._twice(lambda: partitions_of(self._plan(batches)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition."""
        return rows_of(partition, self._projection, self._predicate)

    def stop(self) -> None:
        """Close files. Spark 4.3 calls it only after an error, then ends the process."""
        if self._following is not None:
            self._following.close()

    # The logs

    def _twice(self, work: Callable[[], Found]) -> Found:
        """Segments come and go: if data seems lost, list the files again and retry once."""
        try:
            return work()
        except DataLoss:
            self._follow().list()
            self._seen = None
            return work()

    def _follow(self) -> Following:
        if self._following is None:
            request = self._request  # a reference to this reader would keep it, and its open files, alive
            self._following = Following(lambda: request.open().stores, self._limits, self._options.planning().tail)
        return self._following

    def _store(self, uri: str) -> StoreFiles:
        found = self._follow().stores.get(uri)
        if found is None:
            raise DataLoss(f"{uri} went while it was looked at")
        return found

    def _look(self) -> Ends:
        """The ends of the logs, at most `_LOOK_EVERY` old."""
        now = time.monotonic()
        if self._seen is None or now - self._seen[0] >= _LOOK_EVERY or self._follow().has_news():
            self._seen = now, self._follow().look()
        return self._seen[1]

    def _ends(self) -> Ends:
        """Where the query may read to."""
        now = self._look()
        if self._target is not None:
            # A log may have been truncated since, and then it never reaches its target.
            still = {uri: end for uri, end in self._target.items() if end.last is None or (uri in now and stands(self._store(uri), end))}
            self._target = {uri: still.get(uri, now[uri]) for uri in self._target if uri in now}
        return now if self._target is None else self._target

    def _end_of_batch(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        ends = self._ends()
        if self._idle == (start, ends):
            return start
        known = from_json(start)
        begins, elsewhere = self._begins(known, ends)
        stops = portion(
            {uri: self._store(uri) for uri in begins},
            begins,
            ends,
            limit,
            asked=self._request.stream,
            limits=self._limits,
            all_in_time=self._target is not None,
        )
        # After a data loss, store the new position at once. Otherwise the next records would count as lost too.
        goes_on = all(begin == known[uri].end for uri, begin in begins.items() if uri in known)
        if goes_on and all(stops[uri].offset == begin.offset for uri, begin in begins.items()):
            self._idle = start, dict(ends)
            return start
        batches = {uri: Batch(batch.end.offset, batch.end) for uri, batch in elsewhere.items()}
        return to_json(batches | {uri: Batch(begin.offset, stops[uri]) for uri, begin in begins.items()})

    # Where to start

    def _begin(self, store: StoreFiles, end: Boundary) -> Boundary:
        """Where a new query begins in this log."""
        options, asked = self._options, self._request.stream.start
        begins = [Boundary(store.min_offset)]
        if options.starting_physical_offset is not None:
            begins.append(begin_by_offset(store, end, options.starting_physical_offset, self._limits))
        if options.starting_timestamp is not None:
            begins.append(begin_by_time(store, end, self._predicate, options.planning().clock_skew))
        if asked == LATEST or (asked is None and len(begins) == 1 and options.starting_offsets is None):
            return end
        return max(begins, key=lambda begin: begin.offset)

    def _begins(self, known: Offset, ends: Ends) -> tuple[Ends, Offset]:
        """Where the next batch begins in each log; and the batches of stores that are not there now."""
        moved, begins = self._moved(known), Ends()
        for uri, end in ends.items():
            at = known.get(moved.get(uri, uri))
            begins[uri], lost = self._resumed(uri, Boundary(0) if at is None else at.end, end)
            if lost is not None:
                self._lose(lost)
        elsewhere = {uri: batch for uri, batch in known.items() if uri not in begins and uri not in moved.values()}
        for uri, batch in elsewhere.items():
            if batch.end.last is not None and uri not in self._look():
                self._lose(
                    f"{uri} is not among the stores that are there now, and no other holds the record at offset "
                    f"{batch.end.last.offset:,}, the last that was read of it"
                )
        return begins, elsewhere

    def _resumed(self, uri: str, at: Boundary, end: Boundary) -> tuple[Boundary, str | None]:
        if not goes_on(self._store(uri), at, end):
            self._follow().list()  # segments may have come and gone since
        return resumed(self._store(uri), at, end, self._limits)

    def _moved(self, known: Offset) -> dict[str, str]:
        """Stores that have moved: the new URI, and the old one."""
        stores, found = self._follow().stores, dict[str, str]()
        for uri, batch in known.items():
            if uri in stores:
                continue
            here = next((each for each in stores if each not in known and each not in found and stands(stores[each], batch.end)), None)
            if here is not None:
                found[here] = uri
                self._tell(f"{uri} is not there any more; {here} holds the last record that was read of it, and is read on in its place")
        return found

    # What a batch reads

    def _plan(self, batches: Offset) -> Plan:
        ranges = self._ranges(batches)
        plan = Scan(tuple(map(self._store, ranges)), self._options, self._predicate).between(ranges).plan()
        for store, first, behind in plan.gaps:
            self._tell(f"{store}: offsets {first:,} to {behind:,} ({behind - first:,} bytes) lie in no file; read on without them")
        return plan

    def _ranges(self, batches: Offset) -> dict[str, tuple[int, int]]:
        """The range of each store in a batch, after a check that the data has not changed since the batch was made."""
        ranges: dict[str, tuple[int, int]] = {}
        for uri, batch in batches.items():
            here = self._place_of(uri, batch.end)
            if here is None:
                self._lose(f"{uri}: offsets {batch.start:,} to {batch.end.offset:,} are to be read, but the store is gone")
            else:
                ranges[here] = self._range(self._store(here), *batch)
        return {uri: (start, stop) for uri, (start, stop) in ranges.items() if start < stop}

    def _range(self, store: StoreFiles, start: int, end: Boundary) -> tuple[int, int]:
        first = store.min_offset
        if start < first:
            self._lose(expired(store, start, min(first, end.offset)))
        begin, stop = max(start, first), end.offset
        if end.last is not None and end.last.offset >= first and not stands(store, end):
            self._lose(rewritten(store, end))
            return self._what_is_left(store, begin, min(stop, self._follow().look()[store.uri].offset))
        return begin, stop

    def _what_is_left(self, store: StoreFiles, start: int, stop: int) -> tuple[int, int]:
        """The records of a rewritten log in that range of offsets."""
        segment = segment_before(store.segments, start + 1)
        if segment is None or start >= stop:
            return start, start
        begin = boundary_after(store, Boundary(segment.base), start, self._limits) if start > segment.base else Boundary(start)
        return begin.offset, boundary_before(store, begin, stop, self._limits).offset if begin.offset < stop else begin.offset

    def _place_of(self, uri: str, end: Boundary) -> str | None:
        """The URI of a batch's store, even if the store has moved; None if it is gone."""
        following = self._follow()
        for _ in range(2):
            stores, last = following.stores, end.last
            if uri in stores and (last is None or last.offset < stores[uri].min_offset or stands(stores[uri], end)):
                return uri
            if found := next((each for each, store in stores.items() if stands(store, end)), None):
                return found
            following.list()  # segments may have come and gone since
        return uri if uri in following.stores else None

    # Messages to the user

    def _lose(self, what: str) -> None:
        """Report messages that the query should have read but cannot."""
        if self._options.planning().refuses_loss:
            raise DataLoss(f"{what}. failOnDataLoss=false goes on with what is there. {_AFRESH}")
        self._tell(f"data loss: {what}. Goes on with what is there")

    def _tell(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            announce(line)

    def _tell_beginning(self, start: dict[str, Any]) -> None:
        """Once per run: print warnings, and a note that an old query ignores startingOffsets and uses its checkpoint."""
        asked = self._request.stream.start
        if not self._doubted:
            self._doubted = True
            for doubt in Scan(tuple(self._follow().stores.values()), self._options, self._predicate).doubts(spark_name):
                self._tell(doubt)
        if not self._began and asked in (EARLIEST, LATEST):
            self._tell(f"startingOffsets={asked} is for a new query; this one goes on from its checkpoint")
        self._began = True
