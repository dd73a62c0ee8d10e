"""`queues` and `queue_entries`: what Java says of stores of real brokers, and each fault of a queue's files."""

from __future__ import annotations

import errno
import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.golden import Golden, opened
from support.indexed_stores import indexed
from support.own_stores import NAMES, NOT_LOADED, TRUNCATED
from support.queued_stores import dispatched, numbered
from support.stores import Files, files_of, in_memory, log_of, message, on_disk

import native_reader as nr
from native_reader.layout.queue_entry import FILLER_SIZE
from native_reader.options import MessageOptions
from native_reader.sides import bounds
from native_reader.sides.queues import Topic, queues_of
from native_reader.storage.protocol import storage_of
from native_reader.tables import TABLES
from native_reader.tables.table import TableRequest
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.logs import CommitLog

Row = dict[str, object]
ENTRY = struct.Struct(">qiq")
QUEUE = f"store/consumequeue/T1/0/{0:020}"


def store(count: int = 60, **options: object) -> tuple[CommitLog, Files]:
    """Three topics of one queue each, in segments of 2 KiB."""
    log = log_of(numbered(map(message, range(count))))
    return log, files_of(log) | dispatched(log.placed, **{"file": 4000} | options)  # type: ignore[arg-type]


def rows(files: Files, table: str = "queues", topic: str = "T1", **options: object) -> list[Row]:
    memory = in_memory(files)
    return [row for row in nr.open(f"{memory.url}/store").table(table, **options).to_table().to_pylist() if row["topic"] == topic]


def queue(files: Files, topic: str = "T1") -> Row:
    (row,) = rows(files, topic=topic)
    return row


def changed(files: Files, number: int, *fields: int) -> Files:
    content = bytearray(files[QUEUE])
    ENTRY.pack_into(content, 20 * number, *fields)
    return files | {QUEUE: bytes(content)}


def part(row: Row, *names: str) -> list[object]:
    return [row[name] for name in names]


def end_of(golden: Golden) -> int:
    """Where the log ends for Java, which cuts it if it does not accept a record: in one store, records without a checksum."""
    return int(json.loads((golden.folder / "loaded.json").read_text())["end"])


BOUNDS = "min_offset", "max_offset", "entries", "gaps", "expired"


# What Java says


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_LOADED])
def test_the_bounds_are_those_of_a_broker(own_store: Callable[[str], Golden], name: str) -> None:
    """RocketMQ's own store class loaded a copy. A copy of a killed store gets the missing entries when it is loaded."""
    golden = own_store(name)
    ours = {(row["topic"], row["queue_id"]): row for row in opened(golden).table("queues").to_table().to_pylist()}
    said = {(line["topic"], line["queue_id"]): (line["first"], line["end"]) for line in golden.lines("queues") if line["end"]}
    assert len(said) > 1
    compared = 0
    for key, (first, end) in said.items():
        row = ours[key]
        if row["state"] == "ahead" or (row["last_physical_offset"] or 0) >= end_of(golden):
            assert row["max_offset"] > end, key
        elif row["state"] == "behind":
            assert "killed" in name
            assert row["max_offset"] < end, key
        else:
            assert part(row, "min_offset", "max_offset") == [first, end], key
            compared += 1
    assert compared > 1 or name in TRUNCATED
    others = [row for key, row in ours.items() if key not in said and row["entries"]]
    assert not [row for row in others if row["first_physical_offset"] < end_of(golden)]
    assert not [row for row in ours.values() if row["found"] or row["gaps"]]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in (*NOT_LOADED, *TRUNCATED)])
def test_the_entries_are_those_of_a_broker(own_store: Callable[[str], Golden], name: str) -> None:
    golden = own_store(name)
    ours: dict[tuple[str, int], list[tuple[object, ...]]] = {}
    for row in opened(golden).table("queue_entries").to_table().to_pylist():
        if row["validity"] == "valid":
            key = row["topic"], row["queue_id"]
            ours.setdefault(key, []).append(tuple(part(row, "queue_offset", "physical_offset", "size", "tags_code", "messages")))
    for line in golden.lines("queues"):
        said = list(zip(*[iter(line["entries"])] * 5, strict=True))
        mine = [entry for entry in ours.pop((line["topic"], line["queue_id"]), []) if entry[1] < end_of(golden)]
        assert mine == said[: len(mine)]
        assert len(mine) == len(said) or "killed" in name
    assert [entry for entries in ours.values() for entry in entries if entry[1] < end_of(golden)] == []


@pytest.mark.parametrize("name", NAMES)
def test_healthy_stores_have_only_valid_entries(own_store: Callable[[str], Golden], name: str) -> None:
    entries = opened(own_store(name)).table("queue_entries").to_table()["validity"].to_pylist()
    expected = (
        {"valid"}
        | ({"expired", "filler"} if name.endswith(("-expired", "-slave")) else set())
        | ({"ahead"} if name in TRUNCATED else set())
        | ({"order"} if name.endswith("-moved") else set())
    )
    assert set(entries) <= expected
    assert entries


