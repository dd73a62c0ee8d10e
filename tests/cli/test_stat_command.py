"""What fills a log: groups and their sums, deleted topics, the store on its disk."""

from __future__ import annotations

import re
import shutil
import tarfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from support.command_line import run, run_on_terminal, uncolored
from support.stores import files_of, log_of, message, on_disk

import native_reader as nr
from native_reader.storage.protocol import Disk
from native_reader.storage.usage import Usage
from native_reader.text import size_of
from rmqstore import disk


@pytest.mark.parametrize(
    ("by", "key"),
    [
        ("topic", lambda row: row["topic"]),
        ("tag", lambda row: row["tags"]),
        ("queue", lambda row: row["queue_id"]),
        ("kind", lambda row: row["kind"]),
        ("producer", lambda row: row["born_host"].rpartition(":")[0]),
        ("hour", lambda row: row["store_timestamp"].replace(minute=0, second=0, microsecond=0).strftime("%Y-%m-%dT%H:%M:%S.000Z")),
        ("day", lambda row: row["store_timestamp"].strftime("%Y-%m-%dT00:00:00.000Z")),
        ("size", lambda row: "below 1 KiB"),
    ],
)
def test_stat_adds_up_each_group(store: Path, rows: list[dict[str, Any]], by: str, key: Any) -> None:
    messages, sizes = Counter(map(key, rows)), Counter[Any]()
    for row in rows:
        sizes[key(row)] += row["record_size"]
    found = run("stat", store, "--by", by, "--json")
    assert found.code == 0
    assert {row[by]: row["messages"] for row in found.rows} == messages
    assert {row[by]: row["bytes"] for row in found.rows} == sizes
    assert sum(row["share"] for row in found.rows) == pytest.approx(1)
    assert max(row["largest_bytes"] for row in found.rows) == max(row["record_size"] for row in rows)
    assert f"{len(rows):,} messages, " in found.err


def test_stat_combines_groups_and_shows_the_largest(store: Path, rows: list[dict[str, Any]]) -> None:
    wanted = Counter((row["topic"], row["tags"]) for row in rows if row["topic"] != "T0")
    found = run("stat", store, "--by", "topic", "--by", "tag", "--where", "topic != 'T0'", "--json").rows
    assert {(row["topic"], row["tag"]): row["messages"] for row in found} == wanted
    assert [row["bytes"] for row in found] == sorted((row["bytes"] for row in found), reverse=True)
    top = run("stat", store, "--by", "topic", "--top", "1")
    assert len(top.cells) == 2
    assert "2 more groups are not shown" in top.err
    assert len(run("stat", store, "--top", "0").cells) == 4


def test_stat_of_days_in_a_time_zone(store: Path) -> None:
    (row,) = run("stat", store, "--by", "day", "--time-zone", "Asia/Shanghai", "--json").rows
    assert row["day"] == "2023-11-15T00:00:00.000+08:00"
    assert row["first_store_timestamp"].endswith("+08:00")
    assert "times in Asia/Shanghai, read in " in run("stat", store, "--time-zone", "Asia/Shanghai").err
    assert "times in UTC, read in " in run("stat", store).err


@pytest.mark.parametrize(
    ("zone", "hour", "day"),
    [
        ("Asia/Shanghai", "2023-11-15T06:00:00.000+08:00", "2023-11-15T00:00:00.000+08:00"),
        ("+08:00", "2023-11-15T06:00:00.000+08:00", "2023-11-15T00:00:00.000+08:00"),
        ("UTC+8", "2023-11-15T06:00:00.000+08:00", "2023-11-15T00:00:00.000+08:00"),
        ("Asia/Kolkata", "2023-11-15T03:00:00.000+05:30", "2023-11-15T00:00:00.000+05:30"),
        ("Z", "2023-11-14T22:00:00.000Z", "2023-11-14T00:00:00.000Z"),
    ],
)
def test_hours_and_days_begin_where_their_zone_says(store: Path, zone: str, hour: str, day: str) -> None:
    (row,) = run("stat", store, "--by", "hour", "--by", "day", "--time-zone", zone, "--json").rows
    assert (row["hour"], row["day"]) == (hour, day)


def test_hours_of_summer_time(tmp_path: Path) -> None:
    """The clocks of this zone went back at 00:01, and not at a whole hour."""
    start = 1_289_097_060_000  # 2010-11-07 02:31:00Z
    times = [start - 60_000, start - 1, start, start + 3_600_000]
    files = files_of(log_of([message(number, store_timestamp=time) for number, time in enumerate(times)]))
    rows = run("stat", on_disk(tmp_path, files) / "store", "--by", "hour", "--time-zone", "America/St_Johns", "--json").rows
    zone = ZoneInfo("America/St_Johns")
    moments = [datetime.fromtimestamp(time / 1000, UTC).astimezone(zone).replace(minute=0, second=0, microsecond=0) for time in times]
    expected = Counter(moment.isoformat(timespec="milliseconds") for moment in moments)
    assert {row["hour"]: row["messages"] for row in rows} == expected


