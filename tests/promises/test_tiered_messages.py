"""Messages of a tier on a disk: each once, whether the log has it too or not, and equal to what the log had."""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.against_java import NOT_IN_JAVA, OUR_TIMES, SCHEMA
from support.command_line import run
from support.compare import rows_of
from support.golden import EXPLAINED, Golden, differences
from support.tiers import KEY, OF_TIER, TIERED_STORE, add_tier

import native_reader as nr
from native_reader.errors import OptionError, StoreDamaged
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

OF_PLACES = ("physical_offset", "segment", "offset_msg_id", "msg_id", "tiered")
ORDINARY = {"system_topics": False, "where": OF_TIER}
"""What a tier has."""
Row = dict[str, Any]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with messages of all kinds, all of them in its log and in its tier."""
    store = tmp_path_factory.mktemp("tiered") / "store"
    write_store(
        store,
        StoreSpec(bytes=150 << 10, body=100, rare=0.2, mapped_file_size_commit_log=40 << 10, max_hash_slot_num=100, max_index_num=400),
    )
    add_tier(store, store / "tiered")
    return store


@pytest.fixture
def expired(whole: Path, tmp_path: Path) -> Path:
    """The same; the first segments of its log are gone."""
    store = tmp_path / "store"
    shutil.copytree(whole, store)
    segments = sorted((store / "commitlog").iterdir())
    for segment in segments[: len(segments) // 2]:
        segment.unlink()
    return store


def rows_in(store: Path, **options: Any) -> list[Row]:
    return rows_of(nr.open(store).messages(**{"tiered": True, "columns": "*", **options}).to_table())


def sorted_rows(rows: list[Row], leave_out: tuple[str, ...] = OF_PLACES) -> list[str]:
    return sorted(repr({name: row[name] for name in row if name not in leave_out}) for row in rows)


def a_segment(store: Path) -> Path:
    """The largest file of records in the tier, of an ordinary topic."""
    return max((store / "tiered").glob("*/*/*/*/COMMIT_LOG/*"), key=lambda file: file.stat().st_size)


def test_a_message_in_both_places_is_a_row_of_the_log(whole: Path) -> None:
    assert sorted_rows(rows_in(whole), ()) == sorted_rows(rows_in(whole, tiered=False), ())


def test_what_the_log_no_longer_has_comes_from_the_tier(whole: Path, expired: Path) -> None:
    had = rows_in(whole, tiered=False, **ORDINARY)
    rows = rows_in(expired, **ORDINARY)
    tiered = [row for row in rows if row["tiered"]]
    assert 0 < len(tiered) < len(rows)
    assert sorted_rows(rows, (*OF_PLACES, "store")) == sorted_rows(had, (*OF_PLACES, "store"))
    assert {row["offset_msg_id"] for row in tiered} == {None}
    assert {row["store"] for row in rows} == {expired.as_uri()}
    assert all(row["msg_id"] == row["uniq_key"] for row in tiered)
    assert any(row["inner_index"] for row in tiered)
    for most in ("2k", "1g"):
        scan = nr.open(expired).messages(tiered=True, columns="*", **ORDINARY, max_partition_bytes=most)
        assert sorted_rows(rows_of(scan.to_table(jobs=2)), ()) == sorted_rows(rows, ())
        assert scan.count_rows() == len(rows)


def test_conditions_select_the_same_rows_on_every_way(expired: Path) -> None:
    every = rows_in(expired, access="scan")
    middle = sorted(row["store_timestamp"] for row in every)[len(every) // 2]
    one = next(row for row in every if row["tiered"] and row["keys"])
    batch = max((row for row in every if row["tiered"] and row["inner_index"] is not None), key=lambda row: row["inner_index"])
    conditions: list[tuple[str, Callable[[Row], bool]]] = [
        (f"topic = '{one['topic']}'", lambda row: row["topic"] == one["topic"]),
        ("queue_id = 1 AND queue_offset >= 3 AND queue_offset < 6", lambda row: row["queue_id"] == 1 and 3 <= row["queue_offset"] < 6),
        ("queue_offset IN (2, 5, 9)", lambda row: row["queue_offset"] in (2, 5, 9)),
        (
            f"topic = '{batch['topic']}' AND queue_offset = {batch['queue_offset']}",
            lambda row: (row["topic"], row["queue_offset"]) == (batch["topic"], batch["queue_offset"]),
        ),
        ("tiered = TRUE", lambda row: row["tiered"]),
        ("NOT tiered = TRUE", lambda row: not row["tiered"]),
        ("tiered = TRUE OR queue_id = 0", lambda row: row["tiered"] or row["queue_id"] == 0),
        ("offset_msg_id IS NULL", lambda row: row["offset_msg_id"] is None),
        (f"array_contains(keys, '{one['keys'][0]}')", lambda row: one["keys"][0] in (row["keys"] or ())),
        (f"msg_id = '{one['msg_id']}'", lambda row: row["msg_id"] == one["msg_id"]),
        ("physical_offset < 2000", lambda row: row["physical_offset"] < 2000),
        (f"store = '{expired.as_uri()}'", lambda row: True),
        ("store = 'elsewhere'", lambda row: False),
        ("kind = 'dlq' OR kind = 'retry'", lambda row: row["kind"] in ("dlq", "retry")),
    ]
    for condition, is_wanted in conditions:
        want = sorted_rows([row for row in every if is_wanted(row)], ())
        for access in ("auto", "scan"):
            assert sorted_rows(rows_in(expired, where=condition, access=access), ()) == want, condition
    newer = [row for row in every if row["store_timestamp"] >= middle]
    assert sorted_rows(rows_in(expired, starting_timestamp=middle), ()) == sorted_rows(newer, ())


def test_ids_of_places_match_no_row_of_the_tier(whole: Path, expired: Path) -> None:
    gone = next(row for row in rows_in(whole, tiered=False) if row["uniq_key"] and row["physical_offset"] == 0)
    assert rows_in(expired, msg_id=gone["offset_msg_id"]) == []
    assert [row["queue_offset"] for row in rows_in(expired, msg_id=gone["uniq_key"], where="tiered = TRUE")] == [gone["queue_offset"]]


def test_a_narrow_question_reads_little_of_the_tier(expired: Path) -> None:
    every = nr.open(expired).messages(tiered=True, columns="body").run()
    rows = sum(len(batch) for batch in every)
    row = next(row for row in rows_in(expired) if row["tiered"] and row["queue_offset"] >= 3)
    where = " AND ".join(f"{name} = {row[name]!r}" for name in KEY)
    one = nr.open(expired).messages(tiered=True, columns="body", where=where).run()
    assert sum(len(batch) for batch in one) == 1 < rows
    scanned = sum(
        split.written for split in nr.open(expired).messages(tiered=True, where=where).plan().splits if split.log.tier is not None
    )
    assert scanned <= row["record_size"] * 2


def test_every_byte_of_the_tier_is_accounted_for(expired: Path) -> None:
    file = a_segment(expired)
    with file.open("ab") as appended:  # 5.1 and 5.2 close a file so: size, magic, time of the last record
        appended.write((16).to_bytes(4) + 0xCBD43194.to_bytes(4) + (1_700_000_000_000).to_bytes(8))
    if later := [each for each in file.parent.iterdir() if each.name[8:] > file.name[8:]]:
        for each in later:
            each.unlink()
    run = nr.open(expired).messages(tiered=True).run()
    assert sum(len(batch) for batch in run) > 0
    assert len(run.report.damage) == 0
    found = {each.segment: each for each in run.report.segments}
    for each in (expired / "tiered").glob("*/*/*/*/COMMIT_LOG/*"):
        segment = found[nr.open(expired).stores[0].uri + "/" + str(each.relative_to(expired)).replace("%", "%25").replace(" ", "%20")]
        parts = (segment.record_bytes, segment.blank_bytes, segment.damage_bytes, segment.unwritten_bytes)
        assert sum(parts) == segment.size == each.stat().st_size


def test_damage_in_a_tier_is_damage(expired: Path) -> None:
    rows = rows_in(expired)
    file = a_segment(expired)
    content = bytearray(file.read_bytes())
    size = int.from_bytes(content[:4])
    content[4:8] = b"\0\0\0\0"
    file.write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"COMMIT_LOG"):
        rows_in(expired)
    left = rows_in(expired, mode="DROPMALFORMED")
    assert len(left) in (len(rows) - 1, len(rows))
    both = rows_in(expired, mode="PERMISSIVE")
    (damage,) = (row for row in both if row["corrupt_record"] is not None)
    assert (damage["tiered"], damage["record_size"], len(damage["corrupt_record"])) == (True, size, size)


def test_what_is_damaged_in_the_log_comes_from_the_tier(whole: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(whole, store)
    rows = rows_in(store, **ORDINARY)
    row = next(row for row in rows if row["kind"] == "normal" and row["physical_offset"] > 0)
    segment = store / "commitlog" / row["segment"]
    content = bytearray(segment.read_bytes())
    content[row["physical_offset"] - int(row["segment"]) + 4] ^= 0xFF
    segment.write_bytes(content)
    again = rows_in(store, **ORDINARY, mode="DROPMALFORMED")
    assert sorted_rows(again) == sorted_rows(rows)
    assert [tuple(each[name] for name in KEY) for each in again if each["tiered"]] == [tuple(row[name] for name in KEY)]


@pytest.mark.parametrize("place", ["beside", "named", "configured"])
def test_a_tier_can_be_elsewhere(expired: Path, tmp_path: Path, place: str) -> None:
    rows = rows_in(expired)
    elsewhere = tmp_path / "tier" if place == "beside" else tmp_path / "far" / "away"
    elsewhere.parent.mkdir(exist_ok=True)
    (expired / "tiered").rename(elsewhere)
    if place == "named":
        with pytest.raises(OptionError, match="tiered_store_file_path"):
            rows_in(expired)
        assert sorted_rows(rows_in(expired, tiered_store_file_path=str(elsewhere)), ()) == sorted_rows(rows, ())
        with pytest.raises(OptionError, match="no folder"):
            rows_in(expired, tiered_store_file_path=str(tmp_path))
        return
    if place == "configured":
        (expired / "broker.conf").write_text(f"tieredStoreFilePath={elsewhere}\n")
    assert sorted_rows(rows_in(expired), ()) == sorted_rows(rows, ())


def test_a_tier_of_several_brokers_needs_the_name_of_one(expired: Path) -> None:
    cluster = expired / "tiered/212d6b50_DefaultCluster"
    shutil.copytree(cluster / "broker-a", cluster / "broker-b")
    with pytest.raises(OptionError, match="broker-a, broker-b"):
        rows_in(expired)


def test_names_and_files_that_no_broker_writes_are_no_tier(expired: Path) -> None:
    rows = rows_in(expired)
    broker = expired / "tiered/212d6b50_DefaultCluster/broker-a"
    for name in ("T/-1", "T/00", "T/99999999999", "T/x", "T/0/COMMIT_LOG/sub"):
        (broker / name).mkdir(parents=True)
    for name in ("T/0/COMMIT_LOG/short", f"T/0/COMMIT_LOG/cfcd2084{10**19:020}", "T/0/COMMIT_LOG/cfcd208400000000000000000000", "file"):
        (broker / name).write_bytes(b"" if name.endswith("0000") else b"x")
    assert sorted_rows(rows_in(expired), ()) == sorted_rows(rows, ())
    (broker / "T/0/COMMIT_LOG" / f"cfcd2084{2**63 - 2:020}").write_bytes(b"x")
    with pytest.raises(StoreDamaged, match="cannot be a segment"):
        rows_in(expired)


def test_an_export_has_the_tier_and_can_be_continued(expired: Path, tmp_path: Path) -> None:
    scan = nr.open(expired).messages(tiered=True, columns="topic,tiered", max_partition_bytes="20k")
    exported = scan.export(tmp_path / "out", to="jsonl")
    assert exported.rows == len(rows_in(expired))
    again = scan.export(tmp_path / "out", to="jsonl")  # nothing is left to do: its tasks are read back, with what they know of the tier
    assert (again.rows, [file.name for file in again.files]) == (exported.rows, [file.name for file in exported.files])


def test_a_rescue_saves_what_only_the_tier_has(expired: Path, tmp_path: Path) -> None:
    tiered = [row for row in rows_in(expired) if row["tiered"]]
    done = nr.open(expired).rescue(tmp_path / "out")
    assert done.tiered is not None
    assert (done.tiered.rows, done.exported.rows) == (len(tiered), len(rows_in(expired, tiered=False)))
    assert done.account is not None
    assert "not read" not in done.account.messages
    page = (tmp_path / "out/rescue.md").read_text()
    assert "in `tiered/`" in page
    whys = [row["why"] for row in done.account.table.to_pylist() for _ in range(row["messages"])]
    assert whys.count("tiered") + whys.count("tier damage") == len(tiered)  # a flag for compression is wrong in one
    assert f"{whys.count('tiered'):,} of them from tiered storage" in page
    assert "not read" not in page.replace("has not read", "")
    queues = {(row["topic"], row["queue_id"]) for row in tiered}
    gone = [row for row in done.account.table.to_pylist() if row["state"] == "expired" and (row["topic"], row["queue_id"]) in queues]
    assert gone == []


def test_a_read_without_the_tier_says_what_it_leaves_out(expired: Path) -> None:
    (note,) = nr.open(expired).messages().unread_tiers(lambda name: f"<{name}>")
    assert "tiered storage holds" in note
    assert "<tiered=True> reads them" in note
    assert nr.open(expired).messages(tiered=True).unread_tiers() == []
    assert nr.open(expired).messages(topic="nothing").unread_tiers() == []


def test_streams_follow_the_log_only(expired: Path) -> None:
    with pytest.raises(OptionError, match="tiered is not supported in a stream"):
        nr.open(expired).follow(start="earliest", tiered=True)


def test_every_message_of_a_real_tier_is_as_in_java(tmp_path: Path) -> None:
    if not TIERED_STORE.exists():
        pytest.skip(f"no {TIERED_STORE}")
    with tarfile.open(TIERED_STORE) as archive:
        archive.extractall(tmp_path, filter="data")
    golden = Golden("v5-tiered2", tmp_path / "v5-tiered2")
    rows = {tuple(row[name] for name in KEY): row for row in rows_in(golden.root)}
    assert (len(rows), sum(row["tiered"] for row in rows.values())) == (1054, 891)
    known = {tuple(row[name] for name in KEY): row for row in golden.expected_rows}
    with gzip.open(golden.folder / "tiered.jsonl.gz") as lines:
        tier = [json.loads(line) for line in lines]
    assert len({tuple(row.get(name) for name in KEY) for row in tier} | known.keys()) == 1054
    assert Counter(row["tiered"] for row in rows.values()) == {True: 891, False: 163}
    columns = [name for name in SCHEMA if name not in (*NOT_IN_JAVA, "segment")]
    in_log = [rows[key] for key in known]
    assert differences(list(known.values()), in_log, columns, (*EXPLAINED, OUR_TIMES), Counter()) == []
    for java in tier:
        row = rows[tuple(java[name] for name in KEY)]
        if row["tiered"] and row["inner_index"] is None:
            same = ("tags", "msg_id", "properties", "born_timestamp", "store_timestamp", "body_crc", "store_host", "flag")
            assert {name: row[name] for name in same} == {name: java[name] for name in same}
            assert row["record_size"] == java["record_size"]


def test_find_ended_with_an_error_where_a_tier_was_read(expired: Path) -> None:
    """The end of a queue's log in the tier was taken for that of a store."""
    keys = nr.open(expired).messages(tiered=True, columns="topic,keys,tiered").to_table().to_pylist()
    topic, key = next((row["topic"], row["keys"][0]) for row in keys if row["keys"] and row["tiered"])
    for name, code in ((key, 0), ("nothing-has-this-key", 1)):
        ended = run("find", expired, "--key", name, "--topic", topic, "--option", "tiered=true")
        assert (ended.code, "Traceback" in ended.err) == (code, False), ended.err
