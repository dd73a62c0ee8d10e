"""The bytes of both logs are compared also after holes, which are not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from native_reader.repair.comparing import _PIECE, _first_difference
from native_reader.storage.local import LocalFile
from native_reader.storage.paths import uri_of

SIZE = 20 * _PIECE
DATA = {0: b"record", 9 * _PIECE - 3: b"record", 15 * _PIECE + 7: bytes([1])}


def written(path: Path, content: dict[int, bytes]) -> str:
    with path.open("wb") as file:
        for at, piece in content.items():
            file.seek(at)
            file.write(piece)
        file.truncate(SIZE)
    return uri_of(str(path))


@pytest.mark.parametrize("at", [None, 2, 5 * _PIECE, 9 * _PIECE + 1, 15 * _PIECE + 7, SIZE - 1])
@pytest.mark.parametrize(("start", "stop"), [(0, SIZE), (1, SIZE), (0, SIZE - 1), (4 * _PIECE, 9 * _PIECE)])
def test_a_difference_is_found_wherever_it_is(tmp_path: Path, at: int | None, start: int, stop: int) -> None:
    one, other = written(tmp_path / "one", DATA), written(tmp_path / "other", DATA | ({} if at is None else {at: b"x"}))
    found = _first_difference(one, other, start, stop)
    if at is None or not start <= at < stop:
        assert found is None
    else:
        assert found is not None
        assert found <= at < found + _PIECE


def test_most_of_a_hole_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counted(file: LocalFile, offset: int, view: memoryview) -> int:
        read.append(offset)
        return read_into(file, offset, view)

    read_into = LocalFile.read_into
    monkeypatch.setattr(LocalFile, "read_into", counted)
    assert _first_difference(written(tmp_path / "one", DATA), written(tmp_path / "other", DATA), 0, SIZE) is None
    assert len(read) // 2 < 10
