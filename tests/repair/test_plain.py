"""A plain store is made of a DLedger peer's: every message is in it once, at its queue offset, and only its place is another."""

from __future__ import annotations

import csv
import json
import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.effort import mostly_gate
from support.golden import copy_with_holes, unpack
from support.own_stores import STORES
from support.queued_stores import dispatched
from support.repaired import entries
from support.stores import files_of, log_of, on_disk

import native_reader as nr
from native_reader.errors import RepairError
from native_reader.layout.inner import PLACEHOLDER_TAG
from native_reader.testing.records import Message, frame

NAME, HEADER = "5.5.0-dledger", 48
COLUMNS = "physical_offset,topic,queue_id,queue_offset,record_size,tags,kind"
Damaging = Callable[[Path], None]


def log_file(store: Path, number: int = 0) -> Path:
    return sorted((store / "dledger-n0" / "data").iterdir())[number]


def put(at: int, content: bytes) -> Damaging:
    def damage(store: Path) -> None:
        with log_file(store).open("r+b") as file:
            file.seek(at)
            file.write(content)

    return damage


def records(store: Path) -> dict[tuple[str, int, int], tuple[int, bytes]]:
    """By queue and queue offset: the place of each whole message, and its bytes without the place. Placeholders are left out."""
    scan = nr.open(store).messages(columns=COLUMNS, mode="DROPMALFORMED", verify_crc=True, fail_on_data_loss=False, access="scan")
    rows = [row for row in scan.to_table().to_pylist() if PLACEHOLDER_TAG not in (row["tags"], row["topic"]) and row["kind"] != "half"]
    folder = store / "commitlog" if (store / "commitlog").is_dir() else store / "dledger-n0" / "data"
    log = {int(path.name): path.read_bytes() for path in (*folder.iterdir(), *(store / "dledger-n0" / "data").glob("*"))}
    found = {}
    for row in rows:
        base = max(each for each in log if each <= row["physical_offset"])
        at = row["physical_offset"] - base
        content = log[base][at : at + row["record_size"]]
        found[row["topic"], row["queue_id"], row["queue_offset"]] = row["physical_offset"], content[:28] + content[36:]
    return found


def is_right(store: Path, new: Path, *, without: int = 0) -> None:
    """The new store has all whole messages of the old one, but for so many, and its queues lead to each."""
    before, after = records(store), records(new)
    assert len(before) - len(after) == without
    assert {place: content for place, (_, content) in after.items()}.items() <= {place: each[1] for place, each in before.items()}.items()
    for topic, queue in {place[:2] for place in after}:
        named = {slot: offset for slot, offset, *_ in entries(new, topic, queue)}
        assert list(named) == list(range(min(named), max(named) + 1)), "a hole in a queue"
        mine = {slot: place for (name, number, slot), (place, _) in after.items() if (name, number) == (topic, queue)}
        assert mine.items() <= named.items()


def ends(store: Path) -> dict[tuple[str, int], int]:
    return {(row["topic"], row["queue_id"]): row["max_offset"] for row in nr.open(store).queues().to_table().to_pylist()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(NAME, tmp_path_factory.mktemp("whole"), STORES).root


@pytest.fixture
def peer(whole: Path, tmp_path: Path) -> Path:
    """A copy."""
    return Path(shutil.copytree(whole.parent, tmp_path / NAME, copy_function=copy_with_holes)) / whole.name


def test_every_message_is_at_its_queue_offset(peer: Path, tmp_path: Path) -> None:
    done = nr.open(peer).repair(tmp_path / "new", plain=True)
    is_right(peer, tmp_path / "new")
    assert ends(peer) == ends(tmp_path / "new")
    assert done.is_whole
    assert not [*(tmp_path / "new").glob("dledger-*"), *(tmp_path / "new").glob("lock"), *(tmp_path / "new").glob("abort")]
    settings = {path.name: path.read_bytes() for path in (peer / "config").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "new" / "config").iterdir()} == settings
    assert not nr.open(tmp_path / "new").verify().to_table().num_rows


