"""What a stream reads: the same as a batch. And what it rejects."""

from __future__ import annotations

import json
import re
import struct
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from support.effort import sampled
from support.growing import Disk, GrowingStore
from support.indexed_stores import indexed, rolled_back_unnamed
from support.micro_batches import Query, at_once, drained, offsets_of, reader_of
from support.missed import rolled_back
from support.queued_stores import changed_queues, queued_stores
from support.stores import Files, files_of, in_memory, log_of, message
from support.tune import Tune

import native_reader as nr
from native_reader.errors import OptionError, StoreDamaged
from native_reader.stream import stream as engine
from native_reader.testing.logs import name
from native_reader.tuning import tuned
from rmqstore_spark.columns import spark_schema
from rmqstore_spark.refused import RefusedStream
from rmqstore_spark.source import RocketmqStore
from rmqstore_spark.stream import StoreStreamReader


@pytest.fixture(autouse=True)
def announced(monkeypatch: pytest.MonkeyPatch, tune: Tune) -> list[str]:
    """The lines that a user would see."""
    return at_once(monkeypatch, tune)


@st.composite
def asked(draw: st.DrawFn) -> dict[str, str]:
    """Conditions, with each access path."""
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


def with_a_prepared_message_that_expired() -> Files:
    """Brokers 4.0 to 4.2 do not index its rollback, so no key finds it: see docs/filters.md."""
    log, files = rolled_back(0)
    files |= indexed(log.placed)
    del files[f"store/commitlog/{0:020}"]
    return files


@pytest.mark.sweep
@example(with_a_prepared_message_that_expired(), {"topic": "T0", "keys": "k0", "access": "auto"})
@given(queued_stores(index=True).flatmap(lambda files: st.just(files) | changed_queues(files)), asked())
@sampled(150)
def test_a_stream_reads_what_a_batch_reads(files: Files, options: dict[str, str]) -> None:
    memory = in_memory(files)
    columns = "physical_offset,inner_index,topic"
    conditions: dict[str, Any] = {name: options[name] for name in ("topic", "tags", "keys", "where") if name in options}
    if "topic" in conditions:
        conditions["topic"] = conditions["topic"].split(",")
    if "msgId" in options:
        conditions["msg_id"] = options["msgId"]
    for argument, option in (("starting_timestamp", "startingTimestamp"), ("starting_physical_offset", "startingPhysicalOffset")):
        if option in options:
            conditions[argument] = int(options[option])
    store = nr.open(f"{memory.url}/store")
    with tuned(small_range=0, queue_costs=0, most_share=0.9):
        start = {} if "startingTimestamp" in options or "startingPhysicalOffset" in options else {"startingOffsets": "earliest"}
        query = drained(f"{memory.url}/store", columns, **start, **options)
        # Streams do not look for losses after the end, and two wrong entries of queues can confirm each other there.
        plan = store.messages(access=options["access"], fail_on_data_loss=False, **conditions).plan()
    rows = store.messages(columns=columns, access="scan", fail_on_data_loss=False, **conditions).to_table().to_pylist()
    found, expected = Counter(tuple(row.values()) for row in query.rows()), Counter(tuple(row.values()) for row in rows)
    if found != expected:  # only what a key does not find
        assert found < expected
        assert plan.lookups
        assert {offset for offset, *_ in expected - found} <= rolled_back_unnamed(files, plan)


@pytest.mark.sweep
@given(st.data())
@sampled(80)
def test_a_stream_reports_the_damage_that_a_batch_reports(data: st.DataObject) -> None:
    """Whatever the portions are, each damage is reported once, also at a border.

    Bytes after the last record are not damage to a stream, because the log may still grow there. A batch reports them.
    """
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
    (end,) = [store["next"] for store in json.loads(query.offsets[-1])["stores"].values()] if query.offsets else [0]
    rows = [row for row in rows if row["corrupt_reason"] is None or row["physical_offset"] < end]
    assert Counter(tuple(row.values()) for row in query.rows()) == Counter(tuple(row.values()) for row in rows)


def test_damage_at_a_border_is_an_error(disk: Disk, grown: GrowingStore) -> None:
    """The damaged record is the one between the last batch and the next."""
    query = Query(f"{disk.url}/store", {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "3"})
    query.start()
    query.trigger()
    place = f"store/commitlog/{name(0)}"
    content = bytearray(disk.content[place])
    content[grown.placed[3].offset + 4] ^= 1
    disk.content[place] = bytes(content)
    with pytest.raises(StoreDamaged, match=f"at offset {grown.placed[3].offset:,}.*Set mode=DROPMALFORMED to skip"):
        query.trigger()


