"""Links share with the damaged store only what nothing changes, and what no broker writes to."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import contents
from support.store_damages import DAMAGES, Damage

import native_reader as nr
from native_reader.repair import disk


def shared(store: Path, new: Path) -> set[str]:
    own = {path.stat().st_ino for path in store.rglob("*") if path.is_file()}
    return {str(path.relative_to(new)) for path in new.rglob("*") if path.is_file() and path.stat().st_ino in own}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
def test_the_same_store_as_with_copies(tmp_path: Path, damage: Damage) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    damage(store, Random(1))
    before = contents(store)
    done = nr.open(store).repair(tmp_path / "linked", link=True)
    nr.open(store).repair(tmp_path / "copied")
    pages = {"repair.json", "repair.md"}
    linked, copied = (
        {name: each for name, each in contents(tmp_path / kind).items() if name not in pages} for kind in ("linked", "copied")
    )
    assert linked == copied
    assert contents(store) == before
    found = shared(store, tmp_path / "linked")
    segments = sum(name.startswith("commitlog") for name in found)
    assert f"**Shared with the damaged store:** {segments} segment" in (tmp_path / "linked" / "repair.md").read_text()
    changed = {f"commitlog/{hole.start // 65536 * 65536:020d}" for hole in done.plan.shape.holes}
    ends = {f"commitlog/{base:020d}" for base in done.plan.shape.bases if base + 65536 > done.plan.end}
    assert {name for name in found if name.startswith("commitlog")}.isdisjoint(changed | ends)
    assert {name.partition("/")[0] for name in found} <= {"commitlog", "consumequeue"}
    assert any(name.startswith("commitlog") for name in found)
    for queue in {path.parent for path in (tmp_path / "linked" / "consumequeue").glob("*/*/*")}:
        assert str(max(queue.iterdir()).relative_to(tmp_path / "linked")) not in found
    assert not shared(store, tmp_path / "copied")


def test_a_linked_file_is_never_written_to(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"as it was")
    disk.link(str(tmp_path / "old"), str(tmp_path / "new"))
    with disk.changed(str(tmp_path / "new"), 9) as file:
        disk.put(file, 0, b"other")
    assert (tmp_path / "old").read_bytes() == b"as it was"
    assert (tmp_path / "new").read_bytes() == b"other was"
    assert sorted(os.listdir(tmp_path)) == ["new", "old"]


def test_links_on_another_disk_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    monkeypatch.setattr(disk, "is_beside", lambda file, path: False)
    with pytest.raises(nr.RepairError, match=r"a file cannot be in two file systems: .* leave out --link"):
        nr.open(store).repair(tmp_path / "new", link=True)
    assert not list(tmp_path.glob("new*"))