def test_a_key_leads_to_its_message(peer: Path, tmp_path: Path) -> None:
    nr.open(peer).repair(tmp_path / "new", plain=True)
    keys = [row["keys"][0] for row in nr.open(peer).messages(columns="keys").to_table().to_pylist() if row["keys"]]
    for key in keys[:3]:
        scan = nr.open(tmp_path / "new").messages(keys=key, columns="uniq_key")
        assert scan.to_table().equals(nr.open(peer).messages(keys=key, columns="uniq_key").to_table())


def test_the_table_has_both_ids_of_each_message(peer: Path, tmp_path: Path) -> None:
    done = nr.open(peer).repair(tmp_path / "new", plain=True)
    columns = "physical_offset,offset_msg_id,queue_offset,topic,queue_id"
    old, new = (
        {row["physical_offset"]: row for row in nr.open(each).messages(columns=columns).to_table().to_pylist()}
        for each in (peer, tmp_path / "new")
    )
    assert done.ids is not None
    with Path(done.ids).open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(old)
    for row in rows:
        one, other = old[int(row["old_physical_offset"])], new[int(row["new_physical_offset"])]
        assert (one["offset_msg_id"], other["offset_msg_id"]) == (row["old_offset_msg_id"], row["new_offset_msg_id"])
        assert all(one[name] == other[name] for name in ("queue_offset", "topic", "queue_id"))


def test_an_extract_has_its_topics_and_their_ids(peer: Path, tmp_path: Path) -> None:
    topic = next(topic for topic, _, _ in records(peer))
    done = nr.open(peer).extract(tmp_path / "new", topic)
    before = {place: each[1] for place, each in records(peer).items() if place[0] == topic}
    assert {place: each[1] for place, each in records(tmp_path / "new").items()} == before
    assert done.ids is not None
    with Path(done.ids).open() as file:
        rows = {(int(row["old_physical_offset"]), int(row["new_physical_offset"])) for row in csv.DictReader(file)}
    new = records(tmp_path / "new")
    assert rows == {(each[0], new[place][0]) for place, each in records(peer).items() if place[0] == topic}


DAMAGES = {
    "zeros": (put(20_000, bytes(4096)), None),
    "first entry": (put(0, bytes(600)), None),
    "a header": (put(0, b""), 0),
    "random": (put(30_001, bytes(range(256)) * 9), None),
}


@pytest.mark.parametrize("kind", mostly_gate(DAMAGES))
def test_a_lost_entry_becomes_a_placeholder(peer: Path, tmp_path: Path, kind: str) -> None:
    queues = ends(peer)
    DAMAGES[kind][0](peer)
    done = nr.open(peer).repair(tmp_path / "new", plain=True)
    is_right(peer, tmp_path / "new", without=len(done.plan.doubts))
    assert ends(tmp_path / "new") == queues
    assert done.is_whole == (kind == "a header") == (not done.plan.placeholders)


def test_a_header_that_is_damaged_costs_at_most_its_message(peer: Path, tmp_path: Path) -> None:
    queues = ends(peer)
    _, place, *_ = sorted(place for place, _ in records(peer).values())
    put(place - HEADER, bytes(HEADER))(peer)
    done = nr.open(peer).repair(tmp_path / "new", plain=True)
    is_right(peer, tmp_path / "new")
    assert ends(tmp_path / "new") == queues
    assert not done.is_whole


def test_lost_bytes_at_the_end_of_the_log_keep_the_ends_of_queues(peer: Path, tmp_path: Path) -> None:
    queues, last = ends(peer), max(place for place, _ in records(peer).values())
    put(last - 2000, bytes(4000))(peer)
    done = nr.open(peer).repair(tmp_path / "new", plain=True)
    is_right(peer, tmp_path / "new", without=len(done.plan.doubts))
    assert (ends(tmp_path / "new"), done.plan.placeholders > 0) == (queues, True)


def test_a_wrong_checksum_is_dropped_or_fixed(peer: Path, tmp_path: Path) -> None:
    place = sorted(place for place, _ in records(peer).values())[3]
    put(place + 90, b"~")(peer)
    assert nr.open(peer).repair(tmp_path / "new", plain=True).plan.placeholders == 1
    assert nr.open(peer).repair(tmp_path / "fixed", plain=True, crc="fix").plan.corrected


def entry_of_dledger(magic: int, at: int) -> bytes:
    return struct.pack(">iiqqqiiii", magic, HEADER + 8, 0, 1, at, 0, 0, 0, 8) + bytes(8)


