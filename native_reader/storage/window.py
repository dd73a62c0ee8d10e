"""A window onto one segment: bytes from some position on, read no faster than allowed, in a buffer that is used again."""

from __future__ import annotations

import errno
import time
import weakref
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from native_reader.errors import DataLoss, UnreadableError
from native_reader.layout.record import LENGTH, PADDING, Index, Mask, at
from native_reader.sentences import say
from native_reader.storage.linux import may_be_one_file
from native_reader.storage.protocol import StoredFile, storage_of
from native_reader.storage.store import REFUSED, Segment

Positions = NDArray[np.signedinteger] | int
_PAIRS = 64 << 10
_BLOCK = 4 << 10
"""The smallest range that a disk error affects."""


class Window:
    """`load` fills it. `u8` and `arrow` then show the same bytes, and the first `filled` of them are valid.

    PADDING zero bytes follow the loaded bytes, so that a gather at any record start stays inside the buffer.
    `memory`: where it comes from, and goes to when the window is closed.
    """

    def __init__(
        self,
        segment: Segment,
        size: int,
        *,
        pace: ReadRate | None = None,
        leave_no_trace: bool = False,
        past_unreadable: bool = False,
        memory: Memory | None = None,
    ) -> None:
        self.segment = segment
        self.unreadable: list[tuple[int, int]] = []
        """Ranges `[start, stop)` of positions that could not be read; with `past_unreadable` they contain zeros."""
        self._past_unreadable = past_unreadable
        self.position = self.filled = self.bytes_read = self.loads = 0
        self._scratch: Mask | None = None
        self._is_lent = False
        self._pace = pace
        self._file = _opened(segment, past_unreadable=past_unreadable)
        if leave_no_trace:
            self._file.leave_no_trace()
        self._memory, self._least = Memory() if memory is None else memory, min(size, segment.size)
        self._grow(self._least)

    @property
    def unopened(self) -> str | None:
        """Why the file, or its part from `not_read_from` on, could not be opened or read, with `past_unreadable`; None if it is open."""
        return self._file.problem if isinstance(self._file, _Unopened) else None

    @property
    def not_read_from(self) -> int:
        """From which position on nothing is read, because the file could not be opened or its storage failed."""
        return self._file.begin if isinstance(self._file, _Unopened) else self.segment.size

    def will_read(self, start: int, stop: int) -> None:
        """A hint: these positions are loaded next, in order."""
        self._file.will_read(start, stop)

    def load(self, position: int, length: int) -> int:
        """Load up to `length` bytes from that position of the file, and grow if needed; returns how many there were."""
        length = min(length, self.segment.size - position)
        self._make_room(length)
        filled = self._read(position, self._view[:length])
        return self._loaded(position, filled, position + filled if filled < length else None)

    def gather(self, positions: list[int], lengths: list[int]) -> int:
        """Load many ranges of the file, one after the other; `position` is then meaningless."""
        total = sum(lengths)
        self._make_room(total)
        filled = self._file.read_many(positions, lengths, self._view)
        return self._loaded(0, filled, self._file.size() if filled < total else None)

    def _loaded(self, position: int, filled: int, cut_short: int | None) -> int:
        """The window now shows those bytes; `cut_short`: the size of the file if it ended too early."""
        if self._pace is not None:
            self._pace.spend(filled)
        if cut_short is not None:
            raise self._cut_short(cut_short)
        self.bytes_read += filled
        self.u8[filled : filled + PADDING] = 0
        self.position, self.filled = position, filled
        self.loads += 1
        return filled

    def peek(self, position: int, length: int) -> bytes:
        """A few bytes from anywhere in the file; the window does not change."""
        content = bytearray(max(0, min(length, self.segment.size - position)))
        filled = self._read(position, memoryview(content))
        self.bytes_read += filled
        if filled < len(content):
            raise self._cut_short(position + filled)
        return bytes(content)

    def peek_pairs(self, positions: Index) -> NDArray[np.int16]:
        """The two bytes at each of many positions inside the file, as numbers; the window does not change."""
        inside = (positions >= self.position) & (positions + 2 <= self.position + self.filled)
        pairs = at(self.u8, LENGTH)[np.where(inside, positions - self.position, 0)].astype(np.int16)
        outside = np.flatnonzero(~inside)
        for begin in range(0, len(outside), _PAIRS):
            which = outside[begin : begin + _PAIRS]
            unique, inverse = np.unique(positions[which], return_inverse=True)  # read each position once
            pairs[which] = self._pairs(unique.tolist())[inverse]
        return pairs

    def _pairs(self, positions: list[int]) -> NDArray[np.int16]:
        pairs = bytearray(2 * len(positions))
        try:
            filled = self._file.read_many(positions, [2] * len(positions), memoryview(pairs))
        except UnreadableError as error:
            if not self._skips(error):
                raise
            pairs = bytearray(b"".join(self.peek(position, 2) for position in positions))
            filled = len(pairs)
        self.bytes_read += filled
        if filled < len(pairs):
            raise self._cut_short(self._file.size())
        return np.frombuffer(pairs, LENGTH).astype(np.int16)

    def next_data(self, position: int) -> int:
        """The first position at or after `position` that is not in a hole, if known; the file's size if only holes follow."""
        return min(self._file.next_data(position), self.segment.size) if position < self.segment.size else position

    def _cut_short(self, size: int) -> DataLoss:
        return DataLoss(say("segment truncated", uri=self.segment.uri, size=size, before=self.segment.size))

    def has_unreadable(self, starts: Positions, stops: Positions) -> Mask:
        """Of which ranges `[start, stop)` of positions a part could not be read."""
        unreadable = np.zeros(np.shape(starts), np.bool_)
        for first, end in self.unreadable:  # rarely any, and few
            unreadable |= np.less(first, stops) & np.less(starts, end)
        return unreadable

    def _read(self, position: int, view: memoryview) -> int:
        try:
            return self._file.read_into(position, view)
        except UnreadableError as error:
            if not self._skips(error):
                raise
            if not error.is_of_disk:
                self._give_up(error, position + self._readable(position, view))
        filled = 0
        while filled < len(view):  # disk error: read block by block, unreadable blocks as zeros
            block = min(_BLOCK - (position + filled) % _BLOCK, len(view) - filled)
            try:
                got = self._file.read_into(position + filled, view[filled : filled + block])
            except UnreadableError as error:
                if not self._skips(error):
                    raise
                view[filled : filled + block] = bytes(block)
                self._lost(position + filled, position + filled + block)
                got = block
            filled += got
            if got < block:
                break
        return filled

    def _skips(self, error: UnreadableError) -> bool:
        return self._past_unreadable and (error.is_of_disk or _is_passed(self.segment, error))

    def _readable(self, position: int, view: memoryview) -> int:
        """Of how many bytes the storage gives the first ones, in whole blocks. Few tries, because each can take long."""
        low, high = 0, len(view) // _BLOCK
        while low < high:
            middle = (low + high) // 2
            try:
                self._file.read_into(position + low * _BLOCK, view[low * _BLOCK : (middle + 1) * _BLOCK])
                low = middle + 1
            except UnreadableError:
                high = middle
        return low * _BLOCK

    def _give_up(self, error: UnreadableError, position: int) -> None:
        """Read nothing of the file from that position on."""
        self._file = _Unopened(self.segment, error, self._file, position // _BLOCK * _BLOCK)

    def _lost(self, start: int, stop: int) -> None:
        """Record unreadable bytes as whole blocks; adjacent blocks become one range."""
        start, stop = start // _BLOCK * _BLOCK, min(-(-stop // _BLOCK) * _BLOCK, self.segment.size)
        kept = [each for each in self.unreadable if each[1] < start or stop < each[0]]
        touching = [each for each in self.unreadable if each not in kept]
        whole = min([start, *(first for first, _ in touching)]), max([stop, *(end for _, end in touching)])
        self.unreadable = sorted([*kept, whole])

    def written_end(self, below: int | None = None) -> int:
        """A position after which the file holds only zeros, up to `below`. A hint: `below` itself if unknown."""
        return self._file.written_end(self.segment.size if below is None else below)

    def written(self) -> int:
        """When the file was written last, as far as its storage tells."""
        return self._file.written()

    @property
    def offset(self) -> int:
        """The log offset of the window's first byte."""
        return self.segment.base + self.position

    def lend(self) -> None:
        """What is loaded now stays as it is: batches refer to it. The next load takes other memory."""
        if not self._is_lent:
            self._is_lent = True
            if self._room <= self._least:  # not that of a large record
                self._memory.give_after(self.u8, self._whole)

    def _make_room(self, size: int) -> None:
        if self._is_lent:
            self._grow(max(size, self._least))
        elif size > self._room:
            self._grow(size)

    def _grow(self, size: int) -> None:
        whole = self._memory.take(size + PADDING + _BLOCK)
        begin = -whole.ctypes.data % _BLOCK  # where a page begins: systems copy faster to there
        self._whole, own = whole, whole[begin : begin + size + PADDING]
        self._room, self._is_lent = size, False
        own[:PADDING] = 0
        self._view, self.u8, self.arrow = own.data, own, pa.py_buffer(own)

    @property
    def scratch(self) -> Mask:
        """Reusable memory for `magics`."""
        if self._scratch is None or self._scratch.shape[1] != len(self.u8) // 2:
            self._scratch = np.empty((2, len(self.u8) // 2), np.bool_)
        return self._scratch

    def close(self) -> None:
        """Close the file. The loaded bytes are gone, unless they were lent."""
        self._file.close()
        if not self._is_lent and self._room <= self._least:  # not that of a large record
            self._memory.give(self._whole)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Unopened(StoredFile):
    """A file that cannot be opened, or read from a position on: no later byte can be read."""

    def __init__(self, segment: Segment, error: UnreadableError, file: StoredFile | None = None, begin: int = 0) -> None:
        super().__init__(segment.uri)
        self._segment, self._file, self.begin, self.problem = segment, file, begin, error.strerror or str(error)
        self._error = OSError(errno.EIO, self.problem)

    def size(self) -> int:
        return self._segment.size

    def identity(self) -> int:
        return self._segment.identity

    def _read(self, offset: int, view: memoryview) -> int:
        if self._file is None or offset >= self.begin:
            raise self._error
        return self._file.read_into(offset, view[: self.begin - offset])

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _is_passed(segment: Segment, error: UnreadableError) -> bool:
    """Whether the others can be read: if the storage is gone, that is an error."""
    if not segment.may_fail or error.is_of_disk:
        return False
    try:
        storage_of(segment.uri).list(segment.directory)
    except OSError:
        return False
    return True


def _opened(segment: Segment, *, past_unreadable: bool) -> StoredFile:
    try:
        file = storage_of(segment.uri).open_known(segment.uri, segment.identity)
    except UnreadableError as error:
        if past_unreadable and (error.is_of_disk or error.errno in REFUSED or _is_passed(segment, error)):
            return _Unopened(segment, error)
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        gone = DataLoss(say("gone since plan", uri=segment.uri))
        gone.is_file_gone = True
        raise gone from error
    if not may_be_one_file(file.identity(), segment.identity):
        file.close()
        raise DataLoss(say("replaced since plan", uri=segment.uri))
    return file


class ReadRate:
    """Call `spend` after each read: it waits as long as the rate demands."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._paid_until = time.monotonic()

    def spend(self, count: int) -> None:
        """Wait until `count` bytes since the last wait ended fit the rate. Time spent on reading and decoding counts."""
        now = time.monotonic()
        self._paid_until = max(self._paid_until + count / self._rate, now)  # unused time is not saved up for a burst
        time.sleep(self._paid_until - now)


_MOST_IDLE = 64 << 20


class Memory:
    """Memory that windows take and give back, from any thread."""

    def __init__(self) -> None:
        self._idle: list[NDArray[np.uint8]] = []

    def take(self, size: int) -> NDArray[np.uint8]:
        """At least so many bytes, of any content."""
        try:
            whole = self._idle.pop()
        except IndexError:  # another thread may have taken the last
            whole = None
        # From Arrow, whose allocator keeps pages for what is read into memory again and again. Not zeros: touching memory is slow.
        return np.frombuffer(pa.allocate_buffer(size), np.uint8) if whole is None or len(whole) < size else whole

    def give(self, whole: NDArray[np.uint8]) -> None:
        """Nothing refers to it any more."""
        if sum(map(len, self._idle)) + len(whole) <= _MOST_IDLE:
            self._idle.append(whole)

    def give_after(self, part: NDArray[np.uint8], whole: NDArray[np.uint8]) -> None:
        """Give `whole` once nothing refers to `part`, which is a view of it: no batch, no slice of one."""
        weakref.finalize(part, _give, weakref.ref(self), whole).atexit = False


def _give(memory: weakref.ref[Memory], whole: NDArray[np.uint8]) -> None:
    still = memory()
    if still is not None:  # otherwise the read is over, and the last batch frees it
        still.give(whole)
