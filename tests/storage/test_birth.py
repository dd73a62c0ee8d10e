"""A file is identified by its inode and its birth time, if the system reports one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from support.stores import files_of, log_of, message, on_disk

import native_reader as nr
from native_reader.storage import linux, storage_of
from native_reader.storage.linux import may_be_one_file, statx_of
from native_reader.testing.records import Message

INODE = (1 << 64) - 1
SECOND = f"{2048:020}"
LOCAL = storage_of("file:///")


def made_again(path: Path, content: bytes) -> None:
    """Another file of that name with the same inode number. Skips the test if the file system gives another number."""
    inode = path.stat().st_ino
    time.sleep(0.05)  # the kernel's clock ticks every few milliseconds
    for _ in range(50):
        path.unlink()
        path.write_bytes(content)
        if path.stat().st_ino == inode:
            return
    pytest.skip("this file system does not reuse an inode at once")


def needs_births(path: Path) -> None:
    if LOCAL.entry(path.as_uri()).identity >> 64 == 0:
        pytest.skip("this system does not report birth times")


def without_statx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux, "SYSTEM_STATX", None)


def refused_statx(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under an old seccomp profile."""
    monkeypatch.setattr(linux, "SYSTEM_STATX", lambda *_: -1)


OLD_SYSTEMS = [without_statx, refused_statx]


def bodies(letter: bytes) -> list[Message]:
    return [message(number, body=letter * 20) for number in range(30)]


def test_a_new_segment_with_the_same_inode_is_another_file(tmp_path):
    """65 rows of another file were returned, because it reused the inode of the deleted one."""
    root = on_disk(tmp_path, files_of(log_of(bodies(b"A")))) / "store"
    needs_births(root)
    scan = nr.open(root).messages(columns="body")
    scan.plan()
    path = root / "commitlog" / SECOND
    made_again(path, files_of(log_of(bodies(b"B")))[f"store/commitlog/{SECOND}"])
    with pytest.raises(nr.DataLoss, match=rf"/{SECOND} was replaced by another file after the read was planned\. Load the store again"):
        scan.to_table()


def test_a_stream_detects_a_replaced_segment(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one")
    needs_births(path)
    before = LOCAL.entry(path.as_uri())
    made_again(path, b"two")
    assert LOCAL.entry(path.as_uri()).identity != before.identity


def test_an_identity_survives_changes_links_and_renames(tmp_path):
    """Brokers write into mapped files, and backups link them. Both leave the identity unchanged."""
    path = tmp_path / "file"
    path.write_bytes(bytes(4096))
    before = LOCAL.entry(path.as_uri()).identity
    assert before & INODE == path.stat().st_ino
    os.link(path, tmp_path / "backup")
    with path.open("r+b") as file:
        file.write(b"x")
    os.utime(path, (1, 1))
    path.chmod(0o400)
    path.rename(tmp_path / "moved")
    for name in ("moved", "backup"):
        assert LOCAL.entry(f"{tmp_path.as_uri()}/{name}").identity == before
        with LOCAL.open(f"{tmp_path.as_uri()}/{name}") as opened:
            assert opened.identity() == before
    assert {each.identity for each in LOCAL.list(tmp_path.as_uri())} == {before}


@pytest.mark.parametrize("old_system", OLD_SYSTEMS)
def test_without_statx_the_inode_is_the_identity(tmp_path, monkeypatch, old_system):
    root = on_disk(tmp_path, files_of() | {"store/empty/": b""}) / "store"
    (root / "loop").symlink_to(root / "loop")
    path = root / "commitlog" / SECOND
    with monkeypatch.context() as patched:
        old_system(patched)
        assert LOCAL.entry(path.as_uri()).identity == path.stat().st_ino
        listed = [(each.name, each.is_directory) for each in LOCAL.list(root.as_uri())]
        assert listed == [("commitlog", True), ("empty", True), ("loop", False)]
        assert LOCAL.entry(f"{root.as_uri()}/nothing") is None
        assert LOCAL.entry(f"{root.as_uri()}/a%00b") is None
        assert nr.open(root).messages().count_rows() == 30
        with LOCAL.open(path.as_uri()) as opened:
            assert opened.identity() == path.stat().st_ino


@pytest.mark.parametrize("old_system", OLD_SYSTEMS)
def test_a_machine_without_birth_times_reads_the_plan_of_one_with_them(tmp_path, monkeypatch, old_system):
    root = on_disk(tmp_path, files_of()) / "store"
    planned_here = nr.open(root).messages()
    planned_here.plan()
    with monkeypatch.context() as patched:
        old_system(patched)
        planned_there = nr.open(root).messages()
        planned_there.plan()
        assert planned_here.to_table().num_rows == 30
    assert planned_there.to_table().num_rows == 30


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (7, 7, True),
        (7, 8, False),
        (1 << 64 | 7, 1 << 64 | 7, True),
        (1 << 64 | 7, 2 << 64 | 7, False),
        (1 << 64 | 7, 7, True),
        (8, 1 << 64 | 7, False),
    ],
)
def test_inodes_decide_if_one_machine_has_no_birth_times(one, other, expected):
    assert may_be_one_file(one, other) is may_be_one_file(other, one) is expected


def test_a_path_with_a_nul_names_no_file(tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    assert LOCAL.entry(f"{tmp_path.as_uri()}/a%00b") is None


def test_an_old_library_has_no_statx():
    assert statx_of(object()) is None
