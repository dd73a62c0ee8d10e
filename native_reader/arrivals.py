"""Messages as they arrive: the newest of a store, and the end of a growing log, read again and again."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from threading import Event
from typing import Any, Self

import pyarrow as pa

from native_reader.conditions import predicate_of
from native_reader.errors import Line, OptionError, warn
from native_reader.lazy import Read, Scan, read_batches
from native_reader.options import MessageOptions, refuse_in_streams
from native_reader.plan.ends import find_ends
from native_reader.plan.lost import CheckedEnd
from native_reader.scan.run import Run
from native_reader.sentences import say
from native_reader.storage.store import StoreFiles, is_live
from native_reader.stream import EARLIEST, LATEST, BatchLimit, Offset, Stream, start_of

_PORTION = 64 << 20
"""Bytes of the log that one step reads, so that memory stays bounded however much was written."""
_MOST_PAUSE = 3600

_log = logging.getLogger(__name__)


class Arrivals:
    """The messages that arrive in the logs of all stores, each once. Iterate it for batches: it waits for new ones, and has no end.

    `stop` ends the iteration, also from another thread. As a context, it closes the files at the end. `Store.follow` makes it.

    Examples:
        >>> with store.follow(columns="topic,queue_offset") as arrivals:
        ...     arrivals.is_live, [batch.num_rows for batch in arrivals.newest(2)]
        (False, [2])
    """

    def __init__(
        self,
        list_stores: Callable[[], Sequence[StoreFiles]],
        options: MessageOptions,
        start: str | None = None,
        pause: float = 0.2,
        warn: Callable[[str], object] | None = None,
    ) -> None:
        if start not in (None, EARLIEST, LATEST):
            raise OptionError(say("wrong start", earliest=EARLIEST, latest=LATEST, start=repr(start)))
        if not isinstance(pause, int | float) or not 0 <= pause <= _MOST_PAUSE:
            raise OptionError(say("wrong pause", most=_MOST_PAUSE, pause=repr(pause)))
        refuse_in_streams(options)
        self._options, self._projection, self._pause = options, options.projection(), pause
        self._list_stores, self._stopped = list_stores, Event()
        self._stream = Stream(list_stores, predicate_of(options), options.planning(), start_of(options.values, start), warn or _warn)
        try:
            self._offset: Offset = self._stream.first_offset()
        except BaseException:
            self.close()
            raise
        self._begin = self._offset

    @property
    def is_live(self) -> bool:
        """Whether a broker on this host has one of the stores open. On other hosts, and in copies, this is not known."""
        return any(map(is_live, self._offset))

    def newest(self, count: int, read: Read = read_batches) -> Iterator[pa.RecordBatch]:
        """Read the newest messages before those that arrive.

        Args:
            count: How many of each store.
            read: As for `Store.newest`.
        """
        for store in self._list_stores():
            if store.uri in self._begin:
                yield from newest(store, self._options, count, self._begin[store.uri].end.offset, read)

    def runs(self) -> Iterator[Run]:
        """One run for each step: iterate it for its batches, then use its `report`. Waits until there is something new."""
        while not self._stopped.is_set():
            following = self._stream.next_offset(self._offset, BatchLimit(most_bytes=_PORTION))
            if following is self._offset:
                self._stopped.wait(self._pause)
                continue
            yield Run(self._stream.plan(following), self._projection)
            self._offset = following

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for run in self.runs():
            for batch in run:
                yield batch
                if self._stopped.is_set():
                    return

    def stop(self) -> None:
        """End the iteration: at once if it waits, otherwise after the current batch. Can be called in any thread."""
        self._stopped.set()

    def close(self) -> None:
        """Stop, and close all files."""
        self.stop()
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _warn(line: Line) -> None:
    warn(_log, line.said, is_loss=line.is_loss)


_FIRST_LOOK = 64 << 10
_GROWTH = 8
"""Each look backwards is at most this many times as long as the one before: about twice what its rows are expected in."""


def newest(
    store: StoreFiles, options: MessageOptions, count: int, end: int | None = None, read: Read = read_batches
) -> list[pa.RecordBatch]:
    """The last `count` messages before `end`, or before the end of the log. `read`: how each scan of a part of the log is read."""
    if not count:
        return []
    ends = find_ends((store,), options.planning()) if end is None else {store.uri: CheckedEnd(end, follows_record=False)}
    bounds, (last_end,) = options.values, ends.values()
    first = max(store.min_offset, bounds["starting_physical_offset"] or 0)
    high = last_end.offset if bounds["ending_physical_offset"] is None else min(last_end.offset, bounds["ending_physical_offset"])
    kept, looked = deque[Any](), _FIRST_LOOK
    while count > 0 and high > first:
        low = max(first, high - looked)
        window = replace(options, starting_physical_offset=low, ending_physical_offset=high)
        with closing(read(Scan((store,), window, ends=ends).in_order())) as batches:
            some = last(batches, count)
        kept.extendleft(reversed(some))
        rows = sum(map(len, some))
        count -= rows
        high, looked = low, looked * min(_GROWTH, 1 + 2 * count // max(1, rows))
    return list(kept)


def last(batches: Iterable[pa.RecordBatch], count: int) -> list[pa.RecordBatch]:
    """The last rows of these batches. Holds no more than these and one batch."""
    kept, rows = deque[Any](), 0
    for batch in batches:
        kept.append(batch)
        rows += len(batch)
        while rows - len(kept[0]) >= count:
            rows -= len(kept.popleft())
    if rows > count:
        kept[0] = kept[0].slice(rows - count)
    return list(kept)
