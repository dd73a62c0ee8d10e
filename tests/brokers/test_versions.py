"""What brokers of each version do on damaged stores: real ones, compared with our answer. Each day draws other damage.

Whether they start, where the log ends then, and which whole messages are at their offset in a queue, at another one, or deleted. Consumers
get what the message store of a broker has at an offset: here it is asked in the broker's own process, for each offset of each queue.
Each start is appended to `build/starts.jsonl` as one line.
"""

from __future__ import annotations

import json
import shutil
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest
from kept import PATIENCE, RESERVED_HOURS, STORE_NAMES, Brokers, Kept, KeptStores
from rocketmq import BUILD, Unreachable
from support.drawn_damages import DRAWN, Damage, a_lost_topic, a_size, no_queues
from support.effort import WHOLE
from support.golden import unpack
from support.own_stores import STORES
from support.repaired import contents
from support.store_damages import random_bytes

import native_reader as nr
from native_reader.start import BETTER_NOT, NO, Start, answer_for
from native_reader.start.lines import line_of

VERSIONS = ("4.9.7", "5.0.0", "5.1.3", "5.3.1", "5.3.3", "5.4.0")
STARTS = 24
"""Of each version on each day."""
# Different in each sweep. Two workers that collect the same tests must draw the same ones.
DAY = date.today().toordinal() if WHOLE else 0
RESULTS = BUILD.parent / "starts.jsonl"
WAITED = 30.0
"""How long a broker is waited for that, by our answer, waits for ever."""
Counts = Mapping[tuple[str, int], tuple[int, int, int]]
Row = dict[str, Any]


@dataclass(frozen=True)
class Result:
    """What a start does, or would do. `queues`: of each with whole messages, how many are served, moved and deleted; None if not known."""

    started: bool
    end: int | None = None
    queues: Counts | None = field(default_factory=dict)
    why: str | None = field(default=None, compare=False)

    def to_dict(self) -> Row:
        sums = None if self.queues is None else [sum(each[number] for each in self.queues.values()) for number in range(3)]
        counts = {} if sums is None else dict(zip(("served", "moved", "deleted"), sums, strict=True))
        return {"started": self.started, "end": self.end, **counts, "why": self.why}


@dataclass(frozen=True)
class Whole:
    """A whole message of a damaged store."""

    place: tuple[str, int]
    queue_offset: int
    crc: int


def whole_messages(store: Path) -> dict[int, Whole]:
    """By physical offset."""
    columns = ["topic", "queue_id", "queue_offset", "physical_offset", "record_size"]
    where = "kind NOT IN ('prepared', 'rollback')"
    scan = nr.open(store).messages(mode="DROPMALFORMED", verify_crc=True, fail_on_data_loss=False, columns=columns, where=where)
    segments = {int(path.name): path.read_bytes() for path in (store / "commitlog").glob("0*") if path.is_file()}
    found = {}
    for row in scan.to_table().to_pylist():
        offset = row["physical_offset"]
        base = max(each for each in segments if each <= offset)
        crc = zlib.crc32(segments[base][offset - base : offset - base + row["record_size"]])
        found[offset] = Whole((row["topic"], row["queue_id"]), row["queue_offset"], crc)
    return found


def real(lines: Sequence[Row], whole: Mapping[int, Whole]) -> Result:
    """What a broker did with the whole messages. Others at the same places have other bytes."""
    said, *pulled = lines
    if not said["started"]:
        return Result(started=False, why=said["why"])
    at_offsets = {((line["topic"], line["queue_id"]), line["queue_offset"], line["physical_offset"], line["crc"]) for line in pulled}
    anywhere = {(place, *message) for place, _, *message in at_offsets}
    counts: dict[tuple[str, int], tuple[int, int, int]] = {}
    for offset, each in whole.items():
        is_kept = offset < said["end"]
        served = is_kept and (each.place, each.queue_offset, offset, each.crc) in at_offsets
        moved = is_kept and not served and (each.place, offset, each.crc) in anywhere
        before = counts.get(each.place, (0, 0, 0))
        counts[each.place] = before[0] + served, before[1] + moved, before[2] + (not is_kept)
    return Result(started=True, end=said["end"], queues=counts)


def predicted(start: Start, version: str) -> Result:
    """The same, as our answer has it. Of a broker that leaves out files, it only says that it starts."""
    why = ", ".join(each.cause.kind for each in start.reasons) or None
    if start.outcome == NO:
        return Result(started=False, why=why)
    after = dict(start.after).get(line_of(version))
    if after is None:
        return Result(started=True, queues=None, why=why)
    queues = {(each.topic, each.queue_id): (each.served, each.moved, each.deleted) for each in after.queues}
    return Result(started=True, end=after.cut, queues=queues, why=why)


@dataclass(frozen=True)
class Case:
    """A version, one of STORE_NAMES, and what is done to it."""

    version: str
    store: str
    damages: Sequence[Damage]
    seed: str

    @classmethod
    def drawn(cls, seed: str, version: str) -> Case:
        random = Random(seed)
        return cls(version, random.choice(STORE_NAMES), random.choices(DRAWN, k=random.choice((1, 1, 2, 2, 3))), seed)

    def to_dict(self) -> Row:
        damages = [each.__name__ for each in self.damages]
        return {"version": self.version, "store": self.store, "damage": damages, "seed": self.seed}


def answered(store: Path, version: str) -> tuple[Start, Result, dict[int, Whole]]:
    """Our answer, and the whole messages that it is about."""
    (files,) = nr.open(store).stores
    end = nr.open(store).diagnose().facts["commitlog"]["end_offset"]
    answer = answer_for(files, end, RESERVED_HOURS, None, version=version)
    return answer, predicted(answer, version), whole_messages(store)


