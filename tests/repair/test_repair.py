"""A damaged store is repaired: every message that survived is in the new one, in its place, and the source is as it was."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from random import Random
from typing import BinaryIO

import pytest
from support.golden import unpack
from support.own_stores import NAMES, STORES
from support.repaired import contents, entries, opened, records_of
from support.store_damages import DAMAGES, PAGE, Damage, cut_tail, no_queues, page_of_zeros, patch, random_bytes, records, segments, tail

import native_reader as nr
from native_reader.layout.kinds import DELAY_TOPIC
from native_reader.repair import disk, survey

REFUSED = {
    "5.5.0-dledger": "is of a DLedger peer, whose log must stay equal to those of the others",
    "5.5.0-failover": "its broker runs in controller mode",
    "5.5.0-multipath": "has no commitlog directory",
    "5.5.0-rocksdb-all": "batch queues beside queues in RocksDB",
    "5.5.0-rocksdb-moved": "topic 'Again' was deleted and created again",
    "5.5.0-slave": "the queue offsets of queue 0 of 'Again' go back",
}
REPAIRED = tuple(name for name in NAMES if name not in REFUSED)
NOT_COPIED = {"abort", "lock", "repair.md", "repair.json"}


def damaged(name: str, tmp_path: Path, damage: Damage, seed: int = 1) -> Path:
    store = unpack(name, tmp_path, STORES).root
    damage(store, Random(seed))
    return store


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
def test_every_survivor_is_in_its_place(tmp_path: Path, damage: Damage) -> None:
    store = damaged("5.5.0-killed", tmp_path, damage)
    before, whole = contents(store), records_of(store)
    done = opened(store).repair(tmp_path / "new")
    assert contents(store) == before
    whole = [row for row in whole if row[0] not in done.plan.doubtful]
    assert done.plan.messages == len(whole)
    assert records_of(tmp_path / "new") == whole
    for topic, queue_id in {row[1:3] for row in whole}:
        slots = list(entries(tmp_path / "new", topic, queue_id))
        assert [slot for slot, *_ in slots] == list(range(slots[0][0], slots[-1][0] + 1)), "a hole in a queue"
        assert [offset for _, offset, _, _ in slots] == sorted(offset for _, offset, _, _ in slots)
        named = {(slot, offset, size) for slot, offset, size, _ in slots}
        assert {(row[3], row[0], row[4]) for row in whole if row[1:3] == (topic, queue_id)} <= named
    assert not (tmp_path / "new" / "abort").exists()
    assert {path.stat().st_size for path in (tmp_path / "new" / "commitlog").iterdir()} == {65536}
    assert done.is_whole == (damage.__name__ in ("no_queues", "no_index", "queue_page"))


def test_queues_keep_their_ends(tmp_path: Path) -> None:
    """New messages must not get the queue offsets of lost ones: groups may have passed them."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    ends = {(row["topic"], row["queue_id"]): row["max_offset"] for row in nr.open(store).queues().to_table().to_pylist()}
    tail(store, Random(1))
    nr.open(store).repair(tmp_path / "new")
    assert {(row["topic"], row["queue_id"]): row["max_offset"] for row in nr.open(tmp_path / "new").queues().to_table().to_pylist()} == ends


@pytest.mark.parametrize("name", REPAIRED)
def test_a_store_without_damage_comes_back_byte_for_byte(tmp_path: Path, name: str) -> None:
    store = unpack(name, tmp_path, STORES).root
    nr.open(store).repair(tmp_path / "new")
    old, new = contents(store), contents(tmp_path / "new")
    differing = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)} - NOT_COPIED
    # A broker that was killed wrote no checkpoint of its end, and did not count the entries of its index.
    assert {path.partition("/")[0] for path in differing} <= ({"checkpoint", "index"} if "killed" in name else set())


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_broker_has_shown_is_refused(tmp_path: Path, name: str) -> None:
    store = unpack(name, tmp_path, STORES).root
    with pytest.raises(nr.StoreError) as refused:
        nr.open(store).repair(tmp_path / "new")
    assert REFUSED[name] in str(refused.value)
    assert not (tmp_path / "new").exists()


def test_damage_in_a_segment_that_was_not_used_yet(tmp_path: Path) -> None:
    """Brokers make the next segment before they need it. Bytes in it were copied, and the check of the new store failed."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    *_, last = sorted((store / "commitlog").iterdir())
    assert not any(last.read_bytes())
    patch(last, 38_506, b"junk" * 15)
    whole = records_of(store)
    done = nr.open(store).repair(tmp_path / "new")
    assert records_of(tmp_path / "new") == whole
    assert (done.plan.placeholders, done.plan.shape.made) == (0, [])
    assert not (tmp_path / "new" / "commitlog" / last.name).exists()


def test_segments_keep_their_times(tmp_path: Path) -> None:
    """A broker deletes segments by their age."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    page_of_zeros(store, Random(1))
    for number, segment in enumerate(sorted((store / "commitlog").iterdir())):
        os.utime(segment, ns=(number * 10**9, number * 10**9))
    nr.open(store).repair(tmp_path / "new")
    times = [path.stat().st_mtime_ns for path in sorted((tmp_path / "new" / "commitlog").iterdir())]
    assert times == [number * 10**9 for number in range(len(times))]


