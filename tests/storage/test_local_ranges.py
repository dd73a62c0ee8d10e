"""Many ranges of a local file: as one call reads them, whatever is in memory; and a disk gets those that are not all at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from native_reader.storage import local
from native_reader.storage.local import LocalFile

CONTENT = bytes(range(256)) * 40
RANGES = [(0, 10), (500, 3), (5000, 100), (9000, 1), (10_239, 1)]


class Disk:
    """Reads of the system, in which the bytes from `cached` on would have to wait for a disk; notes what it is asked to fetch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cached: int) -> None:
        self._preadv, self._cached, self.asked = os.preadv, cached, list[tuple[int, int]]()
        monkeypatch.setattr(os, "preadv", self.preadv)
        monkeypatch.setattr(os, "posix_fadvise", lambda _, offset, length, advice: self.asked.append((offset, length)))

    def preadv(self, descriptor: int, buffers: Sequence[memoryview], offset: int, flags: int = 0) -> int:
        if flags and offset + sum(map(len, buffers)) > self._cached:
            raise BlockingIOError
        return self._preadv(descriptor, buffers, offset)


@pytest.mark.skipif(not local._IF_CACHED, reason="only Linux says what is in memory")
@pytest.mark.parametrize(("cached", "first"), [(0, 0), (600, 2), (9500, 4), (20_000, 5)])
def test_ranges_that_are_not_in_memory_are_asked_for_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cached: int, first: int
) -> None:
    monkeypatch.setenv("RMQSTORE_KERNEL", "numpy")
    (tmp_path / "log").write_bytes(CONTENT)
    disk, view = Disk(monkeypatch, cached), memoryview(bytearray(200))
    with LocalFile((tmp_path / "log").as_uri()) as file:
        got = file.read_many([offset for offset, _ in RANGES], [length for _, length in RANGES], view)
    assert bytes(view[:got]) == b"".join(CONTENT[offset : offset + length] for offset, length in RANGES)
    assert disk.asked == RANGES[first:]


@pytest.mark.parametrize("kernel", ["numpy", pytest.param("compiled", marks=pytest.mark.kernel)])
@pytest.mark.parametrize("dropped", [0, 4096, len(CONTENT)])
def test_ranges_are_the_same_whether_they_are_in_memory_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str, dropped: int
) -> None:
    monkeypatch.setenv("RMQSTORE_KERNEL", kernel)
    with (tmp_path / "log").open("wb") as log:
        log.write(CONTENT)
        log.flush()
        os.fsync(log.fileno())
        if dropped and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(log.fileno(), 0, dropped, os.POSIX_FADV_DONTNEED)
    view = memoryview(bytearray(200))
    with LocalFile((tmp_path / "log").as_uri()) as file:
        got = file.read_many([offset for offset, _ in RANGES], [length for _, length in RANGES], view)
    assert bytes(view[:got]) == b"".join(CONTENT[offset : offset + length] for offset, length in RANGES)
    assert got == sum(length for _, length in RANGES)


@pytest.mark.parametrize("kernel", ["numpy", pytest.param("compiled", marks=pytest.mark.kernel)])
def test_many_ranges_stop_at_the_end_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str) -> None:
    monkeypatch.setenv("RMQSTORE_KERNEL", kernel)
    (tmp_path / "log").write_bytes(CONTENT)
    view = memoryview(bytearray(200))
    with LocalFile((tmp_path / "log").as_uri()) as file:
        assert file.read_many([0, len(CONTENT) - 3, 0], [10, 8, 10], view) == 13
    assert bytes(view[:14]) == CONTENT[:10] + CONTENT[-3:] + b"\0"
