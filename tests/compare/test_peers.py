"""The logs of DLedger peers, side by side: what each has, where they part, and which to take."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from support.command_line import run
from support.golden import unpack
from support.own_stores import STORES
from support.peers import SIZE, Terms, entry, patched, peer, place_of

import native_reader as nr
from native_reader.errors import OptionError


class Case(NamedTuple):
    """Peers, the one to take, and kinds of sentences about them."""

    make: Callable[[Path], list[Path]]
    chosen: str | None
    said: set[str]
    first_differences: Sequence[int | None] = ()


def _peers(folder: Path, *terms: Terms, **more: int) -> list[Path]:
    return [peer(folder / str(number), each, **more) for number, each in enumerate(terms)]


def _damaged(folder: Path, which: Sequence[int], *terms: Terms, index: int = 5) -> list[Path]:
    stores = _peers(folder, *terms)
    for number in which:
        patched(stores[number], place_of(stores[number], index), bytes(120))
    return stores


def _other_bytes(folder: Path) -> list[Path]:
    one, other = _peers(folder, [0] * 20, [0] * 20)
    at = place_of(other, 7)
    return [one, patched(other, at, entry(7, 0, at, b"pXid"))]


def _lost_end(folder: Path) -> list[Path]:
    stores = _peers(folder, [1] * 20, [1] * 20)
    at = place_of(stores[1], 15)
    return [stores[0], patched(stores[1], at, bytes(SIZE - at % SIZE))]


def _expired(folder: Path) -> list[Path]:
    one = peer(folder / "0", [0] * 60)
    other = shutil.copytree(one, folder / "1")
    sorted((other / "dledger-n0" / "data").iterdir())[0].unlink()
    return [one, other]


def _without_files(folder: Path) -> Path:
    (folder / "dledger-n1" / "data").mkdir(parents=True)
    return folder


CASES = {
    "equal": Case(lambda folder: _peers(folder, [1] * 20, [1] * 20, [1] * 20), "a", {"peer is same"}),
    "one lags": Case(lambda folder: _peers(folder, [1] * 20, [1] * 30, [1] * 30), "b", {"peer lags", "peer is same"}),
    "a longer log of a lower term": Case(
        lambda folder: _peers(folder, [1] * 40, [1] * 20 + [2] * 5, [1] * 20 + [2] * 5),
        "b",
        {"peers part", "peer is same"},
        [20, None, None],
    ),
    "three logs that parted": Case(
        lambda folder: _peers(folder, [1] * 10 + [2] * 9, [1] * 10 + [3] * 3, [1] * 12), "b", {"peers part"}, [10, None, 10]
    ),
    "one is damaged": Case(
        lambda folder: _damaged(folder, [0], [1] * 20, [1] * 20), "b", {"peer is damaged", "peer damaged first", "peer is same"}
    ),
    "the longest is damaged": Case(
        lambda folder: _damaged(folder, [0], [1] * 20, [1] * 15),
        "a",
        {"peer is damaged", "peer damaged first", "peer lags", "peer has lacking"},
    ),
    "all are damaged": Case(
        lambda folder: _damaged(folder, [0, 1], [1] * 20, [1] * 20),
        "a",
        {"peer is damaged", "peer damaged first", "peer is same", "peer has lacking"},
    ),
    "one is empty": Case(lambda folder: [*_peers(folder, [1] * 20), peer(folder / "empty", [], committed=-1)], "a", {"peer is empty"}),
    "one has no files": Case(lambda folder: [*_peers(folder, [1] * 20), _without_files(folder / "empty")], "a", {"peer is empty"}),
    "all are empty": Case(lambda folder: _peers(folder, [], [], committed=-1), None, {"peer is empty", "peers all empty"}),
    "other bytes in one term": Case(_other_bytes, "a", {"peers contradict"}, [None, 7]),
    "one lost its end": Case(_lost_end, "a", {"peer lost its end", "peer lags"}),
    "not all is committed": Case(
        lambda folder: _peers(folder, [1] * 20, [1] * 20, committed=16), "a", {"peer not committed", "peer is same"}
    ),
    "one expired more": Case(_expired, "a", {"peer is same"}),
    "two groups": Case(
        lambda folder: [peer(folder / "0", [1] * 20), peer(folder / "1", [1] * 20, first=500, base=SIZE * 9)], "b", {"peers share nothing"}
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_which_peer_to_take(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    stores = case.make(tmp_path)
    found = nr.peers(*stores)
    always = {"peers stay"} | ({"peer has"} if case.chosen else set()) | ({"peer to take"} if case.chosen else set())
    assert {each.kind for each in found.said()} == case.said | always
    assert (None if found.chosen is None else found.chosen.name) == case.chosen
    assert [row["first_difference"] for row in found.rows()] == list(case.first_differences or [None] * len(stores))
    assert found.is_clean == (name in ("equal", "not all is committed"))


def test_what_another_peer_has_of_lost_entries_is_counted(tmp_path: Path) -> None:
    found = nr.peers(*CASES["the longest is damaged"].make(tmp_path))
    (said,) = (each for each in found.said() if each.kind == "peer has lacking")
    assert dict(said.values)["count"] == dict(said.values)["lacking"] > 0


def test_a_real_peer_has_the_entries_that_its_checkpoint_names(tmp_path: Path) -> None:
    store = unpack("5.5.0-dledger", tmp_path, STORES).root
    shutil.copytree(store, tmp_path / "other")
    found = nr.peers(store, tmp_path / "other")
    assert found.is_clean
    row = next(found.rows())
    assert row["last_index"] == row["committed_index"] == row["entries"] - 1


def test_a_plain_store_is_no_peer(tmp_path: Path) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    with pytest.raises(OptionError, match="is not the store of a DLedger peer"):
        nr.peers(store, store)
    with pytest.raises(OptionError, match="two stores or more"):
        nr.peers(store)


def test_the_command(tmp_path: Path) -> None:
    one, other, third = CASES["a longer log of a lower term"].make(tmp_path)
    ended = run("diff", one, other, third)
    assert ended.code == 1
    assert "a and b part at entry 20" in ended.err
    assert "take b" in ended.err
    assert [line.split("\t")[0] for line in ended.out.splitlines()] == ["peer", "a", "b", "c"]
    assert run("diff", other, third).code == 0
    assert "only_in" in run("diff", one, other, "--by", "topic").out


@pytest.mark.parametrize("index", [0, 19])
def test_a_wrong_index_of_the_first_or_last_entry_does_not_count(tmp_path: Path, index: int) -> None:
    """It made the peer that lacks most the one to take, or ended with an error of numpy."""
    for wrong in (1 << 14 | index, 1 << 61 | index):
        stores = _peers(tmp_path / str(wrong), [1] * 20, [1] * 20)
        patched(stores[0], place_of(stores[0], index) + 8, wrong.to_bytes(8))
        found = nr.peers(*stores)
        rows = list(found.rows())
        assert [(row["first_index"], row["last_index"]) for row in rows] == [(1, 19) if index == 0 else (0, 18), (0, 19)]
        assert found.chosen is found.peers[1] or index == 0  # Raft's rule looks at the last entry
        assert not found.is_clean
        assert f"{wrong:,}" not in " ".join(found.lines())


def test_filters_of_three_stores_are_refused(tmp_path: Path) -> None:
    """They were not looked at, without a word."""
    stores = _peers(tmp_path, [1] * 5, [1] * 5, [1] * 5)
    for option in (("--by", "topic"), ("--each",), ("--heads",), ("--topic", "orders")):
        ended = run("diff", *stores, *option)
        assert ended.code == 2
        assert "Name two stores to use --by, --each, --heads or a filter" in ended.err
