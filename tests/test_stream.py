"""What a stream reads: all that a batch reads, from where it was asked to begin, in portions no larger than allowed."""

from __future__ import annotations

import json
import re
import struct
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from growing import Disk, GrowingStore
from hypothesis import given
from hypothesis import strategies as st
from micro_batches import Killed, Query
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxFiles, ReadMaxRows, ReadMinRows
from queued_stores import changed_queues, queued_stores
from stores import Files, files_of, in_memory, log_of, message, sampled

import native_reader as nr
from native_reader import api
from native_reader.access import estimate
from native_reader.errors import DataLoss, OptionError, StoreDamaged
from native_reader.scan import follow, pruned
from native_reader.scan.boundary import Boundary, Fingerprint
from native_reader.testing.logs import name
from rmqstore_spark import stream
from rmqstore_spark.columns import spark_schema
from rmqstore_spark.offsets import Batch, OffsetError, from_json, to_json
from rmqstore_spark.source import RocketmqStore
from rmqstore_spark.stream import RefusedStream, StoreStreamReader


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Looks cost no time here; what a person would be told."""
    lines: list[str] = []
    monkeypatch.setattr(stream, "_LOOK_EVERY", 0.0)
    monkeypatch.setattr(follow, "_REST", 0)
    monkeypatch.setattr(follow, "_LISTED_EVERY", 0.0)
    monkeypatch.setattr(stream, "announce", lines.append)
    return lines


def reader_of(path: str, **options: str) -> StoreStreamReader:
    found = RocketmqStore({"path": path, **options}).streamReader(spark_schema(["physical_offset"]))
    assert isinstance(found, StoreStreamReader)
    return found


def drained(path: str, columns: str = "store,physical_offset,topic,body", **options: str) -> Query:
    """A query that has read all there is."""
    query = Query(path, options, columns)
    query.start(available_now=True)
    while query.trigger():
        pass
    return query


def offsets_of(query: Query) -> list[int]:
    return [row["physical_offset"] for row in query.rows()]


# Offsets


def test_an_offset_can_be_read_by_a_person() -> None:
    offset = {
        "file:///b": Batch(7, Boundary(7)),
        "file:///a": Batch(0, Boundary(768, Fingerprint(512, 1_700_000_000_123, 77))),
    }
    assert json.dumps(to_json(offset)) == (
        '{"stores": {"file:///a": {"from": 0, "last": {"crc": 77, "offset": 512, "stored": "2023-11-14T22:13:20.123Z"}, "next": 768}, '
        '"file:///b": {"from": 7, "last": null, "next": 7}}, "version": 1}'
    )


@given(
    st.dictionaries(
        st.text(max_size=9),
        st.tuples(
            st.integers(0, 2**63 - 1),
            st.integers(0, 2**63 - 1),
            st.none() | st.tuples(st.integers(0, 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1)),
        ),
    )
)
@sampled(50)
def test_an_offset_survives_its_text(stores: dict[str, tuple[int, int, tuple[int, int, int] | None]]) -> None:
    offset = {uri: Batch(start, Boundary(stop, last and Fingerprint(*last))) for uri, (start, stop, last) in stores.items()}
    text = json.dumps(to_json(offset))
    assert from_json(json.loads(text)) == offset
    assert json.dumps(to_json(from_json(json.loads(text)))) == text
    assert json.dumps(json.loads(text), sort_keys=True) == text  # Spark compares them as text


WRONG = {
    '{"stores": {}, "version": 2}': "the checkpoint was written by a newer rmqstore-spark: its offsets have version 2, this one reads 1",
    '{"stores": {}}': "the checkpoint holds no offset of rmqstore-spark: it has version None, not 1",
    '{"stores": {}, "version": 0}': "the checkpoint holds no offset of rmqstore-spark: it has version 0, not 1",
    "17": "the checkpoint holds no offset of rmqstore-spark: it has version None, not 1",
    '{"version": 1}': "an offset in the checkpoint was changed or cut: KeyError 'stores'",
    '{"stores": {"a": {"next": 1, "from": 0}}, "version": 1}': "an offset in the checkpoint was changed or cut: KeyError 'last'",
    '{"stores": {"a": {"next": -1, "from": 0, "last": null}}, "version": 1}': "ValueError -1 is no offset",
    '{"stores": {"a": {"next": "1", "from": 0, "last": null}}, "version": 1}': "ValueError '1' is no offset",
    '{"stores": {"a": {"next": 1, "from": 0, "last": {"crc": 1, "offset": 0, "stored": "now"}}}, "version": 1}': "ValueError Invalid",
    '{"stores": [1], "version": 1}': "an offset in the checkpoint was changed or cut: AttributeError",
}


@pytest.mark.parametrize("text", WRONG)
def test_an_offset_that_is_not_ours(text: str) -> None:
    with pytest.raises(OffsetError, match=re.escape(WRONG[text])) as raised:
        from_json(json.loads(text))
    assert str(raised.value).endswith("A new checkpointLocation starts afresh")


# Where a query begins


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def store(disk: Disk) -> GrowingStore:
    growing = GrowingStore(disk, "store", Random(1), segment_size=4096)
    growing.append(40)
    return growing


def begins(disk: Disk, **options: str) -> Boundary:
    reader = reader_of(f"{disk.url}/store", **options)
    first = reader.initialOffset()
    assert reader.initialOffset() == first
    (batch,) = from_json(first).values()
    assert batch.start == batch.end.offset
    return batch.end


def test_a_query_begins_at_the_end_unless_told_otherwise(disk: Disk, store: GrowingStore) -> None:
    last = store.placed[-1]
    found = Fingerprint(last.offset, last.message.store_timestamp, begins(disk).last.crc)  # type: ignore[union-attr]
    assert begins(disk) == begins(disk, startingOffsets="latest") == begins(disk, startingOffsets=" LATEST ") == Boundary(store.end, found)
    assert begins(disk, startingOffsets="earliest") == Boundary(0)
    store.expire(2)
    assert begins(disk, startingOffsets="earliest") == Boundary(8192)


def test_a_query_begins_at_a_moment(disk: Disk, store: GrowingStore) -> None:
    for each in store.placed:
        moment = each.message.store_timestamp
        found = begins(disk, startingTimestamp=str(moment), timeSkewTolerance="0ms")
        assert found.offset in (each.segment, each.segment - 4096)
        query = drained(f"{disk.url}/store", startingTimestamp=str(moment))
        assert offsets_of(query) == [other.offset for other in store.placed if other.message.store_timestamp >= moment]
    late = str(store.placed[-1].message.store_timestamp + 1)
    assert offsets_of(drained(f"{disk.url}/store", startingTimestamp=late)) == []


def test_a_query_begins_at_a_place(disk: Disk, store: GrowingStore) -> None:
    borders = [each.offset for each in store.placed]
    for place in (0, 1, 4095, 4096, *borders[3::7], borders[5] + 1, store.end, store.end + 10):
        assert begins(disk, startingPhysicalOffset=str(place)).offset <= place
        query = drained(f"{disk.url}/store", startingPhysicalOffset=str(place))
        assert offsets_of(query) == [border for border in borders if border >= place]


def test_a_query_begins_at_queue_offsets(disk: Disk, store: GrowingStore) -> None:
    asked = {"startingOffsets": '{"T0": {"0": 5}}'}
    assert begins(disk, **asked) == Boundary(0)
    wanted = [each.offset for each in store.placed if each.message.topic != "T0" or each.message.queue_offset >= 5]
    assert offsets_of(drained(f"{disk.url}/store", **asked)) == wanted


def test_the_first_batch_begins_where_it_began_before_it_was_killed(disk: Disk, store: GrowingStore) -> None:
    """Spark 4.3 writes no start down; `latest` is another place when it asks again."""
    query = Query(f"{disk.url}/store", {})
    query.start()
    query.trigger()
    store.append(3)
    expected = [each.offset for each in store.placed[-3:]]
    query = Query(f"{disk.url}/store", {})
    query.start()
    store.append(2)
    expected = [each.offset for each in store.placed[-2:]]
    with pytest.raises(Killed):
        query.trigger(kill="logged")
    store.append(4)
    query.start()
    assert offsets_of(query) == expected
    query.trigger()
    assert offsets_of(query) == expected + [each.offset for each in store.placed[-4:]]


def test_where_a_query_begins_is_told_once_it_is_old(disk: Disk, store: GrowingStore, told: list[str]) -> None:
    query = Query(f"{disk.url}/store", {"startingOffsets": "earliest"})
    query.start()
    query.trigger()
    assert told == []
    query.start()
    query.trigger()
    query.trigger()
    assert told == ["startingOffsets=earliest is for a new query; this one goes on from its checkpoint"]
    assert store.end


# Limits


@pytest.mark.parametrize("most", [1, 150, 700, 4096, 100_000])
def test_no_batch_has_more_bytes_than_allowed(disk: Disk, store: GrowingStore, most: int) -> None:
    query = drained(f"{disk.url}/store", startingOffsets="earliest", maxBytesPerTrigger=str(most))
    assert offsets_of(query) == [each.offset for each in store.placed]
    batches = [from_json(json.loads(text))[f"{disk.url}/store"] for text in query.offsets]
    for batch in batches:
        rows = [each for each in store.placed if batch.start <= each.offset < batch.end.offset]
        assert len(rows) == 1 or rows[-1].offset + rows[-1].size - batch.start <= most
    assert len(batches) >= store.end // max(most, 1000)


@pytest.mark.parametrize("most", [1, 3, 7, 1000])
def test_no_batch_has_more_records_than_allowed(disk: Disk, store: GrowingStore, most: int) -> None:
    query = drained(f"{disk.url}/store", startingOffsets="earliest", maxOffsetsPerTrigger=str(most))
    assert offsets_of(query) == [each.offset for each in store.placed]
    sizes = [len(table) for table in query.sink.values() if table is not None]
    assert sizes == [most] * (40 // most) + [40 % most] * bool(40 % most)


def test_both_limits_hold(disk: Disk, store: GrowingStore) -> None:
    query = drained(f"{disk.url}/store", startingOffsets="earliest", maxOffsetsPerTrigger="4", maxBytesPerTrigger="900")
    assert offsets_of(query) == [each.offset for each in store.placed]
    sizes = [len(table) for table in query.sink.values() if table is not None]
    assert max(sizes) == 4
    assert min(sizes[:-1]) < 4


def test_sparks_own_limits(disk: Disk, store: GrowingStore) -> None:
    reader = reader_of(f"{disk.url}/store", startingOffsets="earliest", maxBytesPerTrigger="1k")
    start = reader.initialOffset()

    def end(limit: ReadLimit) -> int:
        (batch,) = from_json(reader.latestOffset(start, limit)).values()
        return batch.end.offset

    assert reader.getDefaultReadLimit() == ReadMaxBytes(1024)
    assert end(ReadAllAvailable()) == store.end  # Trigger.Once: no limit of ours counts
    assert end(ReadMaxBytes(600)) <= 600
    assert end(ReadMaxRows(2)) == store.placed[2].offset
    reader = reader_of(f"{disk.url}/store", startingOffsets="earliest", maxOffsetsPerTrigger="5")
    assert reader.getDefaultReadLimit() == ReadMaxRows(5)
    reader = reader_of(f"{disk.url}/store", startingOffsets="earliest")
    assert reader.getDefaultReadLimit() == ReadAllAvailable()
    assert end(ReadMaxFiles(1)) == 4096
    assert end(ReadMaxFiles(3)) == 3 * 4096
    assert end(ReadMinRows(40)) == store.end
    assert reader.latestOffset(start, ReadMinRows(41)) == start


def test_stores_share_a_limit_and_none_starves(disk: Disk) -> None:
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


def test_available_now_is_what_was_there_when_it_began(disk: Disk, store: GrowingStore) -> None:
    query = Query(f"{disk.url}/store", {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "9"})
    query.start(available_now=True)
    there = [each.offset for each in store.placed]
    store.append(30)
    while query.trigger():
        store.append(1)
    assert offsets_of(query) == there
    query.start(available_now=True)
    while query.trigger():
        pass
    assert offsets_of(query) == [each.offset for each in store.placed]


def test_available_now_ends_although_the_log_was_cut(disk: Disk, store: GrowingStore) -> None:
    query = Query(f"{disk.url}/store", {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "9"})
    query.start(available_now=True)
    query.trigger()
    store.cut(20)
    while query.trigger():
        pass
    assert offsets_of(query) == [each.offset for each in store.placed]


# What it reads


@st.composite
def asked(draw: st.DrawFn) -> dict[str, str]:
    """Conditions, and the ways of an access path to them."""
    some = draw(
        st.sampled_from(
            [
                {},
                {"topic": "orders"},
                {"topic": "orders,T"},
                {"topic": "batched"},
                {"tags": "paid || AaAa"},
                {"keys": "k7"},
                {"topic": "orders", "keys": "all"},
                {"msgId": "U0003"},
                {"where": "NOT topic = 'orders' OR tags IS NULL"},
                {"where": "queue_id = 1 AND queue_offset >= 2"},
                {"startingTimestamp": "1700000012000"},
                {"startingPhysicalOffset": "1500"},
                {"where": "store_timestamp < TIMESTAMP '2023-11-14 22:13:40Z'"},
            ]
        )
    )
    limit = draw(st.sampled_from([{}, {"maxBytesPerTrigger": "400"}, {"maxOffsetsPerTrigger": "5"}, {"maxBytesPerTrigger": "3000"}]))
    access = draw(st.sampled_from(["auto", "auto", "scan"]))
    return {**some, **limit, "access": access, "maxPartitionBytes": draw(st.sampled_from(["300", "1m"]))}


@pytest.mark.sweep
@given(queued_stores(index=True).flatmap(lambda files: st.just(files) | changed_queues(files)), asked())
@sampled(150)
def test_a_stream_reads_what_a_batch_reads(files: Files, options: dict[str, str]) -> None:
    memory = in_memory(files)
    columns = "physical_offset,inner_index,topic"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "_SOON_READ", 0)
        patch.setattr(pruned, "_CALLS_PER_TOPIC", 0)
        patch.setattr(estimate, "_MOST_SHARE", 0.9)
        start = {} if "startingTimestamp" in options or "startingPhysicalOffset" in options else {"startingOffsets": "earliest"}
        query = drained(f"{memory.url}/store", columns, **start, **options)
    conditions = {name: options[name] for name in ("topic", "tags", "keys", "where") if name in options}
    if "topic" in conditions:
        conditions["topic"] = conditions["topic"].split(",")  # type: ignore[assignment]
    more: dict[str, Any] = {"msg_id": options["msgId"]} if "msgId" in options else {}
    if "startingTimestamp" in options:
        more["starting_timestamp"] = int(options["startingTimestamp"])
    if "startingPhysicalOffset" in options:
        more["starting_physical_offset"] = int(options["startingPhysicalOffset"])
    rows = nr.open(f"{memory.url}/store").messages(columns=columns, access="scan", **conditions, **more).to_table().to_pylist()
    assert Counter(tuple(row.values()) for row in query.rows()) == Counter(tuple(row.values()) for row in rows)


@pytest.mark.sweep
@given(st.data())
@sampled(80)
def test_a_stream_tells_the_damage_that_a_batch_tells(data: st.DataObject) -> None:
    """Whatever the portions: no damage is told twice, and none is left out at a border."""
    log = log_of([message(n, body=b"x" * data.draw(st.sampled_from([1, 30, 300]))) for n in range(25)], 2048)
    files = {file: bytearray(content) for file, content in files_of(log).items()}
    for _ in range(data.draw(st.integers(1, 4))):
        content = files[data.draw(st.sampled_from(sorted(files)))]
        place = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            content[place] ^= 1 << data.draw(st.integers(0, 7))
        else:
            length = data.draw(st.integers(1, 400))
            content[place : place + length] = bytes(len(content[place : place + length]))
    memory = in_memory(files)
    columns = "physical_offset,topic,corrupt_reason,corrupt_record"
    rows = nr.open(f"{memory.url}/store").messages(columns=columns, mode="PERMISSIVE").to_table().to_pylist()
    limit = data.draw(st.sampled_from([{}, {"maxBytesPerTrigger": "300"}, {"maxOffsetsPerTrigger": "2"}, {"maxBytesPerTrigger": "1500"}]))
    query = drained(f"{memory.url}/store", columns, startingOffsets="earliest", mode="PERMISSIVE", **limit)
    assert Counter(tuple(row.values()) for row in query.rows()) == Counter(tuple(row.values()) for row in rows)


def test_damage_at_a_border_is_an_error(disk: Disk, store: GrowingStore) -> None:
    """The record at which the last batch ended and the next begins is the one that is damaged."""
    query = Query(f"{disk.url}/store", {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "3"})
    query.start()
    query.trigger()
    place = f"store/commitlog/{name(0)}"
    content = bytearray(disk.content[place])
    content[store.placed[3].offset + 4] ^= 1
    disk.content[place] = bytes(content)
    with pytest.raises(StoreDamaged, match=f"at offset {store.placed[3].offset:,}.*mode DROPMALFORMED reads on behind it"):
        query.trigger()


def test_a_record_that_was_written_over_a_blank_is_read(disk: Disk) -> None:
    """RocketMQ 5.5.0, killed behind a blank: it wrote a smaller record in its place, and a stream that had passed the blank lost it."""
    store = GrowingStore(disk, "store", Random(1), segment_size=700)
    log = log_of([message(0, body=b"x" * 300), message(1, body=b"y" * 300)], 700)
    first = bytes(log.files()[name(0)])
    disk.write(f"store/commitlog/{name(0)}", first)
    assert is_blank_at(first, log.placed[0].size)
    query = Query(f"{disk.url}/store", {"startingOffsets": "earliest"})
    query.start()
    query.trigger()
    assert offsets_of(query) == [0]
    again = log_of([message(0, body=b"x" * 300), message(1, body=b"z"), message(2, body=b"y" * 300)], 700)
    for file, content in again.files().items():
        disk.write(f"store/commitlog/{file}", content)
    query.trigger()
    assert offsets_of(query) == [each.offset for each in again.placed]
    assert not store.placed


def is_blank_at(content: bytes, position: int) -> bool:
    return content[position : position + 8] == struct.pack(">ii", len(content) - position, -875286124)


def test_a_new_store_is_read_from_its_beginning(disk: Disk) -> None:
    one = GrowingStore(disk, "parent/one", Random(1), segment_size=4096)
    one.append(3)
    query = Query(f"{disk.url}/parent", {})
    query.start()
    query.trigger()
    two = GrowingStore(disk, "parent/two", Random(2), segment_size=4096, start=8192)
    two.append(4)
    one.append(1)
    query.trigger()
    found = Counter((row["store"].rpartition("/")[2], row["physical_offset"]) for row in query.rows())
    assert found == Counter([("one", one.placed[-1].offset), *(("two", each.offset) for each in two.placed)])


def test_nothing_new_is_nothing_to_do(disk: Disk, store: GrowingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = reader_of(f"{disk.url}/store")
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadAllAvailable()) is start
    monkeypatch.setattr(stream, "_LOOK_EVERY", 1e9)
    monkeypatch.setattr(reader, "_begins", None)  # not even thought about again
    for _ in range(100):
        assert reader.latestOffset(start, ReadAllAvailable()) is start
    assert reader.partitions(start, start) == []
    assert store.end


def test_what_is_new_is_reported(disk: Disk, store: GrowingStore) -> None:
    reader = reader_of(f"{disk.url}/store", startingOffsets="earliest", maxOffsetsPerTrigger="1")
    assert reader.reportLatestOffset() is None
    end = reader.latestOffset(reader.initialOffset(), ReadMaxRows(1))
    last = store.placed[-1]
    assert reader.reportLatestOffset() == {
        "stores": {
            f"{disk.url}/store": {
                "last": {"crc": reader._look()[f"{disk.url}/store"].last.crc, "offset": last.offset, "stored": "2023-11-14T22:13:59.000Z"},  # type: ignore[union-attr]
                "next": store.end,
            }
        },
        "version": 1,
    }
    assert end["stores"][f"{disk.url}/store"]["next"] == store.placed[1].offset


def test_a_stream_of_one_topic_goes_through_its_queues(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    store = GrowingStore(disk, "store", Random(1), segment_size=1 << 20)
    store.append(400)
    store.dispatch()
    monkeypatch.setattr(api, "_SOON_READ", 1000)
    monkeypatch.setattr(estimate, "_MOST_SHARE", 0.9)
    reader = reader_of(f"{disk.url}/store", startingOffsets="earliest", topic="T1")
    start = reader.initialOffset()
    (part,) = reader.partitions(start, reader.latestOffset(start, ReadAllAvailable()))
    assert [split.access for split in part.value[0]] == ["auto"]
    store.append(1)
    (part,) = reader.partitions(reader.latestOffset(start, ReadAllAvailable()), _moved_on(reader, start, store))
    assert [split.access for split in part.value[0]] == ["scan"]  # so little is read sooner


def _moved_on(reader: StoreStreamReader, start: dict[str, Any], store: GrowingStore) -> dict[str, Any]:
    now = reader.latestOffset(start, ReadAllAvailable())
    store.append(1)
    return reader.latestOffset(now, ReadAllAvailable())


# What is refused

REFUSED = {
    "table=damage": "table=damage cannot be followed as a stream: use spark.read",
    "filterPushdown=true": "filterPushdown=true: Spark hands no filters to a stream. Say it with where=",
    "access=trust": "access=trust believes that queues know every message, but they learn of new ones last. Leave it out",
    "endingTimestamp=5": "endingTimestamp: a stream has no end. Leave it out, or use spark.read",
    "endingPhysicalOffset=5": "endingPhysicalOffset: a stream has no end. Leave it out, or use spark.read",
    'endingOffsets={"T": {"0": 1}}': "endingOffsets: a stream has no end. Leave it out, or use spark.read",
    "startingOffsets=latest&startingTimestamp=5": "startingOffsets=latest contradicts startingTimestamp: leave one of them out",
    "startingOffsets=latest&startingPhysicalOffset=5": "startingOffsets=latest contradicts startingPhysicalOffset: leave one of them out",
    "startingOffset=latest": "unknown option 'startingOffset'. Did you mean 'startingOffsets'?",
    "where=tipic = 'a'": "where: column 'tipic' does not exist. Did you mean 'topic'?",
    "maxBytesPerTrigger=0": "maxBytesPerTrigger=0 is no whole number from 1 to",
}


@pytest.mark.parametrize("asked", REFUSED)
def test_what_cannot_be_followed(disk: Disk, store: GrowingStore, asked: str) -> None:
    """Spark 4.3 puts an error of its own behind one that a reader's making raises, so it is told a moment later."""
    options = dict(pair.split("=", 1) for pair in asked.split("&"))
    reader = RocketmqStore({"path": f"{disk.url}/store", **options}).streamReader(spark_schema(["topic"]))
    assert isinstance(reader, RefusedStream)
    asks: list[Callable[[], object]] = [
        reader.initialOffset,
        lambda: reader.latestOffset({}, ReadAllAvailable()),
        lambda: reader.partitions({}, {"a": 1}),
    ]
    for ask in asks:
        with pytest.raises(OptionError, match=re.escape(REFUSED[asked])):
            ask()
    assert store.end


