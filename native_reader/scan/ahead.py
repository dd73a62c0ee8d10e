"""Reads in a thread, a few batches ahead of the consumer."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import pyarrow as pa

from native_reader.scan.read import Reading

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
