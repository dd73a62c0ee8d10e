"""Stores in memory that change as a broker changes them: records are appended, partly written, truncated, rewritten and expired."""

from __future__ import annotations

from random import Random

from native_reader.storage.protocol import DirEntry, StoredFile
from native_reader.testing.logs import CommitLog, Placed, name
from native_reader.testing.memory import MemoryFile, MemoryStorage
from native_reader.testing.records import Message, encode
from support.queued_stores import dispatched
from support.stores import message


class OpenFile(MemoryFile):
    """A file that keeps its identity while its bytes change; a replacement has another identity."""

    def __init__(self, uri: str, content: bytes | bytearray) -> None:
        super().__init__(uri, content)
        self._identity = id(content)

    def identity(self) -> int:
        return self._identity


class Disk(MemoryStorage):
    """Files in memory that a test can change. A broker is running on the stores in `locked`."""

    def __init__(self) -> None:
        self.content: dict[str, bytes | bytearray] = {}
        super().__init__(self.content)
        self.locked: set[str] = set()

    def write(self, file: str, content: bytes | bytearray) -> None:
        """Overwrite the file if it has the same size; otherwise replace it."""
        existing = self.content.get(file)
        if isinstance(existing, bytearray) and len(existing) == len(content):
            existing[:] = content
        else:
            self.content[file] = bytearray(content)

    def _open(self, uri: str) -> StoredFile:
        super()._open(uri).close()
        return OpenFile(uri, self.files[self._name(uri)])

    def _entry(self, uri: str) -> DirEntry | None:
        entry = super()._entry(uri)
        return entry and entry._replace(identity=id(self.files.get(self._name(uri))))

    def is_locked(self, uri: str) -> bool:
        return self._name(uri).removesuffix("/lock") in self.locked


class GrowingStore:
    """One store on the disk, in the directory `place`."""

    def __init__(self, disk: Disk, place: str, random: Random, *, segment_size: int, start: int = 0) -> None:
        self.disk, self.place, self._random = disk, place, random
        self.name, self.places = place.encode(), {place}
        self._segment_size, self._start = segment_size, start
        self._log = CommitLog(segment_size, start)
        self._made = 0
        self.ever: set[tuple[int, bytes]] = set()
        """Offset and body of every record that was ever complete."""
        self._generation = 0
        self.expired = start
        self.dispatched = start
        self.torn = b""
        """The bytes of an incomplete record at the end of the log."""
        self._next: Message | None = None
        self.show()

    @property
    def placed(self) -> list[Placed]:
        """The records that have not expired, in order."""
        return [each for each in self._log.placed if each.offset >= self.expired]

    @property
    def history(self) -> list[Placed]:
        """All records, including expired ones."""
        return self._log.placed

    @property
    def end(self) -> int:
        """The offset after the last complete record."""
        last = self._log.placed[-1] if self._log.placed else None
        return self._start if last is None else last.offset + last.size

    def append(self, count: int) -> None:
        """Write `count` records; an incomplete record is completed first."""
        for _ in range(count):
            placed = self._log.append(self._next or self._message())
            self.ever.add((placed.offset, bytes(placed.message.body)))
            self._next, self.torn = None, b""
        self.show()

    def tear(self) -> None:
        """Write the first bytes of the next record, sometimes with a hole."""
        self._next = self._message()
        record = bytearray(encode(self._next, self._log.end))
        if len(record) + 8 > self._segment_size - (self._log.end - self._start) % self._segment_size:
            return  # it would start a new segment
        shown = self._random.randrange(1, len(record))
        if self._random.random() < 0.3 and shown > 100:
            hole = self._random.randrange(90, shown)
            record[hole : hole + self._random.randrange(1, 20)] = bytes(len(record[hole : hole + 1]))
        self.torn = bytes(record[:shown])
        self.show()

    def dispatch(self, until: int | None = None) -> None:
        """Dispatch all records before the offset to the queues."""
        self.dispatched = self.end if until is None else until
        self.show()

    def cut(self, records: int, *, closed: int = 0) -> None:
        """Remove the last records, as after a crash; new records overwrite them.

        `closed`: the end of a segment whose blank is kept.
        """
        kept = self._log.placed[: max(0, len(self._log.placed) - records)]
        self._log = CommitLog(self._segment_size, self._start)
        for each in kept:
            if self._log.end < each.segment:
                self._log.seal()
            self._log.append(each.message)
        if self._log.end < closed:
            self._log.seal()
        self._generation += 1
        self._next, self.torn = None, b""
        self.dispatched = min(self.dispatched, self.end)
        self.show()

    def expire(self, segments: int) -> None:
        """Delete the oldest segments, but never the last."""
        last = (self.end - self._start) // self._segment_size * self._segment_size + self._start
        self.expired = min(last, self.expired + segments * self._segment_size)
        self.show()

    def move(self, place: str) -> None:
        """Move the files to another directory."""
        self.remove()
        self.place = place
        self.places.add(place)
        self.show()

    def remove(self) -> None:
        """Delete all files of the store."""
        for file in [each for each in self.disk.content if each.startswith(f"{self.place}/")]:
            del self.disk.content[file]

    def show(self) -> None:
        """Write the current state to the disk."""
        files = {f"{self.place}/commitlog/": b""}
        logs = dict(self._log.segments(tail=self.torn)) if self._log.placed or self.torn else {}
        for base, content in logs.items():
            if base >= self.expired:
                files[f"{self.place}/commitlog/{name(base)}"] = content
        queues = dispatched(self.placed, until=self.dispatched, file=1000)
        files |= {f"{self.place}/{file.removeprefix('store/')}": content for file, content in queues.items()}
        for file in [each for each in self.disk.content if each.startswith(f"{self.place}/") and each not in files]:
            del self.disk.content[file]
        for file, content in files.items():
            self.disk.write(file, content)

    def _message(self) -> Message:
        number, random = self._made, self._random
        self._made += 1
        body = self.name + f":{self._generation}/{number}/".encode() + b"x" * random.choice((1, 20, 200, 700))
        fields = {"topic": f"T{number % 3}", "queue_id": 0, "queue_offset": self._queue_offset(f"T{number % 3}")}
        return message(number, body=body, store_timestamp=1_700_000_000_000 + 1000 * number + self._generation, **fields)

    def _queue_offset(self, topic: str) -> int:
        return sum(each.message.topic == topic for each in self._log.placed)
