"""Damages in any combination: the repaired store is consistent, and has the messages that can be read of the damaged one."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

import pytest
from support.effort import mostly_long
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import entries, opened, records_of
from support.store_damages import patch, several_at_random

import native_reader as nr
from native_reader.verify.codes import ERROR

IN_THE_GATE = (1, 17)


@pytest.mark.gate
@pytest.mark.parametrize("seed", mostly_long(range(110), *IN_THE_GATE))
def test_all_that_can_be_read_is_in_the_new_store(tmp_path: Path, seed: int) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    several_at_random(store, Random(seed))
    whole = records_of(store)
    done = opened(store).repair(tmp_path / "new")
    left_out = {offset for offset, doubt in done.plan.doubts.items() if not doubt.is_kept}
    assert records_of(tmp_path / "new") == [row for row in whole if row[0] not in left_out]
    errors = [row for row in nr.open(tmp_path / "new").verify().to_table().to_pylist() if row["severity"] == ERROR]
    kept = {offset for offset, doubt in done.plan.doubts.items() if doubt.is_kept}
    assert [row for row in errors if not (row["code"] == "record-properties" and row["offset"] in kept)] == []


def test_a_queue_file_of_other_bytes_does_not_hide_the_messages_of_its_queue(tmp_path: Path) -> None:
    """Its first entry named an offset after the log, so that all messages of the queue were those of a deleted topic: none was kept."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    whole = records_of(store)
    path = min((store / "consumequeue" / "Plain" / "1").iterdir())
    patch(path, 0, struct.pack(">qiq", 2**62, 300, 7) + Random(1).randbytes(path.stat().st_size - 20))
    opened(store).repair(tmp_path / "new")
    assert records_of(tmp_path / "new") == whole


def test_a_tags_code_that_looks_like_an_address_is_written_again(tmp_path: Path) -> None:
    """The repair kept it, and its own proof refused the new store. There are no addresses in a store that can be repaired."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    expected = [*entries(store, "Plain", 0)]
    patch(min((store / "consumequeue" / "Plain" / "0").iterdir()), 3 * 20 + 12, b"\xc0" + bytes(7))
    assert [*entries(store, "Plain", 0)] != expected
    opened(store).repair(tmp_path / "new")
    assert [*entries(tmp_path / "new", "Plain", 0)] == expected


def test_a_queue_without_any_message_left_has_no_file(tmp_path: Path) -> None:
    """4.9.7 takes the first entry of a file of zeros for a message, and sends its clients no bytes."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    last = records_of(store)[-1]
    segment = max(path for path in (store / "commitlog").iterdir() if int(path.name) <= last[0])
    patch(segment, last[0] - int(segment.name), bytes(last[4]))
    empty = store / "consumequeue" / "Emptied" / "0" / f"{0:020d}"
    empty.parent.mkdir(parents=True)
    size = min((store / "consumequeue" / "Plain" / "0").iterdir()).stat().st_size
    empty.write_bytes(struct.pack(">qiq", 2**40, 200, 0).ljust(size, b"\0"))
    opened(store).repair(tmp_path / "new")
    assert [*(tmp_path / "new" / "consumequeue").glob("Emptied/*/*")] == []
