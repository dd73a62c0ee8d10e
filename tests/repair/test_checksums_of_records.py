"""Stores of brokers that append a checksum to each record (enabledAppendPropCRC): what a repair writes has right ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.golden import unpack
from support.own_stores import STORES
from support.store_damages import patch, records

import native_reader as nr
from native_reader.layout.properties import CRC_SIZE, crc_trailer
from native_reader.writing.records import crc_of


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return unpack("5.5.0-property-crc", tmp_path, STORES).root


def places(store: Path) -> list[tuple[int, int]]:
    columns = ["topic", "physical_offset", "record_size"]
    rows = nr.open(store).messages(columns=columns).to_table().to_pylist()
    return [(row["physical_offset"], row["record_size"]) for row in rows if row["topic"] == "Plain"]


def wrong_checksums(store: Path) -> list[int]:
    segment = store / "commitlog" / f"{0:020d}"
    content = segment.read_bytes()
    found = [(at, content[at : at + size]) for at, size in records(segment)]
    assert len(found) > 100
    return [at for at, record in found if crc_trailer(record) != crc_of(record[:-CRC_SIZE])]


def test_placeholders_and_fillers_have_them(store: Path, tmp_path: Path) -> None:
    for number, (offset, size) in enumerate(places(store)[5:40:7]):
        patch(store / "commitlog" / f"{0:020d}", offset, bytes(size + 40 * number))  # some take the next one with them
    done = nr.open(store).repair(tmp_path / "new")
    assert done.plan.placeholders >= 5
    assert wrong_checksums(tmp_path / "new") == []


@pytest.mark.parametrize("what", ["body", "queue id"])
def test_a_record_with_a_wrong_checksum(store: Path, tmp_path: Path, what: str) -> None:
    """One of another queue is left out. The checksum of its body was written into the placeholder in its place."""
    segment, offset = store / "commitlog" / f"{0:020d}", places(store)[20][0]
    at = offset + (95 if what == "body" else 15)
    patch(segment, at, bytes([segment.read_bytes()[at] ^ 1]))
    done = nr.open(store).repair(tmp_path / "new", crc="fix")
    assert [*done.plan.corrected] == ([offset] if what == "body" else [])
    assert done.plan.placeholders == (what != "body")
    assert wrong_checksums(tmp_path / "new") == []


def test_a_record_from_before_the_setting_lost_its_last_property(store: Path, tmp_path: Path) -> None:
    """Its last 20 bytes were taken for a checksum, and overwritten."""
    segment, (offset, size) = store / "commitlog" / f"{0:020d}", places(store)[20]
    patch(segment, offset + size - CRC_SIZE, b"Z")
    patch(segment, offset + 95, bytes([segment.read_bytes()[offset + 95] ^ 1]))
    expected = segment.read_bytes()[offset : offset + size]
    done = nr.open(store).repair(tmp_path / "new", crc="fix")
    assert [*done.plan.corrected] == [offset]
    record = (tmp_path / "new/commitlog" / f"{0:020d}").read_bytes()[offset : offset + size]
    assert (record[:8], record[12:]) == (expected[:8], expected[12:])


def test_an_extract_is_refused(store: Path, tmp_path: Path) -> None:
    with pytest.raises(nr.RepairError, match="which cover their places in the log, and an extract moves them"):
        nr.open(store).extract(tmp_path / "new", ["Plain"])