# Faults, by their numbers


def test_a_whole_queue() -> None:
    log, files = store()
    offsets = [placed.offset for placed in log.placed if placed.message.topic == "T1"]
    row = queue(files)
    assert part(row, *BOUNDS) == [0, 20, 20, 0, 0]
    assert part(row, "type", "state", "files", "bytes", "found") == ["simple", "dispatched", 1, 4000, None]
    assert part(row, "first_physical_offset", "last_physical_offset") == [offsets[0], offsets[-1]]
    assert [row["physical_offset"] for row in rows(files, "queue_entries")] == offsets


def test_45_a_deleted_topic_has_no_row() -> None:
    _, files = store(deleted=["T1"])
    assert rows(files) == rows(files, "queue_entries") == []


@pytest.mark.parametrize(("cut", "left"), [(1, 0), (19, 0), (20, 1), (21, 1), (39, 1), (399, 19), (400, 20), (401, 20)])
def test_46_a_truncated_file(cut: int, left: int) -> None:
    _, files = store()
    files[QUEUE] = files[QUEUE][:cut]
    assert queue(files)["max_offset"] == left
    assert len(rows(files, "queue_entries")) == left


def test_47_expired_entries() -> None:
    log, files = store()
    del files[f"store/commitlog/{0:020}"]
    kept = [placed for placed in log.placed if placed.message.topic == "T1" and placed.offset >= 2048]
    row = queue(files)
    assert part(row, *BOUNDS) == [20 - len(kept), 20, len(kept), 0, 20 - len(kept)]
    assert row["first_physical_offset"] == kept[0].offset
    assert [row["validity"] for row in rows(files, "queue_entries")] == ["expired"] * (20 - len(kept)) + ["valid"] * len(kept)


def test_47_a_queue_whose_records_have_all_expired() -> None:
    log, files = store()
    for base in sorted({placed.segment for placed in log.placed})[:-1]:
        del files[f"store/commitlog/{base:020}"]
    files[QUEUE] = files[QUEUE][:100].ljust(4000, b"\0")
    row = queue(files)
    assert part(row, *BOUNDS) == [5, 5, 0, 0, 5]
    assert part(row, "first_physical_offset", "last_physical_offset") == [None, None]


@pytest.mark.parametrize("beyond", [0, 10**6, 2**62])
def test_48_entries_after_the_end_of_the_log(beyond: int) -> None:
    log, files = store()
    files = changed(files, 20, log.end + beyond, 100, 0)
    assert part(queue(files), "max_offset", "state", "last_physical_offset") == [21, "ahead", log.end + beyond]
    assert [row["validity"] for row in rows(files, "queue_entries")] == ["valid"] * 20 + ["ahead"]


def test_49_leading_fillers() -> None:
    log = log_of([replace(each, queue_offset=each.queue_offset + 5) for each in numbered(map(message, range(60)))])
    files = files_of(log) | dispatched(log.placed, file=4000)
    assert part(queue(files), *BOUNDS) == [5, 25, 20, 0, 0]
    assert [row["validity"] for row in rows(files, "queue_entries")] == ["filler"] * 5 + ["valid"] * 20
    files[QUEUE] = ENTRY.pack(0, FILLER_SIZE, 0) * 7 + bytes(3860)
    assert part(queue(files), *BOUNDS) == [7, 7, 0, 0, 0]


def test_50_entries_that_no_record_can_have() -> None:
    log, files = store()
    for fields, validity in (((-1, 100, 0), "invalid"), ((5, 0, 1), "invalid"), ((log.placed[1].offset, 9, 0), "order")):
        found = [row["validity"] for row in rows(changed(files, 3, *fields), "queue_entries")]
        assert found == ["valid"] * 3 + [validity] + ["valid"] * 16


def test_51_zeros_between_entries_are_no_rows() -> None:
    _, files = store()
    files = changed(files, 3, 0, 0, 0)
    assert [row["queue_offset"] for row in rows(files, "queue_entries")] == [0, 1, 2, *range(4, 20)]
    assert queue(files)["max_offset"] == 20


def test_52_empty_last_files() -> None:
    _, files = store()
    files |= {QUEUE[:-20] + f"{4000:020}": bytes(4000), QUEUE[:-20] + f"{8000:020}": b""}
    assert part(queue(files), "max_offset", "files", "found") == [20, 2, None]


