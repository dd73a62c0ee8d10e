"""Limits on the cost of a damaged store: bytes read, memory and open files. The store itself stays unchanged."""

from __future__ import annotations

import gc
import hashlib
import os
import struct
import subprocess
import tracemalloc
from pathlib import Path

import pytest
from support.faults import ordinary
from support.open_files import open_files
from support.stores import ZERO, files_of, in_memory, log_of, on_disk

import native_reader as nr
from native_reader.tables import TABLES
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.logs import CommitLog
from native_reader.testing.records import encode

MIB = 1 << 20


def looked_at(content: bytes, **options: object) -> tuple[int, int, int]:
    """Rows, bytes read and calls for one pass over a segment of those bytes."""
    memory = in_memory({f"store/commitlog/{ZERO}": content})
    faulty = FaultyStorage(memory.url)
    scan = nr.open(faulty.url).messages(columns="physical_offset", mode="DROPMALFORMED", **options)
    return scan.to_table().num_rows, faulty.bytes_read, faulty.calls["read"]


def broken_chain(size: int) -> bytes:
    """Whole records. Between any two, a head with the right offset claims to extend far, so a search must check each."""
    content = bytearray()
    while len(content) < size:
        content += encode(ordinary(1), len(content))
        head = bytearray(encode(ordinary(2), len(content))[:92])
        struct.pack_into(">i", head, 0, 100_000)
        content += head
    return bytes(content)


def test_bytes_that_break_the_chain_at_every_record_are_read_in_linear_time() -> None:
    rows, read, calls = looked_at(broken_chain(MIB // 2))
    assert rows > 1500
    more_rows, more_read, more_calls = looked_at(broken_chain(MIB))
    assert more_rows > 1.9 * rows
    assert more_read < 3.2 * read  # in the smaller one the claims extend past the end, so it costs more than in proportion
    assert more_read < 400 * MIB
    assert more_calls < 3.2 * calls


FILLERS = [b"\xda\xa3\x20\xa7", b"\xda\xa3\x20\xab\x00", b"\xcb\xd4\x31\x94", b"\xff", b"\x00\x00\x00\x5c\xda\xa3\x20\xa7"]


@pytest.mark.parametrize("filler", FILLERS)
def test_magics_everywhere_are_read_in_linear_time(filler: bytes) -> None:
    log = CommitLog(4 * MIB)
    log.append(ordinary(0))
    start = bytes(log.segments(preallocated=False)[0][1])
    content = start + (filler * (4 * MIB // len(filler)))[: 2 * MIB]
    end = encode(ordinary(1), len(content))
    rows, read, calls = looked_at(content + end)
    assert rows == 2
    assert read < 12 * len(content)
    assert calls < 100


def test_much_damage_takes_no_more_memory_than_its_list() -> None:
    content = bytearray(files_of(log_of(20_000, 8 * MIB))[f"store/commitlog/{ZERO}"])
    for place in range(3000, 5 * MIB, 400):
        content[place : place + 120] = os.urandom(120)
    memory = in_memory({f"store/commitlog/{ZERO}": bytes(content)})
    tracemalloc.start()
    run = nr.open(memory.url).messages(mode="PERMISSIVE", columns="physical_offset,corrupt_reason").run()
    for _ in run:
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(run.report.damage) > 1000
    assert peak < 40 * MIB


@pytest.mark.parametrize("mode", ["FAILFAST", "DROPMALFORMED", "PERMISSIVE"])
def test_no_file_stays_open_whatever_is_wrong(tmp_path: Path, mode: str) -> None:
    files = files_of(log_of(100))
    names = sorted(files)
    broken = bytearray(files[names[2]])
    broken[300:900] = bytes(600)
    store = on_disk(tmp_path, files | {names[2]: bytes(broken), names[-1]: files[names[-1]][:500]}) / "store"
    for jobs in (1, 4):
        for _ in range(3):
            run = nr.open(store).messages(mode=mode, max_partition_bytes=700, columns="body,corrupt_reason").run(jobs)
            try:
                for _, _batch in zip(range(5 if jobs == 1 else 100), run, strict=False):
                    pass
            except nr.StoreDamaged:
                assert mode == "FAILFAST"
            del run
    for table in TABLES:
        nr.open(store).table(table).to_table(jobs=3)
    gc.collect()
    assert open_files("commitlog", "store") == []


def digest(store: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(store.rglob("*")):
        status = path.stat()
        found.update(f"{path} {status.st_mode} {status.st_mtime_ns} {status.st_size} {status.st_ino}".encode())
        found.update(path.read_bytes() if path.is_file() else b"")
    return found.hexdigest()


def everything(store: Path) -> list[int]:
    rows = [nr.open(store).messages(mode=mode, columns="*", verify_crc=True).count_rows() for mode in ("DROPMALFORMED", "PERMISSIVE")]
    return rows + [len(nr.open(store).table(table).to_table()) for table in TABLES]


def test_a_damaged_store_is_left_unchanged(tmp_path: Path) -> None:
    files = files_of(log_of(100))
    name = sorted(files)[1]
    store = (
        on_disk(tmp_path, files | {name: files[name][:700] + bytes(400) + files[name][1100:], "store/abort": b"", "store/lock": b""})
        / "store"
    )
    before = digest(store)
    everything(store)
    assert digest(store) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can mount: the CI of this project is root")
def test_a_store_on_a_read_only_mount(tmp_path: Path) -> None:
    on_disk(tmp_path / "disk", files_of(log_of(60)))
    (tmp_path / "mounted").mkdir()
    mounted = subprocess.run(["mount", "--bind", tmp_path / "disk", tmp_path / "mounted"], capture_output=True, check=False)
    if mounted.returncode:  # a container without the right to mount: check the same another way
        pytest.skip(f"this machine does not let anybody mount: {mounted.stderr.decode().strip()}")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", tmp_path / "mounted"], check=True)
        with pytest.raises(OSError, match="Read-only file system"):
            (tmp_path / "mounted" / "x").touch()
        assert everything(tmp_path / "mounted" / "store")[:2] == [60, 60]
    finally:
        subprocess.run(["umount", tmp_path / "mounted"], check=True)
