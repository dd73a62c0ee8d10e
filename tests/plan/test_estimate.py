"""The choice between a scan and the queues: what either is estimated to cost, and that a scan is chosen where it costs less."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path
from random import Random

import numpy as np
import pytest
from support.queued_stores import dispatched
from support.stores import files_of, message, on_disk

import native_reader as nr
from native_reader.plan.estimate import Costs, _scattered, costs_of
from native_reader.records.extents import Extents
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.logs import CommitLog

RECORDS, BODY = 2000, 8000


def store_of(folder: Path, topics: list[str]) -> FaultyStorage:
    """A store of one segment, with a record for each of these topics, as on a disk of this machine."""
    log = CommitLog(segment_size=32 << 20)
    numbers = {topic: count() for topic in topics}
    placed = [log.append(message(next(numbers[topic]), topic=topic, body=b"x" * BODY)) for topic in topics]
    on_disk(folder, files_of(log) | dispatched(placed, file=80_000))
    faulty = FaultyStorage(folder.as_uri())
    faulty.call_costs = faulty.range_costs = 4 << 10
    return faulty


@pytest.mark.parametrize(("percent", "access"), [(3, "auto"), (16, "auto"), (90, "scan")])
def test_a_topic_is_read_as_it_costs_less(tmp_path: Path, percent: int, access: str) -> None:
    random = Random(percent)
    faulty = store_of(tmp_path, ["wanted" if random.random() * 100 < percent else "other" for _ in range(RECORDS)])
    scan = nr.open(f"{faulty.url}/store").messages(topic="wanted", columns="queue_offset")
    explanation = scan.explain()
    (way,) = explanation.to_dict()["ways"]
    assert way["access"] == access
    assert (way["costs"]["queues"] > 0.95 * way["costs"]["scan"]) == (access == "scan")
    assert re.search("\n             estimated cost: scan 15.[0-9] MiB, queues [0-9.]+ MiB\n", str(explanation))
    run = scan.run()
    assert sum(map(len, run)) == sum(map(len, nr.open(f"{faulty.url}/store").messages(topic="wanted", access="scan").to_batches()))
    assert run.report.scanned == ()


def test_where_a_topic_is_dense_the_other_queues_are_not_read(tmp_path: Path) -> None:
    faulty = store_of(tmp_path, ["other"] * (RECORDS * 3 // 4) + ["wanted"] * (RECORDS // 4))
    dense = {"starting_physical_offset": (BODY + 100) * RECORDS * 3 // 4 + 800_000, "topic": "wanted", "columns": "queue_offset"}
    scan = nr.open(f"{faulty.url}/store").messages(**dense)
    plan = scan.plan()
    assert [split.access for split in plan.splits] == ["auto"]  # of the whole log, a quarter
    opened = faulty.calls["open"]
    run = scan.run()
    assert sum(map(len, run)) > 300
    assert [line.rpartition(": ")[2] for line in run.report.scanned] == ["most of it must be read"]
    assert faulty.calls["open"] - opened <= 4  # planned again: the head of the log, two queues of samples


def test_the_ranges_of_scattered_records_are_as_many_as_counted(tmp_path: Path) -> None:
    random, uri, size = np.random.default_rng(1), tmp_path.as_uri(), 100 << 20
    for share in (0.01, 0.1, 0.3):
        starts = np.flatnonzero(random.random(size // 1000) < share) * 1000
        counted = Extents(starts, starts + 1000).fetched(4 << 10)
        assert _scattered(uri, size, len(starts), 1000 * len(starts)) == pytest.approx(counted, rel=0.25)


def test_more_of_anything_costs_more_by_queue() -> None:
    costs = [costs_of("file:///log", 1 << 30, 10**6, 1, ranges=10, fetched=10)]
    costs += [costs_of("file:///log", 1 << 30, 10**6, 2, ranges=10, fetched=10)]
    costs += [costs_of("file:///log", 1 << 30, 10**6, 2, ranges=20, fetched=10)]
    costs += [costs_of("file:///log", 1 << 30, 10**6, 2, ranges=20, fetched=100)]
    assert [each.scan for each in costs] == [costs[0].scan] * 4
    assert sorted({each.queues for each in costs}) == [each.queues for each in costs]
    assert [Costs(100, queues).favor_scan for queues in (84, 86)] == [False, True]
    assert not Costs(0, 0).favor_scan
