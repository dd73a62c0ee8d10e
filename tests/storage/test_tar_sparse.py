"""Sparse files in tar archives: their holes are zeros, in every way in which tar writes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from support.effort import mostly_long
from support.stores import ZERO, files_of, log_of, on_disk
from support.tars import FORMATS, SPARSE, gnu_tar

import native_reader as nr
from native_reader.storage import storage_of
from native_reader.storage.protocol import StoredFile

PAGE = 4096
SIZE = 400 * PAGE + 77


def with_holes(path: Path, parts: list[tuple[int, bytes]], size: int) -> bytes:
    """Write a file with those parts; returns its content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for offset, content in parts:
            file.seek(offset)
            file.write(content)
        file.truncate(size)
    return path.read_bytes()


PARTS = {
    "only a hole": [],
    "no hole": [(0, b"x" * SIZE)],
    "a hole at the end": [(0, b"begin" * 900)],
    "a hole at the begin": [(SIZE - 9, b"the end.!")],
    "two parts": [(0, b"a" * 100), (50 * PAGE, b"b" * 5000)],
    "many parts": [(page * PAGE + page, b"%d" % page * 7) for page in range(0, 400, 3)],  # more than a header has room for
}


@pytest.fixture(params=[(kind, parts) for kind in SPARSE for parts in PARTS], ids=" ".join)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[bytes, StoredFile]]:
    """A file with holes, in an archive between two other ones."""
    kind, parts = request.param
    on_disk(tmp_path, {"data/a": b"before", "data/z": b"after"})
    content = with_holes(tmp_path / "data" / "b", PARTS[parts], SIZE)
    archive = gnu_tar(tmp_path / "x.tar", tmp_path, ["data"], FORMATS[kind])
    if parts in ("only a hole", "two parts"):
        assert archive.stat().st_size < 100_000
    uri = f"tar+{archive.as_uri()}/data"
    storage = storage_of(uri)
    assert [(each.name, each.size) for each in storage.list(uri)] == [("a", 6), ("b", SIZE), ("z", 5)]
    with storage.open(f"{uri}/b") as file:
        yield content, file


def test_every_byte_is_as_in_the_file(opened: tuple[bytes, StoredFile]) -> None:
    content, file = opened
    assert file.size() == len(content)
    whole = bytearray(b"-" * (SIZE + 10))
    assert file.read_into(0, whole) == SIZE
    assert bytes(whole[:SIZE]) == content
    assert whole[SIZE:] == b"-" * 10
    random = Random(7)
    ranges = [(random.randrange(SIZE + 100), random.choice((0, 1, 20, 600, 9000))) for _ in range(300)]
    assert file.read_ranges(ranges) == [content[offset : offset + length] for offset, length in ranges]
    inside = [(offset, length) for offset, length in ranges if offset + length <= SIZE]
    joined = b"".join(content[offset : offset + length] for offset, length in inside)
    view = bytearray(b"-" * len(joined))
    file.will_read(PAGE, SIZE)
    assert file.read_many([offset for offset, _ in inside], [length for _, length in inside], memoryview(view)) == len(joined)
    assert bytes(view) == joined
    assert file.read_many([0, SIZE - 5, 0], [3, 9, 3], memoryview(bytearray(15))) == 8


def test_holes_are_known(opened: tuple[bytes, StoredFile]) -> None:
    content, file = opened
    for below in (None, SIZE, 60 * PAGE, 7, 1, 0):
        end, bound = file.written_end(below), SIZE if below is None else below
        assert len(content[:bound].rstrip(b"\0")) <= end <= bound
        assert end - len(content[:bound].rstrip(b"\0")) <= 2 * PAGE
    for offset in (*range(0, SIZE, 3 * PAGE + 1), SIZE - 1, SIZE, SIZE + 9):
        data = file.next_data(offset)
        assert offset <= data <= max(SIZE, offset)
        assert not content[offset:data].strip(b"\0")
        assert data >= SIZE or any(content[data : data + PAGE])


@pytest.mark.gate
@pytest.mark.parametrize("kind", mostly_long(SPARSE, "gnu -S", "pax -S 1.0"))
def test_segments_that_a_broker_allocated_ahead_need_no_room(tmp_path: Path, kind: str) -> None:
    content = files_of(log_of(30, 1 << 20))[f"store/commitlog/{ZERO}"]
    with_holes(tmp_path / "store" / "commitlog" / ZERO, [(0, content.rstrip(b"\0"))], 1 << 30)
    archive = gnu_tar(tmp_path / "x.tar", tmp_path, options=FORMATS[kind])
    assert archive.stat().st_size < 50_000
    scan = nr.open(archive).messages(columns="heads")
    expected = nr.open(tmp_path / "store").messages(columns="heads")
    assert scan.count_rows() == 30
    assert scan.to_table().drop_columns("store").equals(expected.to_table().drop_columns("store"))


def test_an_archive_with_holes_of_its_own(tmp_path: Path) -> None:
    """`cp --sparse=always` makes holes of the zeros in an archive."""
    files = {"store/a": b"a" * PAGE, "store/b": b"b" * 3 * PAGE + bytes(40 * PAGE), "store/c": b"c" * PAGE}
    archive = gnu_tar(tmp_path / "x.tar", on_disk(tmp_path, files))
    content = archive.read_bytes()
    with archive.open("wb") as file:
        for begin in range(0, len(content), PAGE):
            if content[begin : begin + PAGE].strip(b"\0"):
                file.seek(begin)
                file.write(content[begin : begin + PAGE])
        file.truncate(len(content))
    uri = f"tar+{archive.as_uri()}/store"
    for name, expected in files.items():
        with storage_of(uri).open(f"{uri}/{name[-1]}") as opened:
            assert opened.read_ranges([(0, 1 << 20)]) == [expected]
            assert len(expected.rstrip(b"\0")) <= opened.written_end() <= len(expected)
            assert opened.next_data(0) == 0
    with storage_of(uri).open(f"{uri}/b") as opened:
        assert 41 * PAGE < opened.next_data(10 * PAGE) <= 43 * PAGE
