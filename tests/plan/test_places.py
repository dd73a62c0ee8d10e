"""A read of places that an earlier pass saw gives the rows of an ordinary read, whatever the framing, and reads nothing else."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.effort import thinned
from support.golden import Golden, opened
from support.own_stores import NAMES
from support.stores import files_of, in_memory, log_of, message

import native_reader as nr
from native_reader.columns.projection import Projection
from native_reader.lazy import TableScan
from native_reader.options import MessageOptions
from native_reader.plan.lost import CheckedEnd
from native_reader.plan.planner import plan_read
from native_reader.plan.planning import Planning
from native_reader.plan.ways import SEEN, Places, records_in
from native_reader.predicate.tree import EVERYTHING
from native_reader.scan.read import Reading
from native_reader.tables import TABLES
from native_reader.testing.faulty import FaultyStorage

LENIENT: dict[str, Any] = {"mode": "DROPMALFORMED", "fail_on_data_loss": False}


def everything(store: nr.Store) -> dict[str, Places]:
    """The places of all records of one store."""
    scan = store.messages(columns="physical_offset,record_size", **LENIENT)
    rows, plan = scan.to_table(), scan.plan()
    offsets, first = np.unique(rows["physical_offset"].to_numpy(), return_index=True)
    ((uri, end),) = plan.ends
    checked = CheckedEnd(end, dict(plan.stale).get(uri, 0), next(iter(plan.lost), None))
    return {uri: Places(checked, offsets, rows["record_size"].to_numpy()[first].astype(np.int64))}


@pytest.mark.parametrize("name", thinned(NAMES, 7))
def test_tables_are_the_same_at_their_places(own_store: Callable[[str], Golden], name: str) -> None:
    store = opened(own_store(name))
    places = everything(store)
    is_damaged = store.table("damage").count_rows() > 0  # the fate of a transaction depends on what is lost
    for table in ("delay", "timers", *(() if is_damaged else ("transactions",))):
        scan = TableScan(TABLES[table], store.stores, MessageOptions(), seen=places)
        assert scan.to_table().to_pylist() == store.table(table).to_table().to_pylist()


def rows_at(store: nr.Store, places: dict[str, Places]) -> list[dict[str, Any]]:
    """The messages that a read finds at these places."""
    plan = plan_read(store.stores, EVERYTHING, Planning(lenient=True, fail_on_data_loss=False), seen=places)
    assert {split.access for split in plan.splits} <= {SEEN}
    rows: list[dict[str, Any]] = []
    for split in plan.splits:
        assert pickle.loads(pickle.dumps(split)) == split
        reading = Reading(split, Projection(("physical_offset", "body"), mode="DROPMALFORMED"), plan.wanted)
        rows += [row for batch in reading for row in batch.to_pylist()]
    return rows


@pytest.mark.parametrize("framing", ["plain", "dledger"])
def test_only_the_places_are_read(framing: Any) -> None:
    log = log_of([message(number, body=b"x" * 200) for number in range(2000)], segment_size=1 << 17, framing=framing)
    under = "store/commitlog" if framing == "plain" else "store/dledger-n0/data"
    memory = in_memory(files_of(log, under))
    faulty = FaultyStorage(memory.url)
    store = nr.open(f"{faulty.url}/store")
    ((uri, all_of_them),) = everything(store).items()
    faulty.bytes_of.clear()
    few = Places(all_of_them.end, all_of_them.offsets[::500], all_of_them.sizes[::500])
    assert [row["physical_offset"] for row in rows_at(store, {uri: few})] == few.offsets.tolist()
    assert faulty.bytes_read < 4 * 1000


def test_places_that_are_wrong_lose_no_row() -> None:
    memory = in_memory(files_of(log_of(60)))
    store = nr.open(f"{memory.url}/store")
    expected = store.messages(columns="physical_offset,body").to_table().to_pylist()
    ((uri, places),) = everything(store).items()
    assert rows_at(store, {uri: places}) == expected
    assert rows_at(store, {uri: places._replace(sizes=places.sizes + 1)}) == expected
    assert rows_at(store, {uri: places._replace(offsets=places.offsets + 8)}) == expected


def test_the_places_of_a_range() -> None:
    places = Places(CheckedEnd(100), np.array([10, 30, 60]), np.array([20, 30, 40]))
    packed, size = places.within(30, 60)
    assert (size, [each.tolist() for each in records_in(packed)]) == (30, [[30], [30]])
    assert places.within(61, 100) == (b"", 0)
