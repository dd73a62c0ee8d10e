"""A file of the log that looks random is not read: what was in it may still be had."""

from __future__ import annotations

import zlib
from pathlib import Path
from random import Random

import pytest
from support.golden import unpack
from support.own_stores import STORES
from support.store_damages import records, segments
from support.tune import Tune

import native_reader as nr
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

SIZE = 65536
SEALED = Random(1).randbytes(SIZE)
PACKED = zlib.compress(Random(2).randbytes(SIZE))[:SIZE]


def checked(tmp_path: Path, content: bytes, at: int = 0) -> tuple[dict[str, int], set[str], int]:
    """The states of messages, the codes of findings about the log, and how many messages were in the file."""
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    path = segments(store)[1]
    messages = len(records(path))
    path.write_bytes((path.read_bytes()[:at] + content)[:SIZE])
    check = nr.open(store).verify()
    codes = set(check.to_table()["code"].to_pylist())
    return dict(check.account.messages), {code for code in codes if code.startswith("log-")}, messages


@pytest.mark.parametrize("content", [SEALED, PACKED], ids=["encrypted", "compressed"])
def test_messages_of_a_file_that_looks_random_are_not_read(tmp_path: Path, content: bytes) -> None:
    states, codes, messages = checked(tmp_path, content)
    assert states == {"served": 800 - messages, "not read": messages}
    assert "log-encrypted" in codes


@pytest.mark.parametrize("content", [bytes(SIZE), b"<html>" * SIZE, bytes(range(256)) * 8 + bytes(SIZE)], ids=["zeros", "text", "a page"])
def test_other_bytes_are_damage(tmp_path: Path, content: bytes) -> None:
    states, codes, messages = checked(tmp_path, content)
    assert states == {"served": 800 - messages, "lost": messages}
    assert "log-encrypted" not in codes


def test_random_bytes_after_records_are_damage(tmp_path: Path) -> None:
    states, codes, _ = checked(tmp_path, SEALED, at=8192)
    assert "not read" not in states
    assert "log-encrypted" not in codes


def test_records_after_random_bytes_make_them_damage_however_far_they_are(tmp_path: Path, tune: Tune) -> None:
    """The first of the ranges that are compared at once had no record, so all damage of the file counted as not read."""
    write_store(tmp_path / "store", StoreSpec(bytes=2 << 20, mapped_file_size_commit_log=2 << 20, index=False))
    path = segments(tmp_path / "store")[0]
    path.write_bytes(Random(3).randbytes(1 << 20) + path.read_bytes()[1 << 20 :])
    expected = nr.open(tmp_path / "store").verify()
    assert "log-encrypted" not in expected.to_table()["code"].to_pylist()
    tune(verified_at_once=1)
    check = nr.open(tmp_path / "store").verify()
    assert check.to_table()["code"].to_pylist() == expected.to_table()["code"].to_pylist()
    assert check.account.messages == expected.account.messages
    assert expected.account.messages.keys() == {"served", "lost"}
