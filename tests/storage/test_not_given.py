"""A storage that fails for one file, after its retries: the file is not read. It is neither lost nor damaged, and the others are read."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.golden import unpack
from support.own_stores import STORES
from support.store_damages import segments

import native_reader as nr
from native_reader.start import UNKNOWN
from native_reader.storage.protocol import StoredFile
from native_reader.testing.faulty import FaultyFile, FaultyStorage

KEPT = 900_000
"""Hours that no message of the stores is older than."""
MESSAGES = 800
_HALF = 32 << 10
_WHY = "the network is slow"
_OF_A_LOSS = ("lost", "gone", "deleted", "damaged", "another broker", "expired", "no record", "empty")
_CODES_OF_A_LOSS = ("log-lost", "log-damage", "log-truncated-by-start", "record-without-entry", "config-damaged", "queue-of-unknown-topic")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("5.5.0-killed", tmp_path_factory.mktemp("stores"), STORES).root


def segment(root: Path) -> Path:
    return segments(root)[2]


def last(root: Path) -> Path:
    return segments(root)[-2]


def queue(root: Path) -> Path:
    return next(path for path in sorted((root / "consumequeue").rglob("*")) if path.is_file() and path.parts[-3] == "Plain")


def settings(root: Path) -> Path:
    return root / "config" / "topics.json"


CASES: dict[str, tuple[Callable[[Path], Path], str, int]] = {
    "a segment": (segment, "open", 0),
    "the last segment": (last, "open", 0),
    "a segment from a byte on": (segment, "read", _HALF),
    "a queue file": (queue, "read", 0),
    "topics.json": (settings, "read", 0),
}


class Failing(FaultyStorage):
    """A store of which one file cannot be opened, or not be read beyond a byte."""

    call_costs = 8 << 20

    def __init__(self, root: Path, path: Path, call: str, begin: int = 0, number: int | None = None) -> None:
        super().__init__(root.as_uri())
        self.file, self._call, self._begin, self._number = f"{self.url}/{path.relative_to(root)}", call, begin, number

    def error(self) -> OSError:
        return OSError(_WHY) if self._number is None else OSError(self._number, os.strerror(self._number))

    def _open(self, uri: str) -> StoredFile:
        file = super()._open(uri)
        if uri != self.file:
            return file
        if self._call == "open":
            raise self.error()
        assert isinstance(file, FaultyFile)
        return FailingFile(self, file, self._begin)


class FailingFile(FaultyFile):
    def __init__(self, storage: Failing, inner: FaultyFile, begin: int) -> None:
        super().__init__(storage, inner.uri, inner)
        self._failing, self._begin = storage, begin

    def _read(self, offset: int, view: memoryview) -> int:
        if offset + len(view) > self._begin:
            raise self._failing.error()
        return super()._read(offset, view)


@pytest.fixture(params=CASES)
def failed(store: Path, request: pytest.FixtureRequest) -> Failing:
    of, call, begin = CASES[request.param]
    return Failing(store, of(store), call, begin)


def test_doctor_raised_or_called_it_another_brokers(failed: Failing) -> None:
    storage, uri = failed, failed.file
    found = nr.open(storage.url).diagnose(file_reserved_time=KEPT)
    assert [each for each in found.findings if uri in each and _WHY in each] != []
    assert [each for each in found.findings for word in _OF_A_LOSS if word in each] == []
    assert found.start is not None
    assert (found.start.outcome, [each.cause.kind for each in found.start.reasons]) == (UNKNOWN, ["not given"])


def test_verify_raised_or_found_messages_that_no_consumer_gets(failed: Failing) -> None:
    storage, uri = failed, failed.file
    check = nr.open(storage.url).verify()
    codes = {row["code"] for row in check.to_table().to_pylist() if row["file"] is not None and uri.startswith(row["file"])}
    assert codes & {"log-unreadable", "queue-unreadable", "part-not-read"}
    assert not codes.intersection(_CODES_OF_A_LOSS)
    assert check.account.messages.keys() == {"served", "not read"}
    assert sum(check.account.messages.values()) == MESSAGES
    assert (check.account.lost, check.account.is_whole, check.account.knows_all) == (0, False, False)


def test_rescue_report_and_diff_raised(failed: Failing, store: Path, tmp_path: Path) -> None:
    storage = failed
    done = nr.open(storage.url).rescue(tmp_path / "rescue")
    assert done.account is not None
    assert (done.missing, done.is_whole, "not read" in done.account.messages) == (0, False, True)
    report = nr.open(storage.url).report(verify=True)
    assert report is not None
    found = nr.diff(nr.open(storage.url), nr.open(store))
    found.to_table()
    assert (found.is_clean, "not read" in found.accounts[0].messages) == (False, True)


def test_the_part_before_the_failure_is_read(store: Path) -> None:
    storage = Failing(store, segment(store), "read", _HALF)
    check = nr.open(storage.url).verify()
    check.to_table()
    closed = Failing(store, segment(store), "open")
    none = nr.open(closed.url).verify()
    none.to_table()
    assert none.account.messages["served"] < check.account.messages["served"] < MESSAGES


def test_a_read_of_messages_does_not_go_on_without_them(store: Path) -> None:
    """What a network does not give today, it gives tomorrow."""
    storage = Failing(store, segment(store), "open", number=errno.ETIMEDOUT)
    with pytest.raises(nr.UnreadableError):
        nr.open(storage.url).messages(mode="DROPMALFORMED", fail_on_data_loss=False).count_rows()


def test_a_storage_that_is_gone_is_an_error(store: Path) -> None:
    storage = FaultyStorage(store.as_uri())
    check = nr.open(storage.url).verify()

    def fault(*_: Any) -> None:
        raise OSError("the network is gone")

    storage.fault = fault
    with pytest.raises(nr.UnreadableError, match="the network is gone"):
        check.to_table()


@pytest.mark.parametrize("number", [0, 2, 5])
def test_an_encrypted_segment_is_neither_expired_nor_empty(store: Path, tmp_path: Path, number: int) -> None:
    """Bytes without a pattern, in a file of the full size: nothing in it is a record, and its messages are counted."""
    root = unpack("5.5.0-killed", tmp_path, STORES).root
    path = segments(root)[number]
    path.write_bytes(np.random.default_rng(number).bytes(path.stat().st_size))
    found = nr.open(root).diagnose(file_reserved_time=KEPT)
    assert f"{path.as_uri()} has no record where one must begin" in found.findings
    assert [each for each in found.findings for word in ("expired", "empty") if word in each] == []
    check = nr.open(root).verify()
    codes = {row["code"] for row in check.to_table().to_pylist() if row["file"] == path.as_uri()}
    assert "log-damage" in codes
    messages = check.account.messages
    assert (messages.keys() & {"expired", "deleted"}, messages["served"] + messages["not read"]) == (set(), MESSAGES)
    done = nr.open(root).rescue(tmp_path / "rescue")
    assert (done.exported.rows, done.missing, done.is_whole) == (messages["served"], check.account.lost, False)
