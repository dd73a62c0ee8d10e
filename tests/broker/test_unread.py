"""What of a store is not read: tiered storage, compacted copies, packed segments. Each is counted from what says how much it is."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest
from support.golden import FOLDER

import native_reader as nr
from native_reader.broker.tier import TieredQueue, tier_of
from native_reader.broker.unread import COMPACTED, OTHER_BROKER, PACKED, TIERED, Unread, unread_parts

TIERED_STORE = FOLDER.parent / "otherlogs" / "v5-tiered2.tar.xz"
METADATA = """{
  "commitLogFileSegmentTable": {"broker-a/orders/0": {0: %s, 900: %s}},
  "consumeQueueFileSegmentTable": {"broker-a/orders/0": {40: %s, 80: %s}, "broker-a/gone/1": {0: %s}},
  "topicSerialNumber": 3
}"""


def segment(base: int, size: int, status: int = 1, first: int = 1_700_000_000_000) -> str:
    times = f'"beginTimestamp":{first},"endTimestamp":{first + 1000},"createTimestamp":1,"sealTimestamp":0'
    return f'{{"path":"broker-a/orders/0","type":0,"baseOffset":{base},"status":{status},"size":{size},{times}}}'


def parts(store: Path) -> dict[str, Unread]:
    (files,) = nr.open(store).stores
    return {part.what: part for part in unread_parts(files)}


def with_metadata(store: Path, name: str = "tieredStoreMetadata.json") -> None:
    logs = segment(0, 900), segment(900, 100, first=2**63 - 1 - 1000)
    queues = segment(40, 40), segment(80, 20), segment(0, 20, status=2)
    (store / "config").mkdir(exist_ok=True)
    (store / "config" / name).write_text(METADATA % (*logs, *queues))


@pytest.mark.parametrize("name", ["tieredStoreMetadata.json", "tieredStoreMetadata.json.bak"])
def test_a_tier_is_counted_from_its_metadata(store: Path, name: str) -> None:
    """Segments that were deleted do not count, nor the times of empty ones."""
    assert unread_parts(*nr.open(store).stores) == []
    with_metadata(store, name)
    tier = parts(store)[TIERED]
    assert (tier.messages, tier.bytes, tier.topics, tier.is_loss) == (3, 1000, ("orders",), True)
    assert (tier.first_time, tier.last_time) == (1_700_000_000_000, 1_700_000_001_000)
    found = tier_of(store.as_uri(), f"{store.as_uri()}/config")
    assert found is not None
    assert found.queues == {("orders", 0): TieredQueue(2, 5, 3)}
    assert [found.holds("orders", 0, *each) for each in ((0, 9), (3, 4), (5, 9), (0, 2))] == [3, 1, 0, 0]
    assert found.holds("other", 0, 0, 9) == 0


def test_a_tier_without_readable_metadata_is_not_counted(store: Path) -> None:
    (store / "config").mkdir(exist_ok=True)
    (store / "config/tieredStoreMetadata.json").write_text('{"consumeQueueFileSegmentTable":{"broker/orders":7}}')
    assert parts(store)[TIERED].messages is None


@pytest.mark.parametrize("folder", ["any name", "../beside"])
def test_a_tier_is_found_by_its_folders(store: Path, folder: str) -> None:
    queue = store / folder / "0a1b2c3d_cluster/broker-a" / "odd%20name|a" / "0"
    for kind, sizes in (("CONSUME_QUEUE", (40, 20)), ("COMMIT_LOG", (500, 0))):
        (queue / kind).mkdir(parents=True)
        for number, size in enumerate(sizes):
            (queue / kind / f"cfcd2084{number * 40:020}").write_bytes(bytes(size))
    found = parts(store)
    if folder == "any name":
        assert (found[TIERED].messages, found[TIERED].bytes, found[TIERED].topics) == (3, 500, ("odd%20name|a",))
    else:  # of another broker: this store has no such topic
        assert TIERED not in found
        (store / "consumequeue/odd%20name|a/0").mkdir(parents=True)
        assert parts(store)[TIERED].messages == 3


@pytest.mark.parametrize("setting", ["messageStorePlugIn=a.b.TieredMessageStore", "tieredStoreFilePath=/data/tier", "objectStoreBucket=b"])
def test_a_tier_is_found_by_the_settings(store: Path, setting: str) -> None:
    (store / "broker.conf").write_text(f"brokerName=a\n{setting}\n")
    assert parts(store)[TIERED].messages is None
    (store / "broker.conf").write_text("brokerName=a\n")
    assert parts(store) == {}


def test_compacted_copies_and_packed_segments_that_cannot_be_read(store: Path) -> None:
    (store / "compaction/compactionLog/orders/0").mkdir(parents=True)
    (store / "compaction/compactionLog/orders/0" / f"{0:020}").write_bytes(bytes(700))
    (store / "commitlog" / f"{1 << 40:020}.rar").write_bytes(bytes(50))
    found = parts(store)
    assert (found[COMPACTED].bytes, found[COMPACTED].is_loss) == (700, False)
    assert (found[PACKED].bytes, found[PACKED].is_loss) == (50, True)


def test_doctor_took_what_is_in_tiered_storage_for_expired(store: Path) -> None:
    with_metadata(store)
    assert sum("tiered storage holds 3 messages of 1 topic" in each for each in nr.open(store).diagnose().findings) == 1


def test_lag_counted_messages_in_tiered_storage_as_expired(tmp_path: Path) -> None:
    if not TIERED_STORE.exists():
        pytest.skip(f"no {TIERED_STORE}")
    with tarfile.open(TIERED_STORE) as archive:
        archive.extractall(tmp_path, filter="data")
    store = tmp_path / "v5-tiered2/store"
    (part,) = (each for each in unread_parts(*nr.open(store).stores) if each.what == TIERED)
    assert (part.messages, len(part.topics)) == (1024, 40)
    tiered = nr.open(store).table("consumer_offsets").to_table().to_pylist()
    for name in ("tieredStoreMetadata.json", "tieredStoreMetadata.json.bak"):
        (store / "config" / name).unlink()
    shutil.rmtree(store / "tiered")
    shutil.rmtree(store / "tiered_index_file")
    expired = nr.open(store).table("consumer_offsets").to_table().to_pylist()
    both = [None if row["expired"] is None else row["expired"] + row["tiered"] for row in tiered]
    assert [row["expired"] for row in expired] == both
    assert sum(row["tiered"] or 0 for row in tiered) == 21
    assert not any(row["tiered"] for row in expired)


@pytest.mark.parametrize(
    "name", ["timer-extended/payload-v1", "timerlog/v2", "config/timercheck.a", "config/storage-format-inventory.json"]
)
def test_a_store_of_rocketmq_rust_is_told_by_files_that_only_it_has(tmp_path: Path, name: str) -> None:
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "commitlog" / f"{0:020}").write_bytes(bytes(4096))
    (tmp_path / "timerlog").mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "timercheck").write_bytes(bytes(56))
    assert OTHER_BROKER not in parts(tmp_path)
    (tmp_path / name).mkdir(parents=True)
    assert "files of rocketmq-rust" in parts(tmp_path)[OTHER_BROKER].why.text()
    assert "its state of pop have formats that are not read" in "\n".join(each.text() for each in nr.open(tmp_path).diagnose().losses)
