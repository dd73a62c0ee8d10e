"""A start of a broker, written down as RocketMQ's own loops do it: byte by byte and entry by entry, of small stores with ordinary queues.

It imports nothing from this project. Where checking begins is given: real brokers test that.
"""

from __future__ import annotations

import struct
from binascii import crc32
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import fmod
from pathlib import Path
from typing import NamedTuple

Place = tuple[str, int]
MESSAGES, BLANK = (0xDAA320A7, 0xDAA320AB), 0xCBD43194
FILLED = 2**31 - 1
FILLER = struct.pack(">qiq", 0, FILLED, 0)


class Record(NamedTuple):
    offset: int
    size: int
    place: Place
    number: int
    is_queued: bool


@dataclass
class Queue:
    """ConsumeQueue: its files by base, how many bytes of the last one are written, and maxPhysicOffset."""

    file_size: int
    files: dict[int, bytearray] = field(default_factory=dict)
    written: int = 0
    reached: int = -1

    @property
    def end(self) -> int:
        return (max(self.files) + self.written) // 20 if self.files else 0

    def entry(self, base: int, at: int) -> tuple[int, int]:
        offset, size = struct.unpack_from(">qi", self.files[base], at)
        return offset, size

    def recover(self) -> None:
        bases = sorted(self.files)
        for base in bases[max(0, len(bases) - 3) :]:
            self.written = 0
            while self.written < self.file_size:
                offset, size = self.entry(base, self.written)
                if offset < 0 or size <= 0:
                    break
                self.written, self.reached = self.written + 20, offset + size
            if self.written < self.file_size:
                for later in [each for each in bases if each > base]:
                    del self.files[later]
                return

    def truncate(self, cut: int) -> None:
        self.reached = cut
        while self.files:
            base = max(self.files)
            self.written = 0
            for at in range(0, self.file_size, 20):
                offset, size = self.entry(base, at)
                if at == 0:
                    if offset >= cut:
                        del self.files[base]
                        break
                elif offset < 0 or size <= 0 or offset >= cut:
                    return
                self.written, self.reached = at + 20, offset + size
            else:
                return

    def put(self, record: Record) -> None:
        if record.offset + record.size <= self.reached:
            return
        if not self.files:
            self.written = record.number * 20 % self.file_size
            filled = FILLER * (self.written // 20)
            self.files[record.number * 20 - self.written] = bytearray(filled + bytes(self.file_size - len(filled)))
        elif self.written == self.file_size:
            self.files[max(self.files) + self.file_size] = bytearray(self.file_size)
            self.written = 0
        if record.number and record.number < self.end:
            return
        self.reached = record.offset + record.size
        struct.pack_into(">qi", self.files[max(self.files)], self.written, record.offset, record.size)
        self.written += 20


class Broker:
    def __init__(self, store: Path, queue_file: int) -> None:
        self.segments = {int(path.name): path.read_bytes() for path in sorted((store / "commitlog").iterdir())}
        self.killed = (store / "abort").exists()
        self.file_size, self.segment_size = queue_file, len(next(iter(self.segments.values())))
        self.queues: dict[Place, Queue] = {}
        for folder in (store / "consumequeue").glob("*/*"):
            files = {int(path.name): bytearray(path.read_bytes()) for path in folder.iterdir()}
            self.queues[folder.parent.name, int(folder.name)] = Queue(queue_file, files)

    def start(self, begins: int, requeues: str, *, truncates_always: bool, truncates_killed: bool) -> int:
        """Give the end of the log. `requeues`: "none", "after all" or "checked"."""
        for queue in self.queues.values():
            queue.recover()
        reached = self.reached()
        end = begins
        for record in self.walk(begins, checksums=True):
            if isinstance(record, int):
                end = record
            elif self.killed or (requeues == "checked" and record.offset > reached):
                self.put(record)
        if self.killed if truncates_killed else truncates_always or reached >= end:
            for queue in self.queues.values():
                queue.truncate(end)
        if requeues == "after all" and not self.killed:
            for record in self.walk(max(min(self.segments), self.reached()), checksums=False, goes_on=True, stop=end):
                if not isinstance(record, int):
                    self.put(record)
        return end

    def stop(self, end: int) -> None:
        """It leaves no files after the end of the log."""
        self.segments, self.killed = {base: data for base, data in self.segments.items() if base <= end}, False

    def reached(self) -> int:
        return max((queue.reached for queue in self.queues.values()), default=-1)

    def put(self, record: Record) -> None:
        if record.is_queued:
            self.queues.setdefault(record.place, Queue(self.file_size)).put(record)

    def walk(self, begins: int, *, checksums: bool, goes_on: bool = False, stop: int = 1 << 62) -> Iterator[Record | int]:
        """The records from an offset on, and after each where it is then. `goes_on`: after what is none, with the next segment."""
        for base, data in self.segments.items():
            at = max(begins - base, 0)
            while at < len(data) and base + at < stop:
                record = check(data, at, base, checksums=checksums)
                if record is None:
                    if goes_on:
                        break
                    yield base + at
                    return
                if record == "blank":
                    break
                assert isinstance(record, Record)
                yield record
                at += record.size
                yield base + at

    def pulled(self, place: Place, end: int) -> dict[int, tuple[int, int]]:
        """DefaultMessageStore.getMessage for one message at a time, from the first offset to the last: which bytes of the log each gets."""
        found, queue = dict[int, tuple[int, int]](), self.queues[place]
        for base in sorted(queue.files):
            count = (queue.written if base == max(queue.files) else self.file_size) // 20
            number = 0
            while number < count:
                stop, after = min(count, number + 800), -(2**63)
                for at in range(number, stop):
                    offset, size = queue.entry(base, at * 20)
                    if offset < after or size == FILLED:
                        continue
                    if size < 0:  # it throws an exception
                        return found
                    if self.has(offset, size, end):
                        found[base // 20 + at] = offset, size
                        stop = at + 1
                        break
                    after = offset + self.segment_size - int(fmod(offset, self.segment_size))
                number = stop
        return found

    def has(self, offset: int, size: int, end: int) -> bool:
        base = offset // self.segment_size * self.segment_size
        return base in self.segments and offset + size <= min(base + self.segment_size, end)


def check(data: bytes, at: int, base: int, *, checksums: bool) -> Record | str | None:
    """CommitLog.checkMessageAndReturnSize."""
    if at + 8 > len(data):
        return None
    size, magic = struct.unpack_from(">iI", data, at)
    if magic == BLANK:
        return "blank"
    if magic not in MESSAGES or not 0 < size <= len(data) - at:
        return None
    try:
        crc, queue_id, _, number, physical, flags = struct.unpack_from(">IiiqqI", data, at + 8)
        body_at = at + 48 + (20 if flags & 16 else 8) + 8 + (20 if flags & 32 else 8) + 12
        (length,) = struct.unpack_from(">i", data, body_at)
        body = data[body_at + 4 : body_at + 4 + max(length, 0)]
        topic_at = body_at + 4 + max(length, 0)
        width = 1 if magic == MESSAGES[0] else 2
        topic_size = int.from_bytes(data[topic_at : topic_at + width], "big", signed=True)
        topic = data[topic_at + width : topic_at + width + topic_size].decode(errors="replace")
        (properties,) = struct.unpack_from(">h", data, topic_at + width + topic_size)
    except (struct.error, UnicodeDecodeError):
        return None
    if topic_at + width + topic_size + 2 + max(properties, 0) != at + size:
        return None
    if checksums and body and crc32(body) & 0x7FFFFFFF != crc:
        return None
    return Record(physical, size, (topic, queue_id), number, flags & 12 not in (4, 12))
