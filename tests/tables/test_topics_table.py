"""`topics`: counts from the queues equal those from the log, or say that they are not complete."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest
from support.golden import Golden, opened
from support.own_stores import NAMES, TRUNCATED
from support.queued_stores import dispatched, numbered
from support.stores import Files, files_of, in_memory, log_of, message

import native_reader as nr
from native_reader.testing.logs import CommitLog, Framing

Row = dict[str, object]
COUNTS = "records", "messages", "bytes", "first_store_timestamp", "last_store_timestamp"


def store(count: int = 60, framing: Framing = "plain", **options: object) -> tuple[CommitLog, Files]:
    """Three topics of one queue each, in segments of 2 KiB."""
    log = log_of(numbered(map(message, range(count))), framing=framing)
    home = "store/commitlog" if framing == "plain" else "store/dledger-n0/data"
    return log, files_of(log, home) | dispatched(log.placed, **{"file": 4000} | options)  # type: ignore[arg-type]


def rows(files: Files, **options: object) -> dict[str | None, Row]:
    memory = in_memory(files)
    found = nr.open(f"{memory.url}/store").table("topics", **options).to_table().to_pylist()
    assert len({row["topic"] for row in found}) == len(found)
    return {row["topic"]: row for row in found}


def counts(row: Row) -> list[object]:
    return [row[name] for name in COUNTS]


@pytest.mark.parametrize("name", NAMES)
def test_the_counts_are_those_of_the_messages(own_store: Callable[[str], Golden], name: str) -> None:
    golden = opened(own_store(name))
    by_topic: dict[str, list[Row]] = {}
    for row in golden.messages(columns="topic,record_size,store_timestamp,inner_index").to_table().to_pylist():
        by_topic.setdefault(str(row["topic"]), []).append(row)
    expected = {}
    for topic, messages in by_topic.items():
        records = [row for row in messages if not row["inner_index"]]
        times = [row["store_timestamp"] for row in records]
        expected[topic] = [len(records), len(messages), sum(int(str(row["record_size"])) for row in records), min(times), max(times)]  # type: ignore[type-var]
    scanned, listed = (
        {row["topic"]: row for row in golden.table("topics", access=access).to_table().to_pylist()} for access in ("scan", "auto")
    )
    assert {topic: counts(row) for topic, row in scanned.items() if row["records"]} == expected
    assert {row["counted_from"] for row in scanned.values()} == {"log"}
    assert {row["counted_from"] for row in listed.values()} == {"queues"}
    unlisted = listed.pop(None, None)
    for topic, row in listed.items():
        assert row["is_complete"] == (unlisted is None) or name in TRUNCATED
        if row["is_complete"]:
            assert counts(row) == counts(scanned[topic])
        assert row["bytes"] <= scanned[topic]["bytes"] or name in TRUNCATED
    if unlisted is not None and not name.endswith("dledger") and name not in TRUNCATED:
        assert unlisted["bytes"] >= sum(row["bytes"] - listed.get(topic, {"bytes": 0})["bytes"] for topic, row in scanned.items())
    assert any(row["is_complete"] for row in listed.values()) == (unlisted is None) or name in TRUNCATED


@pytest.mark.parametrize("framing", ["plain", "dledger"])
def test_a_whole_store(framing: Framing) -> None:
    log, files = store(framing=framing)
    found = rows(files)
    assert {topic: row["records"] for topic, row in found.items()} == {"T0": 20, "T1": 20, "T2": 20}
    assert {row["is_complete"] for row in found.values()} == {True}
    sizes = Counter[object]()
    for placed in log.placed:
        sizes[placed.message.topic] += placed.size
    assert {topic: row["bytes"] for topic, row in found.items()} == sizes
    size = sum(len(content) for name, content in files.items() if "consumequeue" not in name)
    assert {topic: row["share"] for topic, row in found.items()} == {topic: count / size for topic, count in sizes.items()}
    assert {topic: counts(row) for topic, row in rows(files, access="scan").items()} == {topic: counts(row) for topic, row in found.items()}


def test_45_the_bytes_of_a_deleted_topic_are_in_a_row_without_a_topic() -> None:
    log, files = store(deleted=["T1"])
    found = rows(files)
    assert found.keys() == {"T0", "T2", None}
    lost = sum(placed.size for placed in log.placed if placed.message.topic == "T1")
    assert [found[None][name] for name in ("records", "is_complete")] == [None, False]
    # A blank counts if the record before it is in no queue.
    assert lost <= found[None]["bytes"] < lost + 136 * len(log.files())  # type: ignore[operator]
    assert not found["T0"]["is_complete"]
    scanned = rows(files, access="scan")
    assert [scanned["T1"][name] for name in ("bytes", "records", "queues", "is_complete")] == [lost, 20, 0, True]
    assert None not in scanned


def test_60_two_entries_for_one_record_count_once() -> None:
    _, files = store()
    name = f"store/consumequeue/T1/0/{0:020}"
    files[name] = files[name][:400] + files[name][:60] + files[name][460:]
    assert rows(files)["T1"]["records"] == 20


def test_a_queue_copied_in_the_place_of_another_one_made_counts_complete() -> None:
    """Its records were listed twice, and those of the other queue not at all: the sums of bytes were right."""
    _, files = store()
    names = [f"store/consumequeue/{topic}/0/{0:020}" for topic in ("T1", "T2")]
    sizes = [sum(int.from_bytes(files[name][at + 8 : at + 12], "big") for at in range(0, 400, 20)) for name in names]
    assert sizes[0] == sizes[1]
    assert {row["is_complete"] for row in rows(files).values()} == {True}
    found = rows(files | {names[1]: files[names[0]]})
    assert {row["is_complete"] for row in found.values()} == {False}
    assert found["T1"]["bytes"] == found["T2"]["bytes"]


def test_where_the_clock_went_back_the_first_record_is_the_first_of_the_log() -> None:
    """A scan gave the earliest and the latest time."""
    times = [50, 10, 40, 20, 60, 30]
    log = log_of(numbered(message(3 * number, store_timestamp=1_700_000_000_000 + time) for number, time in enumerate(times)))
    files = files_of(log) | dispatched(log.placed)
    (listed,), (scanned,) = rows(files).values(), rows(files, access="scan").values()
    assert counts(scanned) == counts(listed)
    assert [str(listed[name])[17:26] for name in COUNTS[3:]] == ["20.050000", "20.030000"]


def test_a_log_without_queues_has_one_row_and_with_access_scan_all_topics() -> None:
    log = log_of(60)
    (row,) = rows(files_of(log)).values()
    assert (row["topic"], row["bytes"], row["counted_from"]) == (None, log.end, "queues")
    assert {topic: row["records"] for topic, row in rows(files_of(log), access="scan").items()} == {"T0": 20, "T1": 20, "T2": 20}


def test_a_damaged_log_gives_no_complete_counts() -> None:
    _, files = store()
    name = f"store/commitlog/{2048:020}"
    files[name] = files[name][:300] + bytes(200) + files[name][500:]
    assert {row["is_complete"] for row in rows(files, access="scan").values()} == {False}


def test_the_configuration() -> None:
    _, files = store()
    table = {
        "T0": {"topicName": "T0", "readQueueNums": 4, "writeQueueNums": 8, "perm": 6, "attributes": {"queue.type": "BatchCQ", "x": 1}},
        "idle": {"topicName": "idle", "readQueueNums": "4", "writeQueueNums": 2**40, "perm": True, "attributes": ["x"]},
        "%DLQ%g": 7,
    }
    found = rows(files | {"store/config/topics.json": json.dumps({"topicConfigTable": table}).encode()})
    names = "is_configured", "read_queues", "write_queues", "perm", "attributes", "queues", "records", "kind"
    assert {topic: [row[name] for name in names] for topic, row in found.items()} == {
        "T0": [True, 4, 8, 6, [("queue.type", "BatchCQ")], 1, 20, None],
        "T1": [False, None, None, None, None, 1, 20, None],
        "T2": [False, None, None, None, None, 1, 20, None],
        "idle": [True, None, None, None, [], 0, 0, None],
        "%DLQ%g": [True, None, None, None, [], 0, 0, "dlq"],
    }


def test_a_segment_that_is_deleted_meanwhile_leaves_times_unknown(caplog: pytest.LogCaptureFixture) -> None:
    """A broker deletes its oldest segments at any time."""
    _, files = store()
    memory = in_memory(files)
    scan = nr.open(f"{memory.url}/store").topics(where="topic IS NOT NULL", columns="topic,records,first_store_timestamp")
    scan.explain()
    del files[f"store/commitlog/{0:020}"]
    found = scan.to_table().to_pylist()
    assert [(row["records"], row["first_store_timestamp"]) for row in found] == [(20, None)] * 3
    assert "no longer exists; it existed when the read was planned" in caplog.text


def test_an_empty_store_has_no_rows() -> None:
    assert rows({"store/commitlog/": b""}) == rows({"store/commitlog/": b""}, access="scan") == {}


def test_other_tables_do_not_accept_its_option() -> None:
    memory = in_memory(files_of())
    with pytest.raises(nr.OptionError, match=r"table=segments does not support the option 'access'\. .*Supported: columns, where"):
        nr.open(memory.url).table("segments", access="scan")
    with pytest.raises(nr.OptionError, match=r"table=topics does not support the option 'acess'\. Did you mean 'access'"):
        nr.open(memory.url).table("topics", acess="scan")
