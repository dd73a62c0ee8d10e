"""A check that reads the tier: what only the tier has is served, and damage there is found and accounted for."""

from __future__ import annotations

import csv
import json
import pickle
import shutil
import tarfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.command_line import run
from support.tiers import KEY, OF_TIER, TIERED_STORE, add_tier

import native_reader as nr
from native_reader.account.account import Account
from native_reader.errors import OptionError
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store
from native_reader.verify.tier import TierPart

SMALL = {"mapped_file_size_consume_queue": 20_000, "max_hash_slot_num": 500, "max_index_num": 2_000}
"""Tests copy the store, and a copy has no holes: those of an index are 420 MB."""
ORDINARY = {"system_topics": False, "where": OF_TIER}
Row = dict[str, Any]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with all messages of ordinary topics in its log and in its tier."""
    store = tmp_path_factory.mktemp("tiered") / "store"
    write_store(store, StoreSpec(bytes=60 << 10, body=100, rare=0.1, topics=4, seed=1, mapped_file_size_commit_log=15 << 10, **SMALL))
    add_tier(store, store / "tiered", 1_500)
    return store


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    """A copy."""
    return Path(shutil.copytree(whole, tmp_path / "store"))


def expire(store: Path, share: float = 0.5) -> None:
    segments = sorted((store / "commitlog").iterdir())
    for segment in segments[: int(len(segments) * share)]:
        segment.unlink()


def checked(store: Path, **options: Any) -> tuple[list[Row], Account]:
    check = nr.open(store).verify(file_reserved_time=0, **{"tiered": True, **options})
    return check.to_table().to_pylist(), check.account


def of_tier(found: list[Row]) -> list[Row]:
    return [row for row in found if row["code"].startswith("tier-")]


def states(account: Account) -> Mapping[tuple[str, str], int]:
    sums = Counter[tuple[str, str]]()
    for row in account.table.to_pylist():
        sums[row["state"], row["why"]] += row["messages"]
    return sums


def keys(store: Path, **options: Any) -> set[tuple[Any, ...]]:
    rows = nr.open(store).messages(columns=KEY, **options).to_table().to_pylist()
    return {tuple(row[name] for name in KEY) for row in rows}


def by_key(account: Account) -> dict[tuple[Any, ...], str]:
    """The state and what shows it, by topic, queue and queue offset. No message may be in two."""
    found = dict[tuple[Any, ...], str]()
    for row in account.table.to_pylist():
        if row["why"] == "in no queue":  # a prepared message has the offset of no queue
            continue
        for number in range(row["first_queue_offset"] or 0, (-1 if row["last_queue_offset"] is None else row["last_queue_offset"]) + 1):
            key = row["topic"], row["queue_id"], number
            assert key not in found, (key, found[key], row)
            found[key] = f"{row['state']}: {row['why']}"
    return found


def first_files(store: Path) -> tuple[Path, Path]:
    """The first file of records, and that of the queue, of the queue with most files: the log has none of these messages."""
    ordinary = (queue for queue in (store / "tiered").glob("*/*/*/*") if not queue.parts[-2].startswith("batched"))
    most = max(ordinary, key=lambda queue: (len(list((queue / "COMMIT_LOG").iterdir())), str(queue)))
    logs, (entries,) = sorted((most / "COMMIT_LOG").iterdir(), key=lambda file: file.name[8:]), (most / "CONSUME_QUEUE").iterdir()
    return logs[0], entries


def test_a_whole_tier_changes_nothing_of_a_whole_log(whole: Path) -> None:
    found, account = checked(whole)
    without, plain = checked(whole, tiered=False)
    assert ([row["code"] for row in found], [row["code"] for row in without]) == ([], ["part-not-read"])
    assert (account.is_whole, plain.is_whole) == (True, False)
    assert {**account.messages, "not read": plain.messages["not read"]} == plain.messages


def test_a_copy_of_a_message_of_a_deleted_topic_is_not_counted_again(tmp_path: Path) -> None:
    write_store(tmp_path / "store", StoreSpec(bytes=60 << 10, body=100, topics=4, deleted="orders"))
    add_tier(tmp_path / "store", tmp_path / "store/tiered", 1_500)
    account, plain = (checked(tmp_path / "store", tiered=tiered)[1].messages for tiered in (True, False))
    assert account["deleted"] > 0
    assert {**account, "not read": plain["not read"]} == plain


def test_what_expired_is_served_by_the_tier(whole: Path, store: Path) -> None:
    had = keys(whole, **ORDINARY)
    expire(store)
    found, account = checked(store)
    left = keys(store, **ORDINARY)
    assert of_tier(found) == []
    assert account.is_whole
    assert states(account)["served", "tiered"] == len(had - left) > 0
    assert f"{len(had - left):,} of them from tiered storage" in account.said.text()
    ordinary = {topic for topic, _, _ in had}
    assert [row for row in account.table.to_pylist() if row["state"] == "expired" and row["topic"] in ordinary] == []
    assert not checked(store, tiered=False)[1].is_whole


def test_a_real_tier_is_whole_and_has_what_the_log_has_no_more(tmp_path: Path) -> None:
    if not TIERED_STORE.exists():
        pytest.skip(f"no {TIERED_STORE}")
    with tarfile.open(TIERED_STORE) as archive:
        archive.extractall(tmp_path, filter="data")
    found, account = checked(tmp_path / "v5-tiered2/store")
    assert of_tier(found) == []
    assert {row["severity"] for row in found} == {"note"}
    assert (account.messages["served"], states(account)["served", "tiered"], account.is_whole) == (1054, 891, True)


def test_damage_in_a_tier_is_lost_only_if_the_log_has_it_no_more(store: Path) -> None:
    file, _ = first_files(store)
    content = bytearray(file.read_bytes())
    size = int.from_bytes(content[:4])
    content[4:8] = bytes(4)
    file.write_bytes(content)
    found, account = checked(store)
    (damage,) = found
    topic, queue_id = file.parts[-4], int(file.parts[-3])
    assert (damage["code"], damage["severity"], damage["file"].rpartition("/")[2]) == ("tier-damage", "error", file.name)
    assert (damage["topic"], damage["queue_id"], damage["offset"]) == (topic, queue_id, 0)
    assert f"{size:,} bytes" in damage["message"]
    assert account.is_whole
    expire(store)
    (lost,) = (row for row in checked(store)[1].table.to_pylist() if row["state"] == "lost")
    assert [lost[name] for name in (*KEY[:2], "why", "messages", "first_queue_offset")] == [topic, queue_id, "tier damage", 1, 0]


DAMAGES: dict[str, tuple[str, str]] = {
    "body": ("tier-damage", "lost: tier damage"),
    "size": ("tier-damage", "lost: tier damage"),
    "zeros": ("tier-damage", "lost: tier damage"),
    "place": ("tier-entry", "unreachable: tier no entry"),
    "tag": ("tier-entry", "doubtful: tier doubt"),
    "cut queue": ("", "unreachable: tier no entry"),
    "no queue": ("", "unreachable: tier no entry"),
    "no log": ("tier-entry", "lost: tier damage"),
    "cut log": ("tier-missing", "lost: tier damage"),
    "middle": ("tier-missing", "lost: tier damage"),
}


def do_damage(log: Path, queue: Path, what: str) -> None:
    content, entries = bytearray(log.read_bytes()), bytearray(queue.read_bytes())
    if what == "body":
        content[92] ^= 0x5A
    elif what == "size":
        content[2] ^= 0x5A
    elif what == "zeros":
        content[100:200] = bytes(100)
    elif what == "place":
        entries[7] ^= 1
    elif what == "tag":
        entries[19] ^= 1
    elif what == "cut queue":
        del entries[30:]
    elif what == "cut log":
        del content[-21:]
    elif what == "no queue":
        queue.unlink()
    elif what == "no log":
        shutil.rmtree(log.parent)
    elif what == "middle":
        sorted(log.parent.iterdir(), key=lambda file: file.name[8:])[1].unlink()
    if log.exists():
        log.write_bytes(content)
    if queue.exists():
        queue.write_bytes(entries)


@pytest.mark.parametrize("what", DAMAGES)
def test_each_message_is_served_exactly_if_the_tier_has_it_and_its_queue_names_it(whole: Path, store: Path, what: str) -> None:
    had = keys(whole, **ORDINARY)
    expire(store, 0.75)
    log, queue = first_files(store)
    do_damage(log, queue, what)
    found, account = checked(store)
    code, state = DAMAGES[what]
    assert not code or code in {row["code"] for row in of_tier(found)}, found
    assert all(row["topic"] == log.parts[-4] for row in of_tier(found))
    told, in_log = by_key(account), keys(store)
    readable = keys(store, tiered=True, mode="DROPMALFORMED", verify_crc=True, fail_on_data_loss=False, **ORDINARY)
    assert had - told.keys() == set()
    assert {key for key in had - in_log if told[key].startswith("served")} <= readable
    assert {told[key] for key in had - readable} <= {"lost: tier damage"}
    assert {told[key] for key in readable} <= {"served: tiered", "served: queued", state}
    assert state in {told[key] for key in had}
    assert not account.is_whole


def test_what_follows_a_hole_in_the_queue_of_a_tier_is_not_served(whole: Path, store: Path) -> None:
    """5.5.0's consumers got 35 of 164 messages, all before the hole."""
    expire(store, 0.75)
    log, queue = first_files(store)
    entries, base = queue.read_bytes(), int(queue.name[8:])
    before, after = 20, 40
    queue.write_bytes(entries[:before])
    queue.with_name(f"{queue.name[:8]}{base + after:020}").write_bytes(entries[after:])
    found, account = checked(store)
    assert "tier-missing" in {row["code"] for row in of_tier(found)}
    names = log.parts[-4], int(log.parts[-3])
    told, in_log = by_key(account), keys(store, **ORDINARY)
    hole = (base + before) // 20
    of_queue = {key for key in keys(whole, **ORDINARY) if key[:2] == names}
    assert {told[key] for key in of_queue if key[2] < hole and key not in in_log} == {"served: tiered"}
    assert {told[key] for key in of_queue if hole + 1 <= key[2] and key not in in_log} == {"unreachable: tier hole"}
    assert {told[key] for key in in_log} == {"served: queued"}


