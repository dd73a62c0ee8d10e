"""What a store lacks comes from other stores of the same log, and from no other log."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pytest
from support.command_line import run
from support.golden import unpack
from support.indexed_stores import indexed
from support.own_stores import STORES
from support.queued_stores import dispatched
from support.repaired import contents, opened, records_of
from support.resent import resent
from support.store_damages import (
    DAMAGES,
    Damage,
    missing_segment,
    no_queues,
    of_another_broker,
    patch,
    random_bytes,
    records,
    segments,
    tail,
    zeroed_segment,
)
from support.stores import files_of, log_of, message, on_disk
from support.verified import beside

import native_reader as nr

NAME = "5.5.0-killed"
SEGMENT = 65_536


def copy(place: Path, *damages: Damage, seed: int = 1) -> Path:
    """A copy of one store, damaged."""
    store = unpack(NAME, place, STORES).root
    for damage in damages:
        damage(store, Random(seed))
    return store


@pytest.fixture(scope="module")
def slave(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy(tmp_path_factory.mktemp("slave"))


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
def test_a_whole_copy_gives_all_that_is_lost(tmp_path: Path, slave: Path, damage: Damage) -> None:
    store, before = copy(tmp_path, damage), contents(slave)
    own = contents(store)
    done = opened(store).repair(tmp_path / "new", others=[slave])
    assert records_of(tmp_path / "new") == records_of(slave)
    assert (done.is_whole, done.plan.placeholders) == (True, 0)
    assert (contents(slave), contents(store)) == (before, own)
    facts = json.loads((tmp_path / "new" / "repair.json").read_text())
    (source,) = facts["from"]
    lost = sum(count for state, count in facts["account"].items() if state in ("lost", "doubtful"))
    assert source["messages"] == sum(each["last"] - each["first"] + 1 for each in source["queues"])
    # Without queues, nothing tells of the messages before the first survivor.
    assert source["messages"] == lost if (store / "consumequeue").exists() else source["messages"] > lost or damage is no_queues
    assert facts["account_with_others"]["lost"] == facts["account_of_new"]["lost"] == 0


def test_two_damaged_copies_make_one_whole_store(tmp_path: Path, slave: Path) -> None:
    store, other = copy(tmp_path / "a", missing_segment, seed=1), copy(tmp_path / "b", random_bytes, tail, seed=7)
    done = opened(store).repair(tmp_path / "new", others=[other, copy(tmp_path / "c", zeroed_segment, seed=3)])
    assert records_of(tmp_path / "new") == records_of(slave)
    assert done.is_whole


def test_a_copy_of_yesterday_gives_what_it_has(tmp_path: Path, slave: Path) -> None:
    """Its log ends in the middle of what is lost: the record before it, which both have, shows that it is the same one."""
    store, older = copy(tmp_path / "a"), copy(tmp_path / "b")
    lost = segments(store)[2:4]
    for each in lost:
        each.unlink()
    for each in segments(older)[3:]:
        each.unlink()
    shutil.rmtree(older / "consumequeue")
    done = opened(store).repair(tmp_path / "new", others=[older])
    base = int(lost[1].name)
    missing = [row for row in records_of(slave) if base <= row[0] < base + 65536]
    assert records_of(tmp_path / "new") == [row for row in records_of(slave) if row not in missing]
    assert (done.is_whole, done.plan.placeholders) == (False, len(missing))


def test_what_follows_the_end_comes_too(tmp_path: Path, slave: Path) -> None:
    """A slave that had fallen behind, and the master whose first segments expired."""
    store, other = copy(tmp_path / "a"), copy(tmp_path / "b")
    for each in segments(store)[4:]:
        each.unlink()
    segments(other)[0].unlink()
    done = opened(store).repair(tmp_path / "new", others=[other])
    assert records_of(tmp_path / "new") == records_of(slave)
    assert done.is_whole


def other_bodies(store: Path, first: int) -> None:
    """From that record on, the log is one of another broker: all bodies differ."""
    for path in segments(store):
        content = bytearray(path.read_bytes())
        for at, size in records(path):
            if int(path.name) + at >= first:
                content[at + 40] ^= 1  # the born time: no checksum covers it
                if (key := content.find(b"UNIQ_KEY\1", at, at + size)) > 0:
                    content[key + 9] ^= 1  # another message has another one
        path.write_bytes(content)


def test_nothing_comes_from_a_log_that_parted_before(tmp_path: Path) -> None:
    """After a failover, an old master and a new one have other messages at the same places."""
    store, other = copy(tmp_path / "a", zeroed_segment), copy(tmp_path / "b")
    other_bodies(other, 60_000)
    done = opened(store).repair(tmp_path / "new", others=[other])
    alone = opened(store).repair(tmp_path / "alone")
    assert records_of(tmp_path / "new") == records_of(tmp_path / "alone")
    assert (done.is_whole, done.plan.lost_messages) == (False, alone.plan.lost_messages)
    page = (tmp_path / "new" / "repair.md").read_text()
    assert "has another log there. Its records beside what is lost are not equal" in page


def test_what_precedes_the_parting_comes(tmp_path: Path, slave: Path) -> None:
    store, other = copy(tmp_path / "a", zeroed_segment), copy(tmp_path / "b")
    other_bodies(other, 200_000)
    done = opened(store).repair(tmp_path / "new", others=[other])
    assert (records_of(tmp_path / "new"), done.is_whole) == (records_of(slave), True)


def test_what_follows_the_parting_does_not_come_with_what_precedes_it(tmp_path: Path) -> None:
    store, other = copy(tmp_path / "a"), copy(tmp_path / "b")
    at, _ = records(segments(store)[1])[20]
    patch(segments(store)[1], at, bytes(100))
    for each in segments(store)[4:]:
        each.unlink()
    other_bodies(other, 3 * 65536)
    done = opened(store).repair(tmp_path / "new", others=[other])
    assert done.plan.filled is not None
    assert [each.messages for each in done.plan.filled.taken] == [1]
    assert records_of(tmp_path / "new") == [row for row in records_of(other) if row[0] < 3 * 65536] + [
        row for row in records_of(store) if row[0] >= 3 * 65536
    ]


def test_records_that_are_larger_than_what_is_compared_first(tmp_path: Path) -> None:
    messages = [message(each, topic="T", queue_offset=each, body=Random(each).randbytes(400_000)) for each in range(12)]
    log = log_of(messages, segment_size=1 << 20)
    files = files_of(log) | dispatched(log.placed, file=4000) | indexed(log.placed) | beside(log, ["T"])
    own, other = (on_disk(tmp_path / name, files) / "store" for name in ("a", "b"))
    whole, placed = records_of(other), log.placed[4]
    patch(own / "commitlog" / f"{placed.segment:020}", placed.offset - placed.segment, bytes(200))
    done = nr.open(own).repair(tmp_path / "new", others=[other])
    assert (records_of(tmp_path / "new"), done.is_whole) == (whole, True)


def test_a_tag_that_the_queue_contradicts_comes_from_the_other(tmp_path: Path, slave: Path) -> None:
    store = copy(tmp_path)
    path = segments(store)[1]
    content = path.read_bytes()
    at = content.index(b"TAGS\x01") + 5
    patch(path, at, bytes([content[at] ^ 1]))
    assert opened(store).repair(tmp_path / "alone").plan.doubts
    done = opened(store).repair(tmp_path / "new", others=[slave])
    assert (records_of(tmp_path / "new"), done.is_whole) == (records_of(slave), True)


def test_a_segment_of_another_broker_is_replaced(tmp_path: Path, slave: Path) -> None:
    store = copy(tmp_path)
    of_another_broker(*segments(store)[1:3])
    with pytest.raises(nr.RepairError, match="of another broker"):
        opened(store).repair(tmp_path / "alone")
    done = opened(store).repair(tmp_path / "new", others=[slave])
    assert (records_of(tmp_path / "new"), done.is_whole) == (records_of(slave), True)


def refusals(tmp_path: Path, others: Iterable[Path]) -> str:
    with pytest.raises(nr.RepairError) as error:
        opened(copy(tmp_path)).repair(tmp_path / "new", others=list(others))
    return str(error.value)


def test_stores_that_cannot_help(tmp_path: Path) -> None:
    whole = copy(tmp_path / "whole")
    for each in segments(whole)[1:]:
        each.unlink()
    segments(whole)[0].rename(segments(whole)[0].with_name(f"{32768:020d}"))
    assert "does not begin where this store's" in refusals(tmp_path / "a", [whole])
    store = copy(tmp_path / "b")
    with pytest.raises(nr.RepairError, match="is the store that is repaired"):
        opened(store).repair(tmp_path / "new", others=[store])


def test_the_command_says_what_it_took(tmp_path: Path, slave: Path) -> None:
    store = copy(tmp_path, random_bytes)
    out = run("repair", str(store), str(tmp_path / "new"), "--from", str(slave))
    assert out.code == 0, out.err
    assert f"33 messages from {slave}, in their places: there, it has the same log" in out.err
    assert "with the other stores: 800 served" in out.err
    assert run("diff", str(tmp_path / "new"), str(slave)).code == 0
    plan = run("repair", str(store), str(tmp_path / "planned"), "--from", str(slave), "--dry-run", "--lang", "zh")
    assert "取自其他 store" in plan.out
    assert not (tmp_path / "planned").exists()


def test_placeholders_of_an_earlier_repair_are_no_messages(tmp_path: Path) -> None:
    store = copy(tmp_path, random_bytes)
    alone = opened(store).repair(tmp_path / "repaired")
    done = opened(store).repair(tmp_path / "new", others=[tmp_path / "repaired"])
    assert (done.plan.lost_messages, done.plan.placeholders) == (alone.plan.lost_messages, alone.plan.placeholders)
    assert done.plan.filled is not None
    assert not done.plan.filled.taken


@pytest.mark.parametrize("damage", [missing_segment, zeroed_segment, random_bytes, tail], ids=lambda each: each.__name__)
def test_messages_come_from_an_extract_whose_log_is_another_one(tmp_path: Path, slave: Path, damage: Damage) -> None:
    opened(slave).extract(tmp_path / "extract", "Plain")
    store = copy(tmp_path / "a", damage)
    alone = opened(store).repair(tmp_path / "alone", dry_run=True)
    done = opened(store).repair(tmp_path / "new", others=[tmp_path / "extract"])
    assert (records_of(tmp_path / "new"), done.is_whole) == (records_of(slave), True)
    facts = json.loads((tmp_path / "new" / "repair.json").read_text())
    (source,) = facts["from"]
    assert (source["messages"], all(each["is_moved"] for each in source["queues"])) == (0, True)
    assert source["moved"] == sum(each["last"] - each["first"] + 1 for each in source["queues"]) >= alone.plan.lost_messages > 0
    assert "elsewhere in its log, at the same queue offsets" in (tmp_path / "new" / "repair.md").read_text()


def test_a_message_of_a_queue_that_parted_does_not_come(tmp_path: Path, slave: Path) -> None:
    """The other queue has other messages from there on: same topic, offset, size and tag, but another time of birth."""
    opened(slave).extract(tmp_path / "extract", "Plain")
    store = copy(tmp_path / "a", missing_segment)
    alone = opened(store).repair(tmp_path / "alone")
    other_bodies(tmp_path / "extract", 0)
    done = opened(store).repair(tmp_path / "new", others=[tmp_path / "extract"])
    assert records_of(tmp_path / "new") == records_of(tmp_path / "alone")
    assert (done.plan.lost_messages, done.plan.filled is not None and not done.plan.filled.taken) == (alone.plan.lost_messages, True)


@pytest.mark.parametrize("damage", [missing_segment, zeroed_segment, random_bytes, tail], ids=lambda each: each.__name__)
def test_messages_that_were_sent_again_to_another_broker_come_by_their_unique_key(tmp_path: Path, slave: Path, damage: Damage) -> None:
    other, store = resent(slave, tmp_path / "other"), copy(tmp_path / "a", damage)
    before = contents(other)
    alone = opened(store).repair(tmp_path / "alone")
    done = opened(store).repair(tmp_path / "new", others=[other])
    new, own = records_of(tmp_path / "new"), records_of(tmp_path / "alone")
    assert {*own} < {*new} <= {*records_of(slave)}
    facts = json.loads((tmp_path / "new" / "repair.json").read_text())
    (source,) = facts["from"]
    assert (source["messages"], source["moved"], source["by_key"]) == (0, 0, len(new) - len(own))
    assert all(each["by_key"] for each in source["queues"])
    assert done.plan.lost_messages <= alone.plan.lost_messages - source["by_key"] + len(alone.plan.doubts)
    assert "in other queues or at other queue offsets" in (tmp_path / "new" / "repair.md").read_text()
    assert contents(other) == before


def an_hour_later(record: bytearray) -> None:
    record[56:64] = struct.pack(">q", struct.unpack(">q", record[56:64])[0] + 3_600_000)


def another(name: bytes) -> Callable[[bytearray], None]:
    """Another value of a property, as long as before."""

    def change(record: bytearray) -> None:
        if (at := record.find(name + b"\1")) > 0:
            record[at + len(name) + 1] ^= 1

    return change


def without_tag(record: bytearray) -> None:
    """A property of the same length instead."""
    if (at := record.find(b"TAGS\1")) > 0:
        record[at : at + 4] = b"GATS"


OF_KEYS = another(b"\2KEYS")


@pytest.mark.parametrize("change", [another(b"UNIQ_KEY"), OF_KEYS, without_tag, an_hour_later, None])
def test_a_message_that_may_be_another_one_does_not_come_by_its_key(
    tmp_path: Path, slave: Path, change: Callable[[bytearray], None] | None
) -> None:
    """It has another unique key, key or tag, or was stored at another time; or two are like the lost one."""
    others = [resent(slave, tmp_path / "other", change=change, times=2 if change is None else 1)]
    store = copy(tmp_path / "a", missing_segment)
    kept = {int(each.name) for each in segments(store)}
    done = opened(store).repair(tmp_path / "new", others=others, dry_run=True)
    assert done.plan.filled is not None
    taken = {(each.topic, each.queue_id, slot) for each in done.plan.filled.taken for slot in range(each.first, each.last + 1)}
    columns = "topic", "queue_id", "queue_offset", "keys", "tags", "physical_offset"
    changed = {
        (row["topic"], row["queue_id"], row["queue_offset"])
        for row in nr.open(slave).messages(columns=columns).to_table().to_pylist()
        if row["physical_offset"] // SEGMENT * SEGMENT not in kept
        and (row["keys"] or change is not OF_KEYS)
        and (row["tags"] or change is not without_tag)
    }
    assert changed
    assert not taken & changed


def test_records_from_another_log_get_right_checksums(tmp_path: Path) -> None:
    """Those of enabledAppendPropCRC cover the place of a record."""
    whole = unpack("5.5.0-property-crc", tmp_path / "whole", STORES).root
    store = unpack("5.5.0-property-crc", tmp_path / "a", STORES).root
    at, size = records(segments(store)[0])[30]
    patch(segments(store)[0], at, bytes(size))
    done = nr.open(store).repair(tmp_path / "new", others=[resent(whole, tmp_path / "other", crc=True)])
    assert (records_of(tmp_path / "new"), done.is_whole) == (records_of(whole), True)
    (segment, *_), (own, *_) = segments(tmp_path / "new"), segments(whole)
    assert segment.read_bytes() == own.read_bytes()
