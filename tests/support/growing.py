"""A log that lives: it grows, tears, rolls, is cut, written anew and expired, in memory, byte for byte as a broker would."""

from __future__ import annotations

from random import Random

from native_reader.storage.protocol import DirEntry, StoredFile
from native_reader.testing.logs import CommitLog, Placed, name
from native_reader.testing.memory import MemoryFile, MemoryStorage
from native_reader.testing.records import Message, encode
from support.queued_stores import dispatched
from support.stores import message


class OpenFile(MemoryFile):
    """It stays the same file while its bytes change, and is another one when somebody puts another in its place."""

    def __init__(self, uri: str, content: bytes | bytearray) -> None:
        super().__init__(uri, content)
        self._identity = id(content)

    def identity(self) -> int:
        return self._identity


class Disk(MemoryStorage):
    """Files in memory that a test changes; a broker runs on the stores that are `locked`."""

    def __init__(self) -> None:
        self.content: dict[str, bytes | bytearray] = {}
        super().__init__(self.content)
        self.locked: set[str] = set()

    def write(self, file: str, content: bytes | bytearray) -> None:
        """Into the file that is there, if it has that size."""
        there = self.content.get(file)
        if isinstance(there, bytearray) and len(there) == len(content):
            there[:] = content
        else:
            self.content[file] = bytearray(content)

    def _open(self, uri: str) -> StoredFile:
        super()._open(uri).close()
        return OpenFile(uri, self.files[self._name(uri)])

    def _entry(self, uri: str) -> DirEntry | None:
        found = super()._entry(uri)
        return found and found._replace(identity=id(self.files.get(self._name(uri))))

    def is_locked(self, uri: str) -> bool:
        return self._name(uri).removesuffix("/lock") in self.locked


class GrowingStore:
    """One store at a place on that disk. `messages` says what its log holds, in order, as far as anybody may see it."""

    def __init__(self, disk: Disk, place: str, random: Random, *, segment_size: int, start: int = 0) -> None:
        self.disk, self.place, self._random = disk, place, random
        self.name, self.places = place.encode(), {place}
        self._segment_size, self._start = segment_size, start
        self._log = CommitLog(segment_size, start)
        self._made = 0
        self.ever: set[tuple[int, bytes]] = set()
        """Offset and body of every record that was ever whole."""
        self._generation = 0
        self.expired = start
        self.dispatched = start
        self.torn = b""
        """What is there already of the next record."""
        self._next: Message | None = None
        self.show()

    @property
    def placed(self) -> list[Placed]:
        """The records that are there, in order."""
        return [each for each in self._log.placed if each.offset >= self.expired]

    @property
    def history(self) -> list[Placed]:
        """The same with those that expired."""
        return self._log.placed

    @property
    def end(self) -> int:
        """The offset behind the last whole record."""
        last = self._log.placed[-1] if self._log.placed else None
        return self._start if last is None else last.offset + last.size

    def append(self, count: int) -> None:
        """So many records more; one that was torn becomes whole first."""
        for _ in range(count):
            placed = self._log.append(self._next or self._message())
            self.ever.add((placed.offset, bytes(placed.message.body)))
            self._next, self.torn = None, b""
        self.show()

    def tear(self) -> None:
        """A part of the next record: some of its bytes from the front, and now and then holes between."""
        self._next = self._message()
        record = bytearray(encode(self._next, self._log.end))
        if len(record) + 8 > self._segment_size - (self._log.end - self._start) % self._segment_size:
            return  # it would begin another segment
        shown = self._random.randrange(1, len(record))
        if self._random.random() < 0.3 and shown > 100:
            hole = self._random.randrange(90, shown)
            record[hole : hole + self._random.randrange(1, 20)] = bytes(len(record[hole : hole + 1]))
        self.torn = bytes(record[:shown])
        self.show()

    def dispatch(self, until: int | None = None) -> None:
        """Queues learn of all records before that offset."""
        self.dispatched = self.end if until is None else until
        self.show()

    def cut(self, records: int, *, closed: int = 0) -> None:
        """The last so many records are gone, as after a crash; what comes next is written in their place.

        `closed`: where the blank of a segment ends that stays.
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
        """The oldest files go, but never the last."""
        last = (self.end - self._start) // self._segment_size * self._segment_size + self._start
        self.expired = min(last, self.expired + segments * self._segment_size)
        self.show()

    def move(self, place: str) -> None:
        """The same files under another name."""
        self.remove()
        self.place = place
        self.places.add(place)
        self.show()

    def remove(self) -> None:
        """No file of it stays."""
        for file in [each for each in self.disk.content if each.startswith(f"{self.place}/")]:
            del self.disk.content[file]

    def show(self) -> None:
        """The files as they are now."""
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
