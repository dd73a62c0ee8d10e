"""One record with a wrong topic, queue or queue offset, which no checksum covers. Where its queue shows the right one, it is kept."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray
from support.effort import thinned
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import entries, opened, records_of
from support.store_damages import no_queues, patch

import native_reader as nr
from native_reader.errors import StoreError
from native_reader.layout.queue_entry import QUEUE_ENTRY
from native_reader.layout.record import HEAD, UP_TO_MAGIC
from native_reader.repair import disk
from native_reader.repair.old_queues import OldQueue
from native_reader.repair.plan import mislabelled
from native_reader.repair.survey import Run, Survivors

UP_TO_QUEUE_ID, UP_TO_QUEUE_OFFSET = ((HEAD.fields or {})[name][1] for name in ("queue_id", "queue_offset"))
WRONG = (0, 3, 1_000_000, 2**62, -1)


def misnumber(store: Path, which: int, slot: int) -> tuple[int, int]:
    """Give a record of a queue another queue offset; returns its place in the log, and its right queue offset."""
    offset, *_, right = [row[:4] for row in records_of(store) if row[1:3] == ("Plain", 0)][which]
    change(store, offset, UP_TO_QUEUE_OFFSET, struct.pack(">q", slot))
    return offset, right


def change(store: Path, offset: int, at: int, content: bytes) -> None:
    """Write other bytes into the record at a log offset."""
    segment = segment_of(store, offset)
    patch(segment, offset - int(segment.name) + at, content)


def segment_of(store: Path, offset: int) -> Path:
    return max(path for path in (store / "commitlog").iterdir() if int(path.name) <= offset)


CASES = [(has_queues, which, slot) for has_queues in (True, False) for which in (0, 17, -1) for slot in WRONG if has_queues or which == 17]


@pytest.mark.parametrize(("has_queues", "which", "slot"), thinned([case for case in CASES if case[1:] != (0, 0)], 8))
def test_a_queue_offset_is_that_of_the_queue_entry(tmp_path: Path, has_queues: bool, which: int, slot: int) -> None:
    """The message was lost. Without queues it is, unless one bit makes the difference."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    before = records_of(store)
    offset, right = misnumber(store, which, slot)
    if not has_queues:
        no_queues(store, Random(1))
    is_kept = has_queues or (right ^ slot).bit_count() == 1
    done = opened(store).repair(tmp_path / "new")
    assert (done.plan.placeholders, done.plan.fields.keys()) == ((0, {offset}) if is_kept else (1, set()))
    assert records_of(tmp_path / "new") == [row for row in before if is_kept or row[0] != offset]
    assert [number for number, place, *_ in entries(tmp_path / "new", "Plain", 0) if place == offset] == [right]


def test_queue_offset_minus_one_was_taken_for_one_bit_away_from_0(tmp_path: Path) -> None:
    test_a_queue_offset_is_that_of_the_queue_entry(tmp_path, has_queues=True, which=0, slot=-1)


@pytest.mark.parametrize("has_queues", [True, False])
def test_a_record_with_another_queue_id_and_the_queue_offset_of_its_neighbour(tmp_path: Path, has_queues: bool) -> None:
    """The repair was refused: the queue offsets of that queue went back. Without queues, nothing shows which of the two is wrong."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    before = records_of(store)
    plain = [row[:4] for row in records_of(store) if row[1] == "Plain"]
    offset, *_, slot = plain[17]
    other, *_ = (row[2] for row in plain[:17][::-1] if row[2] != plain[17][2] and row[3] == slot)
    change(store, offset, UP_TO_QUEUE_ID, struct.pack(">i", other))
    if not has_queues:
        no_queues(store, Random(1))
    done = opened(store).repair(tmp_path / "new")
    unclear = {} if has_queues else {row[0] for row in plain if row[2:] == (other, slot)} | {offset}
    assert (done.plan.placeholders, {*done.plan.doubts}) == (len(unclear), {*unclear})
    assert {doubt.why for doubt in done.plan.doubts.values()} <= {"place"}
    assert records_of(tmp_path / "new") == [row for row in before if row[0] not in unclear]


@pytest.mark.parametrize("bit", [7, 31])
def test_without_queues_a_record_of_a_queue_that_no_topic_has_is_of_the_queue_that_lacks_it(tmp_path: Path, bit: int) -> None:
    """The repair was refused: a queue lacked messages, without room for them."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    before = records_of(store)
    offset, _, queue, _ = [row[:4] for row in before if row[1] == "Plain"][17]
    change(store, offset, UP_TO_QUEUE_ID, (queue ^ 1 << bit & 0xFFFFFFFF).to_bytes(4))
    no_queues(store, Random(1))
    done = opened(store).repair(tmp_path / "new")
    assert (done.plan.placeholders, done.plan.fields[offset].field) == (0, "queue id")
    assert records_of(tmp_path / "new") == before


