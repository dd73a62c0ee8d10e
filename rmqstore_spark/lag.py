"""How far a stream is behind the logs that it follows, from Spark's progress of it.

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

from native_reader.plan.explain import size_of
from rmqstore_spark.offsets import Offset, OffsetError, ends_from_json, from_json

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress


class Lag(NamedTuple):
    """How far one store was ahead of the end of a batch."""

    store: str
    bytes: int
    seconds: float | None
    """By the store times of the newest record and of the last that was read; None where nothing was read."""
    rows: int | None
    """About, by the rows that the batch had of its bytes; None where it had none."""

    def __str__(self) -> str:
        if not self.bytes:
            return f"{self.store}: nothing behind"
        seconds = "" if self.seconds is None else f", {self.seconds:,.1f} s"
        rows = "" if self.rows is None else f", about {self.rows:,} rows"
        return f"{self.store}: {size_of(self.bytes)} behind{seconds}{rows}"


def lags(progress: StreamingQueryProgress) -> Iterator[Lag]:
    """Of each store that a query follows; none of its other sources."""
    for source in progress.sources:
        try:
            ended, newest = from_json(json.loads(source.endOffset)), ends_from_json(json.loads(source.latestOffset))
        except (OffsetError, TypeError, ValueError, AttributeError):  # a source of another kind, or one that has not begun
            continue
        read = sum(batch.end.offset - batch.start for batch in ended.values())
        for uri, end in newest.items():
            behind = _behind(uri, ended, end.offset)
            last, first = end.last, ended[uri].end.last if uri in ended else None
            seconds = None if last is None or first is None else max(0.0, (last.stored - first.stored) / 1000)
            rows = round(behind * source.numInputRows / read) if read and source.numInputRows else None
            yield Lag(uri, behind, seconds, rows)


class LagListener(StreamingQueryListener):
    """Prints after each batch how far every store is behind."""

    def __init__(self, tell: Callable[[str], object] = print) -> None:
        super().__init__()
        self._tell = tell

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing is known yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """A line for each store."""
        for lag in lags(event.progress):
            self._tell(f"{event.progress.name or event.progress.id}: {lag}")

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing is behind that a batch would not have read."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Nothing more is read."""


def _behind(uri: str, ended: Offset, newest: int) -> int:
    return max(0, newest - (ended[uri].end.offset if uri in ended else 0))
