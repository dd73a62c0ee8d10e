"""Queues may say what need not be read; they may not change what comes out."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import FOLDER, unpack
from support.golden import STORES as GOLDEN
from support.queued_stores import OF_WHOLE_FILES, TAGS, TOPICS, changed_queues, queued_stores, queues_in_small_files
from support.stores import Files, in_memory, sampled
from test_own_stores import NAMES, STORES

import native_reader as nr
from native_reader.plan import estimate, queues, times
from native_reader.plan.plan import Plan
from native_reader.predicate.tree import And, Column, Compare, In, IsNull, Like, Not, Or, Predicate, all_of
from native_reader.scan import pruned
from native_reader.scan.read import Projection
from native_reader.scan.run import Run
from native_reader.testing.memory import MemoryStorage
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store

WHICH = Projection(("physical_offset", "inner_index", "topic", "tags"))
SIDE = re.compile("/(batch)?consumequeue/|/index/|/abort$|/checkpoint$|/config/")
_START = 1_700_000_000_000_000


@pytest.fixture(autouse=True)
def queues_are_always_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """In stores of a few KiB it would not pay."""
    monkeypatch.setattr(pruned, "_CALLS_PER_TOPIC", 0)
    monkeypatch.setattr(pruned, "_MOST_SHARE", 0.9)
    monkeypatch.setattr(estimate, "_MOST_SHARE", 0.9)
    monkeypatch.setattr(times, "_WORTH_IT", 0)
    monkeypatch.setattr(times, "_SAMPLES", 8)


@st.composite
def selective(draw: st.DrawFn) -> Predicate:
    """Conditions as people give them, of which many select some rows and not others."""

    def leaf() -> st.SearchStrategy[Predicate]:
        topic, tags = Column("topic"), Column("tags")
        return st.one_of(
            st.sampled_from([*TOPICS, "batched", "SCHEDULE_TOPIC_XXXX", "%LMQ%a", "gone"]).map(lambda name: Compare(topic, "=", name)),
            st.sampled_from([*TOPICS, "batched", "SCHEDULE_TOPIC_XXXX"]).map(lambda name: Compare(topic, "=", name)),
            st.lists(st.sampled_from([*TOPICS, "batched"]), min_size=1, max_size=2).map(lambda names: In(topic, tuple(names))),
            st.sampled_from([tag for tag in TAGS if tag]).map(lambda tag: Compare(tags, "=", tag)),
            st.sampled_from([tag for tag in TAGS if tag]).map(lambda tag: Compare(tags, "!=", tag)),
            st.just(IsNull(tags)),
            st.integers(0, 2).map(lambda queue: Compare(Column("queue_id"), "=", queue)),
            st.tuples(st.sampled_from(["<", ">=", "=", "!="]), st.integers(0, 6)).map(lambda at: Compare(Column("queue_offset"), *at)),
            st.tuples(st.sampled_from(["<", ">="]), st.integers(0, 40)).map(
                lambda at: Compare(Column("store_timestamp"), at[0], (1_700_000_000_000 + at[1] * 1000) * 1000)
            ),
            st.tuples(st.integers(0, 40), st.integers(1, 12)).map(
                lambda at: _between("store_timestamp", *(each * 10**6 for each in at), _START)
            ),
            st.tuples(st.integers(0, 9000), st.integers(1, 2000)).map(lambda at: _between("physical_offset", *at)),
            st.tuples(st.sampled_from(["<", ">="]), st.integers(0, 9000)).map(lambda at: Compare(Column("physical_offset"), *at)),
            st.sampled_from(["prepared", "rollback", "committed", "batch", "delay", "normal"]).map(
                lambda kind: Compare(Column("kind"), "=", kind)
            ),
            st.integers(100, 300).map(lambda size: Compare(Column("record_size"), ">", size)),
            st.just(Like(topic, "order%")),
            st.just(Compare(Column("properties", "KEYS"), "=", "k3 all")),
        )

    if not draw(st.integers(0, 4)):
        return And((_between("store_timestamp", draw(st.integers(0, 40)) * 10**6, draw(st.integers(1, 9)) * 10**6, _START), draw(leaf())))
    parts = draw(st.lists(leaf(), min_size=1, max_size=3))
    shape = draw(st.sampled_from(["and", "and", "and", "or", "not", "and not", "or and"]))
    if shape == "or":
        return Or(tuple(parts))
    if shape == "not":
        return Not(all_of(parts))
    if shape == "and not":
        return And((draw(leaf()), Not(Or(tuple(parts)))))
    if shape == "or and":
        return Or((all_of(parts), And((draw(leaf()), draw(leaf())))))
    return all_of(parts)


def _between(name: str, first: int, length: int, base: int = 0) -> Predicate:
    return And((Compare(Column(name), ">=", base + first), Compare(Column(name), "<", base + first + length)))


class Looked:
    """What a read of one access brought, and how."""

    def __init__(self, files: Files, predicate: Predicate, access: str, most: int = 1 << 20) -> None:
        storage = in_memory(files)
        self.plan, self.run = _run(storage, predicate, access, most)
        self.rows = Counter((row["physical_offset"], row["inner_index"]) for batch in self.run for row in batch.to_pylist())
        self.ways = set(self._ways())

    def _ways(self) -> Iterator[str]:
        """By which ways it went; `why` after all, where queues were asked and could not help."""
        scanned = Counter(line.rpartition(": ")[0] for line in self.run.report.scanned)
        for split in self.plan.splits:
            after_all = split.access != "scan" and split.segment.uri in scanned
            yield "after all" if after_all else split.access
        yield from (line.rpartition(": ")[2] for line in self.run.report.scanned)
        yield from (f"not by {why}" for _, why in self.plan.skipped)


def _run(storage: MemoryStorage, predicate: Predicate, access: str, most: int) -> tuple[Plan, Run]:
    scan = nr.open(storage.url).messages(access=access, max_partition_bytes=most, time_skew_tolerance=0)
    scan._predicate = predicate
    plan = scan.plan()
    return plan, Run(plan, WHICH)


def compare(files: Files, predicate: Predicate, most: int = 1 << 20) -> tuple[Looked, Looked]:
    scanned, auto, trust = (Looked(files, predicate, access, most) for access in ("scan", "auto", "trust"))
    assert auto.rows == scanned.rows, str(predicate)
    assert trust.rows <= scanned.rows, str(predicate)
    for looked in (auto, scanned):
        report = looked.run.report
        sizes = {segment.segment.rpartition("/")[2]: segment.size for segment in report.segments}
        assert sum(sizes.values()) == sum(len(content) for name, content in files.items() if not SIDE.search(name))
        assert all(segment.unread_bytes >= 0 for segment in report.segments)
        assert report.damage == ()
    return scanned, auto


WAYS: Counter[str] = Counter()


@pytest.mark.sweep
@sampled(400)
@given(st.data())
def test_queues_change_nothing(data):
    files = data.draw(queued_stores())
    rows = Looked(files, And(()), "scan").rows.total()
    for _ in range(3):
        predicate, most = data.draw(selective()), data.draw(st.sampled_from([1 << 20, 1 << 20, 500]))
        scanned, auto = compare(files, predicate, most)
        WAYS.update({"cases": 1, "some": 1 <= scanned.rows.total() <= rows / 2})
        WAYS.update(auto.ways)


@pytest.mark.sweep
@sampled(400)
@given(st.data())
def test_queues_that_are_wrong_change_nothing(data):
    files = data.draw(changed_queues(data.draw(queued_stores())))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queues, "_AT_ONCE", data.draw(st.sampled_from([16 << 10, 40])))  # queues of a few entries are searched too
        for _ in range(3):
            compare(files, data.draw(selective()), data.draw(st.sampled_from([1 << 20, 1 << 20, 500])))


def of_one_topic(topics: Sequence[str], most: int) -> st.SearchStrategy[Predicate]:
    """Conditions on a topic and perhaps on the queue offset, so that other entries of its queue are unwanted."""
    topic = st.sampled_from((*topics, topics[-1])).map(lambda name: Compare(Column("topic"), "=", name))
    number = st.tuples(st.sampled_from(["=", "=", "=", "<", ">="]), st.integers(1, most)).map(
        lambda at: Compare(Column("queue_offset"), *at)
    )
    return st.one_of(topic, st.tuples(topic, number).map(And), st.tuples(topic, number).map(And))


@pytest.mark.sweep
@sampled(150)
@given(st.data())
def test_whole_queue_files_that_are_wrong_change_nothing(data):
    compare_changed(data, TOPICS[:2], OF_WHOLE_FILES, 16)


@pytest.mark.sweep
@sampled(150)
@given(st.data())
def test_counts_of_batches_that_are_wrong_change_nothing(data):
    compare_changed(data, (TOPICS[0], "batched"), ("recount",), 45)


def compare_changed(data: st.DataObject, topics: Sequence[str], kinds: Sequence[str], most: int) -> None:
    files = data.draw(changed_queues(data.draw(queues_in_small_files(topics)), kinds, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queues, "_AT_ONCE", data.draw(st.sampled_from([16 << 10, 40])))
        for _ in range(3):
            compare(files, data.draw(of_one_topic(topics, most)))


def test_each_way_was_taken() -> None:
    """Of the cases above; so this comes after them, in the same process."""
    if not WAYS:
        test_queues_change_nothing()
    cases = WAYS["cases"]
    assert WAYS["some"] >= 0.3 * cases, WAYS
    for way in ("scan", "auto", "most of it is left", "not by store time"):
        assert WAYS[way] >= 0.1 * cases, WAYS
    # A store that nobody tampered with contradicts itself nowhere.
    assert set(WAYS) <= {"cases", "some", "scan", "auto", "after all", "most of it is left", "not by store time", "not by physical offset"}


# Stores of real brokers


def _conditions(rows: list[dict[str, Any]]) -> Iterator[Predicate]:
    """A few conditions on each value that there is, and some of them together."""
    random = Random(1)
    topics = sorted({row["topic"] for row in rows})
    tags = sorted({row["tags"] for row in rows if row["tags"]})
    times = sorted(row["store_timestamp"] for row in rows)
    offsets = sorted(row["queue_offset"] for row in rows)
    for topic in topics:
        one = Compare(Column("topic"), "=", topic)
        yield one
        yield Not(one)
        yield And((one, Compare(Column("queue_id"), "=", 0)))
        yield And((one, Compare(Column("queue_offset"), ">=", random.choice(offsets))))
        yield And((one, Compare(Column("tags"), "=", random.choice(tags or ["no"]))))
        yield And((one, _between("store_timestamp", random.choice(times), 10**6)))
        yield Or((one, Compare(Column("tags"), "=", random.choice(tags or ["no"]))))
    for tag in tags:
        yield Compare(Column("tags"), "=", tag)
        yield Not(Compare(Column("tags"), "=", tag))
    for kind in ("half", "prepared", "batch", "normal", "pop"):
        yield Compare(Column("kind"), "=", kind)
    yield IsNull(Column("tags"))
    yield Compare(Column("topic"), "=", "no such topic")
    yield In(Column("topic"), tuple(topics[::2]))


SPECS = {
    "whole": {},
    "deleted": {"deleted": "payments"},
    "recreated": {"recreated": "orders"},
    "killed": {"killed": True},
    "expired": {"expired": 2},
    "all of it": {"deleted": "payments", "recreated": "orders", "killed": True, "expired": 1, "huge": True, "rare": 0.1},
    "without queues": {"queues": False},
}


@pytest.mark.sweep
@pytest.mark.parametrize("name", SPECS)
def test_on_stores_of_the_writer(name: str, tmp_path: Path) -> None:
    spec = StoreSpec(bytes=6 << 20, mapped_file_size_commit_log=1 << 20, mapped_file_size_consume_queue=4000, index=False, rare=0.05)
    write_store(tmp_path / "store", replace(spec, **SPECS[name]))
    _compare(nr.open(tmp_path / "store"), wanted=12)


@pytest.mark.sweep
@pytest.mark.parametrize("name", [*NAMES, *GOLDEN])
def test_on_stores_of_real_brokers(name: str, tmp_path: Path) -> None:
    if name in GOLDEN and not FOLDER.is_dir():
        pytest.skip("the golden stores are not here")
    store = unpack(name, tmp_path, STORES if name in NAMES else FOLDER)
    logs = ",".join(map(str, store.log_folders)) if len(store.log_folders) > 1 else None
    opened = nr.open(store.root, store_path_commit_log=logs)
    # A slave numbers batches and topics that were made again in another way than their records do: it contradicts itself.
    assert _compare(opened, wanted=16, contradicts=name.endswith("-slave"))["auto"] > 0 or "rocksdb" in name


def _compare(opened: nr.Store, wanted: int, *, contradicts: bool = False) -> Counter[str]:
    """Some conditions on a store, or all of them: the same rows by all ways, and a store contradicts itself only where it `contradicts`."""
    columns = ["topic", "queue_id", "queue_offset", "tags", "store_timestamp", "physical_offset"]
    table = opened.messages(columns=columns).to_table()
    rows = table.set_column(4, "store_timestamp", table["store_timestamp"].cast("int64")).to_pylist()
    conditions = list(_conditions(rows))
    whole = os.environ.get("RMQSTORE_SWEEP") == "whole"
    ways: Counter[str] = Counter()
    for predicate in conditions if whole else Random(2).sample(conditions, min(len(conditions), wanted)):
        found = {}
        for access in ("scan", "auto", "trust"):
            scan = opened.messages(access=access, columns="physical_offset,inner_index,topic,tags")
            scan._predicate = predicate
            run = scan.run()
            found[access] = Counter((row["physical_offset"], row["inner_index"]) for batch in run for row in batch.to_pylist())
            ways.update({split.access for split in scan.plan().splits} if access == "auto" else ())
            after_all = [line for line in run.report.scanned if not line.endswith("most of it is left")]
            assert contradicts or not after_all, str(predicate)
        assert found["auto"] == found["scan"], str(predicate)
        assert found["trust"] <= found["scan"], str(predicate)
    return ways
