"""Zeros that begin and end in the properties of a record: lengths and body are right, and a read took it for whole without a word."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.effort import thinned
from support.golden import STORES, Golden, opened
from support.locks import held
from support.own_stores import NAMES
from support.store_damages import lost_property
from support.stores import in_memory
from support.verified import healthy

import native_reader as nr

COLUMNS = "physical_offset,record_size,topic,tags,keys,corrupt_reason"
OF_TAG = "a whole record with another tag than its consume queue entry: the tag was lost, or the entry is wrong"
OF_KEYS = "a whole record without a key that the index has for it: the key was lost, or the entry is wrong"


def permissive(store: nr.Store, **options: Any) -> list[dict[str, Any]]:
    return store.messages(columns=COLUMNS, mode="PERMISSIVE", **options).to_table().to_pylist()


def marked(store: nr.Store, **options: Any) -> dict[int, str]:
    return {row["physical_offset"]: row["corrupt_reason"] for row in permissive(store, **options) if row["corrupt_reason"] is not None}


def damage(store: nr.Store) -> list[tuple[int, int, str, str]]:
    rows = store.table("damage").to_table().to_pylist()
    return [(row["start_offset"], row["bytes"], row["reason"], row["found"]) for row in rows]


@pytest.fixture
def copied(own_store: Callable[[str], Golden], tmp_path: Path) -> Path:
    """A store with tags, keys, queues and an index."""
    return Path(shutil.copytree(own_store("5.5.0-killed").root, tmp_path / "store"))


def test_a_lost_tag_is_in_the_table_damage(copied: Path) -> None:
    offset, size = lost_property(copied, b"TAGS")
    assert damage(nr.open(copied)) == [(offset, size, "properties", OF_TAG)]
    errors = [each for each in nr.open(copied).verify().to_table().to_pylist() if each["severity"] == "error"]
    assert [(each["code"], each["offset"], each["count"]) for each in errors] == [
        ("entry-tag", offset, 1),
        ("index-other-key", offset, 1),
    ]


def test_a_lost_key_is_in_the_table_damage(copied: Path) -> None:
    offset, size = lost_property(copied, b"KEYS")
    assert damage(nr.open(copied)) == [(offset, size, "properties", OF_KEYS)]


def test_its_row_is_marked_with_any_selection_and_number_of_jobs(copied: Path) -> None:
    offset, _ = lost_property(copied, b"TAGS")
    store, expected = nr.open(copied), {offset: "properties"}
    selections: list[dict[str, Any]] = [
        {}, {"access": "scan"}, {"topic": "Plain"}, {"topic": "Plain", "access": "scan"}, {"max_partition_bytes": 4096},
        {"where": f"physical_offset = {offset}"}, {"verify_crc": True},
    ]  # fmt: skip
    for options in selections:
        assert marked(store, **options) == expected, options
    scan = store.messages(columns=COLUMNS, mode="PERMISSIVE", max_partition_bytes=8192)
    assert [each["corrupt_reason"] for each in scan.to_table(jobs=3).to_pylist() if each["corrupt_reason"]] == ["properties"]
    assert marked(store, where=f"physical_offset <> {offset}") == {}


def test_other_modes_and_columns_read_it_as_before(copied: Path) -> None:
    before = nr.open(copied).messages(columns="physical_offset").to_table()
    lost_property(copied, b"TAGS")
    for options in ({}, {"mode": "DROPMALFORMED"}, {"mode": "PERMISSIVE"}):
        run = nr.open(copied).messages(columns="physical_offset", **options).run()
        assert sum(len(batch) for batch in run) == len(before)
        assert len(run.report.damage) == 0


def test_a_wrong_checksum_comes_before_it_and_is_counted_once(copied: Path) -> None:
    offset, size = lost_property(copied, b"TAGS")
    segment = max(each for each in sorted((copied / "commitlog").iterdir()) if int(each.name) <= offset)
    content, at = bytearray(segment.read_bytes()), offset - int(segment.name) + 100
    content[at] ^= 1
    segment.write_bytes(content)
    assert marked(nr.open(copied), verify_crc=True) == {offset: "checksum"}
    run = nr.open(copied).messages(columns=COLUMNS, mode="PERMISSIVE", verify_crc=True).run()
    rows = sum(len(batch) for batch in run)
    (found,) = run.report.damage
    assert found.reason == "checksum"
    assert sum(each.records for each in run.report.segments) == rows - 1
    assert sum(each.damage_bytes for each in run.report.segments) == size


def test_the_account_has_every_byte_once(copied: Path) -> None:
    _, size = lost_property(copied, b"TAGS")
    before, run = nr.open(copied).messages(columns="topic").run(), nr.open(copied).messages(columns=COLUMNS, mode="PERMISSIVE").run()
    rows, same = sum(len(batch) for batch in run), sum(len(batch) for batch in before)
    assert rows == same
    (one, other) = (sum(each.record_bytes for each in each_run.report.segments) for each_run in (before, run))
    assert one - other == size == sum(each.damage_bytes for each in run.report.segments)


def test_beside_a_running_broker_no_record_is_compared(copied: Path) -> None:
    """It writes queues after the log: an entry can be half written."""
    lost_property(copied, b"TAGS")
    (copied / "lock").touch()
    with held(copied / "lock"):
        assert (marked(nr.open(copied)), damage(nr.open(copied))) == ({}, [])
    assert len(damage(nr.open(copied))) == 1


def test_without_queues_and_index_nothing_contradicts(copied: Path) -> None:
    lost_property(copied, b"TAGS")
    shutil.rmtree(copied / "consumequeue")
    assert [found for *_, found in damage(nr.open(copied))] == [OF_KEYS]  # the index has the tag, too
    shutil.rmtree(copied / "index")
    assert damage(nr.open(copied)) == []


@pytest.mark.parametrize("name", thinned(NAMES, 8))
def test_no_store_of_this_repository_has_a_new_mark(own_store: Callable[[str], Golden], name: str) -> None:
    no_new_mark(opened(own_store(name)))


@pytest.mark.parametrize("name", thinned(STORES, 5))
def test_no_golden_store_has_a_new_mark(golden_store: Callable[[str], Golden], name: str) -> None:
    no_new_mark(opened(golden_store(name)))


def no_new_mark(store: nr.Store) -> None:
    assert "properties" not in {reason for *_, reason, _ in damage(store)}
    assert "properties" not in marked(store).values()


def test_a_small_store_of_the_tests_has_no_mark() -> None:
    _, files = healthy(200)
    memory = in_memory(files)
    no_new_mark(nr.open(memory.url))
