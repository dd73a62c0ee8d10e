"""Brokers with queues in RocksDB serve every survivor of a repaired store, whose database was copied, or is made again by the broker."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from make_stores import BOTH_QUEUES, INDEX, NEW_POP, NEW_QUEUES, NEW_TRANSACTIONS
from repairs import SETTINGS, assert_consumed, assert_goes_on, errors, repaired, started
from rocketmq import OP_BATCHES, Java, running
from support.store_damages import Damage, missing_segment, page_of_zeros, patch, records, segments, several, tail, wrong_size

from native_reader.repair.new_database import ADDED, COPIED, LEFT_OUT

KINDS: dict[str, dict[str, Any]] = {
    "queues": {"storeType": "defaultRocksDB"},
    "all": NEW_QUEUES | INDEX | NEW_POP,
    "both": BOTH_QUEUES,
    "settings": {"configManagerVersion": "v2"},
    "transactions": NEW_TRANSACTIONS,
}


def no_tables(store: Path, chance: Random) -> None:
    """The files of the database with most of its entries are gone, and a page of the log is zeros."""
    (database,) = (path.parent for path in store.glob("consumequeue*/CURRENT"))
    for path in [*database.glob("*.sst"), *database.glob("*.log")]:
        path.unlink()
    page_of_zeros(store, chance)


def database_of_before(store: Path, chance: Random) -> None:
    """The database of an earlier time, and a page of the log is zeros."""
    shutil.rmtree(store / "consumequeue")
    (store / "earlier").rename(store / "consumequeue")
    page_of_zeros(store, chance)


def half_messages(store: Path, chance: Random) -> None:
    """Every third record of transactions is zeros: half messages and their ends."""
    found = [(segment, *each) for segment in segments(store) for each in records(segment)]
    of_transactions = [each for each in found if b"RMQ_SYS_ROCKSDB_TRANS_" in each[0].read_bytes()[each[1] : each[1] + each[2]]]
    assert len(of_transactions) > 6
    for segment, at, size in of_transactions[::3]:
        patch(segment, at, bytes(size))


CASES: list[tuple[str, str, Damage]] = [
    *(("queues", "stopped", damage) for damage in (page_of_zeros, missing_segment, wrong_size, no_tables)),
    *(("queues", "killed", damage) for damage in (several, tail, no_tables, database_of_before)),
    *(("all", "killed", damage) for damage in (several, no_tables)),
    *((kind, "stopped", several) for kind in ("both", "settings")),
    ("both", "stopped", no_tables),
    ("transactions", "stopped", half_messages),
]


@pytest.fixture(scope="module")
def written(rocketmq: Callable[[str], Java], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], tuple[Path, int]]:
    """The store of a broker that was stopped or killed after some traffic, and its port."""
    known: dict[tuple[str, str], tuple[Path, int]] = {}

    def store(kind: str, how: str) -> tuple[Path, int]:
        if (kind, how) not in known:
            home = tmp_path_factory.mktemp(f"{kind}-{how}")
            with running(rocketmq("5.5.0"), home, **SETTINGS, **OP_BATCHES, **KINDS[kind]) as broker:
                broker.traffic("plain", 400)
                if (kind, how) == ("queues", "killed"):
                    broker.stop()
                    shutil.copytree(broker.store / "consumequeue", broker.store / "earlier")
                    broker.start()
                broker.traffic("transactions")
                _ = broker.stop() if how == "stopped" else broker.kill()
            known[kind, how] = broker.store, broker.port
        return known[kind, how]

    return store


@pytest.mark.long
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.xdist_group("-".join(case[:2])), id=f"{case[0]}-{case[1]}-{case[2].__name__}") for case in CASES],
)
def test_a_broker_with_queues_in_rocksdb_serves_every_survivor(
    rocketmq: Callable[[str], Java], written: Callable[[str, str], tuple[Path, int]], tmp_path: Path, case: tuple[str, str, Damage]
) -> None:
    kind, how, damage = case
    source, port = written(kind, how)
    survivors = repaired(source, tmp_path, damage, 1)
    if kind in ("queues", "all", "both"):
        database = json.loads((tmp_path / "new" / "repair.json").read_text())["database"]
        way = {no_tables: LEFT_OUT, database_of_before: ADDED}.get(damage, COPIED)
        # A broker that is killed may not have dispatched its last messages.
        assert database["way"] == way or (how == "killed" and way == COPIED)
    with started(rocketmq("5.5.0"), tmp_path / "home", tmp_path / "new", port, **KINDS[kind]) as broker:
        assert_consumed(broker.traffic("consume"), survivors)
        assert_goes_on(broker, survivors, "killed")
    assert errors(tmp_path / "home") == []
