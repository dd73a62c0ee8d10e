"""How far a stream is behind the logs it follows, computed from Spark's progress events.

spark.streams.addListener(LagListener())
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from native_reader.stream import OffsetError, ends_from_json, from_json
from native_reader.text import size_of

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery


class StreamLag(NamedTuple):
    """How far the end of a batch is behind the end of one log."""

    store: str
    bytes: int
    seconds: float | None
    """The store time of the newest record minus that of the last record read; None if no record was read."""
    rows: int | None
    """Estimated from the rows per byte of the batch; None if the batch had no rows."""

    def __str__(self) -> str:
        if not self.bytes:
            return f"{self.store}: up to date"
        seconds = "" if self.seconds is None else f", {self.seconds:,.1f} s"
        rows = "" if self.rows is None else f", about {self.rows:,} rows"
        return f"{self.store}: {size_of(self.bytes)} behind{seconds}{rows}"


def lags(progress: StreamingQueryProgress) -> Iterator[StreamLag]:
    """The lag of each store that a query follows. Skips sources of other formats."""
    for source in progress.sources:
        try:
            ended, newest = from_json(json.loads(source.endOffset)), ends_from_json(json.loads(source.latestOffset))
        except (OffsetError, TypeError, ValueError, AttributeError):  # a source of another format, or one that has not started
            continue
        read = sum(batch.end.offset - batch.start for batch in ended.values())
        for uri, end in newest.items():
            done = ended[uri].end if uri in ended else None
            unread = max(0, end.offset - (0 if done is None else done.offset))
            last, first = end.last, None if done is None else done.last
            seconds = None if last is None or first is None else max(0.0, (last.stored - first.stored) / 1000)
            rows = round(unread * source.numInputRows / read) if read and source.numInputRows else None
            yield StreamLag(uri, unread, seconds, rows)


def is_up_to_date(query: StreamingQuery) -> bool:
    """Whether a running query has read all that was in the logs at its last trigger."""
    # While a trigger is active, the last progress is of an earlier one.
    progress = None if query.status["isTriggerActive"] else query.lastProgress
    return progress is not None and not any(lag.bytes for lag in lags(progress))


class LagListener(StreamingQueryListener):
    """Prints the lag of every store after each batch."""

    def __init__(self, announce: Callable[[str], object] = print) -> None:
        super().__init__()
        self._announce = announce

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """No lag is known yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Print one line for each store."""
        for lag in lags(event.progress):
            self._announce(f"{event.progress.name or event.progress.id}: {lag}")

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """No new lag: an idle query has read everything."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Nothing to print."""
