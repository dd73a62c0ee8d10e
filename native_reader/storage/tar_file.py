"""Open files in a tar archive: their bytes are ranges of the archive."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

from native_reader.errors import DataLoss
from native_reader.storage.protocol import StoredFile
from native_reader.storage.tar_headers import Headers, Member
from native_reader.storage.tar_sparse import StoredParts, extents_of


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
            raise DataLoss(f"{self._archive.uri} was truncated while {self.uri} was read. Load the store again")
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
