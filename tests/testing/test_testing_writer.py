"""The store writer, against the account of support/account.py and the plain decoder."""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from support.account import (
    SMALL,
    entries_of,
    expected_index,
    expected_queues,
    files_of,
    index_files,
    queue_files,
    records_of,
    relaxed_json,
    segments_of,
)
from support.plain_decoder import properties_of, rows_of, runs_of, walk

from native_reader.testing.__main__ import main, size
from native_reader.testing.java import map_order
from native_reader.testing.spec import Summary
from native_reader.testing.store_writer import write_store


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    root = tmp_path_factory.mktemp("written") / "store"
    return root, write_store(root, SMALL)


def test_every_record_is_read_back(small: tuple[Path, Summary]) -> None:
    root, summary = small
    log = walk(segments_of(root))
    records = records_of(root)
    assert log.damage == []
    assert log.log_end == summary.end_offset
    assert len(records) == summary.records
    assert SMALL.bytes - summary.end_offset < 64 << 10
    for record in records:
        assert record.fixed["body_crc"] == zlib.crc32(record.body) & 0x7FFFFFFF
        assert record.fixed["born_timestamp"] <= record.fixed["store_timestamp"]
    stored = [record.fixed["store_timestamp"] for record in records]
    assert stored == sorted(stored)
    assert (stored[0] >= summary.first_stored, stored[-1]) == (True, summary.last_stored)


def test_segments_are_closed_as_the_broker_closes_them(small: tuple[Path, Summary]) -> None:
    root, summary = small
    segment_size = SMALL.mapped_file_size_commit_log
    segments = segments_of(root)
    assert [base for base, _ in segments] == list(range(0, summary.segments * segment_size, segment_size))
    for (base, data), (_, following) in zip(segments, [*segments[1:], (0, b"")], strict=True):
        *runs, (kind, start, end, _) = runs_of(base, data, "plain")
        assert len(data) == segment_size
        if following:
            first = runs_of(base + segment_size, following, "plain")[0]
            assert kind == "blank"
            assert not any(data[start - base + 8 :])
            assert first[2] - first[1] + 8 > end - start  # it would not have fit
        else:
            assert not any(data[summary.end_offset - base :])
        assert {run[0] for run in runs} == {"record"}


def test_every_kind_is_written(small: tuple[Path, Summary]) -> None:
    records = records_of(small[0])
    topics = {record.topic.decode() for record in records}
    assert {row["kind"] for record in records for row in rows_of(record)} == {
        "normal", "half", "op", "committed", "prepared", "rollback", "delay", "timer", "retry", "dlq", "trace", "pop", "batch", "system",
    }  # fmt: skip
    assert {"TRANS_CHECK_MAX_TIME_TOPIC", "mqtt-messages", "batched-orders"} <= topics
    assert any(record.fixed["magic"] == -626843477 and len(record.topic) > 127 for record in records)
    flags = {record.fixed["sys_flag"] for record in records}
    assert {0x101, 0x201, 0x301, 0x1, 0x8, 0xC0} <= flags
    assert {flag & 0x30 for flag in flags} == {0, 0x10, 0x20, 0x30}


