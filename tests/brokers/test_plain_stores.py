"""Brokers without DLedger serve a store that was made of a DLedger peer's: every message once, at its queue offset, and they go on."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from make_stores import DLEDGER
from repairs import SETTINGS, assert_consumed, assert_goes_on, assert_served, configuration, errors, started
from rocketmq import OP_BATCHES, Java, running
from served import Survivors

import native_reader as nr

PLAIN_AGAIN = {"enableLmq": "false", "enableMultiDispatch": "false"}
ON = (("4.9.7", "4.9.7", "killed"), ("5.5.0", "5.5.0", "killed"), ("5.5.0", "5.3.3", "stopped"), ("5.5.0", "4.9.7", "killed"))
"""The version of the peer, that of the broker on the new store, and how this one ends before it starts once more."""
DAMAGED = 30_000, 2_000


@pytest.fixture(scope="module")
def peer(rocketmq: Callable[[str], Java], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, int]]:
    """The store of a DLedger broker that was stopped after some traffic, and its port, which the ids of messages name."""
    known: dict[str, tuple[Path, int]] = {}

    def store(version: str) -> tuple[Path, int]:
        if version not in known:
            home = tmp_path_factory.mktemp(f"peer-{version}")
            with running(rocketmq(version), home, **SETTINGS, **OP_BATCHES, **DLEDGER) as broker:
                broker.traffic("plain", 400)
                broker.traffic("transactions")
                broker.stop()
            known[version] = broker.store, broker.port
        return known[version]

    return store


def made_plain(store: Path, folder: Path, *others: Path, of: Path | None = None) -> tuple[Survivors, Any]:
    """Make a plain store. Returns what must be served of it: the messages of `of` or the old one, at the places that the table has."""
    folder.mkdir(exist_ok=True)
    survivors = Survivors.of(of or store)
    done = nr.open(store, broker_conf=str(configuration(folder, store))).repair(folder / "new", plain=True, others=others)
    with Path(str(done.ids)).open() as file:
        moved = {int(row["old_physical_offset"]): row for row in csv.DictReader(file)}
    rows = {}
    for old, row in survivors.rows.items():
        if old in moved:
            new = int(moved[old]["new_physical_offset"])
            assert row["offset_msg_id"] == moved[old]["old_offset_msg_id"]
            rows[new] = row | {"physical_offset": new, "offset_msg_id": moved[old]["new_offset_msg_id"]}
    return Survivors(rows), done


@pytest.mark.long
@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.xdist_group(f"plain {case[0]}"), id="-".join(case)) for case in ON])
@pytest.mark.parametrize("is_damaged", [False, True], ids=["whole", "damaged"])
def test_a_broker_serves_every_message_once_and_goes_on(
    rocketmq: Callable[[str], Java], peer: Callable[[str], tuple[Path, int]], tmp_path: Path, case: tuple[str, str, str], is_damaged: bool
) -> None:
    writer, version, end = case
    whole, port = peer(writer)
    store = tmp_path / "store"
    shutil.copytree(whole, store)
    if is_damaged:
        with sorted((store / "dledger-n0" / "data").iterdir())[0].open("r+b") as file:
            file.seek(DAMAGED[0])
            file.write(bytes(DAMAGED[1]))
    survivors, done = made_plain(store, tmp_path)
    assert (done.plan.placeholders > 0) == is_damaged
    assert len(survivors.rows) > 300
    with started(rocketmq(version), tmp_path / "home", tmp_path / "new", port, **PLAIN_AGAIN) as broker:
        assert_consumed(broker.traffic("consume"), survivors)
        if version.startswith("5"):
            assert_served(broker.traffic("popped"), "pop", survivors.of_topic("Plain"), ("unordered",))
        assert_goes_on(broker, survivors, end)
    assert errors(tmp_path / "home") == []


@pytest.mark.long
@pytest.mark.xdist_group("plain 5.5.0")
def test_a_broker_serves_all_of_three_peers_that_are_damaged_elsewhere(
    rocketmq: Callable[[str], Java], peer: Callable[[str], tuple[Path, int]], tmp_path: Path
) -> None:
    whole, port = peer("5.5.0")
    stores = [shutil.copytree(whole, tmp_path / name) for name in "abc"]
    for number, store in enumerate(stores):
        with sorted((store / "dledger-n0" / "data").iterdir())[0].open("r+b") as file:
            file.seek(DAMAGED[0] + number * 5000)
            file.write(bytes(DAMAGED[1]))
    survivors, done = made_plain(stores[0], tmp_path / "one", *stores[1:], of=whole)
    assert (done.plan.placeholders, done.is_whole, len(survivors.rows) > 300) == (0, True, True)
    with started(rocketmq("5.5.0"), tmp_path / "home", tmp_path / "one" / "new", port, **PLAIN_AGAIN) as broker:
        assert_consumed(broker.traffic("consume"), survivors)
        assert_goes_on(broker, survivors, "killed")
    assert errors(tmp_path / "home") == []