def test_a_file_that_the_metadata_counts_is_missed(whole: Path, store: Path) -> None:
    """Without it, a queue that is gone as a whole would have left no trace."""
    log, queue = first_files(store)
    name = f"broker-a/{log.parts[-4]}/{log.parts[-3]}"
    segment = {"type": 0, "status": 1, "createTimestamp": 1, "beginTimestamp": 1, "endTimestamp": 2, "sealTimestamp": 0}
    tables = {}
    for kind, files in (("commitLog", log.parent), ("consumeQueue", queue.parent)):
        sizes = {int(file.name[8:]): file.stat().st_size for file in files.iterdir()}
        tables[f"{kind}FileSegmentTable"] = {name: {str(base): {**segment, "baseOffset": base, "size": sizes[base]} for base in sizes}}
    (store / "config/tieredStoreMetadata.json").write_text(json.dumps(tables))
    expire(store, 0.75)
    assert of_tier(checked(store)[0]) == []
    messages = queue.stat().st_size // 20
    shutil.rmtree(queue.parents[1])
    found, account = checked(store)
    assert {row["code"] for row in of_tier(found)} == {"tier-missing"}
    lost = [key for key, state in by_key(account).items() if state == "lost: tier file"]
    in_log = {key for key in keys(store) if key[:2] == (log.parts[-4], int(log.parts[-3]))}
    assert 0 < len(lost) == messages - len(in_log)


