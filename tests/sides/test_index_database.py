"""The index in RocksDB: it finds what a scan finds, whatever it lacks, and is not used where the log contradicts it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from support.index_rows import HOUR, indexed_in_database
from support.queued_stores import dispatched, numbered
from support.stores import files_of, log_of, message, on_disk
from support.tune import Tune

import native_reader as nr
from native_reader.plan.keys import KeyLookup
from native_reader.sentences import Said
from native_reader.sides import index_database
from native_reader.testing.logs import CommitLog, Placed
from native_reader.testing.records import Message, pack_properties

pytestmark = pytest.mark.usefixtures("queues_always_used", "small_parts_pruned")
BEGIN = 1_700_000_000_000


def keyed(number: int, topic: str | None = None, properties: dict[int, dict[str, str]] | None = None) -> Message:
    """Twelve are stored in an hour. `properties`: of some, instead of their own."""
    usual = message(number, store_timestamp=BEGIN + number * 300_000)
    usual = usual if topic is None else replace(usual, topic=topic)
    return replace(usual, properties=pack_properties(properties[number])) if properties and number in properties else usual


def log_of_hours(messages: Iterable[Message] | None = None) -> CommitLog:
    return log_of(numbered(messages or map(keyed, range(60))), 2048)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


def stored(root: Path, log: CommitLog) -> None:
    on_disk(root.parent, files_of(log) | dispatched(log.placed, file=4000))


def written(root: Path, placed: Iterable[Placed], more: dict[bytes, bytes] | None = None) -> None:
    """The database of these records."""
    on_disk(root.parent, indexed_in_database(placed, more=more))


CONDITIONS = ("uniq_key = 'U0004'", "msg_id = 'U0031'", "array_contains(keys, 'k7')", "array_contains(keys, 'all') AND uniq_key > 'U005'")


def lookup_of(root: Path, where: str, topic: str | None = "T1", access: str = "auto") -> KeyLookup:
    ((_, found),) = nr.open(root).messages(where=where, topic=topic, access=access).plan().lookups
    return found


def offsets(root: Path, where: str, access: str, topic: str | None = None) -> list[int]:
    return (
        nr.open(root).messages(where=where, topic=topic, access=access, columns="physical_offset").to_table()["physical_offset"].to_pylist()
    )


def same(root: Path, *conditions: str) -> None:
    for where in conditions or CONDITIONS:
        for topic in (None, "T0", "T1"):
            scanned = offsets(root, where, "scan", topic)
            assert sorted(offsets(root, where, "auto", topic)) == scanned, where
            assert {*offsets(root, where, "trust", topic)} <= {*scanned}, where


def test_an_id_is_found_and_almost_nothing_else_is_read(root: Path) -> None:
    log = log_of_hours()
    stored(root, log)
    written(root, log.placed)
    same(root)
    for number in (1, 4, 31, 58):
        found = lookup_of(root, f"uniq_key = 'U{number:04}'", topic=f"T{number % 3}")
        assert found.hits == (log.placed[number].offset,)
        assert (found.in_database, found.why, found.is_sufficient) == (True, (), True)
    said = str(nr.open(root).messages(where="uniq_key = 'U0004'", topic="T1").explain())
    assert "  by key     1 record, from the index in RocksDB, searched for 1 topic\n" in said


def test_a_key_is_found_first_and_the_log_is_read_for_messages_without_uniq_key(root: Path) -> None:
    """Brokers index nothing of these, not even their keys."""
    bare = {7: {"KEYS": "k4 odd"}, 40: {"KEYS": "k4"}}
    log = log_of_hours(keyed(number, "T1", bare) for number in range(60))
    stored(root, log)
    written(root, log.placed)
    same(root, "array_contains(keys, 'k4')", "properties['KEYS'] = 'k4 odd'", *CONDITIONS)
    assert [log.placed[number].offset for number in (4, 7, 40)] == sorted(offsets(root, "array_contains(keys, 'k4')", "auto"))
    assert offsets(root, "array_contains(keys, 'k4')", "trust") == [log.placed[4].offset]
    assert not lookup_of(root, "array_contains(keys, 'k4')").is_sufficient
    said = str(nr.open(root).messages(keys="k4", topic="T1").explain())
    assert (
        "in no index file are scanned: the index in RocksDB lacks messages without\n             UNIQ_KEY, which may have the key" in said
    )


def test_an_at_sign_in_a_key_or_an_id_is_no_separator(root: Path) -> None:
    words = {3: ("a@b", "c"), 6: ("a", "b@c"), 9: ("a", "c"), 12: ("a@b@c", "d"), 15: ("b", "a@")}
    properties = {at: {"KEYS": keys, "UNIQ_KEY": uniq} for at, (keys, uniq) in words.items()}
    log = log_of_hours(keyed(number, "T1", properties) for number in range(30))
    stored(root, log)
    written(root, log.placed)
    for word, which in (("a", [6, 9]), ("a@b", [3]), ("a@b@c", [12]), ("b", [15])):
        same(root, f"array_contains(keys, '{word}')")
        assert offsets(root, f"array_contains(keys, '{word}')", "trust") == [log.placed[at].offset for at in which]
    for uniq, which in (("c", [3, 9]), ("b@c", [6]), ("a@", [15])):
        same(root, f"uniq_key = '{uniq}'")
        found = lookup_of(root, f"uniq_key = '{uniq}'")
        assert (found.hits, found.why) == (tuple(log.placed[at].offset for at in which), ())


@pytest.mark.parametrize(("begin", "stop"), [(20, 60), (0, 40), (12, 37), (59, 60)])
def test_an_index_that_was_switched_on_later_or_lags_covers_what_it_has(root: Path, begin: int, stop: int) -> None:
    log = log_of_hours()
    stored(root, log)
    written(root, log.placed[begin:stop])
    same(root, *(f"uniq_key = 'U{number:04}'" for number in range(0, 60, 7)))


@pytest.mark.parametrize("off", [(13, 46), (14, 38)])
def test_hours_without_rows_are_not_covered_nor_what_is_before_them(root: Path, off: tuple[int, int]) -> None:
    """The index may have been off. Records of that time, and those before it, are found by reading."""
    log = log_of_hours()
    stored(root, log)
    written(root, [each for number, each in enumerate(log.placed) if not off[0] <= number < off[1]])
    same(root, *(f"uniq_key = 'U{number:04}'" for number in range(0, 60, 5)))
    assert lookup_of(root, "uniq_key = 'U0058'").is_sufficient is False
    assert lookup_of(root, "uniq_key = 'U0058'").uncovered[0][1] > log.placed[off[0]].offset


def test_a_key_of_too_many_records_is_not_looked_up_but_trust_does(root: Path, tune: Tune) -> None:
    tune(most_hits=5)
    log = log_of_hours()
    stored(root, log)
    written(root, log.placed)
    same(root, "array_contains(keys, 'all')")
    (why,) = lookup_of(root, "array_contains(keys, 'all')").why
    assert why.text().endswith("/rocksdbstore: more than 5 rows match, too many to check while planning")
    assert len(offsets(root, "array_contains(keys, 'all')", "trust")) == 60


def test_hours_that_expired_are_not_covered(root: Path) -> None:
    log = log_of_hours()
    stored(root, log)
    written(root, [each for each in log.placed if each.message.store_timestamp // HOUR > BEGIN // HOUR + 1])
    same(root, *(f"uniq_key = 'U{number:04}'" for number in range(0, 60, 7)))


def test_an_oldest_hour_with_many_rows_is_not_covered(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_database, "_MOST_ROWS", 5)
    log = log_of_hours()
    stored(root, log)
    written(root, log.placed[3:])
    same(root, *(f"uniq_key = 'U{number:04}'" for number in range(0, 60, 7)))
    (start, stop), *_ = lookup_of(root, "uniq_key = 'U0050'").uncovered
    late = next(base for base, data in log.segments() if base >= 12 * 200 and data)
    assert (start, stop > log.placed[12].offset) == (0, True), late


def test_an_index_of_another_log_is_not_used(root: Path) -> None:
    log = log_of_hours()
    stored(root, log)
    written(root, log_of_hours(replace(keyed(number), body=b"x" * 50) for number in range(60)).placed)
    same(root)
    (why,) = lookup_of(root, "uniq_key = 'U0004'").why
    assert why.text().startswith(f"{(root / 'rocksdbstore').as_uri()}: the log has no record with the indexed key at offset ")


@pytest.mark.parametrize(
    "more",
    [
        {b"\0" * 7 + b"\x01@T1@U@U0004@" + bytes(8): bytes(8)},
        {b"\0odd": b""},
    ],
    ids=["no hour", "too short"],
)
def test_rows_that_are_no_index_are_not_searched(root: Path, more: dict[bytes, bytes]) -> None:
    log = log_of_hours()
    stored(root, log)
    written(root, log.placed, more=more)
    same(root)
    assert lookup_of(root, "uniq_key = 'U0004'").why != ()


def test_without_the_extra_the_log_is_read_and_it_says_what_to_install(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of_hours()
    stored(root, log)
    written(root, log.placed)
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    same(root)
    (why,) = lookup_of(root, "uniq_key = 'U0004'").why
    assert "pip install 'rmqstore-spark[rocksdb]'" in why.text()


def test_a_database_of_transactions_alone_has_no_index(root: Path) -> None:
    log = log_of_hours()
    stored(root, log)
    on_disk(root.parent, indexed_in_database([], family="trans"))
    same(root)
    assert lookup_of(root, "uniq_key = 'U0004'").why == (Said("index none"),)
