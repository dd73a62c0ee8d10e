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
