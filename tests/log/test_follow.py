"""The end of a log, look by look: only whole records count, and no record that counts is skipped."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path
from random import Random

import pytest
from support.growing import Disk, GrowingStore
from support.stores import files_of, log_of, on_disk
from support.tune import Tune

import native_reader as nr
from native_reader.log import follow
from native_reader.log.boundary import Boundary, Limits, still_holds
from native_reader.log.follow import Follower, Following
from native_reader.storage.window import Window
from native_reader.testing.logs import name
from native_reader.testing.memory import MemoryFile

LIMITS = Limits(1 << 20)
CHECKPOINT = struct.Struct(">5q")


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def store(disk: Disk) -> GrowingStore:
    return GrowingStore(disk, "store", Random(1), segment_size=4096)


def follower(disk: Disk, tail: str = "available") -> Follower:
    (files,) = nr.open(f"{disk.url}/store").stores
    return Follower(files, LIMITS, tail)


def listed(following: Follower, disk: Disk) -> Follower:
    """The same store, with its current files."""
    (following.store,) = nr.open(f"{disk.url}/store").stores
    return following


def test_each_look_continues_from_the_last(disk: Disk, store: GrowingStore) -> None:
    following = follower(disk)
    assert following.look() == Boundary(0)
    for _ in range(40):
        store.append(1)
        if len(store.placed) == 1:
            listed(following, disk)
        end = following.look()
        assert end.offset == store.end
        assert end.last is not None
        assert end.last.offset == store.placed[-1].offset


def test_the_newest_record_waits_while_a_broker_runs(disk: Disk, store: GrowingStore) -> None:
    disk.locked.add("store")
    store.append(3)
    following = follower(disk)
    assert following.look().offset == store.placed[2].offset
    store.append(1)
    assert following.look().offset == store.placed[3].offset
    store.dispatch()  # its queue entry proves that it is complete
    assert listed(following, disk).look().offset == store.end
    store.append(1)
    assert following.look().offset == store.placed[4].offset
    disk.locked.clear()  # the broker has stopped
    assert following.look().offset == store.end


def test_without_queues_a_quiet_time_decides(disk: Disk, store: GrowingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(follow.time, "monotonic", lambda: now[0])
    disk.locked.add("store")
    store.append(2)
    following = follower(disk)
    for passed, expected in ((0.0, store.placed[1].offset), (2.9, store.placed[1].offset), (0.2, store.end)):
        now[0] += passed
        assert following.look().offset == expected
    store.append(1)
    assert following.look().offset == store.placed[2].offset


@pytest.mark.parametrize("live", [False, True])
def test_a_torn_record_never_counts(disk: Disk, live: bool) -> None:
    for seed in range(200):
        store = GrowingStore(disk, "store", Random(seed), segment_size=1 << 14)
        disk.locked = {"store"} if live else set()
        store.append(3)
        store.dispatch()
        following = follower(disk)
        whole = store.end
        store.tear()
        assert following.look().offset == whole, seed
        assert follower(disk).look().offset == whole, seed
        store.append(1)
        store.dispatch()
        assert following.look().offset == store.end, seed


def test_a_record_that_seems_torn_is_read_again(disk: Disk, store: GrowingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first read saw half of a record, the second saw all of it and the next one. It was between the end and `last`."""
    disk.locked.add("store")
    store.append(2)
    following = follower(disk)
    torn = store.placed[1]
    assert following.look().offset == torn.offset
    store.append(1)
    load, reads = Window.load, list[int]()

    def early(window: Window, position: int, length: int) -> int:
        filled = load(window, position, length)
        if position == torn.offset and not reads:
            reads.append(position)
            window.u8[60:filled] = 0
        return filled

    monkeypatch.setattr(Window, "load", early)
    assert still_holds(following.store, following.look())
    assert reads
    end = following.look()
    assert end.offset == store.placed[2].offset
    assert end.last is not None
    assert end.last.offset == torn.offset
    assert still_holds(following.store, end)


def test_a_log_rolls(disk: Disk, store: GrowingStore) -> None:
    """The next segment is found by its name, without a new listing."""
    store.append(1)
    following = follower(disk)
    for _ in range(60):
        store.append(3)
        assert following.look().offset == store.end
    assert len(disk.content) > 10