def test_a_page_of_zeros_in_properties_is_no_survivor(tmp_path: Path) -> None:
    """Lengths and the body's checksum are right, but tags and keys are gone: consumers would get a message without them."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    segment = segments(store)[1]
    at, size = records(segment)[40]
    begin = segment.read_bytes().index(b"UNIQ_KEY", at, at + size)
    patch(segment, begin, bytes(at + size - begin))
    assert len(records_of(store)) == 800
    done = nr.open(store).repair(tmp_path / "new")
    assert done.plan.doubtful == (int(segment.name) + at,)
    assert (done.plan.messages, done.plan.placeholders) == (799, 1)


def test_a_page_of_zeros_after_the_tag_is_no_survivor(tmp_path: Path) -> None:
    """The tag is whole, and agrees with the queue. Only the keys are gone, and the record after it is damaged."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    segment = segments(store)[1]
    at, size = records(segment)[40]
    end = at + size
    patch(segment, end - 8, bytes(PAGE))
    assert any(row[0] == int(segment.name) + at for row in records_of(store))
    done = nr.open(store).repair(tmp_path / "new")
    assert done.plan.doubtful == (int(segment.name) + at,)


def test_a_wrong_tags_code_costs_no_message(tmp_path: Path) -> None:
    """A changed entry of a queue, not of the record: the message stays, and its entry is corrected."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    path = next(path for path in sorted((store / "consumequeue" / "Plain" / "0").iterdir()))
    whole = path.read_bytes()
    patch(path, 12 + 20 * 3, b"\0\0\0\0\1\2\3\4")
    done = nr.open(store).repair(tmp_path / "new")
    assert (done.plan.account.messages["doubtful"], done.is_whole) == (1, False)
    assert done.account is not None
    assert done.account.is_whole
    assert (tmp_path / "new" / "consumequeue" / "Plain" / "0" / path.name).read_bytes() == whole


def test_a_whole_store_is_copied_with_a_queue_file_that_has_no_entries_yet(tmp_path: Path) -> None:
    """Such a file is left out only of a store that changes."""
    store = unpack("4.9.7-kinds", tmp_path, STORES).root
    first = store / "consumequeue" / "Plain" / "0" / "00000000000000000000"
    first.with_name(f"{first.stat().st_size:020d}").write_bytes(bytes(first.stat().st_size))
    whole = contents(store)
    assert nr.open(store).repair(tmp_path / "new").is_whole
    copied = contents(tmp_path / "new")
    assert {path: copied.get(path) for path in whole if path not in NOT_COPIED} == {
        path: content for path, content in whole.items() if path not in NOT_COPIED
    }


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_group_after_the_end_of_its_queue(tmp_path: Path, is_cut: bool) -> None:
    """New messages get no queue offset that a group has passed, if the end of the log is lost. Else the topic was created again."""
    store = unpack("4.9.7-kinds", tmp_path, STORES).root
    if is_cut:
        no_queues(store, Random(1))
        cut_tail(store, Random(1))
    (store / "config" / "lmqConsumerOffset.json").write_text('{"offsetTable":{"Plain@CG_done":{0:40}}}')
    done = opened(store).repair(tmp_path / "new")
    (plain,) = [stop for key, stop in zip(done.plan.lost.queues, done.plan.lost.ends, strict=True) if key == ("Plain", 0)]
    assert (plain == 40) == is_cut
    assert not done.is_whole


def test_a_group_after_the_last_survivor_of_a_queue_without_files(tmp_path: Path) -> None:
    """The end of the queue was lost, and not that of the log: new messages got queue offsets that the group had passed."""
    store = unpack("4.9.7-kinds", tmp_path, STORES).root
    no_queues(store, Random(1))
    plain = [row for row in records_of(store) if row[1:3] == ("Plain", 0)]
    (segment,) = segments(store)
    patch(segment, plain[-1][0], bytes(plain[-1][4]))
    (store / "config" / "lmqConsumerOffset.json").write_text(f'{{"offsetTable":{{"Plain@CG_done":{{0:{len(plain)}}}}}}}')
    done = opened(store).repair(tmp_path / "new")
    (end,) = [stop for key, stop in zip(done.plan.lost.queues, done.plan.lost.ends, strict=True) if key == ("Plain", 0)]
    assert (end, done.plan.placeholders) == (len(plain), 1)
    assert [slot for slot, *_ in entries(tmp_path / "new", "Plain", 0)] == list(range(len(plain)))


def test_queues_that_lack_more_than_fits_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large log without queues: the entries of all records took 28 bytes each."""
    store = unpack("5.5.0-kinds", tmp_path, STORES).root
    shutil.rmtree(store / "consumequeue")
    random_bytes(store, Random(1))
    opened(store).repair(tmp_path / "new")
    monkeypatch.setattr(survey, "_MOST_WANTED", 100)
    done = opened(store).repair(tmp_path / "again")
    assert sum(len(each) for queue in done.plan.survey.queues.values() for each in queue.wanted) <= 100
    assert contents(tmp_path / "again") == contents(tmp_path / "new")


