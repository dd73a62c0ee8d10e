"""Chains of index files are the same with both kernels, and as plain Python follows them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.kernels import VARIABLE

from native_reader import kernel
from native_reader.layout.index_entry import INDEX_ENTRY
from native_reader.verify.chains import NumpyChains

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
        for hashed, wrong in drawn:
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
    return found, [*chains.newest(0, 1).tolist(), *chains.newest(1, slots - 1).tolist()]


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


@pytest.mark.kernel
def test_slots_that_do_not_exist_are_refused() -> None:
    compiled, _ = kernel.chosen("")
    chains = compiled.Chains(3)
    for begin, count in ((0, 4), (3, 1), (2**63, 2**63)):
        with pytest.raises(IndexError, match="a slot that does not exist"):
            chains.newest(begin, count)
    with pytest.raises(MemoryError):
        compiled.Chains(2**62)
