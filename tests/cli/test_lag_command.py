"""`rmqstore lag`: who is behind, by topic and by queue."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import run, run_on_terminal, uncolored
from support.queued_stores import dispatched, numbered
from support.stores import Files, files_of, log_of, message, on_disk
from support.verified import OFFSETS, beside, healthy

from native_reader.testing.config import fastjson


@pytest.fixture
def behind(tmp_path: Path) -> Path:
    """Two queues without their first segment, and groups before, within and after what is left."""
    log = log_of(numbered(message(number, topic="orders", queue_id=number % 2) for number in range(60)))
    files = files_of(log) | dispatched(log.placed)
    del files[min(name for name in files if "/commitlog/" in name)]
    groups = {"orders@slow": {0: 0, 1: 29}, "orders@ready": {0: 30, 1: 30}, "orders@ahead": {0: 31, 1: 30}, "gone@slow": {0: 1}}
    files["store/config/consumerOffset.json"] = fastjson({"offsetTable": groups}).encode()
    return on_disk(tmp_path, files) / "store"


def test_groups_that_are_behind(behind: Path) -> None:
    found = run("lag", behind, "--json")
    assert found.code == 1  # an offset is after the end of its queue
    (row,) = found.rows
    assert {name: row[name] for name in ("group", "topic", "lag", "behind")} == {"group": "slow", "topic": "orders", "lag": 31, "behind": 2}
    assert 0 < row["expired"] < 30
    assert row["oldest_unread"].startswith("2023-11-14T22:13:20.")
    queues = run("lag", behind, "--by", "queue", "--json").rows
    assert [(each["queue_id"], each["lag"], each["expired"] > 0) for each in queues] == [(0, 30, True), (1, 1, False)]
    assert len(run("lag", behind, "--all", "--json").rows) == 4
    assert run("lag", behind, "--where", "group = 'ready'", "--json").rows == []


def test_people_see_the_age_and_what_is_odd(behind: Path) -> None:
    shown = uncolored(run_on_terminal("lag", behind).out)
    assert " days" in shown
    assert "   oldest_unread (UTC)   " in shown.splitlines()[0]
    assert "--all also shows 3 rows without a lag" in shown
    assert "note: the lag of 1 offset is not known: the queue has no files" in shown
    assert "warning: 1 offset after the end of the queue" in shown
    piped = run("lag", behind)
    assert piped.cells[0] == ["group", "topic", "lag", "expired", "behind", "oldest_unread"]


def test_a_condition_that_no_group_meets_is_not_a_store_without_offsets(behind: Path) -> None:
    assert run("lag", behind, "--where", "group = 'nobody'").err == "no consumer offset matches\n"


def test_a_store_without_offsets_says_so(tmp_path: Path) -> None:
    ended = run("lag", on_disk(tmp_path, files_of(log_of(3))) / "store")
    assert (ended.code, ended.err) == (0, "the store has no consumer offsets\n")


STATES = ("lag", "expired", "served", "unreachable", "doubtful", "lost", "not_read")
NOT_LOOKED = "counted in queues: whether the log has these messages was not looked at; --verify looks\n"


def split(files: Files, folder: Path, *arguments: str) -> tuple[int, dict[str, tuple[int, ...]]]:
    """The exit code, and the counts of each topic of a group that has read nothing."""
    groups = {f"{topic}@new": {0: 0} for topic in ("T0", "T1", "T2")}
    files = files | {OFFSETS: fastjson({"offsetTable": groups}).encode()}
    ended = run("lag", on_disk(folder, files) / "store", "--json", *arguments)
    return ended.code, {row["topic"]: tuple(row[name] for name in STATES) for row in ended.rows}


def test_a_lag_without_a_check_says_that_the_log_was_not_looked_at(tmp_path: Path) -> None:
    _, files = healthy(60)
    del files[sorted(name for name in files if "/commitlog/" in name)[1]]
    root = on_disk(tmp_path, files) / "store"
    ended = run("lag", root)
    assert (ended.code, ended.err.endswith(NOT_LOOKED)) == (0, True)
    assert run("lag", root, "--lang", "zh").err.endswith("没有检查 commitlog 中是否有这些消息；用 --verify 检查\n")
    quick = run("lag", root, "--json")
    assert quick.err.endswith(NOT_LOOKED)
    assert {row[name] for row in quick.rows for name in STATES[2:]} == {None}
    checked = run("lag", root, "--verify")
    assert NOT_LOOKED not in checked.err
    assert "lost\n" in checked.err
    assert checked.code == 1


def test_a_lag_of_a_whole_store_is_served(tmp_path: Path) -> None:
    assert split(healthy(60)[1], tmp_path, "--verify") == (0, dict.fromkeys(("T0", "T1", "T2"), (20, 0, 20, 0, 0, 0, 0)))


def test_messages_of_a_missing_segment_are_no_lag_that_a_group_can_read(tmp_path: Path) -> None:
    log, files = healthy(60)
    name = sorted(name for name in files if "/commitlog/" in name)[1]
    del files[name]
    gone = [each.message.topic for each in log.placed if each.segment == int(name[-20:])]
    code, rows = split(files, tmp_path, "--verify")
    assert code == 1
    assert rows == {topic: (20, 0, 20 - gone.count(topic), 0, 0, gone.count(topic), 0) for topic in ("T0", "T1", "T2")}


def test_a_group_whose_queue_is_gone_has_messages_that_it_cannot_get(tmp_path: Path) -> None:
    files = {name: content for name, content in healthy(60)[1].items() if "/consumequeue/T1/" not in name}
    assert "T1" not in split(files, tmp_path / "quick")[1]
    code, rows = split(files, tmp_path / "whole", "--verify")
    assert (code, rows["T1"]) == (1, (0, 0, 0, 20, 0, 0, 0))


def test_a_removed_first_segment_is_lost_and_not_expired(tmp_path: Path) -> None:
    log, files = healthy(60)
    name = min(name for name in files if "/commitlog/" in name)
    del files[name]
    gone = [each.message.topic for each in log.placed if each.segment == int(name[-20:])].count("T0")
    assert split(files, tmp_path / "quick")[1]["T0"] == (20, gone, None, None, None, None, None)
    code, rows = split(files, tmp_path / "whole", "--verify")
    assert (code, rows["T0"]) == (1, (20, 0, 20 - gone, 0, 0, gone, 0))


def test_a_doubt_counts_after_the_offset_of_the_group_only(tmp_path: Path) -> None:
    _, files = healthy(60)
    name = next(name for name in files if "/consumequeue/T1/" in name)
    queue = bytearray(files[name])
    queue[5 * 20 + 19] ^= 1  # the hash of the tag in entry 5
    files |= {name: bytes(queue), OFFSETS: fastjson({"offsetTable": {"T1@before": {0: 5}, "T1@after": {0: 6}}}).encode()}
    rows = run("lag", on_disk(tmp_path, files) / "store", "--verify", "--json").rows
    assert [(row["group"], row["lag"], row["served"], row["doubtful"]) for row in rows] == [("before", 15, 14, 1), ("after", 14, 14, 0)]


def test_what_only_a_group_ahead_of_the_queue_shows_is_lost_to_those_behind(tmp_path: Path) -> None:
    _, files = healthy(60)
    files[OFFSETS] = fastjson({"offsetTable": {"T0@ahead": {0: 23}, "T0@behind": {0: 15}}}).encode()
    ended = run("lag", on_disk(tmp_path, files) / "store", "--verify", "--json", "--all")
    found = {row["group"]: (row["lag"], row["served"], row["lost"]) for row in ended.rows}
    assert (ended.code, found) == (1, {"ahead": (0, 0, 0), "behind": (5, 5, 3)})


def test_the_states_of_a_light_queue_are_not_told(tmp_path: Path) -> None:
    _, files = healthy(60)
    files |= {name.replace("/T1/", "/%LMQ%x/"): content for name, content in files.items() if "/consumequeue/T1/" in name}
    files[OFFSETS] = fastjson({"offsetTable": {"%LMQ%x@g": {0: 15}}}).encode()
    root = on_disk(tmp_path, files) / "store"
    ended = run("lag", root, "--verify", "--json")
    assert [tuple(row[name] for name in STATES) for row in ended.rows] == [(5, 0, None, None, None, None, None)]
    assert "note: the states of what 1 offset has not read are not known" in ended.err


def test_a_lag_that_no_record_and_no_entry_explains_is_said(tmp_path: Path) -> None:
    """A queue jumps from 9 to 12, and no byte of the log is left for what was between: its length counts them."""
    each = [message(number, topic="T0", queue_offset=number + 2 * (number > 9)) for number in range(20)]
    log = log_of(each)
    groups = {"T0@behind": {0: 5}, "T0@after": {0: 12}}
    files = files_of(log) | dispatched(log.placed, file=4000) | beside(log) | {OFFSETS: fastjson({"offsetTable": groups}).encode()}
    root = on_disk(tmp_path, files) / "store"
    ended = run("lag", root, "--verify", "--json", "--where", "group = 'behind'")
    assert [(row["lag"], row["served"], row["lost"]) for row in ended.rows] == [(17, 15, 0)]
    assert "warning: 2 messages of the lag are in no state: no record and no entry has the offset\n" in ended.err
    assert ended.code == 1
    assert "in no state" not in run("lag", root, "--verify", "--where", "group = 'after'").err


def test_several_stores_are_checked_one_by_one(tmp_path: Path) -> None:
    _, files = healthy(60)
    one = on_disk(tmp_path / "one", files) / "store"
    other = on_disk(tmp_path / "other", {name: content for name, content in files.items() if "/consumequeue/T0/" not in name}) / "store"
    ended = run("lag", one, other, "--verify", "--json", "--all", "--name", f"{one}=one", "--name", f"{other}=other")
    found = {(row["broker"], row["topic"]): (row["served"], row["unreachable"]) for row in ended.rows}
    assert found == {("one", "T0"): (17, 0), ("one", "T1"): (0, 0), ("other", "T0"): (0, 17), ("other", "T1"): (0, 0)}
    assert ended.code == 1