def test_what_the_log_has_lost_is_not_lost_where_the_tier_has_it(whole: Path, store: Path) -> None:
    """Brokers look in their log for what begins after its begin, so that they serve what expired, and not what is damaged there."""
    had = keys(whole, **ORDINARY)
    segments = sorted((store / "commitlog").iterdir())
    segments[0].unlink()
    segments[2].unlink()
    found, account = checked(store)
    told, in_log = by_key(account), keys(store, fail_on_data_loss=False)
    assert "log-missing" in {row["code"] for row in found}
    assert {told[key] for key in had - in_log} == {"served: tiered", "unreachable: only tiered"}
    assert [key for key, state in told.items() if state.startswith("lost") and key in had] == []
    plain = by_key(checked(store, tiered=False)[1])
    gone = {key for key, state in plain.items() if state == "lost: gap"}
    assert {key for key, state in told.items() if state == "unreachable: only tiered"} == gone & had


def test_a_lost_queue_is_not_served_from_the_tier(whole: Path, store: Path) -> None:
    had = keys(whole, **ORDINARY)
    expire(store, 0.75)
    log, _ = first_files(store)
    shutil.rmtree(store / "consumequeue" / log.parts[-4] / log.parts[-3])
    told, in_log = by_key(checked(store)[1]), keys(store)
    gone = {key for key in had - in_log if key[:2] == (log.parts[-4], int(log.parts[-3]))}
    assert {told[key] for key in gone} == {"unreachable: tier beyond"}


