"""Where a broker's recovery would truncate a log: the result of `segments`, and of RocketMQ's own store class."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pytest
from rocketmq import Java
from support.golden import unpack
from support.own_stores import STORES

import native_reader as nr


def whole(log: list[Path]) -> None:
    """The store stays unchanged."""


def a_page_of_zeros(log: list[Path]) -> None:
    patch(log[2], 20480, bytes(4096))


def a_flipped_bit_in_a_body(log: list[Path]) -> None:
    patch(log[3], 30_000, bytes([log[3].read_bytes()[30_000] ^ 4]))


def a_flipped_bit_in_a_size(log: list[Path]) -> None:
    at = log[4].read_bytes().index(b"\xda\xa3\x20\xa7", 20_000)
    patch(log[4], at - 1, b"\x77")


def a_blank_too_early(log: list[Path]) -> None:
    """A broker accepts any blank as the end of its file, and continues with the next one."""
    at = log[4].read_bytes().index(b"\xda\xa3\x20\xa7", 20_000)
    patch(log[4], at - 4, (5).to_bytes(4, "big") + b"\xcb\xd4\x31\x94")


def a_record_with_another_physical_offset(log: list[Path]) -> None:
    """A broker does not check its physical offset."""
    at = log[3].read_bytes().index(b"\xda\xa3\x20\xa7", 20_000)
    patch(log[3], at + 24, (77).to_bytes(8, "big"))


def an_overwritten_start(log: list[Path]) -> None:
    patch(log[4], 0, b"\xff" * 100)


def patch(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


FAULTS = (
    whole, a_page_of_zeros, a_flipped_bit_in_a_body, a_flipped_bit_in_a_size, a_blank_too_early, a_record_with_another_physical_offset,
    an_overwritten_start,
)  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_killed_brokers_log(rocketmq: Callable[[str], Java], tmp_path: Path, fault: Callable[[list[Path]], None]) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES)
    fault(sorted((store.root / "commitlog").iterdir()))
    said = pc.min(nr.open(store.root).table("segments").to_table()["broker_end"]).as_py()

    settings = json.loads((store.folder / "settings.json").read_text())
    home = tmp_path / "java"
    shutil.copytree(store.root, home / "store")
    (home / "conf").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    (home / "keys").write_text("")
    lines = rocketmq("5.5.0").run("Load", home / "store", home / "conf", home / "keys", home=home)
    (loaded,) = [line for line in lines if "loaded" in line]
    assert said == loaded["end"]
    kept = nr.open(store.root).messages(mode="DROPMALFORMED", ending_physical_offset=said).count_rows()
    ours = nr.open(store.root).messages(mode="DROPMALFORMED").count_rows()
    assert (ours > kept) == (fault not in (whole, a_blank_too_early, a_record_with_another_physical_offset))
