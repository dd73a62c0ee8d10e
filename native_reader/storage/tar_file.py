"""Open files in a tar archive: their bytes are ranges of the archive. A sparse file has a map of its parts; its other bytes are zeros."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.errors import DataLoss
from native_reader.sentences import Said, say
from native_reader.storage.protocol import StoredFile
from native_reader.storage.tar_headers import BLOCK, MOST_MAP, SPARSE_GNU, SPARSE_INSIDE, Headers, Member, next_block


def open_member(uri: str, archive: StoredFile, member: Member, headers: Headers, identity: int) -> StoredFile:
    """The file of that member. It closes the archive."""
    if member.sparse is None:
        return TarFile(uri, archive, member, identity)
    return SparseTarFile(uri, archive, member, identity, extents_of(member, headers))


class TarFile(StoredFile):
    """A file that is one range of the archive."""

    def __init__(self, uri: str, archive: StoredFile, member: Member, identity: int) -> None:
        super().__init__(uri)
        self._archive, self._place, self._size, self._identity = archive, member.place, member.size, identity

    def size(self) -> int:
        return self._size

    def identity(self) -> int:
        return self._identity

    def _read(self, offset: int, view: memoryview) -> int:
        length = self._inside(offset, len(view))
        return self._complete(self._archive.read_into(self._place + offset, view[:length]), length)

    def read_many(self, offsets: Sequence[int], lengths: Sequence[int], view: memoryview) -> int:
        if any(self._inside(offset, length) < length for offset, length in zip(offsets, lengths, strict=True)):
            return super().read_many(offsets, lengths, view)
        place, length = self._place, sum(lengths)
        return self._complete(self._archive.read_many([place + offset for offset in offsets], lengths, view), length)

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        place, inside = self._place, [(offset, self._inside(offset, length)) for offset, length in ranges]
        pieces = self._archive.read_ranges([(place + offset, length) for offset, length in inside])
        self._complete(sum(map(len, pieces)), sum(length for _, length in inside))
        return pieces

    def written_end(self, below: int | None = None) -> int:
        bound, place = super().written_end(below), self._place
        return max(0, min(bound, self._archive.written_end(place + bound) - place))

    def next_data(self, offset: int) -> int:
        if offset >= self._size:
            return offset
        return min(self._archive.next_data(self._place + offset) - self._place, self._size)

    def will_read(self, start: int, stop: int) -> None:
        self._archive.will_read(self._place + start, self._place + min(stop, self._size))

    def leave_no_trace(self) -> None:
        self._archive.leave_no_trace()

    def close(self) -> None:
        self._archive.close()

    def _inside(self, offset: int, length: int) -> int:
        return max(0, min(length, self._size - offset))

    def _complete(self, got: int, wanted: int) -> int:
        """`got`, if these are all bytes that the archive has for this file."""
        if got < wanted:
            raise DataLoss(say("archive truncated in read", archive=self._archive.uri, uri=self.uri))
        return got


class SparseTarFile(TarFile):
    """A file of which only some parts are in the archive; the rest are zeros."""

    def __init__(self, uri: str, archive: StoredFile, member: Member, identity: int, extents: StoredParts) -> None:
        super().__init__(uri, archive, member, identity)
        self._starts, self._stops, self._places = (extent.tolist() for extent in extents)

    def _read(self, offset: int, view: memoryview) -> int:
        return self.read_many([offset], [self._inside(offset, len(view))], view)

    def read_many(self, offsets: Sequence[int], lengths: Sequence[int], view: memoryview) -> int:
        pieces, filled = list[tuple[int, int, int]](), 0
        for offset, length in zip(offsets, lengths, strict=True):
            inside = self._inside(offset, length)
            pieces += ((filled + start - offset, place, size) for start, place, size in self._parts(offset, offset + inside))
            filled += inside
            if inside < length:
                break
        sizes = [size for _, _, size in pieces]
        if sizes == [filled]:
            return self._complete(self._archive.read_into(pieces[0][1], view[:filled]), filled)
        content = bytearray(sum(sizes))
        self._complete(self._archive.read_many([place for _, place, _ in pieces], sizes, memoryview(content)), len(content))
        if filled:
            np.frombuffer(view, np.uint8)[:filled] = 0
        taken = 0
        for to, _, size in pieces:
            view[to : to + size] = memoryview(content)[taken : taken + size]
            taken += size
        return filled

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        inside = [(offset, self._inside(offset, length)) for offset, length in ranges]
        content, pieces = bytearray(sum(length for _, length in inside)), list[bytes]()
        self.read_many([offset for offset, _ in inside], [length for _, length in inside], memoryview(content))
        filled = 0
        for _, length in inside:
            pieces.append(bytes(content[filled : filled + length]))
            filled += length
        return pieces

    def written_end(self, below: int | None = None) -> int:
        bound = StoredFile.written_end(self, below)
        last = bisect_right(self._starts, bound - 1) - 1
        return min(bound, self._stops[last]) if last >= 0 else 0

    def next_data(self, offset: int) -> int:
        if offset >= self._size:
            return offset
        following = bisect_right(self._stops, offset)
        return max(offset, self._starts[following]) if following < len(self._starts) else self._size

    def will_read(self, start: int, stop: int) -> None:
        parts = list(self._parts(start, min(stop, self._size)))  # next to each other in the archive
        if parts:
            self._archive.will_read(parts[0][1], parts[-1][1] + parts[-1][2])

    def _parts(self, offset: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Where each part of that range begins, in the file and in the archive, and its size."""
        for which in range(bisect_right(self._stops, offset), len(self._starts)):
            start = self._starts[which]
            if start >= stop:
                return
            begin = max(offset, start)
            yield begin, self._places[which] + begin - start, min(stop, self._stops[which]) - begin


