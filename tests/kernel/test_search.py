"""Where records may start, and what follows damage: the compiled kernel finds the same as numpy."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.changed_logs import changed_log
from support.compare import InMemory
from support.stores import message

import native_reader as nr
from native_reader.layout.record import MAGIC_V1, MAGIC_V2, PADDING, Records
from native_reader.records.sync import candidates
from native_reader.records.walk import rest_of
from native_reader.storage.window import Window
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import encode, forge

BASE = 1 << 40
SIZE = 700


def window_of(content: bytes, frame: int) -> Any:
    u8 = np.zeros(len(content) + PADDING, np.uint8)
    u8[: len(content)] = np.frombuffer(content, np.uint8)
    segment = SimpleNamespace(frame=frame)
    return SimpleNamespace(u8=u8, filled=len(content), offset=BASE, segment=segment, scratch=None)


def planted(chance: random.Random) -> bytes:
    """Bytes of magics, at some of which the right offset follows."""
    content = bytearray(chance.choices(struct.pack(">i", MAGIC_V1) + b"\0\xab", k=SIZE))
    for _ in range(chance.randrange(6)):
        start, size = chance.randrange(SIZE - 4), len(content)
        content[start + 4 : start + 8] = struct.pack(">i", chance.choice((MAGIC_V1, MAGIC_V2)))
        content[start + 28 : start + 36] = struct.pack(">q", BASE + start - chance.choice((0, 0, 1)))
        del content[size:]
    return bytes(content[: chance.randrange(SIZE - 80, SIZE)])


@pytest.mark.kernel
@pytest.mark.parametrize("frame", [0, 48])
def test_both_kernels_find_the_same_places(frame: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, found = random.Random(47 + frame), 0
    for _ in range(300):
        window = window_of(planted(chance), frame)
        places = []
        for which in ("numpy", "compiled"):
            monkeypatch.setenv("RMQSTORE_KERNEL", which)
            places.append(candidates(window).tolist())
        assert places[0] == places[1]
        found += len(places[0])
    assert found > 300


def rests(store: InMemory, position: int, look: int, most: int, monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """What each kernel finds in a window from a position on, and the bytes that it read for it."""
    found = []
    ((segment,),) = (each.segments for each in nr.open(store.path).stores)
    for which in ("numpy", "compiled"):
        monkeypatch.setenv("RMQSTORE_KERNEL", which)
        with Window(segment, 1 << 16) as window:
            window.load(position, look)
            records, gaps, reached = rest_of(window, position, position + look, most)
            parts = [getattr(records, name).tolist() for name in Records.__slots__]
            found.append([*parts, *(column.tolist() for column in gaps), reached, window.bytes_read])
    return found


@pytest.mark.kernel
def test_both_kernels_find_the_same_after_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    chance, gaps, left_out = random.Random(49), 0, 0
    records = [encode(message(number, body=b"." * 40 * number)) for number in range(30)]
    for _ in range(80):
        log = changed_log(chance, records, 20)
        store, ((_, content),) = InMemory(log.segments, log.framing), log.segments
        position, look = chance.randrange(2000), chance.randrange(600, 9000)
        one, other = rests(store, position, min(look, len(content) - position), chance.choice((500, 1 << 20)), monkeypatch)
        assert one == other
        gaps += len(one[-6])
        left_out += len(one[0]) in one[-6]
    assert gaps > 100
    assert left_out > 10


@pytest.mark.kernel
def test_a_record_that_ends_outside_hides_those_in_its_body(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left to the next window; what would be found behind its start is no record."""
    log = CommitLog(1 << 12)
    log.append(message(0))
    outer = forge(message(1, body=b"o" * 900), message(2, topic="forged"), log.end)
    placed = log.append(replace(outer, body=outer.body + b"o" * 900))
    store = InMemory(log.segments(preallocated=False))
    for most in (1 << 20, 500):
        one, other = rests(store, 1, placed.offset + placed.size - 11, most, monkeypatch)
        assert one == other
        assert one[0] == []
        assert one[-5:-1] == [[-1], [1], [placed.offset], placed.offset]
    one, other = rests(store, 1, placed.offset + placed.size + 200, 500, monkeypatch)
    assert one == other
    assert one[-5:-1] == [[-1], [1], [placed.offset], placed.offset], "too large, so left out"
