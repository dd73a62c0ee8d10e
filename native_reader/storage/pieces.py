"""The bytes of a file over a slow link: a few are kept, many small ranges are joined, and what comes next is fetched ahead.

Over a link, a call takes as long as many kilobytes. So a call fetches whole pages, and several calls run at a time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass

PAGE = 64 << 10
"""What a call fetches at least: at 100 MB/s it takes less than a millisecond more than one byte. Also the largest gap between two
ranges that one call fetches: among parallel calls, one more costs about as much as these bytes."""
BLOCK = 4 << 20
"""What a call fetches at most, so that several calls share a long range."""
AHEAD = 32 << 20
"""How much of what comes next is fetched while the reader works. Eight calls of a block keep a link of 1 GB/s and 30 ms busy."""
_LARGE = 1 << 20
"""A read of this size is one of many, if its bytes were expected."""
_KEPT = 8 << 20
"""How much of what was read is kept."""
_AT_ONCE = 32
"""Calls for many ranges that are on their way at a time."""

Fetch = Callable[[int, int], bytes]
"""The bytes `[start, stop)` of the file; all of them, or an error."""


class FetchError(Exception):
    """A call failed. `start`: the first byte that it was for; its cause is the error."""

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.start = start


@dataclass(slots=True, eq=False)
class _Fetched:
    """Bytes `[start, stop)`, here or on their way. `used`: the number of the last read that used it."""

    start: int
    stop: int
    content: Future[bytes]
    used: int = 0


class Pieces:
    """The pieces of one open file. For one thread at a time."""

    def __init__(self, fetch: Fetch, size: int, threads: Executor) -> None:
        self._fetch, self._size, self._threads = fetch, size, threads
        self._pieces: list[_Fetched] = []
        """In order; they do not overlap."""
        self._reads = 0
        self._last = 0, 0
        """The range of the last read."""
        self._run = 0
        """How many bytes were read one after the other until now."""
        self._expected: tuple[int, int] | None = None

    def expect(self, start: int, stop: int) -> None:
        """These bytes are read next, from the first to the last. Nothing else is fetched ahead from now on."""
        self._expected = start, min(stop, self._size)

    def read(self, offset: int, view: memoryview) -> None:
        """Fill the view with bytes inside the file."""
        stop = offset + len(view)
        self._forget_failed()
        begin, end = self._pages(offset, stop)
        low, high = self._wanted_next(offset, stop, (begin, end))
        needed, later = self._missing(begin, end), self._worthwhile(self._missing(low, high))
        if low < begin:
            later.reverse()  # the nearest first
        self._add(needed, here=len(needed) == 1 and not later)
        self._add(later)
        self._reads += 1
        self._copy(offset, view)
        self._last = offset, stop
        self._drop(min(low, offset), max(high, stop))

    def read_many(self, offsets: Sequence[int], lengths: Sequence[int], view: memoryview) -> None:
        """Fill the view with many ranges inside the file, one after the other."""
        pages = _merged(self._pages(offset, offset + length) for offset, length in zip(offsets, lengths, strict=True) if length)
        if sum(stop - start for start, stop in pages) <= _KEPT // 2:
            self._read_pages(pages, offsets, lengths, view)
        else:
            self._read_streaming(offsets, lengths, view)

    def _read_pages(self, pages: list[tuple[int, int]], offsets: Sequence[int], lengths: Sequence[int], view: memoryview) -> None:
        """By way of pages, which are kept: a reader that follows entries comes back to them."""
        self._forget_failed()
        missing = [gap for start, stop in pages for gap in self._missing(start, stop)]
        self._add(missing, here=len(missing) == 1)
        self._reads += 1
        filled = 0
        for offset, length in zip(offsets, lengths, strict=True):
            self._copy(offset, view[filled : filled + length])
            filled += length
        self._drop(0, 0)

    def _read_streaming(self, offsets: Sequence[int], lengths: Sequence[int], view: memoryview) -> None:
        """In joined ranges that are not kept."""
        jobs, waiting, filled = _joined(offsets, lengths), deque[tuple[list[tuple[int, int]], Future[bytes]]](), 0
        try:
            while True:
                while len(waiting) < _AT_ONCE and (ranges := next(jobs, None)) is not None:
                    start, stop = _span(ranges)
                    waiting.append((ranges, self._threads.submit(self._fetch, start, stop)))
                if not waiting:
                    break
                ranges, coming = waiting.popleft()
                start, _ = _span(ranges)
                content = memoryview(_result(start, coming))
                for offset, length in ranges:
                    view[filled : filled + length] = content[offset - start : offset - start + length]
                    filled += length
        finally:
            for _, coming in waiting:
                coming.cancel()

    @property
    def kept(self) -> int:
        """How many bytes are here or on their way."""
        return sum(piece.stop - piece.start for piece in self._pieces)

    def rest(self, most: int) -> None:
        """Keep at most that many bytes, those that were used last. Nothing is on its way or expected any more."""
        kept = list[_Fetched]()
        for piece in sorted(self._pieces, key=lambda piece: piece.used, reverse=True):
            most -= piece.stop - piece.start
            if most >= 0 and piece.content.done() and not piece.content.cancelled() and not piece.content.exception():
                kept.append(piece)
            else:
                piece.content.cancel()
        for piece in kept:
            piece.used = 0
        self._pieces = sorted(kept, key=lambda piece: piece.start)
        self._expected, self._reads, self._last, self._run = None, 0, (0, 0), 0

    def close(self) -> list[Future[bytes]]:
        """Forget all pieces; returns those that are still on their way."""
        pending = [piece.content for piece in self._pieces if not piece.content.cancel() and not piece.content.done()]
        self._pieces = []
        return pending

    def _wanted_next(self, offset: int, stop: int, pages: tuple[int, int]) -> tuple[int, int]:
        """The whole pages to fetch ahead, after or before `pages`, with a read of `[offset, stop)`.

        If nothing is expected, as much as was read one after the other until now, so that at most half is fetched for nothing.
        """
        first, end = self._last
        is_next = self._reads > 0 and first <= offset <= end < stop
        is_before = self._reads > 0 and offset < first <= stop
        self._run = self._run + stop - offset if is_next or is_before else 0
        (low, high), length = pages, min(self._run, AHEAD)
        if self._expected is not None:
            start, until = self._expected
            is_wanted = start <= offset < until and (is_next or stop - offset >= _LARGE)
            return high, max(high, self._pages(0, min(stop + AHEAD, until))[1]) if is_wanted else high
        if is_before:
            return min(low, -(-(offset - length) // PAGE) * PAGE if length < offset else 0), low
        after = stop + length if is_next else stop
        return high, max(high, self._size if after >= self._size else after // PAGE * PAGE)

    def _pages(self, start: int, stop: int) -> tuple[int, int]:
        """The whole pages around that range."""
        return start // PAGE * PAGE, min(-(-stop // PAGE) * PAGE, self._size)

    def _missing(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The parts of that range that are in no piece, in parts of a block at most."""
        gaps: list[tuple[int, int]] = []
        for piece in self._pieces:
            if piece.stop > start and piece.start < stop:
                gaps.append((start, piece.start))
                start = piece.stop
        gaps.append((start, stop))
        return [(begin, min(begin + BLOCK, end)) for first, end in gaps for begin in range(first, end, BLOCK)]

    def _worthwhile(self, gaps: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Those that are worth a call now, not a larger one later."""
        least, borders = min(BLOCK, self._run), (self._size, 0) if self._expected is None else self._expected
        return [gap for gap in gaps if gap[1] - gap[0] >= least or gap[0] == borders[1] or gap[1] >= max(borders)]

    def _add(self, ranges: Sequence[tuple[int, int]], *, here: bool = False) -> None:
        """Begin to fetch these ranges. `here`: in this thread."""
        for start, stop in ranges:
            if here:
                content = Future[bytes]()
                try:
                    content.set_result(self._fetch(start, stop))
                except OSError as error:
                    content.set_exception(error)
            else:
                content = self._threads.submit(self._fetch, start, stop)
            self._pieces.append(_Fetched(start, stop, content))
        if ranges:
            self._pieces.sort(key=lambda piece: piece.start)

    def _copy(self, offset: int, view: memoryview) -> None:
        """Copy the bytes from `offset` on, which are all in pieces."""
        stop, place = offset + len(view), offset
        which = bisect_right(self._pieces, offset, key=lambda piece: piece.start) - 1
        while place < stop:
            piece = self._pieces[which]
            content = memoryview(_result(place, piece.content))
            piece.used = self._reads
            until = min(stop, piece.stop)
            view[place - offset : until - offset] = content[place - piece.start : until - piece.start]
            place, which = until, which + 1

    def _forget_failed(self) -> None:
        """So that this read tries again."""
        self._pieces = [piece for piece in self._pieces if not (piece.content.done() and piece.content.exception())]

    def _drop(self, low: int, high: int) -> None:
        """Forget what was used longest ago, except what is between `low` and `high`, or was used just now."""
        ahead = [piece for piece in self._pieces if low < piece.stop and piece.start < high]
        others = [piece for piece in self._pieces if piece.used < self._reads and piece not in ahead]
        others.sort(key=lambda piece: piece.used)
        excess = sum(piece.stop - piece.start for piece in others) - _KEPT
        for piece in others:
            if excess <= 0:
                break
            excess -= piece.stop - piece.start
            piece.content.cancel()
            self._pieces.remove(piece)


def _result(start: int, coming: Future[bytes]) -> bytes:
    try:
        return coming.result()
    except OSError as error:
        raise FetchError(start) from error


def _span(ranges: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The range from the first to the last of those."""
    return ranges[0][0], sum(ranges[-1])


def _merged(pages: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of pages in order, those with small gaps together."""
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(pages):
        if merged and start <= merged[-1][1] + PAGE:
            merged[-1] = merged[-1][0], max(merged[-1][1], stop)
        else:
            merged.append((start, stop))
    return merged


def _joined(offsets: Sequence[int], lengths: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
    """The ranges `(offset, length)` for each call: neighbours with small gaps together, long ones in several parts."""
    together: list[tuple[int, int]] = []
    for offset, length in zip(offsets, lengths, strict=True):
        for begin in range(offset, offset + length, BLOCK):
            part = begin, min(BLOCK, offset + length - begin)
            start, stop = _span(together) if together else (0, 0)
            if together and not (stop <= begin <= stop + PAGE and begin + part[1] - start <= BLOCK):
                yield together
                together = []
            together.append(part)
    if together:
        yield together
