"""What is fetched of a file over a link: each byte once, pages at least, in bounded memory, and what comes next in advance."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from random import Random

import pytest

from native_reader.storage import pieces
from native_reader.storage.pieces import FetchError, Pieces

CONTENT = os.urandom(1 << 20) * 3 + b"the end"
SIZE = len(CONTENT)


class Source:
    """A file that counts the calls for it."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self.calls: list[tuple[int, int]] = []
        self.fails = False
        self.pieces = Pieces(self.fetch, SIZE, threads)

    def fetch(self, start: int, stop: int) -> bytes:
        self.calls.append((start, stop))
        if self.fails:
            raise OSError("no link")
        assert 0 <= start < stop <= SIZE
        return CONTENT[start:stop]

    def read(self, offset: int, length: int) -> None:
        view = memoryview(bytearray(length))
        self.pieces.read(offset, view)
        assert view == CONTENT[offset : offset + length]

    @property
    def fetched(self) -> int:
        wait([piece.content for piece in self.pieces._pieces])
        return sum(stop - start for start, stop in self.calls)

    @property
    def kept(self) -> int:
        return sum(piece.stop - piece.start for piece in self.pieces._pieces)


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Iterator[Source]:
    """A file of 3 MiB, with small limits: pages of 1 KiB, blocks of 16 KiB, 64 KiB ahead, 32 KiB kept."""
    for name, value in {"PAGE": 1 << 10, "BLOCK": 16 << 10, "AHEAD": 64 << 10, "_KEPT": 32 << 10, "_LARGE": 4 << 10}.items():
        monkeypatch.setattr(pieces, name, value)
    with ThreadPoolExecutor(4) as threads:
        yield Source(threads)


@pytest.mark.parametrize("seed", range(20))
def test_any_reads_give_the_bytes_of_the_file_in_bounded_memory(source: Source, seed: int) -> None:
    draw, place = Random(seed), 0
    if seed % 2:
        start = draw.randrange(SIZE)
        source.pieces.expect(start, draw.randrange(start, SIZE + 1))
    for _ in range(150):
        length = min(draw.choice([1, 7, 900, 1024, 5000, 40_000]), SIZE)
        match draw.randrange(5):
            case 0:
                place = draw.randrange(SIZE - length)
            case 1:
                place = max(0, place - length)
            case 2:
                offsets = [draw.randrange(SIZE) for _ in range(draw.choice([1, 3, 200]))]
                lengths = [min(draw.choice([0, 2, 100, 3000, 20_000]), SIZE - offset) for offset in offsets]
                view = memoryview(bytearray(sum(lengths)))
                source.pieces.read_many(offsets, lengths, view)
                assert view == b"".join(CONTENT[offset : offset + size] for offset, size in zip(offsets, lengths, strict=True))
        place = min(place, SIZE - length)
        source.read(place, length)
        place += length
        assert source.kept <= (64 + 32 + 2 * 48) << 10
    assert all(stop - start <= pieces.BLOCK for start, stop in source.calls)


def test_a_scan_fetches_each_byte_once_and_nothing_behind_what_it_wants(source: Source) -> None:
    start, stop = 100_000, 1_100_000
    source.pieces.expect(start, stop)
    for place in range(start, stop, 10_000):
        source.read(place, 10_000)
    assert source.fetched <= stop - start + 2 * pieces.PAGE
    assert len(source.calls) < 80
    source.read(stop, 3000)
    assert source.fetched <= stop - start + 6 * pieces.PAGE


def test_a_small_first_read_fetches_nothing_ahead(source: Source) -> None:
    source.pieces.expect(0, SIZE)
    source.read(0, 1000)
    assert source.fetched == 1 << 10
    source.read(1000, 1000)
    assert source.fetched >= 64 << 10


@pytest.mark.parametrize("backwards", [False, True])
def test_reads_that_follow_each_other_fetch_at_most_twice_as_much(source: Source, backwards: bool) -> None:
    places = [SIZE - 3000 * number for number in range(1, 200)] if backwards else [3000 * number for number in range(199)]
    for count, place in enumerate(places, 1):
        source.read(place, 3000)
        assert source.fetched <= 2 * 3000 * count + 4 * pieces.PAGE + pieces.BLOCK
    assert len(source.calls) < 100


def test_a_failed_call_is_tried_again_by_the_next_read(source: Source) -> None:
    source.fails = True
    with pytest.raises(FetchError) as raised:
        source.read(5000, 20_000)
    assert raised.value.start == 5000
    assert str(raised.value.__cause__) == "no link"
    with pytest.raises(FetchError):
        source.pieces.read_many([0, 1 << 20], [50_000, 50_000], memoryview(bytearray(100_000)))
    source.fails = False
    source.read(5000, 20_000)
