"""What a DLedger broker keeps of its log when it starts, and what its index shows."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.effort import thinned
from support.golden import unpack
from support.own_stores import STORES
from support.store_damages import patch

import native_reader as nr
from native_reader.layout.record import ENTRY_HEAD, INDEX_ENTRY
from native_reader.log.dledger import Recovery, dledger_segments, recovery_of
from native_reader.start import recovered
from native_reader.start.answer import said_of


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its index without most of the 160 MB for entries to come, which take a second to unpack."""
    root = unpack("5.5.0-dledger", tmp_path_factory.mktemp("whole"), STORES).root
    (path,) = (root / "dledger-n0/index").iterdir()
    os.truncate(path, 1 << 16)
    return root


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "store")


def log_of(store: Path) -> Path:
    (path,) = (store / "dledger-n0/data").iterdir()
    return path


def entries(store: Path) -> np.ndarray:
    (path,) = (store / "dledger-n0/index").iterdir()
    found = np.fromfile(path, INDEX_ENTRY)
    return found[found["magic"] == 1]


def recovery(store: Path) -> Recovery:
    (files,) = nr.open(store).stores
    return recovery_of(dledger_segments(files))


def outcome(store: Path) -> str:
    start = nr.open(store).diagnose().start
    assert start is not None
    return start.outcome


def codes(store: Path) -> set[str]:
    return {row["code"] for row in nr.open(store).verify().to_table().to_pylist() if row["severity"] != "note"}


def end_of(entry: np.void) -> int:
    return int(entry["position"]) + int(entry["size"])


def test_all_of_a_whole_log_is_kept(store: Path) -> None:
    last = entries(store)[-1]
    assert recovery(store) == Recovery(0, end_of(last), int(last["index"]), int(last["term"]), exits=False, reindexed=None)
    assert outcome(store) in ("yes", "yes, but")
    assert codes(store) == set()


@pytest.mark.parametrize("has_index", [True, False])
@pytest.mark.parametrize("number", [1, 2, 40, -1])
@pytest.mark.parametrize(
    ("at", "content"),
    [
        (0, b"\x00\x00\x00\x02"),
        (4, b"\x00\x00\x00\x31"),
        (4, b"\x7f"),
        (8, b"\x01"),
        (16, b"\xff"),
        (24, b"\x01"),
        (44, b"\x00\x01\x00\x00"),
    ],
)
def test_it_is_cut_at_the_first_entry_that_does_not_follow(store: Path, at: int, content: bytes, number: int, *, has_index: bool) -> None:
    """The same with the index, by which many entries are compared at once, and without it, entry by entry."""
    entry = entries(store)[number]
    patch(log_of(store), int(entry["position"]) + at, content)
    if not has_index:
        shutil.rmtree(store / "dledger-n0/index")
    found = recovery(store)
    assert (found.end, found.last) == (int(entry["position"]), int(entry["index"]) - 1)
    assert (found.reindexed is None) == has_index
    if number != -1 or at in (8, 16):  # else the log ends before it for us, too
        assert "log-truncated-by-start" in codes(store)
        assert outcome(store) == "better not"


def test_a_record_is_not_looked_at(store: Path) -> None:
    entry = entries(store)[40]
    patch(log_of(store), int(entry["position"]) + ENTRY_HEAD, bytes(int(entry["size"]) - ENTRY_HEAD))
    assert recovery(store).end == end_of(entries(store)[-1])
    assert outcome(store) == "better not"
    start = nr.open(store).diagnose().start
    assert start is not None
    assert "kept damage" in {each.cause.kind for each in start.reasons}


@pytest.mark.parametrize(
    ("field", "number"), thinned([(field, number) for field in ("magic", "position", "size", "index", "term") for number in (0, 7, -1)], 5)
)
def test_an_index_that_differs_is_written_again(store: Path, field: str, number: int) -> None:
    entry, end, (path,) = entries(store)[number], end_of(entries(store)[-1]), (store / "dledger-n0/index").iterdir()
    at = int(entry["index"]) * INDEX_ENTRY.itemsize + (INDEX_ENTRY.fields or {})[field][1]
    patch(path, at, b"\x40")
    found = recovery(store)
    assert (found.end, found.reindexed) == (end, int(entry["index"]))
    assert codes(store) == {"dledger-index"}
    assert outcome(store) == "yes, but"


def test_files_of_two_sizes_are_not_loaded(store: Path) -> None:
    path = log_of(store)
    path.with_name(f"{path.stat().st_size:020d}").write_bytes(path.read_bytes()[:4096])
    (files,) = nr.open(store).stores
    assert [each.size for each in dledger_segments(files)] == [path.stat().st_size, 4096]
    assert outcome(store) == "no"


def test_records_that_were_not_read_are_not_called_whole(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a large log, only the heads of entries are read. The answer was `yes`."""
    monkeypatch.setattr(recovered, "READ_WHOLE", 1)
    start = nr.open(store).diagnose().start
    assert start is not None
    assert (start.outcome, start.is_partial, start.is_all_well) == ("nothing against it", True, False)
    lines = [each.text() for each in said_of(start)]
    assert "offset" in lines[-1]
