"""Many stores in object storage: they are found and planned several at a time, with few calls for each."""

from __future__ import annotations

import threading

import pytest
from support.fleet import FleetStorage

import native_reader as nr
from native_reader.scan.run import tasks_of

BROKERS, SEGMENTS, SEGMENT = 12, 6, 1 << 20
START = 1_767_600_000_000


@pytest.fixture
def fleet() -> FleetStorage:
    return FleetStorage(BROKERS, SEGMENTS, segment=SEGMENT, unwritten=256 << 10)


@pytest.mark.parametrize("path", ["*/store", "*", "broker-0*/store/commitlog"])
def test_the_stores_of_a_fleet_are_found_in_order(fleet: FleetStorage, path: str) -> None:
    stores = nr.open(f"{fleet.url}/{path}").stores
    assert [store.uri for store in stores] == [f"{fleet.url}/broker-{number:03}/store" for number in range(BROKERS)]
    assert fleet.calls["list"] <= 1 + 3 * BROKERS
    assert fleet.calls["open"] == BROKERS  # whether its records have a frame


def test_a_parent_is_searched_as_well(fleet: FleetStorage) -> None:
    assert len(nr.open(f"{fleet.url}/broker-003").stores) == 1


def test_stores_are_asked_several_at_a_time() -> None:
    """Each call waits until four brokers are asked."""
    fleet = FleetStorage(4, 2, segment=SEGMENT)
    together, met = threading.Barrier(4), set[str]()
    note, lock = fleet.note, threading.Lock()

    def meeting(kind: str) -> None:
        note(kind)
        with lock:
            is_first = kind == "read" and threading.current_thread().name not in met
            met.add(threading.current_thread().name)
        if is_first:
            together.wait(60)

    store = nr.open(f"{fleet.url}/*/store")
    fleet.note = meeting  # type: ignore[method-assign]
    store.messages().plan()
    assert not together.broken


@pytest.mark.parametrize("condition", [{}, {"topic": "topic-3"}, {"starting_timestamp": START + 500, "ending_timestamp": START + 900}])
def test_a_plan_reads_little_of_each_broker(fleet: FleetStorage, condition: dict[str, object]) -> None:
    store = nr.open(f"{fleet.url}/*/store")
    fleet.calls.clear()
    plan = store.messages(**condition).plan()
    assert fleet.calls["open"] <= 130 * BROKERS
    assert len(tasks_of(plan)) <= BROKERS * SEGMENTS
    rows = store.messages(columns="topic,store_timestamp", **condition).to_table().num_rows
    if not condition:
        assert rows == BROKERS * fleet.records
    elif "topic" in condition:
        assert rows == BROKERS * (fleet.records // 10 + (fleet.records % 10 > 3))
    else:
        assert rows == BROKERS * sum(500 <= number * 1000 // 4096 < 900 for number in range(fleet.records))


def test_the_error_of_one_store_stops_the_others(fleet: FleetStorage) -> None:
    store = nr.open(f"{fleet.url}/*/store")

    def broken(kind: str) -> None:
        raise OSError("no connection")

    fleet.note = broken  # type: ignore[method-assign]
    with pytest.raises(nr.UnreadableError, match=r"could not .*: no connection"):
        store.messages().plan()
