"""The engine against Java on the stores of this repository, which real brokers wrote (`tests/broker/make_stores.py`)."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from golden import EXPLAINED, Explanation, Golden, differences, unpack
from plain_decoder import walk
from test_golden import NOT_JAVAS, OUR_OWN, SCHEMA, rows_of

import native_reader as nr

STORES = Path(__file__).parent / "stores"
NAMES = sorted(path.name.removesuffix(".tar.xz") for path in STORES.glob("*.tar.xz"))


GLUED = Explanation(
    "5.5.0 glues its checksum to the last value of an old client's batch: Java shows it there, we hide it everywhere",
    ("tags", "keys", "properties", "uniq_key", "msg_id"),
    lambda java, ours: _unglued(java) == ours != java,
)


def _unglued(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unglued(each) for name, each in value.items()}
    return re.sub(r"__CRC32#\x01[0-9]{10}$", "", value) if isinstance(value, str) else value


@pytest.fixture(params=NAMES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Golden:
    return unpack(request.param, tmp_path, STORES)


def opened(store: Golden) -> nr.Store:
    logs = store.log_folders
    return nr.open(store.root, store_path_commit_log=",".join(map(str, logs)) if len(logs) > 1 else None)


def test_there_are_stores_of_both_lines() -> None:
    assert {name[:5] for name in NAMES} == {"4.9.7", "5.5.0"}
    assert sum(path.stat().st_size for path in STORES.iterdir()) < 3 << 20


def test_every_column_of_every_message_is_javas(store: Golden) -> None:
    rows = rows_of(opened(store).messages(columns="*").to_table())
    assert len(rows) == len(store.expected_rows) > 0
    columns = [column for column in SCHEMA if column not in NOT_JAVAS]
    used: Counter[str] = Counter()
    assert differences(store.expected_rows, rows, columns, (*EXPLAINED, OUR_OWN, GLUED), used) == []
    assert (used[GLUED.why] > 0) == (store.name == "5.5.0-old-client")
    plain = walk(store.segments, store.framing).rows
    assert [(row["physical_offset"], row["kind"]) for row in plain] == [(row["physical_offset"], row["kind"]) for row in rows]


def test_what_clients_were_told_is_there(store: Golden) -> None:
    rows = opened(store).messages(columns="uniq_key,offset_msg_id,topic,real_topic").to_table().to_pylist()
    ours = {(row["uniq_key"], row["real_topic"] or row["topic"]) for row in rows}
    places = {row["offset_msg_id"] for row in rows}
    sent = json.loads((store.folder / "sent.json").read_text())
    # Of an inner batch a client is told the record's id; its messages have their own.
    told = {(unique, line["topic"]) for line in sent if line["kind"] != "inner" for unique in line["msg_id"].split(",")}
    lost = told - ours
    if "killed-pooled" not in store.name:  # a pool that dies with its broker takes what it had not written along
        assert not lost
        assert {place for line in sent for place in (line["offset_msg_id"] or "").split(",") if place} <= places
    assert len(told) > 15


def test_what_only_the_five_line_has(tmp_path: Path) -> None:
    rows = nr.open(unpack("5.5.0-features", tmp_path, STORES).root).messages(columns="*").to_table().to_pylist()
    kinds = Counter(row["kind"] for row in rows)
    assert kinds["batch"] == 2 + 3 + 4 + 5
    assert [row["inner_index"] for row in rows if row["kind"] == "batch"] == [*range(2), *range(3), *range(4), *range(5)]
    assert sum(row["topic"] == "Timed" for row in rows) == 4  # those that were due; one is an hour away, one was called back
    assert {row["real_topic"] for row in rows if row["kind"] == "timer"} == {
        "Timed",
        "rmq_sys_REVIVE_LOG_DefaultCluster",
    }  # pop waits by timers
    assert kinds["pop"] > 6
    wide = [row for row in rows if row["magic"] == -626843477]
    assert [(row["kind"], row["tags"], row["reconsume_times"]) for row in wide] == [("retry", "once", 1)] * 3
    assert all(len(row["topic"]) > 127 for row in wide)
