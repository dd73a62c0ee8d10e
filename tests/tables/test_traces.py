"""`traces`: records of trace messages, of every version, and bodies that are something else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import golden, own_stores
from support.effort import sampled
from support.golden import Golden
from support.plain_decoder import Row
from support.stores import files_of, in_memory, log_of

import native_reader as nr
from native_reader.testing.records import Message, pack_properties

TRACE = "RMQ_SYS_TRACE_TOPIC"
PUB = "Pub|1700000000123|Default|PG|orders|ID1|tagA|k1 k2|10.0.0.1:10911|26|8|0"
FULL = PUB + "|OFFSETID|true"
BEFORE = "SubBefore|1700000000200|Default|CG|req1|ID1|2|k1"
AFTER = "SubAfter|req1|ID1|15|false|k1"
END = "EndTransaction|1700000000300|Default|PG|orders|ID1|tagA|k1|10.0.0.1:10911|2|tx1|COMMIT_MESSAGE|true"
RECALL = "Recall|1700000000400|Default|PG|orders|ID1|true"
SENT: Row = {
    "trace_type": "Pub", "region_id": "Default", "group_name": "PG", "topic": "orders", "msg_id": "ID1", "tags": "tagA", "keys": "k1 k2",
    "store_host": "10.0.0.1:10911", "body_length": 26, "cost_time": 8, "msg_type": "Normal_Msg",
}  # fmt: skip


def time(milliseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def traced(*bodies: str | bytes, topic: str = TRACE, sys_flag: int = 0) -> list[Row]:
    """The table of a store with these trace messages; `|` is the separator of fields, and `/` that of records."""
    messages = [
        Message(
            topic=topic,
            body=body if isinstance(body, bytes) else body.replace("|", "\x01").replace("/", "\x02").encode(),
            queue_offset=number,
            sys_flag=sys_flag,
        )
        for number, body in enumerate(bodies)
    ]
    memory = in_memory(files_of(log_of(messages, segment_size=1 << 16)))
    return list(nr.open(f"{memory.url}/store").table("traces").to_table().to_pylist())


def values(row: Row) -> Row:
    """The values that are made from the record; those of the message are the same in all these tests."""
    assert row["client_host"] is not None
    of_message = ("store", "physical_offset", "store_timestamp", "record_index", "client_host")
    return {name: value for name, value in row.items() if value is not None and name not in of_message}


def test_each_version_of_a_pub() -> None:
    at = {"time_stamp": time(1_700_000_000_123)}
    (first, second, third, fourth, failed) = traced("/".join([PUB, PUB + "|true", FULL, FULL + "|10.0.0.9@77", PUB + "|OFFSETID|false"]))
    assert values(first) == SENT | at
    assert values(second) == SENT | at | {"status": "success"}
    assert values(third) == SENT | at | {"offset_msg_id": "OFFSETID", "status": "success"}
    assert values(fourth) == values(third)
    assert (third["client_host"], fourth["client_host"]) == ("127.0.0.1", "10.0.0.9@77")
    assert failed["status"] == "failed"


def test_fields_that_a_later_version_adds_are_ignored() -> None:
    first, second = traced(FULL + "|client", FULL + "|client|more|and|more")
    assert values(first) == values(second)


def test_each_version_of_a_consumption() -> None:
    before: Row = {"trace_type": "SubBefore", "region_id": "Default", "group_name": "CG", "request_id": "req1", "msg_id": "ID1"}
    before |= {"retry_times": 2, "keys": "k1", "time_stamp": time(1_700_000_000_200)}
    after: Row = {"trace_type": "SubAfter", "request_id": "req1", "msg_id": "ID1", "cost_time": 15, "status": "failed", "keys": "k1"}
    rows = traced("/".join([BEFORE, BEFORE + "|client", AFTER, AFTER + "|4", AFTER + "|4|", AFTER + "|4|1700000000210|CG"]) + "/")
    assert [values(row) for row in rows[:3]] == [before, before, after]
    assert rows[1]["client_host"] == "client"
    assert [values(row) for row in rows[3:5]] == [after | {"context_code": 4}] * 2
    assert values(rows[5]) == after | {"context_code": 4, "time_stamp": time(1_700_000_000_210), "group_name": "CG"}


def test_transactions_and_recalls() -> None:
    end, recall = map(values, traced(END, RECALL))
    assert end == {
        "trace_type": "EndTransaction", "time_stamp": time(1_700_000_000_300), "region_id": "Default", "group_name": "PG",
        "topic": "orders", "msg_id": "ID1", "tags": "tagA", "keys": "k1", "store_host": "10.0.0.1:10911", "msg_type": "Trans_msg_Commit",
        "transaction_id": "tx1", "transaction_state": "COMMIT_MESSAGE", "from_transaction_check": True,
    }  # fmt: skip
    assert (recall["trace_type"], recall["status"]) == ("Recall", "success")


def test_a_missing_value_is_null_and_no_fault() -> None:
    (row,) = traced(FULL.replace("tagA", "null").replace("k1 k2", ""))
    assert (row["tags"], row["keys"], row["reason"]) == (None, None, None)


REASONS = {
    "": "the body has no record",
    "///": "the body has no record",
    "hello": "the type is unknown",
    "pub|1": "the type is unknown",
    "Pub": "Pub has fewer than 12 fields",
    PUB.rpartition("|")[0]: "Pub has fewer than 12 fields",
    BEFORE.rpartition("|")[0]: "SubBefore has fewer than 8 fields",
    AFTER.rpartition("|")[0]: "SubAfter has fewer than 6 fields",
    END.rpartition("|")[0]: "EndTransaction has fewer than 13 fields",
    RECALL.rpartition("|")[0]: "Recall has fewer than 7 fields",
    FULL.replace("1700000000123", "soon"): "the value of time_stamp is invalid",
    FULL.replace("1700000000123", "9" * 18): "the value of time_stamp is invalid",
    FULL.replace("1700000000123", "9" * 40): "the value of time_stamp is invalid",
    FULL.replace("|26|", "|99999999999|"): "the value of body_length is invalid",
    FULL.replace("|8|0|", "|8|77|"): "the value of msg_type is invalid",
    FULL.replace("|8|0|", "|8|-1|"): "the value of msg_type is invalid",
    FULL.replace("|true", "|maybe"): "the value of success is invalid",
    END.replace("COMMIT_MESSAGE", "DONE"): "the value of transaction_state is invalid",
    FULL.replace("1700000000123", "soon").replace("|26|", "|many|"): "the value of time_stamp is invalid",
}


@pytest.mark.parametrize("body", REASONS)
def test_an_odd_record_is_a_row_with_a_reason(body: str) -> None:
    rows = traced(FULL, body, FULL)
    assert [row["reason"] for row in rows] == [None, REASONS[body], None]


def test_values_beside_an_invalid_one_are_kept() -> None:
    (row,) = traced(FULL.replace("1700000000123", "soon"))
    assert (row["time_stamp"], row["msg_id"], row["cost_time"]) == (None, "ID1", 8)
    (short,) = traced("Pub|1700000000123|Default|PG|orders|ID1")
    assert (short["topic"], short["msg_id"], short["tags"]) == ("orders", "ID1", None)


def test_bodies_that_are_no_text_too_large_or_not_decompressed() -> None:
    (row,) = traced(FULL.replace("tagA", "Ä").replace("|", "\x01").encode("latin-1"))
    assert (row["tags"], row["reason"]) == ("\N{REPLACEMENT CHARACTER}", None)
    (compressed,) = traced(FULL, sys_flag=1)
    assert compressed["reason"] == "the body cannot be decompressed"


def test_a_body_too_large_for_traces() -> None:
    messages = [Message(topic=TRACE, body=b"\x02" * ((4 << 20) + extra), queue_offset=extra) for extra in (0, 1)]
    memory = in_memory(files_of(log_of(messages, segment_size=10 << 20)))
    rows = nr.open(f"{memory.url}/store").table("traces").to_table().to_pylist()
    assert [row["reason"] for row in rows] == ["the body has no record", "the body is larger than 4 MiB"]


def test_topics_of_traces() -> None:
    assert len(traced(FULL, topic="rmq_sys_TRACE_DATA_hangzhou")) == 1
    assert traced(FULL, topic="orders") == []
    assert traced(FULL, topic="rmq_sys_TRACExDATA_hangzhou") == []


def test_the_traces_of_real_clients(golden_store: Callable[[str], Golden], own_store: Callable[[str], Golden]) -> None:
    """Against a split of Java's bodies, for the only type that these clients wrote."""
    stores = [golden_store(name) for name in ("v4-kinds", "v5-kinds", "v5-dledger")]
    stores += [own_store(name) for name in own_stores.NAMES if name.endswith("-kinds")]
    assert len(golden.STORES) > len(stores) > 3
    for store in stores:
        rows = nr.open(store.root).table("traces").to_table().to_pylist()
        expected = [
            [record["physical_offset"], index, line.split("\x01")]
            for record in store.expected_rows
            if record.get("topic") == TRACE
            for index, line in enumerate(record["body"].decode().removesuffix("\x02").split("\x02"))
        ]
        assert len(rows) == len(expected) > 0
        for row, (offset, index, line) in zip(rows, expected, strict=True):
            assert (row["physical_offset"], row["record_index"], row["reason"]) == (offset, index, None)
            assert [row["trace_type"], row["topic"], row["msg_id"], row["tags"], row["keys"], row["store_host"]] == [line[0], *line[4:9]]
            assert (row["time_stamp"], row["cost_time"], row["offset_msg_id"]) == (time(int(line[1])), int(line[10]), line[12])


