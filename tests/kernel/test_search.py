"""Where records may start after damage: the compiled kernel finds the same places as numpy."""

from __future__ import annotations

import random
import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from native_reader.layout.record import MAGIC_V1, MAGIC_V2, PADDING
from native_reader.records.sync import candidates

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
