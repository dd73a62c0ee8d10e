"""Faults from a second review of the code, each with its bytes."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.queued_stores import dispatched, numbered
from support.stores import ZERO, Files, files_of, in_memory, log_of, message, on_disk
from support.tune import Tune

import native_reader as nr
from native_reader.broker.settings import Topics
from native_reader.log.boundary import Boundary, Fingerprint, Limits, boundary_after, boundary_before
from native_reader.records import walk
from native_reader.records.damages import Damages
from native_reader.storage import protocol
from native_reader.storage.local import LocalFile
from native_reader.storage.store import DLEDGER, Segment, one_log
from native_reader.stream.begin import resume
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.logs import CommitLog


def with_broken(log: CommitLog, *broken: int) -> Files:
    """The files of the log, with a changed magic in some records."""
    files = files_of(log)
    for each in (log.placed[number] for number in broken):
        name = f"store/commitlog/{each.segment:020}"
        content = bytearray(files[name])
        content[each.offset - each.segment + 4] ^= 0xFF
        files[name] = bytes(content)
    return files


def test_a_stream_does_not_skip_records_between_ranges_of_damage() -> None:
    log = log_of(20, 1 << 16)
    memory = in_memory(with_broken(log, 0, 5, 15))
    (store,) = nr.open(f"{memory.url}/store").stores
    first = log.placed[2].offset
    assert boundary_before(store, Boundary(0), 1, Limits(1 << 20)).offset == first
    assert boundary_after(store, Boundary(0), 1, Limits(1 << 20)).offset == first
    overwritten = Boundary(100, Fingerprint(50, 1, 1))
    going_on, _ = resume(store, overwritten, Boundary(log.end, Fingerprint(log.placed[19].offset, 0, 0)), Limits(1 << 20))
    assert going_on.offset == first


@pytest.mark.parametrize("many", [1, 64])
def test_falling_back_to_a_scan_gives_no_row_of_damage_twice(tune: Tune, many: int) -> None:
    """A deleted topic with damage in it, a damaged record that a queue claims, and one entry that is wrong."""
    tune(queue_costs=0, large_extent=300, most_share=0.95, many_damages=many)
    log = log_of(numbered(message(number, topic=topic, queue_id=0) for number, topic in enumerate("UUUUUUDDDDDDUUUUU")), 1 << 16)
    queue = f"store/consumequeue/U/0/{ZERO}"
    files = with_broken(log, 3, 7, 9) | dispatched(log.placed, deleted=("D",), file=20 * 50)
    entries = bytearray(files[queue])
    entries[6 * 20 : 6 * 20 + 12] = struct.pack(">qi", log.placed[12].offset + 1, 50)
    memory = in_memory(files | {queue: bytes(entries)})
    found = {}
    for access in ("scan", "auto"):
        scan = nr.open(f"{memory.url}/store").messages(
            topic="D", columns="physical_offset,corrupt_reason", mode="PERMISSIVE", access=access
        )
        run = scan.run()
        found[access] = [tuple(row.values()) for batch in run for row in batch.to_pylist()]
        assert run.report.rows == len(found[access])
        assert bool(run.report.scanned) == (access == "auto")
    assert sorted(found["auto"]) == sorted(found["scan"])
    assert len(found["scan"]) == 7


def test_an_empty_queue_entry_at_the_start_of_a_file_causes_no_read_before_it(tune: Tune, tmp_path: Path) -> None:
    tune(queue_costs=0, most_share=0.95)
    log = log_of(numbered(message(number, topic="UT"[number % 2], queue_id=0) for number in range(20)), 1 << 16)
    files = files_of(log) | dispatched(log.placed, file=20 * 50)
    queue = f"store/consumequeue/U/0/{ZERO}"
    on_disk(tmp_path, files | {queue: struct.pack(">qi", 0, 7) + files[queue][12:]})
    assert nr.open(tmp_path / "store").messages(topic="T").count_rows() == 10


@pytest.mark.parametrize("asked", [{"topic": "T1"}, {"topic": "nobody"}, {"topic": ["T1", "nobody"]}, {"where": "queue_id = 77"}])
@pytest.mark.parametrize("access", ["auto", "scan"])
def test_queues_without_read_permission_stop_no_read(asked: dict[str, object], access: str) -> None:
    log = log_of(20)
    memory = in_memory(files_of(log) | dispatched(log.placed))

    def fault(call: str, uri: str, offset: int) -> None:
        if "consumequeue" in uri and call in ("entry", "list", "open"):
            raise PermissionError(errno.EACCES, "Permission denied")

    faulty = FaultyStorage(memory.url, fault=fault)
    scan = nr.open(f"{faulty.url}/store").messages(access=access, **asked)
    assert scan.doubts() == []
    assert scan.count_rows() == (7 if "T1" in str(asked) else 0)
    assert str(scan.explain())


def test_a_file_truncated_during_the_search_for_holes_is_not_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, asked = tmp_path / ZERO, protocol.StoredFile.written_end
    path.write_bytes(b"x" * 100)

    def cut(file: protocol.StoredFile, below: int | None = None) -> int:
        end = asked(file, below)
        os.truncate(path, 40)
        return end

    monkeypatch.setattr(protocol.StoredFile, "written_end", cut)
    with LocalFile(path.as_uri()) as file:
        assert file.written_end() in (40, 100)
        assert file.next_data(90) >= 90


def test_a_file_truncated_during_the_comparison_holds_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, other, read = tmp_path / ZERO, tmp_path / "dledger", LocalFile.read_into
    path.write_bytes(bytes(3 << 20))
    other.write_bytes(b"x" * 100)

    def read_into(file: LocalFile, offset: int, view: memoryview) -> int:
        got = read(file, offset, view)
        if file.uri == path.as_uri() and path.stat().st_size > 100:
            os.truncate(path, 100)
        return got

    monkeypatch.setattr(LocalFile, "read_into", read_into)
    plain, dledger = Segment(0, 3 << 20, path.as_uri(), 0), Segment(1 << 20, 100, other.as_uri(), 0, DLEDGER)
    assert one_log([plain, dledger]) == (dledger,)
    assert path.stat().st_size == 100


def test_digits_of_a_configuration_are_read_once(tmp_path: Path) -> None:
    """Each of 300,000 digits started its own search to their end."""
    (tmp_path / "topics.json").write_text('{"topicConfigTable": {"x": ' + "1" * 300_000 + "}")
    assert Topics(tmp_path.as_uri()).names() == []


class Odd(tzinfo):
    """A time zone that fails."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        raise RuntimeError("no offset")


