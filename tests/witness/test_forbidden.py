"""What this user may not open is not read. It is neither lost nor gone."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.golden import unpack
from support.own_stores import STORES
from support.store_damages import segments

import native_reader as nr
from native_reader.broker.unread import FORBIDDEN, unread_parts
from native_reader.doctor import Diagnosis
from native_reader.repair.records import Choices
from native_reader.repair.tiers import own_tier
from native_reader.start import UNKNOWN

KEPT = 900_000
"""Hours that no message of the stores is older than."""
_NOBODY = 65534
_OF_A_LOSS = ("lost", "gone", "deleted", "no consumerOffset", "no .bak")


@pytest.fixture
def store() -> Iterator[Path]:
    """In a folder that every user may enter."""
    folder = Path(tempfile.mkdtemp())
    try:
        root = unpack("5.5.0-killed", folder, STORES).root
        (root / "config" / "consumerOffset.json").write_text('{"offsetTable":{}}')
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        yield root
    finally:
        for path in folder.rglob("*"):
            path.chmod(0o755)
        shutil.rmtree(folder)


@contextmanager
def as_a_user() -> Iterator[None]:
    """Not as root, for whom everything is readable."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def diagnosed(store: Path) -> Diagnosis:
    nr.open(store).diagnose(file_reserved_time=KEPT)  # loads modules, which the user may not read
    with as_a_user():
        return nr.open(store).diagnose(file_reserved_time=KEPT)


def queue_file(store: Path) -> Path:
    return next(path for path in sorted((store / "consumequeue").rglob("*")) if path.is_file() and path.parts[-3] == "Plain")


def settings(store: Path) -> Path:
    return store / "config" / "topics.json"


PARTS = {
    "segment": lambda store: segments(store)[2],
    "last segment": lambda store: segments(store)[-2],
    "queue file": queue_file,
    "queue": lambda store: queue_file(store).parent,
    "topic": lambda store: queue_file(store).parent.parent,
    "queues": lambda store: store / "consumequeue",
    "topics.json": settings,
    "consumerOffset.json": lambda store: store / "config" / "consumerOffset.json",
    "config": lambda store: store / "config",
}


@pytest.mark.parametrize("part", PARTS)
def test_what_may_not_be_opened_is_not_read_and_not_called_lost(store: Path, part: str) -> None:
    path = PARTS[part](store)
    path.chmod(0)
    found = diagnosed(store)
    said = [each for each in found.findings if path.as_uri() in each]
    assert f"{path.as_uri()} is not read: this user may not open it" in said
    assert [each for each in found.findings for word in _OF_A_LOSS if word in each] == []
    assert found.start is not None
    assert found.start.outcome == UNKNOWN
    with as_a_user():
        assert {each.where for each in unread_parts(*nr.open(store).stores) if each.what == FORBIDDEN} == {path.as_uri()}


def test_a_part_of_a_tier_that_may_not_be_opened_was_called_expired_and_not_copied(store: Path) -> None:
    broker = store / "tiered" / "212d6b50_DefaultCluster" / "broker-a"
    for topic in ("Open", "Closed"):
        (broker / topic / "0" / "COMMIT_LOG").mkdir(parents=True)
    (broker / "Closed").chmod(0)
    with as_a_user():
        (files,) = nr.open(store).stores
        assert {each.where for each in unread_parts(files) if each.what == FORBIDDEN} == {(broker / "Closed").as_uri()}
        with pytest.raises(nr.RepairError, match="so tiered storage would be copied without it"):
            own_tier(files, Choices())


def test_a_tier_of_several_brokers_was_copied_whole(store: Path) -> None:
    """The page said that it stays where it is."""
    cluster = store / "tiered" / "212d6b50_DefaultCluster"
    for broker in ("broker-x", "broker-y"):
        (cluster / broker / "T" / "0" / "COMMIT_LOG").mkdir(parents=True)
    (files,) = nr.open(store).stores
    for choices in (Choices(), Choices(tier="keep"), Choices(tier="log")):
        with pytest.raises(nr.RepairError, match="has files of several brokers, and the store has no config"):
            own_tier(files, choices)
    assert own_tier(files, Choices(tier="leave")) is None


def test_an_index_that_may_not_be_opened_is_a_copy(store: Path) -> None:
    one = next((store / "index").iterdir())
    one.chmod(0)
    with as_a_user():
        (part,) = (each for each in unread_parts(*nr.open(store).stores) if each.what == FORBIDDEN)
    assert (part.where, part.is_loss) == (one.as_uri(), False)


def test_a_store_that_may_be_read_has_no_such_part(store: Path) -> None:
    with as_a_user():
        assert unread_parts(*nr.open(store).stores) == []