FIELDS = st.sampled_from(["Pub", "SubBefore", "SubAfter", "EndTransaction", "Recall", "", "null", "1", "-5", "9" * 30, "true", "é", "a b"])


@sampled(200)
@given(st.lists(st.lists(st.lists(FIELDS, max_size=18), max_size=4), max_size=6))
def test_any_fields_give_a_row_for_each_record(messages: list[list[list[str]]]) -> None:
    bodies = ["\x02".join("\x01".join(fields) for fields in records).encode() for records in messages]
    rows = traced(*bodies)
    lines = [[line for line in body.split(b"\x02") if line] for body in bodies]
    assert [row["record_index"] for row in rows] == [index for each in lines for index in (range(len(each)) or [None])]
    types = [line.split(b"\x01")[0].decode() for each in lines for line in (each or [b""])]
    known = ("Pub", "SubBefore", "SubAfter", "EndTransaction", "Recall")
    assert [row["trace_type"] for row in rows] == [each if each in known else None for each in types]
    assert all(row["reason"] for row in rows if row["trace_type"] is None)


def test_a_trace_message_keeps_its_place() -> None:
    properties, host = pack_properties({"KEYS": "ID1"}), (bytes(15) + b"\1", 5)
    message = Message(topic=TRACE, body=FULL.replace("|", "\x01").encode(), properties=properties, born_host=host)
    memory = in_memory(files_of(log_of([message])))
    (row,) = nr.open(f"{memory.url}/store").table("traces").to_table().to_pylist()
    assert (row["client_host"], row["physical_offset"], row["record_index"]) == ("0:0:0:0:0:0:0:1", 0, 0)
