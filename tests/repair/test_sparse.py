"""A log of 1 TiB, most of it holes: its plan reads what is written, and a repair writes no more."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest

import native_reader as nr
from native_reader.repair import disk
from native_reader.testing import Message, StoreSpec, encode, write_store
from native_reader.writing.records import blank

GIB = 1 << 30
SEGMENTS, WRITTEN, EACH = 64, 4, 20
"""Twenty records in each of the first segments; the last of these has no blank: the log ends there."""


@pytest.fixture
def store(tmp_path: Path) -> nr.Store:
    log = tmp_path / "store" / "commitlog"
    log.mkdir(parents=True)
    slots = count()
    for number in range(SEGMENTS):
        content, base = b"", number * GIB
        for _ in range(EACH if number < WRITTEN else 0):
            content += encode(Message(body=b"body" * 100, queue_offset=next(slots)), base + len(content))
        if number < WRITTEN - 1:
            content += blank(GIB - len(content))
        with (log / f"{base:020d}").open("wb") as file:
            file.write(content)
            file.truncate(GIB)
    with (log / f"{GIB:020d}").open("r+b") as file:  # the magic of its first record
        file.seek(4)
        file.write(b"\0")
    (tmp_path / "broker.conf").write_text(f"storePathRootDir={log.parent}\nmaxIndexNum=400\nmaxHashSlotNum=100\n")
    return nr.open(log.parent, broker_conf=str(tmp_path / "broker.conf"))


def test_the_plan_reads_what_is_written(store: nr.Store, tmp_path: Path) -> None:
    plan = store.repair(tmp_path / "new", dry_run=True).plan
    assert (plan.messages, plan.placeholders, len(plan.shape.bases)) == (WRITTEN * EACH - 1, 1, SEGMENTS)
    assert plan.bytes_to_write > SEGMENTS * GIB
    assert plan.bytes_needed < 1 << 20
    assert plan.survey.reader.run.report.bytes_read < 16 << 20


def test_the_rest_of_a_queue_file_stays_a_hole(tmp_path: Path) -> None:
    """Zeros were written up to the end of the last file of every queue: 6 MB for each."""
    write_store(tmp_path / "store", StoreSpec(bytes=1 << 20, rare=0, topics=1, mapped_file_size_commit_log=1 << 20))
    first = min((tmp_path / "store" / "commitlog").iterdir())
    with first.open("r+b") as file:
        file.seek(500_000)
        file.write(b"\1" * 2000)
    nr.open(tmp_path / "store").repair(tmp_path / "new")
    files = [path for path in (tmp_path / "new" / "consumequeue").rglob("0*") if path.is_file()]
    assert {path.stat().st_size for path in files} == {6_000_000}
    assert max(path.stat().st_blocks * 512 for path in files) < 1 << 20


def test_a_repair_writes_what_is_written(store: nr.Store, tmp_path: Path) -> None:
    """It needs room for data, not for the size of the files."""
    store.repair(tmp_path / "new")
    segments = sorted((tmp_path / "new" / "commitlog").iterdir())
    assert {path.stat().st_size for path in segments} == {GIB}
    assert sum(path.stat().st_blocks * 512 for path in segments) < 4 << 20
    assert nr.open(tmp_path / "new").messages(where="topic = 'T'").count_rows() == WRITTEN * EACH
    assert os.listdir(tmp_path / "new" / "consumequeue") == ["T"]


def test_a_python_for_an_old_c_library_copies_by_reading_and_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    monkeypatch.setattr(disk, "_HAS_COPY", False)
    source = tmp_path / "source"
    with source.open("wb") as file:
        file.write(b"first")
        file.seek(9 << 20)
        file.write(b"last")
    disk.copy(str(source), str(tmp_path / "copy"))
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()
    assert disk.data_bytes(str(tmp_path / "copy")) <= 1 << 20