def test_a_store_that_begins_at_0_gets_nothing_from_the_tier(whole: Path, store: Path) -> None:
    """`getCommitLogOffsetInQueue` is 0 without an entry, and that is in such a log."""
    log, _ = first_files(store)
    for segment in sorted((store / "commitlog").iterdir())[1:]:
        segment.unlink()
    shutil.rmtree(store / "consumequeue" / log.parts[-4] / log.parts[-3])
    told, in_log = by_key(checked(store)[1]), keys(store, fail_on_data_loss=False)
    of_queue = {key for key in keys(whole) if key[:2] == (log.parts[-4], int(log.parts[-3]))}
    assert {told[key] for key in of_queue - in_log} == {"unreachable: only tiered"}


def test_a_killed_broker_leaves_a_record_twice(store: Path) -> None:
    """The record is there before its entry: after a start, the broker writes both once more."""
    expire(store, 0.75)
    log, queue = first_files(store)
    last = max(log.parent.iterdir(), key=lambda file: file.name[8:])
    entry = queue.read_bytes()[-20:]
    place, size = int.from_bytes(entry[:8]), int.from_bytes(entry[8:12])
    record = bytearray(last.read_bytes()[place - int(last.name[8:]) :][:size])
    record[28:36] = (place + size).to_bytes(8)
    with last.open("ab") as file:
        file.write(record)
    found, account = checked(store)
    assert (of_tier(found), account.is_whole) == ([], True)
    content = bytearray(queue.read_bytes())
    content[-20:-12] = (place + size).to_bytes(8)
    queue.write_bytes(content)
    found, account = checked(store)
    assert account.is_whole


def test_old_files_of_a_tier_expire_each_by_itself(store: Path) -> None:
    expire(store, 0.75)
    log, queue = first_files(store)
    content = queue.read_bytes()
    queue.unlink()
    (queue.parent / f"cfcd2084{40:020}").write_bytes(content[40:])
    found, account = checked(store)
    assert (of_tier(found), account.is_whole) == ([], True)
    gone = {key: state for key, state in by_key(account).items() if key[:2] == (log.parts[-4], int(log.parts[-3])) and key[2] < 2}
    assert set(gone.values()) == {"expired: before begin"}
    log.unlink()
    found, account = checked(store)
    assert (of_tier(found), account.is_whole) == ([], True)


def test_files_that_overlap_are_not_read_and_end_no_check(store: Path) -> None:
    log, _ = first_files(store)
    with log.open("ab") as file:
        file.write(bytes(9))
    found, account = checked(store)
    (damage,) = of_tier(found)
    assert (damage["code"], "both have offset" in damage["message"]) == ("tier-damage", True)
    assert not account.is_whole


