"""Brokers of both release lines write the messages of clients, and we read them as Java does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from javas_truth import judged
from rocketmq import READY_WITHIN, Broker
from support.against_java import NOT_IN_JAVA, OUR_TIMES, SCHEMA
from support.compare import rows_of
from support.golden import EXPLAINED, differences, unpack
from support.own_stores import STORES

import native_reader as nr


@pytest.mark.gate
@pytest.mark.parametrize("version", ["4.9.7", pytest.param("5.5.0", marks=pytest.mark.long)])
def test_everything_a_client_can_do(broker: Callable[..., Broker], tmp_path: Path, version: str) -> None:
    running = broker(version)
    assert running.ready_after < READY_WITHIN
    acknowledged = [line for line in running.traffic("kinds") if "kind" in line]
    assert running.stop() == 143
    assert not (running.store / "abort").exists()

    java = judged(running.java, running.home)
    rows = rows_of(nr.open(running.store).messages(columns="*").to_table())
    assert len(rows) == len(java.expected_rows)
    columns = [name for name in SCHEMA if name not in NOT_IN_JAVA]
    assert differences(java.expected_rows, rows, columns, (*EXPLAINED, OUR_TIMES), Counter()) == []

    # Each acknowledged message is there, with the ids that the client got.
    assert {line["status"] for line in acknowledged} == {"SEND_OK"}
    by_id = {(row["uniq_key"], row["kind"]): row for row in rows if not row["reconsume_times"]}
    for line in acknowledged:
        kind = {"delay": "delay", **dict.fromkeys(("COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW"), "half")}.get(line["kind"], "normal")
        offset_ids = (line["offset_msg_id"] or "").split(",")
        for number, unique in enumerate(line["msg_id"].split(",")):
            row = by_id[unique, kind]
            assert (row["real_topic"] or row["topic"]) == line["topic"]
            assert row["msg_id"] == unique
            assert row["offset_msg_id"] == offset_ids[number] or kind == "half"  # a client does not get the offset of a half

    kinds = Counter(row["kind"] for row in rows)
    assert kinds["committed"] == 3
    assert kinds["op"] >= 1  # one op message can name several halves
    assert kinds["dlq"] == 2
    assert kinds["retry"] == 2 + 2 * 2  # once: one each; always: two each
    assert kinds["trace"] >= 1
    assert [row["delay_level"] for row in rows if row["kind"] == "delay" and row["real_topic"] == "Later"] == [1, 2, 3, 8, 9]
    assert sum(row["topic"] == "Later" for row in rows) == 3  # two are hours away
    assert [row["queue_offset"] for row in rows if row["topic"] == "Again"] == [*range(5), *range(4)]
    assert sum(row["topic"] == "Gone" for row in rows) == 5

    # The store of this repository with the same traffic has the same kinds of messages in the same topics.
    kept = unpack(f"{version}-kinds", tmp_path, STORES)
    assert {(row["topic"], row["kind"]) for row in rows} == {
        (row["topic"], row["kind"]) for row in nr.open(kept.root).messages(columns="topic,kind").to_table().to_pylist()
    }
