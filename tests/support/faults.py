"""Small damaged logs, and checks of what is read from them in each mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

import native_reader as nr
from native_reader.records.damages import Damage, Report
from native_reader.testing.logs import CommitLog, Placed
from native_reader.testing.records import Message, pack_properties
from support.compare import InMemory, same
from support.plain_decoder import walk

SEGMENT = 4096


def ordinary(number: int, **fields: Any) -> Message:
    """A message with its number in every field that can hold it."""
    properties = pack_properties({"TAGS": f"tag{number % 3}", "KEYS": f"key{number}", "UNIQ_KEY": f"U{number:031}"})
    defaults: dict[str, Any] = {"topic": f"T{number % 3}", "body": b"body %d" % number, "properties": properties, "queue_offset": number}
    return Message(**(defaults | fields))


@dataclass
class Case:
    """A log of one segment, its bytes (to be changed), and the place of each record."""

    base: int
    content: bytearray
    placed: list[Placed]

    @staticmethod
    def of(*messages: Message, size: int = SEGMENT, preallocated: bool = True) -> Case:
        """A case with these messages; ten ordinary ones by default."""
        log = CommitLog(size)
        for message in messages or map(ordinary, range(10)):
            log.append(message)
        ((base, content),) = log.segments(preallocated=preallocated)
        return Case(base, bytearray(content), log.placed)

    @property
    def segments(self) -> list[tuple[int, bytes]]:
        return [(self.base, bytes(self.content))]

    def at(self, record: int) -> int:
        """The start offset of a record."""
        return self.placed[record].offset

    def end(self, record: int) -> int:
        return self.at(record) + self.placed[record].size

    def put(self, record: int, place: int, value: bytes) -> Case:
        """Overwrite bytes of a record at `place`, counted from its start, or from its end if negative."""
        begin = (self.at(record) if place >= 0 else self.end(record)) + place
        self.content[begin : begin + len(value)] = value
        return self

    def read(self, mode: str = "DROPMALFORMED", **options: Any) -> tuple[pa.Table, Report]:
        return run(self.segments, mode, **options)

    def assert_lost(self, *records: int, reason: str, extra_bytes: int = 0) -> Damage:
        """Assert that exactly these adjacent records are lost, as one range, for `reason`; returns the damage."""
        for most in (60, 150, 1 << 20):
            same(self.segments, "plain", most)
        table, report = self.read()
        (damage,) = report.damage
        assert (damage.start, damage.end) == (self.at(records[0]), self.end(records[-1]) + extra_bytes)
        assert damage.reason == reason
        kept = [placed.offset for number, placed in enumerate(self.placed) if number not in records]
        assert table["physical_offset"].to_pylist() == kept
        with pytest.raises(nr.StoreDamaged, match=f"at offset {damage.start:,} .*found .*{damage.description[:20]}".replace("(", r"\(")):
            self.read("FAILFAST")
        return damage

    def assert_intact(self, **options: Any) -> pa.Table:
        """Assert that there is no damage in any mode; returns the rows."""
        for most in (60, 150, 1 << 20):
            same(self.segments, "plain", most)
        for mode in ("FAILFAST", "DROPMALFORMED", "PERMISSIVE"):
            table, report = self.read(mode, **options)
            assert report.damage == ()
            assert len(walk(self.segments).damage) == 0
        return table


def run(segments: list[tuple[int, bytes]], mode: str, **options: Any) -> tuple[pa.Table, Report]:
    store = InMemory(segments)
    scan = store.messages(**({"columns": "*"} | options), mode=mode)
    reading = scan.run()
    return pa.Table.from_batches(reading, scan.schema), reading.report