def test_a_record_that_was_written_over_a_blank_is_read(disk: Disk) -> None:
    """RocketMQ 5.5.0, killed after a blank, replaced the blank by a smaller record. A stream that had passed the blank lost it."""
    grown = GrowingStore(disk, "store", Random(1), segment_size=700)
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
    assert not grown.placed


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


def test_without_news_no_work_is_done(disk: Disk, grown: GrowingStore, monkeypatch: pytest.MonkeyPatch, tune: Tune) -> None:
    reader = reader_of(f"{disk.url}/store")
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadAllAvailable()) is start
    tune(look_every=1e9)
    monkeypatch.setattr(engine, "can_resume", None)  # the first step towards a new batch
    for _ in range(100):
        assert reader.latestOffset(start, ReadAllAvailable()) is start
    assert reader.partitions(start, start) == []
    assert grown.end


def test_the_latest_offset_is_reported(disk: Disk, grown: GrowingStore) -> None:
    reader = reader_of(f"{disk.url}/store", startingOffsets="earliest", maxOffsetsPerTrigger="1")
    assert reader.reportLatestOffset() is None
    end = reader.latestOffset(reader.initialOffset(), ReadMaxRows(1))
    last = grown.placed[-1]
    crc = nr.open(f"{disk.url}/store").messages(columns="body_crc").to_table()["body_crc"][-1].as_py()
    assert reader.reportLatestOffset() == {
        "stores": {
            f"{disk.url}/store": {
                "last": {"crc": crc, "offset": last.offset, "stored": "2023-11-14T22:13:59.000Z"},
                "next": grown.end,
            }
        },
        "version": 2,
    }
    assert end["stores"][f"{disk.url}/store"]["next"] == grown.placed[1].offset


def test_a_stream_of_one_topic_uses_its_queues(disk: Disk, tune: Tune) -> None:
    grown = GrowingStore(disk, "store", Random(1), segment_size=1 << 20)
    grown.append(400)
    grown.dispatch()
    tune(small_range=1000, queue_costs=0, most_share=0.9)
    reader = reader_of(f"{disk.url}/store", startingOffsets="earliest", topic="T1")
    start = reader.initialOffset()
    (part,) = reader.partitions(start, reader.latestOffset(start, ReadAllAvailable()))
    assert [split.access for split in part.value[0]] == ["auto"]
    grown.append(1)
    (part,) = reader.partitions(reader.latestOffset(start, ReadAllAvailable()), _moved_on(reader, start, grown))
    assert [split.access for split in part.value[0]] == ["scan"]  # a range this small is scanned


def _moved_on(reader: StoreStreamReader, start: dict[str, Any], grown: GrowingStore) -> dict[str, Any]:
    now = reader.latestOffset(start, ReadAllAvailable())
    grown.append(1)
    return reader.latestOffset(now, ReadAllAvailable())


# Rejected

REFUSED = {
    "table=damage": "table=damage cannot be read as a stream. Use spark.read",
    "filterPushdown=true": "filterPushdown=true is not supported in a stream: Spark passes it no filters. Use the option where instead",
    "limitPushdown=true": "limitPushdown=true is not supported in a stream. Use maxOffsetsPerTrigger for small batches",
    "access=trust": "access=trust misses new messages in a stream, because a broker writes consume queues after the log. Omit it",
    "endingTimestamp=1700000000005": "endingTimestamp is not supported in a stream, which has no end. Omit it, or use spark.read",
    "endingPhysicalOffset=5": "endingPhysicalOffset is not supported in a stream, which has no end. Omit it, or use spark.read",
    'endingOffsets={"T": {"0": 1}}': "endingOffsets is not supported in a stream, which has no end. Omit it, or use spark.read",
    "startingOffsets=latest&startingTimestamp=1700000000005": "startingOffsets=latest contradicts startingTimestamp. Omit one of them",
    "startingOffsets=latest&startingPhysicalOffset=5": "startingOffsets=latest contradicts startingPhysicalOffset. Omit one of them",
    "startingOffset=latest": "unknown option 'startingOffset'. Did you mean 'startingOffsets'?",
    "where=tipic = 'a'": "where: column 'tipic' does not exist. Did you mean 'topic'?",
    "maxBytesPerTrigger=0": "maxBytesPerTrigger must be an integer from 1 to",
}


@pytest.mark.parametrize("asked", REFUSED)
def test_options_that_a_stream_rejects(disk: Disk, grown: GrowingStore, asked: str) -> None:
    """Spark 4.3 replaces an error from the creation of a reader. So each method of the reader raises it."""
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
    assert grown.end