# What was lost


def refusing(query: Query) -> str:
    with pytest.raises(DataLoss) as raised:
        query.trigger()
    return str(raised.value)


def begun(disk: Disk, path: str = "store", **options: str) -> Query:
    query = Query(f"{disk.url}/{path}", {"startingOffsets": "earliest", **options})
    query.start()
    query.trigger()
    return query


WAYS_OUT = "failOnDataLoss=false goes on with what is there. A new checkpointLocation starts afresh"


def test_segments_that_expired_unread(disk: Disk, store: GrowingStore) -> None:
    query = begun(disk, maxOffsetsPerTrigger="2")
    end = store.placed[2].offset
    store.expire(2)
    assert refusing(query) == (
        f"{disk.url}/store: offsets {end:,} to 8,192 ({8192 - end:,} bytes), which were to be read next, are gone: the log begins at 8,192 "
        f"now. A broker deletes its oldest segments. {WAYS_OUT}"
    )


def test_a_log_that_was_cut(disk: Disk, store: GrowingStore) -> None:
    query = begun(disk)
    last, end = store.placed[-1], store.end
    store.cut(3)
    assert refusing(query) == (
        f"{disk.url}/store: the log does not hold the record at offset {last.offset:,} any more, the last that was read before offset "
        f"{end:,}. It was cut there or before and written anew, as after a crash of a master, or another store lies at this path now. "
        f"Reading can go on at offset {store.end:,}; what was written anew before it is not seen. {WAYS_OUT}"
    )


