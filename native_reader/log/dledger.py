"""What a DLedger broker keeps of its log when it starts (DLedgerMmapFileStore.recover of the library dledger 0.3.1 to 0.3.2).

It begins at the newest file, apart from the last two, whose first entry is in the index as it is in the log; else at the oldest file. From
there on it takes entry by entry, up to the first that does not follow the one before. It cuts the log there, and does not start if that is
more than one file before the last one. It compares no checksum and no record. From the first entry that the index has otherwise, it writes
the index again.

The index, in files beside those of the log, has 32 bytes for each entry, at its number times 32: see INDEX_ENTRY.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.record import ENTRY, ENTRY_HEAD, INDEX_ENTRY, MAGIC_ENTRY, MAGIC_ENTRY_BLANK, at
from native_reader.storage.paths import list_if_possible
from native_reader.storage.protocol import StoredFile, storage_of
from native_reader.storage.store import DLEDGER, Segment, StoreFiles, is_segment_name

_AT_ONCE = 8 << 20
_CHECKED = 3
"""So many of the last files are read."""


class Recovery(NamedTuple):
    """What is left after a start.

    `begins`: the first offset that it reads. `end`: where it cuts the log. `last`, `term`: the last entry that it takes; -1 if it takes
    none. `exits`: it does not start. `reindexed`: the first entry that the index does not have as the log; None if it has all.
    """

    begins: int
    end: int
    last: int
    term: int
    exits: bool
    reindexed: int | None


class IndexFiles:
    """The index of a DLedger log, in the directory with that URI."""

    def __init__(self, uri: str) -> None:
        found = [each for each in list_if_possible(uri) if is_segment_name(each.name) and not each.is_directory]
        self._files = sorted((int(each.name), each.size, f"{uri}/{each.name}") for each in found)

    def read(self, first: int, count: int) -> NDArray[np.void]:
        """What it has of entries from `first` on, up to the end of one of its files; nothing if it has no such place."""
        place = first * INDEX_ENTRY.itemsize
        for base, size, uri in self._files:
            if base <= place < base + size:
                wanted = min(count * INDEX_ENTRY.itemsize, base + size - place)
                with storage_of(uri).open(uri) as file:
                    (content,) = file.read_ranges([(place - base, wanted)])
                return np.frombuffer(content[: len(content) // INDEX_ENTRY.itemsize * INDEX_ENTRY.itemsize], INDEX_ENTRY)
        return np.empty(0, INDEX_ENTRY)


def dledger_segments(files: StoreFiles) -> tuple[Segment, ...]:
    """The files of its DLedger log; none if it has none."""
    return tuple(each for each in files.segments if each.framing == DLEDGER)


def index_of(segments: Sequence[Segment]) -> str:
    """The URI of the directory with the index of these files."""
    return f"{segments[0].directory.rpartition('/')[0]}/index"


def recovery_of(segments: Sequence[Segment], *, whole: bool = False) -> Recovery:
    """What a DLedger broker keeps of these files, which are one log. `whole`: what it would keep if it read all of them."""
    index = IndexFiles(index_of(segments))
    tried = () if whole else range(max(0, len(segments) - _CHECKED), -1, -1)
    first = next((each for each in tried if _is_indexed(segments[each], index)), 0)
    return _Walk(segments[first:], index).result()


def _is_indexed(segment: Segment, index: IndexFiles) -> bool:
    """Whether the first entry of a file is in the index, as it is in the file."""
    with storage_of(segment.uri).open(segment.uri) as file:
        entry = _entry_at(file, 0)
    return entry is not None and _is_whole(entry, segment.base) and _is_named(entry, segment.base, index)


def _entry_at(file: StoredFile, position: int) -> np.void | None:
    """The head of the entry there; None at the end of the file. A blank can be shorter than a head."""
    (content,) = file.read_ranges([(position, ENTRY_HEAD)])
    return np.frombuffer(content.ljust(ENTRY_HEAD, b"\0"), ENTRY)[0] if content else None


def _is_whole(entry: np.void, offset: int) -> bool:
    """Whether an entry is whole, and where it says."""
    sizes_agree = int(entry["body_size"]) + ENTRY_HEAD == int(entry["size"]) > ENTRY_HEAD
    return sizes_agree and entry["magic"] == MAGIC_ENTRY and entry["position"] == offset


def _is_named(entry: np.void, offset: int, index: IndexFiles) -> bool:
    """Whether the index has an entry so, at that offset of the log."""
    number = int(entry["index"])
    named = index.read(number, 1) if 0 <= number < 2**58 else ()
    return len(named) == 1 and bool((_expected(entry.reshape(1), np.array([offset])) == named).all())


def _expected(entries: NDArray[np.void], offsets: NDArray[np.int64]) -> NDArray[np.void]:
    """What the index must have for entries of the log."""
    found = np.empty(len(entries), INDEX_ENTRY)
    for name in ("magic", "size", "index", "term"):
        found[name] = entries[name]
    found["position"] = offsets
    return found


def _leading(good: NDArray[np.bool_]) -> int:
    """How many are good before the first that is not."""
    return len(good) if good.all() else int(np.argmin(good))


class _Walk:
    """Reads entries as a broker does. As long as the index agrees with the log, it reads many at once."""

    def __init__(self, segments: Sequence[Segment], index: IndexFiles) -> None:
        self._segments, self._index = segments, index
        self._last = self._term = -1
        self._reindexed: int | None = None

    def result(self) -> Recovery:
        """Read them all."""
        end, last = self._segments[0].base, self._segments[-1]
        for segment in self._segments:
            with storage_of(segment.uri).open(segment.uri) as file:
                position, goes_on = self._through(file, segment)
            end = segment.base + position
            if not goes_on:
                break
        return Recovery(self._segments[0].base, end, self._last, self._term, last.base - end > last.size, self._reindexed)

    def _through(self, file: StoredFile, segment: Segment) -> tuple[int, bool]:
        """Where it stops in a file, and whether it goes on with the next one."""
        position = 0
        while True:  # each round takes an entry
            position = self._run(file, segment, position)
            entry = _entry_at(file, position)
            if entry is None:
                return position, False
            offset = segment.base + position
            if entry["magic"] == MAGIC_ENTRY_BLANK:  # its size does not count
                return segment.size, True
            if not self._follows(entry, offset) or int(entry["size"]) > segment.size - position:
                return position, False
            if self._reindexed is None and not _is_named(entry, offset, self._index):
                self._reindexed = int(entry["index"])
            self._take(entry)
            position += int(entry["size"])

    def _follows(self, entry: np.void, offset: int) -> bool:
        """Whether an entry is whole, and the next one."""
        is_next = self._last in (-1, int(entry["index"]) - 1) and int(entry["term"]) >= self._term
        return is_next and _is_whole(entry, offset)

    def _take(self, entry: np.void) -> None:
        self._last, self._term = int(entry["index"]), int(entry["term"])

    def _run(self, file: StoredFile, segment: Segment, position: int) -> int:
        """Take all entries that follow each other in a file, as the index has them; returns where the next one begins."""
        while self._last >= 0 and self._reindexed is None:
            named = self._index.read(self._last + 1, _AT_ONCE // 64)
            offsets, sizes = (named[name].astype(np.int64) for name in ("position", "size"))
            begins = position + np.append(0, np.cumsum(np.maximum(sizes, 1))[:-1])[: len(named)]
            fits = (offsets == segment.base + begins) & (begins + sizes <= segment.size) & (begins + ENTRY_HEAD <= position + _AT_ONCE)
            count = _leading(fits)
            content = file.read_array(position, "u1", min(_AT_ONCE, segment.size - position)) if count else np.empty(0, "u1")
            count = min(count, int(np.searchsorted(begins, len(content) - ENTRY_HEAD, "right")))
            entries = at(content, ENTRY)[begins[:count]]
            terms = np.append(self._term, entries["term"].astype(np.int64))
            good = (_expected(entries, offsets[:count]) == named[:count]) & (np.diff(terms) >= 0)
            good &= (entries["index"] == self._last + 1 + np.arange(count)) & (entries["magic"] == MAGIC_ENTRY)
            good &= entries["position"] == offsets[:count]
            good &= (entries["body_size"] + np.int64(ENTRY_HEAD) == entries["size"]) & (entries["size"] > ENTRY_HEAD)
            taken = _leading(good)
            if not taken:
                break
            self._take(entries[taken - 1])
            position = int(begins[taken - 1] + sizes[taken - 1])
        return position