def check(brokers: Brokers, stores: KeptStores, case: Case, folder: Path) -> None:
    """Damage a copy of a store, ask for the answer, and start a broker on it."""
    store, random, kept, version = folder / "store", Random(case.seed), stores(case.store), case.version
    shutil.copytree(kept.store, store)
    for damage in case.damages:
        damage(random, store)
    answer, ours, whole = answered(store, version)
    waits = any(each.cause.kind == "waits" for each in answer.reasons)
    try:
        theirs = real(brokers.start(version, kept, store, WAITED if waits else PATIENCE), whole)
    except Unreachable as error:
        pytest.skip(str(error))
    except AssertionError as error:
        if not waits or "Try to finish doing reput" not in str(error):
            raise
        theirs = Result(started=False, why="waits")
    shutil.rmtree(store, ignore_errors=True)  # a timer wheel has 37 MB; and the broker still writes
    agrees = ours == theirs if ours.queues is not None or not theirs.started else ours.started
    results = {"answer": answer.outcome, "predicted": ours.to_dict(), "real": theirs.to_dict(), "agrees": agrees}
    row = case.to_dict() | {"whole": len(whole)} | results
    with RESULTS.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row) + "\n")
    assert agrees, (row, ours.queues, theirs.queues)


@pytest.mark.parametrize("damage", [no_queues, a_lost_topic, a_size], ids=lambda each: each.__name__)
def test_a_broker_that_does_other_than_4_9_and_5_5(started: Brokers, stores: KeptStores, tmp_path: Path, damage: Damage) -> None:
    check(started, stores, Case("5.3.1", "large clean", [damage], "always the same"), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("version", [pytest.param(each, marks=pytest.mark.xdist_group(f"starts of {each}")) for each in ("4.9.7", "5.4.0")])
def test_a_broker_writes_to_nothing_that_a_repair_with_links_shares(
    started: Brokers, stores: KeptStores, tmp_path: Path, version: str
) -> None:
    kept, store, new = stores(f"{'4.9.7' if version == '4.9.7' else '5.5.0'} killed"), tmp_path / "store", tmp_path / "new"
    shutil.copytree(kept.store, store)
    random_bytes(store, Random(3))
    before = contents(store)
    done = nr.open(store).repair(new, link=True)
    shared = {path.stat().st_ino for path in store.rglob("*") if path.is_file()} & {path.stat().st_ino for path in new.rglob("0*")}
    said, *pulled = started.start(version, kept, new)
    assert (said["started"], len(pulled)) == (True, done.plan.messages + done.plan.placeholders)
    patience = time.monotonic() + WAITED
    while (new / "abort").exists():  # it writes its last files while it stops
        assert time.monotonic() < patience
        time.sleep(0.1)
    assert len(shared) > 10
    assert contents(store) == before


NOT_COUNTED = "Gone", "Again", "Inner", "RMQ_SYS_TRANS_OP_HALF_TOPIC"
"""Topics that were deleted, or made again, or have inner batches; and one that clients of 4.9.7 get nothing of."""


def nothing(random: Random, store: Path) -> None:
    """A clean stop, and all files are there."""


KINDS = "4.9.7-light", "4.9.7-kinds", "5.5.0-kinds", "5.5.0-features", "5.5.0-pop", "5.5.0-rocksdb-queues", "5.5.0-rocksdb-separate"


@pytest.mark.long
@pytest.mark.parametrize("damage", [nothing, no_queues, a_lost_topic, a_size], ids=lambda each: each.__name__)
@pytest.mark.parametrize("name", [pytest.param(each, marks=pytest.mark.xdist_group(f"starts of {each[:5]}")) for each in KINDS])
def test_messages_of_all_kinds(started: Brokers, tmp_path: Path, name: str, damage: Damage) -> None:
    """Delayed, timed, transactional, popped and light ones, and queues in RocksDB."""
    own, version = unpack(name, tmp_path, STORES), name[:5]
    (own.root / "abort").unlink(missing_ok=True)
    damage(Random(name), own.root)
    in_rocksdb = "rocksdb" in name and damage is not no_queues  # without any, nothing shows that its broker has them there
    answer, ours, whole = answered(own.root, version)
    settings = json.loads((own.folder / "settings.json").read_text())
    theirs = real(started.start(version, Kept(own.root, settings), own.root), whole)
    assert ours.started == theirs.started
    if not ours.started:
        return
    if ours.queues is None:
        assert (in_rocksdb, damage, answer.outcome) == (True, a_size, BETTER_NOT)
        return
    differ = {place for place in ours.queues.keys() | theirs.queues.keys() if ours.queues.get(place) != theirs.queues.get(place)}
    # A broker with queues in RocksDB never puts the record at offset 0 into a new database.
    known = {("Plain", 0)} if name == "5.5.0-rocksdb-queues" and damage is no_queues else set()
    assert (ours.end, {place for place in differ if place[0] not in NOT_COUNTED}) == (theirs.end, known), (ours.queues, theirs.queues)


# A Java of each version is started once, by the worker that has all its cases.
DRAWS = [
    pytest.param(version, number, marks=pytest.mark.xdist_group(f"starts of {version}")) for version in VERSIONS for number in range(STARTS)
]


@pytest.mark.long
@pytest.mark.parametrize(("version", "number"), DRAWS)
def test_what_is_drawn_today(started: Brokers, stores: KeptStores, tmp_path: Path, version: str, number: int) -> None:
    check(started, stores, Case.drawn(f"{DAY} {version} {number}", version), tmp_path)