def test_a_next_segment_that_was_deleted_and_made_again_is_entered_at_once(disk: Disk, store: GrowingStore) -> None:
    """A broker that starts deletes the empty segments after its log, and makes them again. The list of files may be older.

    The look ended before the new file until the next list, which came late on a busy machine.
    """
    store.append(1)
    following = follower(disk)
    empty = f"store/commitlog/{name(4096)}"
    disk.write(empty, bytes(4096))
    assert listed(following, disk).look().offset == store.end
    del disk.content[empty]
    assert following.look().offset == store.end
    store.append(60)
    assert empty in disk.content
    assert following.look().offset == store.end
    assert not following.is_stale


def test_a_segment_ends_when_the_next_one_has_records(disk: Disk) -> None:
    """A broker that was killed after a blank, before it had the next segment, writes its next record over the blank."""
    store = GrowingStore(disk, "store", Random(1), segment_size=600)
    store.append(1)
    following = follower(disk)
    blank = store.end
    assert following.look().offset == blank < 600 - 8
    whole = bytes(disk.content[f"store/commitlog/{name(0)}"])
    disk.write(f"store/commitlog/{name(0)}", whole[:blank] + struct.pack(">ii", 600 - blank, -875286124) + bytes(600 - blank - 8))
    assert following.look().offset == blank
    disk.write(f"store/commitlog/{name(600)}", bytes(600))  # preallocated, and empty
    assert following.look().offset == blank
    disk.write(f"store/commitlog/{name(600)}", struct.pack(">ii", 150, -626843481) + bytes(592))
    assert following.look().offset == 600
    assert follower(disk).look().offset == 600


def test_a_truncated_log_ends_where_it_was_truncated(disk: Disk, store: GrowingStore) -> None:
    store.append(30)
    following = follower(disk)
    assert following.look().offset == store.end
    store.cut(12)
    listed(following, disk)
    assert following.look().offset == store.end
    store.append(2)
    assert following.look().offset == store.end


def test_a_log_whose_last_segments_are_deleted_ends_before_them_at_once(disk: Disk, store: GrowingStore, tune: Tune) -> None:
    """A broker that truncates its log deletes files. A look without those files returned the old end once more."""
    tune(list_every=1e9, search_every=1e9)
    store.append(60)
    following = Following(lambda: nr.open(f"{disk.url}/store").stores, LIMITS, "available")
    ends = following.look()
    assert [end.offset for end in ends.values()] == [store.end]
    store.cut(50)
    assert [end.offset for end in following.look().values()] == [store.end]


def test_a_look_from_scratch_skips_damage_with_records_after_it(disk: Disk, store: GrowingStore) -> None:
    store.append(2)
    following = follower(disk)
    store.append(3)
    place = f"store/commitlog/{name(0)}"
    content = bytearray(disk.content[place])
    content[store.placed[2].offset + 4] ^= 1
    disk.write(place, content)
    assert following.look().offset == store.placed[2].offset
    assert following.look_from_scratch().offset == store.end


def test_a_hole_with_records_after_it_is_skipped_after_a_while(disk: Disk, store: GrowingStore) -> None:
    """Zeros look unwritten. Only a fresh search for the end of the log finds the records after them."""
    store.append(2)
    following = follower(disk)
    first = store.end
    store.append(3)
    place = f"store/commitlog/{name(0)}"
    content = bytearray(disk.content[place])
    content[store.placed[2].offset : store.placed[3].offset] = bytes(store.placed[2].size)
    disk.write(place, content)
    assert following.look().offset == first
    assert following.look_from_scratch().offset == store.end
    store.append(1)
    assert following.look().offset == store.end


def test_a_copy_grows(tmp_path: Path) -> None:
    """A copy in progress may end at any byte."""
    log = log_of(20, 4096)
    (whole,) = log.files().values()
    ends = [each.offset + each.size for each in log.placed]
    on_disk(tmp_path, {f"store/commitlog/{name(0)}": whole[:300]})
    (files,) = nr.open(tmp_path / "store").stores
    following = Follower(files, LIMITS, "available")
    for size in range(300, len(whole), 13):
        with (tmp_path / f"store/commitlog/{name(0)}").open("r+b") as copy:
            copy.write(whole[:size])
        assert following.look().offset == max((end for end in ends if end <= size), default=0), size
    following.close()


