"""The one reader of queue files: holes, files that are missing, and files that cannot be read."""

from __future__ import annotations

import errno
import struct
from pathlib import Path

import pytest
from support.stores import in_memory, on_disk

from native_reader.sides.queues import IF_DELETED, QueueReader, Topic, queue_at, queues_of
from native_reader.testing.faulty import FaultyStorage

PER_FILE = 10
ENTRIES = [struct.pack(">qiq", 100 * number, 100, number) for number in range(40)]
FILES = {f"q/T/0/{20 * first:020}": b"".join(ENTRIES[first : first + PER_FILE]) for first in range(0, 40, PER_FILE)}
SECOND = f"q/T/0/{20 * PER_FILE:020}"


def test_slots_are_zeros_where_nothing_is_written_or_no_file_is() -> None:
    files = {name: content for name, content in FILES.items() if name != SECOND}
    last = max(files)
    memory = in_memory({**files, last: files[last][: 5 * 20 + 7]})
    with QueueReader(queue_at(f"{memory.url}/q", "T", 0)) as reader:
        found = reader.slots(5, 45)
    written = [*range(5, 10), *range(20, 35)]
    assert found["tags_code"].tolist() == [number if number in written else 0 for number in range(5, 45)]
    assert found["size"].tolist() == [100 if number in written else 0 for number in range(5, 45)]


@pytest.mark.parametrize("excused", [(OSError,), IF_DELETED, ()])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOENT])
def test_a_file_that_cannot_be_read_has_no_entries_or_is_an_error(tmp_path: Path, excused: tuple[type[OSError], ...], code: int) -> None:
    on_disk(tmp_path, FILES)
    faulty = FaultyStorage(tmp_path.as_uri())
    (queue,) = queues_of(Topic("T", f"{faulty.url}/q/T", False))

    def fail(call: str, uri: str, _: int) -> None:
        if call == "open" and uri.endswith(SECOND):
            raise OSError(code, "no")

    faulty.fault = fail
    with QueueReader(queue, excused) as reader:
        if (code == errno.EIO and excused != (OSError,)) or not excused:
            with pytest.raises(OSError, match="no"):
                reader.slots(0, 40)
            with pytest.raises(OSError, match="no"):
                list(reader.pieces(1, 0, PER_FILE))
        else:
            assert reader.slots(8, 22)["tags_code"].tolist() == [8, 9, *[0] * 10, 20, 21]
            assert list(reader.pieces(1, 0, PER_FILE)) == []
        assert [place for place, _ in reader.pieces(2, 0, PER_FILE)] == [0]


def test_pieces_leave_out_holes(tmp_path: Path) -> None:
    path = tmp_path / "q/T/0" / f"{0:020}"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.write(ENTRIES[0])
        file.truncate(20 * 500_000)
        file.seek(20 * 400_000)
        file.write(ENTRIES[1])
    with QueueReader(queue_at(f"{tmp_path.as_uri()}/q", "T", 0)) as reader:
        end = reader.written(0)
        assert 400_001 <= end < 401_000
        pieces = [(place, units["size"].nonzero()[0] + place) for place, units in reader.pieces(0, 0, end, 1 << 16)]
    assert [number for _, numbers in pieces for number in numbers.tolist()] == [0, 400_000]
    assert len(pieces) < 10


def test_a_queue_that_is_not_there_has_no_files() -> None:
    memory = in_memory(FILES)
    assert queue_at(f"{memory.url}/q", "U", 0).files == ()
    assert len(queue_at(f"{memory.url}/q", "T", 0).files) == 4
