"""Reading a store repeatedly while it is written: the rules that hold from one look to the next."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rocketmq import Java, ended

SECONDS = 15
RATE = 20_000
SEGMENT = 16 << 20
COLUMNS = ["physical_offset", "topic", "body", "properties"]
_LARGEST = 8 << 10


@contextmanager
def written(java: Java, home: Path, *, held: bool = False, **settings: object) -> Iterator[Popen[bytes]]:
    """RocketMQ's own store class writes `home/store`: RATE messages a second, of 1 byte to 8 KiB, without zero bytes.

    `held`: one message, and the others after the file `home/held` is deleted. If the home exists, more messages are added.
    """
    home.mkdir(exist_ok=True)
    if held:
        (home / "held").touch()
    conf = {"mappedFileSizeCommitLog": SEGMENT, "mappedFileSizeConsumeQueue": 60_000, "maxMessageSize": 1 << 20} | settings
    (home / "conf").write_text("".join(f"{name}={value}\n" for name, value in conf.items()))
    amounts = (RATE, RATE * SECONDS, 1, _LARGEST, 1 << 30)
    writer = java.start("Write", home / "store", home / "conf", 3, *amounts, home=home, log="writer.out", memory="1g")
    try:
        yield writer
    finally:
        ended(writer)


def report_in(log: Path, word: str) -> dict[str, Any]:
    """The line of a program's output that has this word."""
    (report,) = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{") and f'"{word}"' in line]
    return dict(report)


class Follower:
    """Looks repeatedly, from `begin` on: no record is torn, and each look sees all records of the one before."""

    def __init__(self, read: Callable[[int], pa.Table], segment: int = SEGMENT) -> None:
        self._read, self._segment = read, segment
        self._begin, self._seen = 0, pa.array([], pa.int64())
        self.looks = self.rows = 0

    def look(self) -> None:
        """Once more."""
        table = self._read(self._begin)
        offsets = table["physical_offset"].combine_chunks()
        assert zeros(table) == 0, "torn"
        assert offsets.slice(0, len(self._seen)).equals(self._seen), "what one look saw, the next did not"
        self.looks, self.rows = self.looks + 1, self.rows + len(offsets)
        if len(offsets) and offsets[-1].as_py() > self._begin + 2 * self._segment:
            self._begin = offsets[-1].as_py() // self._segment * self._segment
            offsets = offsets.filter(pc.greater_equal(offsets, self._begin))
        self._seen = offsets


def zeros(table: pa.Table) -> int:
    """The number of zero bytes, in columns that must not contain any."""
    pairs = table["properties"].combine_chunks()
    columns = [table["topic"].combine_chunks(), table["body"].combine_chunks(), pairs.keys, pairs.items]
    return sum(int((np.frombuffer(each.buffers()[2], np.uint8, _end(each)) == 0).sum()) for each in columns if len(each))


def _end(column: pa.Array) -> int:
    return int(np.frombuffer(column.buffers()[1], np.int32)[column.offset + len(column)])


def ended_by_its_input(writer: Popen[bytes]) -> int:
    """Let the writer shut down its store."""
    assert writer.stdin is not None
    writer.stdin.close()
    return writer.wait(60)
