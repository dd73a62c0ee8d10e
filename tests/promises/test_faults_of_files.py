"""Faults of the files of a log, and their effect on the rest. The numbers are from a list of 78 faults."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from support.faults import ordinary
from support.stores import ZERO, dledger, files_of, in_memory, log_of, message, on_disk, without_root

import native_reader as nr
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.logs import CommitLog

SEGMENT = 2048


def opened(path: Path | str, **options: object) -> pa.Table:
    return nr.open(path).messages(columns="physical_offset,segment", **options).to_table()


@pytest.fixture
def files() -> dict[str, bytes]:
    """Eight segments."""
    return files_of(log_of(100, SEGMENT))


@pytest.mark.parametrize("which", ["first", "middle", "last"])
def test_29_a_segment_is_missing(tmp_path: Path, files: dict[str, bytes], which: str) -> None:
    names = sorted(files)
    number = {"first": 0, "middle": 3, "last": len(names) - 1}[which]
    lost = files.pop(names[number])
    store = on_disk(tmp_path, files) / "store"
    rows = 100 - sum(placed.segment == number * SEGMENT for placed in log_of(100, SEGMENT).placed)
    if which == "middle":
        with pytest.raises(nr.DataLoss, match=r"offsets 6,144 to 8,192 \(2,048 bytes\) are in no file.*fail_on_data_loss=False"):
            opened(store)
        scan = nr.open(store).messages(fail_on_data_loss=False)
        assert "missing    offsets 6,144 to 8,192" in str(scan.explain())
        (damage,) = nr.open(store).table("damage").to_table().to_pylist()
        assert (damage["start_offset"], damage["end_offset"], damage["reason"]) == (6144, 8192, "missing")
        states = nr.open(store).table("segments").to_table()["state"].to_pylist()
        assert states.count("missing") == 1
    assert len(opened(store, fail_on_data_loss=False)) == rows
    assert len(lost) == SEGMENT


def test_30_a_file_that_was_cut_short(tmp_path: Path, files: dict[str, bytes]) -> None:
    name = sorted(files)[3]
    inside = [placed for placed in log_of(100, SEGMENT).placed if placed.segment == 3 * SEGMENT]
    cut = inside[4].offset - 3 * SEGMENT + 20
    store = on_disk(tmp_path, files | {name: files[name][:cut]}) / "store"
    with pytest.raises(nr.DataLoss, match=f"offsets {3 * SEGMENT + cut:,} to 8,192 "):
        opened(store)
    table = opened(store, fail_on_data_loss=False, mode="DROPMALFORMED")
    assert len(table) == 100 - len(inside) + 4
    reasons = nr.open(store).table("damage").to_table().select(["reason", "bytes"]).to_pylist()
    assert reasons == [{"reason": "cut off", "bytes": 20}, {"reason": "missing", "bytes": SEGMENT - cut}]


def test_31_and_32_other_files_are_ignored_and_left_alone(tmp_path: Path, files: dict[str, bytes]) -> None:
    last = int(sorted(files)[-1][-20:]) + SEGMENT
    strays = {"store/commitlog/notes.txt": b"x", "store/commitlog/.hidden": b"x", "store/commitlog/lost+found/": b"",
              "store/commitlog/123": b"x", f"store/commitlog/{ZERO}.tmp": b"x", f"store/commitlog/{last:020}": b""}  # fmt: skip
    store = on_disk(tmp_path, files | strays) / "store"
    assert len(opened(store)) == 100
    assert (store / "commitlog" / f"{last:020}").exists()


def test_33_sizes_that_differ_and_names_that_are_not_multiples(tmp_path: Path) -> None:
    one, two = CommitLog(1000, 777), CommitLog(3000, 1777)
    for number in range(4):
        one.append(ordinary(number))
    one.seal()
    for number in range(9):
        two.append(ordinary(number))
    logs = dict(one.segments(preallocated=False)) | dict(two.segments())
    store = on_disk(tmp_path, {f"store/commitlog/{base:020}": content for base, content in logs.items()}) / "store"
    assert len(opened(store)) == 13


def test_34_a_log_in_several_directories(tmp_path: Path, files: dict[str, bytes]) -> None:
    names = sorted(files)
    spread = {name.replace("commitlog", f"log{number % 3}"): files[name] for number, name in enumerate(names)}
    on_disk(tmp_path, spread | {names[1].replace("commitlog", "log0"): files[names[1]]})
    logs = ",".join(str(tmp_path / "store" / f"log{number}") for number in range(3))
    assert nr.open(tmp_path / "store", store_path_commit_log=logs).messages().count_rows() == 100
    (tmp_path / "store/log0" / names[1][-20:]).write_bytes(files[names[1]][:-1] + b"X")
    with pytest.raises(nr.StoreDamaged, match="both have offset 2,048 but differ"):
        nr.open(tmp_path / "store", store_path_commit_log=logs)


def test_35_a_file_deleted_while_it_is_read(tmp_path: Path, files: dict[str, bytes]) -> None:
    store = on_disk(tmp_path, files) / "store"
    scan = nr.open(store).messages(columns="physical_offset,segment")
    scan.plan()
    gone = store / "commitlog" / f"{3 * SEGMENT:020}"
    gone.unlink()
    with pytest.raises(nr.DataLoss, match=r"no longer exists; it existed when the read was planned"):
        scan.to_table()
    gone.write_bytes(files[f"store/commitlog/{gone.name}"])
    for options in ({"ignore_missing_files": True}, {"fail_on_data_loss": False}):
        scan = nr.open(store).messages(columns="physical_offset,segment", **options)
        scan.plan()
        gone.unlink()
        run = scan.run()
        rows = sum(batch.num_rows for batch in run)
        assert rows == 100 - sum(placed.segment == 3 * SEGMENT for placed in log_of(100, SEGMENT).placed)
        assert [each.unread_bytes for each in run.report.segments] == [0, 0, 0, SEGMENT, 0, 0, 0, 0][: len(files)]
        gone.write_bytes(files[f"store/commitlog/{gone.name}"])


def test_36_a_file_truncated_while_it_is_read_raises_no_sigbus(tmp_path: Path) -> None:
    log = CommitLog(32 << 20)
    for number in range(20):
        log.append(ordinary(number, body=b"x" * (1 << 20)))
    store = on_disk(tmp_path, {f"store/commitlog/{ZERO}": log.segments()[0][1]}) / "store"
    for refuses in (True, False):
        path = store / "commitlog" / ZERO
        path.write_bytes(log.segments()[0][1])
        batches = iter(nr.open(store).messages(columns="physical_offset", fail_on_data_loss=refuses).run())
        rows = next(batches).num_rows
        os.truncate(path, 6 << 20)
        if refuses:
            with pytest.raises(nr.DataLoss, match=r"has 6,291,456 bytes, but had 33,554,432 when the read was planned"):
                list(batches)
        else:
            rows += sum(batch.num_rows for batch in batches)
            assert 0 < rows <= 6


def test_38_a_log_rewritten_after_it_was_planned(tmp_path: Path, files: dict[str, bytes]) -> None:
    store = on_disk(tmp_path, files) / "store"
    scan = nr.open(store).messages()
    scan.plan()
    path = store / "commitlog" / f"{SEGMENT:020}"
    (tmp_path / "other").write_bytes(files[f"store/commitlog/{path.name}"])
    (tmp_path / "other").replace(path)
    with pytest.raises(nr.DataLoss, match="was replaced by another file after the read was planned"):
        scan.to_table()


def test_39_a_dledger_log_with_a_damaged_entry(tmp_path: Path) -> None:
    files = dledger()
    name = next(name for name in files if "/data/" in name)
    content = bytearray(files[name])
    content[0] ^= 1
    store = on_disk(tmp_path, files | {name: bytes(content)}) / "store"
    with pytest.raises(nr.StoreDamaged, match="found no DLedger entry header"):
        opened(store)
    assert len(opened(store, mode="DROPMALFORMED")) == 29
    (damage,) = nr.open(store).table("damage").to_table().to_pylist()
    assert (damage["reason"], damage["start_offset"]) == ("entry", 0)
    content[0] ^= 1
    content[4 + 3] ^= 1  # the size in the entry
    (tmp_path / name).write_bytes(content)
    (damage,) = nr.open(store).table("damage").to_table().to_pylist()
    assert damage["found"].startswith("a DLedger entry header that does not match its record of ")


@pytest.mark.parametrize("mode", ["DROPMALFORMED", "PERMISSIVE"])
def test_40_a_disk_with_unreadable_blocks(mode: str) -> None:
    """A read skips lost blocks, and returns no record that extends into one, even if its lengths are right."""
    log = CommitLog(1 << 20)
    for number in range(40):
        log.append(ordinary(number, body=b"x" * 9000))
    memory = in_memory({f"store/commitlog/{ZERO}": log.segments()[0][1]})
    faulty = FaultyStorage(memory.url)
    faulty.unreadable = [(100_000, 100_100), (200_000, 209_000)]
    with pytest.raises(nr.UnreadableError, match=r"could not read .*/00000000000000000000 at byte [0-9,]+: Input/output error"):
        nr.open(faulty.url).messages().to_table()
    lost = [(98_304, 102_400), (196_608, 212_992)]  # whole blocks of 4 KiB
    kept = [each.offset for each in log.placed if all(each.offset + each.size <= first or each.offset >= end for first, end in lost)]
    for most in (1 << 27, 50_000):
        run = nr.open(faulty.url).messages(columns="physical_offset,body,corrupt_reason", mode=mode, max_partition_bytes=most).run()
        table = pa.Table.from_batches(list(run))
        rows = [row for row in table.to_pylist() if row["body"] is not None]
        assert [row["physical_offset"] for row in rows] == kept
        assert {row["body"] for row in rows} == {b"x" * 9000}
        assert [each.reason for each in run.report.damage] == ["unreadable"] * 2
        (account,) = run.report.segments
        assert account.unread_bytes == 0


@pytest.mark.parametrize("number", [errno.ETIMEDOUT, errno.ESTALE, errno.ENOTCONN])
def test_40_a_lost_network_is_no_damage(files: dict[str, bytes], number: int) -> None:
    """A mount that goes away while the log is read says nothing about the bytes, whatever the mode. A check counts them as not read."""

    def lost(call: str, uri: str, offset: int) -> None:
        if call == "read" and uri.endswith(f"{3 * SEGMENT:020}") and offset >= 1000:
            raise OSError(number, os.strerror(number))

    memory = in_memory(files)
    faulty = FaultyStorage(memory.url, fault=lost)
    store = nr.open(f"{faulty.url}/store")
    reads = [store.messages(mode=mode, max_partition_bytes=1000).to_table for mode in ("FAILFAST", "DROPMALFORMED", "PERMISSIVE")]
    for read in (*reads, store.table("damage").to_table):
        with pytest.raises(nr.UnreadableError, match=f"could not read .*{3 * SEGMENT:020} at byte [0-9,]+: {os.strerror(number)}") as found:
            read()
        assert found.value.errno == number
    check = store.verify()
    codes = {row["code"] for row in check.to_table().to_pylist() if row["file"].endswith(f"{3 * SEGMENT:020}")}
    assert (codes, check.account.lost, "not read" in check.account.messages) == ({"log-unreadable"}, 0, True)


def test_40_a_file_without_read_permission(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:  # in a directory that everybody may enter
        Path(folder).chmod(0o755)
        store = on_disk(Path(folder), files) / "store"
        path = store / "commitlog" / f"{3 * SEGMENT:020}"
        path.chmod(0)
        with without_root():
            with pytest.raises(
                nr.UnreadableError, match=f"could not open .*{path.name}: Permission denied. It belongs to the user"
            ) as found:
                opened(store, mode="FAILFAST")
            assert found.value.errno == errno.EACCES
            scan = nr.open(store).messages(mode="DROPMALFORMED", columns="physical_offset")
            offsets = scan.to_table()["physical_offset"].to_pylist()
            lost = nr.open(store).table("damage").to_table().to_pylist()
        assert {offset // SEGMENT for offset in offsets} == set(range(len(files))) - {3}
        assert [(row["start_offset"], row["end_offset"], row["reason"]) for row in lost] == [(3 * SEGMENT, 4 * SEGMENT, "unreadable")]


def test_41_something_other_than_a_file_in_place_of_a_segment(tmp_path: Path, files: dict[str, bytes]) -> None:
    store = on_disk(tmp_path, files) / "store"
    log = store / "commitlog"
    end = len(files) * SEGMENT
    os.mkfifo(log / f"{end:020}")
    (log / f"{end + SEGMENT:020}").symlink_to(f"{end + SEGMENT:020}")
    (log / f"{end + 2 * SEGMENT:020}").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(log)  # the path of a socket must be short
        try:
            server.bind(f"{end + 3 * SEGMENT:020}")
        finally:
            os.chdir(here)
        with pytest.raises(nr.DataLoss, match="is not a segment, but its name is an offset after the end of the log"):
            opened(store)
        assert nr.open(store).messages(fail_on_data_loss=False).count_rows() == 100


@pytest.mark.parametrize("name", ["store.tar", "store.tar.gz", "00000000000000000000.gz"])
def test_42_an_archive_is_named_as_one(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x1f\x8b\x08\x00 and so on")
    with pytest.raises(nr.PathError, match="unpack it"):
        nr.open(tmp_path / name)


def test_44_nothing_to_read(tmp_path: Path) -> None:
    on_disk(tmp_path, {"store/commitlog/": b"", "store/consumequeue/": b"", "parent/": b""})
    assert len(opened(tmp_path / "store")) == 0
    assert len(nr.open(tmp_path / "store").table("damage").to_table()) == 0
    assert len(nr.open(tmp_path / "store").table("segments").to_table()) == 0
    with pytest.raises(nr.PathError):
        nr.open(tmp_path / "parent")
    with pytest.raises(nr.PathError):
        nr.open(tmp_path / "missing")


@pytest.mark.parametrize("garbage", [b"", b"\0" * 6000, b"\xff" * 6000, os.urandom(6000)], ids=["empty", "zeros", "ones", "random"])
def test_a_store_whose_other_files_are_garbage_reads_completely(tmp_path: Path, files: dict[str, bytes], garbage: bytes) -> None:
    others = [
        f"consumequeue/T0/0/{ZERO}", f"consumequeue/T1/x/{ZERO}", "consumequeue/T2", "index/20260101000000000", "index/junk",
        "config/topics.json", "config/consumerOffset.json", "checkpoint", "abort", "lock", f"timerlog/{ZERO}",
        f"batchconsumequeue/T/0/{ZERO}", f"consumequeue_ext/T/0/{ZERO}",
    ]  # fmt: skip
    store = on_disk(tmp_path, files | {f"store/{name}": garbage for name in others}) / "store"
    before = digest(store)
    for mode in ("FAILFAST", "DROPMALFORMED", "PERMISSIVE"):
        assert len(opened(store, mode=mode)) == 100
    assert len(nr.open(store).table("segments").to_table()) == len(files)
    assert digest(store) == before


def digest(store: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(store.rglob("*")):
        found.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
    return found.hexdigest()


def test_ten_thousand_ranges_of_damage_in_one_segment() -> None:
    log = CommitLog(4 << 20)
    for number in range(20_000):
        log.append(message(number))
    base, content = log.segments()[0]
    broken = bytearray(content)
    for placed in log.placed[::2]:
        broken[placed.offset + 4] ^= 0x10
    memory = in_memory({f"store/commitlog/{base:020}": bytes(broken)})
    for most in (1 << 27, 100_000):
        run = nr.open(memory.url).messages(columns="physical_offset", mode="DROPMALFORMED", max_partition_bytes=most).run()
        assert sum(batch.num_rows for batch in run) == 10_000
        assert len(run.report.damage) == 10_000
        assert {each.reason for each in run.report.damage} == {"magic"}


def test_71_a_checkpoint_tells_how_far_the_log_was_flushed_or_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = log_of(100, SEGMENT)
    store = on_disk(tmp_path, files_of(log)) / "store"
    for content in (None, b"", bytes(30), bytes(4096)):
        if content is not None:
            (store / "checkpoint").write_bytes(content)
        caplog.clear()
        assert len(opened(store, tail="flushed")) == 100
        assert "the checkpoint has no flushed offset, so tail=flushed reads to the end of the log" in caplog.text
    ends = {}
    for number in (0, 10, 11, 55, 98):
        placed = log.placed[number]
        ends[placed.offset + placed.size] = number + 1
        ends[placed.offset + placed.size + 5] = number + 1  # a bound inside the next record, or in a blank
    for place, tail in ((24, "flushed"), (32, "confirmed")):
        for end, rows in ends.items():
            (store / "checkpoint").write_bytes(bytes(place) + end.to_bytes(8, "big") + bytes(100))
            assert len(opened(store, tail=tail)) == rows, end
    (store / "checkpoint").write_bytes(bytes(24) + (1 << 50).to_bytes(8, "big") + bytes(100))
    assert len(opened(store, tail="flushed")) == 100
    with pytest.raises(nr.OptionError, match="tail must be one of available, flushed, confirmed, all, not 'flush'"):
        nr.open(store).messages(tail="flush")
