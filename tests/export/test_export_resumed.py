"""An export that was stopped anywhere continues, and then has each row once. One that differs is refused."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.exported import data_files, expected_rows, exported_rows, summary
from support.queued_stores import dispatched
from support.stores import files_of, in_memory, log_of, message, on_disk

import native_reader as nr
from native_reader.export import manifest, target
from native_reader.export.writers import TaskFiles
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.memory import MemoryStorage
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

COUNT, ROOT = 60, Path(__file__).parents[2]
PARTED = {"partition_by": ["topic", "day"], "to": "jsonl"}


class Killed(BaseException):
    """Ends an export as a kill does: nothing after it runs, except what Python itself unwinds."""


@pytest.fixture(scope="module")
def memory() -> MemoryStorage:
    return in_memory(files_of(log_of(COUNT)))


def scan_of(memory: MemoryStorage, **options: Any) -> nr.Scan:
    return nr.open(memory.url).messages(**{"max_partition_bytes": 4500, **options})


def dying(monkeypatch: pytest.MonkeyPatch, call: str, after: int, before: bool) -> None:
    """Let this call of `os` end the process in effect, the `after`th time, before or after it does its work."""
    work: Callable[..., Any] = getattr(os, call)
    left = after

    def called(*arguments: Any, **more: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0 and before:
            raise Killed
        result = work(*arguments, **more)
        if left == 0:
            raise Killed
        return result

    monkeypatch.setattr(target.os, call, called)
    monkeypatch.setattr(TaskFiles, "abandon", lambda files: None)  # a killed process deletes nothing


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("call", ["rename", "fsync"])
@pytest.mark.parametrize("how", [{}, PARTED], ids=["whole", "parted"])
def test_killed_at_each_step(memory: MemoryStorage, tmp_path: Path, how: dict[str, Any], call: str, before: bool) -> None:
    """Each run dies one step later than the one before it, in the same folder."""
    scan, step, tries = scan_of(memory), 0, 0
    while True:
        step += 1 if call == "rename" else 7
        tries += 1
        with pytest.MonkeyPatch.context() as patch:
            dying(patch, call, step, before)
            try:
                exported = scan_of(memory).export(tmp_path, **how)
            except Killed:
                assert not (tmp_path / "_summary.json").exists() or call == "fsync" or not before
                continue
        break
    assert tries > 3
    to = how.get("to", "parquet")
    rows = [{name: value for name, value in row.items() if name != "day"} for row in exported_rows(tmp_path, to, scan.schema)]
    assert rows == expected_rows(scan.to_table())
    assert exported.rows == COUNT
    assert not (tmp_path / "_writing").exists()


@pytest.mark.parametrize("how", [{}, PARTED], ids=["whole", "parted"])
def test_each_kill_leaves_only_whole_files(memory: MemoryStorage, tmp_path: Path, how: dict[str, Any]) -> None:
    """A file with a final name can be read at every moment, and its rows are right."""
    scan, known = scan_of(memory), {row["physical_offset"] for row in scan_of(memory).to_table().to_pylist()}
    for step in range(1, 10):
        folder = tmp_path / str(step)
        with pytest.MonkeyPatch.context() as patch:
            dying(patch, "rename", step, before=False)
            with pytest.raises(Killed):
                scan_of(memory).export(folder, **how)
        (folder / "_summary.json").write_text('{"cut_names": {}}')
        rows = exported_rows(folder, how.get("to", "parquet"), scan.schema)
        assert {row["physical_offset"] for row in rows} <= known
        assert len({row["physical_offset"] for row in rows}) == len(rows)


@pytest.mark.gate
def test_a_killed_process_continues(tmp_path: Path) -> None:
    """kill -9 of a real process with two jobs, again and again. Those to be killed read slowly: else they may end before, while we wait."""
    write_store(tmp_path / "store", StoreSpec(bytes=4 << 20, queues=False, index=False))
    read = "import native_reader as nr; scan = nr.open('store').messages(max_partition_bytes=100_000, {}); "
    code, slowly = read + "scan.export('out', partition_by='topic', jobs=2)", "max_read_rate='1m'"
    environment, kills = os.environ | {"PYTHONPATH": str(ROOT)}, 0
    while True:
        process = subprocess.Popen([sys.executable, "-c", code.format(slowly if kills < 3 else "")], cwd=tmp_path, env=environment)
        records = len(list((tmp_path / "out").glob("_parts/*")))
        while process.poll() is None and (kills == 3 or len(list((tmp_path / "out").glob("_parts/*"))) < records + 2):
            time.sleep(0.005)
        if process.poll() is not None:
            break
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
    assert process.returncode == 0
    assert kills == 3
    scan = nr.open(tmp_path / "store").messages()
    assert exported_rows(tmp_path / "out", "parquet", scan.schema) == expected_rows(scan.to_table())


def test_a_complete_export_is_not_done_again(memory: MemoryStorage, tmp_path: Path) -> None:
    first = scan_of(memory).export(tmp_path, **PARTED)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    faulty = FaultyStorage(memory.url)
    calls = faulty.calls.copy()
    assert scan_of(memory).export(tmp_path, **PARTED) == first
    assert faulty.calls == calls
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path != tmp_path} == before


def test_the_end_of_the_log_is_that_of_the_first_run(tmp_path: Path) -> None:
    log = log_of(COUNT)
    files = files_of(log)
    memory = in_memory(files)
    rows = expected_rows(scan_of(memory).to_table())
    with pytest.MonkeyPatch.context() as patch:
        dying(patch, "rename", 4, before=False)
        with pytest.raises(Killed):
            scan_of(memory).export(tmp_path)
    for number in range(COUNT, COUNT + 50):
        log.append(message(number))
    files |= files_of(log)
    assert scan_of(memory).count_rows() == COUNT + 50
    assert scan_of(memory).export(tmp_path).rows == COUNT
    assert exported_rows(tmp_path, "parquet", scan_of(memory).schema) == rows


@pytest.mark.parametrize(
    ("options", "how", "words"),
    [
        ({}, {"to": "csv"}, "with to='parquet', not 'csv'"),
        ({}, {"partition_by": "topic"}, "with partition_by=nothing, not topic"),
        ({}, {"compression": "none"}, "with compression='zstd', not 'none'"),
        ({"columns": "topic"}, {}, "with columns=topic,queue_id"),
        ({"where": "topic = 'T1'"}, {}, "with where='TRUE', not \"topic = 'T1'\""),
        ({"verify_crc": True}, {}, "with verify_crc=False, not True"),
        ({"mode": "DROPMALFORMED"}, {}, "with mode='FAILFAST', not 'DROPMALFORMED'"),
        ({"max_partition_bytes": 4501}, {}, "with max_partition_bytes=4500, not 4501"),
    ],
)
def test_other_options_are_refused(memory: MemoryStorage, tmp_path: Path, options: dict[str, Any], how: dict[str, Any], words: str) -> None:
    scan_of(memory).export(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(nr.OptionError) as raised:
        scan_of(memory, **options).export(tmp_path, **how)
    assert words in str(raised.value)
    assert "Use the same options to continue it, or export to another folder" in str(raised.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_options_that_do_not_change_the_files_may_differ(memory: MemoryStorage, tmp_path: Path) -> None:
    first = scan_of(memory).export(tmp_path)
    assert scan_of(memory, max_read_rate="100m").export(tmp_path, jobs=2).files == first.files


def test_another_store_is_refused(memory: MemoryStorage, tmp_path: Path) -> None:
    scan_of(memory).export(tmp_path)
    other = in_memory(files_of(log_of(COUNT)))
    with pytest.raises(nr.OptionError, match=f"holds an export of {memory.url}/store, not of {other.url}/store"):
        scan_of(other).export(tmp_path)


def test_a_folder_with_other_files_is_refused(memory: MemoryStorage, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(nr.OptionError, match="is not empty, and holds no export to continue"):
        scan_of(memory).export(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("place", ["store", "store/out", "store/commitlog/out", "store/consumequeue/out", "link/out"])
def test_nothing_is_written_into_a_store(tmp_path: Path, place: str) -> None:
    on_disk(tmp_path, files_of() | {"store/consumequeue/T0/0/x": b""})
    (tmp_path / "link").symlink_to(tmp_path / "store")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(nr.OptionError, match="is inside the store"):
        nr.open(tmp_path / "store").messages().export(tmp_path / place)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("path", ["s3://bucket/out", "memory://1/out", ""])
def test_only_a_folder_of_this_machine_is_written(memory: MemoryStorage, path: str) -> None:
    with pytest.raises(nr.OptionError, match=r"is not a local path|the path is empty"):
        scan_of(memory).export(path)


def test_a_path_can_be_a_uri_or_bytes(memory: MemoryStorage, tmp_path: Path) -> None:
    first = scan_of(memory).export(f"{tmp_path.as_uri()}/a%20b")
    assert first.path == str(tmp_path / "a b")
    assert scan_of(memory).export(str(tmp_path / "a b").encode()) == first


def test_two_exports_at_once_are_refused(memory: MemoryStorage, tmp_path: Path) -> None:
    with target.Target(tmp_path, ()), pytest.raises(nr.ExportError, match="another program is writing to this folder"):
        scan_of(memory).export(tmp_path)
    assert scan_of(memory).export(tmp_path).rows == COUNT


@pytest.mark.parametrize("change", ["delete", "shorten", "damage record", "damage manifest"])
def test_a_changed_export_is_not_continued(memory: MemoryStorage, tmp_path: Path, change: str) -> None:
    scan_of(memory).export(tmp_path)
    path = {"damage record": tmp_path / "_parts/part-00001.jsonl", "damage manifest": tmp_path / "_export.json"}.get(change)
    path = path or data_files(tmp_path)[1]
    content = path.read_bytes()
    if change == "delete":
        path.unlink()
    else:
        path.write_bytes(content[: len(content) // 2])
    with pytest.raises(nr.ExportError, match=r"was changed or deleted|is damaged") as raised:
        scan_of(memory).export(tmp_path)
    assert path.name in str(raised.value)


def test_an_export_of_another_layout_is_not_continued(memory: MemoryStorage, tmp_path: Path) -> None:
    scan_of(memory).export(tmp_path)
    manifest = tmp_path / "_export.json"
    manifest.write_text(json.dumps({**(known := json.loads(manifest.read_text())), "request": known["request"] | {"layout": 1}}))
    with pytest.raises(nr.OptionError, match=r"holds an export of another version of this package\. Export to another folder"):
        scan_of(memory).export(tmp_path)


def test_damage_and_losses_survive_a_stop(tmp_path: Path) -> None:
    """They are saved as kinds and numbers, and are the same after it."""
    log = log_of(COUNT)
    files = files_of(log) | dispatched(log.placed)
    first, *_, last = sorted(name for name in files if "commitlog" in name)
    del files[last]
    memory = in_memory(files | {first: files[first][:4] + b"\0" + files[first][5:]})
    how = {"mode": "DROPMALFORMED", "fail_on_data_loss": False}
    whole = scan_of(memory, **how).export(tmp_path)
    (tmp_path / "_summary.json").unlink()
    assert scan_of(memory, **how).export(tmp_path) == whole
    assert {each.reason for each in whole.missing} == {"lost"}
    assert sorted(row["found"] for row in whole.damage_rows()) == sorted(
        nr.open(memory.url).table("damage").to_table()["found"].to_pylist()
    )


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_full_disk_is_an_error_and_the_export_continues(
    memory: MemoryStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    left, flush = 9, os.fsync

    def full(descriptor: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(target.os, "fsync", full)
        with pytest.raises(nr.ExportError, match=r"could not write: .*No space left on device.* Start the same"):
            scan_of(memory).export(tmp_path, jobs=jobs)
    assert scan_of(memory).export(tmp_path, jobs=jobs).rows == COUNT
    assert exported_rows(tmp_path, "parquet", scan_of(memory).schema) == expected_rows(scan_of(memory).to_table())


@pytest.mark.parametrize("jobs", [1, 3])
def test_an_unreadable_segment_fails_the_export_until_it_can_be_read(memory: MemoryStorage, tmp_path: Path, jobs: int) -> None:
    faulty = FaultyStorage(memory.url)
    scan = nr.open(faulty.url).messages(max_partition_bytes=4500)
    scan.plan()
    faulty.unreadable.append((1000, 1001))
    with pytest.raises(nr.UnreadableError):
        scan.export(tmp_path, jobs=jobs)
    assert not (tmp_path / "_summary.json").exists()
    faulty.unreadable.clear()
    assert scan.export(tmp_path, jobs=jobs).rows == COUNT
    assert summary(tmp_path)["rows"] == COUNT


def test_a_name_that_exists_is_not_overwritten(memory: MemoryStorage, tmp_path: Path) -> None:
    """As on a file system that does not distinguish case: another partition's file is there."""
    with pytest.MonkeyPatch.context() as patch:
        dying(patch, "rename", 2, before=False)  # the manifest, then the record of the first task
        with pytest.raises(Killed):
            scan_of(memory).export(tmp_path)
    (tmp_path / "part-00000.parquet").write_bytes(b"another one")
    with pytest.raises(nr.ExportError, match=r"part-00000\.parquet already exists"):
        scan_of(memory).export(tmp_path)
    assert (tmp_path / "part-00000.parquet").read_bytes() == b"another one"