def test_a_log_that_was_written_anew(disk: Disk, store: GrowingStore, told: list[str]) -> None:
    query = begun(disk)
    store.cut(3)
    store.append(20)
    assert "does not hold the record at offset" in refusing(query)
    before = len(query.rows())
    query.start(failOnDataLoss="false")
    query.trigger()
    assert len(told) == 2
    assert told[1].startswith(f"data loss: {disk.url}/store: the log does not hold the record at offset")
    assert 10 <= len(query.rows()) - before <= 20
    store.append(2)
    query.trigger()
    assert offsets_of(query)[-2:] == [each.offset for each in store.placed[-2:]]


def test_another_store_at_the_same_path(disk: Disk, store: GrowingStore) -> None:
    query = begun(disk)
    store.remove()
    GrowingStore(disk, "store", Random(9), segment_size=4096).append(60)
    assert "another store lies at this path now" in refusing(query)


def test_a_store_that_is_gone(disk: Disk) -> None:
    stores = [GrowingStore(disk, f"parent/{which}", Random(which), segment_size=4096) for which in range(2)]
    for each in stores:
        each.append(5)
    query = begun(disk, "parent")
    stores[0].remove()
    last = stores[0].placed[-1].offset
    assert refusing(query) == (
        f"{disk.url}/parent/0 is not among the stores that are there now, and no other holds the record at offset {last:,}, the last that "
        f"was read of it. {WAYS_OUT}"
    )
    query.start(failOnDataLoss="false")
    stores[1].append(1)
    query.trigger()
    assert offsets_of(query)[-1] == stores[1].placed[-1].offset
    stores[0].show()  # it is back, and goes on where it stood
    stores[0].append(1)
    query.trigger()
    assert [row["store"][-1] for row in query.rows()][-1] == "0"
    assert len(query.rows()) == 12