@pytest.mark.parametrize("opens", [True, False])
def test_a_disk_without_room_for_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opens: bool) -> None:
    """The index is then made of the keys of the new log, which is read once more: it is the same."""

    def full(path: str) -> BinaryIO:
        return open("/dev/full" if opens else path, "r+b", buffering=0)

    store = damaged("5.5.0-killed", tmp_path, DAMAGES[-2])
    nr.open(store).repair(tmp_path / "new")
    monkeypatch.setattr(disk, "unnamed", full)
    nr.open(store).repair(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "new")


def test_room_that_keys_take_is_freed_for_the_new_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = damaged("5.5.0-killed", tmp_path, DAMAGES[-2])
    nr.open(store).repair(tmp_path / "new")
    free = iter([0])
    monkeypatch.setattr(disk, "free_bytes", lambda _: next(free, 1 << 30))
    nr.open(store).repair(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "new")


def test_a_deleted_topic_does_not_come_back(tmp_path: Path) -> None:
    store = unpack("5.5.0-kinds", tmp_path, STORES).root
    done = nr.open(store).repair(tmp_path / "new")
    assert done.plan.dropped == {"Gone": 5}
    assert not (tmp_path / "new" / "consumequeue" / "Gone").exists()


def test_a_topic_that_was_created_again_without_queues(tmp_path: Path) -> None:
    """Both lives have the same queue offsets. The later one counts."""
    store = unpack("5.5.0-kinds", tmp_path, STORES).root
    shutil.rmtree(store / "consumequeue")
    opened(store).repair(tmp_path / "new")
    tags = {row[5] for row in records_of(tmp_path / "new") if row[1] == "Again"}
    assert tags == {"Old", "New"}
    newest = {row[0] for row in records_of(tmp_path / "new") if row[1] == "Again" and row[5] == "New"}
    assert {offset for _, offset, _, _ in entries(tmp_path / "new", "Again", 0)} == newest


def test_a_repaired_store_is_repaired_to_itself(tmp_path: Path) -> None:
    store = damaged("5.5.0-killed", tmp_path, DAMAGES[-2])
    nr.open(store).repair(tmp_path / "new")
    again = nr.open(tmp_path / "new").repair(tmp_path / "again")
    assert again.is_whole
    assert f"**Survived:** {again.plan.messages} messages" in (tmp_path / "again" / "repair.md").read_text(), "the page of the first repair"
    old, new = contents(tmp_path / "new"), contents(tmp_path / "again")
    differing = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    assert {path for path in differing if not path.startswith("lost/")} <= {"repair.md", "repair.json"}
    assert not (tmp_path / "again" / "lost").exists(), "what the first repair lost"


def test_a_repair_writes_what_each_team_lost(tmp_path: Path) -> None:
    store = damaged("5.5.0-killed", tmp_path, page_of_zeros)
    done = opened(store).repair(tmp_path / "new")
    rows = (tmp_path / "new" / "lost" / "Plain" / "lost.jsonl").read_text().splitlines()
    assert sum(json.loads(row)["messages"] for row in rows) == done.plan.lost_messages > 0
    assert "the folder `lost` has a file for each topic" in (tmp_path / "new" / "repair.md").read_text()
    store = damaged("5.5.0-killed", tmp_path / "queues", no_queues)
    opened(store).repair(tmp_path / "whole")
    assert not (tmp_path / "whole" / "lost").exists(), "messages that have their entries again"


def test_delayed_messages_are_due_when_they_were(tmp_path: Path) -> None:
    """The entries of their queues have the time, which follows from the level of the message."""
    store = unpack("4.9.7-kinds", tmp_path, STORES).root
    queues = sorted(int(path.name) for path in (store / "consumequeue" / DELAY_TOPIC).iterdir())
    before = [list(entries(store, DELAY_TOPIC, queue)) for queue in queues]
    no_queues(store, Random(1))
    opened(store).repair(tmp_path / "new")
    assert len(queues) > 3
    assert [list(entries(tmp_path / "new", DELAY_TOPIC, queue)) for queue in queues] == before
