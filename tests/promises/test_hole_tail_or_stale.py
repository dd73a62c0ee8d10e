"""Damage, unwritten bytes, and records that a broker would truncate: stores of killed brokers, whole and cut by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.effort import thinned
from support.golden import Golden, opened, unpack
from support.own_stores import STORES
from support.plain_decoder import walk

import native_reader as nr

SEGMENT = 64 << 10


class Cut:
    """The log of a killed broker, to be cut: its files, and the place of each record."""

    def __init__(self, store: Golden) -> None:
        self.files = sorted((store.root / "commitlog").iterdir())
        places = [(row["physical_offset"], row["physical_offset"] + row["record_size"]) for row in walk(store.segments).rows]
        self.of = [[place for place in places if place[0] // SEGMENT == number] for number in range(len(self.files))]

    def write(self, offset: int, content: bytes) -> None:
        with self.files[offset // SEGMENT].open("r+b") as file:
            file.seek(offset % SEGMENT)
            file.write(content)

    def truncate(self, offset: int) -> None:
        with self.files[offset // SEGMENT].open("r+b") as file:
            file.truncate(offset % SEGMENT)


Expected = dict[str, Any]


def untouched(log: Cut) -> Expected:
    return {"damage": []}


def a_hole_of_zeros(log: Cut) -> Expected:
    begin, end = log.of[1][10][0], log.of[1][14][1]
    log.write(begin, bytes(end - begin))
    return {"damage": [(begin, end, "zeros")], "broker": begin}


def a_page_of_zeros(log: Cut) -> Expected:
    page = log.of[1][10][0] + 30  # in a head: if only the end of its properties is zero, a record's lengths are still right
    log.write(page, bytes(4096))
    hit = [place for place in log.of[1] if place[0] < page + 4096 and place[1] > page]
    return {"damage": [(hit[0][0], hit[-1][1], None)], "broker": hit[0][0]}


def zeros_at_the_start_of_a_file(log: Cut) -> Expected:
    end = log.of[2][3][1]
    log.write(2 * SEGMENT, bytes(end - 2 * SEGMENT))
    return {"damage": [(2 * SEGMENT, end, "zeros")], "broker": 2 * SEGMENT}


def zeros_up_to_the_end_of_a_file(log: Cut) -> Expected:
    begin = log.of[1][-3][0]
    log.write(begin, bytes(2 * SEGMENT - begin))
    return {"damage": [(begin, 2 * SEGMENT, "zeros")], "broker": begin}


def a_file_of_zeros_in_the_middle(log: Cut) -> Expected:
    log.write(SEGMENT, bytes(SEGMENT))
    return {"damage": [(SEGMENT, 2 * SEGMENT, "zeros")], "broker": SEGMENT}


def zeros_from_a_record_to_the_end_of_the_log(log: Cut) -> Expected:
    last = next(number for number in range(len(log.of) - 1, -1, -1) if log.of[number])
    begin = log.of[last][3][0]
    log.write(begin, bytes((last + 1) * SEGMENT - begin))
    return {"damage": [], "end": begin, "broker": begin, "lost": True}


def the_last_record_half_written(log: Cut) -> Expected:
    last = [places for places in log.of if places][-1]
    begin, end = last[-1]
    log.write(end - 20, bytes(20))
    return {"damage": [], "end": begin, "lost": True}


def old_bytes_after_the_end(log: Cut) -> Expected:
    begin, end = log.of[0][5]
    log.write(log_end(log), log.files[0].read_bytes()[begin:end])
    return {"damage": [], "end": log_end(log)}


def noise_after_the_end(log: Cut) -> Expected:
    log.write(log_end(log), b"\x9c\x01" * 500)
    return {"damage": [], "end": log_end(log)}


def a_record_with_the_right_offset_after_a_gap(log: Cut) -> Expected:
    """As if a log was truncated and written again, up to just before it. It is whole, so the log ends after it."""
    begin, end = log_end(log), log_end(log) + 700
    one, other = log.of[0][5]
    record = bytearray(log.files[0].read_bytes()[one:other])
    record[28:36] = end.to_bytes(8, "big")
    record[56:64] = (1 << 41).to_bytes(8, "big")  # newer than all others: no broker truncated it
    log.write(end, bytes(record))
    return {"damage": [(begin, end, "zeros")], "end": end + len(record), "broker": begin}


def old_bytes_in_the_middle(log: Cut) -> Expected:
    """A reused file: a whole record from elsewhere, over a larger one."""
    size, source = min((stop - start, start) for start, stop in log.of[0])
    begin, end = next(place for place in log.of[1] if place[1] - place[0] > size + 100)
    log.write(begin, log.files[0].read_bytes()[source : source + size])
    return {"damage": [(begin, end, "offset")], "broker": begin + size}  # a broker does not check its physical offset


def the_last_file_cut_inside_a_record(log: Cut) -> Expected:
    last = [places for places in log.of if places][-1]
    number = last[0][0] // SEGMENT
    for path in log.files[number + 1 :]:
        path.unlink()
    log.truncate(last[-1][0] + 50)
    return {"damage": [], "end": last[-1][0], "broker": last[-1][0], "lost": True}


def the_last_file_cut_between_records(log: Cut) -> Expected:
    last = [places for places in log.of if places][-1]
    for path in log.files[last[0][0] // SEGMENT + 1 :]:
        path.unlink()
    log.truncate(last[3][1])
    return {"damage": [], "end": last[3][1], "broker": last[3][1], "lost": True}


def a_file_in_the_middle_cut_inside_a_record(log: Cut) -> Expected:
    begin, end = log.of[1][20]
    log.truncate(end - 7)
    return {"damage": [(begin, end - 7, "cut off")], "gap": (end - 7, 2 * SEGMENT), "broker": begin}


def a_file_in_the_middle_cut_between_records(log: Cut) -> Expected:
    end = log.of[1][20][1]
    log.truncate(end)
    return {"damage": [], "gap": (end, 2 * SEGMENT)}


def a_file_in_the_middle_missing(log: Cut) -> Expected:
    log.files[1].unlink()
    return {"damage": [], "gap": (SEGMENT, 2 * SEGMENT)}


def the_first_files_missing(log: Cut) -> Expected:
    for path in log.files[:2]:
        path.unlink()
    return {"damage": []}


def the_blank_of_a_file_wiped(log: Cut) -> Expected:
    end = log.of[1][-1][1]
    log.write(end, bytes(2 * SEGMENT - end))
    return {"damage": [(end, 2 * SEGMENT, "zeros")], "broker": end}


def a_flipped_bit_in_the_newest_record(log: Cut) -> Expected:
    begin, _ = [places for places in log.of if places][-1][-1]
    byte = log.files[begin // SEGMENT].read_bytes()[begin % SEGMENT + 90]
    log.write(begin + 90, bytes([byte ^ 1]))
    return {"damage": [], "end": begin, "broker": begin, "lost": True}


def two_holes_in_one_file(log: Cut) -> Expected:
    found = []
    for number in (5, 30):
        begin, end = log.of[1][number]
        log.write(begin, bytes(8))
        found.append((begin, end, None))
    return {"damage": found, "broker": found[0][0]}


def log_end(log: Cut) -> int:
    return int([places for places in log.of if places][-1][-1][1])


CUTS: tuple[Callable[[Cut], Expected], ...] = (
    untouched, a_hole_of_zeros, a_page_of_zeros, zeros_at_the_start_of_a_file, zeros_up_to_the_end_of_a_file, a_file_of_zeros_in_the_middle,
    zeros_from_a_record_to_the_end_of_the_log, the_last_record_half_written, old_bytes_after_the_end, noise_after_the_end,
    a_record_with_the_right_offset_after_a_gap, old_bytes_in_the_middle, the_last_file_cut_inside_a_record,
    the_last_file_cut_between_records, a_file_in_the_middle_cut_inside_a_record, a_file_in_the_middle_cut_between_records,
    a_file_in_the_middle_missing, the_first_files_missing, the_blank_of_a_file_wiped, a_flipped_bit_in_the_newest_record,
    two_holes_in_one_file,
)  # fmt: skip


@pytest.mark.gate
@pytest.mark.parametrize("name", ["4.9.7-killed-pooled", "5.5.0-killed"])
@pytest.mark.parametrize("cut", thinned(CUTS, 9), ids=[cut.__name__ for cut in CUTS])
def test_a_killed_brokers_log_cut_by_hand(tmp_path: Path, name: str, cut: Callable[[Cut], Expected]) -> None:
    store = unpack(name, tmp_path, STORES)
    log = Cut(store)
    end = log_end(log)
    expected = {"end": end, "gap": None, "broker": None, "lost": False} | cut(log)

    again = nr.open(store.root)
    damage = again.table("damage").to_table().to_pylist()
    lost = [(row["start_offset"], row["end_offset"]) for row in damage if row["reason"] == "lost"]
    assert lost == ([(expected["end"], end)] if expected["lost"] else [])
    found = [(row["start_offset"], row["end_offset"], row["reason"]) for row in damage if row["reason"] not in ("missing", "lost")]
    assert [each[:2] for each in found] == [each[:2] for each in expected["damage"]]
    assert all(reason in (None, said) for (*_, said), (*_, reason) in zip(found, expected["damage"], strict=True))
    gaps = [(row["start_offset"], row["end_offset"]) for row in damage if row["reason"] == "missing"]
    assert gaps == ([expected["gap"]] if expected["gap"] else [])
    segments = [row for row in again.table("segments").to_table().to_pylist() if row["state"] != "missing"]
    for row in segments:
        parts = ("record_bytes", "blank_bytes", "damage_bytes", "unwritten_bytes", "unread_bytes")
        assert sum(row[part] for part in parts) == row["size"]
        assert row["unwritten_bytes"] == min(row["size"], max(0, row["first_offset"] + row["size"] - expected["end"]))
    stops = [row["broker_end"] for row in segments if row["broker_end"] is not None]
    if expected["broker"] is not None:
        assert min(stops) == expected["broker"]
    elif not expected["gap"]:
        assert min(stops) >= expected["end"]


@pytest.mark.parametrize(
    "name", ["v4-kinds", "v4-lmq", "v4-killed-transient", "v5-kinds", "v5-killed", "v5-multipath", "v5-expired", "v5-inproc"]
)
def test_the_stores_of_other_brokers_end_where_java_found(golden_store: Callable[[str], Golden], name: str) -> None:
    """None has damage, and `broker_end` is the end that RocketMQ's own recovery determined when the store was dumped."""
    store = golden_store(name)
    found = opened(store)
    assert found.table("damage").to_table().num_rows == 0
    segments = found.table("segments").to_table().to_pylist()
    assert min(row["broker_end"] for row in segments if row["broker_end"] is not None) == store.meta["recovered_max_phy_offset"]
    assert segments[0]["first_offset"] == store.meta["recovered_min_phy_offset"]
    assert [row["state"] for row in segments].count("last") <= 1
