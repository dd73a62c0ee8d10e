"""Messages as they arrive: the end of a growing log, read again and again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import Self

import pyarrow as pa

from native_reader.conditions import predicate_of
from native_reader.errors import OptionError
from native_reader.lazy import Read, read_batches
from native_reader.log.witness import is_live
from native_reader.newest import newest
from native_reader.options import MessageOptions, refuse_in_streams
from native_reader.scan.run import Run
from native_reader.storage.store import StoreFiles
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
            raise OptionError(f"start must be {EARLIEST}, {LATEST} or None, not {start!r}")
        if not isinstance(pause, int | float) or not 0 <= pause <= _MOST_PAUSE:
            raise OptionError(f"pause must be a number of seconds from 0 to {_MOST_PAUSE:,}, not {pause!r}")
        refuse_in_streams(options, "Omit it")
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


def _warn(text: str) -> None:
    _log.warning("%s", text)