def test_jobs_give_the_same_files(memory: MemoryStorage, tmp_path: Path) -> None:
    one, many = (scan_of(memory).export(tmp_path / str(jobs), jobs=jobs, **PARTED) for jobs in (1, 4))
    assert [(file.name, file.rows, file.bytes) for file in one.files] == [(file.name, file.rows, file.bytes) for file in many.files]
    assert all((tmp_path / "1" / file.name).read_bytes() == (tmp_path / "4" / file.name).read_bytes() for file in one.files)


# What else can be in the folder


def stopped(memory: MemoryStorage, folder: Path, **how: Any) -> list[Path]:
    """Stop an export after a task; returns the files that have their final names."""
    with pytest.MonkeyPatch.context() as patch:
        dying(patch, "rename", 6, before=True)
        with pytest.raises(Killed):
            scan_of(memory).export(folder, **how)
    return sorted(path for path in folder.rglob("part-*") if path.parent.name not in ("_parts", "_writing"))


def test_a_link_in_place_of_the_temporary_folder_emptied_the_folder_it_led_to(memory: MemoryStorage, tmp_path: Path) -> None:
    stopped(memory, tmp_path / "out")
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "kept").write_text("x")
    for path in (tmp_path / "out" / "_writing").iterdir():
        path.unlink()
    (tmp_path / "out" / "_writing").rmdir()
    (tmp_path / "out" / "_writing").symlink_to(tmp_path / "precious")
    with pytest.raises(nr.ExportError, match="_writing is a link, or inside one, which no export makes"):
        scan_of(memory).export(tmp_path / "out")
    assert (tmp_path / "precious" / "kept").exists()


