"""Lost pages that begin inside a record: lengths and body are right, tags and keys are gone, and all said that it was whole."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.golden import Golden
from support.stores import files_of, log_of, message, on_disk

import native_reader as nr

PAGE = 4096
SEGMENT = 64 << 10


@pytest.fixture
def hit(own_store: Callable[[str], Golden], tmp_path: Path) -> tuple[Path, int, int]:
    """A store with such a page, the offset of the record, and where it ends."""
    store = Path(shutil.copytree(own_store("5.5.0-killed").root, tmp_path / "store"))
    rows = nr.open(store).messages(columns="physical_offset,record_size,body_size").to_table().to_pylist()
    for row in rows:
        start, end = row["physical_offset"], row["physical_offset"] + row["record_size"]
        page = end // PAGE * PAGE
        if end - 60 < page < end - 12 and end + PAGE < start // SEGMENT * SEGMENT + SEGMENT:
            with (store / "commitlog" / f"{start // SEGMENT * SEGMENT:020}").open("r+b") as file:
                file.seek(page % SEGMENT)
                file.write(bytes(PAGE))
            return store, start, end
    raise AssertionError("no record ends a little after the begin of a page")


def test_the_damage_after_it_says_so(hit: tuple[Path, int, int]) -> None:
    store, start, end = hit
    (row,) = nr.open(store).table("damage").to_table().to_pylist()
    assert (row["record_before"], row["start_offset"], row["reason"]) == (start, end, "zeros")
    assert row["found"] == "zeros that begin in the properties of the record before, whose tags and keys may be lost"


def test_its_row_is_marked(hit: tuple[Path, int, int]) -> None:
    store, start, _ = hit
    rows = nr.open(store).messages(mode="PERMISSIVE", columns="physical_offset,corrupt_reason,body,tags").to_table().to_pylist()
    (row,) = (row for row in rows if row["physical_offset"] == start)
    assert row["corrupt_reason"] == "properties"
    assert row["body"]
    assert [row["corrupt_reason"] for row in rows if row["corrupt_reason"] not in (None, "zeros")] == ["properties"]


def test_verify_names_it(hit: tuple[Path, int, int]) -> None:
    store, start, _ = hit
    codes = {row["code"]: row["offset"] for row in nr.open(store).verify().to_table().to_pylist()}
    assert codes["record-properties"] == start


def test_a_rescue_lists_it(hit: tuple[Path, int, int], tmp_path: Path) -> None:
    store, *_ = hit
    rescued = nr.open(store).rescue(tmp_path / "rescued")
    assert not rescued.is_whole
    assert "record-properties" in Path(rescued.page).read_text(encoding="utf-8")


def test_zeros_after_a_record_without_properties_are_only_zeros(tmp_path: Path) -> None:
    """Its last two bytes are their length, 0."""
    log = log_of([message(each, properties=b"") for each in range(40)], segment_size=4096)
    root = on_disk(tmp_path, files_of(log)) / "store"
    placed = log.placed[3]
    with (root / "commitlog" / f"{placed.segment:020}").open("r+b") as file:
        file.seek(placed.offset - placed.segment)
        file.write(bytes(placed.size))
    (row,) = nr.open(root).table("damage").to_table().to_pylist()
    assert row["found"] == "zeros"
