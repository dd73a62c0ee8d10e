"""The stream reader: maps what Spark asks to `native_reader.stream`.

Reasons in Spark 4.3: the driver's reader lives as long as the query, but a second one, built for each run, is sent to the
tasks. `initialOffset` is called twice, and again after a failed first batch; its result is never stored. Without a trigger,
`latestOffset` is called 90 times per second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from socket import gethostname
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from native_reader.errors import option_name
from native_reader.scan.run import tasks_of
from native_reader.stream import BatchLimit, Offset, Stream, ends_to_json, from_json, start_of, to_json
from rmqstore_spark.options import in_sparks_words
from rmqstore_spark.reader import announce, partitions_of, rows_of
from rmqstore_spark.request import LoadRequest

_IF_NOT_YET = f"Set {option_name('fail_on_missing_topic', False)} to wait for a topic that does not exist yet, or to read a deleted one"


class StoreStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows the logs of all requested stores."""

    def __init__(self, request: LoadRequest) -> None:
        self._request, self._planned_on = request, gethostname()
        self._parsed: tuple[dict[str, Any], Offset] = {}, {}

    @cached_property
    def _stream(self) -> Stream:
        """Made on first use, because the reader for the tasks is pickled."""
        request = self._request  # a reference to this reader would keep it, and its open files, alive
        start = start_of(request.options.values, request.start)
        return Stream(lambda: request.open().stores, request.predicate, request.options.planning(), start, announce)

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query begins. Always the same result, because Spark calls it more than once.

        A query with a checkpoint does not come here, so it continues after its topic was deleted.
        """
        with in_sparks_words():
            self._request.check_topics(self._request.open(), _IF_NOT_YET)
            return to_json(self._stream.first_offset())

    def prepareForTriggerAvailableNow(self) -> None:
        """The query ends where the logs end now."""
        with in_sparks_words():
            self._stream.stop_at_current_ends()

    def getDefaultReadLimit(self) -> ReadLimit:
        """The limit set by the options. Spark accepts only one, so bytes before records; `latestOffset` applies both."""
        options = self._request.limit
        if options.most_bytes is not None:
            return ReadMaxBytes(options.most_bytes)
        return ReadAllAvailable() if options.most_records is None else ReadMaxRows(options.most_records)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The end of the batch that begins at `start`; `start` itself if there is nothing new."""
        with in_sparks_words():
            if start != self._parsed[0]:  # parsed once, because an idle query asks with the same offset all the time
                self._parsed = start, from_json(start)
            begin = self._parsed[1]
            end = self._stream.next_offset(begin, self._batch_limit(limit))
            return start if end is begin else to_json(end)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """The ends of the logs for Spark's progress events. The difference to the end of a batch is the lag."""
        ends = self._stream.seen_ends
        return None if ends is None else ends_to_json(ends)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The tasks of a batch. Spark 4.3 may pass another start than the batch had, so the start stored in `end` counts."""
        if start == end:
            return []
        with in_sparks_words():
            return partitions_of(tasks_of(self._stream.plan(from_json(end))))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition."""
        return rows_of(partition, self._request, self._planned_on)

    def stop(self) -> None:
        """Close files. Spark 4.3 calls it only after an error, then ends the process."""
        self._stream.close()

    def _batch_limit(self, limit: ReadLimit) -> BatchLimit:
        """Spark's limit, combined with those of the options."""
        options = self._request.limit
        match limit:
            case ReadAllAvailable():  # overrides the options
                return BatchLimit()
            case ReadMinRows():
                return BatchLimit(least_records=limit.min_rows)
            case ReadMaxBytes():
                return options._replace(most_bytes=limit.max_bytes)
            case ReadMaxRows():
                return options._replace(most_records=limit.max_rows)
            case ReadMaxFiles():
                return options._replace(most_files=limit.max_files)
        return options