def test_a_link_in_place_of_a_folder_of_a_partition_leads_nowhere(memory: MemoryStorage, tmp_path: Path) -> None:
    stopped(memory, tmp_path / "out", **PARTED)
    (tmp_path / "elsewhere").mkdir()
    for folder in [path for path in (tmp_path / "out").iterdir() if path.name.startswith("topic=")]:
        folder.rename(tmp_path / "elsewhere" / folder.name)
        folder.symlink_to(tmp_path / "elsewhere" / folder.name)
    before = sorted((tmp_path / "elsewhere").rglob("*"))
    with pytest.raises(nr.ExportError, match="is a link, or inside one"):
        scan_of(memory).export(tmp_path / "out", **PARTED)
    assert sorted((tmp_path / "elsewhere").rglob("*")) == before


def test_a_file_that_was_overwritten_with_as_many_bytes_was_taken_for_whole(memory: MemoryStorage, tmp_path: Path) -> None:
    (file, *_) = stopped(memory, tmp_path)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(nr.ExportError, match=f"{file.name} was changed or deleted after it was written. Export to another folder"):
        scan_of(memory).export(tmp_path)


@pytest.mark.parametrize(("name", "text"), [(b"out\xff", "the name of this folder is not UTF-8"), (b"a\0b", "no folder can have this")])
def test_a_folder_with_a_name_that_is_not_utf8_was_a_traceback(memory: MemoryStorage, tmp_path: Path, name: bytes, text: str) -> None:
    with pytest.raises(nr.OptionError, match=text):
        scan_of(memory).export(os.path.join(os.fspath(tmp_path), os.fsdecode(name)))
    assert list(tmp_path.iterdir()) == []


def test_other_options_are_said_before_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = in_memory(files_of(log_of(20)))
    nr.open(memory.url).messages(columns="topic").export(tmp_path)
    monkeypatch.setattr(manifest, "version", lambda: "0.0.1")
    with pytest.raises(nr.OptionError, match=r"holds an export of version '.*'; this is '0\.0\.1'"):
        nr.open(memory.url).messages(columns="topic").export(tmp_path)
    with pytest.raises(nr.OptionError, match="columns"):
        nr.open(memory.url).messages(columns="body").export(tmp_path)
