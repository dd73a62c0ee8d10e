"""Readings in parallel: threads make the batches, and the consumer takes them in order."""

from __future__ import annotations

import queue
import sys
import threading
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from native_reader.storage.local import in_forked_processes
from native_reader.tuning import TUNING


class BatchSource(Protocol):
    """A reading: iterate it for its batches. After `stop`, it ends soon."""

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    def stop(self) -> None:
        """End after the current batch."""


Read = TypeVar("Read", bound=BatchSource)
_LOOK = 0.1


class _Process:
    """The process: a forked one has another `name`, and none of the threads of the first one."""

    name = object()

    @classmethod
    def fork(cls) -> None:
        cls.name = object()


in_forked_processes(_Process.fork)


class Ahead(Generic[Read]):
    """What a reading has made and nobody took yet: one thread calls `make`, another iterates.

    `make` waits while `most` bytes of batches are left. Call `give_up` if you stop iterating. `meanwhile` is called before batches
    are taken, and from time to time while there are none.
    """

    def __init__(self, reading: Read, most: int, meanwhile: Callable[[], None] | None = None) -> None:
        self.reading, self._meanwhile = reading, meanwhile
        self._most, self._held = most, 0
        self._batches: list[pa.RecordBatch] = []
        self._error: BaseException | None = None
        self._is_over = self._is_given_up = False
        # Ctrl-C interrupts the thread that iterates anywhere in Python's code: inside `Condition.__enter__` or `wait`, the lock would
        # stay locked, and `make` would never end. So that thread waits for a queue and takes a lock, which are made in C.
        self._lock, self._arrived = threading.Lock(), queue.SimpleQueue[None]()
        self._changed = threading.Condition(self._lock)

    def make(self) -> None:
        """Read to the end."""
        try:
            for batch in () if self._is_given_up else self.reading:
                with self._lock:
                    self._changed.wait_for(lambda: self._is_given_up or self._held < self._most)
                    if self._is_given_up:
                        break
                    self._batches.append(batch)
                    self._held += batch.nbytes
                self._arrived.put(None)
        except BaseException as error:  # raised again in `__iter__`
            self._error = error
        with self._lock:
            self._is_over = True
        self._arrived.put(None)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while batches := self._taken():
            while batches:
                yield batches.pop()
        if self._error is not None:
            raise self._error

    def _taken(self) -> list[pa.RecordBatch]:
        """What is there, the newest first, or once there is something; nothing at the end."""
        while True:
            if self._meanwhile is not None:
                self._meanwhile()
            with self._lock:
                if self._batches or self._is_over:
                    taken, self._batches, self._held = self._batches[::-1], [], 0
                    self._changed.notify()
                    return taken
            with suppress(queue.Empty):
                self._arrived.get(timeout=None if self._meanwhile is None else _LOOK)

    def give_up(self) -> None:
        """Let `make` end after the current chunk."""
        self.reading.stop()
        with self._lock:
            self._is_given_up = True
            self._changed.notify_all()  # one that was interrupted may still count as waiting


def side_by_side(
    readings: Iterator[Read],
    jobs: int,
    ended: Callable[[Read], None] = lambda _: None,
    meanwhile: Callable[[], None] | None = None,
    *,
    most: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """The batches of those readings, in order. `jobs` threads make them; each may be one reading ahead.

    `ended` gets each reading that was begun, when it is over. `meanwhile`: as for `Ahead`. `most`: the bytes of batches that may wait,
    for each reading.
    """
    ahead, waiting = deque[Ahead[Read]](), queue.SimpleQueue[Ahead[Read] | None]()
    begun, finished, process = 0, queue.SimpleQueue[None](), _Process.name

    def work() -> None:
        try:
            while (each := waiting.get()) is not None:
                each.make()
        finally:
            finished.put(None)

    try:
        # The same threads for all readings: memory that a thread freed is at hand only for the same thread. `Thread.start` waits for a
        # condition of Python: Ctrl-C there can end as `RuntimeError: release unlocked lock`.
        while begun < jobs:
            start_new_thread(work, ())
            begun += 1
        while True:
            while len(ahead) < 2 * jobs and (reading := next(readings, None)) is not None:
                ahead.append(Ahead(reading, TUNING.bytes_ahead if most is None else most, meanwhile))
                waiting.put(ahead[-1])
            if not ahead:
                break
            yield from ahead[0]
            ended(ahead.popleft().reading)
    finally:
        # Where Python ends, the other threads stand still, and a forked process has none of them. To wait for one would never end.
        if process is _Process.name and not sys.is_finalizing():
            for each in ahead:
                each.give_up()
            for _ in range(jobs):
                waiting.put(None)
            for _ in range(begun):
                finished.get()
            for each in ahead:
                ended(each.reading)