def test_a_store_that_was_moved(disk: Disk, store: GrowingStore, told: list[str]) -> None:
    query = begun(disk)
    store.move("elsewhere")
    store.append(2)
    query.path = f"{disk.url}/elsewhere"
    query.start()
    query.trigger()
    assert offsets_of(query) == [each.offset for each in store.placed]
    assert told[-1] == (
        f"{disk.url}/store is not there any more; {disk.url}/elsewhere holds the last record that was read of it, and is read on in its "
        "place"
    )


def test_a_batch_that_is_repeated_is_read_of_a_store_that_was_moved(disk: Disk, store: GrowingStore) -> None:
    query = begun(disk)
    store.append(3)
    with pytest.raises(Killed):
        query.trigger(kill="reading")
    store.move("elsewhere")
    query.path = f"{disk.url}/elsewhere"
    query.start()
    assert offsets_of(query) == [each.offset for each in store.placed]


def test_a_segment_that_is_missing(disk: Disk, store: GrowingStore, told: list[str]) -> None:
    gone = disk.content.pop(f"store/commitlog/{name(4096)}")
    query = Query(f"{disk.url}/store", {"startingOffsets": "earliest"})
    query.start()
    assert refusing(query).startswith(
        f"{disk.url}/store: offsets 4,096 to 8,192 (4,096 bytes) lie in no file: a segment is missing, or was cut short. "
    )
    query = drained(f"{disk.url}/store", startingOffsets="earliest", failOnDataLoss="false")
    assert offsets_of(query) == [each.offset for each in store.placed if each.segment != 4096]
    assert told == [f"{disk.url}/store: offsets 4,096 to 8,192 (4,096 bytes) lie in no file; read on without them"]
    assert gone


def test_a_batch_that_is_repeated_when_its_first_segment_is_missing(disk: Disk, store: GrowingStore) -> None:
    query = begun(disk, maxOffsetsPerTrigger="12")
    start = from_json(json.loads(query.offsets[0]))[f"{disk.url}/store"].end.offset
    assert 4096 < start < 8192
    query.start(maxOffsetsPerTrigger="25")
    with pytest.raises(Killed):
        query.trigger(kill="logged")
    del disk.content[f"store/commitlog/{name(4096)}"]
    with pytest.raises(DataLoss, match=f"offsets {start:,} to 8,192 .* lie in no file"):
        query.start()
