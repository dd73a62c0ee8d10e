"""`epochs`: from where on each master of a group wrote the log."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from support.golden import unpack
from support.own_stores import STORES

import native_reader as nr
from native_reader.broker.epochs import EPOCHS, epochs_in
from native_reader.errors import StoreDamaged

SECOND = 84_121
"""Where the second epoch of the store begins, by its broker."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return unpack("5.5.0-failover", tmp_path, STORES).root


def content(*rows: str, crc: int | None = None, count: int | None = None) -> bytes:
    """A file as a broker writes it, or with another checksum or count."""
    lines = "".join(f"{row}\n" for row in rows).encode()
    right = zlib.crc32(lines) & 0x7FFFFFFF
    return f"{len(rows) if count is None else count}\n{right if crc is None else crc}\n".encode() + lines


def rows_of(store: Path, *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in nr.open(store).table("epochs", columns=columns).to_table().to_pylist()]


def test_each_epoch_of_a_store_after_a_failover(store: Path) -> None:
    end = nr.open(store).diagnose().facts["commitlog"]["end_offset"]
    assert rows_of(store, "epoch", "begin_offset", "end_offset", "state", "file") == [
        (1, 0, SECOND, "ok", (store / EPOCHS).as_uri()),
        (5, SECOND, end, "ok", (store / EPOCHS).as_uri()),
    ]
    messages = nr.open(store).messages(columns="physical_offset,store_timestamp").to_table().to_pylist()
    times = {row["physical_offset"]: row["store_timestamp"] for row in messages}
    assert rows_of(store, "begin_offset", "first_store_timestamp") == [(at, times[at]) for at in (0, SECOND)]


def test_epochs_that_do_not_fit_the_log_are_told_apart(store: Path) -> None:
    end = nr.open(store).diagnose().facts["commitlog"]["end_offset"]
    begins = (0, 7, SECOND, SECOND, 9, end, end + 1)
    (store / EPOCHS).write_bytes(content(*(f"{number}-{begin}" for number, begin in enumerate(begins))))
    assert rows_of(store, "epoch", "state") == list(enumerate(("ok", "no record", "empty", "back", "back", "no record", "after log")))
    (store / EPOCHS).write_bytes(content(f"1-{end}"))
    assert rows_of(store, "epoch", "state") == [(1, "empty")]
    (store / "commitlog" / f"{0:020d}").unlink()
    (store / EPOCHS).write_bytes(content("1-0", f"5-{SECOND}"))
    assert rows_of(store, "epoch", "state") == [(1, "expired"), (5, "ok")]


@pytest.mark.parametrize(
    "damaged",
    [
        b"", b"\n\n", content("1-0", crc=5), content("1-0", count=2), content("1-0", "x-4"), content("1-0-3"), content("1"),
        b"0" * 5000, b"1\n0\n1-" + b"9" * 20, b"1\n0\n1--5\n", bytes(100), b"\xff" * 100,
    ],
)  # fmt: skip
def test_a_damaged_file_and_its_backup(store: Path, damaged: bytes) -> None:
    backup = store / f"{EPOCHS}.bak"
    backup.write_bytes(content("1-0"))
    (store / EPOCHS).write_bytes(damaged)
    assert epochs_in(damaged) is None
    assert rows_of(store, "epoch", "file") == [(1, backup.as_uri())]
    backup.unlink()
    with pytest.raises(StoreDamaged, match=f"{EPOCHS} is damaged: its count or its checksum is wrong"):
        rows_of(store, "epoch")


def test_a_file_without_a_checksum_counts() -> None:
    assert epochs_in(content("1-0", "5-377033", crc=0)) == ((1, 0), (5, 377_033))
    assert epochs_in(b"2\n1003832059\n1-0\n5-377033\n") == ((1, 0), (5, 377_033))


def test_a_store_without_a_controller_has_none(tmp_path: Path) -> None:
    assert rows_of(unpack("5.5.0-killed", tmp_path, STORES).root, "epoch") == []
