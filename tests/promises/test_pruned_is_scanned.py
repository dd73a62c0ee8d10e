"""Queues may reduce what is read. They never change the rows."""

from __future__ import annotations

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
from support.effort import at_effort, mostly_long, sampled, thinned
from support.golden import FOLDER, OF_EACH_KIND, unpack
from support.golden import STORES as GOLDEN
from support.own_stores import NAMES, STORES
from support.pruning import AccessRead, between, identities, selective
from support.queued_stores import TOPICS, WHOLE_FILE_CHANGES, changed_queues, queued_stores, queues_in_small_files
from support.stores import Files

import native_reader as nr
from native_reader.lazy import Scan
from native_reader.options import MessageOptions
from native_reader.predicate.tree import And, Column, Compare, In, IsNull, Not, Or, Predicate
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store
from native_reader.tuning import tuned

pytestmark = pytest.mark.usefixtures("queues_always_used")
SIDE = re.compile("/(batch)?consumequeue/|/index/|/abort$|/checkpoint$|/config/")
MOST = "most of it must be read"


def compare(files: Files, predicate: Predicate, most: int, *, wrong_queues: bool = False) -> tuple[AccessRead, AccessRead]:
    """All access paths give the same rows. Two wrong entries can confirm each other after the end of the log: not an error here."""
    paths = ("scan", "auto", "trust")
    scanned, auto, trust = (AccessRead(files, predicate, access, most, fail_on_data_loss=not wrong_queues) for access in paths)
    assert auto.rows == scanned.rows, str(predicate)
    assert trust.rows <= scanned.rows, str(predicate)
    for looked in (auto, scanned):
        report = looked.run.report
        sizes = {segment.segment.rpartition("/")[2]: segment.size for segment in report.segments}
        assert sum(sizes.values()) == sum(len(content) for name, content in files.items() if not SIDE.search(name))
        assert all(segment.unread_bytes >= 0 for segment in report.segments)
        assert report.damage == ()
    return scanned, auto


@pytest.mark.sweep
def test_queues_change_no_rows_on_any_access_path():
    ways: Counter[str] = Counter()

    @sampled(400)
    @given(st.data())
    def queues_change_nothing(data: st.DataObject) -> None:
        files = data.draw(queued_stores())
        rows = AccessRead(files, And(()), "scan").rows.total()
        for _ in range(3):
            predicate, most = data.draw(selective()), data.draw(st.sampled_from([1 << 20, 1 << 20, 500]))
            scanned, auto = compare(files, predicate, most)
            ways.update({"cases": 1, "some": 1 <= scanned.rows.total() <= rows / 2})
            ways.update(auto.ways)

    queues_change_nothing()
    cases = ways["cases"]
    assert ways["some"] >= at_effort(0.15, 0.2) * cases, ways  # about 0.30, so far from what chance can do
    for way in ("scan", "auto", MOST, "not by store time"):
        assert ways[way] >= at_effort(0.02, 0.05) * cases, ways
    # A store that was not modified does not contradict itself.
    assert set(ways) <= {"cases", "some", "scan", "auto", "after all", MOST, "not by store time", "not by physical offset"}


@pytest.mark.sweep
@sampled(400)
@given(st.data())
def test_wrong_queues_change_no_rows(data):
    files = data.draw(changed_queues(data.draw(queued_stores())))
    with tuned(queue_read_at_once=data.draw(st.sampled_from([16 << 10, 40]))):  # queues of a few entries are searched too
        for _ in range(3):
            compare(files, data.draw(selective()), data.draw(st.sampled_from([1 << 20, 1 << 20, 500])), wrong_queues=True)


def of_one_topic(topics: Sequence[str], most: int) -> st.SearchStrategy[Predicate]:
    """Conditions on a topic, and sometimes on the queue offset, which excludes other entries of its queue."""
    topic = st.sampled_from((*topics, topics[-1])).map(lambda name: Compare(Column("topic"), "=", name))
    number = st.tuples(st.sampled_from(["=", "=", "=", "<", ">="]), st.integers(1, most)).map(
        lambda at: Compare(Column("queue_offset"), *at)
    )
    return st.one_of(topic, st.tuples(topic, number).map(And), st.tuples(topic, number).map(And))


