"""Chains and keys of index files are compared, and entries made, in the same way by both kernels and by plain Python."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.kernels import VARIABLE

from native_reader import kernel
from native_reader.layout.index_entry import INDEX_ENTRY
from native_reader.verify.chains import NumpyChains
from native_reader.verify.keys import numpy_indexed
from native_reader.writing.index import Linking, NumpyLinking

Pieces = Sequence[Sequence[tuple[int, int]]]
"""Hash and previous entry of each entry."""
hashes = st.one_of(st.integers(0, 20), st.sampled_from([-1, -(2**31), 2**31 - 1]))
entries = st.tuples(hashes, st.one_of(st.none(), st.none(), st.none(), st.integers(-1, 30), st.just(2**31 - 1)))


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, Pieces]:
    """A number of slots, and pieces of entries of which most are right."""
    slots, newest, number = draw(st.integers(1, 9)), dict[int, int](), 1
    pieces = []
    for drawn in draw(st.lists(st.lists(entries, min_size=1, max_size=12), max_size=4)):
        piece = []
        for hashed, wrong in drawn * draw(st.sampled_from([1, 1, 60])):
            piece.append((hashed, newest.get(hashed % slots, 0) if wrong is None else wrong))
            newest[hashed % slots] = number
            number += 1
        pieces.append(piece)
    return slots, pieces


def plain(slots: int, pieces: Pieces) -> tuple[list[list[bool]], list[int]]:
    newest, found, number = [0] * slots, [], 1
    for piece in pieces:
        found.append([])
        for hashed, previous in piece:
            found[-1].append(hashed < 0 or newest[hashed % slots] != previous)
            newest[hashed % slots] = number
            number += 1
    return found, newest


def passed(chains: kernel.Chains | NumpyChains, slots: int, pieces: Pieces) -> tuple[list[list[bool]], list[int]]:
    found, number = [], 1
    for piece in pieces:
        units = np.array([(hashed, 0, 0, previous) for hashed, previous in piece], INDEX_ENTRY)
        found.append(chains.wrong(units, number).tolist())
        number += len(units)
    newest = [chains.newest(slot) for slot in range(slots)]
    written = np.array(newest, ">i4")
    assert len(chains.differing(written[:1], 0)) == len(chains.differing(written[1:], 1)) == 0
    written[slots - 1] ^= 1
    assert chains.differing(written[slots // 2 :], slots // 2).tolist() == [slots - 1 - slots // 2]
    return found, newest


@pytest.mark.sweep
@sampled(1000)
@given(cases())
def test_numpy_chains_are_the_plain_ones(case: tuple[int, Pieces]) -> None:
    assert passed(NumpyChains(case[0]), *case) == plain(*case)


@pytest.mark.kernel
@pytest.mark.sweep
@sampled(1000)
@given(cases())
def test_compiled_chains_are_the_plain_ones(case: tuple[int, Pieces]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, kernel.COMPILED)
        chains = kernel.chains(case[0])
    assert chains is not None
    assert passed(chains, *case) == plain(*case)


KeysOfFile = tuple[int, int, list[list[tuple[int, int, int]]]]
"""A number of slots, the time from which the file's times count, and pieces of keys: hash, offset and time."""
one_key = st.tuples(st.integers(0, 20) | st.just(2**31 - 1), st.integers(0, 2**63 - 1), st.integers(-5000, 2**61))
one_piece = st.lists(one_key, min_size=1) | st.integers(1, 600).map(lambda count: [(at % 77, at, 9 * at) for at in range(count)])
keys_of_file = st.tuples(st.integers(1, 99), st.integers(-1, 5000), st.lists(one_piece, max_size=4))


def written(linking: Linking, slots: int, begin: int, pieces: Sequence[Sequence[tuple[int, int, int]]]) -> tuple[bytes, int, bytes]:
    content, begun, number = b"", 0, 1
    for piece in pieces:
        entries, first_ones = linking.entries(*np.array(piece, np.int64).reshape(-1, 3).T, begin, number)
        content, begun, number = content + entries.tobytes(), begun + first_ones, number + len(piece)
    return content, begun, linking.slots().tobytes()


