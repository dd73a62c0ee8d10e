"""What `diff` says of the epochs of two replicas, and `doctor` of those of one."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.golden import unpack
from support.own_stores import STORES
from support.stores import files_of, log_of, message, on_disk

import native_reader as nr

EPOCHS = "epochFileCheckpoint"
SECOND = 84_121
"""Where the second epoch of the real store begins."""


def content(rows: Sequence[str]) -> bytes:
    lines = "".join(f"{row}\n" for row in rows).encode()
    return f"{len(rows)}\n{zlib.crc32(lines) & 0x7FFFFFFF}\n".encode() + lines


def replica(folder: Path, first: int, second: int, *epochs: str) -> tuple[Path, int]:
    """A log with so many records that all replicas have, and others. Returns the store, and where the others begin."""
    log = log_of(
        [
            message(number, store_timestamp=1_700_000_000_000 + number + (0 if number < first else second))
            for number in range(first + second)
        ]
    )
    root = on_disk(folder, files_of(log)) / "store"
    if epochs:
        (root / EPOCHS).write_bytes(content(epochs))
    return root, log.placed[first].offset


def kinds(one: Path, other: Path, **options: object) -> set[str]:
    found = nr.diff(one, other, **options)
    found.to_table()
    return {each.kind for each in found.said() if "epoch" in each.kind}


def said(store: Path) -> list[str]:
    found = nr.open(store).diagnose()
    return [each.kind for each in (*found.losses, *found.harmless) if each.kind.startswith("epoch")]


def test_the_logs_part_where_their_epochs_do(tmp_path: Path) -> None:
    """The old master wrote on in epoch 1 when the new one wrote in epoch 3."""
    _, at = replica(tmp_path / "x", 20, 5)
    one, other = replica(tmp_path / "a", 20, 5, "1-0")[0], replica(tmp_path / "b", 20, 9, "1-0", f"3-{at}")[0]
    found = nr.diff(one, other)
    found.to_table()
    assert found.parted_at == at
    lines = list(found.lines())
    assert f"b: by {EPOCHS}, masters wrote the log from these offsets on: 0 (epoch 1), {at:,} (epoch 3)" in lines
    here = next(number for number, line in enumerate(lines) if line.startswith("by these epochs"))
    assert f"up to offset {at:,}, in epoch 1" in lines[here]
    assert lines[here + 1] == "their records say the same"


def test_epochs_that_the_records_contradict(tmp_path: Path) -> None:
    _, at = replica(tmp_path / "x", 20, 5)
    one = replica(tmp_path / "a", 20, 5, "1-0")[0]
    other = replica(tmp_path / "b", 20, 9, "1-0", f"3-{at + 900}")[0]
    assert kinds(one, other) == {"epochs of side", "epochs share", "before epochs"}
    assert "before epochs" not in kinds(one, other, topic="none")
    (other / EPOCHS).write_bytes(content(["1-0", "3-300"]))
    assert kinds(one, other) == {"epochs of side", "epochs share", "after epochs"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (["1-0"], ["2-0"], {"epochs of side", "epochs share none"}),
        (["1-0"], [], {"epochs of side", "no epochs"}),
        ([], [], set()),
        (["1-0", "x-4"], ["1-0"], {"no epochs that count", "epochs of side"}),
    ],
)
def test_what_is_said_without_a_common_epoch(tmp_path: Path, first: list[str], second: list[str], expected: set[str]) -> None:
    one, other = replica(tmp_path / "a", 20, 5, *first)[0], replica(tmp_path / "b", 20, 9, *second)[0]
    assert kinds(one, other) == expected


def test_a_slave_that_lags_agrees(tmp_path: Path) -> None:
    one, other = unpack("5.5.0-failover", tmp_path / "a", STORES).root, unpack("5.5.0-failover", tmp_path / "b", STORES).root
    assert kinds(one, other) == {"epochs of side", "epochs share", "as epochs"}
    last = sorted((other / "commitlog").iterdir())[-1]
    last.unlink()
    assert kinds(one, other) == {"epochs of side", "epochs share", "as epochs"}


def test_doctor_names_epochs_that_cannot_be(tmp_path: Path) -> None:
    store = unpack("5.5.0-failover", tmp_path, STORES).root
    assert said(store) == []
    end = nr.open(store).diagnose().facts["commitlog"]["end_offset"]
    shutil.copy(store / EPOCHS, store / f"{EPOCHS}.bak")
    for rows, kind in (
        (["1-0", f"5-{end + 1}"], "epoch after log"),
        (["1-0", "5-7"], "epoch without record"),
        (["1-0", f"5-{SECOND}", "6-9"], "epoch back"),
    ):
        (store / EPOCHS).write_bytes(content(rows))
        assert said(store) == [kind]
    (store / EPOCHS).write_bytes(b"3\n0\n1-0\n")
    assert said(store) == ["epochs of backup"]
    (store / f"{EPOCHS}.bak").unlink()
    assert said(store) == ["epochs damaged"]
