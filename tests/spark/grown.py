"""A store that grows: record by record, in preallocated files, one segment after another."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from random import Random
from typing import BinaryIO

from support.stores import message

from native_reader.testing.logs import END_BLANK, CommitLog, name
from native_reader.testing.records import Message


class GrownStore:
    """It has no lock, so it looks like a store at rest. Its content is random, and the same for the same seed."""

    def __init__(self, path: Path, chance: Random) -> None:
        self.path, self._chance = path, chance
        self.records: list[int] = []
        """The physical offsets of what is written."""
        self.end, self.ends = 0, {0}
        """Where the last one ends; and all offsets at which a record ends, or a segment."""
        self._segment_size = chance.choice([64 << 10, 256 << 10, 1 << 20])
        self._largest = chance.choice([1000, 5000, 40_000])
        self._sized_ahead = chance.choice([1, 2])
        self._base, self._number, self._content = -self._segment_size, 0, b""
        self._left = deque[tuple[int, int]]()
        """Of the segment's records and its blank: first offset and size of those not written yet."""

    def grow(self, size: int) -> None:
        """Write this many more bytes, up to the end of a record."""
        while size > 0:
            if not self._left:
                self._begin_segment()
            with (self.path / "commitlog" / name(self._base)).open("r+b", buffering=0) as file:
                size = self._written(file, size)

    def _written(self, file: BinaryIO, size: int) -> int:
        while self._left and size > 0:
            offset, length = self._left.popleft()
            file.seek(offset - self._base)
            file.write(self._content[offset - self._base :][:length])
            if self._left:
                self.records.append(offset)
                self.end = offset + length
                self.ends.add(self.end)
            size -= length
        return size

    def _begin_segment(self) -> None:
        self._base += self._segment_size
        log = CommitLog(self._segment_size, self._base)
        while log.append(self._message()).segment == self._base:
            pass
        *placed, of_the_next = log.placed
        self._number -= 1
        self._content = log.segments()[0][1]
        self._left.extend((each.offset, each.size) for each in placed)
        self._left.append((placed[-1].offset + placed[-1].size, END_BLANK))
        self.ends.add(of_the_next.segment)
        for ahead in range(self._sized_ahead):
            file = self.path / "commitlog" / name(self._base + ahead * self._segment_size)
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("wb") as new:
                    new.truncate(self._segment_size)

    def _message(self) -> Message:
        self._number += 1
        return message(self._number, body=self._chance.randbytes(self._chance.randint(1, self._largest)))
