"""A broker 5.5.0 on a repaired store with tiered storage: it serves every old message once, goes on, and does so again after kill -9."""

from __future__ import annotations

import tarfile
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from ports import free_port
from repairs import errors, started
from rocketmq import Java
from support.tiers import TIERED_STORE

import native_reader as nr

_KEY = ("topic", "queue_id", "queue_offset")
_NOT_SETTINGS = ("storePath", "listenPort", "haListenPort", "bindAddress", "deleteWhen", "fileReservedTime", "tieredStoreFilePath")
_BATCHES = "BatchCQ_s188"
"""A tier has an inner batch once for each of its messages, and the broker serves all of them."""
_NOT_PULLED = ("%", "TRANS_CHECK_MAX_TIME_TOPIC")
"""Topics that the clients of these tests leave out."""


def _settings(conf: Path) -> dict[str, Any]:
    pairs = (line.split("=", 1) for line in conf.read_text().splitlines() if "=" in line)
    own = {name: value for name, value in pairs if not name.startswith(_NOT_SETTINGS)}
    return own | {
        "fileReservedTime": 99_999,
        "tieredStoreFileReservedTime": 99_999,
        "timerWheelEnable": "false",
        "tieredStorageLevel": "NOT_IN_DISK",
    }


def _served(lines: Iterable[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    found = Counter(tuple(line[name] for name in _KEY) for line in lines if line.get("how") == "together" and line["topic"] != "Plain")
    return Counter({key: 1 if key[0] == _BATCHES else count for key, count in found.items()})


@pytest.mark.long
@pytest.mark.xdist_group("tier 5.5.0")
@pytest.mark.skipif(not TIERED_STORE.exists(), reason="no tiered store beside this repository")
@pytest.mark.parametrize("way", ["keep", "log"])
def test_a_broker_serves_what_only_the_tier_had(rocketmq: Callable[[str], Java], tmp_path: Path, way: str) -> None:
    with tarfile.open(TIERED_STORE) as archive:
        archive.extractall(tmp_path, filter="data")
    old, new = tmp_path / "v5-tiered2" / "store", tmp_path / "new"
    (old / "tiered").rename(old / "tieredStore")
    rows = nr.open(old).messages(tiered=True, columns=_KEY, system_topics=False).to_table().to_pylist()
    wanted = Counter(tuple(row.values()) for row in rows if not row["topic"].startswith(_NOT_PULLED))
    assert len(wanted) > 1000
    ends = {(row["topic"], row["queue_id"]): row["max_offset"] for row in nr.open(old).table("queues").to_table().to_pylist()}
    (segment,) = (old / "commitlog").iterdir()
    with segment.open("r+b") as file:
        file.seek(8192)
        file.write(bytes(4096))
    assert nr.open(old).repair(new, tier=way).plan.placeholders == 0
    kept = {path: path.read_bytes() for path in (new / "tieredStore").rglob("*") if path.is_file() and path.stat().st_size}
    settings = _settings(tmp_path / "v5-tiered2" / "broker.conf")
    if way == "keep":
        settings["tieredStoreFilePath"] = new / "tieredStore"
    else:
        settings = {name: value for name, value in settings.items() if "iered" not in name and "Tiered" not in str(value)}
    with started(rocketmq("5.5.0"), tmp_path / "home", new, free_port(), **settings) as broker:
        lines = broker.traffic("answers")
        assert _served(lines) == wanted
        told = {(line["queue"], line["queue_id"]): line["end"] for line in lines if "end" in line}
        assert {key: told[key] for key in told.keys() & ends.keys()} == {key: ends[key] for key in told.keys() & ends.keys()}
        assert len(told.keys() & ends.keys()) > 80
        sent = [line for line in broker.traffic("plain", 12) if line.get("kind") == "plain"]
        assert len(sent) == 12
        broker.kill()
        broker.start()
        lines = broker.traffic("answers")
        assert _served(lines) == wanted
        assert {line["offset_msg_id"] for line in sent} <= {line.get("offset_msg_id") for line in lines}
    assert errors(tmp_path / "home") == []
    # A broker that finds a queue of the log apart from its tier deletes the files of that queue, some seconds after its start.
    assert bool(kept) == (way == "keep")
    assert [path for path, content in kept.items() if not path.exists() or not path.read_bytes().startswith(content)] == []
