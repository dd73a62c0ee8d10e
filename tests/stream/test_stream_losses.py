"""What a stream reports if data was lost or replaced before it was read, and how it continues."""

from __future__ import annotations

import json
from random import Random

import pytest
from support.growing import Disk, GrowingStore
from support.micro_batches import Killed, Query, at_once, drained, offsets_of
from support.tune import Tune

from native_reader.errors import DataLoss, StoreDamaged
from native_reader.stream.offset import from_json
from native_reader.testing.logs import name


@pytest.fixture(autouse=True)
def announced(monkeypatch: pytest.MonkeyPatch, tune: Tune) -> list[str]:
    """The lines that a user would see."""
    return at_once(monkeypatch, tune)


def refusing(query: Query) -> str:
    with pytest.raises(DataLoss) as raised:
        query.trigger()
    return str(raised.value)


def begun(disk: Disk, path: str = "store", **options: str) -> Query:
    query = Query(f"{disk.url}/{path}", {"startingOffsets": "earliest", **options})
    query.start()
    query.trigger()
    return query


WAYS_OUT = "To continue with the remaining data, set failOnDataLoss=false; to start over, use a new checkpointLocation"


def test_segments_that_expired_before_they_were_read(disk: Disk, grown: GrowingStore) -> None:
    query = begun(disk, maxOffsetsPerTrigger="2")
    end = grown.placed[2].offset
    grown.expire(2)
    assert refusing(query) == (
        f"{disk.url}/store: offsets {end:,} to 8,192 ({8192 - end:,} bytes) were deleted before they were read: the log now begins at "
        f"8,192. A broker deletes its oldest segments. {WAYS_OUT}"
    )


def test_a_log_that_was_truncated(disk: Disk, grown: GrowingStore) -> None:
    query = begun(disk)
    last, end = grown.placed[-1], grown.end
    grown.cut(3)
    assert refusing(query) == (
        f"{disk.url}/store: the record at offset {last.offset:,}, the last one read before offset {end:,}, is not in the log any more. "
        "The log was truncated and rewritten, as after a crash of a master, or another store is now at this path. "
        f"Reading can continue at offset {grown.end:,}, without the records rewritten before it. {WAYS_OUT}"
    )


def test_a_log_that_was_replaced(disk: Disk, grown: GrowingStore, announced: list[str]) -> None:
    query = begun(disk)
    grown.cut(3)
    grown.append(20)
    assert "is not in the log any more" in refusing(query)
    before = len(query.rows())
    query.start(failOnDataLoss="false")
    query.trigger()
    assert len(announced) == 2
    assert announced[1].startswith(f"data loss: {disk.url}/store: the record at offset ")
    assert announced[1].endswith(". Reading continues with the remaining data")
    assert 10 <= len(query.rows()) - before <= 20
    grown.append(2)
    query.trigger()
    assert offsets_of(query)[-2:] == [each.offset for each in grown.placed[-2:]]


def test_another_store_at_the_same_path(disk: Disk, grown: GrowingStore) -> None:
    query = begun(disk)
    grown.remove()
    GrowingStore(disk, "store", Random(9), segment_size=4096).append(60)
    assert "another store is now at this path" in refusing(query)


def test_a_store_that_is_gone(disk: Disk) -> None:
    stores = [GrowingStore(disk, f"parent/{which}", Random(which), segment_size=4096) for which in range(2)]
    for each in stores:
        each.append(5)
    query = begun(disk, "parent")
    stores[0].remove()
    last = stores[0].placed[-1].offset
    assert refusing(query) == (
        f"{disk.url}/parent/0: this store is not among those found, and none of them has the record at offset {last:,}, the last one "
        f"read. {WAYS_OUT}"
    )
    query.start(failOnDataLoss="false")
    stores[1].append(1)
    query.trigger()
    assert offsets_of(query)[-1] == stores[1].placed[-1].offset
    stores[0].show()  # it is back, and continues where it stopped
    stores[0].append(1)
    query.trigger()
    assert [row["store"][-1] for row in query.rows()][-1] == "0"
    assert len(query.rows()) == 12


