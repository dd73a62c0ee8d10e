"""Where a query begins, and how much each batch reads."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxFiles, ReadMaxRows, ReadMinRows
from support.growing import Disk, GrowingStore
from support.micro_batches import Killed, Query, at_once, drained, offsets_of, reader_of
from support.tune import Tune

from native_reader.errors import spelled
from native_reader.log.boundary import Boundary, Fingerprint
from native_reader.stream.offset import from_json


@pytest.fixture(autouse=True)
def announced(monkeypatch: pytest.MonkeyPatch, tune: Tune) -> list[str]:
    """The lines that a user would see."""
    return at_once(monkeypatch, tune)


def begins(disk: Disk, **options: str) -> Boundary:
    reader = reader_of(f"{disk.url}/store", **options)
    first = reader.initialOffset()
    assert reader.initialOffset() == first
    (batch,) = from_json(first).values()
    assert batch.start == batch.end.offset
    return batch.end


def test_a_query_begins_at_the_end_by_default(disk: Disk, grown: GrowingStore) -> None:
    last = grown.placed[-1]
    found = Fingerprint(last.offset, last.message.store_timestamp, begins(disk).last.crc)  # type: ignore[union-attr]
    assert begins(disk) == begins(disk, startingOffsets="latest") == begins(disk, startingOffsets=" LATEST ") == Boundary(grown.end, found)
    assert begins(disk, startingOffsets="earliest") == Boundary(0)
    grown.expire(2)
    assert begins(disk, startingOffsets="earliest") == Boundary(8192)


def test_a_query_begins_at_a_time(disk: Disk, grown: GrowingStore) -> None:
    for each in grown.placed:
        moment = each.message.store_timestamp
        found = begins(disk, startingTimestamp=str(moment), timeSkewTolerance="0ms")
        assert found.offset in (each.segment, each.segment - 4096)
        query = drained(f"{disk.url}/store", startingTimestamp=str(moment))
        assert offsets_of(query) == [other.offset for other in grown.placed if other.message.store_timestamp >= moment]
    late = str(grown.placed[-1].message.store_timestamp + 1)
    assert offsets_of(drained(f"{disk.url}/store", startingTimestamp=late)) == []


def test_a_query_begins_at_a_physical_offset(disk: Disk, grown: GrowingStore) -> None:
    borders = [each.offset for each in grown.placed]
    for place in (0, 1, 4095, 4096, *borders[3::7], borders[5] + 1, grown.end, grown.end + 10):
        assert begins(disk, startingPhysicalOffset=str(place)).offset <= place
        query = drained(f"{disk.url}/store", startingPhysicalOffset=str(place))
        assert offsets_of(query) == [border for border in borders if border >= place]


def test_a_query_begins_at_queue_offsets(disk: Disk, grown: GrowingStore) -> None:
    asked = {"startingOffsets": '{"T0": {"0": 5}}'}
    assert begins(disk, **asked) == Boundary(0)
    wanted = [each.offset for each in grown.placed if each.message.topic != "T0" or each.message.queue_offset >= 5]
    assert offsets_of(drained(f"{disk.url}/store", **asked)) == wanted


def test_the_first_batch_begins_where_it_began_before_it_was_killed(disk: Disk, grown: GrowingStore) -> None:
    """Spark 4.3 does not store the start, and `latest` has another value at the next call."""
    query = Query(f"{disk.url}/store", {})
    query.start()
    query.trigger()
    grown.append(3)
    expected = [each.offset for each in grown.placed[-3:]]
    query = Query(f"{disk.url}/store", {})
    query.start()
    grown.append(2)
    expected = [each.offset for each in grown.placed[-2:]]
    with pytest.raises(Killed):
        query.trigger(kill="logged")
    grown.append(4)
    query.start()
    assert offsets_of(query) == expected
    query.trigger()
    assert offsets_of(query) == expected + [each.offset for each in grown.placed[-4:]]


def test_a_resumed_query_announces_that_it_continues(disk: Disk, grown: GrowingStore, announced: list[str]) -> None:
    query = Query(f"{disk.url}/store", {"startingOffsets": "earliest"})
    query.start()
    query.trigger()
    assert announced == []
    query.start()
    query.trigger()
    query.trigger()
    assert [spelled(line, str) for line in announced] == [
        "this query continues from its checkpoint; starting_offsets=earliest is for new queries"
    ]
    assert grown.end


# Limits


@pytest.mark.parametrize("most", [1, 150, 700, 4096, 100_000])
def test_no_batch_has_more_bytes_than_allowed(disk: Disk, grown: GrowingStore, most: int) -> None:
    query = drained(f"{disk.url}/store", startingOffsets="earliest", maxBytesPerTrigger=str(most))
    assert offsets_of(query) == [each.offset for each in grown.placed]
    batches = [from_json(json.loads(text))[f"{disk.url}/store"] for text in query.offsets]
    for batch in batches:
        rows = [each for each in grown.placed if batch.start <= each.offset < batch.end.offset]
        assert len(rows) == 1 or rows[-1].offset + rows[-1].size - batch.start <= most
    assert len(batches) >= grown.end // max(most, 1000)


@pytest.mark.parametrize("most", [1, 3, 7, 1000])
def test_no_batch_has_more_records_than_allowed(disk: Disk, grown: GrowingStore, most: int) -> None:
    query = drained(f"{disk.url}/store", startingOffsets="earliest", maxOffsetsPerTrigger=str(most))
    assert offsets_of(query) == [each.offset for each in grown.placed]
    sizes = [len(table) for table in query.sink.values() if table is not None]
    assert sizes == [most] * (40 // most) + [40 % most] * bool(40 % most)


def test_both_limits_apply(disk: Disk, grown: GrowingStore) -> None:
    query = drained(f"{disk.url}/store", startingOffsets="earliest", maxOffsetsPerTrigger="4", maxBytesPerTrigger="900")
    assert offsets_of(query) == [each.offset for each in grown.placed]
    sizes = [len(table) for table in query.sink.values() if table is not None]
    assert max(sizes) == 4
    assert min(sizes[:-1]) < 4


def test_sparks_own_limits(disk: Disk, grown: GrowingStore) -> None:
    reader = reader_of(f"{disk.url}/store", startingOffsets="earliest", maxBytesPerTrigger="1k")
    start = reader.initialOffset()

    def end(limit: ReadLimit) -> int:
        (batch,) = from_json(reader.latestOffset(start, limit)).values()
        return batch.end.offset

    assert reader.getDefaultReadLimit() == ReadMaxBytes(1024)
    assert end(ReadAllAvailable()) == grown.end  # Trigger.Once: our limits do not apply
    assert end(ReadMaxBytes(600)) <= 600
    assert end(ReadMaxRows(2)) == grown.placed[2].offset
    reader = reader_of(f"{disk.url}/store", startingOffsets="earliest", maxOffsetsPerTrigger="5")
    assert reader.getDefaultReadLimit() == ReadMaxRows(5)
    reader = reader_of(f"{disk.url}/store", startingOffsets="earliest")
    assert reader.getDefaultReadLimit() == ReadAllAvailable()
    assert end(ReadMaxFiles(1)) == 4096
    assert end(ReadMaxFiles(3)) == 3 * 4096
    (following,) = from_json(reader.latestOffset(reader.latestOffset(start, ReadMaxFiles(1)), ReadMaxFiles(1))).values()
    assert (following.start, following.end.offset) == (4096, 2 * 4096)
    assert end(ReadMinRows(40)) == grown.end
    assert reader.latestOffset(start, ReadMinRows(41)) == start


def test_stores_share_a_limit_and_each_gets_a_part(disk: Disk) -> None:
    stores = {which: GrowingStore(disk, f"parent/{which}", Random(which), segment_size=4096) for which in range(3)}
    for which, count in enumerate((2, 30, 60)):
        stores[which].append(count)
    query = drained(f"{disk.url}/parent", startingOffsets="earliest", maxBytesPerTrigger="2000")
    assert Counter(row["store"][-1] for row in query.rows()) == {"0": 2, "1": 30, "2": 60}
    first = from_json(json.loads(query.offsets[1]))
    assert all(batch.end.offset > batch.start for uri, batch in first.items() if not uri.endswith("0"))
    query = drained(f"{disk.url}/parent", startingOffsets="earliest", maxOffsetsPerTrigger="9")
    assert Counter(row["store"][-1] for row in next(table for table in query.sink.values() if table is not None).to_pylist()) == {
        "0": 2,
        "1": 3,
        "2": 4,
    }


def test_available_now_ends_where_the_log_ended_at_its_start(disk: Disk, grown: GrowingStore) -> None:
    query = Query(f"{disk.url}/store", {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "9"})
    query.start(available_now=True)
    there = [each.offset for each in grown.placed]
    grown.append(30)
    while query.trigger():
        grown.append(1)
    assert offsets_of(query) == there
    query.start(available_now=True)
    while query.trigger():
        pass
    assert offsets_of(query) == [each.offset for each in grown.placed]


def test_available_now_ends_although_the_log_was_truncated(disk: Disk, grown: GrowingStore) -> None:
    query = Query(f"{disk.url}/store", {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "9"})
    query.start(available_now=True)
    query.trigger()
    grown.cut(20)
    while query.trigger():
        pass
    assert offsets_of(query) == [each.offset for each in grown.placed]