@pytest.mark.parametrize(("tail", "field"), [("flushed", 3), ("confirmed", 4)])
def test_not_past_the_end_in_the_checkpoint(disk: Disk, store: GrowingStore, tail: str, field: int) -> None:
    store.append(6)
    ends = [each.offset + each.size for each in store.placed]

    def says(offset: int) -> None:
        disk.content["store/checkpoint"] = CHECKPOINT.pack(*(offset if place == field else 0 for place in range(5)))

    says(ends[1])
    following = follower(disk, tail)
    assert following.look().offset == ends[1]
    for offset, end in ((ends[2] + 1, ends[2]), (ends[4] - 1, ends[3]), (ends[4], ends[4]), (ends[2], ends[4])):
        says(offset)
        assert following.look().offset == end
    says(0)  # it has no time, so everything counts
    assert following.look().offset == ends[-1]


def test_stores_appear_and_disappear(disk: Disk, tune: Tune) -> None:
    tune(list_every=0.0, rest=0)
    one = GrowingStore(disk, "parent/one", Random(1), segment_size=4096)
    one.append(2)
    following = Following(lambda: nr.open(f"{disk.url}/parent").stores, LIMITS, "available")
    assert following.look() == {f"{disk.url}/parent/one": Follower(following.stores[f"{disk.url}/parent/one"], LIMITS, "available").end}
    two = GrowingStore(disk, "parent/two", Random(2), segment_size=4096)
    two.append(1)
    assert {uri.rpartition("/")[2]: end.offset for uri, end in following.look().items()} == {"one": one.end, "two": two.end}
    one.remove()
    assert {uri.rpartition("/")[2]: end.offset for uri, end in following.look().items()} == {"two": two.end}


def test_a_file_deleted_during_a_look(disk: Disk, store: GrowingStore) -> None:
    store.append(30)
    following = Following(lambda: nr.open(f"{disk.url}/store").stores, LIMITS, "available")
    (end,) = following.look().values()
    assert end.offset == store.end
    gone = {file: disk.content.pop(file) for file in list(disk.content) if file.endswith(name(end.offset // 4096 * 4096))}
    assert gone
    following.look()  # the known state of the files is older than the files
    (end,) = following.look().values()
    kept = [each.offset + each.size for each in store.placed if each.segment < max(other.segment for other in store.placed)]
    assert end.offset == kept[-1]
    disk.content.update(gone)
    following.list()
    (end,) = following.look().values()
    assert end.offset == store.end


def test_an_idle_look_reads_almost_nothing(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    store = GrowingStore(disk, "store", Random(1), segment_size=1 << 20)
    store.append(500)
    following = follower(disk)
    following.look()
    read: list[int] = []
    into = MemoryFile.read_into
    monkeypatch.setattr(
        "native_reader.testing.memory.MemoryFile.read_into", lambda self, at, to: read.append(len(to)) or into(self, at, to)
    )
    following.look()
    assert sum(read) < 500


def test_has_news_needs_no_look(disk: Disk, store: GrowingStore) -> None:
    store.append(2)
    following = follower(disk)
    assert not following.has_news()
    for _ in range(30):
        following.look()
        assert not following.has_news()
        store.append(1)
        assert following.has_news() or following.end.offset % 4096 == 0  # the next segment did not exist yet
        following.look()
    store.tear()
    assert following.has_news()
    following.look()
    assert not following.has_news()


def test_no_file_stays_open(tmp_path: Path, tune: Tune) -> None:
    tune(list_every=0.0, rest=0)
    for which in range(3):
        on_disk(tmp_path / str(which), files_of(log_of(60)))
    before = len(os.listdir("/proc/self/fd"))
    following = Following(lambda: nr.open(tmp_path / "*/store").stores, LIMITS, "available")
    for which in range(3):
        for _ in range(5):
            assert len(following.look()) == 3 - which
            assert len(os.listdir("/proc/self/fd")) <= before + 3 - which
        shutil.rmtree(tmp_path / str(which) / "store") if which < 2 else following.close()
    assert len(os.listdir("/proc/self/fd")) == before
