"""A log that is being written: its newest record waits for a proof that it is complete. In `tests/brokers`, RocketMQ itself writes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.locks import held
from support.queued_stores import dispatched
from support.stores import ZERO, files_of, in_memory, log_of, message, on_disk

import native_reader as nr
from native_reader.errors import SplitError
from native_reader.records.walk import EndWalk, ReadWalk
from native_reader.storage import storage_of
from native_reader.storage.store import segments_in
from native_reader.storage.window import Window


def count(path: Path) -> int:
    return nr.open(path).messages().count_rows()


def entry(physical_offset: int, size: int) -> bytes:
    return struct.pack(">qiq", physical_offset, size, 0)


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """Ten records of topic T in queue 3, in a preallocated log, and the file that a broker locks."""
    log = log_of([message(n, topic="T% é", queue_id=3) for n in range(10)], segment_size=8192)
    return on_disk(tmp_path, files_of(log) | {"store/lock": b"lock", "store/consumequeue/": b""}) / "store"


def test_a_lock_of_another_process_is_seen_and_left_alone(live: Path) -> None:
    lock = (live / "lock").as_uri()
    assert not storage_of(lock).is_locked(lock)
    with held(live / "lock"):
        assert storage_of(lock).is_locked(lock)
        assert storage_of(lock).is_locked(lock)
    assert not storage_of(lock).is_locked(lock)
    assert not storage_of(lock).is_locked(f"{lock}-that-is-not-there")
    assert not storage_of(lock).is_locked(live.as_uri())


def test_the_newest_record_counts_at_rest_and_waits_while_a_broker_runs(live: Path) -> None:
    assert count(live) == 10
    with held(live / "lock"):
        assert count(live) == 9
    assert count(live) == 10


def test_a_queue_entry_proves_that_the_newest_record_is_complete(live: Path) -> None:
    rows = nr.open(live).messages(columns="physical_offset,record_size,queue_offset").to_table().to_pylist()
    newest = rows[-1]
    assert newest["queue_offset"] == 9
    file = live / "consumequeue" / "T% é" / "3"
    cases = {
        "its own": (True, entry(newest["physical_offset"], newest["record_size"])),
        "of another record": (False, entry(rows[-2]["physical_offset"], newest["record_size"])),
        "blank": (False, bytes(20)),
        "half written": (False, entry(newest["physical_offset"], 0)),
        "cut short": (False, entry(newest["physical_offset"], newest["record_size"])[:11]),
    }
    file.mkdir(parents=True)
    with held(live / "lock"):
        for what, (counts, content) in cases.items():
            (file / "00000000000000000100").write_bytes(bytes(80) + content)  # the queue's first five entries have expired
            assert count(live) == 9 + counts, what


def test_in_a_dledger_log_too_a_queue_entry_has_the_size_of_the_record_without_its_frame(tmp_path: Path) -> None:
    log = log_of([message(number) for number in range(10)], 8192, framing="dledger")
    live = on_disk(tmp_path, files_of(log, "store/dledger-n0/data") | {"store/lock": b"lock"}) / "store"
    with held(live / "lock"):
        assert count(live) == 9
        on_disk(tmp_path, dispatched(log.placed))
        assert count(live) == 10


@pytest.mark.parametrize("topic", ["../consumequeue", "..", ".", "a/b"])
def test_a_topic_name_never_leads_outside_the_queues(tmp_path: Path, topic: str) -> None:
    log = log_of([message(0), message(1, topic=topic, queue_id=3, queue_offset=0)], segment_size=8192)
    newest = log.placed[-1]
    queue = {f"store/consumequeue/{where}/3/{ZERO}": entry(newest.offset, newest.size) for where in (".", "a/b", topic.replace("..", "."))}
    path = on_disk(tmp_path, files_of(log) | queue | {"store/lock": b"lock"}) / "store"
    with held(path / "lock"):
        assert count(path) == 1


def test_a_successor_proves_that_the_newest_record_is_complete(live: Path) -> None:
    whole = nr.open(live).messages(columns="physical_offset,record_size").to_table().to_pylist()[-1]
    with (live / "commitlog" / ZERO).open("r+b") as file:
        file.seek(whole["physical_offset"] + whole["record_size"])
        file.write(struct.pack(">ii", 200, -626843481))
    with held(live / "lock"):
        assert count(live) == 10


def test_a_record_that_grows_during_a_read_is_not_an_error(tmp_path: Path) -> None:
    """A broker wrote between the look for the last byte and the walk. That raised SplitError, until a live test found it."""
    memory = in_memory(files_of(log_of(10, segment_size=8192)))
    folder = f"{memory.url}/store/commitlog"
    (segment,) = segments_in(folder, storage_of(folder).list(folder))
    bound = 136 * 4 + 50
    with Window(segment, 8192) as window:
        walk = EndWalk(window, 0, bound, max_record_bytes=1000).finish()
        assert walk.last_record == (136 * 4, 136)
        with pytest.raises(SplitError, match="past the end of the log"):
            list(ReadWalk(window, 0, bound, bound, max_record_bytes=1000, skip_damage=True))
