"""What an export says about the log: every byte counted once, and all damage listed beside the data."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.exported import exported_rows, json_lines, summary
from support.golden import Golden
from support.stores import files_of, in_memory, log_of

import native_reader as nr
from native_reader.export.account import CLASSES

LENIENT = {"mode": "DROPMALFORMED", "fail_on_data_loss": False, "verify_crc": True}


def damaged(store: Golden, folder: Path) -> Path:
    """A copy with a page of zeros, a flipped bit in a body, and a missing segment."""
    for path in sorted(store.root.rglob("*")):
        if path.is_file():
            copy = folder / path.relative_to(store.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    log = sorted((folder / "commitlog").iterdir())
    first, second = bytearray(log[0].read_bytes()), bytearray(log[1].read_bytes())
    first[8192:12288] = bytes(4096)
    at = nr.open(folder).messages(columns="physical_offset", where=f"physical_offset >= {len(first)}").head(3)["physical_offset"][2].as_py()
    second[at - len(first) + 88] ^= 4  # the first byte of the third body
    log[0].write_bytes(first)
    log[1].write_bytes(second)
    log[3].unlink()
    return folder


@pytest.fixture(scope="module")
def broken(own_store: Callable[[str], Golden], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return damaged(own_store("5.5.0-killed"), tmp_path_factory.mktemp("broken") / "store")


@pytest.mark.parametrize("jobs", [1, 3])
def test_damage_is_that_of_the_table(broken: Path, tmp_path: Path, jobs: int) -> None:
    store = nr.open(broken)
    exported = store.messages(**LENIENT, max_partition_bytes=20_000).export(tmp_path, jobs=jobs)
    rows = store.table("damage", verify_crc=True).to_table().to_pylist()
    # A whole record that its queue entry contradicts is exported: only a read of mode=PERMISSIVE compares them.
    expected = [row for row in rows if not row["found"].startswith("a whole record ")]
    assert {row["reason"] for row in expected} >= {"zeros", "checksum", "missing"}
    key = lambda row: (row["start_offset"], row["end_offset"])  # noqa: E731
    assert sorted(json_lines(tmp_path / "_damage.jsonl"), key=key) == sorted(expected, key=key)
    assert exported.is_damaged
    found = summary(tmp_path)
    assert found["damaged_ranges"] + found["wrong_checksums"] + found["missing_ranges"] == len(expected)
    assert found["wrong_checksums"] == 1


@pytest.mark.parametrize("options", [{}, {"topic": "no such topic"}, {"ending_physical_offset": 100_000}])
def test_the_classes_of_bytes_add_up(broken: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    store = nr.open(broken)
    store.messages(**LENIENT, **options).export(tmp_path)
    found, files = summary(tmp_path), {segment.uri: segment.size for segment in store.stores[0].segments}
    assert {each["segment"]: each["size"] for each in found["segments"]} == files
    assert found["log"]["size"] == sum(files.values()) == sum(found["log"][name] for name in CLASSES)
    assert all(each[name] >= 0 for each in found["segments"] for name in CLASSES)
    assert (found["log"]["unread_bytes"] > 0) == ("ending_physical_offset" in options)


def test_counts_are_those_of_a_read(broken: Path, tmp_path: Path) -> None:
    scan = nr.open(broken).messages(**LENIENT)
    run = scan.run()
    rows = sum(map(len, run))
    exported = scan.export(tmp_path)
    assert exported.report.segments == run.report.segments
    assert (exported.rows, summary(tmp_path)["rows"], len(exported_rows(tmp_path, "parquet", scan.schema))) == (rows, rows, rows)
    assert summary(tmp_path)["bytes"] == sum(path.stat().st_size for path in tmp_path.glob("*.parquet"))


def test_damage_rows_of_permissive_are_exported(broken: Path, tmp_path: Path) -> None:
    options = LENIENT | {"mode": "PERMISSIVE", "max_partition_bytes": 20_000}
    scan = nr.open(broken).messages(columns="topic,body,physical_offset,corrupt_record,corrupt_reason", **options)
    exported = scan.export(tmp_path)
    assert exported_rows(tmp_path, "parquet", scan.schema) == sorted(scan.to_table().to_pylist(), key=lambda row: row["physical_offset"])
    assert exported.rows == exported.report.rows
    assert scan.export(tmp_path).rows == exported.rows  # continued from its manifest


def test_a_clean_store_has_no_damage(tmp_path: Path) -> None:
    memory = in_memory(files_of(log_of(30)))
    exported = nr.open(memory.url).messages().export(tmp_path)
    assert not exported.is_damaged
    assert (tmp_path / "_damage.jsonl").read_bytes() == b""
    assert summary(tmp_path) == exported.to_dict()


def test_the_store_is_not_changed(broken: Path, tmp_path: Path) -> None:
    def look() -> dict[str, tuple[int, str]]:
        paths = sorted(path for path in broken.rglob("*") if path.is_file())
        return {str(path): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()) for path in paths}

    before = look()
    nr.open(broken).messages(**LENIENT).export(tmp_path, partition_by="topic", jobs=2)
    assert look() == before
