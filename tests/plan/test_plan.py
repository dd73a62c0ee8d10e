"""Plans and splits: pure, small, equal after pickling, and covering every segment exactly once."""

from __future__ import annotations

import os
import pickle
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import sampled
from support.stores import ZERO, files_of, in_memory, log_of, message, on_disk

import native_reader as nr
from native_reader.columns.projection import Projection
from native_reader.errors import OptionError
from native_reader.plan.estimate import AccessPath
from native_reader.plan.plan import Plan, StoreRead, make_plan
from native_reader.plan.planning import Planning
from native_reader.plan.split import Split, SplitLog
from native_reader.plan.ways import AUTO, TRUST, ByQueues
from native_reader.predicate.tree import EVERYTHING, And, Column, Compare, Predicate
from native_reader.scan.read import Reading
from native_reader.storage.store import Segment, StoreFiles
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.records import encode

GIB = 1 << 30


def store_of(sizes: list[int], uri: str = "file:///data/store", first: int = 0) -> StoreFiles:
    segments, base = [], first
    for size in sizes:
        segments.append(Segment(base, size, f"{uri}/commitlog/{base:020}", 7))
        base += size
    return StoreFiles(uri, tuple(segments))


def planned(*reads: StoreRead, predicate: Predicate = EVERYTHING, most: int = 128 << 20) -> Plan:
    return make_plan(reads, predicate, Planning(max_partition_bytes=most))


# Splits


@pytest.mark.sweep
@sampled(300)
@given(st.data())
def test_splits_tile_every_segment(data):
    """Each byte before the end of the log is in one split. None exceeds the limit. The last one of a segment extends to its end."""
    sizes = data.draw(st.lists(st.integers(1, 5000), max_size=6))
    store = store_of(sizes, first=data.draw(st.integers(0, 10**6)))
    first = store.min_offset
    end = data.draw(st.integers(first, first + sum(sizes)))
    most = data.draw(st.one_of(st.integers(1, 6000), st.just(2**63 - 1)))
    borders = [each for segment in store.segments for each in (segment.base, segment.end)]
    somewhere = st.one_of(st.integers(0, first + 9999), st.sampled_from(borders or [0]))
    offsets = data.draw(st.none() | st.tuples(somewhere, somewhere))
    low, high = offsets or (0, 2**63 - 1)
    here = Column("physical_offset")
    predicate = EVERYTHING if offsets is None else And((Compare(here, ">=", low), Compare(here, "<", high)))
    made = planned(StoreRead(store, end), predicate=predicate, most=most)
    pieces: dict[Segment, list[Split]] = defaultdict(list)
    for split in made.splits:
        pieces[split.segment].append(split)
    left_out = {segment for segment, _ in made.skipped} | set(made.unwritten)
    assert set(store.segments) == left_out | set(pieces)
    assert left_out.isdisjoint(pieces)
    for segment, splits in pieces.items():
        written = min(end - segment.base, segment.size)
        assert written > 0
        assert all(segment.base + split.stop > low and segment.base + split.start < high for split in splits)
        assert [split.start for split in splits[1:]] == [split.stop for split in splits[:-1]]
        assert splits[0].start == 0 or segment.base + splits[0].start <= low
        assert splits[-1].stop == segment.size or segment.base + splits[-1].stop >= high
        assert all(split.end == written and split.store == store.uri for split in splits)
        lengths = [min(split.stop, written) - split.start for split in splits]
        assert all(0 < length <= most for length in lengths)
        assert max(lengths) - min(lengths) <= 1
    for segment, why in made.skipped:
        assert segment.end <= low or segment.base >= high or low >= high or low >= end
        assert why == "physical offset"
    assert all(segment.base >= end for segment in made.unwritten)
    assert made.bytes_to_scan == sum(min(split.stop, split.end) - split.start for split in made.splits)
    assert list(made.splits) == sorted(made.splits, key=lambda split: (split.segment.base, split.start))


def test_a_plan_keeps_the_stores_apart_and_in_order():
    one, two = store_of([10, 10], "file:///b"), store_of([10], "file:///a", 90)
    made = planned(StoreRead(one, 15), StoreRead(two, 100), most=4)
    assert [(split.store, split.segment.base, split.start) for split in made.splits] == [
        *(("file:///b", 0, start) for start in (0, 3, 6)),
        *(("file:///b", 10, start) for start in (0, 2)),
        *(("file:///a", 90, start) for start in (0, 3, 6)),
    ]
    assert made.ends == (("file:///b", 15), ("file:///a", 100))


def test_planning_is_deterministic_and_reads_nothing():
    """No file exists at these URIs, and a second plan is equal."""
    store = store_of([GIB] * 20)
    predicate = Compare(Column("topic"), "=", "T")
    made = [planned(StoreRead(store, 20 * GIB), predicate=predicate) for _ in range(2)]
    assert made[0] == made[1]
    assert hash(made[0]) == hash(made[1])
    assert len(made[0].splits) == 160


