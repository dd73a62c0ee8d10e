"""One record with a wrong queue offset, which no checksum covers, is lost. The repair of all others was refused."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

import pytest
from support.effort import thinned
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import entries, opened, records_of
from support.store_damages import no_queues, patch

import native_reader as nr

UP_TO_QUEUE_ID, UP_TO_QUEUE_OFFSET = 12, 20
WRONG = (0, 3, 1_000_000, 2**62, -1)


def misnumber(store: Path, which: int, slot: int) -> tuple[int, int]:
    """Give a record of a queue another queue offset; returns its place in the log, and its right queue offset."""
    offset, *_, right = [row[:4] for row in records_of(store) if row[1:3] == ("Plain", 0)][which]
    segment = max(path for path in (store / "commitlog").iterdir() if int(path.name) <= offset)
    patch(segment, offset - int(segment.name) + UP_TO_QUEUE_OFFSET, struct.pack(">q", slot))
    return offset, right


CASES = [(has_queues, which, slot) for has_queues in (True, False) for which in (0, 17, -1) for slot in WRONG if has_queues or which == 17]


@pytest.mark.parametrize(("has_queues", "which", "slot"), thinned([case for case in CASES if case[1:] != (0, 0)], 8))
def test_it_is_lost_and_all_others_are_kept(tmp_path: Path, has_queues: bool, which: int, slot: int) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    offset, right = misnumber(store, which, slot)
    if not has_queues:
        no_queues(store, Random(1))
    whole = [row for row in records_of(store) if row[0] != offset]
    done = opened(store).repair(tmp_path / "new")
    assert done.plan.lost_messages == 1
    assert records_of(tmp_path / "new") == whole
    assert [number for number, place, *_ in entries(tmp_path / "new", "Plain", 0) if place == offset] == [right]


def test_a_record_with_another_queue_id_is_lost_though_its_queue_offset_is_that_of_its_neighbour(tmp_path: Path) -> None:
    """The repair was refused: the queue offsets of that queue went back, with no room between its neighbours for the record."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    plain = [row[:4] for row in records_of(store) if row[1] == "Plain"]
    offset, *_, slot = plain[17]
    other, *_ = (row[2] for row in plain[:17][::-1] if row[2] != plain[17][2] and row[3] == slot)
    segment = max(path for path in (store / "commitlog").iterdir() if int(path.name) <= offset)
    patch(segment, offset - int(segment.name) + UP_TO_QUEUE_ID, struct.pack(">i", other))
    whole = [row for row in records_of(store) if row[0] != offset]
    done = opened(store).repair(tmp_path / "new")
    assert done.plan.lost_messages == 1
    assert records_of(tmp_path / "new") == whole


def test_without_any_file_of_its_queue_the_last_one_is_not_known_to_be_wrong(tmp_path: Path) -> None:
    """A topic that was deleted and created again begins at 0, too."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    misnumber(store, -1, 3)
    no_queues(store, Random(1))
    with pytest.raises(nr.StoreError, match="the queue offsets of queue 0 of 'Plain' go back at offset"):
        opened(store).repair(tmp_path / "new")
