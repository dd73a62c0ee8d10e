"""Each fault of the index, one by one: what a check finds."""

from __future__ import annotations

import struct

import pytest
from support.indexed_stores import ENTRIES, SLOTS, key_of_hash
from support.missed import changed
from support.stores import message
from support.verified import OFFSETS, beside, codes, healthy

from native_reader.testing.records import PREPARED, ROLLBACK, pack_properties

INDEX = "store/index/20261121000000000"
ENTRIES_AT = 40 + 4 * SLOTS
NO_OFFSETS = b'{"offsetTable":{}}'


@pytest.mark.parametrize(("place", "fields", "value"), [(16, ">q", 5), (24, ">q", 5), (36, ">i", ENTRIES + 9), (36, ">i", 3)])
def test_62_a_header_that_is_wrong(place: int, fields: str, value: int) -> None:
    _, files = healthy()
    assert codes(changed(files, INDEX, place, fields, value))["index-header"] >= 1


def test_all_entries_of_a_file_can_be_of_one_millisecond() -> None:
    _, files = healthy(message(number, store_timestamp=1_700_000_000_000) for number in range(60))
    assert codes(files) == {}


def test_62_a_header_of_zeros_in_an_old_file() -> None:
    _, files = healthy()
    zeros = files | {INDEX: bytes(40) + files[INDEX][40:]}
    found = codes(zeros)
    assert found["index-header"] == 1
    assert found["key-not-covered"] > 0


def test_62_a_file_that_was_cut() -> None:
    """Its number of slots is that of the others, if its entries are there; of the only file, nothing is known."""
    _, files = healthy()
    cut = codes(files | {INDEX: files[INDEX][: ENTRIES_AT + 100]})
    assert cut["index-cut"] == 1
    assert "index-not-checked" not in cut
    one = {name: content for name, content in files.items() if "/index/" not in name or name == INDEX}
    assert codes(one | {INDEX: files[INDEX][: ENTRIES_AT + 100]})["index-not-checked"] == 1


@pytest.mark.parametrize("size", [0, 39])
def test_a_file_without_a_header_was_a_note(size: int) -> None:
    _, files = healthy()
    found = codes(files | {INDEX: files[INDEX][:size]})
    assert found["index-cut"] == 1
    assert "index-not-checked" not in found


def test_a_number_of_used_slots_that_is_wrong_was_not_seen() -> None:
    _, files = healthy()
    assert codes(changed(files, INDEX, 32, ">i", 1)) == {"index-header": 1}


def test_brokers_up_to_4_6_count_entries_and_not_slots() -> None:
    _, files = healthy()
    entries = struct.unpack_from(">i", files[INDEX], 36)[0] - 1
    assert struct.unpack_from(">i", files[INDEX], 32)[0] < entries
    assert codes(changed(files, INDEX, 32, ">i", entries)) == {}


NEWEST, ABORT = "store/index/20261121000006000", {"store/abort": b""}
NORMAL = {"broker-crashed", "index-unfinished", "record-not-dispatched"}
UNFINISHED: dict[str, list[tuple[int, str, int]]] = {
    "no header": [(0, ">q", 0), (8, ">q", 0), (16, ">q", 0), (24, ">q", 0), (32, ">i", 0), (36, ">i", 0)],
    "counts of zero": [(32, ">i", 0), (36, ">i", 0)],
    "a count that is behind": [(36, ">i", 3)],
    "the end of the file before it": [(8, ">q", 1_700_000_000_053), (24, ">q", 7662), (36, ">i", 2)],
    "an end that is behind": [(24, ">q", 8400)],
    "slots that are not counted": [(32, ">i", 2), (36, ">i", 4)],
}


@pytest.mark.parametrize("kind", UNFINISHED)
def test_the_newest_index_file_of_a_killed_broker_was_an_error(kind: str) -> None:
    _, files = healthy()
    assert max(name for name in files if "/index/" in name) == NEWEST
    assert struct.unpack_from(">i", files[NEWEST], 36)[0] > 5
    for place, fields, value in UNFINISHED[kind]:
        files = changed(files, NEWEST, place, fields, value)
    assert set(codes(files | ABORT)) <= NORMAL
    assert set(codes(files)) - NORMAL, "a broker that was stopped finished it"
    older = dict(files) | {NEWEST[:-4] + "7000": files[INDEX]}
    assert set(codes(older | ABORT)) - NORMAL, "it is not the newest"


