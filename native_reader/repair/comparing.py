"""Compares the bytes of both logs beside other work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

import numpy as np

from native_reader.repair.plan import RepairPlan
from native_reader.storage.paths import uri_of
from native_reader.storage.protocol import storage_of

_PIECE, _PART = 1 << 20, 64 << 20


class Comparing:
    """A comparison in so many threads."""

    def __init__(self, jobs: int) -> None:
        self._threads = ThreadPoolExecutor(jobs)
        self._compared: list[tuple[int, Future[int | None]]] = []

    def begin(self, plan: RepairPlan, base: int, path: str) -> None:
        """Begin to compare a segment of the new log with that of the old one, if there is one."""
        self._compared += [(base, part) for part in self._parts_of(plan, base, path)]

    def is_equal(self, plan: RepairPlan, base: int, path: str) -> bool:
        """Compare a segment that was there before."""
        return all(part.result() is None for part in self._parts_of(plan, base, path))

    def _parts_of(self, plan: RepairPlan, base: int, path: str) -> list[Future[int | None]]:
        source = plan.shape.sources.get(base)
        parts = () if source is None else _parts(plan, base, source.size)
        return [self._threads.submit(_first_difference, source.uri, uri_of(path), *part) for part in parts if source is not None]

    def first_difference(self) -> int | None:
        """Wait for the end. Returns about where the logs differ first."""
        found = [base + at for base, part in self._compared if (at := part.result()) is not None]
        return min(found, default=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._threads.shutdown(cancel_futures=True)


def _parts(plan: RepairPlan, base: int, size: int) -> Iterator[tuple[int, int]]:
    """The positions in a segment that must be equal."""
    for start, stop in _but_changes(plan, base, _whole_ranges(plan, base, size)):
        for at in range(start, stop, _PART):
            yield at, min(at + _PART, stop)


def _first_difference(one: str, other: str, start: int, stop: int) -> int | None:
    """About where positions `[start, stop)` of two files differ first. Most of what is a hole in both is not read."""
    left, right, zeros = bytearray(_PIECE), bytearray(_PIECE), bytes(_PIECE)
    with storage_of(one).open(one) as source, storage_of(other).open(other) as copy:
        at, may_be_hole = start, True
        while at < stop:
            # Asked only where it may be so: each answer waits for the file system, which is busy with writing the copy.
            if may_be_hole and (data := min(source.next_data(at), copy.next_data(at))) > at:
                at = data
                continue
            count = min(_PIECE, stop - at)
            if count < _PIECE:
                left, right = bytearray(count), bytearray(count)
            is_read = source.read_into(at, memoryview(left)) == copy.read_into(at, memoryview(right)) == count
            if not is_read or left != right:
                return at
            at, may_be_hole = at + count, left == zeros[:count]
    return None


def _whole_ranges(plan: RepairPlan, base: int, size: int) -> Iterator[tuple[int, int]]:
    """The positions in a segment outside of holes."""
    at = 0
    for hole in plan.shape.holes:
        if base <= hole.start < base + plan.shape.size:
            if hole.start - base > at:
                yield at, min(hole.start - base, size)
            at = size if hole.is_tail else hole.stop - base
    if at < size:
        yield at, size


def _but_changes(plan: RepairPlan, base: int, ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """These ranges without what is rewritten in records that are kept."""
    changes = np.array([(at, len(content)) for at, content in sorted(plan.rewritten.items())], np.int64).reshape(-1, 2)
    begins, ends = changes[:, 0] - base, changes.sum(axis=1) - base
    for start, stop in ranges:
        mine = (begins >= start) & (begins < stop)
        yield from zip([start, *ends[mine].tolist()], [*begins[mine].tolist(), stop], strict=True)