_GNU_ENTRY = 24
_FIRST_LINE = re.compile(rb"([0-9]{1,8})\n")
_LINE = re.compile(rb"[0-9]{1,18}")
_NUMBERS = re.compile(rb"[0-9]{1,18}(?:,[0-9]{1,18})*")
_INVALID = Said("sparse map invalid")


class StoredParts(NamedTuple):
    """The parts of a file that are in the archive, in order."""

    starts: NDArray[np.int64]
    """Where each begins in the file."""
    stops: NDArray[np.int64]
    places: NDArray[np.int64]
    """Where each begins in the archive."""


def extents_of(member: Member, headers: Headers) -> StoredParts:
    """The parts of a file; one for a file that is not sparse."""
    if member.sparse is None:
        return _checked(member, headers, [0, member.size], 0)
    if member.sparse == SPARSE_INSIDE:
        numbers, skipped = _map_inside(member, headers)
        return _checked(member, headers, numbers, skipped)
    return _checked(member, headers, (_map_of_gnu if member.sparse == SPARSE_GNU else _map_listed)(member, headers), 0)


def _map_of_gnu(member: Member, headers: Headers) -> list[int]:
    """Two numbers of 12 bytes for each part, offset and length; empty fields end the map."""
    numbers: list[int] = []
    for at in range(0, len(member.map), _GNU_ENTRY):
        entry = member.map[at : at + _GNU_ENTRY]
        if not any(entry):
            break
        numbers += (headers.number(member.start, field, "map of a sparse file") for field in (entry[:12], entry[12:]))
    return numbers


def _map_listed(member: Member, headers: Headers) -> list[int]:
    if member.map and not _NUMBERS.fullmatch(member.map):
        headers.fail(member.start, _INVALID)
    return [int(part) for part in member.map.split(b",") if part]


def _map_inside(member: Member, headers: Headers) -> tuple[list[int], int]:
    """Lines of digits before the content, padded to whole blocks: how many parts, then offset and length of each."""
    content = headers.read(member.place, min(BLOCK, member.stored))
    first = _FIRST_LINE.match(content)
    wanted = 1 + 2 * int(first[1]) if first else 0
    while first and content.count(b"\n") < wanted and (room := min(member.stored, MOST_MAP) - len(content)) > 0:
        content += headers.read(member.place + len(content), min(len(content), room))
    *lines, rest = content.split(b"\n", wanted)
    if len(lines) != wanted or not first or not all(map(_LINE.fullmatch, lines)):
        headers.fail(member.place, _INVALID)
    return [int(line) for line in lines[1:]], next_block(len(content) - len(rest))


def _checked(member: Member, headers: Headers, numbers: list[int], skipped: int) -> StoredParts:
    """The extents, if they are in order, inside the file, and as long as the content."""
    is_valid = len(numbers) % 2 == 0 and max(numbers, default=0) < 1 << 62
    pairs: NDArray[Any] = np.array(numbers if is_valid else [], np.int64).reshape(-1, 2)
    pairs = pairs[pairs[:, 1] > 0]
    starts, lengths = pairs[:, 0], pairs[:, 1]
    stops = starts + lengths
    is_valid = is_valid and not (starts[1:] < stops[:-1]).any() and not (stops > member.size).any()
    if not is_valid or int(lengths.sum()) != member.stored - skipped:
        headers.fail(member.start, Said("sparse map size"))
    return StoredParts(starts, stops, member.place + skipped + np.cumsum(lengths) - lengths)
