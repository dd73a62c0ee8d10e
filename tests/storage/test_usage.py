"""How large a store is on its disk, by part."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.stores import in_memory, on_disk
from support.verified import healthy

import native_reader as nr
from native_reader.storage import protocol
from native_reader.storage.usage import Usage, disk_of, usage_of


def blocks(path: Path) -> int:
    """What a directory takes with all below it."""
    return sum(each.stat().st_blocks * 512 for each in (path, *path.rglob("*")))


def test_a_local_store_takes_its_blocks_and_its_parts_add_up(tmp_path: Path) -> None:
    root = on_disk(tmp_path, healthy()[1]) / "store"
    (root / "index" / "20300101000000000").touch()
    os.truncate(root / "index" / "20300101000000000", 1 << 30)
    (root / "timerlog").mkdir()
    (root / "timerlog" / "0").write_bytes(bytes(10_000))
    found = usage_of(nr.open(root).stores)
    assert (found.log, found.queues, found.index) == tuple(blocks(root / name) for name in ("commitlog", "consumequeue", "index"))
    assert found.total == blocks(root)
    assert found.is_whole
    assert found.total < 1 << 30


def test_parts_that_are_elsewhere_count_and_links_below_do_not(tmp_path: Path) -> None:
    root = on_disk(tmp_path, healthy()[1]) / "store"
    shutil.move(root / "index", tmp_path / "elsewhere")
    (root / "index").symlink_to(tmp_path / "elsewhere")
    (root / "config" / "up").symlink_to(tmp_path)
    found = usage_of(nr.open(root).stores)
    assert found.index == blocks(tmp_path / "elsewhere")
    assert found.total < blocks(tmp_path) + (1 << 20)


def test_a_path_to_the_log_alone_has_no_other_part(tmp_path: Path) -> None:
    root = on_disk(tmp_path, {f"log/{path.rpartition('/')[2]}": each for path, each in healthy()[1].items() if "commitlog" in path})
    assert usage_of(nr.open(root / "log").stores) == Usage(blocks(root / "log"), 0, 0, 0)


def test_another_storage_has_sizes_and_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    files = healthy()[1]
    memory = in_memory(files)
    stores = nr.open(f"{memory.url}/store").stores
    found = usage_of(stores)
    assert found.total == sum(map(len, files.values()))
    assert found.queues == sum(len(each) for path, each in files.items() if "/consumequeue/" in path)
    assert disk_of(stores) is None
    monkeypatch.setattr(protocol, "_MOST_LISTED", 2)
    assert usage_of(stores) == replace(found, queues=None)
    assert not usage_of(stores).is_whole


def test_the_disk_is_the_one_with_the_newest_segment(tmp_path: Path) -> None:
    root = on_disk(tmp_path, healthy()[1]) / "store"
    disk, expected = disk_of(nr.open(root).stores), shutil.disk_usage(root)
    assert disk is not None
    assert disk.size == expected.total
    assert disk.free == pytest.approx(expected.free, rel=0.1)
    assert disk_of(()) is None
