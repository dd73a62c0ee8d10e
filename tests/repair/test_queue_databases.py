"""Stores with queues in RocksDB: the database is copied, or left out so that a broker makes it again."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import contents, records_of
from support.store_damages import patch, records, segments

import native_reader as nr
from native_reader.layout.inner import PLACEHOLDER_TAG
from native_reader.repair.new_database import ADDED, COPIED, LEFT_OUT, NewDatabase

NAMES = ("5.4.0-rocksdb-queues", "5.5.0-rocksdb-queues", "5.5.0-rocksdb-separate", "5.5.0-rocksdb-both")
Change = Callable[[Path], None]


def _zeros(first: int, count: int) -> Change:
    def change(store: Path) -> None:
        (segment,) = segments(store)
        lost = records(segment)[first : first + count]
        patch(segment, lost[0][0], bytes(sum(size for _, size in lost)))

    return change


def _wrong_size(store: Path) -> None:
    (segment,) = segments(store)
    patch(segment, records(segment)[20][0], b"\x7f\xff\xff\xff")


def _cut_end(store: Path) -> None:
    """The log ends inside its third-last record, and only queues know of the others."""
    (segment,) = segments(store)
    at, _ = records(segment)[-3]
    patch(segment, at + 50, bytes(segment.stat().st_size - at - 50))


CHANGES: dict[str, Change] = {
    "records": _zeros(5, 4), "the first records": _zeros(0, 3), "most": _zeros(2, 45), "a size": _wrong_size, "the end": _cut_end,
}  # fmt: skip


def _database(store: Path) -> Path:
    (current,) = store.glob("consumequeue*/CURRENT")
    return current.parent


def _no_tables(store: Path) -> None:
    for path in [*_database(store).glob("*.sst"), *_database(store).glob("*.log")]:
        path.unlink()


def _missing(store: Path) -> None:
    shutil.rmtree(_database(store))


def _entries(store: Path) -> dict[tuple[str, int, int], tuple[int, int]]:
    rows = nr.open(store).table("queue_entries").to_table().to_pylist()
    return {(row["topic"], row["queue_id"], row["queue_offset"]): (row["physical_offset"], row["size"]) for row in rows}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_entries_of_the_database_lead_to_survivors_and_placeholders(tmp_path: Path, name: str, change: Change) -> None:
    store = unpack(name, tmp_path, STORES).root
    before = _entries(store)
    change(store)
    old, whole = contents(_database(store)), records_of(store)
    done = nr.open(store).repair(tmp_path / "new")
    assert done.plan.database is not None
    assert (done.plan.database.way, done.plan.database.is_second) == (COPIED, name.endswith("both"))
    new = tmp_path / "new"
    assert contents(_database(new)).items() >= {path: content for path, content in old.items() if "/" not in path}.items()
    assert not (new / "abort").exists()
    assert records_of(new) == whole
    assert done.account is not None
    assert done.account.is_whole
    assert done.plan.placeholders > 0
    columns = "topic,queue_id,queue_offset,physical_offset,record_size,tags"
    rows = nr.open(new).messages(columns=columns, access="scan").to_table().to_pylist()
    assert sum(row["tags"] == PLACEHOLDER_TAG for row in rows) == done.plan.placeholders
    found = {(row["topic"], row["queue_id"], row["queue_offset"]): (row["physical_offset"], row["record_size"]) for row in rows}
    assert found.items() >= {place: entry for place, entry in before.items() if not place[0].startswith("%LMQ%")}.items()
    assert _entries(new) == before
    assert nr.open(new).verify().to_table().num_rows == 0


@pytest.mark.parametrize("name", NAMES[:3])
@pytest.mark.parametrize("damage", [_no_tables, _missing])
def test_a_database_that_is_damaged_or_missing_is_left_out(tmp_path: Path, name: str, damage: Change) -> None:
    """A broker makes it again, if it starts as after a crash."""
    store = unpack(name, tmp_path, STORES).root
    _zeros(5, 4)(store)
    whole = records_of(store)
    damage(store)
    done = nr.open(store).repair(tmp_path / "new")
    assert done.plan.database is not None
    assert (done.plan.database.way, done.plan.database.segments) == (LEFT_OUT, 1)
    assert (tmp_path / "new" / "abort").exists()
    assert not list((tmp_path / "new").glob("consumequeue*"))
    assert records_of(tmp_path / "new") == whole
    page = Path(done.page or "").read_text()
    assert ("Leave this file there before the first start" in page, "commitLogRecoverMaxNum" in page) == (True, False)
    assert not done.is_whole


def test_a_broker_makes_queues_only_of_the_last_segments() -> None:
    said = [each.text() for each in NewDatabase("file:///s/consumequeue_rocksdb", is_second=False, way=LEFT_OUT, segments=12).said]
    assert len(said) == 2
    assert "commitLogRecoverMaxNum=12" in said[1]
    assert len([*NewDatabase("file:///s/consumequeue_rocksdb", is_second=False, way=ADDED, segments=10).said]) == 1


def test_a_broker_adds_what_the_database_lacks(tmp_path: Path) -> None:
    store = unpack("5.5.0-rocksdb-queues", tmp_path, STORES).root
    (segment,) = segments(store)
    at, size = records(segment)[-1]
    content = bytearray(segment.read_bytes()[at : at + size])
    content[20:28] = (int.from_bytes(content[20:28]) + 1).to_bytes(8)
    content[28:36] = (at + size).to_bytes(8)
    patch(segment, at + size, bytes(content))
    done = nr.open(store).repair(tmp_path / "new")
    assert done.plan.database is not None
    assert (done.plan.database.way, done.plan.database.segments, done.plan.messages) == (ADDED, 1, 201)
    assert (tmp_path / "new" / "abort").exists()
    assert contents(_database(tmp_path / "new")) == contents(_database(store))


def _refused(store: Path, target: Path) -> str:
    with pytest.raises(nr.RepairError) as raised:
        nr.open(store).repair(target)
    assert not target.exists()
    return str(raised.value)


def test_light_queues_that_only_a_second_database_has(tmp_path: Path) -> None:
    store = unpack("5.5.0-rocksdb-both", tmp_path, STORES).root
    _no_tables(store)
    assert "light queues (LMQ) are only in" in _refused(store, tmp_path / "new")


@pytest.mark.parametrize(
    ("name", "broker"),
    [("config/topics", "A broker whose settings use it does not start"), ("rocksdbstore", "A broker 5.5.0 starts all the same and serves")],
)
def test_a_database_of_settings_that_cannot_be_opened(tmp_path: Path, name: str, broker: str) -> None:
    """A broker 5.5.0 ended at once without the first, and not without the second, also if its index is in it."""
    store = unpack("5.5.0-rocksdb-separate", tmp_path, STORES).root
    for path in (store / name).glob("MANIFEST*"):
        path.write_bytes(b"junk" * 100)
    text = _refused(store, tmp_path / "new")
    assert f"has {name}, which RocksDB cannot open" in text
    assert broker in text


def test_queues_in_two_databases(tmp_path: Path) -> None:
    store = unpack("5.5.0-rocksdb-queues", tmp_path, STORES).root
    shutil.copytree(store / "consumequeue", store / "consumequeue_rocksdb")
    assert "A broker refuses to start" in _refused(store, tmp_path / "new")


def test_an_extract_of_a_store_with_databases(tmp_path: Path) -> None:
    store = unpack("5.5.0-rocksdb-queues", tmp_path, STORES).root
    with pytest.raises(nr.RepairError, match="cannot be written for an extract"):
        nr.open(store).extract(tmp_path / "new", "Plain")


def test_without_the_library_for_databases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = unpack("5.5.0-rocksdb-queues", tmp_path, STORES).root
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    assert "the library for RocksDB is not installed" in _refused(store, tmp_path / "new")
