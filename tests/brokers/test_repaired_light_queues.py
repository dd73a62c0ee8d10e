"""Real brokers serve the light queues of a repaired store, also when they make all queues again."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path
from random import Random

import pytest
from kept import Brokers, Kept
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import entries, opened
from support.store_damages import no_queues, patch, records, segments

import native_reader as nr

pytestmark = pytest.mark.long
_QUEUES = ("Parent", "%LMQ%a", "%LMQ%b0", "%LMQ%b1")


def _lose(store: Path, first: int, count: int) -> None:
    (segment,) = segments(store)
    lost = records(segment)[first : first + count]
    patch(segment, lost[0][0], bytes(sum(size for _, size in lost)))


def _places(store: Path) -> dict[str, list[tuple[int, int]]]:
    return {name: [(slot, offset) for slot, offset, *_ in entries(store, name, 0)] for name in _QUEUES}


@pytest.mark.parametrize("version", [pytest.param(each, marks=pytest.mark.xdist_group(f"starts of {each}")) for each in ("4.9.7", "5.5.0")])
@pytest.mark.parametrize("has_queues", [True, False])
@pytest.mark.parametrize("makes_again", [True, False])
def test_each_light_queue_is_served(started: Brokers, tmp_path: Path, version: str, has_queues: bool, makes_again: bool) -> None:
    own = unpack("4.9.7-light", tmp_path, STORES)
    store, new, whole = own.root, tmp_path / "new", _places(own.root)
    _lose(store, 15, 3)
    _lose(store, 0, 4)
    if not has_queues:
        no_queues(store, Random(1))
    assert opened(store).repair(new).plan.placeholders == 7
    if makes_again:
        shutil.rmtree(new / "consumequeue")
        (new / "abort").touch()
    path = new / "config" / "topics.json"  # of whose topics it is asked
    content = json.loads(path.read_text())
    table = content["topicConfigTable"]
    table.update({name: table["Parent"] | {"topicName": name, "readQueueNums": 1, "writeQueueNums": 1} for name in _QUEUES[1:]})
    path.write_text(json.dumps(content))
    said, *pulled = started.start(version, Kept(store, json.loads((own.folder / "settings.json").read_text())), new, light=True)
    assert said["started"], said
    served = defaultdict(list)
    for line in pulled:
        served[line["topic"]].append((line["queue_offset"], line["physical_offset"]))
    kept = {offset for slot, offset in whole["Parent"] if 4 <= slot < 15 or slot >= 18}
    for name, places in whole.items():
        assert [slot for slot, _ in served[name]] == [slot for slot, _ in places]
        assert [each for each in served[name] if each[1] in kept] == [each for each in places if each[1] in kept]


@pytest.mark.xdist_group("starts of 5.5.0")
@pytest.mark.parametrize("has_database", [True, False])
def test_each_light_queue_in_rocksdb_is_served(started: Brokers, tmp_path: Path, has_database: bool) -> None:
    own = unpack("5.5.0-rocksdb-separate", tmp_path, STORES)
    store, new = own.root, tmp_path / "new"
    entries_of = nr.open(store).table("queue_entries").to_table().to_pylist()
    whole = {name: [(row["queue_offset"], row["physical_offset"]) for row in entries_of if row["topic"] == name] for name in _QUEUES}
    lost = [offset for _, offset in whole["Parent"][15:18]]
    (segment,) = segments(store)
    sizes = dict(records(segment))
    for offset in lost:
        patch(segment, offset, bytes(sizes[offset]))
    if not has_database:
        shutil.rmtree(store / "consumequeue_rocksdb")
    assert opened(store).repair(new).plan.placeholders == 3
    kept = {"perm": 6, "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False}
    table = {name: {"topicName": name, "readQueueNums": 1, "writeQueueNums": 1} | kept for name in _QUEUES}  # of whose topics it is asked
    version = {"counter": 1000, "stateVersion": 0, "timestamp": 4_000_000_000_000}  # the broker takes these into its database
    (new / "config" / "topics.json").write_text(json.dumps({"dataVersion": version, "topicConfigTable": table}))
    said, *pulled = started.start("5.5.0", Kept(store, json.loads((own.folder / "settings.json").read_text())), new, light=True)
    assert said["started"], said
    for name, places in whole.items():
        served = [(line["queue_offset"], line["physical_offset"]) for line in pulled if line["topic"] == name]
        assert [slot for slot, _ in served] == [slot for slot, _ in places]
        survivors = {place for place in places if place[1] not in lost}
        assert survivors <= {*served}
        if has_database:
            assert served == places
