"""The first and the last entry of an index file against the log."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
from support.command_line import run
from support.golden import unpack
from support.indexed_stores import ENTRIES, SLOTS, indexed
from support.own_stores import STORES
from support.store_damages import segments
from support.stores import message, on_disk
from support.verified import healthy

import native_reader as nr
from native_reader.start import BUT
from native_reader.testing.records import pack_properties

KEPT = 900_000
"""Hours that no message of the stores is older than."""
_FIRST_ENTRY = 40 + 4 * SLOTS + 20


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three topics, and several index files."""
    return on_disk(tmp_path, healthy(100)[1]) / "store"


def index_files(store: Path) -> list[Path]:
    return sorted((store / "index").iterdir())


def kinds(store: Path) -> list[str]:
    found = nr.open(store).diagnose(file_reserved_time=KEPT)
    return [said.kind.removeprefix("witness ") for said in found.losses if said.kind.startswith("witness ")]


def test_an_index_file_of_another_broker_is_found_without_full(store: Path, tmp_path: Path) -> None:
    """It is whole, and at its offsets this log has records with other keys."""
    others = [message(each, properties=pack_properties({"KEYS": f"x{each} any", "UNIQ_KEY": f"X{each:04}"})) for each in range(100)]
    theirs = index_files(on_disk(tmp_path / "other", healthy(others)[1]) / "store")
    one = index_files(store)[1]
    shutil.copy(theirs[1], one)
    assert kinds(store) == ["foreign index"]
    found = nr.open(store).diagnose(file_reserved_time=KEPT)
    assert found.start is not None
    assert found.start.outcome == BUT
    assert any(one.as_uri() in each for each in found.findings)
    assert run("doctor", store).code == 1
    assert "另一个 commitlog 的索引" in run("doctor", store, "--lang", "zh").out


def test_one_wrong_entry_is_not_an_index_of_another_broker(store: Path) -> None:
    one = index_files(store)[1]
    content = bytearray(one.read_bytes())
    (offset,) = struct.unpack_from(">q", content, _FIRST_ENTRY + 4)
    struct.pack_into(">i", content, _FIRST_ENTRY, struct.unpack_from(">i", content, _FIRST_ENTRY)[0] ^ 1)
    one.write_bytes(content)
    assert kinds(store) == ["wrong index entry"]
    assert any(f"offset {offset:,}" in each for each in nr.open(store).diagnose(file_reserved_time=KEPT).findings)


@pytest.mark.parametrize("filled", [b"\0", b"\xff", b"garbage "])
def test_a_garbage_index_file_is_found(store: Path, filled: bytes) -> None:
    one = index_files(store)[1]
    size = one.stat().st_size
    one.write_bytes((filled * size)[:size])
    found = nr.open(store).diagnose(file_reserved_time=KEPT)
    assert any(one.as_uri() in each for each in found.findings)


def test_an_index_of_an_expired_part_of_the_log_is_no_contradiction(tmp_path: Path) -> None:
    """Of an index file from before the log nothing can be compared, and of one across its begin the first entry inside."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    assert index_files(store)
    segments(store)[0].unlink()
    assert [each for each in kinds(store) if "index" in each] == []


def test_the_index_of_a_segment_with_a_wrong_name_is_not_blamed(tmp_path: Path) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    one, other = segments(store)[1:3]
    kept = one.with_name("kept")
    one.rename(kept)
    other.rename(one)
    kept.rename(other)
    assert set(kinds(store)) == {"wrong name"}


def test_more_files_than_one_are_compared() -> None:
    log, _ = healthy(100)
    assert len(indexed(log.placed)) > 2
    assert ENTRIES < 100
