"""A store that changes while it is checked, and the progress of a check."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.locks import held
from support.stores import ZERO, files_of, in_memory, log_of, message, on_disk
from support.verified import healthy

import native_reader as nr


def checked(root: Path, name: str, size: int | None, **options: Any) -> list[str]:
    """The codes that a check finds if that file is deleted, or cut to a size, once the first part is done."""

    def change(_: object) -> None:
        if not changes:
            changes.append(name)
            (root / name).unlink() if size is None else os.truncate(root / name, size)

    changes: list[str] = []
    found = nr.open(root / "store").table("findings", **options).to_table(progress=change)
    assert changes == [name]
    return [str(each) for each in found["code"].to_pylist()]


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is reported at each opportunity."""
    monkeypatch.setattr("native_reader.scan.progress._EVERY", 0)


@pytest.fixture
def store(tmp_path: Path) -> tuple[Path, str]:
    """A healthy store, and a segment in its middle."""
    _, files = healthy()
    names = sorted(name for name in files if "commitlog" in name)
    assert len(names) > 3
    return on_disk(tmp_path, files), names[len(names) // 2]


@pytest.mark.usefixtures("often")
def test_a_segment_that_is_deleted_meanwhile_ends_the_check(store: tuple[Path, str]) -> None:
    with pytest.raises(nr.DataLoss, match=store[1]) as raised:
        checked(*store, size=None)
    assert raised.value.is_file_gone


@pytest.mark.usefixtures("often")
def test_a_segment_that_is_deleted_meanwhile_can_be_ignored(store: tuple[Path, str]) -> None:
    assert "log-damage" not in checked(*store, size=None, ignore_missing_files=True)


@pytest.mark.usefixtures("often")
def test_a_running_broker_may_delete_a_segment_meanwhile(store: tuple[Path, str]) -> None:
    lock = store[0] / "store" / "lock"
    lock.touch()
    with held(lock):
        assert "log-damage" not in checked(*store, size=None)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("ignored", [False, True])
def test_a_segment_that_is_cut_meanwhile_ends_the_check(store: tuple[Path, str], ignored: bool) -> None:
    with pytest.raises(nr.DataLoss, match="It was truncated since then"):
        checked(*store, size=300, ignore_missing_files=ignored)


@pytest.mark.usefixtures("often")
def test_the_progress_of_one_large_segment_has_steps() -> None:
    """Chunks have 4 MiB: whoever waits for a segment of 1 GiB sees how far it is."""
    files = files_of(log_of([message(number, body=b"x" * 100_000) for number in range(200)], 32 << 20))
    assert [name for name in files if "commitlog" in name] == [f"store/commitlog/{ZERO}"]
    memory, seen = in_memory(files), list[Any]()
    nr.open(f"{memory.url}/store").verify().to_table(progress=seen.append)
    shares = [each.share for each in seen]
    assert shares == sorted(shares)
    assert len({share for share in shares if 0.1 < share < 0.9}) >= 3