def test_the_mix_is_as_wide_as_promised(small: tuple[Path, Summary]) -> None:
    root, summary = small
    records = [record for record in records_of(root) if summary.topics[record.topic.decode()] > 40]
    shapes = {tuple(properties_of(record.properties)) for record in records}
    bodies = sorted(len(record.body) for record in records)
    assert len(shapes) >= 30
    assert len({record.fixed["born_host"] for record in records}) >= 50
    assert len({record.topic for record in records}) >= 12
    assert bodies[len(bodies) // 20] * 4 < bodies[-len(bodies) // 20]
    share = sum(bool(record.fixed["sys_flag"] & 1) for record in records) / len(records)
    assert 0.02 < share < 0.12
    ids = [properties_of(record.properties)["UNIQ_KEY"] for record in records if record.fixed["prepared_transaction_offset"] == 0]
    assert all(re.fullmatch("[0-9A-F]{32}", unique) for unique in ids)
    assert len(set(ids)) > len(ids) * 0.9  # a retry or a delivery keeps its id


def test_properties_are_in_java_order(small: tuple[Path, Summary]) -> None:
    for record in records_of(small[0]):
        assert record.properties.endswith(b"\x02")
        names = [piece.partition(b"\x01")[0].decode() for piece in record.properties.split(b"\x02")[:-1]]
        assert any(names == map_order(names, capacity) for capacity in (16, 128))


def test_queues_agree_with_the_records(small: tuple[Path, Summary]) -> None:
    root, summary = small
    expected = expected_queues(records_of(root), SMALL)
    assert queue_files(root) == expected
    assert summary.queue_entries == sum(sum(map(any, entries_of(name, data))) for name, data in expected.items())


def test_index_agrees_with_the_records(small: tuple[Path, Summary]) -> None:
    root, summary = small
    expected = expected_index(records_of(root), SMALL)
    assert index_files(root) == expected
    assert len(expected) == summary.index_files > 2
    assert all(re.fullmatch("20260105[0-9]{9}", path.name) for path in (root / "index").iterdir())


def test_the_other_files_agree_with_the_records(small: tuple[Path, Summary]) -> None:
    root, _ = small
    records = records_of(root)
    last = records[-1].fixed
    assert not (root / "abort").exists()
    assert (root / "lock").read_bytes() == b"lock"
    checkpoint = (root / "checkpoint").read_bytes()
    (full_index_end,) = struct.unpack_from(">q", index_files(root)[-2], 8)
    assert checkpoint[:48] == struct.pack(
        ">6q", last["store_timestamp"], last["store_timestamp"], full_index_end, 0, 0, last["physical_offset"]
    )
    assert (len(checkpoint), any(checkpoint[48:])) == (4096, False)
    ends: dict[tuple[str, int], int] = defaultdict(int)
    for record in records:
        if record.fixed["sys_flag"] & 0xC not in (0x4, 0xC):
            key = record.topic.decode(), record.fixed["queue_id"]
            ends[key] = record.fixed["queue_offset"] + int(properties_of(record.properties).get("INNER_NUM", "1"))
    topics = relaxed_json(root / "config" / "topics.json")["topicConfigTable"]
    for topic, queue_id in ends:
        assert queue_id < topics[topic]["readQueueNums"]
    offsets = relaxed_json(root / "config" / "consumerOffset.json")["offsetTable"]
    groups = relaxed_json(root / "config" / "subscriptionGroup.json")["subscriptionGroupTable"]
    for name, table in offsets.items():
        topic, _, group = name.partition("@")
        assert group in groups or group.startswith("CID_RMQ_SYS_")
        assert all(0 <= offset <= ends[topic, int(queue_id)] for queue_id, offset in table.items())
    delays = relaxed_json(root / "config" / "delayOffset.json")["offsetTable"]
    assert delays
    assert all(0 < offset <= ends["SCHEDULE_TOPIC_XXXX", int(level) - 1] for level, offset in delays.items())
    for path in (root / "config").glob("*.json"):
        assert path.read_bytes() == path.with_name(path.name + ".bak").read_bytes()


def test_the_parts_of_transactions_agree(small: tuple[Path, Summary]) -> None:
    by_offset = {record.fixed["physical_offset"]: record for record in records_of(small[0])}
    halves = {
        record.fixed["queue_offset"]: record for record in by_offset.values() if record.topic == b"RMQ_SYS_TRANS_HALF_TOPIC"
    }  # fmt: skip
    decided = [
        int(text) for r in by_offset.values() if r.topic == b"RMQ_SYS_TRANS_OP_HALF_TOPIC" for text in r.body.decode().split(",") if text
    ]
    assert set(decided) <= set(halves)
    committed = [record for record in by_offset.values() if record.fixed["sys_flag"] & 0xC == 0x8]
    assert committed
    for record in committed:
        half = by_offset[record.fixed["prepared_transaction_offset"]]
        assert half.body == record.body
        assert properties_of(half.properties)["UNIQ_KEY"] == properties_of(record.properties)["UNIQ_KEY"]


def test_the_same_seed_gives_the_same_store(small: tuple[Path, Summary], tmp_path: Path) -> None:
    def digest(root: Path) -> dict[str, str]:
        return {name: hashlib.sha256(data).hexdigest() for name, data in files_of(root).items()}

    write_store(tmp_path / "same", SMALL)
    write_store(tmp_path / "other", replace(SMALL, seed=2))
    assert digest(tmp_path / "same") == digest(small[0])
    assert digest(tmp_path / "other")["commitlog/" + "0" * 20] != digest(small[0])["commitlog/" + "0" * 20]


def test_equal_shapes_are_equal(tmp_path: Path) -> None:
    write_store(tmp_path / "store", replace(SMALL, rare=None, shapes="equal", sizes="fixed", compressed=0))
    records = records_of(tmp_path / "store")
    assert len({tuple(properties_of(record.properties)) for record in records}) == 1
    assert {len(record.body) for record in records} == {SMALL.body}
    assert queue_files(tmp_path / "store") == expected_queues(records, SMALL)


def test_a_killed_store(tmp_path: Path) -> None:
    root, spec = tmp_path / "store", replace(SMALL, killed=True)
    summary = write_store(root, spec)
    records = records_of(root)
    assert (root / "abort").exists()
    assert not any(segments_of(root)[-1][1])
    assert segments_of(root)[-1][0] == summary.segments * spec.mapped_file_size_commit_log
    assert 3 <= summary.undispatched < len(records)
    dispatched = records[: -summary.undispatched]
    assert queue_files(root) == expected_queues(dispatched, spec)
    assert index_files(root) == expected_index(dispatched, spec)


def test_an_expired_store(tmp_path: Path, small: tuple[Path, Summary]) -> None:
    root = tmp_path / "store"
    summary = write_store(root, replace(SMALL, expired=4))
    oldest = 4 * SMALL.mapped_file_size_commit_log
    whole, left = files_of(small[0]), files_of(root)
    assert summary.min_offset == oldest == segments_of(root)[0][0]
    gone = set(whole) - set(left)
    assert {name: data for name, data in whole.items() if name not in gone} == left
    for name in gone:
        if "consumequeue/" in name:
            entries = entries_of(name, whole[name])
            assert struct.unpack_from(">q", entries[-1])[0] < oldest
        elif name.startswith("index/"):
            assert struct.unpack_from(">q", whole[name], 24)[0] < oldest
    assert any("consumequeue/" in name for name in gone)
    assert any(name.startswith("index/") for name in gone)
    assert {str(Path(name).parent) for name in whole} == {str(Path(name).parent) for name in left}


def test_a_deleted_topic(tmp_path: Path, small: tuple[Path, Summary]) -> None:
    root = tmp_path / "store"
    write_store(root, replace(SMALL, deleted="orders"))
    assert segments_of(root) == segments_of(small[0])
    assert not (root / "consumequeue" / "orders").exists()
    assert (root / "consumequeue" / "payments").exists()
    assert '"orders' not in (root / "config" / "topics.json").read_text()
    assert '"orders@' not in (root / "config" / "consumerOffset.json").read_text()


def test_a_topic_created_again(tmp_path: Path) -> None:
    root, spec = tmp_path / "store", replace(SMALL, recreated="orders")
    write_store(root, spec)
    records = records_of(root)
    firsts = [
        r
        for r in records
        if r.topic == b"orders" and r.fixed["queue_id"] == 0 and r.fixed["queue_offset"] == 0 and not r.fixed["sys_flag"] & 4
    ]
    assert len(firsts) == 2
    assert queue_files(root) == expected_queues(records, spec)


def test_the_log_alone(tmp_path: Path, small: tuple[Path, Summary]) -> None:
    written: list[tuple[int, int]] = []
    write_store(tmp_path / "store", replace(SMALL, queues=False, index=False), lambda done, total: written.append((done, total)))
    assert written == sorted(written)
    assert written[-1] == (SMALL.bytes, SMALL.bytes)
    assert segments_of(tmp_path / "store") == segments_of(small[0])
    assert not (tmp_path / "store" / "consumequeue").exists()
    assert not (tmp_path / "store" / "index").exists()


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--bytes", "256KiB", "--segment", "64KiB", "--index-slots", "100", "--index-entries", "400", "--queue-file", "2000"]
    assert main([str(tmp_path / "store"), *options]) == 0
    seen = capsys.readouterr()
    assert re.search(r"records +\d", seen.out)
    assert re.search(r"first_stored 2026-01-05 08:00:00\.\d{3}Z\n +last_stored 2026-01-05 08:0\d:\d\d\.\d{3}Z\n", seen.out)
    assert seen.err == ""
    assert main([str(tmp_path / "store"), *options]) == 1
    assert "is not empty" in capsys.readouterr().err
    assert main([str(tmp_path / "a"), *options, "--deleted", "order"]) == 1
    assert "unknown topic 'order'; the topics are orders, payments" in capsys.readouterr().err
    assert main([str(tmp_path / "a"), *options, "--codecs", "zlib,foo"]) == 1
    assert "unknown codec 'foo'; the codecs are zlib, gzip, lz4, zstd" in capsys.readouterr().err
    assert main([str(tmp_path / "b"), "--bytes", "64KiB", "--segment", "4KiB"]) == 1
    assert "too small" in capsys.readouterr().err
    assert [size(text) for text in ("12", "64KiB", "1.5 MiB", "2g")] == [12, 65536, 3 << 19, 2 << 30]
    with pytest.raises(SystemExit):
        main([str(tmp_path / "c"), "--bytes", "much"])