def in_queue(number: int) -> Message:
    """Messages of two queues, one after another."""
    return Message(topic="orders", queue_id=number % 2, queue_offset=number // 2, body=b"%d" % number * 20)


def framed(tmp_path: Path, number: int = 60, start: int = 0) -> tuple[Path, dict[str, bytes]]:
    """A small DLedger log of many files without queues."""
    log = log_of([in_queue(each) for each in range(number)], 4096, start, "dledger")
    files = files_of(log, "store/dledger-n0/data") | dispatched(log.placed, file=4000)
    settings = json.dumps({"topicConfigTable": {}}).encode()
    return tmp_path / "store", files | {"store/config/topics.json": settings}


def test_files_of_the_log_that_are_missing(tmp_path: Path) -> None:
    root, files = framed(tmp_path)
    names = sorted(name for name in files if "/data/" in name)
    on_disk(tmp_path, {name: content for name, content in files.items() if name != names[1]})
    nr.open(root).repair(tmp_path / "new", plain=True)
    is_right(root, tmp_path / "new")


def test_an_entry_of_dledger_itself_is_no_message_and_no_damage(tmp_path: Path) -> None:
    """Newer libraries of DLedger write such entries: NOOP, CONFIG_CHANGE."""
    root, files = framed(tmp_path, 3)
    name = next(name for name in files if "/data/" in name)
    content, own, at = files[name], bytearray(), 0
    while struct.unpack_from(">i", content, at)[0] == 1:
        size = struct.unpack_from(">i", content, at + 4)[0]
        record = bytearray(content[at + HEADER : at + size])
        struct.pack_into(">q", record, 28, len(own) + HEADER)
        own += frame(bytes(record), len(own), 0)
        own += entry_of_dledger(2, len(own)) + entry_of_dledger(3, len(own) + HEADER + 8)
        at += size
    on_disk(tmp_path, files | {name: bytes(own).ljust(4096, b"\0")})
    done = nr.open(root).repair(tmp_path / "new", plain=True)
    is_right(root, tmp_path / "new")
    assert len(records(tmp_path / "new")) == 3
    assert done.plan.plain is not None
    assert (len(done.plan.plain.damage), done.plan.placeholders) == (0, 0)


def test_the_first_files_expired(tmp_path: Path) -> None:
    root, files = framed(tmp_path, start=8192)
    on_disk(tmp_path, files)
    nr.open(root).repair(tmp_path / "new", plain=True)
    is_right(root, tmp_path / "new")
    assert min(path.name for path in (tmp_path / "new" / "commitlog").iterdir()) == f"{8192:020}"


def test_plain_files_before_the_switch_stay_as_they_are(tmp_path: Path) -> None:
    root, files = framed(tmp_path, start=8192)
    log = log_of([replace(in_queue(each), topic="early") for each in range(90)], 4096)
    before = dict(sorted(files_of(log).items())[:2])
    on_disk(tmp_path, files | before | dispatched([each for each in log.placed if each.offset < 8192], file=4000))
    nr.open(root).repair(tmp_path / "new", plain=True)
    for name, content in before.items():
        assert (tmp_path / "new" / "commitlog" / name.rpartition("/")[2]).read_bytes() == content
    is_right(root, tmp_path / "new")


def test_a_plain_store_is_said_to_be_plain(tmp_path: Path) -> None:
    store = unpack("5.5.0-killed", tmp_path, STORES).root
    with pytest.raises(RepairError, match="plain store already"):
        nr.open(store).repair(tmp_path / "new", plain=True)


def test_a_peer_is_not_repaired_as_a_peer(peer: Path, tmp_path: Path) -> None:
    with pytest.raises(RepairError, match=r"rmqstore diff.*renamed \(never delete it.*--plain"):
        nr.open(peer).repair(tmp_path / "new")


def test_a_plan_writes_nothing(peer: Path, tmp_path: Path) -> None:
    names = sorted(tmp_path.iterdir())
    planned = nr.open(peer).repair(tmp_path / "new", plain=True, dry_run=True)
    assert (planned.ids, sorted(tmp_path.iterdir())) == (None, names)
    assert planned.plan.messages == nr.open(peer).messages().count_rows()
