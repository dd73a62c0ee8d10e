"""Tables that RocketMQ's own classes can make, too: offsets of consumer groups, and traces."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rocketmq import Java
from support.golden import Golden, opened
from support.own_stores import NAMES
from support.plain_decoder import Row
from support.stores import files_of, in_memory, log_of

import native_reader as nr
from native_reader.testing.records import Message

_OFFSETS = ("lmqConsumerOffset.json", "consumerOffset.json")
TRACE = "RMQ_SYS_TRACE_TOPIC"
SENT = "1700000000123|Default|PG|orders|ID1|tagA|k1 k2|10.0.0.1:10911"
BODIES = (
    f"Pub|{SENT}|26|8|0|true",
    f"Pub|{SENT}|26|8|3|OFFSETID|true/Pub|{SENT}|0|0|4|OFFSETID|false|10.0.0.9@77",
    f"Pub|{SENT.replace('tagA', 'null').replace('k1 k2', '')}|26|8|1|null|true",
    "SubBefore|1700000000200|Default|CG|req1|ID1|2|k1/SubBefore|1700000000200|Default|CG|req1|ID2|0|null",
    "SubAfter|req1|ID1|15|false|k1/SubAfter|req1|ID1|15|true|k1|4/SubAfter|req1|ID1|15|true|k1|2|1700000000210|CG",
    f"EndTransaction|{SENT}|2|tx1|COMMIT_MESSAGE|true/EndTransaction|{SENT}|1|tx2|UNKNOW|false",
    "Recall|1700000000400|Default|PG|orders|ID1|true",
)
"""`|` is the separator of fields, and `/` that of records."""
_OF_SENDS = ("time_stamp", "region_id", "group_name", "topic", "msg_id")
FIELDS: dict[str, tuple[str, ...]] = {
    "Pub": (*_OF_SENDS, "tags", "keys", "store_host", "body_length", "cost_time", "msg_type", "offset_msg_id", "status"),
    "SubBefore": ("time_stamp", "region_id", "group_name", "request_id", "msg_id", "retry_times", "keys"),
    "SubAfter": ("request_id", "msg_id", "cost_time", "status", "keys", "context_code"),
    "EndTransaction": (
        *(*_OF_SENDS, "tags", "keys", "store_host", "msg_type"),
        *("transaction_id", "transaction_state", "from_transaction_check"),
    ),
    "Recall": (*_OF_SENDS, "status"),
}
"""What Java's class reads of each type, whatever the version of the client."""
_ABSENT: dict[str, Any] = {"context_code": 0}
"""Java's value where a record ends before the field."""


def said(java: Java, folder: Path, bodies: list[bytes], *offsets: Path) -> list[Row]:
    folder.mkdir(exist_ok=True)
    (folder / "bodies").write_text("".join(f"{base64.b64encode(body).decode()}\n" for body in bodies))
    return java.run("Tables", folder / "bodies", *offsets, home=folder)


def spans_of(rows: list[Row]) -> list[dict[str, Any]]:
    """Our rows with Java's values: milliseconds, and whether it succeeded."""
    found = []
    for row in rows:
        if row["reason"] == "the type is unknown":  # Java has no row for it
            continue
        assert row["reason"] is None
        values = {name: row[name] for name in FIELDS[row["trace_type"]]}
        if "time_stamp" in values:
            values["time_stamp"] = round(row["time_stamp"].timestamp() * 1000)
        if "status" in values:
            values["status"] = row["status"] == "success"
        absent = {name: value for name, value in _ABSENT.items() if name in values and values[name] is None}
        found.append({"trace_type": row["trace_type"]} | values | absent)
    return found


def javas_spans(lines: list[Row]) -> list[dict[str, Any]]:
    """A value that is missing is the text `null` in Java, or an empty one."""
    lines = [line for line in lines if "trace_type" in line]
    return [
        {name: None if line[name] in ("null", "") else line[name] for name in ("trace_type", *FIELDS[line["trace_type"]])} for line in lines
    ]


def name_of(row: Row) -> str:
    """Topic and group as the broker writes them."""
    return f"{row['topic']}@{row['group']}{'@broadcast' if row['is_broadcast'] else ''}"


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_offsets_and_traces_of_real_brokers(
    rocketmq: Callable[[str], Java], own_store: Callable[[str], Golden], tmp_path: Path, name: str
) -> None:
    store = opened(own_store(name))
    config = own_store(name).root / "config"
    files = [config / each for each in _OFFSETS if (config / each).exists()][:1]
    bodies = store.messages(columns="body", where=f"topic = '{TRACE}'").to_table()["body"].to_pylist()
    lines = said(rocketmq("5.5.0"), tmp_path / "java", bodies, *files)

    rows = [row for row in store.groups().to_table().to_pylist() if row["committed"] is not None]
    java = {(line["name"], line["queue_id"]): line["committed"] for line in lines if "name" in line}
    if name.endswith("-moved"):  # this broker went on with a database of offsets, so those in the file are old
        newer = {(name_of(row), row["queue_id"]): row["committed"] for row in rows}
        assert newer
        assert all(committed >= java.get(each, committed) for each, committed in newer.items())
        java = {}
    ours = {(name_of(row), row["queue_id"]): row["committed"] for row in rows if row["file"] in [each.as_uri() for each in files]}
    assert ours == java
    assert spans_of(store.table("traces").to_table().to_pylist()) == javas_spans(lines)
    assert (ours and bodies) or not name.endswith("-kinds")


@pytest.mark.long
def test_traces_of_each_kind(rocketmq: Callable[[str], Java], tmp_path: Path) -> None:
    bodies = [body.replace("|", "\x01").replace("/", "\x02").encode() for body in BODIES]
    memory = in_memory(files_of(log_of(Message(topic=TRACE, body=body, queue_offset=number) for number, body in enumerate(bodies))))
    rows = nr.open(f"{memory.url}/store").table("traces").to_table().to_pylist()
    assert {row["trace_type"] for row in rows} == set(FIELDS)
    assert spans_of(rows) == javas_spans(said(rocketmq("5.5.0"), tmp_path / "java", bodies))