def test_a_store_that_was_moved(disk: Disk, grown: GrowingStore, announced: list[str]) -> None:
    query = begun(disk)
    grown.move("elsewhere")
    grown.append(2)
    query.path = f"{disk.url}/elsewhere"
    query.start()
    query.trigger()
    assert offsets_of(query) == [each.offset for each in grown.placed]
    assert announced[-1] == (
        f"{disk.url}/store: the store was moved to {disk.url}/elsewhere, which has the last record read. Reading continues there"
    )


def test_a_repeated_batch_is_read_from_a_moved_store(disk: Disk, grown: GrowingStore) -> None:
    query = begun(disk)
    grown.append(3)
    with pytest.raises(Killed):
        query.trigger(kill="reading")
    grown.move("elsewhere")
    query.path = f"{disk.url}/elsewhere"
    query.start()
    assert offsets_of(query) == [each.offset for each in grown.placed]


@pytest.mark.parametrize("fail_on_data_loss", ["true", "false"])
def test_a_repeated_batch_whose_closing_blank_is_lost(
    disk: Disk, grown: GrowingStore, announced: list[str], fail_on_data_loss: str
) -> None:
    """A power loss erased the blank at the batch's end and all records after it. The batch failed: zeros before its end."""
    first = [each for each in grown.placed if each.segment == 0]
    query = Query(f"{disk.url}/store", {"startingOffsets": "earliest", "failOnDataLoss": fail_on_data_loss})
    query.start(maxOffsetsPerTrigger=str(len(first)))
    with pytest.raises(Killed):
        query.trigger(kill="reading")
    assert from_json(json.loads(query.offsets[-1]))[f"{disk.url}/store"].end.offset == 4096
    grown.cut(len(grown.placed) - len(first))
    assert grown.end < 4096
    query.start()
    assert offsets_of(query) == [each.offset for each in first]
    query.trigger()
    assert announced == []


def test_a_repeated_batch_whose_closing_blank_is_damaged(disk: Disk, grown: GrowingStore) -> None:
    """The log continues in the next segment, so this is damage and not the end of the log."""
    first = [each for each in grown.placed if each.segment == 0]
    query = Query(f"{disk.url}/store", {"startingOffsets": "earliest"})
    query.start(maxOffsetsPerTrigger=str(len(first)))
    with pytest.raises(Killed):
        query.trigger(kill="reading")
    end = first[-1].offset + first[-1].size
    disk.content[f"store/commitlog/{name(0)}"][end : end + 8] = bytes(8)
    with pytest.raises(StoreDamaged, match=f"at offset {end:,}"):
        query.start()


def test_a_segment_that_is_missing(disk: Disk, grown: GrowingStore, announced: list[str]) -> None:
    gone = disk.content.pop(f"store/commitlog/{name(4096)}")
    query = Query(f"{disk.url}/store", {"startingOffsets": "earliest"})
    query.start()
    assert refusing(query).startswith(
        f"{disk.url}/store: offsets 4,096 to 8,192 (4,096 bytes) are in no file: a segment is missing or truncated. "
    )
    query = drained(f"{disk.url}/store", startingOffsets="earliest", failOnDataLoss="false")
    assert offsets_of(query) == [each.offset for each in grown.placed if each.segment != 4096]
    assert announced == [f"{disk.url}/store: no file has offsets 4,096 to 8,192 (4,096 bytes). Reading continues after them"]
    assert gone


def test_a_repeated_batch_whose_first_segment_is_missing(disk: Disk, grown: GrowingStore) -> None:
    query = begun(disk, maxOffsetsPerTrigger="12")
    start = from_json(json.loads(query.offsets[0]))[f"{disk.url}/store"].end.offset
    assert 4096 < start < 8192
    query.start(maxOffsetsPerTrigger="25")
    with pytest.raises(Killed):
        query.trigger(kill="logged")
    del disk.content[f"store/commitlog/{name(4096)}"]
    with pytest.raises(DataLoss, match=f"offsets {start:,} to 8,192 .* are in no file"):
        query.start()
