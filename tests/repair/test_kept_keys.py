"""The keys that a plan reads come back in order, whether they are in memory or in the file, and are forgotten where it has no room."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from native_reader.repair import disk, kept_keys
from native_reader.repair.kept_keys import KeptKeys

Row = tuple[int, int, int]
"""Hash of a key, offset and time of its record."""


def put(kept: KeptKeys, first: int, count: int) -> list[Row]:
    """Records of no, one and two keys."""
    rows = [(number, number % 3, [7 * number, -number][: number % 3]) for number in range(first, first + count)]
    offsets, times = np.array([[100 * number, 1000 + number] for number, _, _ in rows], np.int64).T
    hashes = np.array([key for *_, keys in rows for key in keys], np.int32)
    kept.put(offsets, times, np.array([keys for _, keys, _ in rows], np.int32), hashes)
    return [(key, 100 * number, 1000 + number) for number, _, keys in rows for key in keys]


def found(kept: KeptKeys) -> list[Row]:
    return [row for keys in kept.pieces() for row in zip(*(column.tolist() for column in keys), strict=True)]


@pytest.mark.parametrize("at_once", [1, 8, 1000])
def test_keys_come_back_in_the_order_of_their_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(kept_keys, "_AT_ONCE", at_once)
    with KeptKeys(str(tmp_path / "new"), with_tags=False) as kept:
        kept.clear()
        put(kept, 900, 20)
        kept.clear()  # a plan that begins again
        expected = [row for first in range(0, 50, 5) for row in put(kept, first, 5)]
        assert found(kept) == expected
        assert found(kept) == expected
        assert kept.are_whole


def test_records_without_keys_have_no_piece(tmp_path: Path) -> None:
    with KeptKeys(str(tmp_path / "new"), with_tags=False) as kept:
        kept.clear()
        assert put(kept, 0, 1) == found(kept) == []


def test_no_keys_are_kept_once_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept_keys, "_AT_ONCE", 8)
    with KeptKeys(str(tmp_path / "new"), with_tags=False) as kept:
        kept.clear()
        put(kept, 0, 4)
        monkeypatch.setattr(disk, "put", full)
        put(kept, 4, 50)
        assert not kept.are_whole
        put(kept, 54, 4)
        assert not kept.are_whole
