"""What consume queues cost a read: each is listed once, and none is opened where reading the log costs less."""

from __future__ import annotations

from pathlib import Path

from support.queued_stores import dispatched
from support.stores import files_of, message, on_disk

import native_reader as nr
from native_reader.testing.faulty import FaultyStorage
from native_reader.testing.logs import CommitLog
from native_reader.tuning import tuned

TOPICS, SEGMENTS = 8, 12


def cost_of_a_topic(folder: Path, segment_size: int, **tuning: float) -> dict[str, int]:
    """The calls of a run that reads one topic of several, of a log with a few records in each segment."""
    log = CommitLog(segment_size=segment_size)
    placed = []
    for segment in range(SEGMENTS):
        for topic in range(TOPICS):
            placed.append(log.append(message(segment, topic=f"topic-{topic}", body=b"x" * 500)))
        if segment + 1 < SEGMENTS:
            log.seal()
    on_disk(folder, files_of(log) | dispatched(placed, file=8000))
    for path in (folder / "store/commitlog").iterdir():  # what a broker never wrote is a hole
        written = path.read_bytes().rstrip(b"\0")
        with path.open("wb") as file:
            file.write(written)
            file.truncate(segment_size)
    faulty = FaultyStorage(folder.as_uri())
    faulty.call_costs = faulty.range_costs = 4 << 10  # as on a disk of this machine
    store = nr.open(f"{faulty.url}/store")
    with tuned(**tuning):
        scan = store.messages(topic="topic-3", columns="queue_offset")
        plan = scan.plan()
        assert {split.access for split in plan.splits} == {"auto"}
        before = dict(faulty.calls)
        rows = scan.to_table()
    assert rows.num_rows == SEGMENTS
    return {name: faulty.calls[name] - before.get(name, 0) for name in ("list", "open", "read")}


def test_queues_are_not_opened_for_segments_that_are_mostly_a_hole(tmp_path: Path) -> None:
    calls = cost_of_a_topic(tmp_path, 16 << 20)  # looking up 8 topics costs as much as reading 6 MiB
    assert calls["open"] == SEGMENTS, calls  # only the log itself


def test_queues_are_listed_once_for_all_segments(tmp_path: Path) -> None:
    calls = cost_of_a_topic(tmp_path, 1 << 20, queue_costs=0)
    assert calls["open"] >= SEGMENTS * (1 + TOPICS)  # each segment was compared with each queue
    assert calls["list"] <= 1 + 2 * TOPICS, calls
