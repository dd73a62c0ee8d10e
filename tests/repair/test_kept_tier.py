"""What a repair and an extract do with tiered storage, and with queues whose messages are all in it, or expired."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.tiers import TIERED_STORE

import native_reader as nr

_KEY = ("topic", "queue_id", "queue_offset")
pytestmark = pytest.mark.skipif(not TIERED_STORE.exists(), reason="no tiered store beside this repository")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a broker 5.5.0 with a tier in the folder `tiered`. Tests must not change it."""
    folder = tmp_path_factory.mktemp("tiered")
    with tarfile.open(TIERED_STORE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "v5-tiered2" / "store"


def ends(store: Path) -> Mapping[tuple[str, int], int]:
    rows = nr.open(store).table("queues").to_table().to_pylist()
    return {(row["topic"], row["queue_id"]): row["max_offset"] for row in rows}


def test_queues_whose_messages_all_expired_go_on_at_their_ends(whole: Path, tmp_path: Path) -> None:
    done = nr.open(whole).repair(tmp_path / "new")
    assert done.plan.changes
    assert ends(tmp_path / "new") == ends(whole)


def keys(store: Path, **options: Any) -> list[tuple[str, int, int]]:
    rows = nr.open(store).messages(columns=_KEY, **options).to_table().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def test_messages_of_the_tier_come_before_the_log_and_no_queue_names_another_one(whole: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    done = nr.open(whole).repair(new, tier="log")
    assert [each for each in keys(whole, tiered=True) if each not in keys(new)] == []
    assert (
        len(keys(new, where="topic <> 'RMQSTORE_LOST'"))
        == len(set(keys(new, where="topic <> 'RMQSTORE_LOST'")))
        == len(keys(whole, tiered=True))
    )
    assert ends(new) == ends(whole)
    assert done.plan.placeholders == 0
    assert done.account is not None
    assert done.is_whole
    assert not (new / "tiered").exists()
    assert not list((new / "config").glob("tieredStore*"))
    assert {*nr.open(new).verify().to_table()["severity"].to_pylist()} == {"note"}


def test_a_tier_in_the_store_is_kept_by_default(whole: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    nr.open(whole).repair(new)
    assert keys(new, tiered=True) == keys(whole, tiered=True)
    old = {path.relative_to(whole): path.read_bytes() for path in (whole / "tiered").rglob("*") if path.is_file()}
    assert {path.relative_to(new): path.read_bytes() for path in (new / "tiered").rglob("*") if path.is_file()} == old
    assert "`tiered`" in (new / "repair.md").read_text()


def damaged(whole: Path, folder: Path, tier: str = "tiered") -> Path:
    """A copy with 4 KiB of zeros in its log, and its tier in a folder of that name."""
    store = folder / "damaged"
    shutil.copytree(whole, store)
    (store / "tiered").rename(store / tier)
    (segment,) = (store / "commitlog").iterdir()
    with segment.open("r+b") as file:
        file.seek(8192)
        file.write(bytes(4096))
    return store


@pytest.mark.parametrize("way", [None, "keep", "log", "leave"])
def test_messages_that_the_log_lost_come_from_the_tier(whole: Path, tmp_path: Path, way: str | None) -> None:
    """In a folder `tieredStore`, too, which was refused."""
    store, new = damaged(whole, tmp_path, "tieredStore"), tmp_path / "new"
    done = nr.open(store).repair(new, tier=way)
    assert done.plan.alone is not None
    lost = done.plan.alone.lost
    assert lost > 10
    assert done.plan.placeholders == 0
    assert "of tiered storage, `" in (new / "repair.md").read_text()
    taken = [each for each in json.loads((new / "repair.json").read_text())["from"] if each["store"] == f"file://{store}/tieredStore"]
    assert [each["moved"] for each in taken] == [lost if way != "log" else lost + 891]
    if way == "leave":
        assert not (new / "tieredStore").exists()
    else:
        assert keys(new, tiered=way != "log", where="topic <> 'RMQSTORE_LOST'") == keys(whole, tiered=True)
    (old,), (segment,) = (whole / "commitlog").iterdir(), [each for each in (new / "commitlog").iterdir() if each.name.endswith("655360")]
    assert segment.read_bytes() == old.read_bytes()


def test_a_tier_that_a_broker_would_delete_is_not_kept(whole: Path, tmp_path: Path) -> None:
    """The log of that queue begins at queue offset 164. The tier has it up to 150 only."""
    store = tmp_path / "store"
    shutil.copytree(whole, store)
    for path in (store / "tiered").glob("*/broker-a/Roll_s188/0/CONSUME_QUEUE/*00003000"):
        path.unlink()
    for path in (store / "config").glob("tieredStoreMetadata.json*"):
        path.unlink()
    with pytest.raises(nr.RepairError, match="deletes all messages of that queue"):
        nr.open(store).repair(tmp_path / "new")
    nr.open(store).repair(tmp_path / "asked", tier="leave")


def test_a_tier_elsewhere_stays_by_default_and_is_copied_if_asked(whole: Path, tmp_path: Path) -> None:
    store, tier = tmp_path / "store", tmp_path / "elsewhere"
    shutil.copytree(whole, store)
    shutil.move(store / "tiered", tier)
    conf = tmp_path / "broker.conf"
    conf.write_text((whole.parent / "broker.conf").read_text().replace("/data/store/tiered", str(tier)).replace("/data/store", str(store)))
    nr.open(store, broker_conf=str(conf)).repair(tmp_path / "left")
    assert str(tier) in (tmp_path / "left" / "repair.md").read_text()
    nr.open(store, broker_conf=str(conf)).repair(tmp_path / "kept", tier="keep")
    assert keys(tmp_path / "kept", tiered=True) == keys(whole, tiered=True)
    shutil.rmtree(tier)
    with pytest.raises(nr.RepairError, match="not found on a disk"):
        nr.open(store).repair(tmp_path / "gone", tier="log")


def test_an_extract_has_the_messages_of_its_topics_in_the_tier(whole: Path, tmp_path: Path) -> None:
    topics = ["Roll_s188", "T0_s188"]
    nr.open(whole).extract(tmp_path / "new", topics)
    wanted = [key for key in keys(whole, tiered=True) if key[0] in topics]
    assert keys(tmp_path / "new") == wanted
    nr.open(whole).extract(tmp_path / "log", "Roll_s188", tier="leave")
    assert len(keys(tmp_path / "log")) == 13
    with pytest.raises(nr.RepairError, match="is not kept in an extract"):
        nr.open(whole).extract(tmp_path / "kept", topics, tier="keep")


def test_sealed_files_of_a_tier_can_be_links(whole: Path, tmp_path: Path) -> None:
    nr.open(whole).repair(tmp_path / "new", link=True)
    folder = Path("tiered") / "212d6b50_DefaultCluster" / "broker-a" / "Roll_s188" / "0" / "CONSUME_QUEUE"
    files = sorted((tmp_path / "new" / folder).iterdir(), key=lambda path: path.name[8:])
    assert [path.samefile(whole / folder / path.name) for path in files] == [True, True, True, False]
