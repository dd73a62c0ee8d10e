"""Files as they would be if the records of a log had other places: the log, and files of entries that name these places.

Such a storage lives as long as the object, in one process. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from native_reader.layout.queue_entry import STORED_OFFSET
from native_reader.layout.record import Numbers, put_physical_offsets
from native_reader.storage.filled import MadeStorage, uri_like
from native_reader.storage.protocol import DirEntry, StoredFile, mount, register, storage_of
from native_reader.storage.store import Segment
from native_reader.writing.records import blank

SCHEME, _LOG = "moved", "commitlog"
_SPAN = 4 << 20
_NEAR = 4096
"""Records with fewer bytes between them are read at once: the headers of DLedger have 48."""


class Places(NamedTuple):
    """Where records come to be, and bytes between them that are lost: their old offsets, sizes and new offsets, in order.

    Attributes:
        begin: Offsets before this one stay.
        is_record: Which are records.
    """

    old: Numbers
    sizes: Numbers
    new: Numbers
    is_record: NDArray[np.bool_]
    begin: int

    def new_of(self, old: Numbers) -> Numbers:
        """The new offsets. What is in no record moves as the one before it."""
        return _shifted(old, self.old, self.new, self.begin)

    def old_of(self, new: Numbers) -> Numbers:
        """The old offsets of new ones."""
        return _shifted(new, self.new, self.old, self.begin)

    @property
    def first(self) -> int:
        """The first offset that changes."""
        return self.begin

    def where(self, which: NDArray[np.bool_] | slice) -> Places:
        """Only these."""
        return Places(self.old[which], self.sizes[which], self.new[which], self.is_record[which], self.begin)


def _shifted(places: Numbers, one: Numbers, other: Numbers, begin: int) -> Numbers:
    at = np.searchsorted(one, places, "right") - 1
    moves = (at >= 0) & (places >= begin)
    shifted: Numbers = np.where(moves, places + (other - one)[np.maximum(at, 0)] if len(one) else places, places)
    return shifted


class _Log(NamedTuple):
    """One file of the log. `stop`: the end of its last record, where a blank follows; None if none does."""

    segment: Segment
    records: Places
    sources: Mapping[int, Segment]
    stop: int | None


class MovedFile(StoredFile):
    """A file of the new log, read from those of the old one."""

    def __init__(self, log: _Log) -> None:
        super().__init__(log.segment.uri)
        self._log, self._files = log, dict[str, StoredFile]()
        self._bases = np.array(sorted(log.sources), np.int64)
        self._ends = log.records.new + log.records.sizes

    def size(self) -> int:
        return self._log.segment.size

    def identity(self) -> int:
        return 0

    def next_data(self, offset: int) -> int:
        base, stop, new = self._log.segment.base, self._log.stop, self._log.records.new
        first = int(np.searchsorted(self._ends, base + offset, "right"))
        begin = int(new[first]) if first < len(new) else base + self.size() if stop is None or base + offset > stop else stop
        return max(offset, begin - base)

    def _read(self, offset: int, view: memoryview) -> int:
        begin, records = self._log.segment.base + offset, self._log.records
        view = view[: max(0, min(self.size() - offset, _SPAN))]
        view[:] = bytes(len(view))
        first = int(np.searchsorted(self._ends, begin, "right"))
        stop = int(np.searchsorted(records.new, begin + len(view), "left"))
        old = records.old[first:stop]
        apart = np.diff(old) - records.sizes[first : stop - 1] > _NEAR if stop > first else np.empty(0, np.bool_)
        source = np.searchsorted(self._bases, old, "right") - 1
        for part in np.split(np.arange(first, stop), np.flatnonzero(apart | (np.diff(source) != 0)) + 1):
            if len(part):
                self._put(
                    self._log.sources[int(self._bases[source[part[0] - first]])], records.where(slice(part[0], part[-1] + 1)), begin, view
                )
        if self._log.stop is not None:
            end = self._log.segment.end
            _put(view, self._log.stop - begin, blank(end - self._log.stop))
        return len(view)

    def _put(self, source: Segment, records: Places, begin: int, view: memoryview) -> None:
        """Copy records of one file that are near to each other."""
        start, stop = int(records.old[0]), int(records.old[-1] + records.sizes[-1])
        content = np.empty(stop - start, np.uint8)
        content[self._open(source.uri).read_into(start - source.base, content.data) :] = 0
        put_physical_offsets(content, records.old - start, records.new)
        for at, size, to in zip((records.old - start).tolist(), records.sizes.tolist(), (records.new - begin).tolist(), strict=True):
            _put(view, to, content.data[at : at + size])

    def _open(self, uri: str) -> StoredFile:
        if uri not in self._files:
            self._files[uri] = storage_of(uri).open(uri)
        return self._files[uri]

    def close(self) -> None:
        for each in self._files.values():
            each.close()
        self._files = {}


def _put(view: memoryview, to: int, content: bytes | memoryview) -> None:
    """Put bytes at a position, those that are inside."""
    first, stop = max(0, -to), min(len(content), len(view) - to)
    if first < stop:
        view[to + first : to + stop] = content[first:stop]


class Entries(NamedTuple):
    """Entries of one size in a file, from position `first` on, each with an offset at `field`; and positions of other offsets."""

    width: int
    field: int
    first: int = 0
    others: tuple[int, ...] = ()


class EntriesFile(StoredFile):
    """A file of entries that name the new places."""

    def __init__(self, uri: str, own: str, entries: Entries, places: Places) -> None:
        super().__init__(uri)
        self._own, self._entries, self._places = storage_of(own).open(own), entries, places

    def size(self) -> int:
        return self._own.size()

    def identity(self) -> int:
        return self._own.identity()

    def written(self) -> int:
        return self._own.written()

    def written_end(self, below: int | None = None) -> int:
        return self._own.written_end(below)

    def next_data(self, offset: int) -> int:
        return self._own.next_data(offset)

    def _read(self, offset: int, view: memoryview) -> int:
        entries = self._entries
        if offset < entries.first:
            return self._read_head(offset, view[: entries.first - offset])
        begin = offset - (offset - entries.first) % entries.width
        count = -(-(min(len(view), _SPAN) + offset - begin) // entries.width)
        content = np.zeros(count * entries.width, np.uint8)
        got = self._own.read_into(begin, content.data)
        self._translate(content[: got // entries.width * entries.width].reshape(-1, entries.width)[:, entries.field : entries.field + 8])
        taken = content.data[offset - begin : min(got, offset - begin + len(view))]
        view[: len(taken)] = taken
        return len(taken)

    def _read_head(self, offset: int, view: memoryview) -> int:
        """What comes before the entries."""
        got = self._own.read_into(offset, view)
        for at in self._entries.others:
            if offset < at + 8 and at < offset + got:
                field = np.zeros((1, 8), np.uint8)
                self._own.read_into(at, field.reshape(-1).data)
                self._translate(field)
                _put(view[:got], at - offset, field.tobytes())
        return got

    def _translate(self, fields: NDArray[np.uint8]) -> None:
        old = np.ascontiguousarray(fields).view(STORED_OFFSET).reshape(-1).astype(np.int64)
        rows = np.flatnonzero(old >= max(1, self._places.first))
        fields[rows] = self._places.new_of(old[rows]).astype(STORED_OFFSET).view(np.uint8).reshape(-1, 8)

    def close(self) -> None:
        self._own.close()


EntriesOf = Callable[[str], Entries | None]
"""The entries of a file, by its URI; None if it has none, or is not known."""


class MovedStorage(MadeStorage):
    """The files of a log with its records elsewhere, and folders of files that name them."""

    call_costs, range_costs = 0, 0

    def __init__(self, places: Places, sources: Mapping[int, Segment]) -> None:
        self._places, self._sources = places, sources
        self._logs: dict[str, _Log] = {}
        self._folders: dict[str, tuple[str, EntriesOf]] = {}
        self._url = mount(SCHEME, self)

    def add_segment(self, base: int, size: int) -> Segment:
        """The file of the new log that begins at this offset."""
        segment = Segment(base, size, f"{self._url}/{_LOG}/{base:020d}", 0)
        first, stop = np.searchsorted(self._places.new, (base, base + size)).tolist()
        mine, is_last = self._places.where(slice(first, stop)), stop == len(self._places.new)
        end = int(mine.new[-1] + mine.sizes[-1]) if len(mine.new) else base
        self._logs[segment.uri] = _Log(segment, mine.where(mine.is_record), self._sources, None if is_last else end)
        return segment

    def add_folder(self, uri: str, entries_of: EntriesOf) -> str:
        """The URI of a folder as that one, with files of entries that name the new places."""
        name = uri.rpartition("/")[2]
        self._folders[name] = uri, entries_of
        return f"{self._url}/{name}"

    def own(self, uri: str) -> str | None:
        return None

    def like(self, uri: str) -> str | None:
        if (log := self._logs.get(uri)) is None:
            return self._original(uri)[0]
        if not len(log.records.old):
            return None
        last = int(log.records.old[-1])
        return uri_like(self._sources[max(base for base in self._sources if base <= last)].uri)

    def contents(self, uri: str, most: int) -> Iterator[tuple[int, bytes]]:
        with self.open(uri) as file:
            at, size = 0, file.size()
            while (at := file.next_data(at)) < size:
                (content,) = file.read_ranges([(at, min(most, size - at))])
                if not content:
                    break
                yield at, content
                at += len(content)

    def _original(self, uri: str) -> tuple[str, EntriesOf]:
        name, _, rest = uri.removeprefix(f"{self._url}/").partition("/")
        if name not in self._folders:
            raise FileNotFoundError(uri)
        folder, entries_of = self._folders[name]
        return f"{folder}/{rest}" if rest else folder, entries_of

    def _list(self, uri: str) -> list[DirEntry]:
        if uri == f"{self._url}/{_LOG}":
            return [DirEntry(log.segment.name, log.segment.size, 0, True, False) for log in self._logs.values()]
        own, _ = self._original(uri)
        return storage_of(own).list(own)

    def _directories(self, uri: str) -> list[str]:
        if uri == f"{self._url}/{_LOG}":
            return []
        own, _ = self._original(uri)
        return storage_of(own).directories(own)

    def _entry(self, uri: str) -> DirEntry | None:
        if (log := self._logs.get(uri)) is not None:
            return DirEntry(log.segment.name, log.segment.size, 0, True, False)
        own, _ = self._original(uri)
        return storage_of(own).entry(own)

    def _open(self, uri: str) -> StoredFile:
        if (log := self._logs.get(uri)) is not None:
            return MovedFile(log)
        own, entries_of = self._original(uri)
        entries = entries_of(own)
        return storage_of(own).open(own) if entries is None else EntriesFile(uri, own, entries, self._places)

    def quoted(self, name: str) -> str:
        return storage_of("file:///").quoted(name)

    def unquoted(self, part: str) -> str:
        return storage_of("file:///").unquoted(part)


register(SCHEME, None)