@pytest.mark.sweep
@sampled(150)
@given(st.data())
def test_wrong_queue_files_change_no_rows(data):
    compare_changed(data, TOPICS[:2], WHOLE_FILE_CHANGES, 16)


@pytest.mark.sweep
@sampled(150)
@given(st.data())
def test_wrong_counts_of_batches_change_no_rows(data):
    compare_changed(data, (TOPICS[0], "batched"), ("recount",), 45)


def compare_changed(data: st.DataObject, topics: Sequence[str], kinds: Sequence[str], most: int) -> None:
    files = data.draw(changed_queues(data.draw(queues_in_small_files(topics)), kinds, 2))
    with tuned(queue_read_at_once=data.draw(st.sampled_from([16 << 10, 40]))):
        for _ in range(3):
            compare(files, data.draw(of_one_topic(topics, most)), 1 << 20, wrong_queues=True)


# Stores of real brokers


def _conditions(rows: list[dict[str, Any]]) -> Iterator[Predicate]:
    """A few conditions on each value that occurs, and combinations of some."""
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
        yield And((one, between("store_timestamp", random.choice(times), 10**6)))
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


@pytest.mark.gate
@pytest.mark.sweep
@pytest.mark.parametrize("name", thinned(SPECS, 3))
def test_on_stores_of_the_writer(name: str, tmp_path: Path) -> None:
    spec = StoreSpec(bytes=4 << 20, mapped_file_size_commit_log=1 << 20, mapped_file_size_consume_queue=4000, index=False, rare=0.05)
    write_store(tmp_path / "store", replace(spec, **SPECS[name]))
    _compare(nr.open(tmp_path / "store"), wanted=12)


@pytest.mark.sweep
@pytest.mark.parametrize("name", mostly_long([*NAMES, *GOLDEN], *OF_EACH_KIND))
def test_on_stores_of_real_brokers(name: str, tmp_path: Path) -> None:
    if name in GOLDEN and not FOLDER.is_dir():
        pytest.skip("there are no golden stores")
    store = unpack(name, tmp_path, STORES if name in NAMES else FOLDER)
    logs = ",".join(map(str, store.log_folders)) if len(store.log_folders) > 1 else None
    opened = nr.open(store.root, store_path_commit_log=logs)
    # A slave numbers batches, and topics that were created again, differently from their records. So it contradicts itself.
    assert _compare(opened, wanted=16, contradicts=name.endswith("-slave"))["auto"] > 0


def _compare(opened: nr.Store, wanted: int, *, contradicts: bool = False) -> Counter[str]:
    """Some or all conditions on a store: the same rows on all access paths, and a contradiction only if `contradicts`."""
    columns = ["topic", "queue_id", "queue_offset", "tags", "store_timestamp", "physical_offset"]
    table = opened.messages(columns=columns).to_table()
    rows = table.set_column(4, "store_timestamp", table["store_timestamp"].cast("int64")).to_pylist()
    conditions = list(_conditions(rows))
    ways: Counter[str] = Counter()
    for predicate in Random(2).sample(conditions, min(len(conditions), at_effort(wanted // 4, len(conditions)))):
        found = {}
        for access in ("scan", "auto", "trust"):
            options = MessageOptions(access=access, columns="physical_offset,inner_index,topic,tags")
            scan = Scan(opened.stores, options, predicate)
            run = scan.run()
            found[access] = identities(run)
            ways.update({split.access for split in scan.plan().splits} if access == "auto" else ())
            after_all = [line for line in run.report.scanned if not line.endswith(MOST)]
            assert contradicts or not after_all, str(predicate)
        assert found["auto"] == found["scan"], str(predicate)
        assert found["trust"] <= found["scan"], str(predicate)
    return ways