# Queues


@pytest.mark.parametrize(("share", "tasks"), [(0.00001, 1), (0.001, 1), (0.01, 9), (0.2, 200), (0.9, 800)])
def test_tasks_are_cut_by_the_bytes_that_they_read(share: float, tasks: int) -> None:
    """100 segments: a tiny result is one task, a large one many tasks of similar work, each with a few hundred bytes of state."""
    store = replace(store_of([GIB] * 100), consume_queue="file:///elsewhere/data/store/consumequeue")
    way = AccessPath(TRUST, share=share, entries=50_000_000, life=(0, 100 * GIB))
    made = planned(StoreRead(store, 100 * GIB, path=way))
    packed = made.packed()
    assert abs(len(packed) - tasks) <= tasks // 10
    work = [sum(split.work for split in task) for task in packed]
    assert max(work) <= (128 << 20) + max(split.work for split in made.splits)
    assert min(work[:-1], default=max(work)) > max(work) / 2
    assert all(split.way == ByQueues(store.queues, share, TRUST) for split in made.splits)
    for split in made.splits[:3]:
        assert pickle.loads(pickle.dumps(split)) == split
        assert len(pickle.dumps(split)) <= 400


def test_trust_reads_only_the_records_that_queues_name() -> None:
    store = replace(store_of([GIB] * 10), consume_queue="file:///data/store/consumequeue")
    for way, bases in (
        (AccessPath(TRUST, share=0.01, life=(3 * GIB + 5, 5 * GIB)), [3, 4]),
        (AccessPath(TRUST, share=0.01, life=(0, 10 * GIB), touched=frozenset([0, 7 * GIB])), [0, 7]),
        (AccessPath(AUTO, share=0.01, life=(3 * GIB, 5 * GIB), touched=frozenset([0])), [*range(10)]),
    ):
        made = planned(StoreRead(store, 10 * GIB, path=way))
        assert [split.segment.base // GIB for split in made.splits] == bases
        assert {why for _, why in made.skipped} <= {"queue"}


# Pickling


@pytest.mark.parametrize(
    "uri",
    [
        "file:///data/store",
        "file:///data1/rocketmq/broker-a/store",
        "file:///mnt/backups/production/rocketmq/2026-11-19/DefaultCluster/broker-a-0/rocketmq/store",
        "s3://company-rocketmq-backups/production/eu-central-1/DefaultCluster/broker-a-0/2026-11-19T04:00:00Z/store",
        "file:///data/%E4%B8%BB%E9%A2%98/store",
    ],
)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_split_is_small_and_equal_after_pickling(uri, protocol):
    store = store_of([GIB] * 3, uri, first=GIB * 4096)
    made = planned(StoreRead(store, GIB * 4099))
    for split in made.splits:
        identified = replace(split, segment=replace(split.segment, identity=2**40 + 12345))
        packed = pickle.dumps(identified, protocol)
        assert pickle.loads(packed) == identified
        assert len(packed) <= 300 + 3 * len(uri)


def test_ranges_of_a_few_bytes_are_refused_for_a_large_log():
    tebibyte = StoreRead(store_of([GIB] * 1024), GIB * 1024)
    for most, limit in ((1, 10_000), (64 << 10, 1_000_000), (1 << 20, 1_000_000)):
        with pytest.raises(OptionError) as raised:
            planned(tebibyte, most=most)
        assert f"max_partition_bytes={most:,} would cut the log into" in str(raised.value)
        assert f"at most {limit:,} of this size are possible. Set max_partition_bytes to 2,097,152 or more" in str(raised.value)
        planned(StoreRead(store_of([10_000]), 10_000), most=most)
    assert len(planned(tebibyte, most=2 << 20).splits) == 512 * 1024


@pytest.mark.parametrize("uri", ["file:///elsewhere/log/" + ZERO, "memory://1/" + ZERO, "file:///data/store2/" + ZERO])
def test_a_segment_may_be_outside_its_store_directory(uri):
    split = Split(SplitLog("file:///data/store"), Segment(0, 10, uri, 1, "dledger"), 3, 10, 9)
    assert pickle.loads(pickle.dumps(split)) == split


def test_a_pickled_plan_gives_the_same_rows():
    memory = in_memory()
    scan = nr.open(memory.url).messages(topic="T1", max_partition_bytes=500)
    made: Plan = pickle.loads(pickle.dumps(scan.plan()))
    assert made == scan.plan()
    projection = pickle.loads(pickle.dumps(Projection(("topic", "physical_offset"))))
    rows = [
        row
        for split in made.splits
        for batch in Reading(pickle.loads(pickle.dumps(split)), projection, made.wanted)
        for row in batch.to_pylist()
    ]
    assert rows == scan.to_table().select(["topic", "physical_offset"]).to_pylist()
    assert rows


def test_a_split_can_be_read_repeatedly():
    memory = in_memory()
    split = nr.open(memory.url).messages(max_partition_bytes=700).plan().splits[3]
    readings = [Reading(split, Projection(("physical_offset",))) for _ in range(3)]
    tables = [[batch.to_pylist() for batch in reading] for reading in readings]
    assert tables[0] == tables[1] == tables[2]
    assert readings[0].report == readings[1].report == readings[2].report


def test_splits_cannot_be_changed():
    split = planned(StoreRead(store_of([10]), 10), most=10).splits[0]
    with pytest.raises(AttributeError):
        split.start = 5


# Gaps


def test_a_missing_segment_is_a_loss():
    files = files_of(log_of(60))
    del files[f"store/commitlog/{2048:020}"]
    memory = in_memory(files)
    store = nr.open(memory.url)
    with pytest.raises(nr.DataLoss) as raised:
        store.messages().plan()
    assert str(raised.value) == (
        f"{memory.url}/store: offsets 2,048 to 4,096 (2,048 bytes) are in no file: a segment is missing or truncated. "
        "Set fail_on_data_loss=False to read the rest"
    )
    scan = store.messages(fail_on_data_loss=False)
    expected = [placed.offset for placed in log_of(60).placed if not 2048 <= placed.offset < 4096]
    assert scan.to_table()["physical_offset"].to_pylist() == expected
    assert [gap[:3] for gap in scan.plan().gaps] == [(f"{memory.url}/store", 2048, 4096)]
    assert scan.explain().to_dict()["gaps"] == [[f"{memory.url}/store", 2048, 4096]]
    assert f"  missing    offsets 2,048 to 4,096 (2,048 bytes) of {memory.url}/store: no file contains them" in str(scan.explain()).split(
        "\n"
    )


def test_a_segment_cut_short_is_a_loss():
    files = files_of(log_of(60))
    files[f"store/commitlog/{2048:020}"] = files[f"store/commitlog/{2048:020}"][:1000]
    del files[f"store/commitlog/{2048 * 3:020}"]
    memory = in_memory(files)
    with pytest.raises(
        nr.DataLoss, match=r"offsets 3,048 to 4,096 \(1,048 bytes\) are in no file: .* 1 more ranges are missing\. Set fail_on"
    ):
        nr.open(memory.url).messages().to_table()


def test_a_gap_outside_the_requested_range_is_not_a_loss():
    files = files_of(log_of(60))
    del files[f"store/commitlog/{2048:020}"]
    memory = in_memory(files)
    store = nr.open(memory.url)
    count = sum(placed.offset >= 4096 for placed in log_of(60).placed)
    assert store.messages(starting_physical_offset=4096).count_rows() == count
    assert store.messages(ending_physical_offset=2048).count_rows() == sum(placed.offset < 2048 for placed in log_of(60).placed)
    for options in ({"starting_physical_offset": 4095}, {"ending_physical_offset": 2049}, {"topic": "T0"}):
        with pytest.raises(nr.DataLoss):
            store.messages(**options).plan()


def test_expired_and_unwritten_segments_are_not_a_loss():
    log = log_of(20, start=2048 * 7)
    names = list(log.files(extra=2).items())
    files = {f"store/commitlog/{name}": content for name, content in names[:-2] + names[-1:]}  # a preallocated file is missing
    memory = in_memory(files)
    scan = nr.open(memory.url).messages()
    assert scan.count_rows() == 20
    assert [segment.name for segment in scan.plan().unwritten] == [names[-1][0]]


# The cost of planning


def far_apart(root: Path, count: int, size: int = GIB) -> None:
    """Sparse segments with records at the start of each. The last one also has records around every cut at 128 MiB."""
    for number in range(count):
        base = number * size
        with (root / f"{base:020}").open("wb") as file:
            file.truncate(size)
            file.write(encode(message(number), base))


@pytest.mark.parametrize("count", [3, 300])
def test_planning_calls_do_not_grow_with_the_segments(tmp_path, count):
    log = on_disk(tmp_path, {"store/commitlog/": b""}) / "store" / "commitlog"
    far_apart(log, count)
    faulty = FaultyStorage(tmp_path.as_uri())
    made = nr.open(f"{faulty.url}/store").messages(topic="T").plan()
    assert len(made.splits) == 8 * (count - 1) + 1
    assert made.ends == ((f"{faulty.url}/store", (count - 1) * GIB + len(encode(message(count - 1)))),)
    assert sum(faulty.calls.values()) <= 24
    assert faulty.bytes_read < 1 << 20
    assert max(len(pickle.dumps(split)) for split in made.splits) <= 400
    assert os.stat(log / ZERO).st_blocks * 512 < 1 << 20