@pytest.mark.parametrize(("missing", "gaps", "lowest"), [(0, 0, 4), (1, 4, 0), (3, 4, 0), (4, 0, 0)])
def test_53_a_missing_file(missing: int, gaps: int, lowest: int) -> None:
    _, files = store(file=80)
    del files[QUEUE[:-20] + f"{missing * 80:020}"]
    row = queue(files)
    assert part(row, "min_offset", "gaps", "max_offset") == [lowest, gaps, 16 if missing == 4 else 20]
    assert row["entries"] == 16
    assert row["found"] == (f"no file contains entries {4 * missing} to {4 * missing + 3}" if gaps else None)


def test_53_a_missing_file_right_before_the_first_entry_that_has_not_expired() -> None:
    """Its entries would have expired, too."""
    offsets = [placed.offset for placed in store()[0].placed if placed.message.topic == "T1"]
    begin = next(base for base in range(2048, 2048 * 9, 2048) if sum(offset < base for offset in offsets) % 2 == 0)
    expired = sum(offset < begin for offset in offsets)
    _, files = store(file=10 * expired)
    for base in range(0, begin, 2048):
        del files[f"store/commitlog/{base:020}"]
    del files[QUEUE[:-20] + f"{10 * expired:020}"]
    assert part(queue(files), *BOUNDS) == [expired, 20, 20 - expired, 0, expired // 2]


def test_53_a_file_that_overlaps_the_next_one() -> None:
    _, files = store(file=80)
    files[QUEUE] += bytes(20)
    assert queue(files)["found"] == "two files contain entry 4"


def test_56_a_light_queue() -> None:
    _, files = store()
    files[QUEUE.replace("T1", "%LMQ%a")] = files[QUEUE]
    assert part(queue(files, "%LMQ%a"), "type", "state", "max_offset") == ["LMQ", "dispatched", 20]
    assert len(rows(files, "queue_entries", "%LMQ%a")) == 20


def test_59_a_queue_behind_the_log() -> None:
    log, files = store()
    cut = log.placed[50].offset
    files |= dispatched(log.placed, until=cut, file=4000)
    assert {topic: queue(files, topic)["state"] for topic in ("T0", "T1", "T2")} == dict.fromkeys(("T0", "T1", "T2"), "behind")
    # Only the last record, of topic T2, is in no queue.
    files |= dispatched(log.placed, until=log.placed[-1].offset, file=4000)
    assert {topic: queue(files, topic)["state"] for topic in ("T0", "T1", "T2")} == {"T0": "dispatched", "T1": "dispatched", "T2": "behind"}


def test_61_odd_names() -> None:
    _, files = store()
    names = "%RETRY%g", "with space", "%2F", "x" * 255, "é"
    files |= {QUEUE.replace("T1", name): files[QUEUE] for name in names}
    memory = in_memory(files | {QUEUE.replace("/0/", f"/{number}/"): b"" for number in ("99999999999", "-1", "01", "a")})
    found = nr.open(memory.url).table("queues").to_table().to_pylist()
    assert {row["topic"] for row in found} == {"T0", "T1", "T2", *names}
    assert {row["queue_id"] for row in found} == {0}


def test_a_topic_that_is_not_configured_is_orphaned() -> None:
    _, files = store()
    files["store/config/topics.json"] = b'{"topicConfigTable":{"T0":{"topicName":"T0"}}}'
    files[QUEUE.replace("T1", "RMQ_SYS_TRANS_OP_HALF_TOPIC")] = files[QUEUE]
    assert queue(files, "T0")["state"] == "dispatched"
    assert queue(files, "T1")["state"] == "orphaned"
    assert queue(files, "RMQ_SYS_TRANS_OP_HALF_TOPIC")["state"] == "dispatched"


def test_an_unreadable_queue_is_a_row_that_says_so() -> None:
    _, files = store()
    memory = in_memory(files)

    def fault(call: str, uri: str, offset: int) -> None:
        if call == "read" and "/T1/" in uri:
            raise OSError(errno.EIO, "Input/output error")

    faulty = FaultyStorage(memory.url, fault=fault)
    found = {row["topic"]: row for row in nr.open(faulty.url).table("queues").to_table().to_pylist()}
    assert part(found["T1"], "max_offset", "state") == [None, None]
    assert "could not read" in str(found["T1"]["found"])
    assert f"{QUEUE} at byte 0" in str(found["T1"]["found"])
    assert found["T0"]["max_offset"] == 20
    with pytest.raises(nr.UnreadableError, match=f"{QUEUE} at byte 0"):
        nr.open(faulty.url).table("queue_entries").to_table()


def test_a_store_without_queues_has_no_rows(caplog: pytest.LogCaptureFixture) -> None:
    assert rows(files_of()) == rows(files_of(), "queue_entries") == []
    assert not caplog.records


@pytest.mark.parametrize("table", ["queues", "queue_entries", "topics"])
@pytest.mark.parametrize("others", [{}, {QUEUE: ENTRY.pack(0, 100, 0)}])
def test_58_queues_in_a_damaged_database_are_a_warning_when_the_read_is_planned(
    caplog: pytest.LogCaptureFixture, table: str, others: Files
) -> None:
    """Also beside the files of queues from before the broker used RocksDB, which are older."""
    memory = in_memory(files_of() | others | {"store/consumequeue/CURRENT": b"MANIFEST-1\n"})
    scan = nr.open(f"{memory.url}/store").table(table)
    assert not caplog.records
    scan.explain()
    (record,) = caplog.records
    assert record.getMessage().startswith(f"the RocksDB database {memory.url}/store/consumequeue cannot be read: ")
    assert record.getMessage().endswith(
        "It may be an incomplete copy. The queues in it are not listed. The log has all messages: topics with access=scan counts them"
    )
    scan.to_table()
    assert [each for each in caplog.records if "RocksDB" in each.getMessage()] == [record]


def test_58_topics_counted_from_the_log_need_no_queues(caplog: pytest.LogCaptureFixture) -> None:
    memory = in_memory(files_of() | {"store/consumequeue/CURRENT": b"MANIFEST-1\n"})
    assert nr.open(f"{memory.url}/store").topics(access="scan").to_table()["records"].to_pylist() == [10, 10, 10]
    assert not caplog.records


# What it costs


def test_only_the_state_needs_the_end_of_the_log() -> None:
    _, files = store()
    memory = in_memory(files)
    faulty = FaultyStorage(memory.url)
    stores, table, options = nr.open(f"{faulty.url}/store").stores, TABLES["queues"], MessageOptions()
    before = faulty.calls["open"]
    (found,) = table.parts(TableRequest(stores, options.planning(), [name for name in table.columns if name != "state"]))
    assert faulty.calls["open"] == before
    read = [row for batch in table.read(found, options.projection()) for row in batch.to_pylist()]
    assert [(row["max_offset"], row["state"]) for row in read] == [(20, None)] * 3
    assert faulty.calls["open"] == before + 3


@pytest.mark.parametrize("table", ["queue_entries", "index_entries"])
def test_columns_of_entries_that_are_not_needed_are_not_made(monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    log, files = store()
    memory = in_memory(files | indexed(log.placed))
    opened = nr.open(f"{memory.url}/store")
    whole = opened.table(table).to_table()
    assert opened.table(table).count_rows() == len(whole) > 50
    for name in whole.schema.names:
        assert opened.table(table, columns=name).to_table() == whole.select([name])
    for name in ("repeated", "labels"):
        monkeypatch.setattr(f"native_reader.tables.{table}.{name}", None)
    names = ["position", "queue_offset"] if table == "queue_entries" else ["number", "hash"]
    assert opened.table(table, columns=names, where="physical_offset > 0").to_table().num_rows > 50


def test_the_parts_and_batches_of_entries_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    _, files = store(file=80)
    memory = in_memory(files)
    opened = nr.open(memory.url)
    whole = opened.table("queue_entries").to_table()
    cut = opened.table("queue_entries", max_partition_bytes=100)
    assert len(cut.parts()) == 15
    assert cut.to_table(jobs=4).equals(whole)
    monkeypatch.setattr("native_reader.tables.queue_entries._BATCH", 5)
    assert {len(batch) for batch in opened.table("queue_entries").to_batches()} <= {4, 5, 6, 7, 8}
    monkeypatch.setattr("native_reader.sides.queues._PIECE", 40)
    assert opened.table("queue_entries").to_table().equals(whole)


@pytest.mark.parametrize("written", [0, 1, 7, 408, 409, 410, 5000, 9999, 10_000])
@pytest.mark.parametrize("holes", [(), (3,), (100, 2000), tuple(range(1000, 3000))])
def test_the_end_is_found_in_a_file_without_holes(tmp_path: Path, written: int, holes: tuple[int, ...]) -> None:
    content = bytearray(ENTRY.pack(1000, 100, 0) * written).ljust(200_000, b"\0")
    for place in holes:
        content[20 * place : 20 * place + 20] = bytes(20)
    expected = -(-len(content.rstrip(b"\0")) // 20)
    path = on_disk(tmp_path, {f"consumequeue/T/0/{0:020}": bytes(content)})
    (found,) = queues_of(Topic("T", (path / "consumequeue/T").as_uri(), False))
    with storage_of(found.files[0].uri).open(found.files[0].uri) as stored:
        assert bounds.written_units(stored, 20, 10_000) == expected
    memory = in_memory({f"consumequeue/T/0/{0:020}": bytes(content)})
    with storage_of(memory.url).open(f"{memory.url}/consumequeue/T/0/{0:020}") as stored:
        assert bounds.written_units(stored, 20, 10_000) == expected
