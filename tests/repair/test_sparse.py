"""A log of 1 TiB, most of it holes: its plan reads what is written, and a repair writes no more."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest

import native_reader as nr
from native_reader.testing import Message, encode
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
    assert (plan.messages, plan.lost_messages, len(plan.shape.bases)) == (WRITTEN * EACH - 1, 1, SEGMENTS)
    assert plan.bytes_to_write > SEGMENTS * GIB
    assert plan.bytes_needed < 1 << 20
    assert plan.survey.reader.run.report.bytes_read < 16 << 20


def test_a_repair_writes_what_is_written(store: nr.Store, tmp_path: Path) -> None:
    """It needs room for data, not for the size of the files."""
    store.repair(tmp_path / "new")
    segments = sorted((tmp_path / "new" / "commitlog").iterdir())
    assert {path.stat().st_size for path in segments} == {GIB}
    assert sum(path.stat().st_blocks * 512 for path in segments) < 4 << 20
    assert nr.open(tmp_path / "new").messages(where="topic = 'T'").count_rows() == WRITTEN * EACH
    assert os.listdir(tmp_path / "new" / "consumequeue") == ["T"]