def plainly_written(slots: int, begin: int, pieces: Sequence[Sequence[tuple[int, int, int]]]) -> tuple[bytes, int, bytes]:
    newest, content = [0] * slots, b""
    for number, (hashed, offset, time) in enumerate(itertools.chain.from_iterable(pieces), start=1):
        seconds = min(max((time - begin) // 1000, 0), 2**31 - 1) if begin > 0 else 0
        content += struct.pack(">iqii", hashed, offset, seconds, newest[hashed % slots])
        newest[hashed % slots] = number
    return content, sum(map(bool, newest)), struct.pack(f">{slots}i", *newest)


@pytest.mark.sweep
@sampled(1000)
@given(keys_of_file)
def test_numpy_entries_are_the_plain_ones(case: KeysOfFile) -> None:
    assert written(NumpyLinking(case[0]), *case) == plainly_written(*case)


@pytest.mark.kernel
@pytest.mark.sweep
@sampled(1000)
@given(keys_of_file)
def test_compiled_entries_are_the_plain_ones(case: KeysOfFile) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, kernel.COMPILED)
        linking = kernel.chains(case[0])
    assert linking is not None
    assert written(linking, *case) == plainly_written(*case)


Keys = tuple[list[list[int]], list[tuple[int, int, int]], list[tuple[int, int]], int]
"""Hash, offset and seconds of entries; offset, time and tag of records; record and hash of keys; and where the file's times begin."""


@st.composite
def compared(draw: st.DrawFn) -> Keys:
    """Records with keys and tags, and entries of which most are right."""
    begin = draw(st.sampled_from([0, -1, 7, 1_700_000_000_000]))
    times = st.one_of(st.integers(0, 5000).map(lambda after: begin + after), st.sampled_from([0, -1, 2**63 - 1, -(2**63)]))
    hashed = st.one_of(st.integers(0, 3), st.just(2**31 - 1))
    records, keys, entries = [], list[tuple[int, int]](), []
    for row in range(draw(st.integers(0, 5))):
        records.append((10 * row, draw(times), draw(hashed)))
        keys += [(row, draw(hashed)) for _ in range(draw(st.integers(0, 3)))]
        own = [each for of, each in keys if of == row] + [records[row][2]] * draw(st.integers(0, 1))
        entries += [[each, 10 * row, seconds_of(records[row][1], begin)] for each in own]
    for _ in range(draw(st.sampled_from([0, 0, 1, 2])) if entries else 0):
        draw(st.sampled_from(entries))[draw(st.integers(0, 2))] = draw(st.sampled_from([0, 1, 10, 20, -1]))
    return entries[: draw(st.sampled_from([len(entries), 1]))], records, keys[: draw(st.sampled_from([len(keys), 3]))], begin


def seconds_of(time: int, begin: int) -> int:
    after = (time - begin + 2**63) % 2**64 - 2**63  # as numbers of 64 bits
    return min(max(after // 1000, 0), 2**31 - 1) if begin > 0 else 0


def plain_indexed(
    entries: list[list[int]], records: list[tuple[int, int, int]], keys: list[tuple[int, int]], begin: int
) -> tuple[int | None, list[bool]]:
    row_at = {offset: row for row, (offset, _, _) in enumerate(records)}
    rows = [row_at.get(offset, -1) for _, offset, _ in entries]
    if -1 in rows or rows != sorted(rows):
        return None, []
    named = [(row, each[0]) for row, each in zip(rows, entries, strict=True) if each[0] != records[row][2]]
    if named != keys[: len(named)]:
        return None, []
    return len(named), [each[2] != seconds_of(records[row][1], begin) for row, each in zip(rows, entries, strict=True)]


def passed_keys(entries: list[list[int]], records: list[tuple[int, int, int]], keys: list[tuple[int, int]], begin: int) -> tuple[Any, ...]:
    units = np.array([(one, offset, seconds, 9) for one, offset, seconds in entries], INDEX_ENTRY)
    of_records, of_keys = np.array(records, np.int64).reshape(-1, 3), np.array(keys, np.int64).reshape(-1, 2)
    return units, of_records.T.copy(), of_keys.T.copy(), begin


@pytest.mark.sweep
@sampled(1000)
@given(compared())
def test_numpy_compares_keys_as_plain_python_does(case: Keys) -> None:
    named, late = numpy_indexed(*passed_keys(*case))
    assert (named, late.tolist()) == plain_indexed(*case)


@pytest.mark.kernel
@pytest.mark.sweep
@sampled(1000)
@given(compared())
def test_the_kernel_compares_keys_as_plain_python_does(case: Keys) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, kernel.COMPILED)
        found = kernel.indexed(*passed_keys(*case))
    assert found is not None
    assert (found[0], found[1].tolist()) == plain_indexed(*case)


@pytest.mark.kernel
def test_slots_that_do_not_exist_are_refused() -> None:
    compiled, _ = kernel.chosen("")
    chains = compiled.Chains(3)
    for begin, count in ((0, 4), (3, 1), (2**64 - 1, 1)):
        with pytest.raises(IndexError, match="a slot that does not exist"):
            chains.differing(bytes(4 * count), begin)
    with pytest.raises(IndexError, match="a slot that does not exist"):
        chains.newest(3)
    with pytest.raises(MemoryError):
        compiled.Chains(2**62)