def test_a_wrong_chain_in_the_newest_index_file_of_a_killed_broker_is_an_error() -> None:
    _, files = healthy()
    assert codes(changed(files, NEWEST, ENTRIES_AT + 20 * 3 + 16, ">i", 2) | ABORT)["index-chain"] == 1
    slots = struct.unpack_from(f">{SLOTS}i", files[NEWEST], 40)
    used = slots.index(max(slots))
    assert codes(changed(files, NEWEST, 40 + 4 * used, ">i", 0) | ABORT)["index-slot"] == 1
    assert codes(changed(files, NEWEST, 36, ">i", 2**30) | ABORT)["index-header"] > 0


def test_63_a_slot_that_is_wrong() -> None:
    _, files = healthy()
    assert codes(changed(files, INDEX, 40, ">i", 2**30)) == {"index-slot": 1}
    assert codes(changed(files, INDEX, 40, ">i", 0)) == {"index-slot": 1}


def test_64_a_chain_that_is_a_cycle() -> None:
    _, files = healthy()
    assert codes(changed(files, INDEX, ENTRIES_AT + 20 * 5 + 16, ">i", 7)) == {"index-chain": 1}


@pytest.mark.parametrize("to_none", [False, True])
def test_64_a_pointer_that_skips_entries_of_its_chain(to_none: bool) -> None:
    """It leads to an older entry of the same chain, or to none. A search that follows it sees nothing wrong."""
    _, files = healthy()
    previous = [struct.unpack_from(">i", files[INDEX], ENTRIES_AT + 20 * number + 16)[0] for number in range(ENTRIES)]
    number = next(each for each in range(ENTRIES) if previous[each] and previous[previous[each]])
    skipped_to = 0 if to_none else previous[previous[number]]
    assert codes(changed(files, INDEX, ENTRIES_AT + 20 * number + 16, ">i", skipped_to)) == {"index-chain": 1}


def test_65_a_time_that_is_wrong() -> None:
    _, files = healthy()
    assert codes(changed(files, INDEX, ENTRIES_AT + 20 * 5 + 12, ">i", -3)) == {"index-time": 1}


def test_66_an_entry_with_the_hash_of_another_key() -> None:
    _, files = healthy()
    place = ENTRIES_AT + 20 * 5
    (hashed,) = struct.unpack_from(">i", files[INDEX], place)
    found = codes(changed(files, INDEX, place, ">i", hashed ^ 1))
    assert found["index-other-key"] == found["key-without-entry"] == 1


def test_66_a_key_whose_hash_is_the_smallest_integer_is_normal() -> None:
    keys = {5: key_of_hash("T1", -(2**31))}
    log, files = healthy(message(number, topic="T1", properties=pack_properties({"KEYS": keys.get(number, "k")})) for number in range(9))
    assert codes(files | beside(log, ["T1"]) | {OFFSETS: NO_OFFSETS}) == {}


def test_67_a_missing_index_file() -> None:
    _, files = healthy()
    del files["store/index/20261121000001000"]
    assert 0 < codes(files)["key-not-covered"] < 60


def test_68_an_entry_that_names_no_record() -> None:
    _, files = healthy()
    place = ENTRIES_AT + 20 * 5 + 4
    (offset,) = struct.unpack_from(">q", files[INDEX], place)
    found = codes(changed(files, INDEX, place, ">q", offset + 1))
    assert found["index-without-record"] == found["key-without-entry"] == 1


def test_69_a_rollback_is_a_note() -> None:
    flags = {4: PREPARED, 31: ROLLBACK}
    _, files = healthy(message(number, sys_flag=flags.get(number, 0)) for number in range(60))
    assert codes(files | {OFFSETS: NO_OFFSETS}) == {"key-rolled-back": 1}
