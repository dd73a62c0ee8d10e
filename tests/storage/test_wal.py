"""Logs of RocksDB databases: damage in one is seen, the torn end of a killed broker is none."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rocksdict

import native_reader as nr
from native_reader.broker.databases import databases_of
from native_reader.storage.rocksdb import early_end, open_database
from native_reader.storage.wal import damage_in


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A write-ahead log with records of all sizes, also with some that go over several blocks."""
    return next(iter(copied_database(tmp_path_factory.mktemp("wal"), entries(400)).glob("*.log"))).read_bytes()


def entries(count: int) -> list[tuple[bytes, bytes]]:
    generator = random.Random(3)
    sizes = (3, 100, 900, 10, 4000, 70_000)
    return [(b"key%d" % number, generator.randbytes(generator.choice(sizes))) for number in range(count)]


def copied_database(folder: Path, rows: list[tuple[bytes, bytes]]) -> Path:
    """A database as a killed broker leaves it: all entries are in the write-ahead log."""
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    database = rocksdict.Rdict(str(folder / "open"), options)
    for key, value in rows:
        database[key] = value
    database.flush_wal(True)
    shutil.copytree(folder / "open", folder / "copy")
    database.close()
    return folder / "copy"


def damage_of(path: Path, content: bytes) -> int | None:
    path.write_bytes(content)
    return damage_in(path.as_uri())


def test_a_whole_log_and_its_torn_ends_are_no_damage(log: bytes, tmp_path: Path) -> None:
    assert damage_of(tmp_path / "log", log) is None
    generator = random.Random(5)
    for _ in range(20):
        cut = log[: generator.randrange(1, len(log))]
        assert damage_of(tmp_path / "log", cut) is None
        assert damage_of(tmp_path / "log", cut + bytes(4096)) is None


def test_a_changed_bit_is_damage(log: bytes, tmp_path: Path) -> None:
    """Also in the last record, and in a length, which no checksum covers."""
    generator = random.Random(7)
    whole = log[: 32 << 10]  # blocks are whole
    for place in [*(generator.randrange(len(whole) - 8) for _ in range(60)), *range(7)]:
        changed = bytearray(whole)
        changed[place] ^= 1 << generator.randrange(8)
        offset = damage_of(tmp_path / "log", bytes(changed))
        assert offset is not None
        assert offset <= place


def test_a_block_of_zeros_between_records_is_damage(log: bytes, tmp_path: Path) -> None:
    assert damage_of(tmp_path / "log", log[:4096] + bytes(4096) + log[8192:]) is not None


def test_the_newest_changes_of_a_database_were_missing_without_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = entries(300)
    copy = copied_database(tmp_path, rows)
    with open_database(copy.as_uri()) as database:
        assert len(list(database.items())) == len(rows)
    assert early_end(copy.as_uri()) is None
    assert not caplog.records
    (log,) = (each for each in copy.glob("*.log") if each.stat().st_size)
    content = bytearray(log.read_bytes())
    content[len(content) // 3] ^= 0x40
    log.write_bytes(content)
    said = early_end(copy.as_uri())
    assert said is not None
    assert log.name in said.text()
    with open_database(copy.as_uri()) as database:
        assert 0 < len(list(database.items())) < len(rows)
    (record,) = caplog.records
    assert record.is_loss
    assert record.getMessage() == said.text()


CONSUMER_OFFSETS = "config/consumerOffsets"


@pytest.fixture
def damaged(golden_store: Callable[[str], Any], tmp_path: Path) -> Path:
    """A store whose consumer offsets are in a write-ahead log that is damaged."""
    store: Path = golden_store("v5-rocksdb-cq").root
    with open_database((store / CONSUMER_OFFSETS).as_uri()) as database:
        rows = list(database.items())
    shutil.copytree(store, tmp_path / "store")
    shutil.rmtree(tmp_path / "store" / CONSUMER_OFFSETS)
    copied_database(tmp_path, rows).rename(tmp_path / "store" / CONSUMER_OFFSETS)
    (log,) = (each for each in (tmp_path / "store" / CONSUMER_OFFSETS).glob("*.log") if each.stat().st_size)
    content = bytearray(log.read_bytes())
    content[len(content) // 3] ^= 0x40
    log.write_bytes(content)
    return tmp_path / "store"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "rmqstore", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_each_face_says_that_a_database_ends_early(damaged: Path) -> None:
    for command in (("lag", damaged), ("tables", damaged, "consumer_offsets"), ("doctor", damaged), ("verify", damaged)):
        found = run(*command)
        assert found.returncode == 1, command
        assert f"{CONSUMER_OFFSETS} is damaged in" in found.stdout + found.stderr, command
    found = nr.open(damaged).verify().to_table().to_pylist()
    assert [row["severity"] for row in found if row["code"] == "database-ends-early"] == ["error"]
    assert run("doctor", damaged).stdout.count("is damaged in") == 1


def test_a_database_without_its_tables_was_taken_for_an_empty_one(golden_store: Callable[[str], Any], tmp_path: Path) -> None:
    shutil.copytree(golden_store("v5-rocksdb-cq").root, tmp_path / "store")
    for table in (tmp_path / "store/config/topics").glob("*.sst"):
        table.unlink()
    (store,) = nr.open(tmp_path / "store").stores
    (topics,) = (each for each in databases_of(store) if each.uri.endswith("topics"))
    assert topics.holds is None
    assert topics.found is not None
    found = nr.open(tmp_path / "store").verify().to_table().to_pylist()
    assert [row["severity"] for row in found if row["code"] == "database-unreadable"] == ["error"]
