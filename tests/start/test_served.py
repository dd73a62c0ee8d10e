"""What consumers get after a start, of random stores with random damage: as a plain broker does it, for each row of the table."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from datetime import date
from pathlib import Path
from random import Random

import pytest
from support.plain_broker import Broker

import native_reader as nr
from native_reader.start import may_start
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


def result_of(store: Path, line: Line) -> tuple[int, dict[tuple[str, int], tuple[int, int, int]]] | None:
    (files,) = nr.open(store).stores
    end = nr.open(store).diagnose().facts["commitlog"]["end_offset"]
    after = dict(may_start(files, [line], end, now=0, reserved_hours=72).after)
    return None if line not in after else of(after[line])


def of(after: After) -> tuple[int, dict[tuple[str, int], tuple[int, int, int]]]:
    return after.cut, {(each.topic, each.queue_id): (each.served, each.moved, each.deleted) for each in after.queues}


def expected_of(store: Path, line: Line) -> tuple[int, dict[tuple[str, int], tuple[int, int, int]]]:
    (files,) = nr.open(store).stores
    broker = Broker(store, QUEUE_FILE)
    for queue in broker.queues.values():
        queue.recover()
    begins = line.begins(files, broker.reached())
    broker = Broker(store, QUEUE_FILE)
    settings = {"truncates_always": line.truncates_always, "truncates_killed": line.truncates_killed}
    cut = broker.start(begins, line.requeues.value, **settings)
    columns = ("topic", "queue_id", "queue_offset", "physical_offset", "kind")
    scan = nr.open(store).messages(mode="DROPMALFORMED", verify_crc=True, fail_on_data_loss=False, columns=columns)
    served = {place: broker.pulled(place, cut) for place in broker.queues}
    found = dict[tuple[str, int], tuple[int, int, int]]()
    for row in scan.to_table().to_pylist():
        if row["kind"] in ("prepared", "rollback"):
            continue
        place, offset = (row["topic"], row["queue_id"]), row["physical_offset"]
        mine = served.get(place, {})
        right = offset < cut and mine.get(row["queue_offset"]) == offset
        moved = offset < cut and not right and offset in mine.values()
        counts = found.get(place, (0, 0, 0))
        found[place] = counts[0] + right, counts[1] + moved, counts[2] + (offset >= cut)
    return cut, found


def check(whole: Path, folder: Path, seed: int) -> None:
    random, store = Random(seed), folder / "store"
    shutil.copytree(whole, store)
    random.choice((stopped, killed))(random, store)
    for damage in random.choices(DAMAGES, k=random.choice((0, 1, 1, 2))):
        if queue_files(store):
            damage(random, store)
    for line in LINES:
        if (found := result_of(store, line)) is not None:
            expected = expected_of(store, line)
            differ = {place for place in found[1].keys() | expected[1].keys() if found[1].get(place) != expected[1].get(place)}
            assert (found[0], differ) == (expected[0], set()), (seed, span_of([line]))


@pytest.mark.parametrize("seed", [8, 10, 31, 41, 45, 56, 75])
def test_as_a_plain_broker(whole: Path, tmp_path: Path, seed: int) -> None:
    check(whole, tmp_path, seed)


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