@pytest.mark.parametrize(
    "options",
    [
        {"starting_offsets": {"t": {float("inf"): 1}}},
        {"starting_offsets": {"t": {1.9: 1}}},
        {"starting_offsets": {"t": {True: 1}}},
        {"starting_timestamp": datetime(2026, 1, 1, tzinfo=Odd())},
    ],
)
def test_odd_keys_and_zones_are_rejected_by_name(options: dict[str, object], store: Path) -> None:
    with pytest.raises(nr.OptionError, match=next(iter(options))):
        nr.open(store).messages(**options)
    assert nr.open(store).messages(starting_offsets={"T0": {0: 3}}, starting_timestamp=datetime(2020, 1, 1, tzinfo=UTC)).count_rows() > 0


@pytest.mark.parametrize("where", ["topic NOT IN ('gone') AND queue_offset = 99999", "topic = 'T1' AND NOT queue_id = 77"])
def test_excluded_topics_need_not_exist(where: str) -> None:
    log = log_of(20)
    memory = in_memory(files_of(log) | dispatched(log.placed))
    assert nr.open(f"{memory.url}/store").messages(where=where).doubts() == []


def test_rows_of_damage_survive_a_truncation_of_the_file_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of((message(number, body=b"x" * 3000) for number in range(100)), 1 << 19)
    on_disk(tmp_path, with_broken(log, 2, 30, 31))
    asked = {"topic": "none", "columns": "physical_offset,corrupt_reason", "mode": "PERMISSIVE"}
    run = nr.open(tmp_path / "store").messages(**asked, fail_on_data_loss=False).run()

    def cut(ranges: NDArray[np.void], words: Sequence[str]) -> Damages:
        os.truncate(tmp_path / "store/commitlog" / ZERO, log.placed[60].offset + 10)
        return Damages(ranges, words)

    monkeypatch.setattr(walk, "Damages", cut)
    rows = [row for batch in run for row in batch.to_pylist()]
    assert len(rows) == len(run.report.damage) == run.report.rows > 0