def test_a_rescue_tells_what_is_damaged_in_the_tier(store: Path, tmp_path: Path) -> None:
    """It said "at least 1,024 not read" of what it had just saved, and nothing of damage there."""
    expire(store, 0.75)
    log, queue = first_files(store)
    do_damage(log, queue, "size")
    for _ in range(2):  # the second time, the rescue is there already
        done = nr.open(store).rescue(tmp_path / "out")
        assert done.account is not None
        assert (states(done.account)["lost", "tier damage"], done.is_whole, "not read" in done.account.messages) == (1, False, False)
        page = (tmp_path / "out/rescue.md").read_text()
        assert "tier-damage" in page
        assert "its queue in tiered storage has a place for it, and no whole record is there" in page


def test_doctor_counts_the_tier_when_asked(store: Path) -> None:
    expire(store, 0.75)
    options = ("--full", "--option", "tiered=true")
    told, silent = run("doctor", store, *options), run("doctor", store, "--full")
    assert ("of them from tiered storage" in told.out, "not read" in told.out) == (True, False)
    assert ("of them from tiered storage" in silent.out, "not read there" in silent.out) == (False, True)
    only = run("doctor", store, "--option", "tiered=true")
    assert (only.code, "--full" in only.err) == (2, True)


def test_a_check_needs_a_tier_on_a_disk(store: Path) -> None:
    shutil.rmtree(store / "tiered")
    with pytest.raises(OptionError, match="tiered_store_file_path"):
        checked(store)


def test_the_table_has_the_same_account(store: Path) -> None:
    expire(store)
    table = nr.open(store).table("account", tiered=True).to_table()
    check = nr.open(store).verify(tiered=True)
    check.to_table()
    assert table.equals(check.account.table)


def test_bytes_of_a_tier_that_nothing_names_may_have_been_messages(store: Path) -> None:
    expire(store, 0.75)
    log, queue = first_files(store)
    do_damage(log, queue, "size")
    do_damage(log, queue, "no queue")
    account = checked(store)[1]
    assert (states(account)["at least", "tier bytes"], account.is_whole, account.knows_all) == (0, False, False)
    assert any(row["why"] == "tier bytes" for row in account.table.to_pylist())


def test_the_parts_can_be_sent_to_other_machines(store: Path) -> None:
    expire(store)
    do_damage(*first_files(store), "place")
    parts = [each for each in nr.open(store).table("findings", tiered=True).parts() if isinstance(each, TierPart)]
    assert len(parts) > 1
    assert pickle.loads(pickle.dumps(parts)) == parts


def test_lost_tells_what_the_tier_has_not_either(whole: Path, store: Path, tmp_path: Path) -> None:
    expire(store, 0.75)
    log, queue = first_files(store)
    topic, queue_id = log.parts[-4], int(log.parts[-3])
    rows = nr.open(whole).messages(columns=(*KEY, "uniq_key"), topic=topic, queue_id=queue_id).to_table().to_pylist()
    ids = [row["uniq_key"] for row in sorted(rows, key=lambda row: row["queue_offset"])]
    do_damage(log, queue, "size")
    file = tmp_path / "ids.txt"
    file.write_text(f"{ids[0]}\n{ids[1]}\n{ids[-1]}\n")
    ended = run("lost", store, "-o", tmp_path / "lost", "--keys", file, "--option", "tiered=true")
    assert ended.code == 1, ended.err
    with (tmp_path / "lost/keys.csv").open() as lines:
        answers = {row["key"]: row["answer"] for row in csv.DictReader(lines)}
    assert (answers[ids[1]], answers[ids[-1]]) == ("whole", "whole")
    assert answers[ids[0]] in ("possibly lost", "not seen")
    told = [json.loads(line) for line in (tmp_path / "lost" / topic / "lost.jsonl").read_text().splitlines()]
    assert [(row["queue_id"], row["first_queue_offset"]) for row in told if row["why"] == "tier damage"] == [(queue_id, 0)]
    assert nr.open(store).lost(tmp_path / "without", keys=[ids[1]]).keys != {"whole": 1}
