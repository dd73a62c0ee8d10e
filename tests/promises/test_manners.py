"""Reading while a broker runs: its page cache stays as it was, and no second reads more than allowed."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from support.locks import held
from support.stores import files_of, log_of, message, on_disk

import native_reader as nr
from native_reader.storage import window
from native_reader.storage.linux import absent

PAGE = os.sysconf("SC_PAGESIZE")
SIZE = 8 << 20


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A segment of 8 MiB full of records, and the file that a broker locks."""
    log = log_of([message(n, body=b"x" * 60_000) for n in range(136)], segment_size=SIZE)
    return on_disk(tmp_path, files_of(log) | {"store/lock": b"lock"}) / "store"


def absent_pages(path: Path) -> set[int]:
    with path.open("rb") as file:
        runs = absent(file.fileno(), 0, path.stat().st_size)
    return {page for begin, length in runs for page in range(begin // PAGE, (begin + length) // PAGE)}


def forget(path: Path, begin: int, length: int) -> None:
    """Drop part of a file from the page cache, if its file system can."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), begin, length, os.POSIX_FADV_DONTNEED)


def cached_here_and_there(segment: Path) -> set[int]:
    """The absent pages of a segment of which only the pages that a broker's consumers have read recently are cached."""
    forget(segment, 0, SIZE)
    forgotten = absent_pages(segment)
    with segment.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        for offset in (0, 3 << 20, (3 << 20) + 5 * PAGE, (4 << 20) - PAGE, 7 << 20):
            os.pread(file.fileno(), PAGE, offset)
    rest = absent_pages(segment)
    assert forgotten == set() or len(forgotten) > len(rest) > 1000  # a file system in memory drops no pages
    return rest


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports the pages of its page cache")
def test_a_read_leaves_the_page_cache_of_a_running_broker_unchanged(store: Path) -> None:
    (segment,) = (store / "commitlog").iterdir()
    dropped = set(range(SIZE // PAGE))
    with held(store / "lock"):
        for _ in range(5):  # the kernel too may drop a page at any moment, but not the same one each time
            before = cached_here_and_there(segment)
            assert nr.open(store).messages().count_rows() == 135  # the newest waits for its queue entry
            assert nr.open(store).messages(columns="topic,body").to_table().num_rows == 135
            after = absent_pages(segment)
            assert before <= after
            dropped &= after - before
            if not dropped:
                break
    assert not dropped
    assert nr.open(store).messages().count_rows() == 136
    assert len(absent_pages(segment)) < 10  # at rest, the pages stay cached for the next read


def test_absent_pages_are_grouped_in_runs(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * (10 * PAGE + 7))
    with path.open("rb") as file:
        assert absent(file.fileno(), 3, path.stat().st_size - 3) == []
        assert absent(file.fileno(), 0, 0) == []
    forget(path, 2 * PAGE, 3 * PAGE)
    with path.open("rb") as file:
        assert absent(file.fileno(), 3, path.stat().st_size - 3) in ([(2 * PAGE, 3 * PAGE)], [])


class Clock:
    """A clock that advances only when the test waits or works."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds


def test_the_time_that_reading_took_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """10 bytes a second: never more, and never less if the work leaves time. Slow work permits no burst later."""
    clock = Clock()
    monkeypatch.setattr(window, "time", clock)
    limit, ends = window.ReadRate(10), []
    for work in (0.25, 0.75, 0.0, 5.0, 0.0, 0.5):
        clock.sleep(work)
        limit.spend(10)
        ends.append(clock.now)
    assert ends == [101.0, 102.0, 103.0, 108.0, 109.0, 110.0]


def test_a_read_takes_as_long_as_its_rate_says(store: Path) -> None:
    begun = time.monotonic()
    assert nr.open(store).messages(max_read_rate="8m").count_rows() == 136
    assert time.monotonic() - begun > 0.9
    with pytest.raises(nr.OptionError, match="max_read_rate must be an integer from 1048576"):
        nr.open(store).messages(max_read_rate=1000)
