"""A fleet of brokers in a storage that answers from rules: logs of any size, without their bytes."""

from __future__ import annotations

import time
from collections import Counter
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from native_reader.storage.protocol import DirEntry, Storage, StoredFile, mount, register
from native_reader.writing.records import Message, encode

_RECORD, _ENTRY, _ENTRIES = 1024, 20, 300_000
TOPICS, QUEUES = 10, 4
START, PER_SECOND = 1_767_600_000_000, 4096
"""The first store time, in milliseconds since 1970, and how many messages a broker stores in a second."""
_NUMBERS = {"queue_offset": 20, "physical_offset": 28, "store_timestamp": 56}
"""Where the numbers of 8 bytes that differ are in a record."""


def _template() -> bytes:
    """A record of 1,024 bytes."""
    short = encode(Message(topic="topic-0", body=b"", store_timestamp=START))
    return encode(Message(topic="topic-0", body=b"x" * (_RECORD - len(short)), store_timestamp=START))


_TEMPLATE = np.frombuffer(_template(), np.uint8)
_DIGIT = _TEMPLATE.tobytes().index(b"topic-0") + len("topic-")


class FleetStorage(Storage):
    """`<url>/broker-000/store`, and so on. Each broker has its segments, and a tenth of its records in each of ten topics.

    Of the last segment, `unwritten` bytes are zeros. `calls` counts what was asked; each call takes `delay` seconds.
    """

    def __init__(self, brokers: int, segments: int, *, segment: int = 1 << 30, unwritten: int = 0, delay: float = 0.0) -> None:
        self.calls: Counter[str] = Counter()
        self._brokers = [f"broker-{number:03}" for number in range(brokers)]
        self.segment, self._segments, self._delay, self._lock = segment, segments, delay, Lock()
        self.records = (segments * segment - unwritten) // _RECORD
        self.url = mount("fleet", self)

    def note(self, kind: str) -> None:
        """Count a call, and take its time."""
        with self._lock:
            self.calls[kind] += 1
        time.sleep(self._delay)

    def _list(self, uri: str) -> list[DirEntry]:
        self.note("list")
        found = self._inside(uri)
        if found is None:
            raise FileNotFoundError(uri)
        return found

    def _entry(self, uri: str) -> DirEntry | None:
        self.note("entry")
        if uri == self.url:
            return _directory("")
        above, _, name = uri.rpartition("/")
        return next((entry for entry in self._inside(above) or () if entry.name == name), None)

    def _open(self, uri: str) -> StoredFile:
        self.note("open")
        above, _, name = uri.rpartition("/")
        if not any(entry.name == name and entry.is_file for entry in self._inside(above) or ()):
            raise FileNotFoundError(uri)
        return _File(uri, self)

    def identity(self, uri: str, base: int) -> int:
        """The identity of a segment: of each broker another one."""
        return base * 1000 + self._brokers.index(uri.removeprefix(self.url).split("/")[1])

    def _inside(self, uri: str) -> list[DirEntry] | None:
        """The entries of a directory; None if there is none."""
        match uri.removeprefix(self.url).strip("/").split("/"):
            case [""]:
                return list(map(_directory, self._brokers))
            case [broker, *_] if broker not in self._brokers:
                return None
            case [_]:
                return [_directory("store")]
            case [_, "store"]:
                return [_directory("commitlog"), _directory("consumequeue")]
            case [_, "store", "commitlog"]:
                names = (f"{number * self.segment:020}" for number in range(self._segments))
                return [DirEntry(name, self.segment, self.identity(uri, int(name)), True, False) for name in names]
            case [_, "store", "consumequeue"]:
                return [_directory(f"topic-{number}") for number in range(TOPICS)]
            case [_, "store", "consumequeue", _]:
                return [_directory(str(number)) for number in range(QUEUES)]
            case [_, "store", "consumequeue", _, _]:
                width, count = _ENTRIES * _ENTRY, self.records // (TOPICS * QUEUES)
                return [DirEntry(f"{each * width:020}", width, each + 1, True, False) for each in range(-(-count // _ENTRIES))]
        return None


def _directory(name: str) -> DirEntry:
    return DirEntry(name, 0, 0, False, True)


class _File(StoredFile):
    """A segment, or a file of a queue."""

    def __init__(self, uri: str, fleet: FleetStorage) -> None:
        super().__init__(uri)
        self._fleet = fleet
        *_, topic, queue, name = uri.split("/")
        self._base, self._queue = int(name), (int(topic[-1]), int(queue)) if queue.isdecimal() else None

    def size(self) -> int:
        return self._fleet.segment if self._queue is None else _ENTRIES * _ENTRY

    def identity(self) -> int:
        return self._fleet.identity(self.uri, self._base) if self._queue is None else self._base // (_ENTRIES * _ENTRY) + 1

    def close(self) -> None:
        return

    def _read(self, offset: int, view: memoryview) -> int:
        self._fleet.note("read")
        length, width = max(0, min(len(view), self.size() - offset)), _RECORD if self._queue is None else _ENTRY
        first, stop = offset // width, -(-(offset + length) // width)
        content = (self._records if self._queue is None else self._entries)(first, stop)
        begin = offset - first * width
        view[:length] = content.reshape(-1).data[begin : begin + length]
        return length

    def _records(self, first: int, stop: int) -> NDArray[np.uint8]:
        """The records at these places of the segment; all are full of records of one size, so no blank is needed."""
        numbers = self._base // _RECORD + np.arange(first, stop)
        found = np.tile(_TEMPLATE, (len(numbers), 1))
        found[:, _DIGIT] = ord("0") + numbers % TOPICS
        found[:, 12:16] = (numbers // TOPICS % QUEUES).astype(">i4").view(np.uint8).reshape(-1, 4)
        values = {
            "queue_offset": numbers // (TOPICS * QUEUES),
            "physical_offset": numbers * _RECORD,
            "store_timestamp": START + numbers * 1000 // PER_SECOND,
        }
        for name, place in _NUMBERS.items():
            found[:, place : place + 8] = values[name].astype(">i8").view(np.uint8).reshape(-1, 8)
        found[numbers >= self._fleet.records] = 0
        return found

    def _entries(self, first: int, stop: int) -> NDArray[np.uint8]:
        """The entries at these places of the file."""
        assert self._queue is not None
        topic, queue = self._queue
        numbers = (self._base // _ENTRY + np.arange(first, stop)) * (TOPICS * QUEUES) + queue * TOPICS + topic
        entries = np.zeros(len(numbers), np.dtype([("offset", ">i8"), ("size", ">i4"), ("code", ">i8")]))
        entries["offset"], entries["size"] = numbers * _RECORD, _RECORD
        entries[numbers >= self._fleet.records] = 0
        return entries.view(np.uint8).reshape(-1, _ENTRY)


register("fleet", None)