def test_stat_marks_deleted_topics(store: Path, rows: list[dict[str, Any]]) -> None:
    assert {row["is_deleted"] for row in run("stat", store, "--json").rows} == {False}
    assert "deleted" not in uncolored(run_on_terminal("stat", store).out)
    shutil.rmtree(store / "consumequeue" / "T1")
    topics = store / "config" / "topics.json"
    topics.write_text(topics.read_text().replace('"T1"', '"T9"'))
    ended = run("stat", store, "--json")
    assert {row["topic"]: row["is_deleted"] for row in ended.rows} == {"T0": False, "T1": True, "T2": False}
    size = sum(row["record_size"] for row in rows if row["topic"] == "T1")
    assert f"1 deleted topic still has records: T1, 20 messages, {size_of(size)}, until its segments expire\n" in ended.err
    assert "1 deleted topic is among them: T1, 1 message, " in run("stat", store, "--where", "queue_offset = 0").err
    assert run("stat", store).cells[0][-1] == "is_deleted"
    assert "T1 (deleted)  " in uncolored(run_on_terminal("stat", store).out)
    assert "deleted" not in run("stat", store, "--by", "tag").out
    assert "counted from the queues; rmqstore stat counts the log's records, also of deleted topics " in run_on_terminal("ls", store).out


def test_stat_of_a_store_without_queues_does_not_know_what_was_deleted(store: Path) -> None:
    shutil.rmtree(store / "consumequeue")
    ended = run("stat", store, "--json")
    assert {row["is_deleted"] for row in ended.rows} == {None}
    assert "deleted" not in ended.err


def test_stat_of_several_stores_marks_what_is_deleted_in_all(store: Path, tmp_path: Path) -> None:
    shutil.rmtree(store / "consumequeue" / "T1")
    (store / "config" / "topics.json").unlink()
    shutil.copytree(store, tmp_path / "other" / "store")
    both = [store, tmp_path / "other" / "store"]
    assert [row["topic"] for row in run("stat", *both, "--by", "topic", "--json").rows if row["is_deleted"]] == ["T1"]
    (both[1] / "consumequeue" / "T1" / "0").mkdir(parents=True)
    assert [row["topic"] for row in run("stat", *both, "--by", "topic", "--json").rows if row["is_deleted"]] == []
    deleted = [(row["broker"], row["topic"]) for row in run("stat", *both, "--name", f"{store}=east", "--json").rows if row["is_deleted"]]
    assert deleted == [("east", "T1")]


@pytest.mark.parametrize(("used", "free", "percent"), [(40, 51, 44), (0, 10, 0), (1, 999, 1), (50, 50, 50), (0, 0, 0)])
def test_the_used_share_is_that_of_df(used: int, free: int, percent: int) -> None:
    assert disk.used_percent(Disk(1, 252, used, free)) == percent


@pytest.mark.parametrize(("free", "rest"), [(60, ""), (59, ", the rest is reserved by the file system or for other users")])
def test_the_sizes_of_a_disk_add_up(free: int, rest: str) -> None:
    words = disk.said_of_usage(Usage(1, 1, 1, 1), Disk(1, 100, 40, free)).text()
    assert words.endswith(f"; its disk has 100 bytes, 40 bytes ({40 if free == 60 else 41} %) used, {free} bytes free{rest}")


def test_stat_says_how_large_the_store_is_on_its_disk(store: Path, tmp_path: Path) -> None:
    last = run("stat", store).err.splitlines()[-1]
    assert last.partition(";")[0] == disk.on_disk(nr.open(store)).text().partition(";")[0]
    assert re.search(r"; its disk has .*, .* \(\d+ %\) used, [^,]* free(, the rest is .*)?$", last)
    with tarfile.open(tmp_path / "store.tar", "w") as archive:
        archive.add(store, "store")
    packed = run("stat", tmp_path / "store.tar").err.splitlines()[-1]
    assert packed.startswith("on disk ")
    assert "its disk" not in packed


def test_stat_of_no_messages_is_empty(store: Path) -> None:
    for more in ((), ("--top", "5")):
        ended = run("stat", store, "--where", "queue_offset = 99", "--json", *more)
        assert (ended.code, ended.out) == (0, "")
        assert "0 messages, 0 bytes of records, 0 groups" in ended.err
    ended = run_on_terminal("stat", store, "--topic", "Orders")
    assert ended.code == 1
    assert "\n0 messages, " in uncolored(ended.out)
