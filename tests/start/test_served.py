"""What consumers get after a start, of random stores with random damage: as a plain broker does it, for each row of the table."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import date
from pathlib import Path
from random import Random

import numpy as np
import pytest
from support.plain_broker import Broker

import native_reader as nr
from native_reader.start import BETTER_NOT, may_start, served
from native_reader.start.after import After
from native_reader.start.lines import LINES, Line, line_of, lines_since, span_of
from native_reader.testing.spec import StoreSpec
from native_reader.testing.store_writer import write_store
from native_reader.writing.records import checkpoint

SEGMENT, QUEUE_FILE = 16 << 10, 400


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("whole") / "store"
    spec = StoreSpec(
        bytes=12 * SEGMENT - 3000, body=150, rare=0, huge=False, mapped_file_size_commit_log=SEGMENT,
        mapped_file_size_consume_queue=QUEUE_FILE, max_hash_slot_num=50, max_index_num=2000,
    )  # fmt: skip
    write_store(store, spec)
    shutil.rmtree(store / "batchconsumequeue", ignore_errors=True)
    return store


def queue_files(store: Path) -> list[Path]:
    return sorted((store / "consumequeue").glob("*/*/0*"))


def entry(random: Random, store: Path, data: bytes) -> None:
    path = random.choice(queue_files(store))
    content = bytearray(path.read_bytes())
    used = max(1, sum(any(content[at : at + 12]) for at in range(0, len(content), 20)))
    at = random.randrange(used) * 20
    content[at : at + 20] = data
    path.write_bytes(content)


def zeros(random: Random, store: Path) -> None:
    path = random.choice(sorted((store / "commitlog").iterdir()))
    content, at = bytearray(path.read_bytes()), random.randrange(SEGMENT)
    content[at : at + 600] = bytes(len(content[at : at + 600]))
    path.write_bytes(content)


def bit(random: Random, store: Path) -> None:
    path = random.choice(sorted((store / "commitlog").iterdir()))
    content, at = bytearray(path.read_bytes()), random.randrange(SEGMENT)
    content[at] ^= 1 << random.randrange(8)
    path.write_bytes(content)


def stopped(random: Random, store: Path) -> None:
    (store / "abort").unlink(missing_ok=True)


def killed(random: Random, store: Path) -> None:
    (store / "abort").touch()
    times = [row["first_store_timestamp"] for row in nr.open(store).table("segments").to_table().to_pylist()]
    known = [round(time.timestamp() * 1000) for time in times if time is not None] or [0]
    time = random.choice(known) + random.choice((0, 3000, 5000))
    (store / "checkpoint").write_bytes(checkpoint(time, time, 0, dispatched=random.choice((0, random.randrange(12) * SEGMENT))))


DAMAGES: list[Callable[[Random, Path], object]] = [
    lambda random, store: random.choice(queue_files(store)).unlink(),
    lambda random, store: random.choice(queue_files(store)).unlink(),
    lambda random, store: shutil.rmtree(random.choice(sorted((store / "consumequeue").glob("*/*")))),
    lambda random, store: shutil.rmtree(store / "consumequeue" / random.choice(sorted((store / "consumequeue").iterdir())).name),
    lambda random, store: shutil.rmtree(store / "consumequeue"),
    lambda random, store: entry(random, store, bytes(20)),
    lambda random, store: entry(random, store, struct.pack(">qiq", 1 << 33, 100, 0)),
    lambda random, store: entry(random, store, struct.pack(">qiq", -5, 100, 0)),
    lambda random, store: entry(random, store, struct.pack(">qiq", 5, -100, 0)),
    lambda random, store: random.choice(queue_files(store)).write_bytes(bytes(QUEUE_FILE)),
    zeros,
    zeros,
    bit,
    bit,
]


Result = tuple[int, dict[tuple[str, int], tuple[int, int, int]]]


def results_of(store: Path, lines: Sequence[Line]) -> dict[Line, list[Result]]:
    """After each of two starts. Not of lines that do not start."""
    (files,) = nr.open(store).stores
    end = nr.open(store).diagnose().facts["commitlog"]["end_offset"]
    found = dict[Line, list[Result]]()
    for line, after in may_start(files, lines, end, now=0, reserved_hours=72).after:
        assert after.second is not None
        found[line] = [of(each) for each in (after, after.second)]
    return found


def of(after: After) -> Result:
    return after.cut, {(each.topic, each.queue_id): (each.served, each.moved, each.deleted) for each in after.queues}


Row = tuple[tuple[str, int], int, tuple[int, int]]
"""The topic and the queue, the queue offset, and the bytes of the log."""


def whole_rows(store: Path) -> list[Row]:
    """The whole records of the log that a broker puts into queues."""
    columns = ("topic", "queue_id", "queue_offset", "physical_offset", "record_size", "kind")
    scan = nr.open(store).messages(mode="DROPMALFORMED", verify_crc=True, fail_on_data_loss=False, columns=columns)
    rows = [list(row.values()) for row in scan.to_table().to_pylist()]
    return [
        ((topic, queue_id), number, (offset, size))
        for topic, queue_id, number, offset, size, kind in rows
        if kind not in ("prepared", "rollback")
    ]


def expected_of(store: Path, line: Line, rows: Sequence[Row]) -> Iterator[Result]:
    """After each of two starts."""
    (files,) = nr.open(store).stores
    broker = Broker(store, QUEUE_FILE)
    settings = {"truncates_always": line.truncates_always, "truncates_killed": line.truncates_killed}
    for begin in (line.begins, line.stopped):
        seen = deepcopy(broker)
        for queue in seen.queues.values():
            queue.recover()
        segments = tuple(segment for segment in files.segments if segment.base in broker.segments)
        cut = broker.start(begin(replace(files, segments=segments), seen.reached()), line.requeues.value, **settings)
        yield served_by(broker, rows, cut)
        broker.stop(cut)


def served_by(broker: Broker, rows: Sequence[Row], cut: int) -> Result:
    served = {place: broker.pulled(place, cut) for place in broker.queues}
    found = dict[tuple[str, int], tuple[int, int, int]]()
    for place, number, record in rows:
        mine, is_there = served.get(place, {}), record[0] < cut
        right = is_there and mine.get(number) == record
        moved = is_there and not right and record in mine.values()
        counts = found.get(place, (0, 0, 0))
        found[place] = counts[0] + right, counts[1] + moved, counts[2] + (not is_there)
    return cut, found


def check(whole: Path, folder: Path, seed: int) -> None:
    random, store = Random(seed), folder / "store"
    shutil.copytree(whole, store)
    random.choice((stopped, killed))(random, store)
    for damage in random.choices(DAMAGES, k=random.choice((0, 1, 1, 2))):
        if queue_files(store):
            damage(random, store)
    known = {row["topic"] for row in nr.open(whole).topics(columns=["topic"]).to_table().to_pylist()}
    rows = whole_rows(store)
    for line, found in results_of(store, LINES).items():
        for number, (own, expected) in enumerate(zip(found, expected_of(store, line, rows), strict=True)):
            # A wrong letter in a topic: the record is of a topic without settings, so no client can ask for it.
            nowhere = {place for place in expected[1] if place[0] not in known and place not in own[1]}
            places = (own[1].keys() | expected[1].keys()) - nowhere
            differ = {place for place in places if own[1].get(place) != expected[1].get(place)}
            assert (own[0], differ) == (expected[0], set()), (seed, span_of([line]), number)


# 1106: a first entry of negative size, which is counted when queues are cut, hides the one after it. 2068: a wrong letter in a topic.
# 2111: fillers, whose offset is 0, are no entries of the message at offset 0. 73995024: nor is an entry of zeros, which gives a consumer
# no bytes. 73995056: a first entry with a negative offset hides those of the first segment after it.
@pytest.mark.parametrize("seed", [8, 10, 31, 41, 45, 56, 75, 1106, 2068, 2111, 73995024, 73995056])
def test_as_a_plain_broker(whole: Path, tmp_path: Path, seed: int) -> None:
    check(whole, tmp_path, seed)


def test_a_second_start_can_delete_what_the_first_kept(whole: Path, tmp_path: Path) -> None:
    """The first one removes an empty last segment, so the third-last is another one afterwards."""
    store = tmp_path / "store"
    shutil.copytree(whole, store)
    (store / "abort").unlink(missing_ok=True)
    segments = sorted(path for path in (store / "commitlog").iterdir() if any(path.read_bytes()[:8]))
    (store / "commitlog" / f"{int(segments[-1].name) + SEGMENT:020}").write_bytes(bytes(SEGMENT))
    content = segments[-3].read_bytes()
    segments[-3].write_bytes(content[:5000] + bytes(600) + content[5600:])
    line = line_of("4.9.7")
    assert results_of(store, [line])[line] == list(expected_of(store, line, whole_rows(store)))
    end = nr.open(store).diagnose().facts["commitlog"]["end_offset"]
    (files,) = nr.open(store).stores
    start = may_start(files, [line, LINES[-1]], end, now=0, reserved_hours=72)
    (told,) = (each for each in start.reasons if each.cause.kind == "second fewer")
    assert (start.outcome, told.lines) == (BETTER_NOT, (line,))
    first, newest = start.to_dict()["after"]
    assert first["log_end"] == end > first["second"]["log_end"] == dict(told.cause.values)["offset"]
    assert first["served"] - first["second"]["served"] == dict(told.cause.values)["messages"] == first["second"]["deleted"]
    assert newest["second"] == {name: value for name, value in newest.items() if name not in ("versions", "second")}


@pytest.mark.long
@pytest.mark.parametrize("number", range(60))
def test_as_a_plain_broker_on_the_stores_of_the_day(whole: Path, tmp_path: Path, number: int) -> None:
    check(whole, tmp_path, date.today().toordinal() * 100 + number)


def test_versions_of_a_row_as_people_write_them() -> None:
    assert [span_of([line]) for line in LINES][-3:] == ["5.3.2–5.3.x", "5.4.x", "5.5.0+"]
    assert span_of(LINES) == "4.0.0+"
    assert span_of(lines_since("5.3.3")) == "5.3.2+"
    assert [line_of(version).first for version in ("4.9.1", "4.9.2", "4.9.8", "5.1.2", "5.1.3", "5.4.0", "6.0.0")] == [
        "4.5.0", "4.9.2", "4.9.3", "5.1.0", "5.1.3", "5.4.0", "5.5.0",
    ]  # fmt: skip


def test_a_broker_of_4_9_waits_for_ever_at_a_missing_segment(whole: Path, tmp_path: Path) -> None:
    """It was said that it would go on. 4.9.7 on such a store: `Try to finish doing reput the messages fall behind` every second."""
    store = tmp_path / "store"
    shutil.copytree(whole, store)
    (store / "commitlog" / f"{4 * SEGMENT:020}").unlink()

    def answers(**options: str) -> dict[str, tuple[str, list[int | str]]]:
        found = {}
        for version in ("4.4.0", "4.5.0", "4.9.7", "5.3.1", "5.3.3", "5.5.0"):
            start = nr.open(store, **options).diagnose(for_version=version, file_reserved_time=99_999).start
            assert start is not None
            found[version] = start.outcome, [each.cause.values[0][1] for each in start.reasons if each.cause.kind == "waits"]
        return found

    assert {at for _, waits in answers().values() for at in waits} == set(), "the queues have all that follows"
    shutil.rmtree(store / "consumequeue")
    found = answers()
    assert {version for version, (outcome, waits) in found.items() if waits} == {"4.5.0", "4.9.7"}
    assert found["4.9.7"] == ("no", [4 * SEGMENT])
    conf = tmp_path / "broker.conf"
    conf.write_text(f"storePathRootDir={store}\nrecheckReputOffsetFromCq=true\n")
    assert answers(broker_conf=str(conf))["5.3.1"] == ("no", [4 * SEGMENT])


@pytest.mark.parametrize(
    ("end", "numbers", "appended"),
    [
        (0, [0, 1, 2, 0, 1, 2], [0, 1, 2, 3]),  # a topic that was made again: its first message follows, the others have passed numbers
        (1, [0, 1, 2], [0, 2]),
        (0, [0, 1, 2], [0, 1, 2]),
        (3, [2, 3, 4], [1, 2]),
        (0, [5, 9], [0, 1]),
    ],
)
def test_what_is_appended_to_a_queue(end: int, numbers: list[int], appended: list[int]) -> None:
    assert np.flatnonzero(served._are_appended(np.array(numbers), end)).tolist() == appended
