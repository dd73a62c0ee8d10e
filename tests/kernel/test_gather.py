"""The compiled gather reads the same ranges as Python, and stops at the same one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled

from native_reader import kernel
from native_reader.storage.local import LocalFile

CONTENT = bytes(range(256)) * 40
MOST = 2**63 - 1


class Opened(LocalFile):
    """A file that gives away its descriptor."""

    @property
    def descriptor(self) -> int:
        return self._descriptor


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("gather") / "log"
    path.write_bytes(CONTENT)
    return path.as_uri()


ranges = st.tuples(
    st.one_of(st.integers(0, len(CONTENT) + 20), st.just(MOST)),
    st.one_of(st.integers(0, 300), st.integers(0, len(CONTENT) + 1)),
)


@pytest.mark.kernel
@pytest.mark.sweep
@sampled(500)
@given(st.lists(ranges, max_size=9), st.integers(0, 300))
def test_ranges_are_those_of_python(log: str, drawn: list[tuple[int, int]], short: int) -> None:
    offsets, lengths = [offset for offset, _ in drawn], [length for _, length in drawn]
    room = max(0, sum(lengths) - short)
    filled, count = b"", 0
    for offset, length in drawn:
        if len(CONTENT[offset : offset + length]) < length or len(filled) + length > room:
            break
        filled, count = filled + CONTENT[offset : offset + length], count + 1
    view = bytearray(room)
    with Opened(log) as file:
        assert kernel.gather(file.descriptor, offsets, lengths, memoryview(view)) == count
    assert view[: len(filled)] == filled


@pytest.mark.kernel
def test_other_memory_and_no_file_are_refused(log: str) -> None:
    with Opened(log) as file:
        for view in (memoryview(b"1234"), memoryview(bytearray(8))[::2]):
            with pytest.raises(BufferError, match="writable, contiguous memory"):
                kernel.gather(file.descriptor, [0], [4], view)
    with pytest.raises(BufferError, match="an open file"):
        kernel.gather(-1, [0], [4], memoryview(bytearray(4)))
    assert kernel.gather(2**31 - 1, [0], [4], memoryview(bytearray(4))) == 0


@pytest.mark.kernel
def test_an_offset_of_minus_one_is_not_where_the_last_read_ended(log: str) -> None:
    with Opened(log) as file:
        assert kernel.gather(file.descriptor, [0, -1], [4, 4], memoryview(bytearray(8))) == 1
        assert kernel.gather(file.descriptor, [2**64 - 1], [4], memoryview(bytearray(8))) is None
        assert kernel.gather(file.descriptor, [0], [-4], memoryview(bytearray(8))) is None
