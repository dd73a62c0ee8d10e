"""Only a real broker judges a repair: on the new store it serves every survivor, once, and goes on as if nothing was lost."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import clusters
import pytest
from ports import free_port
from recipe import Recipe
from repairs import SETTINGS, assert_consumed, assert_goes_on, assert_served, configuration, errors, repaired, started
from rocketmq import OP_BATCHES, VERSIONS, Java, running
from served import Row, Survivors, judged
from support.resent import resent
from support.store_damages import DAMAGES, Damage, body_bit, random_bytes, several, several_at_random, torn_properties

import native_reader as nr
from native_reader.layout.inner import PLACEHOLDER_TAG

CASES = [(version, how, damage) for version in VERSIONS for how in ("stopped", "killed") for damage in DAMAGES]
END = {
    ("4.9.7", "stopped"): "killed", ("4.9.7", "killed"): "stopped", ("5.5.0", "stopped"): "stopped", ("5.5.0", "killed"): "killed",
}  # fmt: skip
"""How the broker on the new store ends, by the version and the end of the one that wrote the old store. Each damage has all of them."""
HUNDREDS = 200
Place = tuple[str, int, int, int]
"""Topic, queue, queue offset and log offset of a message."""
COMBINED = [(VERSIONS[seed % 2], ("stopped", "killed")[seed // 2 % 2], seed) for seed in range(12)]
CHOICES: dict[str, tuple[str, Damage, dict[str, Any]]] = {
    "crc": ("5.5.0", body_bit, {"crc": "fix"}),
    "keep_doubtful": ("5.5.0", torn_properties, {"keep_doubtful": True}),
    "pop": ("5.5.0", random_bytes, {}),
}


def of_one_store(number: int, case: tuple[str, str, Any]) -> Any:
    """Cases of the same store in two processes, not in all: each writes the store with a broker of its own, whose port is in its ids."""
    return pytest.param(case, marks=pytest.mark.xdist_group(f"{case[0]} {case[1]} {number % 2}"), id="-".join(map(_named, case)))


def _named(part: Any) -> str:
    return getattr(part, "__name__", str(part))


@pytest.fixture(scope="module")
def written(rocketmq: Callable[[str], Java], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], tuple[Path, int]]:
    """The store of a broker that was stopped or killed after some traffic, and its port, which the ids of messages name."""
    known: dict[tuple[str, str], tuple[Path, int]] = {}

    def store(version: str, how: str) -> tuple[Path, int]:
        if (version, how) not in known:
            home = tmp_path_factory.mktemp(f"{version}-{how}")
            with running(rocketmq(version), home, **SETTINGS, **OP_BATCHES) as broker:
                broker.traffic("plain", 400)
                broker.traffic("transactions")
                _ = broker.stop() if how == "stopped" else broker.kill()
            known[version, how] = broker.store, broker.port
        return known[version, how]

    return store


@pytest.mark.long
@pytest.mark.parametrize("case", [of_one_store(number, case) for number, case in enumerate(CASES)])
def test_a_broker_serves_every_survivor(
    rocketmq: Callable[[str], Java], written: Callable[[str, str], tuple[Path, int]], tmp_path: Path, case: tuple[str, str, Damage]
) -> None:
    version, how, damage = case
    source, port = written(version, how)
    survivors = repaired(source, tmp_path, damage, 1)
    with started(rocketmq(version), tmp_path / "home", tmp_path / "new", port) as broker:
        lines = broker.traffic("consume")
        assert_consumed(lines, survivors)
        if version == "5.5.0":
            assert not any(judged(lines, each, survivors.of_topic("Plain"))["marked"] for each in ("all", "ordered"))
        assert_goes_on(broker, survivors, END[version, how])
    assert errors(tmp_path / "home") == []


@pytest.mark.long
@pytest.mark.parametrize("case", [of_one_store(case[2] // 4, case) for case in COMBINED])
def test_damages_in_any_combination(
    rocketmq: Callable[[str], Java], written: Callable[[str, str], tuple[Path, int]], tmp_path: Path, case: tuple[str, str, int]
) -> None:
    version, how, seed = case
    source, port = written(version, how)
    survivors = repaired(source, tmp_path, several_at_random, seed)
    with started(rocketmq(version), tmp_path / "home", tmp_path / "new", port) as broker:
        assert_consumed(broker.traffic("consume"), survivors)
        assert_goes_on(broker, survivors, "stopped" if seed // 4 % 2 else "killed")
    assert errors(tmp_path / "home") == []


@pytest.mark.long
@pytest.mark.parametrize("case", [of_one_store(0, (version, how, "hundreds")) for version in VERSIONS for how in ("stopped", "killed")])
def test_store_classes_load_hundreds_of_repaired_stores(
    rocketmq: Callable[[str], Java], written: Callable[[str, str], tuple[Path, int]], tmp_path: Path, case: tuple[str, str, str]
) -> None:
    """Those of RocketMQ, in one Java. To start a broker on each would take most of an hour."""
    version, how, _ = case
    source, _ = written(version, how)
    expected: dict[str, Survivors] = {}
    arguments = []
    for seed in range(len(COMBINED), len(COMBINED) + HUNDREDS // 4):
        folder = tmp_path / str(seed)
        expected[str(folder / "new")] = repaired(source, folder, several_at_random, seed)
        shutil.rmtree(folder / "store")
        arguments.append(f"{folder / 'new'}\t{configuration(folder, folder / 'new')}\t/dev/null")
    (tmp_path / "list").write_text("\n".join(arguments))
    told: dict[str, list[Row]] = {}
    for line in rocketmq(version).run("LoadEach", tmp_path / "list", home=tmp_path / "home", timeout=600):
        if "store" in line:
            lines = told[line["store"]] = []
        else:
            lines.append(line)
    before = Survivors.of(source)
    assert [*told] == [*expected]
    for store, (head, *queues) in told.items():
        assert_loaded(nr.open(store), head, queues, expected[store], before)


def assert_loaded(new: nr.Store, head: Row, queues: list[Row], survivors: Survivors, written: Survivors) -> None:
    """The whole log; in the queues each survivor, once, at its offset, and else placeholders.

    Damage can change the topic or the queue offset of a record, which no checksum covers: it may be served, there or in its old place, or
    be lost.
    """
    assert (head["loaded"], head["end"]) == (True, new.diagnose().facts["commitlog"]["end_offset"])
    lost = {place for place, tags in rows_of(new, "physical_offset", "tags") if tags == PLACEHOLDER_TAG}
    served = Counter[Place]()
    for line in queues:
        queue = line["topic"], line["queue_id"]
        served.update((*queue, *place) for place in zip(line["queue_offsets"], line["offsets"], strict=True))
    unchanged, topics = {*places_of(written)}, {row["topic"] for row in written.all}
    found = Counter(places_of(survivors))
    wanted = Counter({place: count for place, count in found.items() if place in unchanged})
    assert wanted - served == Counter()
    known = found | Counter(unchanged)
    assert {place for place in served - known if place[0] in topics and place[3] not in lost} == set()


def places_of(survivors: Survivors) -> Iterator[Place]:
    for row in survivors.all:
        yield row["topic"], row["queue_id"], row["queue_offset"], row["physical_offset"]


def rows_of(store: nr.Store, *columns: str) -> Iterator[tuple[Any, ...]]:
    yield from (tuple(row.values()) for row in store.messages(columns=columns).to_table().to_pylist())


@pytest.mark.long
@pytest.mark.parametrize("name", CHOICES)
def test_what_a_user_chooses(
    rocketmq: Callable[[str], Java], written: Callable[[str, str], tuple[Path, int]], tmp_path: Path, name: str
) -> None:
    version, damage, choice = CHOICES[name]
    source, port = written(version, "stopped")
    survivors = repaired(source, tmp_path, damage, 1, **choice)
    with started(rocketmq(version), tmp_path / "home", tmp_path / "new", port) as broker:
        lines = broker.traffic("consume")
        assert_consumed(lines, survivors)
        if name == "pop":
            popped = assert_served(broker.traffic("popped"), "pop", survivors.of_topic("Plain"), ("unordered",))
            assert popped["marked"] > 0
        assert not any(judged(lines, each, survivors.of_topic("Plain"))["marked"] for each in ("pull", "all", "ordered"))
        for end in ("stopped", "killed"):
            assert_goes_on(broker, survivors, end)
    assert errors(tmp_path / "home") == []


@pytest.mark.long
def test_a_broker_serves_an_extract(
    rocketmq: Callable[[str], Java], written: Callable[[str, str], tuple[Path, int]], tmp_path: Path
) -> None:
    """Another broker, with the topic of users in which messages were lost, and without that of transactions."""
    source, port = written("5.5.0", "stopped")
    store = tmp_path / "store"
    shutil.copytree(source, store)
    several(store, Random(1))
    nr.open(store, broker_conf=str(configuration(tmp_path, store))).extract(tmp_path / "new", "Plain")
    survivors, wanted = Survivors.of(tmp_path / "new"), Survivors.of(store).of_topic("Plain")
    survivors = Survivors({offset: row for offset, row in survivors.rows.items() if row["tags"] != PLACEHOLDER_TAG})
    same = ("topic", "queue_id", "queue_offset", "msg_id", "tags", "keys", "body")
    assert [[row[name] for name in same] for row in survivors.all] == [[row[name] for name in same] for row in wanted]
    with started(rocketmq("5.5.0"), tmp_path / "home", tmp_path / "new", port) as broker:
        assert_consumed(broker.traffic("consume"), survivors)
        for end in ("stopped", "killed"):
            assert_goes_on(broker, survivors, end)
    assert errors(tmp_path / "home") == []


@pytest.mark.long
def test_a_broker_serves_messages_that_came_from_another_broker_by_their_unique_key(
    rocketmq: Callable[[str], Java], written: Callable[[str, str], tuple[Path, int]], tmp_path: Path
) -> None:
    """There, they are in another queue, at other queue offsets. Each is served once, in the place that it had."""
    source, port = written("5.5.0", "stopped")
    store = tmp_path / "store"
    shutil.copytree(source, store)
    several(store, Random(1))
    opened = nr.open(store, broker_conf=str(configuration(tmp_path, store)))
    done = opened.repair(tmp_path / "new", others=[resent(source, tmp_path / "other")])
    assert done.plan.filled is not None
    by_key = {
        (each.topic, each.queue_id, slot) for each in done.plan.filled.taken for slot in range(each.first, each.last + 1) if each.by_key
    }
    survivors, before = Survivors.of(tmp_path / "new"), Survivors.of(source)
    survivors = Survivors({offset: row for offset, row in survivors.rows.items() if PLACEHOLDER_TAG not in (row["tags"], row["topic"])})
    assert {*places_of(survivors)} <= {*places_of(before)}
    assert by_key
    assert by_key <= {place[:3] for place in places_of(survivors)}
    with started(rocketmq("5.5.0"), tmp_path / "home", tmp_path / "new", port) as broker:
        assert_consumed(broker.traffic("consume"), survivors)
        for end in ("stopped", "killed"):
            assert_goes_on(broker, survivors, end)
    assert errors(tmp_path / "home") == []


@pytest.mark.long
@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_broker_without_a_controller_serves_the_repaired_store_of_one_with(
    rocketmq: Callable[[str], Java], tmp_path: Path, how: str
) -> None:
    with clusters.controlled(rocketmq("5.5.0"), tmp_path, "old", **SETTINGS) as (old,):
        old.start()
        old.traffic("plain", 400)
        old.traffic("transactions")
        _ = old.stop() if how == "stopped" else old.kill()
    with pytest.raises(nr.RepairError, match="its broker runs in controller mode"):
        nr.open(old.store).repair(tmp_path / "refused")
    survivors = repaired(old.store, tmp_path, several, 1, single=True)
    with started(rocketmq("5.5.0"), tmp_path / "home", tmp_path / "new", old.port) as broker:
        assert_consumed(broker.traffic("consume"), survivors)
        for end in ("stopped", "killed"):
            assert_goes_on(broker, survivors, end)
    assert errors(tmp_path / "home") == []


@pytest.mark.long
@pytest.mark.timeout(600)
def test_records_that_a_failover_discarded_do_not_come_back(rocketmq: Callable[[str], Java], tmp_path: Path) -> None:
    """They follow the end of the log. Without a controller, a broker would take them for its own."""
    clusters.failover(Recipe("5.5.0", settings=SETTINGS), tmp_path / "pair", tmp_path / "kept")
    survivors = repaired(tmp_path / "pair" / "old" / "store", tmp_path, lambda *_: None, 1, single=True)
    assert len(survivors.all) == 220
    with started(rocketmq("5.5.0"), tmp_path / "home", tmp_path / "new", free_port()) as broker:
        found = assert_served(broker.traffic("answers"), "together", survivors.all)
        assert (found["served"], found["marked"]) == (220, 0)
        assert_goes_on(broker, survivors, "killed", pulled=("answers", "together"))  # ids have the addresses of both brokers
    assert errors(tmp_path / "home") == []