def test_without_queues_a_queue_that_lacks_two_messages_does_not_show_which_one_a_record_was(tmp_path: Path) -> None:
    """One bit makes the difference to one of the two queue offsets, and more bits to the other: it was kept as the first."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    before = records_of(store)
    offset, right = misnumber(store, 17, 0)
    lost, *_, beside = [row[:4] for row in before if row[1:3] == ("Plain", 0)][18]
    change(store, offset, UP_TO_QUEUE_OFFSET, struct.pack(">q", beside ^ 1 << 40))
    change(store, lost, UP_TO_MAGIC - 4, bytes(4))
    no_queues(store, Random(1))
    done = opened(store).repair(tmp_path / "new")
    assert (beside, done.plan.fields) == (right + 1, {})
    assert records_of(tmp_path / "new") == [row for row in before if row[0] not in (offset, lost)]


@pytest.mark.parametrize("link", [False, True])
def test_only_the_field_differs_and_a_segment_with_it_is_no_link(tmp_path: Path, link: bool) -> None:
    """A link had the bytes of the damaged store: the page said that its field was corrected."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    offset, right = misnumber(store, 3, 1_000_000)
    opened(store).repair(tmp_path / "new", link=link)
    old, new = segment_of(store, offset), segment_of(tmp_path / "new", offset)
    at = offset - int(old.name) + UP_TO_QUEUE_OFFSET
    assert new.read_bytes() == old.read_bytes()[:at] + struct.pack(">q", right) + old.read_bytes()[at + 8 :]


@pytest.mark.parametrize("beside", [-1, 27])
def test_the_comparison_finds_a_byte_beside_a_corrected_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: int) -> None:
    """Of the flag and of the born time of the record: nothing else in the store shows them."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    misnumber(store, 3, 1_000_000)
    put = disk.put

    def put_more(file: int, at: int, content: bytes) -> None:
        put(file, at, content)
        if len(content) == 8:
            put(file, at + beside, b"\xee")

    monkeypatch.setattr(disk, "put", put_more)
    with pytest.raises(StoreError, match="differ"):
        opened(store).repair(tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("which", [0, 17, -1])
@pytest.mark.parametrize("what", ["topic", "topic as invalid UTF-8", "queue"])
def test_a_record_that_seems_to_be_of_a_queue_without_files_is_of_the_queue_that_names_it(tmp_path: Path, what: str, which: int) -> None:
    """The repair was refused: no bytes were lost where the message that its queue lacks has its place."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    before = records_of(store)
    offset, *_, right = [row[:4] for row in records_of(store) if row[1:3] == ("Plain", 0)][which]
    segment = segment_of(store, offset)
    topic_at = segment.read_bytes()[offset - int(segment.name) :].index(b"\x05Plain") + 1
    at, content = {
        "topic": (topic_at, b"Slain"),
        "topic as invalid UTF-8": (topic_at + 2, b"\x84"),
        "queue": (UP_TO_QUEUE_ID, struct.pack(">i", 77)),
    }[what]
    change(store, offset, at, content)
    done = opened(store).repair(tmp_path / "new")
    assert (done.plan.placeholders, [*done.plan.fields]) == (0, [offset])
    assert records_of(tmp_path / "new") == before
    assert [number for number, place, *_ in entries(tmp_path / "new", "Plain", 0) if place == offset] == [right]
    assert not [path for path in (tmp_path / "new" / "consumequeue").rglob("*") if path.is_file() and path.parent.name == "77"]


@pytest.mark.parametrize(("slot", "wrong"), [(5, [700]), (6, [])])
def test_an_entry_in_another_slot_says_nothing_about_a_record_of_a_deleted_topic(slot: int, wrong: list[int]) -> None:
    """It can be an old one, from before a broker truncated the log."""

    class Files:
        begin, stop = 0, 10

        def read(self, first: int, stop: int) -> NDArray[np.void]:
            found = np.zeros(10, QUEUE_ENTRY)
            found[slot] = (700, 100, 0)
            return found[first:stop]

    gone, files = Survivors(None, [Run(5, 6, 700, 700)]), cast("OldQueue", Files())
    assert mislabelled({("gone", 0): gone}, {("Plain", 0): files}).tolist() == wrong


def test_without_any_file_of_its_queue_the_last_one_is_not_known_to_be_wrong(tmp_path: Path) -> None:
    """A topic that was deleted and created again begins at 0, too."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    misnumber(store, -1, 3)
    no_queues(store, Random(1))
    with pytest.raises(nr.StoreError, match="the queue offsets of queue 0 of 'Plain' go back at offset"):
        opened(store).repair(tmp_path / "new")
